//! Making a sandbox.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::command::set_env;
use super::host_command::{CommandIo, HostFunction};
use super::{Files, Sandbox, SandboxShared, WORKSPACE};
use crate::engine::Engine;
use crate::errno::Errno;
use crate::error::{Error, ErrorKind, Result};
use crate::limits::{Limits, WASM_STACK_BYTES};
use crate::process::{HOST_COMMAND_LINE, MemoryAccount, ProcessTable, ResourceLimits, TableLimits};
use crate::runtime::Scheduler;
use crate::vfs::{
    DeviceFs, FileSystem, HostDir, HostDirOptions, MemoryFs, MountFlags, Namespace, OverlayFs,
    ProcFs, ProcessView, Quota,
};

/// The name of every sandbox's machine, as the image's `/etc/hostname` has it.
const HOSTNAME: &str = "sandbar";

/// How a host directory is mounted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MountMode {
    /// Guests can read it.
    ReadOnly,
    /// Guests change it.
    ReadWrite,
}

/// Sets up a [`Sandbox`].
///
/// - files: a private scratch directory as `/data`, removed with the sandbox; nothing else of the host
/// - environment: `PATH`, `HOME`, `USER`, `LOGNAME`, `SHELL`, `LANG`, `TERM`, `TMPDIR`, `PWD`
/// - limits: [`Limits::default`]
/// - host commands: none
#[derive(Debug)]
pub struct SandboxBuilder {
    engine: Engine,
    data: Option<PathBuf>,
    mounts: Vec<(PathBuf, Vec<u8>, MountMode)>,
    env: Vec<Vec<u8>>,
    limits: Limits,
    commands: Vec<(String, HostFunction)>,
    plain_preopens: Option<Vec<(Vec<u8>, Vec<u8>)>>,
}

impl SandboxBuilder {
    pub(crate) fn new(engine: Engine) -> Self {
        // SECURITY[SB-PR-002]: nothing of the host's environment; what a guest sees is in this list.
        let mut env = Vec::new();
        for (name, value) in [
            ("PATH", "/usr/local/bin:/usr/bin:/bin"),
            ("HOME", "/data/home"),
            ("USER", "sandbox"),
            ("LOGNAME", "sandbox"),
            ("SHELL", "/bin/bash"),
            ("LANG", "C.UTF-8"),
            ("TERM", "dumb"),
            ("TMPDIR", "/tmp"),
            ("PWD", WORKSPACE),
        ] {
            set_env(&mut env, name.as_bytes(), value.as_bytes());
        }
        Self {
            engine,
            data: None,
            mounts: Vec::new(),
            env,
            limits: Limits::default(),
            commands: Vec::new(),
            plain_preopens: None,
        }
    }

    /// A host directory of the embedder's as `/data`, kept when the sandbox ends. Made when it is missing.
    #[must_use]
    pub fn data_dir(mut self, dir: impl Into<PathBuf>) -> Self {
        self.data = Some(dir.into());
        self
    }

    /// A host directory as the workspace, `/data/workspace`.
    #[must_use]
    pub fn workspace(self, dir: impl Into<PathBuf>, mode: MountMode) -> Self {
        self.mount(dir, WORKSPACE, mode)
    }

    /// Mounts a host directory at an absolute path of the sandbox.
    #[must_use]
    pub fn mount(
        mut self,
        host: impl Into<PathBuf>,
        at: impl AsRef<[u8]>,
        mode: MountMode,
    ) -> Self {
        self.mounts.push((host.into(), at.as_ref().to_vec(), mode));
        self
    }

    /// Sets a variable of every command's environment.
    #[must_use]
    pub fn env(mut self, name: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> Self {
        set_env(&mut self.env, name.as_ref(), value.as_ref());
        self
    }

    /// Sets the limits.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Registers an async function of the embedder's as the program `/usr/local/bin/NAME`: it gets its arguments (its name first), its
    /// streams and the sandbox's files, and returns an exit code. It pipes, redirects, is killed and limited like any other.
    #[must_use]
    pub fn command<F, R>(mut self, name: &str, function: F) -> Self
    where
        F: Fn(Vec<String>, CommandIo, Files) -> R + Send + Sync + 'static,
        R: Future<Output = u8> + Send + 'static,
    {
        self.commands
            .push((name.to_owned(), HostFunction::new(function)));
        self
    }

    /// The directories that programs which use only WASI preview 1 find opened, as names and absolute paths of the sandbox, instead
    /// of those that make relative and absolute paths work (docs/guest-abi.md).
    #[must_use]
    pub fn plain_preopens(mut self, preopens: Vec<(Vec<u8>, Vec<u8>)>) -> Self {
        self.plain_preopens = Some(preopens);
        self
    }

    /// Makes the sandbox.
    ///
    /// # Errors
    /// `Ceiling` at the engine's number of sandboxes, `HostDirectory` for a directory that cannot be used, `Invalid` for a mount point
    /// or a command's name that breaks a rule.
    pub fn create(mut self) -> Result<Sandbox> {
        let place = self.engine.shared.take_place()?;
        let engine = Arc::clone(place.engine());
        let limits = self.limits.clone();
        let quota = || Quota::new(limits.memory_fs_bytes, limits.memory_fs_files);
        let root = OverlayFs::new(engine.image.fs(), quota()).map_err(unmountable("/"))?;
        let namespace = Namespace::new(root, MountFlags::empty());
        let quota = Quota::on_disk(None, limits.disk_bytes, limits.disk_files);
        let options = HostDirOptions {
            quota,
            descriptors: Arc::clone(&engine.descriptors),
            ..HostDirOptions::default()
        };
        let (data, scratch) = if let Some(path) = self.data.take() {
            (host_dir(&path, options, Missing::Make)?, None)
        } else {
            let scratch = engine.scratch.make()?;
            let data = HostDir::in_directory(scratch.parent(), scratch.name(), options).map_err(
                |errno| ErrorKind::HostDirectory {
                    path: scratch.path().to_owned(),
                    reason: errno.to_string(),
                    source: None,
                },
            )?;
            (data, Some(scratch))
        };
        let memory = MemoryAccount::new(limits.memory_bytes, Some(Arc::clone(&engine.memory)));
        let table_limits = TableLimits {
            processes: limits.processes as usize,
            initial: ResourceLimits::new(
                limits.process_memory_bytes,
                u64::from(limits.processes),
                u64::from(limits.open_files),
                WASM_STACK_BYTES as u64,
            ),
            cpus: limits.cpus,
        };
        let loader = Arc::new(Scheduler(Arc::clone(&engine.runtime)));
        let table = ProcessTable::new(Arc::clone(&namespace), loader, table_limits, memory);
        // From here on the sandbox's own drop cleans up.
        let sandbox = Sandbox {
            shared: Arc::new(SandboxShared {
                place,
                namespace,
                table,
                env: std::mem::take(&mut self.env),
                limits,
                scratch,
            }),
        };
        sandbox.mount_all(data, &self.mounts)?;
        for (name, function) in self.commands {
            sandbox.add_command(&name, function)?;
        }
        if let Some(preopens) = self.plain_preopens {
            sandbox.shared.table.set_plain_preopens(preopens);
        }
        Ok(sandbox)
    }
}

/// What happens when a host directory is not there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Missing {
    Make,
    Refuse,
}

fn host_dir(path: &Path, options: HostDirOptions, missing: Missing) -> Result<Arc<HostDir>> {
    let failed = |reason: String, source: Option<std::io::Error>| -> Error {
        ErrorKind::HostDirectory {
            path: path.to_owned(),
            reason,
            source,
        }
        .into()
    };
    if missing == Missing::Make {
        crate::host::create_private_dir(path)
            .map_err(|error| failed("it cannot be made".into(), Some(error)))?;
    }
    let dir = cap_std::fs::Dir::open_ambient_dir(path, cap_std::ambient_authority())
        .map_err(|error| failed("it cannot be opened".into(), Some(error)))?;
    if missing == Missing::Make {
        for part in ["workspace", "home"] {
            match dir.create_dir(part) {
                Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => {
                    return Err(failed(
                        format!("`{part}` cannot be made in it"),
                        Some(error),
                    ));
                }
                _ => {}
            }
        }
    }
    HostDir::new(dir, options).map_err(|errno| {
        let reason = match errno {
            Errno::Access => "it holds, or is, something that no sandbox may reach: Sandbar's own state, or the host's kernel".into(),
            errno => errno.to_string(),
        };
        failed(reason, None)
    })
}

fn unmountable(at: &str) -> impl FnOnce(Errno) -> ErrorKind {
    let reason = format!("nothing can be mounted at `{at}`");
    move |errno| ErrorKind::Invalid {
        what: "mount point",
        reason: format!("{reason}: {errno}"),
    }
}

impl Sandbox {
    fn mount_all(
        &self,
        data: Arc<HostDir>,
        mounts: &[(PathBuf, Vec<u8>, MountMode)],
    ) -> Result<()> {
        let limits = &self.shared.limits;
        let quota = Quota::new(limits.memory_fs_bytes, limits.memory_fs_files);
        let view: Arc<dyn ProcessView> = Arc::new(Arc::downgrade(&self.shared.table));
        let proc = ProcFs::new(view, HOSTNAME).map_err(unmountable("/proc"))?;
        self.mount("/data", data, MountFlags::empty())?;
        self.mount("/tmp", MemoryFs::new(quota, 0o1777), MountFlags::empty())?;
        self.mount("/dev", DeviceFs::new(), MountFlags::empty())?;
        self.mount("/proc", proc, MountFlags::empty())?;
        for (host, at, mode) in mounts {
            let at = String::from_utf8_lossy(at);
            if !at.starts_with('/') {
                return Err(ErrorKind::Invalid {
                    what: "mount point",
                    reason: format!("`{at}` is not an absolute path"),
                }
                .into());
            }
            let engine = self.shared.engine();
            let options = HostDirOptions {
                protected: engine.protected_ids(),
                descriptors: Arc::clone(&engine.descriptors),
                ..HostDirOptions::default()
            };
            let flags = match mode {
                MountMode::ReadOnly => MountFlags::READ_ONLY,
                MountMode::ReadWrite => MountFlags::empty(),
            };
            self.mount(&at, host_dir(host, options, Missing::Refuse)?, flags)?;
        }
        Ok(())
    }

    fn mount(&self, at: &str, fs: Arc<dyn FileSystem>, flags: MountFlags) -> Result<()> {
        Ok(self
            .shared
            .namespace
            .mount(at.as_bytes(), fs, flags)
            .map_err(unmountable(at))?)
    }

    fn add_command(&self, name: &str, function: HostFunction) -> Result<()> {
        if name.is_empty() || name.contains(['/', '\n', '\0']) || name.len() > 64 {
            return Err(ErrorKind::Invalid {
                what: "host command's name",
                reason: format!(
                    "`{name}` must have 1 to 64 bytes, and neither `/` nor a line break"
                ),
            }
            .into());
        }
        let path = format!("/usr/local/bin/{name}");
        let files = self.files();
        files.write(&path, format!("{HOST_COMMAND_LINE}{name}\n"))?;
        files.set_mode(&path, 0o755)?;
        self.shared
            .table
            .add_host_command(name.as_bytes().to_vec(), Arc::new(function));
        Ok(())
    }
}
