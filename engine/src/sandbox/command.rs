//! Commands: what to start in a sandbox, after `std::process::Command`.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::Sandbox;
use super::capture::{Capture, Captured};
use super::child::{self, Child, Ends};
use super::stdio::{BytesStream, InheritedInput, InheritedOutput, NullStream, Stdio};
use crate::error::{ErrorKind, Result};
use crate::process::{Description, ExitStatus, FdPlan, Job, Signal, SpawnRequest, Stream, pipe};
use crate::vfs::{AccessMode, At, Caller, Confine};

/// A command to be started in a sandbox.
///
/// - arguments: none
/// - environment: the sandbox's
/// - directory: the workspace
/// - standard input: [`Stdio::Null`]; output and error: [`Stdio::Captured`] for [`Command::output`], else as set
/// - time limit: none
/// - fuel: not counted
#[derive(Clone, Debug)]
pub struct Command {
    pub(super) sandbox: Sandbox,
    pub(super) program: Vec<u8>,
    args: Vec<Vec<u8>>,
    argv0: Option<Vec<u8>>,
    env: Vec<Vec<u8>>,
    cwd: Option<Vec<u8>>,
    stdin: Stdio,
    stdout: Stdio,
    stderr: Stdio,
    extra: Vec<(u32, Arc<dyn Stream>)>,
    pub(super) timeout: Option<Duration>,
    pub(super) grace: Duration,
    fuel: Option<u64>,
    output_bytes: u64,
}

/// Why a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// By itself, or by a signal that a guest or the embedder sent.
    Exited,
    /// At its time limit.
    TimeLimit,
    /// At its fuel limit.
    FuelLimit,
}

/// What a command used, with everything it started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Report {
    /// From its start to its end.
    pub wall: Duration,
    /// CPU time.
    pub cpu: Duration,
    /// Fuel, where it was counted.
    pub fuel: Option<u64>,
    /// The largest linear memory of one process, in bytes.
    pub peak_memory_bytes: u64,
    /// Bytes read through descriptors.
    pub read_bytes: u64,
    /// Bytes written through descriptors.
    pub written_bytes: u64,
    /// Processes started.
    pub processes: u64,
    /// Why it ended.
    pub ended: Ended,
}

/// A finished command.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub struct Output {
    /// How its first process ended.
    pub status: ExitStatus,
    /// What it wrote to standard output, when that was captured.
    pub stdout: Captured,
    /// What it wrote to standard error, when that was captured.
    pub stderr: Captured,
    /// What it used.
    pub report: Report,
}

impl Output {
    /// Standard output as text, invalid UTF-8 replaced.
    pub fn stdout_text(&self) -> String {
        String::from_utf8_lossy(&self.stdout.bytes).into_owned()
    }

    /// Standard error as text, invalid UTF-8 replaced.
    pub fn stderr_text(&self) -> String {
        String::from_utf8_lossy(&self.stderr.bytes).into_owned()
    }
}

impl Command {
    pub(super) fn new(sandbox: Sandbox, program: Vec<u8>) -> Self {
        let (env, output_bytes) = (
            sandbox.shared.env.clone(),
            sandbox.shared.limits.output_bytes,
        );
        Self {
            sandbox,
            program,
            args: Vec::new(),
            argv0: None,
            env,
            cwd: None,
            stdin: Stdio::Null,
            stdout: Stdio::Captured,
            stderr: Stdio::Captured,
            extra: Vec::new(),
            timeout: None,
            grace: Duration::ZERO,
            fuel: None,
            output_bytes,
        }
    }

    /// Adds an argument.
    #[must_use]
    pub fn arg(mut self, arg: impl AsRef<[u8]>) -> Self {
        self.args.push(arg.as_ref().to_vec());
        self
    }

    /// Adds arguments.
    #[must_use]
    pub fn args<A: AsRef<[u8]>>(mut self, args: impl IntoIterator<Item = A>) -> Self {
        self.args
            .extend(args.into_iter().map(|arg| arg.as_ref().to_vec()));
        self
    }

    /// Sets `argv[0]`; it is the program's name otherwise.
    #[must_use]
    pub fn argv0(mut self, name: impl AsRef<[u8]>) -> Self {
        self.argv0 = Some(name.as_ref().to_vec());
        self
    }

    /// Sets an environment variable.
    #[must_use]
    pub fn env(mut self, name: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> Self {
        set_env(&mut self.env, name.as_ref(), value.as_ref());
        self
    }

    /// Starts from an empty environment.
    #[must_use]
    pub fn env_clear(mut self) -> Self {
        self.env.clear();
        self
    }

    /// Sets the directory it starts in; a relative one starts at the workspace.
    #[must_use]
    pub fn current_dir(mut self, path: impl AsRef<[u8]>) -> Self {
        self.cwd = Some(path.as_ref().to_vec());
        self
    }

    /// Sets standard input.
    #[must_use]
    pub fn stdin(mut self, stdin: impl Into<Stdio>) -> Self {
        self.stdin = stdin.into();
        self
    }

    /// Sets standard output.
    #[must_use]
    pub fn stdout(mut self, stdout: Stdio) -> Self {
        self.stdout = stdout;
        self
    }

    /// Sets standard error.
    #[must_use]
    pub fn stderr(mut self, stderr: Stdio) -> Self {
        self.stderr = stderr;
        self
    }

    /// Gives it one more descriptor, open for reading and writing as far as the stream allows either.
    #[must_use]
    pub fn descriptor(mut self, fd: u32, stream: Arc<dyn Stream>) -> Self {
        self.extra.push((fd, stream));
        self
    }

    /// Ends it, with everything it started, this long after its start.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Between `SIGTERM` at the time limit and `SIGKILL`; zero, the default, sends only the latter.
    #[must_use]
    pub fn grace(mut self, grace: Duration) -> Self {
        self.grace = grace;
        self
    }

    /// Counts fuel and ends it when its processes together have used this much. Programs are compiled once more for this.
    #[must_use]
    pub fn fuel(mut self, fuel: u64) -> Self {
        self.fuel = Some(fuel);
        self
    }

    /// Bytes kept of each captured stream; the sandbox's `output_bytes` otherwise.
    #[must_use]
    pub fn output_bytes(mut self, bytes: u64) -> Self {
        self.output_bytes = bytes;
        self
    }

    /// Starts it.
    ///
    /// # Errors
    /// `Spawn`: `NotFound`, `Access`, `NoExec`, `TooBig`, `Again` at the process limit; `File` when its directory is not there.
    pub fn spawn(self) -> Result<Child> {
        let mut ends = Ends::default();
        let mut fds = Vec::new();
        let stdin = self.input(&mut ends);
        fds.push((0, Description::stream(stdin, AccessMode::Read)));
        for (fd, stdio) in [(1, &self.stdout), (2, &self.stderr)] {
            let stream = self.output_stream(fd, stdio, &mut ends);
            fds.push((fd, Description::stream(stream, AccessMode::Write)));
        }
        for (fd, stream) in &self.extra {
            fds.push((
                *fd,
                Description::stream(Arc::clone(stream), AccessMode::ReadWrite),
            ));
        }
        let namespace = &self.sandbox.shared.namespace;
        let cwd = match &self.cwd {
            None => self.sandbox.files().workspace()?,
            Some(path) => {
                let base = self.sandbox.files().base(path)?;
                let at = At {
                    caller: Caller { pid: 0 },
                    base: &base,
                    path,
                    confine: Confine::Namespace,
                };
                namespace.directory(at).map_err(|errno| ErrorKind::File {
                    operation: "change to directory",
                    path: String::from_utf8_lossy(path).into_owned(),
                    errno,
                })?
            }
        };
        let mut args = vec![self.argv0.clone().unwrap_or_else(|| self.program.clone())];
        args.extend(self.args.iter().cloned());
        let request = SpawnRequest {
            path: self.program.clone(),
            search: true,
            args,
            env: Some(self.env.clone()),
            fds: FdPlan::Exactly(fds),
            cwd: None,
            pgid: None,
            new_session: true,
            umask: None,
            blocked: None,
            ignored: None,
        };
        let job = Job::new(self.fuel);
        let started = Instant::now();
        let table = &self.sandbox.shared.table;
        let process = table
            .spawn_for_host(request, cwd, Arc::clone(&job))
            .map_err(|errno| ErrorKind::Spawn {
                program: String::from_utf8_lossy(&self.program).into_owned(),
                errno,
            })?;
        Ok(child::watch(self, process, job, ends, started))
    }

    fn input(&self, ends: &mut Ends) -> Arc<dyn Stream> {
        match &self.stdin {
            Stdio::Null | Stdio::Captured => Arc::new(NullStream::default()),
            Stdio::Inherit => Arc::new(InheritedInput::new()),
            Stdio::Bytes(bytes) => Arc::new(BytesStream::new(Arc::clone(bytes))),
            Stdio::Stream(stream) => Arc::clone(stream),
            Stdio::Piped => {
                let (reader, writer) = pipe();
                ends.stdin = Some(writer);
                Arc::new(reader)
            }
        }
    }

    fn output_stream(&self, fd: u32, stdio: &Stdio, ends: &mut Ends) -> Arc<dyn Stream> {
        match stdio {
            Stdio::Null | Stdio::Bytes(_) => Arc::new(NullStream::default()),
            Stdio::Inherit => Arc::new(InheritedOutput::new(fd == 2)),
            Stdio::Stream(stream) => Arc::clone(stream),
            Stdio::Captured => {
                let capture = Arc::new(Capture::new(self.output_bytes));
                ends.captures.push((fd, Arc::clone(&capture)));
                capture
            }
            Stdio::Piped => {
                let (reader, writer) = pipe();
                if fd == 1 {
                    ends.stdout = Some(reader);
                } else {
                    ends.stderr = Some(reader);
                }
                Arc::new(writer)
            }
        }
    }

    /// Starts it and waits for its end.
    ///
    /// # Errors
    /// As [`Command::spawn`].
    pub async fn output(self) -> Result<Output> {
        Ok(self.spawn()?.wait().await)
    }

    /// [`Command::output`] without async. Not to be called on a thread of an async runtime, which it would hold up.
    ///
    /// # Errors
    /// As [`Command::spawn`].
    pub fn output_blocking(self) -> Result<Output> {
        Ok(self.spawn()?.wait_blocking())
    }
}

/// Sets or replaces a variable of an environment.
pub(super) fn set_env(env: &mut Vec<Vec<u8>>, name: &[u8], value: &[u8]) {
    let mut entry = name.to_vec();
    entry.push(b'=');
    env.retain(|known| !known.starts_with(&entry));
    entry.extend_from_slice(value);
    env.push(entry);
}

/// The signal that ends a command at its time limit first.
pub(super) fn first_signal(grace: Duration) -> Signal {
    if grace.is_zero() {
        Signal::KILL
    } else {
        Signal::TERM
    }
}
