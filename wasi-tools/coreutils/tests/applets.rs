//! Sandbar's own applets beside the real tools: each line of `applets/*.txt` is a script for `sh` that must leave the same
//! output, messages and exit status with both. The applets run natively, over the SDK's native back end.
//!
//! Lines starting with `#` are comments. A case whose first word is `@TOOL` is left out where there is no such tool, or it is
//! not GNU's.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

const BINARIES: [&str; 2] = [
    env!("CARGO_BIN_EXE_coreutils"),
    env!("CARGO_BIN_EXE_coreutils-base"),
];

/// Where the real tools are.
const NATIVE_PATH: &str = "/usr/bin:/bin";

/// A directory with a link for each applet, in a place of its own for this test process.
fn applets(root: &Path) -> PathBuf {
    let dir = root.join("bin");
    fs::create_dir_all(&dir).expect("the temporary directory is writable");
    for binary in BINARIES {
        let list = Command::new(binary)
            .arg("--list")
            .output()
            .expect("the binary runs");
        for name in String::from_utf8_lossy(&list.stdout).lines() {
            if sandbar_coreutils::applets::NAMES.contains(&name) {
                // The second binary may have it too.
                drop(std::os::unix::fs::symlink(binary, dir.join(name)));
            }
        }
    }
    dir
}

#[derive(Debug, PartialEq, Eq)]
struct Outcome {
    status: Option<i32>,
    stdout: String,
    stderr: String,
}

fn run(script: &str, work: &Path, path: &str) -> Outcome {
    drop(fs::remove_dir_all(work));
    fs::create_dir_all(work).expect("the temporary directory is writable");
    let script = format!("umask 022; {script}");
    let output = Command::new("/bin/sh")
        .args(["-c", &script])
        .current_dir(work)
        .env_clear()
        .envs([
            ("PATH", path),
            ("LC_ALL", "C"),
            ("TZ", "UTC"),
            ("HOME", "/"),
            ("LINES", "24"),
            ("COLUMNS", "80"),
        ])
        .stdin(std::process::Stdio::null())
        .output()
        .expect("/bin/sh runs");
    // The only differences that there have to be; findutils writes `so', which nobody else does.
    let text = |bytes: &[u8]| {
        String::from_utf8_lossy(bytes)
            .replace(path, NATIVE_PATH)
            .replace('`', "'")
    };
    Outcome {
        status: output.status.code(),
        stdout: text(&output.stdout),
        stderr: text(&output.stderr),
    }
}

/// Whether the real tool is there and GNU's (or procps's), which is what the applets follow.
fn has_oracle(tool: &str) -> bool {
    let version = Command::new(tool).arg("--version").output();
    version.is_ok_and(|output| {
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        ["GNU", "procps", "util-linux"]
            .iter()
            .any(|maker| text.contains(maker))
    })
}

fn compare(file: &str, cases: &str) {
    let root = std::env::temp_dir().join(format!("sandbar-applets-{file}-{}", std::process::id()));
    let ours = format!("{}:{NATIVE_PATH}", applets(&root).display());
    let mut wrong = Vec::new();
    let mut ran = 0;
    for case in cases
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
    {
        let script = match case.strip_prefix('@').and_then(|rest| rest.split_once(' ')) {
            Some((tool, _)) if !has_oracle(tool) => continue,
            Some((_, script)) => script,
            None => case,
        };
        ran += 1;
        let expected = run(script, &root.join("work"), NATIVE_PATH);
        let found = run(script, &root.join("work"), &ours);
        if expected != found {
            let show = |outcome: &Outcome| {
                let text = format!(
                    "status {:?}\n{}{}",
                    outcome.status, outcome.stdout, outcome.stderr
                );
                text.replace('\n', "\n    ")
            };
            wrong.push(format!(
                "{script}\n  real: {}\n  ours: {}",
                show(&expected),
                show(&found)
            ));
        }
    }
    fs::remove_dir_all(&root).expect("the temporary directory can be removed");
    assert!(
        wrong.is_empty(),
        "{} of {ran} cases differ:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    assert!(ran > 0, "no case could be compared");
}

macro_rules! suites {
    ($($name:ident)*) => {
        $(
            #[test]
            fn $name() {
                compare(stringify!($name), include_str!(concat!("applets/", stringify!($name), ".txt")));
            }
        )*
    };
}

suites! { chmod dd env files find identity install ls mv owners programs ps space stat tail test xargs }
