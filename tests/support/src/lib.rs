//! What the tests and the benches share: engines, sandboxes and hostile guests.

pub mod figure;
pub mod programs;

use std::sync::OnceLock;

use sandbar::{Engine, Limits, Output, Sandbox};

/// The engine of a test binary: one for all tests, so that every program is compiled once.
///
/// # Panics
/// When there is no tools image: `make image` builds it.
#[expect(clippy::panic, reason = "a test without its image cannot run")]
pub fn engine() -> &'static Engine {
    static ENGINE: OnceLock<Engine> = OnceLock::new();
    ENGINE.get_or_init(|| match Engine::builder().build() {
        Ok(engine) => engine,
        Err(error) => panic!("no engine: {error}"),
    })
}

/// A sandbox with a scratch workspace and the default limits.
///
/// # Panics
/// When it cannot be made.
#[track_caller]
pub fn sandbox() -> Sandbox {
    sandbox_with(|_| {})
}

/// A sandbox with other limits.
///
/// # Panics
/// When it cannot be made.
#[track_caller]
#[expect(clippy::panic, reason = "a test without its sandbox cannot run")]
pub fn sandbox_with(change: impl FnOnce(&mut Limits)) -> Sandbox {
    let mut limits = Limits::default();
    change(&mut limits);
    match engine().sandbox().limits(limits).create() {
        Ok(sandbox) => sandbox,
        Err(error) => panic!("no sandbox: {error}"),
    }
}

/// Runs a script with `bash -c` for at most a minute.
///
/// # Panics
/// When it cannot be started.
#[track_caller]
#[expect(
    clippy::panic,
    reason = "a test whose command does not start has failed"
)]
pub fn bash(sandbox: &Sandbox, script: &str) -> Output {
    let command = sandbox
        .bash(script)
        .timeout(std::time::Duration::from_mins(1));
    match command.output_blocking() {
        Ok(output) => output,
        Err(error) => panic!("bash did not start: {error}"),
    }
}

/// Standard output of a script that must succeed, without the last line break.
///
/// # Panics
/// When it fails.
#[track_caller]
pub fn stdout_of(sandbox: &Sandbox, script: &str) -> String {
    let output = bash(sandbox, script);
    assert!(
        output.status.success(),
        "`{script}` ended with {:?}\n{}\n{}",
        output.status,
        output.stdout_text(),
        output.stderr_text()
    );
    output.stdout_text().trim_end_matches('\n').to_owned()
}

/// The Rust blocks of the documents, as doc tests.
#[cfg(doctest)]
mod documents {
    #[doc = include_str!("../../../README.md")]
    struct Readme;
    #[doc = include_str!("../../../docs/guides/embedding.md")]
    struct Embedding;
}
