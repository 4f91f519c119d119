//! A sandbox: one namespace, one process table, and the handle that an embedder holds. Wires the parts; holds no rules.

mod builder;
mod capture;
mod child;
mod command;
mod files;
mod host_command;
mod stdio;

use std::sync::Arc;

pub use self::builder::{MountMode, SandboxBuilder};
pub use self::capture::{Captured, Omitted};
pub use self::child::{Child, ChildStderr, ChildStdin, ChildStdout};
pub use self::command::{Command, Ended, Output, Report};
pub use self::files::{DirectoryEntry, Files, Metadata};
pub use self::host_command::{CommandIo, HostFunction};
pub use self::stdio::Stdio;

use crate::engine::{Engine, EngineShared, SandboxPlace};
use crate::limits::Limits;
use crate::process::{ProcessTable, Signal};
use crate::vfs::Namespace;

/// Where commands start: the working directory of a sandbox.
pub const WORKSPACE: &str = "/data/workspace";

/// A sandbox. Cheap to clone; when the last clone and the last [`Child`] are dropped, its processes end and its scratch
/// directory is removed.
#[derive(Clone, Debug)]
pub struct Sandbox {
    pub(crate) shared: Arc<SandboxShared>,
}

#[derive(Debug)]
pub(crate) struct SandboxShared {
    place: SandboxPlace,
    pub(crate) namespace: Arc<Namespace>,
    pub(crate) table: Arc<ProcessTable>,
    pub(crate) env: Vec<Vec<u8>>,
    pub(crate) limits: Limits,
    /// Removed at the end; `None` for a data directory that is the embedder's.
    scratch: Option<crate::host::Scratch>,
}

impl Sandbox {
    /// A command, looked up on the sandbox's PATH when it is started.
    pub fn command(&self, program: impl AsRef<[u8]>) -> Command {
        Command::new(self.clone(), program.as_ref().to_vec())
    }

    /// `bash -c SCRIPT`.
    pub fn bash(&self, script: impl AsRef<[u8]>) -> Command {
        self.command("bash").arg("-c").arg(script)
    }

    /// Its files, as its own processes see them.
    pub fn files(&self) -> Files {
        Files::new(self.clone())
    }

    /// Its limits.
    pub fn limits(&self) -> &Limits {
        &self.shared.limits
    }

    /// The engine it belongs to.
    pub fn engine(&self) -> Engine {
        Engine {
            shared: Arc::clone(self.shared.engine()),
        }
    }

    /// Processes that it has now.
    pub fn processes(&self) -> usize {
        self.shared.table.len()
    }

    /// The process table, for what this handle does not offer.
    pub fn process_table(&self) -> &Arc<ProcessTable> {
        &self.shared.table
    }

    /// The namespace, for what [`Files`] does not offer.
    pub fn namespace(&self) -> &Arc<Namespace> {
        &self.shared.namespace
    }

    /// Ends every process, whatever it is doing.
    pub fn kill_all(&self) {
        for process in self.shared.table.all() {
            process.kill(Signal::KILL);
        }
    }
}

impl SandboxShared {
    pub(crate) fn engine(&self) -> &Arc<EngineShared> {
        self.place.engine()
    }
}

impl Drop for SandboxShared {
    fn drop(&mut self) {
        self.table.end_all();
        drop(self.scratch.take());
    }
}
