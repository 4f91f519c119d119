//! A command that a shell of a sandbox runs.

use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use sandbar::{Child, Ended, ExitStatus};
use tokio::sync::watch;

use super::spool::{Excerpt, Spool};
use super::state::StateSink;

/// A command, running or ended.
#[derive(Debug)]
pub(crate) struct Running {
    id: u64,
    command: String,
    limit: Duration,
    started: Instant,
    spool: Arc<Spool>,
    state: Arc<StateSink>,
    /// Gone once the command was let go.
    child: Mutex<Option<Child>>,
    finished: watch::Sender<Option<Finished>>,
    /// Offset up to which `BashOutput` has shown the output.
    shown: Mutex<u64>,
}

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Finished {
    pub(crate) status: ExitStatus,
    pub(crate) wall: Duration,
    pub(crate) ended: Ended,
}

impl Running {
    /// Watches a command that has just been started. Needs a tokio runtime.
    pub(super) fn watch(
        id: u64,
        command: String,
        limit: Duration,
        child: Child,
        spool: Arc<Spool>,
        state: Arc<StateSink>,
    ) -> Arc<Self> {
        let process = Arc::clone(child.process());
        let running = Arc::new(Self {
            id,
            command,
            limit,
            started: Instant::now(),
            spool,
            state,
            child: Mutex::new(Some(child)),
            finished: watch::Sender::new(None),
            shown: Mutex::new(0),
        });
        let watched = Arc::clone(&running);
        tokio::spawn(async move {
            let status = process.exited().await;
            let report = watched
                .child
                .lock()
                .as_ref()
                .map(|child| child.output_so_far().report);
            watched.finished.send_replace(Some(Finished {
                status,
                wall: watched.started.elapsed(),
                ended: report.map_or(Ended::Exited, |report| report.ended),
            }));
        });
        running
    }

    /// Its name for the client.
    pub(crate) fn shell_id(&self) -> String {
        format!("bash_{}", self.id)
    }

    pub(super) fn id(&self) -> u64 {
        self.id
    }

    /// What runs.
    pub(crate) fn command(&self) -> &str {
        &self.command
    }

    /// Its time limit.
    pub(crate) fn limit(&self) -> Duration {
        self.limit
    }

    /// Time since its start.
    pub(crate) fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    /// How it ended, if it has.
    pub(crate) fn finished(&self) -> Option<Finished> {
        *self.finished.borrow()
    }

    /// Waits for its end.
    pub(crate) async fn wait(&self) -> Finished {
        let mut finished = self.finished.subscribe();
        loop {
            if let Some(finished) = *finished.borrow_and_update() {
                return finished;
            }
            if finished.changed().await.is_err() {
                // The sender is a field of `self`.
                std::future::pending::<()>().await;
            }
        }
    }

    /// Ends it with everything that it started.
    pub(crate) fn kill(&self) {
        if let Some(child) = &*self.child.lock() {
            child.kill();
        }
    }

    /// Lets what it left in the background go on, without a time limit. Gives the number of such processes.
    pub(crate) fn let_go(&self) -> usize {
        let Some(child) = self.child.lock().take() else {
            return 0;
        };
        let left = child.live_processes();
        if left > 0 {
            self.spool.leave();
        }
        child.detach();
        left
    }

    /// The file that holds its output when that is too long to be shown.
    pub(crate) fn output_file(&self) -> &str {
        self.spool.path()
    }

    /// Its output in up to `chars` characters.
    pub(crate) fn excerpt(&self, chars: usize) -> Excerpt {
        self.spool.excerpt(chars)
    }

    /// Bytes that it has written.
    pub(crate) fn output_bytes(&self) -> u64 {
        self.spool.total()
    }

    /// Its output from an offset on, or from where the last call ended, in up to `chars` characters; with the offset of the first
    /// byte and of the one behind the last.
    ///
    /// # Errors
    /// When a guest has removed the file that holds it.
    pub(crate) fn read_on(
        &self,
        offset: Option<u64>,
        chars: usize,
    ) -> sandbar::Result<(String, u64, u64)> {
        let mut shown = self.shown.lock();
        let start = offset.unwrap_or(*shown);
        let bytes = self.spool.read_from(start, chars.saturating_mul(4))?;
        let mut len = crate::text::head_len(&bytes, chars);
        if self.finished().is_none() && len == bytes.len() {
            len -= unfinished_char(&bytes);
        }
        let part = bytes.get(..len).unwrap_or_default();
        let end = start + len as u64;
        *shown = end;
        Ok((String::from_utf8_lossy(part).into_owned(), start, end))
    }

    /// Says that its output was shown up to an offset.
    pub(crate) fn mark_shown(&self, offset: u64) {
        *self.shown.lock() = offset;
    }

    /// What it wrote of its shell's state at its end.
    pub(super) fn take_state(&self) -> Vec<u8> {
        self.state.take()
    }
}

/// Bytes at the end that begin a character whose rest is still to come.
fn unfinished_char(bytes: &[u8]) -> usize {
    match std::str::from_utf8(bytes) {
        Err(error) if error.error_len().is_none() => bytes.len() - error.valid_up_to(),
        _ => 0,
    }
}

/// A command that a call waits for: when the call is given up, the command ends.
#[derive(Debug)]
pub(crate) struct Foreground(Option<Arc<Running>>);

impl Foreground {
    pub(super) fn new(running: Arc<Running>) -> Self {
        Self(Some(running))
    }

    /// The command, which now outlives the call.
    pub(crate) fn release(mut self) -> Option<Arc<Running>> {
        self.0.take()
    }

    /// Waits for the command's end.
    pub(crate) async fn wait(&self) {
        match &self.0 {
            Some(running) => drop(running.wait().await),
            None => std::future::pending().await,
        }
    }
}

impl Drop for Foreground {
    fn drop(&mut self) {
        if let Some(running) = &self.0 {
            running.kill();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_character_that_is_not_complete_is_left_for_the_next_call() {
        assert_eq!(unfinished_char("é".as_bytes()), 0);
        assert_eq!(unfinished_char(b"a\xc3"), 1);
        assert_eq!(unfinished_char(b"a\xf0\x9f\x98"), 3);
        assert_eq!(unfinished_char(b"a\xff"), 0);
    }
}
