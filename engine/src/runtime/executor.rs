//! The threads that guests run on, and the tick that cuts their time into slices.
//!
//! There are two more guest threads than processors: one bulk-memory instruction over a large memory cannot be interrupted, and
//! two guests inside such instructions must not hold up all others. Timers and kills do not need these threads at all.

use std::panic::AssertUnwindSafe;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::task::Poll;
use std::thread::Thread;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::config::{self, FlavourKind};
use super::module_cache::{CacheStats, ModuleCache};
use super::timer::{Timer, TimerToken};
use crate::error::{Error, ErrorKind, Result};
use crate::limits::EPOCH_TICK;
use crate::process::{ExitStatus, Loader, Process, Program, ProgramFuture, Signal};
use crate::vfs::{AccessMode, ImageFs};

/// Ticks without a running guest after which the ticker sleeps: waking it costs more than a few idle ticks.
const IDLE_TICKS: u32 = 20;

/// How a runtime is set up.
#[derive(Clone, Debug)]
pub(crate) struct RuntimeOptions {
    /// Most processes at a time.
    pub(crate) processes: u32,
    /// Where compiled code is kept; `None` keeps it in memory only.
    pub(crate) cache_dir: Option<PathBuf>,
    /// A program that compiles guests' own modules as `PROGRAM compile-module`.
    pub(crate) compiler: Option<PathBuf>,
}

/// The engine's threads, wasmtime engines and compiled code.
pub(crate) struct Runtime {
    options: RuntimeOptions,
    epoch: ModuleCache,
    fuel: OnceLock<std::result::Result<ModuleCache, String>>,
    ticker: Arc<Ticker>,
    timer: Timer,
    threads: Mutex<Option<tokio::runtime::Runtime>>,
    handle: tokio::runtime::Handle,
    live: AtomicUsize,
}

impl std::fmt::Debug for Runtime {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Runtime")
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}

fn thread_error(error: &std::io::Error) -> Error {
    ErrorKind::Runtime {
        what: "start the engine's threads",
        reason: error.to_string(),
    }
    .into()
}

impl Runtime {
    /// Sets up wasmtime and starts the threads.
    ///
    /// # Errors
    /// `Runtime` when wasmtime or the operating system refuses.
    pub(crate) fn new(options: RuntimeOptions) -> Result<Arc<Self>> {
        let options = RuntimeOptions {
            processes: config::slots(options.processes),
            ..options
        };
        let epoch = ModuleCache::new(FlavourKind::Epoch, &options)?;
        let threads = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(crate::host::cpus() as usize + 2)
            .max_blocking_threads(crate::host::cpus() as usize + 2)
            .thread_name("sandbar-guest")
            .enable_time()
            .build()
            .map_err(|error| thread_error(&error))?;
        let timer = Timer::start().map_err(|error| thread_error(&error))?;
        let handle = threads.handle().clone();
        Ok(Arc::new(Self {
            ticker: Arc::new(Ticker::default()),
            timer,
            epoch,
            fuel: OnceLock::new(),
            options,
            threads: Mutex::new(Some(threads)),
            handle,
            live: AtomicUsize::new(0),
        }))
    }

    /// Compiled code of one flavour; the fuel one is set up at its first use.
    pub(super) fn modules(&self, kind: FlavourKind) -> std::result::Result<&ModuleCache, String> {
        match kind {
            FlavourKind::Epoch => Ok(&self.epoch),
            FlavourKind::Fuel => self
                .fuel
                .get_or_init(|| {
                    ModuleCache::new(FlavourKind::Fuel, &self.options)
                        .map_err(|error| error.to_string())
                })
                .as_ref()
                .map_err(Clone::clone),
        }
    }

    /// Has `action` run at a time, whatever the guests do.
    pub(crate) fn at(&self, at: Instant, action: impl FnOnce() + Send + 'static) -> TimerToken {
        self.timer.at(at, action)
    }

    /// Runs a future on the guests' threads.
    pub(crate) fn spawn(&self, future: impl Future<Output = ()> + Send + 'static) {
        self.handle.spawn(future);
    }

    /// Compiles one program of an image unless that is done.
    ///
    /// # Errors
    /// `Runtime` with the program's name.
    pub(crate) async fn prepare(self: &Arc<Self>, fs: &ImageFs, path: &[u8]) -> Result<()> {
        let failed = |reason: String| ErrorKind::Runtime {
            what: "compile a program of the image",
            reason: format!("{}: {reason}", String::from_utf8_lossy(path)),
        };
        let inode = fs.find(path).map_err(|errno| failed(errno.to_string()))?;
        let file = inode
            .open(AccessMode::Read)
            .map_err(|errno| failed(errno.to_string()))?;
        let program = Program::Module {
            inode,
            file,
            path: path.into(),
        };
        let loaded = self.epoch.load(self, &program).await;
        loaded
            .map(drop)
            .map_err(|reason| failed(reason.to_string()).into())
    }

    /// Processes at a time that this engine can hold.
    pub(crate) fn max_processes(&self) -> u32 {
        self.options.processes
    }

    /// What the cache of compiled code has done.
    pub(crate) fn cache_stats(&self) -> CacheStats {
        self.epoch.stats()
    }
}

impl Drop for Runtime {
    fn drop(&mut self) {
        self.ticker.ended.store(true, Ordering::SeqCst);
        self.ticker.wake();
        if let Some(threads) = self.threads.lock().take() {
            // Not `drop`: that would wait, and panic inside an embedder's own async context.
            threads.shutdown_background();
        }
    }
}

/// A runtime as the process table sees it.
#[derive(Debug)]
pub(crate) struct Scheduler(pub(crate) Arc<Runtime>);

impl Loader for Scheduler {
    fn start(&self, program: Program, process: Arc<Process>) -> ProgramFuture {
        Box::pin(super::run::run(Arc::clone(&self.0), program, process))
    }

    fn schedule(&self, process: Arc<Process>) {
        let ticker = Arc::clone(&self.0.ticker);
        if ticker.engine.get().is_none() && ticker.engine.set(self.0.epoch.engine().clone()).is_ok()
        {
            Ticker::start(&ticker);
        }
        self.0.spawn(std::future::poll_fn(move |context| {
            ticker.enter();
            let result = std::panic::catch_unwind(AssertUnwindSafe(|| process.poll(context)));
            ticker.leave();
            result.unwrap_or_else(|_| {
                tracing::error!(
                    pid = process.pid(),
                    "a host call panicked; its process was ended"
                );
                process.finish(ExitStatus::Signaled(Signal::ABRT));
                Poll::Ready(())
            })
        }));
    }

    fn alarm(&self, process: &Arc<Process>, at: Instant) -> Box<dyn Send> {
        let process: Weak<Process> = Arc::downgrade(process);
        let due = move || {
            if let Some(process) = process.upgrade() {
                process.alarm_due(at);
            }
        };
        Box::new(self.0.timer.at(at, due))
    }
}

impl Runtime {
    /// Takes one of the engine's places for processes.
    pub(super) fn take_slot(&self) -> bool {
        let limit = self.options.processes as usize;
        self.live
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |live| {
                (live < limit).then_some(live + 1)
            })
            .is_ok()
    }

    pub(super) fn give_slot(&self) {
        self.live.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Advances the epoch once a millisecond while guests run; sleeps otherwise.
#[derive(Default)]
struct Ticker {
    running: AtomicUsize,
    /// Grows with every slice, so that the ticker sees guests that come and go between two ticks.
    slices: AtomicU64,
    asleep: AtomicBool,
    ended: AtomicBool,
    engine: OnceLock<wasmtime::Engine>,
    thread: OnceLock<Thread>,
}

impl Ticker {
    fn enter(&self) {
        self.running.fetch_add(1, Ordering::SeqCst);
        if self.asleep.load(Ordering::SeqCst) {
            self.wake();
        }
    }

    fn leave(&self) {
        self.slices.fetch_add(1, Ordering::Relaxed);
        self.running.fetch_sub(1, Ordering::SeqCst);
    }

    fn wake(&self) {
        if let Some(thread) = self.thread.get() {
            thread.unpark();
        }
    }

    fn start(this: &Arc<Self>) {
        let ticker = Arc::clone(this);
        let spawned = std::thread::Builder::new()
            .name("sandbar-tick".into())
            .spawn(move || ticker.run());
        match spawned {
            Ok(join) => drop(this.thread.set(join.thread().clone())),
            Err(error) => {
                tracing::error!(%error, "no thread for time slices: guests cannot be interrupted");
            }
        }
    }

    fn run(&self) {
        let Some(engine) = self.engine.get() else {
            return;
        };
        let mut idle = 0;
        let mut seen = 0;
        while !self.ended.load(Ordering::SeqCst) {
            std::thread::sleep(EPOCH_TICK);
            engine.increment_epoch();
            let slices = self.slices.load(Ordering::Relaxed);
            let busy = self.running.load(Ordering::SeqCst) > 0 || slices != seen;
            seen = slices;
            idle = if busy { 0 } else { idle + 1 };
            if idle < IDLE_TICKS {
                continue;
            }
            self.asleep.store(true, Ordering::SeqCst);
            // A guest that began before it saw `asleep` is seen here.
            if self.running.load(Ordering::SeqCst) == 0 && !self.ended.load(Ordering::SeqCst) {
                std::thread::park_timeout(Duration::from_hours(1));
            }
            self.asleep.store(false, Ordering::SeqCst);
            idle = 0;
        }
    }
}
