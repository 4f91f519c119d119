//! A command's output: what a model is shown of it, and the file in the sandbox that holds all of it.
//!
//! Invariants: the beginning and the end are in memory, each of at most `keep` bytes; the file exists once more than the beginning
//! was written, or when it was asked for, and then holds everything up to [`limits::SPOOL_BYTES`]. The file is the sandbox's own
//! and counts against its quota; where the quota ends, the file ends, and the command goes on.

use std::collections::VecDeque;

use parking_lot::Mutex;
use sandbar::process::{Readiness, Stream};
use sandbar::{Errno, Files};
use tokio::sync::Notify;

use crate::limits;
use crate::text;

/// Bytes that are gathered before they are appended to the file.
const PENDING_BYTES: usize = 64 << 10;
/// Characters of an answer that are not output: the gap's line and the closing line.
const FRAME_CHARS: usize = 500;

/// Output that is shown in part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Excerpt {
    /// What is shown.
    pub(crate) text: String,
    /// Bytes of the whole.
    pub(crate) total: u64,
    /// What is left out in the middle.
    pub(crate) omitted: Option<Omitted>,
}

/// What an excerpt leaves out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Omitted {
    pub(crate) bytes: u64,
    pub(crate) lines: u64,
    /// The file that holds the whole, or its first bytes.
    pub(crate) file: String,
    /// Bytes in the file.
    pub(crate) held: u64,
}

#[derive(Debug, Default)]
struct Kept {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    total: u64,
    newlines: u64,
    file: OutputFile,
    /// Nobody flushes any more: every write goes to the file at once.
    unattended: bool,
}

#[derive(Debug, Default)]
enum OutputFile {
    #[default]
    None,
    Growing {
        pending: Vec<u8>,
        held: u64,
    },
    /// Nothing more is written to it: the limit, the quota, or a guest is in the way.
    Closed {
        held: u64,
    },
}

/// The stream that a command writes both its outputs to.
#[derive(Debug)]
pub(super) struct Spool {
    kept: Mutex<Kept>,
    keep: usize,
    files: Files,
    path: String,
    changed: Notify,
}

impl Spool {
    /// One whose excerpts have up to `chars` characters and whose file is at `path`.
    pub(super) fn new(files: Files, path: String, chars: usize) -> Self {
        // A character has up to four bytes.
        let keep = chars.saturating_mul(4);
        Self {
            kept: Mutex::default(),
            keep,
            files,
            path,
            changed: Notify::new(),
        }
    }

    /// The file's path.
    pub(super) fn path(&self) -> &str {
        &self.path
    }

    /// Bytes written up to now.
    pub(super) fn total(&self) -> u64 {
        self.kept.lock().total
    }

    /// What to show of it in `chars` characters. Makes the file when something is left out.
    pub(super) fn excerpt(&self, chars: usize) -> Excerpt {
        let mut kept = self.kept.lock();
        let chars = chars.saturating_sub(FRAME_CHARS).max(2);
        if kept.tail.is_empty() && text::head_len(&kept.head, chars) == kept.head.len() {
            let text = String::from_utf8_lossy(&kept.head).into_owned();
            return Excerpt {
                text,
                total: kept.total,
                omitted: None,
            };
        }
        self.begin_file(&mut kept);
        self.flush(&mut kept);
        let Kept {
            head,
            tail,
            total,
            newlines,
            file,
            ..
        } = &*kept;
        let whole = *total == (head.len() + tail.len()) as u64;
        let ending: Vec<u8> = head.iter().filter(|_| whole).chain(tail).copied().collect();
        let head_end = text::head_len(head, chars / 2);
        let tail_start = text::tail_start(&ending, chars / 2);
        let beginning = head.get(..head_end).unwrap_or_default();
        let ending = ending.get(tail_start..).unwrap_or_default();
        let shown = (beginning.len() + ending.len()) as u64;
        let bytes = total.saturating_sub(shown);
        let lines = newlines.saturating_sub(text::newlines(beginning) + text::newlines(ending));
        let mut text = String::from_utf8_lossy(beginning).into_owned();
        if !text.ends_with('\n') {
            text.push('\n');
        }
        let gap = format!(
            "[… {} bytes ({} lines) left out …]\n",
            text::grouped(bytes),
            text::grouped(lines)
        );
        text.push_str(&gap);
        text.push_str(&String::from_utf8_lossy(ending));
        let held = file.held();
        Excerpt {
            text,
            total: *total,
            omitted: Some(Omitted {
                bytes,
                lines,
                file: self.path.clone(),
                held,
            }),
        }
    }

    /// Up to `len` bytes from an offset on, from memory or the file; empty at the end.
    pub(super) fn read_from(&self, offset: u64, len: usize) -> sandbar::Result<Vec<u8>> {
        let mut kept = self.kept.lock();
        let start = usize::try_from(offset).unwrap_or(usize::MAX);
        if matches!(kept.file, OutputFile::None) {
            let rest = kept.head.get(start..).unwrap_or_default();
            return Ok(rest.get(..len.min(rest.len())).unwrap_or_default().to_vec());
        }
        self.flush(&mut kept);
        drop(kept);
        self.files.read_range(&self.path, offset, len)
    }

    /// Says that what is still written goes to the file at once, and makes the file: nobody will show it.
    pub(super) fn leave(&self) {
        let mut kept = self.kept.lock();
        self.begin_file(&mut kept);
        self.flush(&mut kept);
        kept.unattended = true;
    }

    fn begin_file(&self, kept: &mut Kept) {
        if matches!(kept.file, OutputFile::None) {
            let made = self.files.write(&self.path, []);
            kept.file = match made {
                Ok(()) => OutputFile::Growing {
                    pending: kept.head.clone(),
                    held: 0,
                },
                Err(error) => {
                    tracing::debug!(%error, "no output file");
                    OutputFile::Closed { held: 0 }
                }
            };
        }
    }

    fn flush(&self, kept: &mut Kept) {
        let OutputFile::Growing { pending, held } = &mut kept.file else {
            return;
        };
        let room = limits::SPOOL_BYTES.saturating_sub(*held);
        let fits = pending
            .len()
            .min(usize::try_from(room).unwrap_or(usize::MAX));
        let part = pending.get(..fits).unwrap_or_default();
        let written = part.is_empty() || self.files.append(&self.path, part).is_ok();
        if written {
            *held += fits as u64;
        }
        if !written || fits < pending.len() {
            kept.file = OutputFile::Closed { held: *held };
        } else {
            pending.clear();
        }
    }
}

impl Kept {
    /// Counts and keeps what is written; of the middle nothing.
    fn take(&mut self, buffer: &[u8], keep: usize) {
        self.total += buffer.len() as u64;
        self.newlines += text::newlines(buffer);
        let room = keep.saturating_sub(self.head.len());
        let (head, rest) = buffer.split_at(room.min(buffer.len()));
        self.head.extend_from_slice(head);
        let rest = rest
            .get(rest.len().saturating_sub(keep)..)
            .unwrap_or_default();
        let excess = (self.tail.len() + rest.len()).saturating_sub(keep);
        self.tail.drain(..excess);
        self.tail.extend(rest);
    }
}

impl OutputFile {
    fn held(&self) -> u64 {
        match self {
            Self::None => 0,
            Self::Growing { held, .. } | Self::Closed { held } => *held,
        }
    }
}

impl Stream for Spool {
    fn try_write(&self, buffer: &[u8]) -> Result<usize, Errno> {
        let mut kept = self.kept.lock();
        if kept.head.len() + buffer.len() > self.keep {
            self.begin_file(&mut kept);
        }
        kept.take(buffer, self.keep);
        let unattended = kept.unattended;
        if let OutputFile::Growing { pending, .. } = &mut kept.file {
            pending.extend_from_slice(buffer);
            if unattended || pending.len() >= PENDING_BYTES {
                self.flush(&mut kept);
            }
        }
        Ok(buffer.len())
    }

    fn readiness(&self) -> Readiness {
        Readiness {
            writable: true,
            ..Readiness::default()
        }
    }

    fn changed(&self) -> &Notify {
        &self.changed
    }

    fn id(&self) -> u64 {
        0
    }
}

#[cfg(test)]
mod tests {
    // What needs a sandbox's file is tested end to end (tests/mcp_stdio.rs); here is what memory alone decides.
    use super::*;

    fn kept(keep: usize, parts: &[&[u8]]) -> Kept {
        let mut kept = Kept::default();
        for part in parts {
            kept.take(part, keep);
        }
        kept
    }

    #[test]
    fn beginning_and_end_are_kept_and_everything_is_counted() {
        let all = kept(4, &[b"ab", b"cd"]);
        assert_eq!(
            (all.head.as_slice(), all.tail.len(), all.total),
            (b"abcd".as_slice(), 0, 4)
        );
        let cut = kept(4, &[b"ab\n", b"cdefgh\n", b"ij"]);
        assert_eq!(cut.head, b"ab\nc");
        assert_eq!(cut.tail, b"h\nij");
        assert_eq!((cut.total, cut.newlines), (12, 2));
    }

    #[test]
    fn one_large_write_keeps_its_beginning_and_its_end() {
        let cut = kept(2, &[b"abcdefgh"]);
        assert_eq!((cut.head.as_slice(), cut.total), (b"ab".as_slice(), 8));
        assert_eq!(cut.tail, b"gh");
    }
}
