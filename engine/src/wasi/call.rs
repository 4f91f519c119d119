//! One host call: what it sees of the guest, and how it ends.

use wasmtime::Caller;

use super::context::{Context, HasContext};
use super::memory::GuestMemory;
use crate::errno::{Errno, SysResult};
use crate::process::ExecPlan;

/// How a host call ends the program that made it, instead of returning: the runtime's process loop downcasts it from the
/// `wasmtime::Error` that unwound the guest.
#[derive(Debug)]
pub enum Unwind {
    /// `proc_exit` with this code.
    Exit(u8),
    /// `proc_exec`: this program takes the process over.
    Exec(ExecPlan),
    /// The process was killed meanwhile; [`crate::process::Task::killed_by`] says by what.
    Killed,
}

impl std::fmt::Display for Unwind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Exit(code) => write!(f, "exited with {code}"),
            Self::Exec(_) => f.write_str("another program takes over"),
            Self::Killed => f.write_str("killed"),
        }
    }
}

impl std::error::Error for Unwind {}

/// Why a host call does not succeed.
#[derive(Debug)]
pub(super) enum Fate {
    /// The guest gets this number.
    Errno(Errno),
    /// The guest does not go on.
    Unwind(Box<Unwind>),
}

impl From<Errno> for Fate {
    fn from(errno: Errno) -> Self {
        Self::Errno(errno)
    }
}

/// A guest's memory and process for the time of one call.
#[derive(Debug)]
pub(super) struct Call<'a> {
    pub(super) memory: GuestMemory<'a>,
    pub(super) context: &'a mut Context,
}

impl<'a> Call<'a> {
    pub(super) fn of<T: HasContext + 'static>(caller: &'a mut Caller<'_, T>) -> Self {
        if caller.data().context_ref().memory().is_none() {
            // A start section calls before the runtime could say which memory it is.
            let memory = caller
                .get_export("memory")
                .and_then(wasmtime::Extern::into_memory);
            if let Some(memory) = memory {
                caller.data_mut().context().set_memory(memory);
            }
        }
        match caller.data().context_ref().memory() {
            Some(memory) => {
                let (bytes, data) = memory.data_and_store_mut(caller);
                Self {
                    memory: GuestMemory::new(bytes),
                    context: data.context(),
                }
            }
            None => Self {
                memory: GuestMemory::new(&mut []),
                context: caller.data_mut().context(),
            },
        }
    }
}

/// What every call does at its end: a killed process does not return into the guest, signals that came meanwhile are shown.
pub(super) fn leave<T: HasContext + 'static>(
    caller: &mut Caller<'_, T>,
    name: &'static str,
    outcome: Result<(), Fate>,
) -> wasmtime::Result<i32> {
    #[cfg(feature = "trace")]
    tracing::trace!(
        pid = caller.data().context_ref().process().pid(),
        call = name,
        ?outcome
    );
    #[cfg(not(feature = "trace"))]
    let _ = name;
    let task = caller.data().context_ref().process().task();
    if task.killed_by().is_some() {
        return Err(Unwind::Killed.into());
    }
    if task.take_attention() {
        let Call {
            mut memory,
            context,
        } = Call::of(caller);
        context.show_signals(&mut memory);
    }
    match outcome {
        Ok(()) => Ok(0),
        Err(Fate::Errno(errno)) => Ok(i32::from(errno.number())),
        Err(Fate::Unwind(unwind)) => Err((*unwind).into()),
    }
}

/// What a call's function may return.
pub(super) trait Outcome {
    fn outcome(self) -> Result<(), Fate>;
}

impl Outcome for SysResult<()> {
    fn outcome(self) -> Result<(), Fate> {
        self.map_err(Fate::Errno)
    }
}

impl Outcome for Result<(), Fate> {
    fn outcome(self) -> Result<(), Fate> {
        self
    }
}

/// Registers functions: `call` for those that never wait (2 ns a call), `wait` for those that can (29 ns, and only on a fiber).
///
/// Each line is the import's name, its parameters as WebAssembly sees them, and the function that does it.
macro_rules! imports {
    ($linker:ident, $module:ident: $($kind:ident $name:ident($($argument:ident: $type:ty),*) => $function:path;)*) => {
        $(imports!(@$kind $linker $module $name ($($argument: $type),*) $function);)*
    };
    (@call $linker:ident $module:ident $name:ident ($($argument:ident: $type:ty),*) $function:path) => {
        $linker.func_wrap(
            $module,
            stringify!($name),
            |mut caller: wasmtime::Caller<'_, T>, $($argument: $type),*| -> wasmtime::Result<i32> {
                let result = $function(&mut Call::of(&mut caller), $($argument),*);
                leave(&mut caller, stringify!($name), result.outcome())
            },
        )?;
    };
    (@wait $linker:ident $module:ident $name:ident ($($argument:ident: $type:ty),*) $function:path) => {
        $linker.func_wrap_async(
            $module,
            stringify!($name),
            |mut caller: wasmtime::Caller<'_, T>, ($($argument,)*): ($($type,)*)| {
                Box::new(async move {
                    let result = $function(&mut Call::of(&mut caller), $($argument),*).await;
                    leave(&mut caller, stringify!($name), result.outcome())
                })
            },
        )?;
    };
}
pub(super) use imports;

/// Lets other guests run: what a long call does between two chunks.
pub(super) async fn yield_now() {
    let mut yielded = false;
    std::future::poll_fn(|context| {
        if yielded {
            return std::task::Poll::Ready(());
        }
        yielded = true;
        context.waker().wake_by_ref();
        std::task::Poll::Pending
    })
    .await;
}
