//! The engine: the threads, the compiled programs and the ceilings that all its sandboxes share.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::error::{ErrorKind, Result};
use crate::image::Image;
use crate::limits::Ceilings;
use crate::process::MemoryAccount;
use crate::runtime::{CacheStats, Runtime, RuntimeOptions};
use crate::sandbox::SandboxBuilder;
use crate::vfs::HostDescriptors;

/// Makes sandboxes. Cheap to clone; the last clone and the last sandbox end its threads.
///
/// Two engines in one process share nothing but what wasmtime installs for the whole process (its handlers for `SIGSEGV`,
/// `SIGILL`, `SIGFPE`).
#[derive(Clone, Debug)]
pub struct Engine {
    pub(crate) shared: Arc<EngineShared>,
}

#[derive(Debug)]
pub(crate) struct EngineShared {
    pub(crate) runtime: Arc<Runtime>,
    pub(crate) image: Image,
    pub(crate) memory: Arc<MemoryAccount>,
    pub(crate) ceilings: Ceilings,
    pub(crate) descriptors: Arc<HostDescriptors>,
    pub(crate) scratch: crate::host::ScratchRoot,
    /// Host directories that no mount may reach: the engine's own.
    pub(crate) protected: Vec<PathBuf>,
    sandboxes: AtomicUsize,
}

/// Progress of [`Engine::prepare`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Programs that are ready.
    pub done: usize,
    /// Programs in all.
    pub total: usize,
    /// The one that just became ready, as its path in the image.
    pub program: String,
}

impl Engine {
    /// An engine with documented defaults; see [`EngineBuilder`].
    pub fn builder() -> EngineBuilder {
        EngineBuilder::default()
    }

    /// A sandbox with documented defaults; see [`SandboxBuilder`].
    pub fn sandbox(&self) -> SandboxBuilder {
        SandboxBuilder::new(self.clone())
    }

    /// The tools image of its sandboxes.
    pub fn image(&self) -> &Image {
        &self.shared.image
    }

    /// The ceilings.
    pub fn ceilings(&self) -> &Ceilings {
        &self.shared.ceilings
    }

    /// What the cache of compiled programs has done since the engine was made.
    pub fn cache_stats(&self) -> CacheStats {
        self.shared.runtime.cache_stats()
    }

    /// Sandboxes that exist now.
    pub fn sandboxes(&self) -> usize {
        self.shared.sandboxes.load(Ordering::Relaxed)
    }

    /// Compiles every program of the image that is not compiled yet, telling `progress` after each. Without it each is compiled
    /// when it is first run.
    ///
    /// # Errors
    /// `Runtime` with the program that cannot be compiled.
    pub async fn prepare(&self, mut progress: impl FnMut(&Progress)) -> Result<()> {
        let programs = self.image().programs();
        let total = programs.len();
        for (index, program) in programs.iter().enumerate() {
            self.shared
                .runtime
                .prepare(self.image().fs(), program.path.as_bytes())
                .await?;
            progress(&Progress {
                done: index + 1,
                total,
                program: program.path.clone(),
            });
        }
        Ok(())
    }
}

impl EngineShared {
    /// Device and inode numbers of the directories that no mount may reach.
    pub(crate) fn protected_ids(&self) -> HashSet<(u64, u64)> {
        self.protected
            .iter()
            .filter_map(|path| crate::host::identity(path))
            .collect()
    }

    /// Takes a place for one more sandbox.
    pub(crate) fn take_place(self: &Arc<Self>) -> Result<SandboxPlace> {
        let limit = self.ceilings.sandboxes;
        let taken = self
            .sandboxes
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |count| {
                (count < limit).then_some(count + 1)
            });
        match taken {
            Ok(_) => Ok(SandboxPlace(Arc::clone(self))),
            Err(_) => Err(ErrorKind::Ceiling {
                ceiling: "sandboxes",
                limit: limit as u64,
            }
            .into()),
        }
    }
}

/// A sandbox's place in its engine; given back when it is dropped.
#[derive(Debug)]
pub(crate) struct SandboxPlace(Arc<EngineShared>);

impl SandboxPlace {
    /// The engine.
    pub(crate) fn engine(&self) -> &Arc<EngineShared> {
        &self.0
    }
}

impl Drop for SandboxPlace {
    fn drop(&mut self) {
        self.0.sandboxes.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Sets up an [`Engine`].
///
/// - image: the default one ([`Image::find`])
/// - cache: `$XDG_CACHE_HOME/sandbar` or `~/.cache/sandbar` on Linux, `~/Library/Caches/sandbar` on macOS
/// - scratch space: a private directory under the system's temporary directory
/// - ceilings: [`Ceilings::default`]
/// - compiler of guests' own modules: none; they are compiled in this process, within a quarter of the limits
#[derive(Debug, Default)]
pub struct EngineBuilder {
    image: Option<Image>,
    cache: Cache,
    scratch: Option<PathBuf>,
    ceilings: Ceilings,
    compiler: Option<PathBuf>,
    protected: Vec<PathBuf>,
}

#[derive(Debug, Default)]
enum Cache {
    #[default]
    User,
    Dir(PathBuf),
    Memory,
}

impl EngineBuilder {
    /// The tools image.
    #[must_use]
    pub fn image(mut self, image: Image) -> Self {
        self.image = Some(image);
        self
    }

    /// Where compiled programs are kept; made with mode 0700.
    #[must_use]
    pub fn cache_dir(mut self, dir: impl Into<PathBuf>) -> Self {
        self.cache = Cache::Dir(dir.into());
        self
    }

    /// Keeps compiled programs in memory only: every new engine compiles them again.
    #[must_use]
    pub fn without_cache(mut self) -> Self {
        self.cache = Cache::Memory;
        self
    }

    /// Where sandboxes without a data directory of their own keep theirs; removed with each sandbox.
    #[must_use]
    pub fn scratch_dir(mut self, dir: impl Into<PathBuf>) -> Self {
        self.scratch = Some(dir.into());
        self
    }

    /// The ceilings.
    #[must_use]
    pub fn ceilings(mut self, ceilings: Ceilings) -> Self {
        self.ceilings = ceilings;
        self
    }

    /// A program that compiles guests' own modules when it is called as `PROGRAM compile-module FLAVOUR`, as the `sandbar` binary
    /// does ([`crate::compile_module`]).
    #[must_use]
    pub fn compiler(mut self, program: impl Into<PathBuf>) -> Self {
        self.compiler = Some(program.into());
        self
    }

    /// A host directory that no mount may reach, besides the engine's own.
    #[must_use]
    pub fn protect(mut self, dir: impl Into<PathBuf>) -> Self {
        self.protected.push(dir.into());
        self
    }

    /// Sets up the engine.
    ///
    /// # Errors
    /// `Image` when none is given and none is found, `HostIo` for its directories, `Runtime` when wasmtime or the threads cannot
    /// be set up.
    pub fn build(self) -> Result<Engine> {
        let image = match self.image {
            Some(image) => image,
            None => Image::find()?,
        };
        let cache_dir = match self.cache {
            Cache::User => Some(crate::host::user_cache_dir()?),
            Cache::Dir(dir) => Some(dir),
            Cache::Memory => None,
        };
        let scratch = crate::host::ScratchRoot::new(self.scratch)?;
        let mut protected = self.protected;
        protected.extend(cache_dir.clone());
        protected.extend(image.host_dir().map(PathBuf::from));
        protected.extend(scratch.path());
        let runtime = Runtime::new(RuntimeOptions {
            processes: self.ceilings.processes,
            cache_dir,
            compiler: self.compiler,
        })?;
        let memory = MemoryAccount::new(self.ceilings.memory_bytes, None);
        let ceilings = Ceilings {
            processes: runtime.max_processes(),
            ..self.ceilings
        };
        Ok(Engine {
            shared: Arc::new(EngineShared {
                runtime,
                image,
                memory,
                ceilings,
                descriptors: HostDescriptors::new(crate::host::descriptor_budget()),
                scratch,
                protected,
                sandboxes: AtomicUsize::new(0),
            }),
        })
    }
}
