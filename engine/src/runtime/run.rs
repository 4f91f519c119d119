//! The life of a process: load its program, instantiate, run, and start over when it execs.

use std::sync::Arc;

use wasmtime::{Store, Trap, UpdateDeadline};

use super::config::FlavourKind;
use super::executor::Runtime;
use super::guest::Guest;
use super::module_cache::Loaded;
use crate::limits::FUEL_YIELD_INTERVAL;
use crate::process::{ExitStatus, HostProcess, Process, Program, Signal};
use crate::wasi::{Context, HasContext, Unwind};

/// A place among the engine's processes, given back when the process has ended.
struct Slot(Arc<Runtime>);

impl Drop for Slot {
    fn drop(&mut self) {
        self.0.give_slot();
    }
}

enum End {
    Status(ExitStatus),
    Exec(Program),
}

/// Runs `program` as `process` to its end.
pub(super) async fn run(
    runtime: Arc<Runtime>,
    mut program: Program,
    process: Arc<Process>,
) -> ExitStatus {
    if !runtime.take_slot() {
        let limit = runtime.max_processes();
        complain(
            &process,
            &format!("the engine's ceiling of {limit} processes is reached"),
        );
        return ExitStatus::Exited(126);
    }
    let slot = Slot(Arc::clone(&runtime));
    let status = loop {
        let end = match program {
            Program::Host(command) => End::Status(
                command
                    .run(HostProcess {
                        process: Arc::clone(&process),
                    })
                    .await,
            ),
            module @ Program::Module { .. } => run_module(&runtime, module, &process).await,
        };
        match end {
            End::Status(status) => break status,
            End::Exec(next) => program = next,
        }
    };
    drop(slot);
    status
}

/// Says on the process's standard error why it cannot run.
fn complain(process: &Process, reason: &str) {
    let args = process.args();
    let name = args.first().map_or_else(String::new, |name| {
        String::from_utf8_lossy(name).into_owned()
    });
    let line = format!("{name}: cannot execute: {reason}\n");
    if let Ok(stderr) = process.fd(2) {
        let written = stderr.try_write(line.as_bytes(), u64::MAX);
        tracing::debug!(?written, "{line}");
    }
}

async fn run_module(runtime: &Arc<Runtime>, program: Program, process: &Arc<Process>) -> End {
    let kind = if process.job().fuel_limit().is_some() {
        FlavourKind::Fuel
    } else {
        FlavourKind::Epoch
    };
    let loaded = match runtime.modules(kind) {
        Ok(modules) => modules.load(runtime, &program).await,
        Err(error) => Err(error.as_str().into()),
    };
    drop(program);
    let loaded = match loaded {
        Ok(loaded) => loaded,
        Err(reason) => {
            complain(process, &reason);
            return End::Status(ExitStatus::Exited(126));
        }
    };
    run_loaded(&loaded, kind, process).await
}

async fn run_loaded(loaded: &Loaded, kind: FlavourKind, process: &Arc<Process>) -> End {
    let context = match Context::new(Arc::clone(process), loaded.personality) {
        Ok(context) => context,
        Err(errno) => {
            complain(process, errno.message());
            return End::Status(ExitStatus::Exited(126));
        }
    };
    let guest = Guest::new(context, Arc::clone(process));
    let mut store = Store::new(loaded.pre.module().engine(), guest);
    store.limiter(|guest| &mut guest.limiter);
    let budget = process.job().fuel_left();
    if let Err(error) = arm(&mut store, kind, budget) {
        complain(process, &format!("{error:#}"));
        return End::Status(ExitStatus::Exited(126));
    }
    let result = call(loaded, &mut store).await;
    if kind == FlavourKind::Fuel {
        let left = store.get_fuel().unwrap_or(0);
        process.add_fuel(budget.saturating_sub(left.saturating_sub(1)));
        if left == 0 {
            return End::Status(ExitStatus::Signaled(Signal::XCPU));
        }
    }
    match result {
        Ok(()) => End::Status(ExitStatus::Exited(0)),
        Err(error) => ended_by(error, &store, process),
    }
}

fn arm(store: &mut Store<Guest>, kind: FlavourKind, budget: u64) -> wasmtime::Result<()> {
    match kind {
        FlavourKind::Epoch => {
            store.set_epoch_deadline(1);
            store.epoch_deadline_callback(|mut store| {
                let task = store.data().context_ref().process().task();
                if task.killed_by().is_some() {
                    return Ok(UpdateDeadline::Interrupt);
                }
                if task.take_attention() {
                    Context::deliver_signals(&mut store);
                }
                Ok(UpdateDeadline::Yield(1))
            });
            Ok(())
        }
        FlavourKind::Fuel => {
            // One more than the budget, so that what is left tells a program that used all of it from one that used more: the
            // last stretch before the end is counted but not checked.
            store.set_fuel(budget.saturating_add(1))?;
            store.fuel_async_yield_interval(Some(FUEL_YIELD_INTERVAL))
        }
    }
}

async fn call(loaded: &Loaded, store: &mut Store<Guest>) -> wasmtime::Result<()> {
    let instance = loaded.pre.instantiate_async(&mut *store).await?;
    if let Some(memory) = instance.get_memory(&mut *store, "memory") {
        store.data_mut().context().set_memory(memory);
    }
    let start = instance.get_typed_func::<(), ()>(&mut *store, "_start")?;
    start.call_async(&mut *store, ()).await
}

fn ended_by(error: wasmtime::Error, store: &Store<Guest>, process: &Arc<Process>) -> End {
    if let Some(signal) = process.task().killed_by() {
        return End::Status(ExitStatus::Signaled(signal));
    }
    let error = match error.downcast::<Unwind>() {
        Ok(Unwind::Exit(code)) => return End::Status(ExitStatus::Exited(code)),
        Ok(Unwind::Exec(plan)) => return End::Exec(process.become_program(plan)),
        Ok(Unwind::Killed) => return End::Status(ExitStatus::Signaled(Signal::KILL)),
        Err(error) => error,
    };
    let Some(trap) = error.downcast_ref::<Trap>() else {
        let reason = match store.data().limiter.refused_bytes {
            Some(bytes) => format!("it needs {bytes} bytes of memory, more than the limit leaves"),
            None => format!("{error:#}"),
        };
        complain(process, &reason);
        return End::Status(ExitStatus::Exited(126));
    };
    End::Status(ExitStatus::Signaled(match trap {
        // As natively: abort(3) and failed assertions, arithmetic faults, the rest is a bad address.
        Trap::UnreachableCodeReached => Signal::ABRT,
        Trap::IntegerOverflow | Trap::IntegerDivisionByZero | Trap::BadConversionToInteger => {
            Signal::FPE
        }
        Trap::OutOfFuel => Signal::XCPU,
        _ => Signal::SEGV,
    }))
}
