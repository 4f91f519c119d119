//! The process table of one sandbox: who is there, starting, signalling, ending.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::Instant;

use parking_lot::Mutex;
use tokio::sync::Notify;

use super::fd_table::FdTable;
use super::fifo::FifoTable;
use super::job::Job;
use super::limits::{Resource, ResourceLimits};
use super::lock::{LockTable, RecordFlag};
use super::signal::{Delivery, Signal, SignalState};
use super::spawn::{HostCommand, Loader, Search, SpawnRequest};
use super::task::Task;
use super::{Alarm, INIT_PID, Process, RunState, State};
use crate::errno::{Errno, SysResult};
use crate::vfs::{Charge, Namespace, Place, ProcessSummary, ProcessView, Quota};

/// Largest process id. Source: Linux `pid_max`, <https://man7.org/linux/man-pages/man5/proc_sys_kernel.5.html>.
const PID_MAX: u32 = 32_768;

/// Directories that plain modules find opened: the name that they see, and the absolute path in the namespace.
pub type Preopens = Vec<(Vec<u8>, Vec<u8>)>;

/// Limits of a whole table.
#[derive(Clone, Debug)]
pub struct TableLimits {
    /// Processes at a time, zombies included.
    pub processes: usize,
    /// Values a first process starts with.
    pub initial: ResourceLimits,
    /// CPUs shown in `/proc`.
    pub cpus: u32,
}

/// Memory of a sandbox against its limit and the engine's: linear memory of all processes, and what memory file systems hold.
#[derive(Debug)]
pub struct MemoryAccount {
    quota: Arc<Quota>,
    peak: AtomicU64,
}

impl MemoryAccount {
    /// One with a limit in bytes, itself charged to `parent`.
    pub fn new(limit: u64, parent: Option<&Self>) -> Arc<Self> {
        let quota = match parent {
            Some(parent) => Quota::below(&parent.quota, limit, u64::MAX),
            None => Quota::new(limit, u64::MAX),
        };
        Arc::new(Self {
            quota,
            peak: AtomicU64::new(0),
        })
    }

    /// A quota for a memory file system of this sandbox.
    pub fn file_system_quota(&self, bytes: u64, files: u64) -> Arc<Quota> {
        Quota::below(&self.quota, bytes, files)
    }

    /// Takes `bytes`, or nothing when that would exceed this limit or a parent's.
    pub fn try_take(&self, bytes: u64) -> bool {
        let taken = self.quota.reserve(bytes, 0).map(Charge::keep).is_ok();
        if taken {
            self.peak.fetch_max(self.used(), Ordering::Relaxed);
        }
        taken
    }

    /// Gives `bytes` back.
    pub fn give_back(&self, bytes: u64) {
        self.quota.release(bytes, 0);
    }

    /// Bytes taken now.
    pub fn used(&self) -> u64 {
        self.quota.bytes_used()
    }

    /// The most that was taken when a process took some.
    pub fn peak(&self) -> u64 {
        self.peak.load(Ordering::Relaxed)
    }

    /// The limit in bytes.
    pub fn limit(&self) -> u64 {
        self.quota.bytes_limit()
    }
}

#[derive(Debug)]
struct Inner {
    processes: BTreeMap<u32, Arc<Process>>,
    next_pid: u32,
}

/// The processes of one sandbox.
#[derive(Debug)]
pub struct ProcessTable {
    namespace: Arc<Namespace>,
    loader: Arc<dyn Loader>,
    limits: TableLimits,
    memory: Arc<MemoryAccount>,
    inner: Mutex<Inner>,
    host_commands: Mutex<HashMap<Vec<u8>, Arc<dyn HostCommand>>>,
    plain_preopens: Mutex<Option<Preopens>>,
    locks: Arc<LockTable>,
    fifos: FifoTable,
    started_at: Instant,
    total_started: AtomicU32,
    /// Told when the last process has ended.
    idle: Notify,
}

impl ProcessTable {
    /// An empty table.
    pub fn new(
        namespace: Arc<Namespace>,
        loader: Arc<dyn Loader>,
        limits: TableLimits,
        memory: Arc<MemoryAccount>,
    ) -> Arc<Self> {
        Arc::new(Self {
            namespace,
            loader,
            limits,
            memory,
            inner: Mutex::new(Inner {
                processes: BTreeMap::new(),
                next_pid: INIT_PID + 1,
            }),
            host_commands: Mutex::new(HashMap::new()),
            plain_preopens: Mutex::new(None),
            locks: Arc::default(),
            fifos: FifoTable::default(),
            started_at: Instant::now(),
            total_started: AtomicU32::new(0),
            idle: Notify::new(),
        })
    }

    /// The file system that its processes see.
    pub fn namespace(&self) -> &Arc<Namespace> {
        &self.namespace
    }

    /// Linear memory of all processes together.
    pub fn memory_account(&self) -> &Arc<MemoryAccount> {
        &self.memory
    }

    /// What runs programs.
    pub fn loader(&self) -> &Arc<dyn Loader> {
        &self.loader
    }

    /// Its limits.
    pub fn limits(&self) -> &TableLimits {
        &self.limits
    }

    /// When the sandbox was made.
    pub fn started_at(&self) -> Instant {
        self.started_at
    }

    /// Registers a host command under the name that its file's first line gives.
    pub fn add_host_command(&self, name: Vec<u8>, command: Arc<dyn HostCommand>) {
        self.host_commands.lock().insert(name, command);
    }

    pub(super) fn host_command(&self, name: &[u8]) -> Option<Arc<dyn HostCommand>> {
        self.host_commands.lock().get(name).cloned()
    }

    /// Says which directories plain preview 1 modules find preopened, from descriptor 3 on: the name that they see and the
    /// absolute path in the namespace. The default is the list in docs/guest-abi.md.
    pub fn set_plain_preopens(&self, preopens: Preopens) {
        *self.plain_preopens.lock() = Some(preopens);
    }

    /// What [`ProcessTable::set_plain_preopens`] has set.
    pub fn plain_preopens(&self) -> Option<Preopens> {
        self.plain_preopens.lock().clone()
    }

    pub(super) fn locks(&self) -> &Arc<LockTable> {
        &self.locks
    }

    pub(super) fn fifos(&self) -> &FifoTable {
        &self.fifos
    }

    /// A process, zombie or not.
    pub fn get(&self, pid: u32) -> Option<Arc<Process>> {
        self.inner.lock().processes.get(&pid).cloned()
    }

    /// All processes, ascending.
    pub fn all(&self) -> Vec<Arc<Process>> {
        self.inner.lock().processes.values().cloned().collect()
    }

    /// Number of processes, zombies included.
    pub fn len(&self) -> usize {
        self.inner.lock().processes.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Waits until there is no process.
    pub async fn idle(&self) {
        loop {
            let event = self.idle.notified();
            tokio::pin!(event);
            event.as_mut().enable();
            if self.is_empty() {
                return;
            }
            event.await;
        }
    }

    pub(super) fn children(&self, of: u32) -> Vec<Arc<Process>> {
        let inner = self.inner.lock();
        inner
            .processes
            .values()
            .filter(|process| process.ppid() == of)
            .cloned()
            .collect()
    }

    /// Removes a zombie; whoever gets `true` accounts for it.
    pub(super) fn reap(&self, pid: u32) -> bool {
        let removed = {
            let mut inner = self.inner.lock();
            let removed = inner.processes.remove(&pid);
            if removed.is_some() && inner.processes.is_empty() {
                self.idle.notify_waiters();
            }
            removed
        };
        removed.is_some()
    }

    /// Starts a program for the host, as a new session of its own, in `job`.
    ///
    /// # Errors
    /// As [`ProcessTable::spawn`].
    pub fn spawn_for_host(
        self: &Arc<Self>,
        request: SpawnRequest,
        cwd: Place,
        job: Arc<Job>,
    ) -> SysResult<Arc<Process>> {
        let request = SpawnRequest {
            new_session: true,
            cwd: Some(cwd),
            ..request
        };
        self.start(None, job, request)
    }

    /// Starts a program as a child of `parent`.
    ///
    /// # Errors
    /// `NotFound`, `Access`, `NoExec`, `TooBig`, `Loop`, `Again` at the process limit or while the job is being ended,
    /// `NotPermitted` for a group of another session.
    pub fn spawn(
        self: &Arc<Self>,
        parent: &Arc<Process>,
        request: SpawnRequest,
    ) -> SysResult<Arc<Process>> {
        self.start(Some(parent), Arc::clone(parent.job()), request)
    }

    fn start(
        self: &Arc<Self>,
        parent: Option<&Arc<Process>>,
        job: Arc<Job>,
        request: SpawnRequest,
    ) -> SysResult<Arc<Process>> {
        let env: Arc<[Vec<u8>]> = match (&request.env, parent) {
            (Some(env), _) => env.as_slice().into(),
            (None, Some(parent)) => parent.env(),
            (None, None) => Arc::new([]),
        };
        let cwd = match (request.cwd, parent) {
            (Some(cwd), _) => cwd,
            (None, Some(parent)) => parent.cwd(),
            (None, None) => self.namespace.root(),
        };
        let caller = crate::vfs::Caller {
            pid: parent.map_or(0, |parent| parent.pid),
        };
        let search = Search {
            table: self,
            caller,
            cwd: &cwd,
        };
        let resolved = search.resolve(&request.path, request.search, &request.args, &env)?;
        let limits = parent.map_or_else(
            || self.limits.initial.clone(),
            |parent| parent.state.lock().limits.clone(),
        );
        let open_files = limits.get(Resource::OpenFiles).0;
        let fds = {
            let parent_fds = parent.map(|parent| parent.fds.lock());
            request.fds.build(parent_fds.as_deref(), open_files)?
        };
        let blocked = request
            .blocked
            .or_else(|| parent.map(|parent| parent.signals.blocked()));
        let ignored = request
            .ignored
            .or_else(|| parent.map(|parent| parent.signals.ignored()));
        let inherited = parent.map(|parent| {
            let state = parent.state.lock();
            (state.pgid, state.sid, state.umask)
        });
        let state = State {
            ppid: parent.map_or(INIT_PID, |parent| parent.pid),
            pgid: 0,
            sid: 0,
            run: RunState::Live,
            change_reported: true,
            continued: false,
            cwd,
            umask: request
                .umask
                .or(inherited.map(|(_, _, umask)| umask))
                .unwrap_or(0o022)
                & 0o777,
            args: resolved.args.into(),
            env,
            exe: resolved.exe,
            limits,
            alarm: None,
        };
        let (pgid, sid) = match inherited {
            Some((pgid, sid, _)) if !request.new_session => (request.pgid.unwrap_or(pgid), sid),
            _ => (0, 0),
        };
        let signals =
            SignalState::inherit(blocked.unwrap_or_default(), ignored.unwrap_or_default());
        let process = self.insert(state, fds, signals, job, (pgid, sid))?;
        let future = self.loader.start(resolved.program, Arc::clone(&process));
        process.task.set_future(future);
        if process.job.is_ending() {
            process.kill(Signal::KILL);
        }
        self.loader.schedule(Arc::clone(&process));
        Ok(process)
    }

    fn insert(
        self: &Arc<Self>,
        mut state: State,
        fds: FdTable,
        signals: SignalState,
        job: Arc<Job>,
        (pgid, sid): (u32, u32),
    ) -> SysResult<Arc<Process>> {
        let mut inner = self.inner.lock();
        let limit = usize::try_from(state.limits.get(Resource::Processes).0).unwrap_or(usize::MAX);
        if inner.processes.len() >= self.limits.processes.min(limit) || job.is_ending() {
            return Err(Errno::Again);
        }
        let mut pid = inner.next_pid;
        while inner.processes.contains_key(&pid) {
            pid = if pid >= PID_MAX {
                INIT_PID + 1
            } else {
                pid + 1
            };
        }
        inner.next_pid = if pid >= PID_MAX {
            INIT_PID + 1
        } else {
            pid + 1
        };
        state.pgid = if pgid == 0 { pid } else { pgid };
        state.sid = if sid == 0 { pid } else { sid };
        if state.pgid != pid {
            let same_session = |process: &Arc<Process>| {
                let other = process.state.lock();
                other.pgid == state.pgid && other.sid == state.sid
            };
            if !inner.processes.values().any(same_session) {
                return Err(Errno::NotPermitted);
            }
        }
        let process = Arc::new(Process {
            pid,
            table: Arc::downgrade(self),
            job,
            state: Mutex::new(state),
            fds: Mutex::new(fds),
            signals,
            task: Task::new(),
            child_event: Notify::new(),
            exit_event: Notify::new(),
            record_locks: RecordFlag::default(),
            start_ns: self.uptime_ns(),
            cpu_ns: AtomicU64::new(0),
            children_cpu_ns: AtomicU64::new(0),
            memory_bytes: AtomicU64::new(0),
            peak_memory_bytes: AtomicU64::new(0),
            children_peak_memory_bytes: AtomicU64::new(0),
            read_bytes: AtomicU64::new(0),
            written_bytes: AtomicU64::new(0),
            fuel_used: AtomicU64::new(0),
        });
        process.job.process_started();
        self.total_started.fetch_add(1, Ordering::Relaxed);
        inner.processes.insert(pid, Arc::clone(&process));
        Ok(process)
    }

    /// What [`Process::finish`] leaves to the table: children go to init, the parent is told or, being init, reaps.
    pub(super) fn process_ended(&self, process: &Process) {
        for child in self.children(process.pid) {
            let ended = {
                let mut state = child.state.lock();
                state.ppid = INIT_PID;
                matches!(state.run, RunState::Zombie(_))
            };
            if ended {
                self.reap(child.pid);
            }
        }
        match self.get(process.ppid()) {
            Some(parent) => parent.child_changed(),
            None => {
                self.reap(process.pid);
            }
        }
    }

    /// Processes of a group.
    pub fn group(&self, pgid: u32) -> Vec<Arc<Process>> {
        self.all()
            .into_iter()
            .filter(|process| process.pgid() == pgid)
            .collect()
    }

    /// Ends every process of a job, and keeps it from starting more. Returns how many there were.
    pub fn end_job(&self, job: &Arc<Job>, signal: Signal) -> usize {
        if signal == Signal::KILL {
            job.set_ending();
        }
        let members: Vec<_> = self
            .all()
            .into_iter()
            .filter(|process| Arc::ptr_eq(process.job(), job))
            .collect();
        for member in &members {
            if signal == Signal::KILL {
                member.kill(signal);
            } else {
                member.signal(signal);
            }
        }
        members.len()
    }

    /// Ends every process. Used when the sandbox goes.
    pub fn end_all(&self) {
        for process in self.all() {
            process.job().set_ending();
        }
        for process in self.all() {
            process.kill(Signal::KILL);
        }
    }

    /// Nanoseconds since the sandbox was made.
    pub fn uptime_ns(&self) -> u64 {
        u64::try_from(self.started_at.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    /// Processes started so far.
    pub fn total_started(&self) -> u32 {
        self.total_started.load(Ordering::Relaxed)
    }
}

impl Process {
    fn child_changed(&self) {
        self.signal(Signal::CHLD);
        self.child_event.notify_waiters();
    }

    /// Sends a signal to this process: what `kill` does once it has found it.
    pub fn signal(&self, signal: Signal) {
        if matches!(self.run_state(), RunState::Zombie(_)) {
            return;
        }
        if signal == Signal::KILL {
            self.kill(signal);
            return;
        }
        if signal == Signal::CONT {
            self.continue_stopped();
        }
        let delivery = self.signals.receive(signal);
        self.task.set_attention();
        match delivery {
            Delivery::Kept => {}
            Delivery::Terminate(signal) => self.kill(signal),
            Delivery::Stop(signal) => self.stop(signal),
        }
    }

    /// Sets the blocked signals and delivers what that unblocks; returns the former set.
    pub fn set_blocked(&self, to: super::SignalSet) -> super::SignalSet {
        let before = self.signals.set_blocked(to);
        while let Some(signal) = self.signals.next_unblocked() {
            self.signal(signal);
        }
        self.task.set_attention();
        before
    }

    fn stop(&self, signal: Signal) {
        {
            let mut state = self.state.lock();
            if state.run != RunState::Live {
                return;
            }
            state.run = RunState::Stopped(signal);
            state.change_reported = false;
        }
        self.task.stop();
        self.tell_parent();
    }

    fn continue_stopped(&self) {
        {
            let mut state = self.state.lock();
            if !matches!(state.run, RunState::Stopped(_)) {
                return;
            }
            state.run = RunState::Live;
            state.continued = true;
        }
        self.task.resume();
        self.tell_parent();
    }

    fn tell_parent(&self) {
        if let Some(parent) = self
            .table
            .upgrade()
            .and_then(|table| table.get(self.ppid()))
        {
            parent.child_changed();
        }
    }

    /// `kill(2)` by this process: `pid` > 0 one, 0 its own group, -1 all but itself, < -1 a group. No signal only checks.
    ///
    /// # Errors
    /// `NoProcess`.
    pub fn send_signal(&self, pid: i32, signal: Option<Signal>) -> SysResult<()> {
        let table = self.table()?;
        let targets = match pid {
            0 => table.group(self.pgid()),
            -1 => table
                .all()
                .into_iter()
                .filter(|process| process.pid != self.pid)
                .collect(),
            pid if pid > 0 => table.get(pid.unsigned_abs()).into_iter().collect(),
            pid => table.group(pid.unsigned_abs()),
        };
        if targets.is_empty() {
            return Err(Errno::NoProcess);
        }
        if let Some(signal) = signal {
            // The caller last: a shell that signals its own group must get through the list.
            for target in targets.iter().filter(|target| target.pid != self.pid) {
                target.signal(signal);
            }
            if targets.iter().any(|target| target.pid == self.pid) {
                self.signal(signal);
            }
        }
        Ok(())
    }

    /// `setpgid(2)`.
    ///
    /// # Errors
    /// `NoProcess` for one that is neither the caller nor its child, `NotPermitted` for a session leader or a group of another
    /// session.
    pub fn set_pgid(&self, pid: u32, pgid: u32) -> SysResult<()> {
        let table = self.table()?;
        let pid = if pid == 0 { self.pid } else { pid };
        let target = table.get(pid).ok_or(Errno::NoProcess)?;
        if target.pid != self.pid && target.ppid() != self.pid {
            return Err(Errno::NoProcess);
        }
        let pgid = if pgid == 0 { pid } else { pgid };
        let sid = self.sid();
        if target.sid() != sid || target.sid() == target.pid {
            return Err(Errno::NotPermitted);
        }
        if pgid != pid && !table.group(pgid).iter().any(|member| member.sid() == sid) {
            return Err(Errno::NotPermitted);
        }
        target.state.lock().pgid = pgid;
        Ok(())
    }

    /// `setsid(2)`.
    ///
    /// # Errors
    /// `NotPermitted` for a group leader.
    pub fn set_sid(&self) -> SysResult<u32> {
        let table = self.table()?;
        if table.group(self.pid).iter().any(|_| true) {
            return Err(Errno::NotPermitted);
        }
        let mut state = self.state.lock();
        state.sid = self.pid;
        state.pgid = self.pid;
        Ok(self.pid)
    }

    /// `alarm(2)`: `SIGALRM` after `ns`, 0 cancels; returns what was left of the former one, in nanoseconds.
    ///
    /// # Errors
    /// `NoProcess` once the sandbox is gone.
    pub fn set_alarm(self: &Arc<Self>, ns: u64) -> SysResult<u64> {
        let table = self.table()?;
        let now = Instant::now();
        let at = (ns > 0).then(|| now + std::time::Duration::from_nanos(ns));
        // It is set before its timer runs: one that is due at once must find it.
        let new = at.map(|at| Alarm { at, timer: None });
        let before = std::mem::replace(&mut self.state.lock().alarm, new);
        if let Some(at) = at {
            let timer = table.loader.alarm(self, at);
            let mut state = self.state.lock();
            if let Some(alarm) = state.alarm.as_mut().filter(|alarm| alarm.at == at) {
                alarm.timer = Some(timer);
            } else {
                drop(state);
                drop(timer);
            }
        }
        let left = before.map_or(0, |before| {
            before.at.saturating_duration_since(now).as_nanos()
        });
        Ok(u64::try_from(left).unwrap_or(u64::MAX))
    }

    /// What the runtime calls when an alarm's time has come.
    pub fn alarm_due(&self, at: Instant) {
        let due = {
            let mut state = self.state.lock();
            if state.alarm.as_ref().is_some_and(|alarm| alarm.at == at) {
                state.alarm.take()
            } else {
                None
            }
        };
        if due.is_some() {
            drop(due);
            self.signal(Signal::ALRM);
        }
    }

    /// Finds the program that `exec` asks for. Nothing has changed yet; [`Process::become_program`] does.
    ///
    /// # Errors
    /// As [`ProcessTable::spawn`].
    pub fn prepare_exec(&self, request: &SpawnRequest) -> SysResult<ExecPlan> {
        let table = self.table()?;
        let env = request
            .env
            .as_ref()
            .map_or_else(|| self.env(), |env| env.as_slice().into());
        let cwd = request.cwd.clone().unwrap_or_else(|| self.cwd());
        let search = Search {
            table: &table,
            caller: self.caller(),
            cwd: &cwd,
        };
        let resolved = search.resolve(&request.path, request.search, &request.args, &env)?;
        Ok(ExecPlan { resolved, env, cwd })
    }

    /// Takes on another program: the runtime starts it once the old one has unwound.
    pub fn become_program(&self, plan: ExecPlan) -> super::Program {
        let ExecPlan { resolved, env, cwd } = plan;
        let closed = self.fds.lock().close_on_exec_all();
        for description in &closed {
            self.release_record_locks(description);
        }
        self.signals.reset_handlers();
        let mut state = self.state.lock();
        state.args = resolved.args.into();
        state.env = env;
        state.exe = resolved.exe;
        let old = std::mem::replace(&mut state.cwd, cwd);
        drop(state);
        drop((closed, old));
        resolved.program
    }
}

/// A program that `exec` found.
#[derive(Debug)]
pub struct ExecPlan {
    resolved: super::spawn::Resolved,
    env: Arc<[Vec<u8>]>,
    cwd: Place,
}

impl ProcessView for Weak<ProcessTable> {
    fn pids(&self) -> Vec<u32> {
        self.upgrade().map_or_else(Vec::new, |table| {
            table.inner.lock().processes.keys().copied().collect()
        })
    }

    fn summary(&self, pid: u32) -> Option<ProcessSummary> {
        let process = self.upgrade()?.get(pid)?;
        let signals = process.signals();
        let signals = [
            signals.pending().0,
            signals.blocked().0,
            signals.ignored().0,
            signals.handled().0,
        ];
        let (cpu_ns, _) = process.cpu_ns();
        let cwd = process.cwd().path().unwrap_or_default();
        let state = process.state.lock();
        let command = state.args.first().map_or(&b""[..], Vec::as_slice);
        let name = command
            .rsplit(|byte| *byte == b'/')
            .next()
            .unwrap_or_default();
        Some(ProcessSummary {
            pid,
            ppid: state.ppid,
            pgid: state.pgid,
            sid: state.sid,
            state: match state.run {
                RunState::Live if process.task.is_polled() => 'R',
                RunState::Live => 'S',
                RunState::Stopped(_) => 'T',
                RunState::Zombie(_) => 'Z',
            },
            comm: name.iter().copied().take(15).collect(),
            args: state.args.to_vec(),
            env: state.env.to_vec(),
            memory_bytes: process.memory_bytes().0,
            cpu_ns,
            start_ns: process.start_ns,
            exe: state.exe.to_vec(),
            cwd,
            signals,
            umask: state.umask,
        })
    }

    fn descriptors(&self, pid: u32) -> Option<Vec<(u32, Vec<u8>)>> {
        let process = self.upgrade()?.get(pid)?;
        let fds = process.open_fds();
        Some(
            fds.into_iter()
                .map(|(fd, description)| (fd, description.label()))
                .collect(),
        )
    }

    fn memory(&self) -> (u64, u64) {
        self.upgrade()
            .map_or((0, 0), |table| (table.memory.limit(), table.memory.used()))
    }

    fn cpus(&self) -> u32 {
        self.upgrade().map_or(1, |table| table.limits.cpus)
    }

    fn uptime_ns(&self) -> u64 {
        self.upgrade().map_or(0, |table| table.uptime_ns())
    }

    fn mounts(&self) -> Vec<u8> {
        let Some(table) = self.upgrade() else {
            return Vec::new();
        };
        let mut text = Vec::new();
        for (at, mount) in table.namespace.mounts() {
            let kind = mount.fs().kind();
            let read_only = mount.flags().contains(crate::vfs::MountFlags::READ_ONLY);
            text.extend_from_slice(kind.as_bytes());
            text.push(b' ');
            text.extend_from_slice(&at);
            text.extend_from_slice(
                format!(" {kind} {} 0 0\n", if read_only { "ro" } else { "rw" }).as_bytes(),
            );
        }
        text
    }
}
