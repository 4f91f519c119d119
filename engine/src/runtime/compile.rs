//! Compiling WebAssembly: what a guest's own module may be, and where the work is done.
//!
//! SECURITY[SB-RT-001]: Cranelift's time and memory grow with the square of a function's size and cannot be bounded from outside, so a
//! module that does not come from the image is measured first, and compiled by a child process with limits of the operating
//! system where one is configured.

use std::io::{Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use wasmparser::{Parser, Payload};

use crate::limits::ModuleLimits;

/// Wall clock for one compilation in a child.
const CHILD_TIME: Duration = Duration::from_secs(30);

/// Checks that a module is within limits, before any compiler sees it.
///
/// # Errors
/// A sentence with the limit, its value and the module's.
pub(super) fn check_module(wasm: &[u8], limits: &ModuleLimits) -> Result<(), String> {
    if wasm.len() > limits.module_bytes {
        return Err(format!(
            "the module has {} bytes, at most {} are allowed",
            wasm.len(),
            limits.module_bytes
        ));
    }
    let mut functions: u32 = 0;
    for payload in Parser::new(0).parse_all(wasm) {
        match payload.map_err(|error| format!("not a WebAssembly module: {error}"))? {
            Payload::Version {
                encoding: wasmparser::Encoding::Component,
                ..
            } => {
                return Err("a component; only core modules of WASI preview 1 run".into());
            }
            Payload::CodeSectionStart { count, .. } if count > limits.functions => {
                return Err(format!(
                    "the module has {count} functions, at most {} are allowed",
                    limits.functions
                ));
            }
            Payload::CodeSectionEntry(body) => {
                check_body(&body, functions, limits)?;
                functions += 1;
            }
            _ => {}
        }
    }
    Ok(())
}

fn check_body(
    body: &wasmparser::FunctionBody<'_>,
    index: u32,
    limits: &ModuleLimits,
) -> Result<(), String> {
    let size = body.range().len();
    if size > limits.body_bytes {
        return Err(format!(
            "function {index} has {size} bytes of code, at most {} are allowed",
            limits.body_bytes
        ));
    }
    let mut locals: u32 = 0;
    let reader = body
        .get_locals_reader()
        .map_err(|error| format!("function {index}: {error}"))?;
    for group in reader {
        let (count, _) = group.map_err(|error| format!("function {index}: {error}"))?;
        locals = locals.saturating_add(count);
    }
    if locals > limits.locals {
        return Err(format!(
            "function {index} has {locals} locals, at most {} are allowed",
            limits.locals
        ));
    }
    Ok(())
}

/// Has `program compile-module` compile: module on its standard input, compiled code on its standard output. The child sets its own
/// limits of memory and CPU time and ends when its input does.
///
/// # Errors
/// What it said on standard error, or that it took too long.
#[expect(
    clippy::disallowed_methods,
    reason = "the one child process that the engine starts"
)]
pub(super) fn compile_in_child(
    program: &Path,
    flavour: &str,
    wasm: &[u8],
) -> Result<Vec<u8>, String> {
    let mut child = Command::new(program)
        .args(["compile-module", flavour])
        .env_clear()
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| {
            format!(
                "the compiler `{}` cannot be started: {error}",
                program.display()
            )
        })?;
    let result = converse(&mut child, wasm);
    if result.is_err() {
        // Both may fail only because it has ended.
        child.kill().ok();
        child.wait().ok();
    }
    result
}

fn converse(child: &mut std::process::Child, wasm: &[u8]) -> Result<Vec<u8>, String> {
    let lost = || "the compiler's streams are gone".to_owned();
    let mut stdin = child.stdin.take().ok_or_else(lost)?;
    let mut stdout = child.stdout.take().ok_or_else(lost)?;
    let mut stderr = child.stderr.take().ok_or_else(lost)?;
    let output = std::thread::spawn(move || {
        let mut code = Vec::new();
        stdout.read_to_end(&mut code).map(|_| code)
    });
    let errors = std::thread::spawn(move || {
        let mut text = String::new();
        (&mut stderr).take(4096).read_to_string(&mut text).ok();
        text
    });
    stdin
        .write_all(wasm)
        .map_err(|error| format!("the compiler stopped reading: {error}"))?;
    drop(stdin);
    let deadline = Instant::now() + CHILD_TIME;
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break status,
            Ok(None) if Instant::now() > deadline => {
                return Err(format!(
                    "compiling took more than {} seconds",
                    CHILD_TIME.as_secs()
                ));
            }
            Ok(None) => std::thread::sleep(Duration::from_millis(2)),
            Err(error) => return Err(error.to_string()),
        }
    };
    let code = output
        .join()
        .map_err(|_| lost())?
        .map_err(|error| error.to_string())?;
    if status.success() {
        return Ok(code);
    }
    let text = errors.join().unwrap_or_default();
    Err(match text.trim() {
        "" => format!("the compiler ended with {status}: the module needs more than it may use"),
        text => text.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: ModuleLimits = ModuleLimits {
        module_bytes: 200,
        body_bytes: 30,
        locals: 10,
        functions: 2,
    };

    fn check(text: &str) -> Result<(), String> {
        check_module(&wat::parse_str(text).expect("a module"), &SMALL)
    }

    #[test]
    fn each_limit_holds_at_it_and_refuses_one_above() {
        assert_eq!(
            check("(module (func (local i32 i32 i32 i32 i32 i32 i32 i32 i32 i32)))"),
            Ok(())
        );
        let locals = check("(module (func (local i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32)))");
        assert_eq!(
            locals,
            Err("function 0 has 11 locals, at most 10 are allowed".into())
        );
        assert_eq!(check("(module (func) (func))"), Ok(()));
        let functions = check("(module (func) (func) (func))");
        assert_eq!(
            functions,
            Err("the module has 3 functions, at most 2 are allowed".into())
        );
        let body = |nops: usize| check(&format!("(module (func {}))", "nop ".repeat(nops)));
        assert_eq!(body(28), Ok(()));
        assert_eq!(
            body(29),
            Err("function 0 has 31 bytes of code, at most 30 are allowed".into())
        );
        let data = |bytes: usize| {
            check(&format!(
                "(module (memory 1) (data (i32.const 0) \"{}\"))",
                "x".repeat(bytes)
            ))
        };
        let small = data(100);
        assert_eq!(small, Ok(()));
        assert!(data(200).is_err_and(|text| text.contains("at most 200 are allowed")));
    }

    #[test]
    fn what_is_no_module_is_said_so() {
        assert!(check_module(b"\0asm\x01\0\0\0\xff", &SMALL).is_err());
        assert!(check("(component)").is_err_and(|text| text.contains("component")));
    }
}
