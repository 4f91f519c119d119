//! Compiling the guest workspace.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use sha2::{Digest, Sha256};

use crate::programs::PROGRAMS;
use crate::progress;

/// The repository's root, two folders above this crate.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The compiled module of a binary of the guest workspace.
pub(crate) fn module_path(binary: &str) -> PathBuf {
    root()
        .join("wasi-tools/target/wasm32-wasip1/release")
        .join(format!("{binary}.wasm"))
}

/// Compiles all guest programs and those of the tests, or does nothing when no source has changed since the last time.
///
/// # Errors
/// When a source can't be read or the compiler fails; its own messages are on standard error by then.
pub(crate) fn build() -> Result<(), String> {
    let stamp = root().join("out/guests.stamp");
    let fingerprint = fingerprint()?;
    let built = PROGRAMS
        .iter()
        .all(|program| module_path(program.binary).is_file());
    if built && fs::read_to_string(&stamp).is_ok_and(|old| old == fingerprint) {
        progress::line("guest programs are up to date");
        return Ok(());
    }
    progress::line("compiling the guest programs (the first time takes minutes)");
    let mut arguments = vec!["build", "--release"];
    for program in PROGRAMS {
        arguments.extend(["--bin", program.binary]);
    }
    script("wasi-tools/cargo.sh", &arguments)?;
    script("wasi-tools/libc/build-tests.sh", &[])?;
    for program in PROGRAMS {
        let size = fs::metadata(module_path(program.binary))
            .map_err(|error| format!("{}: {error}", program.binary))?
            .len();
        progress::line(&format!("{:<16} {:>6} KiB", program.binary, size / 1024));
    }
    fs::write(&stamp, fingerprint).map_err(|error| format!("{}: {error}", stamp.display()))
}

/// Runs one of the guest workspace's scripts; what it prints is shown.
fn script(path: &str, arguments: &[&str]) -> Result<(), String> {
    let mut command = Command::new("sh");
    command.arg(root().join(path)).args(arguments);
    // Cargo describes this crate's build to us in variables that would mislead the other cargo.
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        let own = ["CARGO_PKG_", "CARGO_MANIFEST"]
            .iter()
            .any(|start| text.starts_with(start));
        if own || matches!(&*text, "RUSTUP_TOOLCHAIN" | "CARGO") {
            command.env_remove(&name);
        }
    }
    let status = command
        .status()
        .map_err(|error| format!("`sh` could not be started: {error}"))?;
    if status.success() {
        Ok(())
    } else {
        Err(format!("{path} failed ({status})"))
    }
}

/// A digest of everything that guest programs are made from: the guest workspace's files, those of the tests' guests, and the
/// toolchain's settings.
fn fingerprint() -> Result<String, String> {
    let mut files = Vec::new();
    collect(&root().join("wasi-tools"), &mut files)?;
    collect(&root().join("tests/guests"), &mut files)?;
    files.push(root().join("out/toolchain/env.sh"));
    files.sort();
    let mut digest = Sha256::new();
    for file in files {
        // The toolchain's file isn't there before the first build.
        let content = fs::read(&file).unwrap_or_default();
        digest.update(file.as_os_str().as_encoded_bytes());
        digest.update(content.len().to_le_bytes());
        digest.update(content);
    }
    Ok(hex(&digest.finalize()))
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> Result<(), String> {
    let failed = |error| format!("{}: {error}", folder.display());
    for entry in fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        let name = path.file_name().unwrap_or_default();
        if name == "target" || name == "artifacts" {
            continue;
        }
        if path.is_dir() {
            collect(&path, files)?;
        } else {
            files.push(path);
        }
    }
    Ok(())
}

/// Lower-case hexadecimal digits of `bytes`.
pub(crate) fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").expect("a string accepts every write");
        text
    })
}
