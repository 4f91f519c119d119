//! The only door to the host: clocks, randomness, machine facts, host files of the engine's own.
//!
//! File systems of guests go through `cap_std` handles (`vfs/host_dir.rs`); nothing else in this crate names a host path.
#![expect(
    clippy::disallowed_methods,
    reason = "this is the one place that asks the host"
)]

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{SystemTime, UNIX_EPOCH};

use cap_std::fs::Dir;

use crate::error::{ErrorKind, Result};

/// Nanoseconds since the Unix epoch.
pub(crate) fn realtime_ns() -> i64 {
    match SystemTime::now().duration_since(UNIX_EPOCH) {
        Ok(since) => i64::try_from(since.as_nanos()).unwrap_or(i64::MAX),
        Err(before) => i64::try_from(before.duration().as_nanos()).map_or(i64::MIN, |ns| -ns),
    }
}

/// Number of CPUs that this process may use, at least 1.
pub(crate) fn cpus() -> u32 {
    std::thread::available_parallelism()
        .map_or(1, |count| u32::try_from(count.get()).unwrap_or(u32::MAX))
}

/// Bytes of the machine's memory; 8 GiB where it cannot be asked.
pub(crate) fn memory_bytes() -> u64 {
    std::fs::read_to_string("/proc/meminfo")
        .ok()
        .and_then(|text| {
            let line = text
                .lines()
                .find_map(|line| line.strip_prefix("MemTotal:"))?;
            let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
            kib.checked_mul(1024)
        })
        .unwrap_or(8 << 30)
}

/// Memory mappings that a process may have; `u64::MAX` where the system has no such limit.
pub(crate) fn max_mappings() -> u64 {
    std::fs::read_to_string("/proc/sys/vm/max_map_count")
        .ok()
        .and_then(|text| text.trim().parse().ok())
        .unwrap_or(u64::MAX)
}

/// Fills a buffer with random bytes of the operating system.
///
/// # Errors
/// When it has none, which no supported system does after start-up.
pub(crate) fn random(buffer: &mut [u8]) -> std::io::Result<()> {
    getrandom::fill(buffer).map_err(std::io::Error::other)
}

/// Runs something that may take long (fsync, copying, whole directories) without holding up other guests of this worker thread.
pub(crate) fn blocking<T>(work: impl FnOnce() -> T) -> T {
    let on_worker = tokio::runtime::Handle::try_current()
        .is_ok_and(|handle| handle.runtime_flavor() == tokio::runtime::RuntimeFlavor::MultiThread);
    if on_worker {
        tokio::task::block_in_place(work)
    } else {
        work()
    }
}

/// Makes a directory with its parents, itself only for this user.
///
/// # Errors
/// The file system's.
pub(crate) fn create_private_dir(path: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    if let Some(parent) = path.parent() {
        std::fs::create_dir_all(parent)?;
    }
    match std::fs::DirBuilder::new().mode(0o700).create(path) {
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists && path.is_dir() => Ok(()),
        result => result,
    }
}

/// A path that an environment variable names, when it is set and not empty.
pub(crate) fn env_path(name: &str) -> Option<PathBuf> {
    std::env::var_os(name)
        .filter(|value| !value.is_empty())
        .map(PathBuf::from)
}

/// Where this user's caches belong: `$XDG_CACHE_HOME`, `~/Library/Caches` on macOS, `~/.cache` elsewhere.
///
/// # Errors
/// `Invalid` without a home directory.
pub(crate) fn user_cache_dir() -> Result<PathBuf> {
    let home = || env_path("HOME");
    let dir = env_path("SANDBAR_CACHE_DIR").or_else(|| {
        let base = env_path("XDG_CACHE_HOME").or_else(|| {
            let folder = if cfg!(target_os = "macos") {
                "Library/Caches"
            } else {
                ".cache"
            };
            Some(home()?.join(folder))
        });
        Some(base?.join("sandbar"))
    });
    dir.ok_or_else(|| {
        ErrorKind::Invalid {
            what: "cache directory",
            reason: "neither SANDBAR_CACHE_DIR nor XDG_CACHE_HOME nor HOME is set; name one with `cache_dir`".into(),
        }
        .into()
    })
}

/// Where a default image may be: beside the program (also one folder up, where tests and examples lie), in the `out` folder of the
/// checkout it was built in, in the user's data directory.
pub(crate) fn image_candidates(folder: &str) -> Vec<PathBuf> {
    let mut candidates = Vec::new();
    if let Ok(program) = std::env::current_exe() {
        candidates.extend(program.parent().map(|dir| dir.join(folder)));
        // <checkout>/target/<profile>[/deps|/examples]/<program>
        for dir in program.ancestors().skip(1) {
            if dir.file_name().is_some_and(|name| name == "target") {
                candidates.extend(dir.parent().map(|checkout| checkout.join("out/image")));
            }
        }
    }
    let data = env_path("XDG_DATA_HOME").or_else(|| {
        let share = if cfg!(target_os = "macos") {
            "Library/Application Support"
        } else {
            ".local/share"
        };
        Some(env_path("HOME")?.join(share))
    });
    candidates.extend(data.map(|data| data.join("sandbar").join(folder)));
    candidates
}

/// Where sandboxes without a data directory of their own have theirs; removed with the engine.
#[derive(Debug)]
pub(crate) struct ScratchRoot {
    under: Option<PathBuf>,
    /// Made with the first sandbox.
    opened: OnceLock<(PathBuf, Arc<Dir>)>,
    next: AtomicU64,
}

/// The directory of one sandbox; removed when it is dropped.
#[derive(Debug)]
pub(crate) struct Scratch {
    path: PathBuf,
    parent: Arc<Dir>,
    name: String,
}

impl Scratch {
    /// The host path.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The directory it lies in.
    pub(crate) fn parent(&self) -> Arc<Dir> {
        Arc::clone(&self.parent)
    }

    /// Its name there.
    pub(crate) fn name(&self) -> &[u8] {
        self.name.as_bytes()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        remove_scratch(&self.path);
    }
}

impl ScratchRoot {
    /// In a private directory under `under`, or under the system's temporary directory.
    ///
    /// # Errors
    /// `HostIo` when `under` cannot be made.
    pub(crate) fn new(under: Option<PathBuf>) -> Result<Self> {
        if let Some(dir) = &under {
            create_private_dir(dir).map_err(|source| ErrorKind::HostIo {
                what: "create scratch directory",
                path: dir.clone(),
                source,
            })?;
        }
        Ok(Self {
            under,
            opened: OnceLock::new(),
            next: AtomicU64::new(0),
        })
    }

    /// The directory, once there is one.
    pub(crate) fn path(&self) -> Option<PathBuf> {
        self.under.clone()
    }

    fn open(&self) -> std::io::Result<&(PathBuf, Arc<Dir>)> {
        if let Some(opened) = self.opened.get() {
            return Ok(opened);
        }
        let path = tempfile::Builder::new()
            .prefix("sandbar-")
            .tempdir_in(self.under.clone().unwrap_or_else(std::env::temp_dir))?
            .keep();
        let dir = Dir::open_ambient_dir(&path, cap_std::ambient_authority())?;
        let opened = self.opened.get_or_init(|| (path.clone(), Arc::new(dir)));
        if opened.0 != path {
            // Another thread was first.
            std::fs::remove_dir(&path)?;
        }
        Ok(opened)
    }

    /// A new directory with `workspace` and `home` in it.
    ///
    /// # Errors
    /// `HostIo`.
    pub(crate) fn make(&self) -> Result<Scratch> {
        let (root, parent) = self.open().map_err(|source| ErrorKind::HostIo {
            what: "create scratch directory",
            path: self.under.clone().unwrap_or_else(std::env::temp_dir),
            source,
        })?;
        let name = self.next.fetch_add(1, Ordering::Relaxed).to_string();
        let path = root.join(&name);
        let made = ["", "/workspace", "/home"]
            .iter()
            .try_for_each(|part| parent.create_dir(format!("{name}{part}")));
        made.map_err(|source| ErrorKind::HostIo {
            what: "create scratch directory",
            path: path.clone(),
            source,
        })?;
        Ok(Scratch {
            path,
            parent: Arc::clone(parent),
            name,
        })
    }
}

impl Drop for ScratchRoot {
    fn drop(&mut self) {
        if let Some((path, _)) = self.opened.get() {
            remove_scratch(path);
        }
    }
}

/// Descriptors of host directories that an engine keeps open at a time: a quarter of what this process may open.
pub(crate) fn descriptor_budget() -> usize {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
    let limit = limit.map_or(65_536, |limit| usize::try_from(limit).unwrap_or(usize::MAX));
    (limit / 4).clamp(64, 16_384)
}

/// Removes a scratch directory with everything in it, also what a guest made unreadable.
fn remove_scratch(path: &Path) {
    let first = std::fs::remove_dir_all(path);
    if first.is_ok() || !path.exists() {
        return;
    }
    make_removable(path);
    if let Err(error) = std::fs::remove_dir_all(path) {
        tracing::warn!(%error, path = %path.display(), "a scratch directory could not be removed");
    }
}

/// Gives every directory of a tree back the owner bits that removing needs. Does not follow links.
fn make_removable(path: &Path) {
    use std::os::unix::fs::PermissionsExt;
    let mode = std::fs::Permissions::from_mode(0o700);
    if std::fs::set_permissions(path, mode).is_err() {
        return;
    }
    let Ok(entries) = std::fs::read_dir(path) else {
        return;
    };
    for entry in entries.flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            make_removable(&entry.path());
        }
    }
}

/// Rows and columns of a terminal that is one of this process's standard streams: `LINES` and `COLUMNS`, else 24 and 80.
pub(crate) fn terminal_size(fd: u32) -> Option<crate::process::WindowSize> {
    use std::io::IsTerminal;
    let terminal = match fd {
        0 => std::io::stdin().is_terminal(),
        1 => std::io::stdout().is_terminal(),
        2 => std::io::stderr().is_terminal(),
        _ => false,
    };
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse().ok());
    terminal.then(|| crate::process::WindowSize {
        rows: number("LINES").unwrap_or(24),
        columns: number("COLUMNS").unwrap_or(80),
    })
}

/// Drives a future on this thread, which sleeps while the future waits.
pub(crate) fn block_on<F: Future>(future: F) -> F::Output {
    struct Unpark(std::thread::Thread);
    impl std::task::Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = std::task::Waker::from(Arc::new(Unpark(std::thread::current())));
    let mut context = std::task::Context::from_waker(&waker);
    let mut future = std::pin::pin!(future);
    loop {
        match future.as_mut().poll(&mut context) {
            std::task::Poll::Ready(value) => return value,
            std::task::Poll::Pending => std::thread::park(),
        }
    }
}

/// Device and inode number of a host path.
pub(crate) fn identity(path: &Path) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt;
    let meta = std::fs::metadata(path).ok()?;
    Some((meta.dev(), meta.ino()))
}
