//! Output kept in memory: the beginning and the end, never more than a limit.

use std::collections::VecDeque;

use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::errno::SysResult;
use crate::process::{Readiness, Stream};

/// What was left out of captured output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Omitted {
    /// Offset of the first byte that is missing, which is the length of the kept beginning.
    pub at: usize,
    /// Bytes that are missing there.
    pub bytes: u64,
}

/// Captured output.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Captured {
    /// The bytes: all of them, or the beginning and the end.
    pub bytes: Vec<u8>,
    /// What is missing, when something is.
    pub omitted: Option<Omitted>,
}

#[derive(Debug, Default)]
struct Kept {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    total: u64,
}

/// A stream that keeps what is written to it.
#[derive(Debug)]
pub(super) struct Capture {
    kept: Mutex<Kept>,
    head_limit: usize,
    tail_limit: usize,
    changed: Notify,
}

impl Capture {
    /// One that keeps at most `limit` bytes.
    pub(super) fn new(limit: u64) -> Self {
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        Self {
            kept: Mutex::default(),
            head_limit: limit - limit / 2,
            tail_limit: limit / 2,
            changed: Notify::new(),
        }
    }

    /// What it holds now.
    pub(super) fn captured(&self) -> Captured {
        let kept = self.kept.lock();
        let held = (kept.head.len() + kept.tail.len()) as u64;
        let mut bytes = kept.head.clone();
        bytes.extend(&kept.tail);
        let omitted = (kept.total > held).then(|| Omitted {
            at: kept.head.len(),
            bytes: kept.total - held,
        });
        Captured { bytes, omitted }
    }
}

impl Stream for Capture {
    fn try_write(&self, buffer: &[u8]) -> SysResult<usize> {
        let mut kept = self.kept.lock();
        kept.total += buffer.len() as u64;
        let room = self.head_limit - kept.head.len();
        let (head, rest) = buffer.split_at(room.min(buffer.len()));
        kept.head.extend_from_slice(head);
        let rest = rest
            .get(rest.len().saturating_sub(self.tail_limit)..)
            .unwrap_or_default();
        let excess = (kept.tail.len() + rest.len()).saturating_sub(self.tail_limit);
        kept.tail.drain(..excess);
        kept.tail.extend(rest);
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
    use super::*;

    fn written(limit: u64, parts: &[&[u8]]) -> Captured {
        let capture = Capture::new(limit);
        for part in parts {
            assert_eq!(capture.try_write(part), Ok(part.len()));
        }
        capture.captured()
    }

    #[test]
    fn at_the_limit_all_is_kept_and_one_above_the_middle_goes() {
        let all = written(10, &[b"01234", b"56789"]);
        assert_eq!(
            all,
            Captured {
                bytes: b"0123456789".to_vec(),
                omitted: None
            }
        );
        let cut = written(10, &[b"01234", b"56789", b"a"]);
        assert_eq!(
            cut,
            Captured {
                bytes: b"012346789a".to_vec(),
                omitted: Some(Omitted { at: 5, bytes: 1 })
            }
        );
    }

    #[test]
    fn one_large_write_keeps_its_beginning_and_its_end() {
        let cut = written(4, &[b"abcdefgh"]);
        assert_eq!(
            cut,
            Captured {
                bytes: b"abgh".to_vec(),
                omitted: Some(Omitted { at: 2, bytes: 4 })
            }
        );
    }
}
