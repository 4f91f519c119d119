//! A shell's state on its way from one `Bash` call to the next: bytes that a shell reads at its start and writes at its end.

use std::sync::Arc;

use parking_lot::Mutex;
use sandbar::Errno;
use sandbar::process::{Readiness, Stream};
use tokio::sync::Notify;

use crate::limits;

/// The descriptor that a shell reads its state from.
pub(super) const STATE_IN: u32 = 62;
/// The descriptor that a shell writes its state to.
pub(super) const STATE_OUT: u32 = 63;

/// State to be read once.
#[derive(Debug)]
pub(super) struct StateSource {
    bytes: Arc<[u8]>,
    position: Mutex<usize>,
    changed: Notify,
}

impl StateSource {
    pub(super) fn new(bytes: Arc<[u8]>) -> Self {
        Self {
            bytes,
            position: Mutex::new(0),
            changed: Notify::new(),
        }
    }
}

impl Stream for StateSource {
    fn try_read(&self, buffer: &mut [u8]) -> Result<usize, Errno> {
        let mut position = self.position.lock();
        let rest = self.bytes.get(*position..).unwrap_or_default();
        let count = rest.len().min(buffer.len());
        for (to, from) in buffer.iter_mut().zip(rest) {
            *to = *from;
        }
        *position += count;
        Ok(count)
    }

    fn readiness(&self) -> Readiness {
        let left = self.bytes.len() - *self.position.lock();
        Readiness {
            readable: true,
            writable: false,
            hangup: left == 0,
            available: left as u64,
        }
    }

    fn changed(&self) -> &Notify {
        &self.changed
    }

    fn id(&self) -> u64 {
        0
    }
}

/// State that is being written.
#[derive(Debug, Default)]
pub(super) struct StateSink {
    bytes: Mutex<Vec<u8>>,
    changed: Notify,
}

impl StateSink {
    /// What was written; nothing when the shell did not come to its end.
    pub(super) fn take(&self) -> Vec<u8> {
        std::mem::take(&mut *self.bytes.lock())
    }
}

impl Stream for StateSink {
    fn try_write(&self, buffer: &[u8]) -> Result<usize, Errno> {
        let mut bytes = self.bytes.lock();
        if bytes.len() + buffer.len() > limits::SHELL_STATE_BYTES {
            return Err(Errno::FileTooBig);
        }
        bytes.extend_from_slice(buffer);
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

    #[test]
    fn state_is_read_once_and_ends() {
        let source = StateSource::new(b"abc".as_slice().into());
        let mut buffer = [0; 2];
        assert_eq!(source.try_read(&mut buffer), Ok(2));
        assert_eq!(source.try_read(&mut buffer), Ok(1));
        assert_eq!(source.try_read(&mut buffer), Ok(0));
    }

    #[test]
    fn state_has_a_limit() {
        let sink = StateSink::default();
        let half = vec![7; limits::SHELL_STATE_BYTES / 2];
        assert_eq!(sink.try_write(&half), Ok(half.len()));
        assert_eq!(sink.try_write(&half), Ok(half.len()));
        assert_eq!(sink.try_write(b"x"), Err(Errno::FileTooBig));
        assert_eq!(sink.take().len(), limits::SHELL_STATE_BYTES);
    }
}
