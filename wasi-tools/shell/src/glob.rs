//! File name expansion.

use crate::ast::Bytes;
use crate::options::shopt;
use crate::pattern::{Pattern, Syntax, is_pattern, unescape};
use crate::shell::Shell;
use crate::sys::{self, FileType};

/// Names above which an expansion stops to collect.
const MAX_NAMES: usize = 1 << 20;
/// Levels that `**` descends.
const MAX_LEVELS: u32 = 128;

struct Glob {
    syntax: Syntax,
    dotglob: bool,
    globstar: bool,
    skip_dots: bool,
    found: Vec<Bytes>,
}

/// The existing paths that match `pattern` (quoted characters escaped), sorted.
pub(crate) fn expand(shell: &mut Shell, pattern: &[u8]) -> Vec<Bytes> {
    let syntax = Syntax {
        extglob: shell.shopt(shopt::EXTGLOB),
        fold: shell.shopt(shopt::NOCASEGLOB),
    };
    let ignore = shell.get(b"GLOBIGNORE").filter(|text| !text.is_empty());
    let dotglob = shell.shopt(shopt::DOTGLOB) || ignore.is_some();
    let mut glob = Glob {
        syntax,
        dotglob,
        globstar: shell.shopt(shopt::GLOBSTAR),
        skip_dots: shell.shopt(shopt::GLOBSKIPDOTS),
        found: Vec::new(),
    };
    let components = split(pattern);
    let mut start = 0;
    let mut base = Bytes::new();
    while components.get(start).is_some_and(|c| c.is_empty()) && start + 1 < components.len() {
        base.push(b'/');
        start += 1;
    }
    glob.walk(&base, &components[start..], 0);
    let mut found = glob.found;
    found.sort_unstable();
    found.dedup();
    if let Some(ignore) = ignore {
        let patterns: Vec<Vec<Pattern>> = ignore_patterns(&ignore)
            .iter()
            .map(|text| {
                split(text)
                    .iter()
                    .map(|part| Pattern::new(part, syntax))
                    .collect()
            })
            .collect();
        found.retain(|path| {
            let parts: Vec<&[u8]> = path.split(|&b| b == b'/').collect();
            let name = parts.last().copied().unwrap_or(path);
            // A star does not match a slash.
            let hit = |pattern: &Vec<Pattern>| {
                pattern.len() == parts.len()
                    && pattern
                        .iter()
                        .zip(&parts)
                        .all(|(one, part)| one.matches(part))
            };
            name != b"." && name != b".." && !patterns.iter().any(hit)
        });
    }
    found
}

/// The patterns of `GLOBIGNORE`: separated by colons outside brackets.
fn ignore_patterns(text: &[u8]) -> Vec<&[u8]> {
    let mut all = Vec::new();
    let mut start = 0;
    let mut at = 0;
    while at < text.len() {
        match text[at] {
            b'\\' => at += 1,
            b'[' => {
                if let Some((_, used)) = crate::pattern::Class::parse(&text[at + 1..], true) {
                    at += used;
                }
            }
            b':' => {
                all.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
        at += 1;
    }
    all.push(&text[start.min(text.len())..]);
    all
}

/// The pattern at its slashes; a slash inside brackets or a group separates as well, as in bash.
fn split(pattern: &[u8]) -> Vec<&[u8]> {
    let mut all = Vec::new();
    let mut start = 0;
    let mut at = 0;
    while at < pattern.len() {
        match pattern[at] {
            b'\\' => at += 1,
            b'/' => {
                all.push(&pattern[start..at]);
                start = at + 1;
            }
            _ => {}
        }
        at += 1;
    }
    all.push(&pattern[start.min(pattern.len())..]);
    all
}

impl Glob {
    /// Adds what matches `components` below `base`, which is empty or ends in a slash.
    fn walk(&mut self, base: &[u8], components: &[&[u8]], level: u32) {
        if self.found.len() >= MAX_NAMES || level > MAX_LEVELS {
            return;
        }
        let Some((first, rest)) = components.split_first() else {
            return;
        };
        if first.is_empty() && rest.is_empty() {
            // A trailing slash: directories only.
            if !base.is_empty() && sys::stat(base).is_ok_and(|stat| stat.is_dir()) {
                self.found.push(base.to_vec());
            }
            return;
        }
        if self.globstar && *first == b"**" {
            if rest.is_empty() && !base.is_empty() {
                self.found.push(base.to_vec());
            }
            self.descend(base, rest, level);
            return;
        }
        if !is_pattern(first, self.syntax.extglob) {
            let mut path = base.to_vec();
            path.extend(unescape(first));
            if rest.is_empty() {
                if sys::lstat(&path).is_ok() {
                    self.found.push(path);
                }
            } else {
                path.push(b'/');
                if sys::stat(&path).is_ok_and(|stat| stat.is_dir()) {
                    self.walk(&path, rest, level + 1);
                }
            }
            return;
        }
        let pattern = Pattern::new(first, self.syntax);
        let dots = first.starts_with(b".") || first.starts_with(b"\\.");
        let Ok(entries) = sys::read_dir(if base.is_empty() { b"." } else { base }) else {
            return;
        };
        if dots && !self.skip_dots && rest.is_empty() {
            for name in [b".".as_slice(), b".."] {
                if pattern.matches(name) {
                    self.found.push([base, name].concat());
                }
            }
        }
        for entry in entries {
            let hidden = entry.name.starts_with(b".");
            if matches!(entry.name.as_slice(), b"." | b"..")
                || hidden && !dots && !self.dotglob
                || !pattern.matches(&entry.name)
            {
                continue;
            }
            let mut path = [base, entry.name.as_slice()].concat();
            if rest.is_empty() {
                self.found.push(path);
            } else if entry.file_type == FileType::Directory
                || entry.file_type != FileType::Regular
                    && sys::stat(&path).is_ok_and(|s| s.is_dir())
            {
                path.push(b'/');
                self.walk(&path, rest, level + 1);
            }
        }
    }

    /// `**`: this directory and all below it, links not followed.
    fn descend(&mut self, base: &[u8], rest: &[&[u8]], level: u32) {
        if !rest.is_empty() {
            self.walk(base, rest, level + 1);
        }
        let Ok(entries) = sys::read_dir(if base.is_empty() { b"." } else { base }) else {
            return;
        };
        for entry in entries {
            if matches!(entry.name.as_slice(), b"." | b"..")
                || entry.name.starts_with(b".") && !self.dotglob
            {
                continue;
            }
            let mut path = [base, entry.name.as_slice()].concat();
            if rest.is_empty() {
                self.found.push(path.clone());
            }
            if entry.file_type == FileType::Directory && level < MAX_LEVELS {
                path.push(b'/');
                self.descend(&path, rest, level + 1);
            }
        }
    }
}
