//! The host's ends of a command's standard streams.

use std::io::{Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::{Condvar, Mutex};
use tokio::sync::Notify;

use crate::errno::{Errno, SysResult};
use crate::process::{Readiness, Stream, WindowSize};

/// Where a standard stream of a command leads.
#[derive(Clone, Debug)]
pub enum Stdio {
    /// Nowhere: reads end at once, writes vanish.
    Null,
    /// A pipe whose other end the [`super::Child`] carries.
    Piped,
    /// The embedder's own stream. Standard input is read by a thread, and only once a guest asks for it.
    Inherit,
    /// Kept in memory: the beginning and the end, at most the sandbox's `output_bytes`. For output only.
    Captured,
    /// These bytes, then the end. For input only.
    Bytes(Arc<[u8]>),
    /// Any stream.
    Stream(Arc<dyn Stream>),
}

impl From<&[u8]> for Stdio {
    fn from(bytes: &[u8]) -> Self {
        Self::Bytes(bytes.into())
    }
}

impl From<&str> for Stdio {
    fn from(text: &str) -> Self {
        Self::Bytes(text.as_bytes().into())
    }
}

/// Bytes that are read once.
#[derive(Debug)]
pub(super) struct BytesStream {
    bytes: Arc<[u8]>,
    position: Mutex<usize>,
    changed: Notify,
}

impl BytesStream {
    pub(super) fn new(bytes: Arc<[u8]>) -> Self {
        Self {
            bytes,
            position: Mutex::new(0),
            changed: Notify::new(),
        }
    }
}

impl Stream for BytesStream {
    fn try_read(&self, buffer: &mut [u8]) -> SysResult<usize> {
        let mut position = self.position.lock();
        let rest = self.bytes.get(*position..).unwrap_or_default();
        let count = rest.len().min(buffer.len());
        buffer[..count].copy_from_slice(&rest[..count]);
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

/// The embedder's standard output or error.
#[derive(Debug)]
pub(super) struct InheritedOutput {
    error: bool,
    changed: Notify,
}

impl InheritedOutput {
    pub(super) fn new(error: bool) -> Self {
        Self {
            error,
            changed: Notify::new(),
        }
    }
}

impl Stream for InheritedOutput {
    fn try_write(&self, buffer: &[u8]) -> SysResult<usize> {
        // The embedder's stream may be a slow pipe: other guests of this thread must not wait with it.
        let written = crate::host::blocking(|| {
            if self.error {
                std::io::stderr().lock().write_all(buffer)
            } else {
                let mut out = std::io::stdout().lock();
                out.write_all(buffer).and_then(|()| out.flush())
            }
        });
        match written {
            Ok(()) => Ok(buffer.len()),
            Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Err(Errno::BrokenPipe),
            Err(_) => Err(Errno::Io),
        }
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
        u64::from(self.error) + 1
    }

    fn window(&self) -> Option<WindowSize> {
        crate::host::terminal_size(if self.error { 2 } else { 1 })
    }
}

/// The embedder's standard input, read by a thread that starts with the first read and is never joined: a blocked read must
/// not hold up the end of the program.
#[derive(Debug)]
pub(super) struct InheritedInput {
    shared: Arc<Input>,
    started: AtomicBool,
}

#[derive(Debug, Default)]
struct Input {
    state: Mutex<InputState>,
    wanted: Condvar,
    changed: Notify,
}

#[derive(Debug, Default)]
struct InputState {
    bytes: std::collections::VecDeque<u8>,
    ended: bool,
    wanted: bool,
}

impl InheritedInput {
    pub(super) fn new() -> Self {
        Self {
            shared: Arc::default(),
            started: AtomicBool::new(false),
        }
    }

    fn start(&self) {
        if self.started.swap(true, Ordering::SeqCst) {
            return;
        }
        let shared = Arc::clone(&self.shared);
        let spawned = std::thread::Builder::new()
            .name("sandbar-stdin".into())
            .spawn(move || shared.pump());
        if let Err(error) = spawned {
            tracing::error!(%error, "no thread to read standard input");
            self.shared.state.lock().ended = true;
        }
    }
}

impl Input {
    fn pump(&self) {
        let mut buffer = vec![0; 64 * 1024];
        loop {
            {
                let mut state = self.state.lock();
                while !state.wanted {
                    self.wanted.wait(&mut state);
                }
            }
            let count = std::io::stdin().lock().read(&mut buffer).unwrap_or(0);
            let mut state = self.state.lock();
            state.bytes.extend(&buffer[..count]);
            state.wanted = false;
            state.ended = count == 0;
            drop(state);
            self.changed.notify_waiters();
            if count == 0 {
                return;
            }
        }
    }
}

impl Stream for InheritedInput {
    fn try_read(&self, buffer: &mut [u8]) -> SysResult<usize> {
        self.start();
        let mut state = self.shared.state.lock();
        if state.bytes.is_empty() {
            if state.ended {
                return Ok(0);
            }
            state.wanted = true;
            drop(state);
            self.shared.wanted.notify_one();
            return Err(Errno::Again);
        }
        let count = buffer.len().min(state.bytes.len());
        for (to, from) in buffer.iter_mut().zip(state.bytes.drain(..count)) {
            *to = from;
        }
        Ok(count)
    }

    fn readiness(&self) -> Readiness {
        self.start();
        let mut state = self.shared.state.lock();
        if state.bytes.is_empty() && !state.ended {
            state.wanted = true;
            self.shared.wanted.notify_one();
        }
        Readiness {
            readable: state.ended || !state.bytes.is_empty(),
            writable: false,
            hangup: state.ended,
            available: state.bytes.len() as u64,
        }
    }

    fn changed(&self) -> &Notify {
        &self.shared.changed
    }

    fn id(&self) -> u64 {
        0
    }

    fn window(&self) -> Option<WindowSize> {
        crate::host::terminal_size(0)
    }
}

/// Nothing.
#[derive(Debug, Default)]
pub(super) struct NullStream {
    changed: Notify,
}

impl Stream for NullStream {
    fn try_read(&self, _buffer: &mut [u8]) -> SysResult<usize> {
        Ok(0)
    }

    fn try_write(&self, buffer: &[u8]) -> SysResult<usize> {
        Ok(buffer.len())
    }

    fn readiness(&self) -> Readiness {
        Readiness {
            readable: true,
            writable: true,
            hangup: false,
            available: 0,
        }
    }

    fn changed(&self) -> &Notify {
        &self.changed
    }

    fn id(&self) -> u64 {
        0
    }
}
