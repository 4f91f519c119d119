//! The documents: what they say is there, runs, and is up to date.
//!
//! `UPDATE_DOCS=1 cargo test` writes what is generated ([`reference`]).

mod console;
mod hygiene;
mod reference;
mod security;

use std::path::{Path, PathBuf};

/// The checkout.
pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// A program that cargo builds beside this test: `sandbar`, `examples/NAME`.
///
/// # Panics
/// When it is not there.
#[track_caller]
pub(crate) fn built(name: &str) -> PathBuf {
    let test = std::env::current_exe().expect("the path of this test");
    let profile = test.ancestors().nth(2).expect("target/PROFILE/deps/TEST");
    let program = profile.join(name);
    assert!(
        program.is_file(),
        "{} is not built; `cargo build --workspace --bins --examples` builds it",
        program.display()
    );
    program
}

/// Reads a file of the checkout.
///
/// # Panics
/// When it cannot be read.
#[track_caller]
#[expect(clippy::panic, reason = "a test without its file has failed")]
fn text(path: &str) -> String {
    match std::fs::read_to_string(root().join(path)) {
        Ok(text) => text,
        Err(error) => panic!("{path}: {error}"),
    }
}

/// The files that git keeps or would keep, as paths from the checkout.
///
/// # Panics
/// When git cannot be asked.
#[track_caller]
fn tracked() -> Vec<String> {
    let output = std::process::Command::new("git")
        .args(["ls-files", "--cached", "--others", "--exclude-standard"])
        .current_dir(root())
        .output()
        .expect("git starts");
    assert!(
        output.status.success(),
        "git ls-files: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    let files = String::from_utf8(output.stdout).expect("UTF-8 names");
    // One that was deleted and not committed is still listed.
    files
        .lines()
        .filter(|path| root().join(path).is_file())
        .map(str::to_owned)
        .collect()
}

/// The documents: every Markdown file.
fn documents() -> Vec<String> {
    kept("md")
}

/// The sources in Rust.
fn sources() -> Vec<String> {
    kept("rs")
}

fn kept(extension: &str) -> Vec<String> {
    tracked()
        .into_iter()
        .filter(|path| {
            Path::new(path)
                .extension()
                .is_some_and(|is| is == extension)
        })
        .collect()
}

/// Lines of a document that are not in a fenced block, with their numbers from 1.
fn prose(document: &str) -> Vec<(usize, &str)> {
    let mut fenced = false;
    let mut lines = Vec::new();
    for (index, line) in document.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        } else if !fenced {
            lines.push((index + 1, line));
        }
    }
    lines
}

/// Fenced blocks whose first line after the fence is `info`.
fn blocks<'a>(document: &'a str, info: &str) -> Vec<(usize, Vec<&'a str>)> {
    let mut found = Vec::new();
    let mut lines = document.lines().enumerate();
    while let Some((index, line)) = lines.next() {
        let Some(given) = line.trim_start().strip_prefix("```") else {
            continue;
        };
        let body: Vec<&str> = lines
            .by_ref()
            .map(|(_, line)| line)
            .take_while(|line| !line.trim_start().starts_with("```"))
            .collect();
        if given == info {
            found.push((index + 1, body));
        }
    }
    found
}
