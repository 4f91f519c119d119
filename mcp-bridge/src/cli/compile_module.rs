//! `sandbar compile-module`: compiles a guest's own module in a process of its own, under limits of the operating system.

use std::io::Read;

use rustix::process::{Resource, Rlimit, setrlimit};

use crate::error::Failure;
use crate::printer::Printer;

/// Address space, in bytes. Cranelift took 1.5 GB for one function of 434 KB; the engine allows functions a third as long.
const ADDRESS_SPACE: u64 = 4 << 30;
/// CPU time in seconds; the engine waits 30 s, on any number of CPUs.
const CPU_SECONDS: u64 = 120;

/// Compile a WebAssembly module from standard input to standard output. For Sandbar's own use.
#[derive(Debug, clap::Args)]
#[command(hide = true)]
pub(super) struct CompileModule {
    /// Which interruption check the code has: `epoch` or `fuel`
    flavour: String,
}

impl CompileModule {
    pub(super) fn run(self, printer: Printer) -> Result<u8, Failure> {
        limit_itself()?;
        let mut wasm = Vec::new();
        std::io::stdin()
            .lock()
            .read_to_end(&mut wasm)
            .map_err(Failure::io("read the module"))?;
        let code = sandbar::compile_module(&self.flavour, &wasm).map_err(Failure::Usage)?;
        printer
            .bytes(&code)
            .map_err(Failure::io("write the compiled module"))?;
        Ok(0)
    }
}

fn limit_itself() -> Result<(), Failure> {
    let limits = [
        (Resource::As, ADDRESS_SPACE),
        (Resource::Cpu, CPU_SECONDS),
        (Resource::Core, 0),
    ];
    for (resource, limit) in limits {
        let limit = Rlimit {
            current: Some(limit),
            maximum: Some(limit),
        };
        setrlimit(resource, limit)
            .map_err(|errno| Failure::io("limit the compiler")(errno.into()))?;
    }
    Ok(())
}
