//! One sandbox of a session, with the shell whose state goes from call to call.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use sandbar::{Files, Sandbox, Stdio, WORKSPACE};
use tokio::sync::OwnedMutexGuard;

use super::running::{Foreground, Running};
use super::seen::{Fingerprint, SeenFiles, Staleness};
use super::spool::Spool;
use super::state::{STATE_IN, STATE_OUT, StateSink, StateSource};
use crate::limits;

/// Where the output of commands lies in the sandbox.
const OUTPUT_DIR: &str = "/data/.sandbar/output";

/// A sandbox of a session.
#[derive(Debug)]
pub(crate) struct Instance {
    sandbox: Sandbox,
    max_output_chars: usize,
    /// Held by the `Bash` call that has the shell; waiters get it in the order in which they came.
    turn: Arc<tokio::sync::Mutex<()>>,
    /// The shell as the last call left it; empty before the first.
    state: Mutex<Arc<[u8]>>,
    /// Held by the call that changes a file.
    edit: tokio::sync::Mutex<()>,
    seen: SeenFiles,
    next_id: AtomicU64,
    background: Mutex<BTreeMap<u64, Arc<Running>>>,
}

/// The right to use an instance's shell.
#[derive(Debug)]
pub(crate) struct Turn {
    _guard: OwnedMutexGuard<()>,
}

impl Instance {
    pub(super) fn new(sandbox: Sandbox, max_output_chars: usize) -> Self {
        let next_id = 1 + last_output(&sandbox.files());
        Self {
            sandbox,
            max_output_chars,
            turn: Arc::default(),
            state: Mutex::new(Arc::from([])),
            edit: tokio::sync::Mutex::default(),
            seen: SeenFiles::default(),
            next_id: AtomicU64::new(next_id),
            background: Mutex::default(),
        }
    }

    pub(crate) fn sandbox(&self) -> &Sandbox {
        &self.sandbox
    }

    pub(crate) fn files(&self) -> Files {
        self.sandbox.files()
    }

    /// Waits until every call that came before is done with the shell.
    pub(crate) async fn turn(&self) -> Turn {
        Turn {
            _guard: Arc::clone(&self.turn).lock_owned().await,
        }
    }

    /// Starts a command in the shell as the last call left it. Needs a tokio runtime.
    ///
    /// # Errors
    /// `Spawn` when there is no bash or too many processes run.
    pub(crate) fn start(
        &self,
        _turn: &Turn,
        script: &str,
        limit: Duration,
    ) -> sandbar::Result<Foreground> {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let files = self.files();
        // A command may have removed the directory that all start in.
        if !files.exists(WORKSPACE) {
            files.create_dir_all(WORKSPACE)?;
        }
        if let Some(oldest) = id.checked_sub(limits::SPOOL_FILES) {
            // Most commands have none.
            files.remove_file(output_path(oldest)).ok();
        }
        let spool = Arc::new(Spool::new(files, output_path(id), self.max_output_chars));
        let state = Arc::new(StateSink::default());
        let before = Arc::clone(&self.state.lock());
        let mut command = self.sandbox.command("bash");
        if !before.is_empty() {
            command = command
                .args(["--sandbar-state-in".into(), STATE_IN.to_string()])
                .descriptor(STATE_IN, Arc::new(StateSource::new(before)));
        }
        let child = command
            .args(["--sandbar-state-out".into(), STATE_OUT.to_string()])
            .descriptor(STATE_OUT, Arc::<StateSink>::clone(&state))
            .args(["-c", script])
            .stdin(Stdio::Null)
            .stdout(Stdio::Stream(Arc::<Spool>::clone(&spool)))
            .stderr(Stdio::Stream(Arc::<Spool>::clone(&spool)))
            .timeout(limit)
            .spawn()?;
        Ok(Foreground::new(Running::watch(
            id,
            script.to_owned(),
            limit,
            child,
            spool,
            state,
        )))
    }

    /// Makes the state that a command left the shell's. One that was killed has left none, and changes nothing.
    pub(crate) fn keep_state(&self, _turn: &Turn, running: &Running) {
        let state = running.take_state();
        if !state.is_empty() {
            *self.state.lock() = state.into();
        }
    }

    /// Remembers a command that goes on in the background. At the limit the oldest one that has ended is forgotten; when all run,
    /// nothing is.
    pub(crate) fn put_in_background(&self, running: Arc<Running>) {
        let mut background = self.background.lock();
        if background.len() >= limits::BACKGROUND_COMMANDS {
            let ended = background
                .iter()
                .find(|(_, running)| running.finished().is_some());
            if let Some(id) = ended.map(|(id, _)| *id)
                && let Some(ended) = background.remove(&id)
            {
                ended.let_go();
            }
        }
        background.insert(running.id(), running);
    }

    /// A background command by its name.
    pub(crate) fn in_background(&self, shell_id: &str) -> Option<Arc<Running>> {
        let id: u64 = shell_id.strip_prefix("bash_")?.parse().ok()?;
        self.background.lock().get(&id).map(Arc::clone)
    }

    /// Names of the background commands.
    pub(crate) fn background_ids(&self) -> Vec<String> {
        self.background
            .lock()
            .values()
            .map(|running| running.shell_id())
            .collect()
    }

    /// Waits until no other call changes a file.
    pub(crate) async fn edit(&self) -> tokio::sync::MutexGuard<'_, ()> {
        self.edit.lock().await
    }

    /// Remembers what a client has seen of a file.
    pub(crate) fn remember(&self, path: Vec<u8>, fingerprint: Fingerprint) {
        self.seen.remember(path, fingerprint);
    }

    /// Compares a file with what a client has seen of it.
    pub(crate) fn compare(&self, path: &[u8], now: &Fingerprint) -> Staleness {
        self.seen.compare(path, now)
    }
}

fn output_path(id: u64) -> String {
    format!("{OUTPUT_DIR}/{id}.txt")
}

/// The highest number of an output file that an earlier session left.
fn last_output(files: &Files) -> u64 {
    let Ok(entries) = files.read_dir(OUTPUT_DIR) else {
        return 0;
    };
    let number = |name: &[u8]| -> Option<u64> {
        std::str::from_utf8(name)
            .ok()?
            .strip_suffix(".txt")?
            .parse()
            .ok()
    };
    // A guest may have made any name.
    entries
        .iter()
        .filter_map(|entry| number(&entry.name))
        .max()
        .unwrap_or(0)
        .min(u64::MAX / 2)
}
