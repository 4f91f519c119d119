//! `Edit`: replaces text in a file.

use std::sync::Arc;

use rmcp::model::Tool;
use serde_json::json;

use super::arguments::Arguments;
use super::{Effect, answer, blocking, paths, reach, tool};
use crate::error::{ToolError, ToolResult};
use crate::limits;
use crate::session::{Instance, Session};
use crate::text::shown_line;

pub(super) const NAME: &str = "Edit";

const ARGUMENTS: [&str; 4] = ["file_path", "old_string", "new_string", "replace_all"];
/// Lines that the answer shows before and after the change.
const CONTEXT_LINES: usize = 3;
/// Lines of an answer.
const SHOWN_LINES: usize = 40;

pub(super) fn definition(session: &Session) -> Tool {
    let description = "Replaces text in a file that was read or written here before. `old_string` must be in the file exactly once, \
                       to the last space, without the line numbers that Read shows: take enough of the lines around it. With \
                       `replace_all` every place is changed. The answer shows the changed lines.";
    let properties = json!({
        "file_path": {"type": "string", "description": "Path in the sandbox; a relative one starts at /data/workspace."},
        "old_string": {"type": "string", "description": "The text to replace, exactly as it is in the file."},
        "new_string": {"type": "string", "description": "The text to put in its place; empty to remove it."},
        "replace_all": {"type": "boolean", "default": false, "description": "Change every place, not just one."},
    });
    tool(
        session,
        NAME,
        description,
        properties,
        &["file_path", "old_string", "new_string"],
        Effect::Changes,
    )
}

pub(super) async fn call(session: &Arc<Session>, arguments: &mut Arguments) -> ToolResult {
    arguments.only(&ARGUMENTS)?;
    let path = paths::sandbox_path(session, &arguments.string("file_path")?)?;
    let change = Change {
        old: arguments.string("old_string")?,
        new: arguments.string("new_string")?,
        all: arguments.flag("replace_all")?,
    };
    let reached = reach(session, arguments)?;
    let instance = Arc::clone(&reached.instance);
    let _editing = reached.instance.edit().await;
    let text = blocking(move || edit(&instance, &path, &change)).await?;
    Ok(answer(reached.opened, text))
}

fn edit(instance: &Instance, path: &str, change: &Change) -> Result<String, ToolError> {
    let files = instance.files();
    let Some(metadata) = paths::regular_file(&files, path)? else {
        return Err(ToolError::new(
            format!("there is no file `{path}`"),
            "check the path with `ls`, or make the file with Write",
        ));
    };
    let (bytes, now) = paths::contents(&files, path, &metadata)?;
    paths::refuse_unknown(instance, path, &paths::key(&files, path)?, &now)?;
    let Ok(before) = String::from_utf8(bytes) else {
        return Err(ToolError::new(
            format!("`{path}` is not UTF-8 text"),
            "change it with sed in a Bash command",
        ));
    };
    let after = change.apply(&before).map_err(|problem| {
        let (text, hint) = problem.describe(path);
        ToolError::new(text, hint)
    })?;
    if after.text.len() as u64 > limits::EDIT_BYTES {
        return Err(ToolError::new(
            format!(
                "the file would have {} bytes, at most {} can be edited",
                after.text.len(),
                limits::EDIT_BYTES
            ),
            "change it with sed in a Bash command",
        ));
    }
    files.write(path, &after.text)?;
    paths::remember_written(instance, &files, path, after.text.as_bytes())?;
    let places = if after.places == 1 {
        "1 place".to_owned()
    } else {
        format!("{} places", after.places)
    };
    Ok(format!("Changed {places} of {path}:\n{}", after.excerpt()))
}

/// What is to be replaced.
#[derive(Debug)]
struct Change {
    old: String,
    new: String,
    all: bool,
}

/// A changed text.
#[derive(Debug, PartialEq, Eq)]
struct Changed {
    text: String,
    places: usize,
    /// Where the first change is: its first byte in the new text, and the bytes that were put there.
    first: usize,
    len: usize,
}

/// Why a change cannot be made.
#[derive(Debug, PartialEq, Eq)]
enum Problem {
    NothingToFind,
    NothingToChange,
    NotFound { loosely_at: Option<usize> },
    Ambiguous { lines: Vec<usize> },
}

impl Change {
    fn apply(&self, text: &str) -> Result<Changed, Problem> {
        if self.old.is_empty() {
            return Err(Problem::NothingToFind);
        }
        if self.old == self.new {
            return Err(Problem::NothingToChange);
        }
        let places: Vec<usize> = text.match_indices(&self.old).map(|(at, _)| at).collect();
        let Some(first) = places.first().copied() else {
            return Err(Problem::NotFound {
                loosely_at: find_loosely(text, &self.old),
            });
        };
        if places.len() > 1 && !self.all {
            let lines = places.iter().map(|at| line_of(text, *at)).collect();
            return Err(Problem::Ambiguous { lines });
        }
        Ok(Changed {
            text: text.replace(&self.old, &self.new),
            places: places.len(),
            first,
            len: self.new.len(),
        })
    }
}

/// Number of the line that a byte is in.
fn line_of(text: &str, at: usize) -> usize {
    1 + text
        .as_bytes()
        .iter()
        .take(at)
        .filter(|byte| **byte == b'\n')
        .count()
}

/// The line where the text would be if the spaces at the ends of its lines did not count.
fn find_loosely(text: &str, old: &str) -> Option<usize> {
    let wanted: Vec<&str> = old.trim().lines().map(str::trim).collect();
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    if wanted.is_empty() {
        return None;
    }
    lines
        .windows(wanted.len())
        .position(|window| window == wanted)
        .map(|index| index + 1)
}

impl Problem {
    fn describe(&self, path: &str) -> (String, String) {
        match self {
            Self::NothingToFind => (
                "argument `old_string` is empty".into(),
                "give the text to replace; Write makes a whole file".into(),
            ),
            Self::NothingToChange => (
                "arguments `old_string` and `new_string` are the same".into(),
                "give the text that shall be there".into(),
            ),
            Self::NotFound {
                loosely_at: Some(line),
            } => (
                format!("`old_string` is not in `{path}` exactly"),
                format!(
                    "line {line} differs from it only in spaces or tabs; Read it and copy the text without line numbers"
                ),
            ),
            Self::NotFound { loosely_at: None } => (
                format!("`old_string` is not in `{path}`"),
                "Read the file and copy the text exactly, without line numbers".into(),
            ),
            Self::Ambiguous { lines } => {
                let shown: Vec<String> = lines.iter().take(10).map(usize::to_string).collect();
                let more = if lines.len() > 10 { " and more" } else { "" };
                (
                    format!(
                        "`old_string` is in `{path}` {} times, in lines {}{more}",
                        lines.len(),
                        shown.join(", ")
                    ),
                    "add lines around it until it is unique, or set `replace_all`".into(),
                )
            }
        }
    }
}

impl Changed {
    /// The lines of the first change with some around it, numbered.
    fn excerpt(&self) -> String {
        let first = line_of(&self.text, self.first).saturating_sub(1);
        let last = line_of(&self.text, self.first + self.len).saturating_sub(1);
        let start = first.saturating_sub(CONTEXT_LINES);
        let end = (last + CONTEXT_LINES + 1).min(start + SHOWN_LINES);
        let lines = self.text.lines().enumerate().skip(start).take(end - start);
        let lines: Vec<String> = lines
            .map(|(index, line)| {
                format!(
                    "{:>6}\t{}",
                    index + 1,
                    shown_line(line.as_bytes(), limits::LINE_CHARS)
                )
            })
            .collect();
        lines.join("\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(old: &str, new: &str, all: bool) -> Change {
        Change {
            old: old.into(),
            new: new.into(),
            all,
        }
    }

    #[test]
    fn one_place_is_replaced_and_shown() {
        let changed = change("two", "zwei", false)
            .apply("one\ntwo\nthree\n")
            .expect("it is there");
        assert_eq!(changed.text, "one\nzwei\nthree\n");
        assert_eq!(
            changed.excerpt(),
            "     1\tone\n     2\tzwei\n     3\tthree"
        );
    }

    #[test]
    fn several_places_need_replace_all() {
        let text = "a\nb\na\n";
        assert_eq!(
            change("a", "x", false).apply(text),
            Err(Problem::Ambiguous { lines: vec![1, 3] })
        );
        let changed = change("a", "x", true).apply(text).expect("they are there");
        assert_eq!((changed.text.as_str(), changed.places), ("x\nb\nx\n", 2));
        let (text, _) = Problem::Ambiguous {
            lines: (1..=12).collect(),
        }
        .describe("f");
        assert_eq!(
            text,
            "`old_string` is in `f` 12 times, in lines 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 and more"
        );
    }

    #[test]
    fn a_difference_in_spaces_is_pointed_out() {
        let text = "fn main() {\n    print();\n}\n";
        let problem = change("fn main() {\n  print();", "x", false).apply(text);
        assert_eq!(
            problem,
            Err(Problem::NotFound {
                loosely_at: Some(1)
            })
        );
        assert_eq!(
            change("absent", "x", false).apply(text),
            Err(Problem::NotFound { loosely_at: None })
        );
        assert_eq!(
            change(" \n ", "x", false).apply(text),
            Err(Problem::NotFound { loosely_at: None })
        );
    }

    #[test]
    fn a_change_must_change_something() {
        assert_eq!(
            change("", "x", true).apply("abc"),
            Err(Problem::NothingToFind)
        );
        assert_eq!(
            change("b", "b", true).apply("abc"),
            Err(Problem::NothingToChange)
        );
    }

    #[test]
    fn removing_the_last_line_shows_what_is_before_it() {
        let changed = change("c\n", "", false)
            .apply("a\nb\nc\n")
            .expect("it is there");
        assert_eq!(changed.text, "a\nb\n");
        assert_eq!(changed.excerpt(), "     1\ta\n     2\tb");
    }
}
