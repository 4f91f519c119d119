//! Host commands: functions of the embedder that run as programs of the sandbox.

use std::pin::Pin;
use std::sync::Arc;

use super::files::Files;
use crate::errno::SysResult;
use crate::process::{ExitStatus, HostCommand, HostProcess, Process};

/// The standard streams of a host command.
#[derive(Debug)]
pub struct CommandIo {
    process: Arc<Process>,
}

impl CommandIo {
    /// Reads from standard input, waiting for it; 0 is the end.
    ///
    /// # Errors
    /// The stream's.
    pub async fn read(&self, buffer: &mut [u8]) -> SysResult<usize> {
        let stdin = self.process.fd(0)?;
        self.process.read(&stdin, buffer).await
    }

    /// Reads standard input to its end, at most `limit` bytes.
    ///
    /// # Errors
    /// `FileTooBig` beyond the limit; the stream's.
    pub async fn read_to_end(&self, limit: usize) -> SysResult<Vec<u8>> {
        let mut all = Vec::new();
        let mut buffer = vec![0; 64 * 1024];
        loop {
            match self.read(&mut buffer).await? {
                0 => return Ok(all),
                count if all.len() + count > limit => return Err(crate::errno::Errno::FileTooBig),
                count => all.extend_from_slice(&buffer[..count]),
            }
        }
    }

    /// Writes to standard output, waiting for room.
    ///
    /// # Errors
    /// The stream's.
    pub async fn write(&self, bytes: impl AsRef<[u8]>) -> SysResult<()> {
        self.write_to(1, bytes.as_ref()).await
    }

    /// Writes to standard error, waiting for room.
    ///
    /// # Errors
    /// The stream's.
    pub async fn write_error(&self, bytes: impl AsRef<[u8]>) -> SysResult<()> {
        self.write_to(2, bytes.as_ref()).await
    }

    async fn write_to(&self, fd: u32, bytes: &[u8]) -> SysResult<()> {
        let description = self.process.fd(fd)?;
        self.process.write(&description, bytes).await.map(drop)
    }

    /// Environment, `NAME=value` each.
    pub fn env(&self) -> Vec<String> {
        self.process
            .env()
            .iter()
            .map(|entry| String::from_utf8_lossy(entry).into_owned())
            .collect()
    }
}

/// A boxed host command's future.
type Running = Pin<Box<dyn Future<Output = u8> + Send>>;

/// A host command made of a function.
pub struct HostFunction {
    function: Box<dyn Fn(Vec<String>, CommandIo, Files) -> Running + Send + Sync>,
}

impl std::fmt::Debug for HostFunction {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HostFunction").finish_non_exhaustive()
    }
}

impl HostFunction {
    /// From an async function of the arguments (the name first), the streams and the sandbox's files; it returns the exit code.
    pub fn new<F, R>(function: F) -> Self
    where
        F: Fn(Vec<String>, CommandIo, Files) -> R + Send + Sync + 'static,
        R: Future<Output = u8> + Send + 'static,
    {
        Self {
            function: Box::new(move |args, io, files| Box::pin(function(args, io, files))),
        }
    }
}

impl HostCommand for HostFunction {
    fn run(&self, process: HostProcess) -> Pin<Box<dyn Future<Output = ExitStatus> + Send>> {
        let process = process.process;
        let args = process.args();
        let args = args
            .iter()
            .map(|arg| String::from_utf8_lossy(arg).into_owned())
            .collect();
        let files = match process.table() {
            Ok(table) => Files::of(Arc::clone(table.namespace()), process.cwd()),
            Err(_) => return Box::pin(std::future::ready(ExitStatus::Exited(126))),
        };
        let future = (self.function)(args, CommandIo { process }, files);
        Box::pin(async move { ExitStatus::Exited(future.await) })
    }
}
