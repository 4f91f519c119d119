//! A session: the sandboxes that one client has open, by name.
//!
//! Owns: which names there are, how many, and where their files lie. Not here: which client a session belongs to (the transport's
//! concern), and what a tool does in a sandbox.
//!
//! Lock order: `Session::instances`, then anything of one instance.

mod instance;
mod running;
mod seen;
mod spool;
mod state;

use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use sandbar::{Engine, MountMode};
use tokio::sync::watch;

pub(crate) use self::instance::{Instance, Turn};
pub(crate) use self::running::{Finished, Running};
pub(crate) use self::seen::{Fingerprint, Staleness};
pub(crate) use self::spool::Excerpt;
#[cfg(test)]
pub(crate) use self::spool::Omitted;
use crate::config::{self, HostMount};
use crate::error::{Failure, ToolError};
use crate::limits;

/// Name of the sandbox that a call without a name means.
pub(crate) const DEFAULT_INSTANCE: &str = "default";

/// What the sandboxes of a session are like.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SessionConfig {
    /// Host directories that every sandbox of the session has. Default: none.
    pub mounts: Vec<HostMount>,
    /// Variables of every command's environment. Default: none besides the engine's.
    pub env: Vec<(String, String)>,
    /// Characters of one answer. Default 30,000.
    pub max_output_chars: usize,
    /// Sandboxes at a time. Default 4.
    pub max_instances: usize,
    /// Where the sandboxes' files are kept after the end. Default: nowhere.
    pub directory: Option<PathBuf>,
}

impl Default for SessionConfig {
    fn default() -> Self {
        Self {
            mounts: Vec::new(),
            env: Vec::new(),
            max_output_chars: limits::MAX_OUTPUT_CHARS,
            max_instances: limits::MAX_INSTANCES,
            directory: None,
        }
    }
}

/// The sandboxes of one client.
#[derive(Debug)]
pub struct Session {
    engine: Engine,
    config: SessionConfig,
    instances: Mutex<BTreeMap<String, Arc<Instance>>>,
    /// Holds the lock on the directory, so that no other process has the same sandboxes.
    _lock: Option<File>,
    ending: watch::Sender<bool>,
}

/// A sandbox that a call reached.
#[derive(Debug)]
pub(crate) struct Reached {
    pub(crate) instance: Arc<Instance>,
    /// What is said about it when the call opened it.
    pub(crate) opened: Option<String>,
}

impl Session {
    /// A session without any sandbox; each is made when it is first named.
    ///
    /// # Errors
    /// When the directory for its files cannot be made, or another process uses it.
    pub fn new(engine: Engine, config: SessionConfig) -> Result<Self, Failure> {
        let lock = config
            .directory
            .as_deref()
            .map(lock_directory)
            .transpose()?;
        Ok(Self {
            engine,
            config,
            instances: Mutex::default(),
            _lock: lock,
            ending: watch::Sender::new(false),
        })
    }

    pub(crate) fn config(&self) -> &SessionConfig {
        &self.config
    }

    /// Whether a command may change files of the host.
    pub(crate) fn changes_host(&self) -> bool {
        self.config
            .mounts
            .iter()
            .any(|mount| mount.mode == MountMode::ReadWrite)
    }

    /// The sandbox of a name, which is opened when it is new.
    pub(crate) fn reach(&self, name: Option<&str>) -> Result<Reached, ToolError> {
        let name = name.unwrap_or(DEFAULT_INSTANCE);
        let mut instances = self.instances.lock();
        if let Some(instance) = instances.get(name) {
            return Ok(Reached {
                instance: Arc::clone(instance),
                opened: None,
            });
        }
        parse_name(name).map_err(|reason| {
            ToolError::new(format!("`sandbox`: {reason}"), open_names(&instances))
        })?;
        if looks_like_id(name) {
            return Err(ToolError::new(
                format!("`sandbox`: there is no sandbox with the id {name}"),
                format!(
                    "a new sandbox needs a name that is no id; {}",
                    open_names(&instances)
                ),
            ));
        }
        if instances.len() >= self.config.max_instances {
            return Err(ToolError::new(
                format!(
                    "sandbox `{name}` was not opened: {} are open, at most {} are allowed",
                    instances.len(),
                    self.config.max_instances
                ),
                format!("use one of them: {}", open_names(&instances)),
            ));
        }
        let (instance, known) = self.open(name)?;
        let instance = Arc::new(instance);
        let implicit = name == DEFAULT_INSTANCE;
        instances.insert(name.to_owned(), Arc::clone(&instance));
        let opened = (!implicit || known).then(|| {
            let files = if known {
                "with its files of an earlier session"
            } else {
                "new"
            };
            format!(
                "[sandbox `{name}` opened, {files}; {} of at most {} are open: {}]",
                instances.len(),
                self.config.max_instances,
                instances
                    .keys()
                    .map(String::as_str)
                    .collect::<Vec<_>>()
                    .join(", ")
            )
        });
        Ok(Reached { instance, opened })
    }

    fn open(&self, name: &str) -> Result<(Instance, bool), ToolError> {
        let mut builder = self.engine.sandbox();
        let mut known = false;
        if let Some(directory) = &self.config.directory {
            let data = directory.join(name);
            known = data.is_dir();
            builder = builder.data_dir(data);
        }
        let sandbox = config::furnish(builder, &self.config.mounts, &self.config.env).create()?;
        Ok((Instance::new(sandbox, self.config.max_output_chars), known))
    }

    /// A path as the sandbox knows it: a host path below a given directory becomes the path it is mounted at.
    pub(crate) fn sandbox_path(&self, path: &str) -> String {
        let given = Path::new(path);
        for mount in &self.config.mounts {
            if let Ok(rest) = given.strip_prefix(&mount.host) {
                return Path::new(&mount.at)
                    .join(rest)
                    .to_string_lossy()
                    .into_owned();
            }
        }
        path.to_owned()
    }

    /// Resolves when the session ends.
    pub(crate) async fn ended(&self) {
        let mut ending = self.ending.subscribe();
        // Its sender lives as long as the session, so that this only fails when there is nothing to end.
        ending.wait_for(|ending| *ending).await.ok();
    }

    /// Ends every process of every sandbox. Calls that wait for one answer at once; files stay until the session is dropped.
    pub fn end(&self) {
        self.ending.send_replace(true);
        for instance in self.instances.lock().values() {
            instance.sandbox().kill_all();
        }
    }

    /// [`Session::end`], and waits until no process is left, which takes milliseconds unless one is inside a long host call.
    pub(crate) async fn shut_down(&self) {
        self.end();
        for _ in 0..100 {
            let running: usize = self
                .instances
                .lock()
                .values()
                .map(|instance| instance.sandbox().processes())
                .sum();
            if running == 0 {
                return;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        tracing::warn!("processes are left in a session that has ended");
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.end();
    }
}

fn open_names(instances: &BTreeMap<String, Arc<Instance>>) -> String {
    let names: Vec<_> = instances.keys().map(String::as_str).collect();
    if names.is_empty() {
        "none is open".into()
    } else {
        format!("open are {}", names.join(", "))
    }
}

/// A sandbox's or a session's name: a DNS label, which also fits a handle `<sandbox>/<name>` and a directory.
pub(crate) fn parse_name(name: &str) -> Result<String, String> {
    let letter = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let bytes = name.as_bytes();
    let fits = (1..=limits::NAME_BYTES).contains(&bytes.len())
        && bytes.iter().all(|byte| letter(*byte) || *byte == b'-')
        && bytes.first().is_some_and(|byte| letter(*byte))
        && bytes.last().is_some_and(|byte| letter(*byte));
    if fits {
        return Ok(name.to_owned());
    }
    Err(format!(
        "`{name}` is no name: up to {} lower-case letters, digits and `-`, with a letter or digit at both ends",
        limits::NAME_BYTES
    ))
}

/// Whether a name has the shape of a UUID, which is never a new sandbox's name.
fn looks_like_id(name: &str) -> bool {
    let parts: Vec<usize> = name.split('-').map(str::len).collect();
    parts == [8, 4, 4, 4, 12]
        && name
            .bytes()
            .all(|byte| byte == b'-' || byte.is_ascii_hexdigit())
}

/// Makes a session's directory and locks it for this process.
fn lock_directory(directory: &Path) -> Result<File, Failure> {
    use std::os::unix::fs::DirBuilderExt;
    let shown = directory.display();
    std::fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(directory)
        .map_err(Failure::io(format!(
            "make the session's directory `{shown}`"
        )))?;
    // Not one of the sandboxes' names.
    let lock = directory.join(".lock");
    let file = File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .open(&lock)
        .map_err(Failure::io(format!("open `{}`", lock.display())))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(std::fs::TryLockError::WouldBlock) => Err(Failure::Usage(format!(
            "another sandbar process serves the session in `{shown}`; end it, or take another --session name"
        ))),
        Err(std::fs::TryLockError::Error(error)) => {
            Err(Failure::io(format!("lock `{}`", lock.display()))(error))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_dns_labels() {
        for name in ["a", "default", "build-2", &"x".repeat(63)] {
            assert_eq!(parse_name(name), Ok(name.to_owned()));
        }
        for name in [
            "",
            "A",
            "-a",
            "a-",
            "a_b",
            "a/b",
            "..",
            "ä",
            &"x".repeat(64),
        ] {
            assert!(parse_name(name).is_err(), "{name}");
        }
    }

    #[test]
    fn an_id_is_told_from_a_name() {
        assert!(looks_like_id("0190a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b"));
        assert!(!looks_like_id("0190a1b2-c3d4-7e5f-8a9b"));
        assert!(!looks_like_id("production-east-1"));
    }

    #[test]
    fn a_session_s_directory_has_one_user_at_a_time() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("sessions/one");
        let first = lock_directory(&path).expect("free");
        assert!(
            lock_directory(&path)
                .is_err_and(|failure| failure.text().contains("another sandbar process"))
        );
        drop(first);
        lock_directory(&path).expect("free again");
    }
}
