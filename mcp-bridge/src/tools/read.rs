//! `Read`: numbered lines of a text file, or an image.

use std::sync::Arc;

use base64::Engine as _;
use rmcp::model::{ContentBlock, Tool};
use sandbar::{Errno, Files, Metadata};
use serde_json::json;

use super::arguments::Arguments;
use super::{Effect, blocking, paths, reach, tool};
use crate::error::{ToolError, ToolResult};
use crate::limits;
use crate::session::{Instance, Session};
use crate::text::{grouped, shown_line};

pub(super) const NAME: &str = "Read";

/// Bytes that are read at a time.
const CHUNK: usize = 256 << 10;
/// Bytes at the beginning that decide whether a file is text.
const SNIFF: usize = 8 << 10;
/// Characters of an answer that are not lines.
const FRAME_CHARS: usize = 300;

pub(super) fn definition(session: &Session) -> Tool {
    let description = format!(
        "Shows a text file as numbered lines (number, tab, line), or a PNG, JPEG, GIF or WebP image. At most {} characters are \
         shown; the last line of the answer, in brackets, says how to read on. Lines beyond {} characters are cut. For a \
         directory use `ls`, for other binary files `xxd` or `od` in Bash.",
        grouped(session.config().max_output_chars as u64),
        grouped(limits::LINE_CHARS as u64)
    );
    let properties = json!({
        "file_path": {"type": "string", "description": "Path in the sandbox; a relative one starts at /data/workspace."},
        "offset": {"type": "integer", "minimum": 1, "default": 1, "description": "First line to show."},
        "limit": {"type": "integer", "minimum": 1, "default": limits::READ_LINES, "description": "Number of lines to show."},
    });
    tool(
        session,
        NAME,
        &description,
        properties,
        &["file_path"],
        Effect::Reads,
    )
}

pub(super) async fn call(session: &Arc<Session>, arguments: &mut Arguments) -> ToolResult {
    arguments.only(&["file_path", "offset", "limit"])?;
    let path = paths::sandbox_path(session, &arguments.string("file_path")?)?;
    let wanted = Wanted {
        offset: arguments.whole("offset", 1, u64::MAX)?.unwrap_or(1),
        limit: arguments
            .whole("limit", 1, u64::MAX)?
            .unwrap_or(limits::READ_LINES),
        chars: session
            .config()
            .max_output_chars
            .saturating_sub(FRAME_CHARS),
    };
    let reached = reach(session, arguments)?;
    let instance = Arc::clone(&reached.instance);
    let content = blocking(move || read(&instance, &path, wanted)).await?;
    Ok(reached
        .opened
        .map(ContentBlock::text)
        .into_iter()
        .chain([content])
        .collect())
}

/// Which lines are wanted.
#[derive(Clone, Copy, Debug)]
struct Wanted {
    offset: u64,
    limit: u64,
    chars: usize,
}

fn read(instance: &Instance, path: &str, wanted: Wanted) -> Result<ContentBlock, ToolError> {
    let files = instance.files();
    let Some(metadata) = paths::regular_file(&files, path)? else {
        let missing = files.read_range(path, 0, 0).err();
        return Err(missing.map_or_else(
            || {
                ToolError::new(
                    format!("there is no file `{path}`"),
                    "check the path with `ls`",
                )
            },
            ToolError::from,
        ));
    };
    let mut source = Source::open(&files, path, &metadata)?;
    let start = source.peek(SNIFF)?;
    if let Some(kind) = image_type(start) {
        return image(&files, path, &metadata, kind);
    }
    if start.contains(&0) {
        return Err(ToolError::new(
            format!(
                "`{path}` is a binary file of {} bytes",
                grouped(metadata.size)
            ),
            "look at it with `xxd` or `od -c` in Bash",
        ));
    }
    let page = Page::collect(&mut source, wanted)?;
    let now = paths::fingerprint(&files, path, &metadata)?;
    instance.remember(paths::key(&files, path)?, now);
    page.show(path, wanted)
}

/// A file that is read in steps. Generated files (`/proc`), whose size is 0, are read whole.
struct Source<'a> {
    files: &'a Files,
    path: &'a str,
    position: u64,
    ahead: Vec<u8>,
    generated: bool,
}

impl<'a> Source<'a> {
    fn open(files: &'a Files, path: &'a str, metadata: &Metadata) -> sandbar::Result<Self> {
        let generated = metadata.size == 0;
        let ahead = if generated {
            files.read_at_most(path, limits::EDIT_BYTES)?
        } else {
            Vec::new()
        };
        Ok(Self {
            files,
            path,
            position: 0,
            ahead,
            generated,
        })
    }

    /// The first bytes, which stay to be read.
    fn peek(&mut self, len: usize) -> sandbar::Result<&[u8]> {
        if self.ahead.is_empty() {
            self.ahead = self.next()?;
        }
        Ok(self
            .ahead
            .get(..len.min(self.ahead.len()))
            .unwrap_or_default())
    }

    /// The next bytes; none at the end.
    fn next(&mut self) -> sandbar::Result<Vec<u8>> {
        if !self.ahead.is_empty() || self.generated {
            return Ok(std::mem::take(&mut self.ahead));
        }
        let bytes = self.files.read_range(self.path, self.position, CHUNK)?;
        self.position += bytes.len() as u64;
        Ok(bytes)
    }
}

/// The lines that are shown.
#[derive(Debug, Default)]
struct Page {
    text: String,
    /// Lines in `text`.
    shown: u64,
    /// Lines that were passed, shown or not.
    lines: u64,
    /// Whether the file's end was reached, so that `lines` is all of them.
    whole: bool,
    chars: usize,
}

impl Page {
    fn collect(source: &mut Source<'_>, wanted: Wanted) -> sandbar::Result<Self> {
        let mut page = Self::default();
        let mut line = Vec::new();
        loop {
            let chunk = source.next()?;
            if chunk.is_empty() {
                if !line.is_empty() && !page.add(&line, wanted) {
                    return Ok(page);
                }
                page.whole = true;
                return Ok(page);
            }
            for part in chunk.split_inclusive(|byte| *byte == b'\n') {
                // A line may go on in the next chunk.
                line.extend_from_slice(part);
                if part.ends_with(b"\n") {
                    line.pop();
                    if !page.add(&line, wanted) {
                        return Ok(page);
                    }
                    line.clear();
                }
            }
            if line.len() as u64 > limits::EDIT_BYTES {
                // A file of one endless line: no more of it is read than can be edited.
                page.add(&line, wanted);
                return Ok(page);
            }
        }
    }

    /// Takes the next line; false when no more is wanted.
    fn add(&mut self, line: &[u8], wanted: Wanted) -> bool {
        if self.lines + 1 < wanted.offset {
            self.lines += 1;
            return true;
        }
        if self.shown >= wanted.limit {
            return false;
        }
        let line = shown_line(line.strip_suffix(b"\r").unwrap_or(line), limits::LINE_CHARS);
        let chars = line.chars().count() + 8;
        if self.shown > 0 && self.chars + chars > wanted.chars {
            return false;
        }
        self.chars += chars;
        self.lines += 1;
        self.shown += 1;
        let line = format!("{:>6}\t{line}\n", self.lines);
        self.text.push_str(&line);
        true
    }

    fn show(mut self, path: &str, wanted: Wanted) -> Result<ContentBlock, ToolError> {
        if self.shown == 0 && self.lines > 0 {
            return Err(ToolError::new(
                format!(
                    "argument `offset` is {}, `{path}` has {} lines",
                    wanted.offset,
                    grouped(self.lines)
                ),
                "take a smaller offset",
            ));
        }
        if self.shown == 0 {
            return Ok(ContentBlock::text(format!("[{path} is empty]")));
        }
        if !self.whole {
            let next = self.lines + 1;
            let more = format!(
                "[lines {} to {}; there are more, read on with offset {next}]",
                wanted.offset, self.lines
            );
            self.text.push_str(&more);
        }
        Ok(ContentBlock::text(self.text))
    }
}

/// The media type of an image, by its first bytes.
fn image_type(start: &[u8]) -> Option<&'static str> {
    match start {
        [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => Some("image/png"),
        [0xff, 0xd8, 0xff, ..] => Some("image/jpeg"),
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some("image/gif"),
        [
            b'R',
            b'I',
            b'F',
            b'F',
            _,
            _,
            _,
            _,
            b'W',
            b'E',
            b'B',
            b'P',
            ..,
        ] => Some("image/webp"),
        _ => None,
    }
}

fn image(
    files: &Files,
    path: &str,
    metadata: &Metadata,
    kind: &'static str,
) -> Result<ContentBlock, ToolError> {
    let too_large = |size: u64| {
        ToolError::new(
            format!(
                "image `{path}` has {} bytes, at most {} are shown",
                grouped(size),
                grouped(limits::IMAGE_BYTES)
            ),
            "make a smaller copy of it",
        )
    };
    if metadata.size > limits::IMAGE_BYTES {
        return Err(too_large(metadata.size));
    }
    let bytes = files
        .read_at_most(path, limits::IMAGE_BYTES)
        .map_err(|error| match error.errno() {
            Some(Errno::FileTooBig) => too_large(limits::IMAGE_BYTES + 1),
            _ => error.into(),
        })?;
    Ok(ContentBlock::image(
        base64::prelude::BASE64_STANDARD.encode(bytes),
        kind,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(lines: &[&str], wanted: Wanted) -> Page {
        let mut page = Page::default();
        page.whole = lines.iter().all(|line| page.add(line.as_bytes(), wanted));
        page
    }

    fn text(content: &ContentBlock) -> String {
        content.as_text().expect("text").text.clone()
    }

    const ALL: Wanted = Wanted {
        offset: 1,
        limit: 100,
        chars: 1000,
    };

    #[test]
    fn lines_are_numbered_from_one() {
        let content = page(&["a", "b\r"], ALL).show("f", ALL).expect("lines");
        assert_eq!(text(&content), "     1\ta\n     2\tb\n");
        assert_eq!(
            text(&page(&[], ALL).show("f", ALL).expect("nothing")),
            "[f is empty]"
        );
    }

    #[test]
    fn a_page_ends_at_the_limit_and_says_where_to_go_on() {
        let wanted = Wanted {
            offset: 2,
            limit: 2,
            chars: 1000,
        };
        let content = page(&["a", "b", "c", "d"], wanted)
            .show("f", wanted)
            .expect("lines");
        assert_eq!(
            text(&content),
            "     2\tb\n     3\tc\n[lines 2 to 3; there are more, read on with offset 4]"
        );
        let exact = page(&["a", "b", "c"], wanted)
            .show("f", wanted)
            .expect("lines");
        assert_eq!(text(&exact), "     2\tb\n     3\tc\n");
    }

    #[test]
    fn a_page_ends_at_its_size_but_has_one_line_at_least() {
        let wanted = Wanted {
            offset: 1,
            limit: 100,
            chars: 20,
        };
        let content = page(&["aaaa", "bbbb"], wanted)
            .show("f", wanted)
            .expect("lines");
        assert_eq!(
            text(&content),
            "     1\taaaa\n[lines 1 to 1; there are more, read on with offset 2]"
        );
        let long = "x".repeat(50);
        assert!(text(&page(&[&long], wanted).show("f", wanted).expect("a line")).contains(&long));
    }

    #[test]
    fn an_offset_behind_the_end_is_an_error_with_the_number_of_lines() {
        let wanted = Wanted { offset: 9, ..ALL };
        let error = page(&["a", "b"], wanted)
            .show("f", wanted)
            .expect_err("too far");
        assert!(error.text().contains("`offset` is 9, `f` has 2 lines"));
    }

    #[test]
    fn images_are_known_by_their_first_bytes() {
        assert_eq!(image_type(b"\x89PNG\r\n\x1a\n..."), Some("image/png"));
        assert_eq!(image_type(b"\xff\xd8\xff\xe0"), Some("image/jpeg"));
        assert_eq!(image_type(b"GIF89a"), Some("image/gif"));
        assert_eq!(image_type(b"RIFF\x10\0\0\0WEBPVP8 "), Some("image/webp"));
        assert_eq!(image_type(b"RIFF\x10\0\0\0WAVE"), None);
        assert_eq!(image_type(b"plain"), None);
    }
}
