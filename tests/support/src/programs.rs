//! Small programs in WebAssembly text, installed as files of a sandbox.

use sandbar::Sandbox;

/// Preview 1 imports and a memory that most small programs want.
pub const PRELUDE: &str = r#"
    (import "wasi_snapshot_preview1" "fd_write" (func $fd_write (param i32 i32 i32 i32) (result i32)))
    (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
    (memory (export "memory") 1)
"#;

/// Compiles a module's text and stores it as an executable file.
///
/// # Panics
/// When the text is wrong or the file cannot be written.
#[track_caller]
pub fn install(sandbox: &Sandbox, path: &str, text: &str) {
    let wasm = wat::parse_str(text).expect("the test's program is valid");
    sandbox
        .files()
        .write(path, wasm)
        .expect("the program is stored");
    sandbox
        .files()
        .set_mode(path, 0o755)
        .expect("the program is executable");
}

/// A program that runs `body` as its start function, with [`PRELUDE`].
pub fn program(body: &str) -> String {
    format!("(module {PRELUDE} (func (export \"_start\") {body}))")
}
