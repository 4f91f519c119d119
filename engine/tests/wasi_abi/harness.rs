//! A kernel with a memory file system, and the smallest thing that runs modules on it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use sandbar::process::{
    Description, ExitStatus, FdPlan, Job, Loader, MemoryAccount, Process, ProcessTable, Program,
    ProgramFuture, ResourceLimits, SpawnRequest, TableLimits,
};
use sandbar::vfs::{
    AccessMode, At, Caller, Confine, DeviceFs, MemoryFs, MountFlags, Namespace, OpenFlags, Place,
    ProcFs, ProcessView, Quota,
};
use sandbar::wasi::{self, Context, Personality, Unwind};
use wasmtime::{Config, Engine, Linker, Memory, MemoryType, Module, Store, UpdateDeadline, Val};

/// A program whose process does nothing by itself: the test is the guest.
pub(crate) const IDLE: &str = "/bin/idle";

fn engine() -> Engine {
    let mut config = Config::new();
    config.epoch_interruption(true);
    Engine::new(&config).unwrap()
}

fn linker(engine: &Engine) -> Linker<Context> {
    let mut linker = Linker::new(engine);
    wasi::add_to_linker(&mut linker).unwrap();
    linker
}

/// Runs modules, one engine for all.
struct TestLoader {
    engine: Engine,
    linker: Linker<Context>,
}

impl std::fmt::Debug for TestLoader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TestLoader").finish_non_exhaustive()
    }
}

async fn run(
    engine: Engine,
    linker: Linker<Context>,
    mut program: Program,
    process: Arc<Process>,
) -> ExitStatus {
    loop {
        let Program::Module { file, path, .. } = program else {
            return ExitStatus::Exited(126);
        };
        if &*path == IDLE.as_bytes() {
            return std::future::pending().await;
        }
        let size = usize::try_from(file.stat().unwrap().size).unwrap();
        let mut bytes = vec![0; size];
        file.read_at(&mut bytes, 0).unwrap();
        let module = Module::new(&engine, bytes).unwrap();
        let context = Context::new(Arc::clone(&process), wasi::personality_of(&module)).unwrap();
        let mut store = Store::new(&engine, context);
        store.set_epoch_deadline(1);
        store.epoch_deadline_callback(|mut store| {
            if store.data().process().task().killed_by().is_some() {
                return Ok(UpdateDeadline::Interrupt);
            }
            if store.data().process().task().take_attention() {
                Context::deliver_signals(&mut store);
            }
            Ok(UpdateDeadline::Yield(1))
        });
        let instance = linker.instantiate_async(&mut store, &module).await.unwrap();
        let start = instance
            .get_typed_func::<(), ()>(&mut store, "_start")
            .unwrap();
        let Err(error) = start.call_async(&mut store, ()).await else {
            return ExitStatus::Exited(0);
        };
        match error.downcast::<Unwind>() {
            Ok(Unwind::Exit(code)) => return ExitStatus::Exited(code),
            Ok(Unwind::Exec(plan)) => program = process.become_program(plan),
            Ok(Unwind::Killed) | Err(_) => return ExitStatus::Exited(125),
        }
    }
}

impl Loader for TestLoader {
    fn start(&self, program: Program, process: Arc<Process>) -> ProgramFuture {
        Box::pin(run(
            self.engine.clone(),
            self.linker.clone(),
            program,
            process,
        ))
    }

    fn schedule(&self, process: Arc<Process>) {
        tokio::spawn(std::future::poll_fn(move |context| process.poll(context)));
    }

    fn alarm(&self, process: &Arc<Process>, at: Instant) -> Box<dyn Send> {
        let process = Arc::downgrade(process);
        let timer = tokio::spawn(async move {
            tokio::time::sleep_until(at.into()).await;
            if let Some(process) = process.upgrade() {
                process.alarm_due(at);
            }
        });
        Box::new(Timer(timer))
    }
}

/// Ends its task when it is dropped.
struct Timer(tokio::task::JoinHandle<()>);

impl Drop for Timer {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// A sandbox's kernel.
pub(crate) struct Kernel {
    pub(crate) namespace: Arc<Namespace>,
    pub(crate) table: Arc<ProcessTable>,
    pub(crate) engine: Engine,
}

impl Kernel {
    pub(crate) fn new() -> Self {
        let engine = engine();
        let root = MemoryFs::new(Quota::unlimited(), 0o755);
        let namespace = Namespace::new(root, MountFlags::empty());
        let loader = Arc::new(TestLoader {
            linker: linker(&engine),
            engine: engine.clone(),
        });
        let limits = TableLimits {
            processes: 64,
            initial: ResourceLimits::new(1 << 30, 64, 64, 8 << 20),
            cpus: 1,
        };
        let memory = MemoryAccount::new(1 << 30, None);
        let table = ProcessTable::new(Arc::clone(&namespace), loader, limits, memory);
        namespace
            .mount(b"/dev", DeviceFs::new(), MountFlags::empty())
            .unwrap();
        let view: Arc<dyn ProcessView> = Arc::new(Arc::downgrade(&table));
        let proc = ProcFs::new(view, "sandbox").unwrap();
        namespace
            .mount(b"/proc", proc, MountFlags::empty())
            .unwrap();
        let kernel = Self {
            namespace,
            table,
            engine,
        };
        for directory in ["/bin", "/tmp", "/data", "/data/workspace"] {
            kernel.mkdir(directory);
        }
        kernel.write(IDLE, b"\0asm", 0o755);
        // Guests that compute yield and see their signals at ticks; a thread, because they compute on the tests' own.
        let ticker = kernel.engine.weak();
        std::thread::spawn(move || {
            while let Some(engine) = ticker.upgrade() {
                engine.increment_epoch();
                drop(engine);
                std::thread::sleep(Duration::from_millis(1));
            }
        });
        kernel
    }

    fn at<'a>(base: &'a Place, path: &'a str) -> At<'a> {
        At {
            caller: Caller { pid: 0 },
            base,
            path: path.as_bytes(),
            confine: Confine::Namespace,
        }
    }

    pub(crate) fn mkdir(&self, path: &str) {
        let root = self.namespace.root();
        self.namespace
            .make_directory(Self::at(&root, path), 0o755)
            .unwrap();
    }

    pub(crate) fn symlink(&self, target: &str, path: &str) {
        let root = self.namespace.root();
        self.namespace
            .symlink(target.as_bytes(), Self::at(&root, path))
            .unwrap();
    }

    pub(crate) fn write(&self, path: &str, contents: &[u8], mode: u32) {
        let root = self.namespace.root();
        let flags = OpenFlags::CREATE | OpenFlags::TRUNCATE;
        let opened = self
            .namespace
            .open(Self::at(&root, path), AccessMode::Write, flags, mode)
            .unwrap();
        let description = Description::opened(opened, AccessMode::Write).unwrap();
        assert_eq!(
            description.try_write(contents, u64::MAX),
            Ok(contents.len())
        );
    }

    pub(crate) fn read(&self, path: &str) -> Vec<u8> {
        let root = self.namespace.root();
        let opened = self
            .namespace
            .open(
                Self::at(&root, path),
                AccessMode::Read,
                OpenFlags::empty(),
                0,
            )
            .unwrap();
        let description = Description::opened(opened, AccessMode::Read).unwrap();
        let mut bytes = vec![0; 1 << 16];
        let count = description.try_read(&mut bytes).unwrap();
        bytes.truncate(count);
        bytes
    }

    /// Stores a module, from its text, as a program.
    pub(crate) fn program(&self, path: &str, text: &str) {
        self.write(path, &wat::parse_str(text).unwrap(), 0o755);
    }

    pub(crate) fn place(&self, path: &str) -> Place {
        let root = self.namespace.root();
        self.namespace.directory(Self::at(&root, path)).unwrap()
    }

    pub(crate) fn spawn(
        &self,
        args: &[&str],
        cwd: &str,
        fds: Vec<(u32, Arc<Description>)>,
    ) -> Arc<Process> {
        let request = SpawnRequest {
            path: args[0].as_bytes().to_vec(),
            search: false,
            args: args.iter().map(|arg| arg.as_bytes().to_vec()).collect(),
            env: Some(vec![b"HOME=/data".to_vec(), b"A=".to_vec()]),
            fds: FdPlan::Exactly(fds),
            cwd: None,
            pgid: None,
            new_session: true,
            umask: None,
            blocked: None,
            ignored: None,
        };
        self.table
            .spawn_for_host(request, self.place(cwd), Job::new(None))
            .unwrap()
    }

    /// Runs a module to its end.
    pub(crate) async fn run(&self, text: &str) -> ExitStatus {
        self.program("/bin/test", text);
        let process = self.spawn(&["/bin/test"], "/data", Vec::new());
        within(process.exited()).await
    }

    /// A process whose guest is the test, in `/data`.
    pub(crate) fn guest(&self, personality: Personality) -> Guest {
        self.guest_in(personality, "/data")
    }

    pub(crate) fn guest_in(&self, personality: Personality, cwd: &str) -> Guest {
        let process = self.spawn(&[IDLE, "one", ""], cwd, Vec::new());
        Guest::new(&self.engine, process, personality)
    }
}

/// A guest that the test plays: its memory and the imports it may call.
pub(crate) struct Guest {
    pub(crate) process: Arc<Process>,
    store: Store<Context>,
    linker: Linker<Context>,
    memory: Memory,
    free: u32,
}

/// Pages of a guest's memory.
pub(crate) const PAGES: u32 = 64;
/// Its size in bytes.
pub(crate) const MEMORY: u32 = PAGES * 65536;

impl Guest {
    fn new(engine: &Engine, process: Arc<Process>, personality: Personality) -> Self {
        let context = Context::new(Arc::clone(&process), personality).unwrap();
        let mut store = Store::new(engine, context);
        store.epoch_deadline_async_yield_and_update(1);
        store.set_epoch_deadline(1);
        let memory = Memory::new(&mut store, MemoryType::new(PAGES, None)).unwrap();
        store.data_mut().set_memory(memory);
        Self {
            process,
            linker: linker(engine),
            store,
            memory,
            free: 1024,
        }
    }

    /// Calls an import and returns its error number, 0 for success.
    pub(crate) async fn call(&mut self, module: &str, name: &str, args: &[Val]) -> i32 {
        let function = self
            .linker
            .get(&mut self.store, module, name)
            .unwrap_or_else(|_| panic!("`{module}` has no `{name}`"))
            .into_func()
            .unwrap();
        let mut result = [Val::I32(-1)];
        function
            .call_async(&mut self.store, args, &mut result)
            .await
            .unwrap();
        result[0].unwrap_i32()
    }

    /// Every import with its parameters: whether each is of 64 bits.
    pub(crate) fn imports(&mut self) -> Vec<(String, String, Vec<bool>)> {
        let mut list = Vec::new();
        for (module, name, item) in self.linker.iter(&mut self.store) {
            list.push((
                module.to_owned(),
                name.to_owned(),
                item.into_func().unwrap(),
            ));
        }
        list.sort_by(|one, two| (&one.0, &one.1).cmp(&(&two.0, &two.1)));
        list.into_iter()
            .map(|(module, name, function)| {
                let kind = function.ty(&self.store);
                (
                    module,
                    name,
                    kind.params().map(|param| param.is_i64()).collect(),
                )
            })
            .collect()
    }

    /// Calls an import of preview 1.
    pub(crate) async fn p1(&mut self, name: &str, args: &[Val]) -> i32 {
        within(self.call(wasi::PREVIEW_1, name, args)).await
    }

    /// Calls an import of `sandbar_v1`.
    pub(crate) async fn sb(&mut self, name: &str, args: &[Val]) -> i32 {
        within(self.call(wasi::SANDBAR, name, args)).await
    }

    /// A piece of memory that nothing else uses, aligned to 8.
    pub(crate) fn room(&mut self, len: usize) -> u32 {
        let at = self.free;
        self.free = (at + u32::try_from(len).unwrap()).next_multiple_of(8);
        assert!(self.free <= MEMORY);
        at
    }

    /// Puts bytes into memory of their own.
    pub(crate) fn put(&mut self, bytes: &[u8]) -> u32 {
        let at = self.room(bytes.len());
        self.store_at(at, bytes);
        at
    }

    pub(crate) fn store_at(&mut self, at: u32, bytes: &[u8]) {
        self.memory
            .write(&mut self.store, at as usize, bytes)
            .unwrap();
    }

    pub(crate) fn bytes(&self, at: u32, len: usize) -> Vec<u8> {
        let mut bytes = vec![0; len];
        self.memory
            .read(&self.store, at as usize, &mut bytes)
            .unwrap();
        bytes
    }

    pub(crate) fn u16(&self, at: u32) -> u16 {
        u16::from_le_bytes(self.bytes(at, 2).try_into().unwrap())
    }

    pub(crate) fn u32(&self, at: u32) -> u32 {
        u32::from_le_bytes(self.bytes(at, 4).try_into().unwrap())
    }

    pub(crate) fn u64(&self, at: u32) -> u64 {
        u64::from_le_bytes(self.bytes(at, 8).try_into().unwrap())
    }

    /// Puts an iovec list over these `(address, length)` pairs.
    pub(crate) fn iovecs(&mut self, buffers: &[(u32, u32)]) -> u32 {
        let mut bytes = Vec::new();
        for (at, len) in buffers {
            bytes.extend(at.to_le_bytes());
            bytes.extend(len.to_le_bytes());
        }
        self.put(&bytes)
    }

    /// `openat` of an aware guest from its current directory; Linux's `O_*`.
    pub(crate) async fn open(&mut self, path: &str, flags: u32) -> Result<u32, i32> {
        let at = self.put(path.as_bytes());
        let result = self.room(4);
        let args = args![CWD_FD, at, path.len(), flags, 0o666, result];
        match self.sb("path_open", &args).await {
            0 => Ok(self.u32(result)),
            errno => Err(errno),
        }
    }

    /// `path_open` of preview 1.
    pub(crate) async fn p1_open(
        &mut self,
        fd: u32,
        path: &str,
        flags: u32,
        rights: u64,
    ) -> Result<u32, i32> {
        let at = self.put(path.as_bytes());
        let result = self.room(4);
        let args = args![fd, 0, at, path.len(), flags, rights, u64::MAX, 0, result];
        match self.p1("path_open", &args).await {
            0 => Ok(self.u32(result)),
            errno => Err(errno),
        }
    }

    pub(crate) async fn write(&mut self, fd: u32, bytes: &[u8]) -> Result<u32, i32> {
        let at = self.put(bytes);
        let list = self.iovecs(&[(at, u32::try_from(bytes.len()).unwrap())]);
        let result = self.room(4);
        match self.p1("fd_write", &args![fd, list, 1, result]).await {
            0 => Ok(self.u32(result)),
            errno => Err(errno),
        }
    }

    pub(crate) async fn read(&mut self, fd: u32, len: u32) -> Result<Vec<u8>, i32> {
        let at = self.room(len as usize);
        let list = self.iovecs(&[(at, len)]);
        let result = self.room(4);
        match self.p1("fd_read", &args![fd, list, 1, result]).await {
            0 => Ok(self.bytes(at, self.u32(result) as usize)),
            errno => Err(errno),
        }
    }
}

/// `SANDBAR_ROOT_FD`.
pub(crate) const ROOT_FD: u32 = 0x4000_0000;
/// `SANDBAR_CWD_FD`.
pub(crate) const CWD_FD: u32 = 0x4000_0001;

/// Turns Rust numbers into WebAssembly values of their width; `usize` is a guest's.
pub(crate) trait Argument {
    fn value(self) -> Val;
}

impl Argument for i32 {
    fn value(self) -> Val {
        Val::I32(self)
    }
}

impl Argument for u32 {
    fn value(self) -> Val {
        Val::I32(self.cast_signed())
    }
}

impl Argument for usize {
    fn value(self) -> Val {
        u32::try_from(self).unwrap().value()
    }
}

impl Argument for u64 {
    fn value(self) -> Val {
        Val::I64(self.cast_signed())
    }
}

impl Argument for i64 {
    fn value(self) -> Val {
        Val::I64(self)
    }
}

macro_rules! args {
    ($($argument:expr),* $(,)?) => { [$($crate::harness::Argument::value($argument)),*] };
}
pub(crate) use args;

/// An error's number as a guest sees it.
pub(crate) fn e(errno: sandbar::errno::Errno) -> i32 {
    i32::from(errno.number())
}

/// Waits, but not for ever.
pub(crate) async fn within<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(10), future)
        .await
        .expect("a call waits for ever")
}
