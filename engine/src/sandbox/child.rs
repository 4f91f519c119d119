//! A running command.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::Notify;
use tokio::sync::futures::OwnedNotified;

use super::Sandbox;
use super::capture::{Capture, Captured};
use super::command::{Command, Ended, Output, Report, first_signal};
use crate::errno::Errno;
use crate::process::{ExitStatus, Job, PipeReader, PipeWriter, Process, Signal, Stream};
use crate::runtime::TimerToken;

/// The host's ends of a command's streams.
#[derive(Debug, Default)]
pub(super) struct Ends {
    pub(super) stdin: Option<PipeWriter>,
    pub(super) stdout: Option<PipeReader>,
    pub(super) stderr: Option<PipeReader>,
    pub(super) captures: Vec<(u32, Arc<Capture>)>,
}

/// A running command. Dropping it ends the command with everything that it started, and nothing else of the sandbox.
#[derive(Debug)]
pub struct Child {
    /// Its standard input, when that is [`super::Stdio::Piped`].
    pub stdin: Option<ChildStdin>,
    /// Its standard output, when that is [`super::Stdio::Piped`].
    pub stdout: Option<ChildStdout>,
    /// Its standard error, when that is [`super::Stdio::Piped`].
    pub stderr: Option<ChildStderr>,
    sandbox: Sandbox,
    process: Arc<Process>,
    job: Arc<Job>,
    captures: Vec<(u32, Arc<Capture>)>,
    started: Instant,
    timed_out: Arc<AtomicBool>,
    timer: Vec<TimerToken>,
    detached: bool,
}

pub(super) fn watch(
    command: Command,
    process: Arc<Process>,
    job: Arc<Job>,
    ends: Ends,
    started: Instant,
) -> Child {
    let timed_out = Arc::new(AtomicBool::new(false));
    let mut timer = Vec::new();
    if let Some(timeout) = command.timeout {
        let runtime = &command.sandbox.shared.engine().runtime;
        let mut at = |after: Duration, signal: Signal| {
            let table = Arc::downgrade(&command.sandbox.shared.table);
            let (job, timed_out) = (Arc::clone(&job), Arc::clone(&timed_out));
            timer.push(runtime.at(started + after, move || {
                timed_out.store(true, Ordering::SeqCst);
                if let Some(table) = table.upgrade() {
                    table.end_job(&job, signal);
                }
            }));
        };
        at(timeout, first_signal(command.grace));
        if !command.grace.is_zero() {
            at(timeout.saturating_add(command.grace), Signal::KILL);
        }
    }
    Child {
        stdin: ends.stdin.map(ChildStdin::new),
        stdout: ends.stdout.map(|reader| ChildStdout(host_reader(reader))),
        stderr: ends.stderr.map(|reader| ChildStderr(host_reader(reader))),
        sandbox: command.sandbox,
        process,
        job,
        captures: ends.captures,
        started,
        timed_out,
        timer,
        detached: false,
    }
}

impl Child {
    /// Process id in the sandbox.
    pub fn id(&self) -> u32 {
        self.process.pid()
    }

    /// Its first process.
    pub fn process(&self) -> &Arc<Process> {
        &self.process
    }

    /// Processes of it that have not ended: its first one, and what descends from that, in the background or not.
    pub fn live_processes(&self) -> usize {
        self.job.live()
    }

    /// How it ended, if it has.
    pub fn try_wait(&self) -> Option<ExitStatus> {
        self.process.exit_status()
    }

    /// Waits for its end, on any executor. Processes that it left in the background go on.
    pub async fn wait(mut self) -> Output {
        self.stdin = None;
        self.process.exited().await;
        self.detached = true;
        self.output_so_far()
    }

    /// Waits for its end without giving up the handle.
    pub async fn ended(&self) -> ExitStatus {
        self.process.exited().await
    }

    /// [`Child::wait`] without async.
    pub fn wait_blocking(self) -> Output {
        crate::host::block_on(self.wait())
    }

    /// What it has written and used up to now; for one that still runs, `status` is what a kill at this moment would give.
    pub fn output_so_far(&self) -> Output {
        let captured = |fd: u32| {
            let capture = self.captures.iter().find(|(known, _)| *known == fd);
            capture.map_or_else(Captured::default, |(_, capture)| capture.captured())
        };
        let status = self
            .process
            .exit_status()
            .unwrap_or(ExitStatus::Signaled(Signal::KILL));
        Output {
            status,
            stdout: captured(1),
            stderr: captured(2),
            report: self.report(status),
        }
    }

    fn report(&self, status: ExitStatus) -> Report {
        let (read_bytes, written_bytes) = self.job.io_bytes();
        let ended = if self.timed_out.load(Ordering::SeqCst) {
            Ended::TimeLimit
        } else if status == ExitStatus::Signaled(Signal::XCPU) && self.job.fuel_left() == 0 {
            Ended::FuelLimit
        } else {
            Ended::Exited
        };
        Report {
            wall: self.started.elapsed(),
            cpu: Duration::from_nanos(self.job.cpu_ns()),
            fuel: self.job.fuel_limit().map(|_| self.job.fuel()),
            peak_memory_bytes: self.job.peak_memory_bytes(),
            read_bytes,
            written_bytes,
            processes: self.job.started(),
            ended,
        }
    }

    /// Sends a signal to its process group.
    pub fn signal(&self, signal: Signal) {
        for process in self.sandbox.shared.table.group(self.process.pgid()) {
            process.signal(signal);
        }
    }

    /// Ends it with everything that it started, background processes included.
    pub fn kill(&self) {
        self.sandbox.shared.table.end_job(&self.job, Signal::KILL);
    }

    /// Lets it go on although the handle is dropped; its time limit no longer holds.
    pub fn detach(mut self) {
        self.detached = true;
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        self.timer.clear();
        if !self.detached {
            self.kill();
        }
    }
}

type Changed = Pin<Box<OwnedNotified>>;

/// An end of a pipe as an async stream of the host.
#[derive(Debug)]
struct HostEnd<S> {
    stream: S,
    notifier: Arc<Notify>,
    changed: Option<Changed>,
}

impl<S: Stream> HostEnd<S> {
    fn new(stream: S, notifier: Arc<Notify>) -> Self {
        Self {
            stream,
            notifier,
            changed: None,
        }
    }

    /// Tries until the answer is not `Again`, leaving the task to be woken when it is.
    fn poll<T>(
        &mut self,
        context: &mut Context<'_>,
        mut attempt: impl FnMut(&S) -> Result<T, Errno>,
    ) -> Poll<std::io::Result<T>> {
        loop {
            let mut changed = Box::pin(Arc::clone(&self.notifier).notified_owned());
            changed.as_mut().enable();
            match attempt(&self.stream) {
                Err(Errno::Again) => {}
                Err(Errno::BrokenPipe) => {
                    return Poll::Ready(Err(std::io::ErrorKind::BrokenPipe.into()));
                }
                Err(errno) => return Poll::Ready(Err(std::io::Error::other(errno))),
                Ok(value) => return Poll::Ready(Ok(value)),
            }
            if changed.as_mut().poll(context).is_pending() {
                self.changed = Some(changed);
                return Poll::Pending;
            }
        }
    }
}

/// A command's standard input; dropping it is its end of file.
#[derive(Debug)]
pub struct ChildStdin(HostEnd<PipeWriter>);

impl ChildStdin {
    fn new(writer: PipeWriter) -> Self {
        let notifier = Arc::clone(writer.notifier());
        Self(HostEnd::new(writer, notifier))
    }
}

fn host_reader(reader: PipeReader) -> HostEnd<PipeReader> {
    let notifier = Arc::clone(reader.notifier());
    HostEnd::new(reader, notifier)
}

/// A command's standard output.
#[derive(Debug)]
pub struct ChildStdout(HostEnd<PipeReader>);

/// A command's standard error.
#[derive(Debug)]
pub struct ChildStderr(HostEnd<PipeReader>);

impl AsyncWrite for ChildStdin {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &[u8],
    ) -> Poll<std::io::Result<usize>> {
        self.0.poll(context, |pipe| pipe.try_write(buffer))
    }

    fn poll_flush(self: Pin<&mut Self>, _context: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(
        self: Pin<&mut Self>,
        _context: &mut Context<'_>,
    ) -> Poll<std::io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

fn poll_read(
    end: &mut HostEnd<PipeReader>,
    context: &mut Context<'_>,
    buffer: &mut ReadBuf<'_>,
) -> Poll<std::io::Result<()>> {
    let unfilled = buffer.initialize_unfilled();
    let count = std::task::ready!(end.poll(context, |pipe| pipe.try_read(unfilled)))?;
    buffer.advance(count);
    Poll::Ready(Ok(()))
}

impl AsyncRead for ChildStdout {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        poll_read(&mut self.0, context, buffer)
    }
}

impl AsyncRead for ChildStderr {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        poll_read(&mut self.0, context, buffer)
    }
}
