//! Runs the cases of `tests/cases/*.sh` and compares output, errors and status with what bash answered.
//!
//! A file holds cases that start with `#### name`. The answers of bash lie beside it in `*.expected`; they are written anew
//! from `/bin/bash` when `SANDBAR_RECORD` is set. Each case runs as `bash -c` in an empty directory of its own.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

struct Case {
    name: String,
    script: String,
}

fn cases(path: &Path) -> Vec<Case> {
    let text = fs::read_to_string(path).expect("case files are readable");
    let mut all: Vec<Case> = Vec::new();
    for line in text.lines() {
        if let Some(name) = line.strip_prefix("#### ") {
            all.push(Case {
                name: name.to_owned(),
                script: String::new(),
            });
        } else if let Some(case) = all.last_mut() {
            case.script.push_str(line);
            case.script.push('\n');
        }
    }
    all
}

fn scratch() -> PathBuf {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    let path = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join(format!("case-{}-{number}", std::process::id()));
    fs::create_dir_all(&path).expect("the target directory is writable");
    path
}

/// What a shell answers: status, standard output and standard error, as the files record it.
fn answer(shell: &Path, case: &Case) -> String {
    let dir = scratch();
    let output = Command::new(shell)
        .args(["-c", case.script.trim_end()])
        .current_dir(&dir)
        .env_clear()
        .env("PATH", "/usr/local/bin:/usr/bin:/bin")
        .env("HOME", "/home/user")
        .env("LC_ALL", "C.UTF-8")
        .env("TZ", "UTC")
        .stdin(Stdio::null())
        .output()
        .expect("the shell starts");
    fs::remove_dir_all(&dir).ok();
    let place = dir.to_string_lossy().into_owned();
    let name = shell.to_string_lossy().into_owned();
    let mut text = format!(
        "#### {}\nstatus {}\n",
        case.name,
        output.status.code().unwrap_or(-1)
    );
    for (kind, bytes) in [("out", &output.stdout), ("err", &output.stderr)] {
        let shown = String::from_utf8_lossy(bytes)
            .replace(&place, "DIR")
            .replace(&name, "bash");
        for line in shown.lines() {
            writeln!(text, "{kind}|{line}").expect("writing to a string succeeds");
        }
    }
    text
}

#[test]
fn cases_answer_as_bash_did() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases");
    let record = std::env::var_os("SANDBAR_RECORD").is_some();
    let mut files: Vec<PathBuf> = fs::read_dir(&folder)
        .expect("the folder of cases is there")
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|ext| ext == "sh"))
        .collect();
    files.sort();
    assert!(!files.is_empty(), "no case files in {}", folder.display());
    let mut differences = String::new();
    for file in files {
        let expected = file.with_extension("expected");
        let shell = if record {
            PathBuf::from("/bin/bash")
        } else {
            PathBuf::from(env!("CARGO_BIN_EXE_bash"))
        };
        let answers: Vec<String> = cases(&file)
            .iter()
            .map(|case| answer(&shell, case))
            .collect();
        if record {
            fs::write(&expected, answers.concat()).expect("the answers are written");
            continue;
        }
        let recorded = fs::read_to_string(&expected).expect("each case file has its answers");
        let wanted: Vec<String> = recorded
            .split("#### ")
            .skip(1)
            .map(|part| format!("#### {part}"))
            .collect();
        assert_eq!(
            wanted.len(),
            answers.len(),
            "{} and its answers differ in length",
            file.display()
        );
        for (want, got) in wanted.iter().zip(&answers) {
            if want != got {
                writeln!(differences, "--- bash\n{want}--- here\n{got}")
                    .expect("writing to a string succeeds");
            }
        }
    }
    assert!(differences.is_empty(), "{differences}");
}
