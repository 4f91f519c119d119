//! What a guest instance is to its host calls: the process it runs as, its memory, its personality.

use std::sync::Arc;

use wasmtime::{AsContextMut, Memory, Module};

use super::memory::GuestMemory;
use super::rights::{PlainDescriptors, Rights};
use crate::errno::{Errno, SysResult};
use crate::process::{Description, Fd, Object, Process};
use crate::vfs::{AccessMode, At, Confine, Namespace, Place};

/// The root directory of the namespace, as a descriptor of an aware guest (`SANDBAR_ROOT_FD`).
pub(super) const ROOT_FD: u32 = 0x4000_0000;
/// The current directory, as a descriptor of an aware guest (`SANDBAR_CWD_FD`).
pub(super) const CWD_FD: u32 = 0x4000_0001;

/// Which rules a module lives by. See docs/guest-abi.md.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Personality {
    /// It imports `sandbar_v1`: POSIX. Descriptors are inherited, nothing is preopened, the namespace is the wall.
    Aware,
    /// It knows preview 1 only: WASI. Preopens from descriptor 3 on, and each directory descriptor is a wall.
    Plain,
}

/// The personality of a module: aware as soon as it imports anything from `sandbar_v1`.
pub fn personality_of(module: &Module) -> Personality {
    if module
        .imports()
        .any(|import| import.module() == super::SANDBAR)
    {
        Personality::Aware
    } else {
        Personality::Plain
    }
}

/// Where the host calls find their context in a store's data.
pub trait HasContext {
    /// The context, to be changed.
    fn context(&mut self) -> &mut Context;
    /// The context.
    fn context_ref(&self) -> &Context;
}

impl HasContext for Context {
    fn context(&mut self) -> &mut Context {
        self
    }

    fn context_ref(&self) -> &Context {
        self
    }
}

/// The host side of one guest instance.
#[derive(Debug)]
pub struct Context {
    process: Arc<Process>,
    namespace: Arc<Namespace>,
    memory: Option<Memory>,
    personality: Personality,
    /// Address of the word that shows handled signals.
    signal_word: Option<u32>,
    plain: PlainDescriptors,
}

impl Context {
    /// The context of a program that begins to run as `process`.
    ///
    /// For a plain module this closes the descriptors above 2 and opens the preopens from 3 on: those that
    /// [`crate::process::ProcessTable::set_plain_preopens`] names, else `.` (the current directory), `/`, every top-level
    /// directory whose name does not exist in the current directory, and `.` once more, because wasi-libc takes the last of
    /// equal prefixes.
    ///
    /// # Errors
    /// `NoProcess` once the sandbox is gone; for a plain module also `ProcessFiles` and the errors of opening the named
    /// preopens.
    pub fn new(process: Arc<Process>, personality: Personality) -> SysResult<Self> {
        let namespace = Arc::clone(process.table()?.namespace());
        let plain = match personality {
            Personality::Aware => PlainDescriptors::default(),
            Personality::Plain => PlainDescriptors::open(&process, &namespace)?,
        };
        Ok(Self {
            process,
            namespace,
            memory: None,
            personality,
            signal_word: None,
            plain,
        })
    }

    /// The process that the guest runs as.
    pub fn process(&self) -> &Arc<Process> {
        &self.process
    }

    /// Its rules.
    pub fn personality(&self) -> Personality {
        self.personality
    }

    /// Says which memory host calls read and write; without it the one exported as `memory` is looked up at the first call.
    pub fn set_memory(&mut self, memory: Memory) {
        self.memory = Some(memory);
    }

    pub(super) fn memory(&self) -> Option<Memory> {
        self.memory
    }

    /// ORs the handled signals that are pending into the word that the guest registered. For the runtime's epoch callback;
    /// host calls do it by themselves.
    ///
    /// A signal stays pending until the guest takes it (`sig_take`), so that a call that would wait still ends with
    /// `Interrupted`.
    pub fn deliver_signals<T: HasContext + 'static>(mut store: impl AsContextMut<Data = T>) {
        let mut store = store.as_context_mut();
        let Some(memory) = store.data().context_ref().memory else {
            return;
        };
        let (bytes, data) = memory.data_and_store_mut(&mut store);
        data.context().show_signals(&mut GuestMemory::new(bytes));
    }

    pub(super) fn show_signals(&self, memory: &mut GuestMemory<'_>) {
        let pending = self.process.signals().deliverable().0;
        if let Some(word) = self.signal_word
            && pending != 0
            && let Ok(shown) = memory.u32(word)
            && memory.write_u32(word, shown | pending).is_err()
        {
            // The word was checked when it was registered, and a memory never shrinks.
            debug_assert!(false, "the signal word left the memory");
        }
    }

    pub(super) fn set_signal_word(&mut self, word: Option<u32>) {
        self.signal_word = word;
    }

    pub(super) fn signal_word(&self) -> Option<u32> {
        self.signal_word
    }

    pub(super) fn namespace(&self) -> &Arc<Namespace> {
        &self.namespace
    }

    pub(super) fn plain(&mut self) -> &mut PlainDescriptors {
        &mut self.plain
    }

    /// The directory that a reserved descriptor means, to an aware guest.
    fn reserved(&self, fd: Fd) -> Option<Place> {
        match (self.personality, fd) {
            (Personality::Aware, ROOT_FD) => Some(self.namespace.root()),
            (Personality::Aware, CWD_FD) => Some(self.process.cwd()),
            _ => None,
        }
    }

    pub(super) fn is_reserved(&self, fd: Fd) -> bool {
        self.personality == Personality::Aware && matches!(fd, ROOT_FD | CWD_FD)
    }

    /// The description behind a descriptor, a reserved one included, if it has these rights.
    ///
    /// # Errors
    /// `BadFd`, `NotCapable`.
    pub(super) fn description(&self, fd: Fd, needed: Rights) -> SysResult<Arc<Description>> {
        if let Some(place) = self.reserved(fd) {
            return Ok(Description::new(Object::Directory(place), AccessMode::Read));
        }
        let description = self.process.fd(fd)?;
        self.plain.require(fd, &description, needed)?;
        Ok(description)
    }

    /// The directory that a path argument starts in.
    ///
    /// # Errors
    /// `BadFd`, `NotDirectory`, `NotCapable`.
    pub(super) fn directory(&self, fd: Fd, needed: Rights) -> SysResult<Place> {
        if let Some(place) = self.reserved(fd) {
            return Ok(place);
        }
        let description = self.process.fd(fd)?;
        let place = description.place()?.clone();
        self.plain.require(fd, &description, needed)?;
        Ok(place)
    }

    /// A path argument.
    pub(super) fn at<'a>(&self, base: &'a Place, path: &'a [u8]) -> At<'a> {
        At {
            caller: self.process.caller(),
            base,
            path,
            confine: match self.personality {
                Personality::Aware => Confine::Namespace,
                Personality::Plain => Confine::Dirfd,
            },
        }
    }

    /// The rights of a descriptor and of what is opened through it.
    ///
    /// # Errors
    /// `BadFd`.
    pub(super) fn rights(&self, fd: Fd) -> SysResult<(Rights, Rights)> {
        let description = self.description(fd, Rights::empty())?;
        Ok(self.plain.rights(fd, &description))
    }

    /// Closes a descriptor.
    ///
    /// # Errors
    /// `BadFd`, also for a reserved one.
    pub(super) fn close(&mut self, fd: Fd) -> SysResult<()> {
        self.process.close_fd(fd)?;
        self.plain.forget(fd);
        Ok(())
    }

    /// A descriptor's number as C passes it.
    ///
    /// # Errors
    /// `BadFd` for a negative one.
    pub(super) fn fd(number: i32) -> SysResult<Fd> {
        Fd::try_from(number).map_err(|_| Errno::BadFd)
    }
}
