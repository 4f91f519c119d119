//! `cargo run -p sandbar-artifacts -- build|pack`: builds the guest programs, and packs them into `out/image`.

use std::process::ExitCode;

mod build;
mod layout;
mod programs;
mod progress;
mod rootfs;
mod wasm;

const USAGE: &str = "usage: sandbar-artifacts build | pack
  build   compiles the guest programs (wasi-tools) for wasm32-wasip1
  pack    builds, then packs them into an OCI image layout in out/image";

fn main() -> ExitCode {
    let command = std::env::args().nth(1);
    let result = match command.as_deref() {
        Some("build") => build::build(),
        Some("pack") => build::build().and_then(|()| layout::pack()),
        _ => Err(USAGE.to_owned()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            progress::error(&message);
            ExitCode::FAILURE
        }
    }
}
