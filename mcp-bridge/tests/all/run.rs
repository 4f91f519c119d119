//! `sandbar run`.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use super::program::{assert_run, run, run_with, sandbar};

#[test]
fn streams_and_exit_code_are_passed_on() {
    let sorted = run_with(&["run", "--", "sort"], "b\na\n", |command| command);
    assert_eq!(
        (sorted.code, sorted.stdout.as_str()),
        (Some(0), "a\nb\n"),
        "{}",
        sorted.stderr
    );
    let both = run(&["run", "--", "bash", "-c", "echo out; echo err >&2; exit 3"]);
    assert_eq!(
        (both.code, both.stdout.as_str(), both.stderr.as_str()),
        (Some(3), "out\n", "err\n")
    );
}

#[test]
fn options_behind_the_program_are_the_program_s() {
    assert_run(&["run", "echo", "--json", "-v"], 0, "--json -v\n");
}

#[test]
fn a_signal_is_128_and_its_number() {
    assert_run(&["run", "--", "bash", "-c", "kill -TERM $$"], 143, "");
}

#[test]
fn programs_that_cannot_be_run_are_126_and_127_with_a_hint() {
    let missing = run(&["run", "--", "no-such-program"]);
    assert_eq!(missing.code, Some(127));
    assert!(
        missing
            .stderr
            .contains("start `no-such-program`: No such file or directory"),
        "{}",
        missing.stderr
    );
    assert!(missing.stderr.contains("hint: "), "{}", missing.stderr);
    let no_program = run(&["run", "--", "/etc/passwd"]);
    assert_eq!(no_program.code, Some(126), "{}", no_program.stderr);
}

#[test]
fn sandbar_s_own_failures_are_125() {
    let missing = run(&["run", "--workspace", "/no/such/directory", "--", "true"]);
    assert_eq!(missing.code, Some(125));
    assert!(
        missing.stderr.contains("/no/such/directory"),
        "{}",
        missing.stderr
    );
    let image = run_with(&["run", "--", "true"], "", |command| {
        command.env("SANDBAR_IMAGE", "/no/such/image")
    });
    assert_eq!(image.code, Some(125));
    assert!(
        image.stderr.contains("hint: `make image`"),
        "{}",
        image.stderr
    );
}

#[test]
fn the_time_limit_kills_and_ends_with_124_and_the_output_so_far() {
    let spin = "echo begun; while :; do :; done";
    let stopped = run(&["run", "--timeout", "300ms", "--", "bash", "-c", spin]);
    assert_eq!(
        (stopped.code, stopped.stdout.as_str()),
        (Some(124), "begun\n"),
        "{}",
        stopped.stderr
    );
    assert!(
        stopped
            .stderr
            .contains("stopped at the time limit of 300ms"),
        "{}",
        stopped.stderr
    );
    assert!(stopped.took < Duration::from_secs(20), "{:?}", stopped.took);
}

#[test]
fn a_grace_sends_term_first() {
    let script = "trap 'echo asked; exit 7' TERM; while :; do :; done";
    let args = [
        "run",
        "--timeout",
        "300ms",
        "--grace",
        "1m",
        "--",
        "bash",
        "-c",
        script,
    ];
    let stopped = run(&args);
    assert_eq!(
        (stopped.code, stopped.stdout.as_str()),
        (Some(124), "asked\n"),
        "{}",
        stopped.stderr
    );
    let deaf = "trap '' TERM; echo begun; while :; do :; done";
    let killed = run(&[
        "run",
        "--timeout",
        "300ms",
        "--grace",
        "200ms",
        "--",
        "bash",
        "-c",
        deaf,
    ]);
    assert_eq!(
        (killed.code, killed.stdout.as_str()),
        (Some(124), "begun\n"),
        "{}",
        killed.stderr
    );
}

#[test]
fn fuel_is_a_limit_too() {
    let spin = [
        "run",
        "--json",
        "--fuel",
        "5000000",
        "--",
        "bash",
        "-c",
        "while :; do :; done",
    ];
    let stopped = run(&spin);
    let json: serde_json::Value = serde_json::from_str(&stopped.stdout).expect("JSON");
    assert_eq!(stopped.code, Some(152), "{}", stopped.stderr);
    assert_eq!(
        (&json["ended"], &json["signal"]),
        (&"fuel_limit".into(), &"XCPU".into())
    );
    assert!(
        json["report"]["fuel"]
            .as_u64()
            .is_some_and(|fuel| fuel >= 5_000_000),
        "{json}"
    );
}

/// A child that has said that it runs.
fn begun(script: &str) -> Child {
    let mut child = sandbar()
        .args(["run", "--", "bash", "-c", script])
        .spawn()
        .expect("it starts");
    let mut line = String::new();
    let stdout = child.stdout.as_mut().expect("it is piped");
    BufReader::new(stdout)
        .read_line(&mut line)
        .expect("it writes");
    assert_eq!(line, "begun\n");
    child
}

#[test]
fn a_signal_to_sandbar_ends_everything_it_runs() {
    for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 143)] {
        let mut child = begun("trap '' INT TERM; echo begun; sleep 1000 & while :; do :; done");
        let pid = Pid::from_child(&child);
        let sent = Instant::now();
        kill_process(pid, signal).expect("it runs");
        let status = child.wait().expect("it ends");
        assert_eq!(status.code(), Some(code));
        assert!(
            sent.elapsed() < Duration::from_secs(5),
            "{:?}",
            sent.elapsed()
        );
    }
}

#[test]
fn a_reader_that_goes_away_ends_the_writer_quietly() {
    let mut child = sandbar()
        .args(["run", "--", "yes"])
        .spawn()
        .expect("it starts");
    let mut stdout = child.stdout.take().expect("it is piped");
    let mut start = [0; 4];
    stdout.read_exact(&mut start).expect("it writes");
    assert_eq!(&start, b"y\ny\n");
    drop(stdout);
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(141));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}

#[test]
fn json_tells_everything_once() {
    let script = r"printf '\xff\x00'; echo text >&2; exit 4";
    let finished = run(&["run", "--json", "--", "bash", "-c", script]);
    let mut json: serde_json::Value = serde_json::from_str(&finished.stdout).expect("JSON");
    let report = json["report"].take();
    assert_eq!(
        json,
        serde_json::json!({
            "status": 4, "signal": null, "ended": "exited",
            "stdout": {"encoding": "base64", "data": "/wA=", "omitted": null},
            "stderr": {"encoding": "utf-8", "data": "text\n", "omitted": null},
            "report": null,
        })
    );
    assert_eq!(finished.code, Some(4));
    assert_eq!(
        (&report["processes"], &report["written_bytes"]),
        (&1.into(), &7.into())
    );
    assert!(
        report["peak_memory_bytes"]
            .as_u64()
            .is_some_and(|bytes| bytes >= 65536),
        "{report}"
    );
    assert!(
        report["wall_ms"].as_f64().is_some_and(|ms| ms > 0.0),
        "{report}"
    );
}

#[test]
fn json_says_what_is_missing_of_long_output() {
    let finished = run(&["run", "--json", "--", "head", "-c", "3000000", "/dev/zero"]);
    let json: serde_json::Value = serde_json::from_str(&finished.stdout).expect("JSON");
    let kept = json["stdout"]["data"]
        .as_str()
        .expect("zeros are UTF-8")
        .len();
    assert_eq!(json["stdout"]["omitted"]["bytes"], 3_000_000 - kept);
    assert_eq!(json["stdout"]["omitted"]["at"], kept / 2);
}

#[test]
fn a_workspace_is_read_only_unless_it_is_given_for_writing() {
    let dir = tempfile::tempdir().expect("a directory");
    std::fs::write(dir.path().join("in.txt"), "from outside\n").expect("a file");
    let path = dir.path().display();
    let script = "cat in.txt; echo inside > out.txt";
    let read_only = run(&[
        "run",
        "--workspace",
        &format!("{path}"),
        "--",
        "bash",
        "-c",
        script,
    ]);
    assert_eq!(
        (read_only.code, read_only.stdout.as_str()),
        (Some(1), "from outside\n")
    );
    assert!(
        read_only.stderr.contains("Read-only file system"),
        "{}",
        read_only.stderr
    );
    assert!(!dir.path().join("out.txt").exists());
    assert_run(
        &[
            "run",
            "--workspace",
            &format!("{path}:rw"),
            "--",
            "bash",
            "-c",
            script,
        ],
        0,
        "from outside\n",
    );
    assert_eq!(
        std::fs::read_to_string(dir.path().join("out.txt")).expect("a file"),
        "inside\n"
    );
}

#[test]
fn mounts_variables_and_directory_are_as_given() {
    let dir = tempfile::tempdir().expect("a directory");
    std::fs::write(dir.path().join("f"), "mounted\n").expect("a file");
    let mount = format!("{}:/opt/given", dir.path().display());
    let script = "cat f; pwd; echo $A";
    let args = [
        "run",
        "--mount",
        &mount,
        "--env",
        "A=b c",
        "--cwd",
        "/opt/given",
        "--",
        "bash",
        "-c",
        script,
    ];
    assert_run(&args, 0, "mounted\n/opt/given\nb c\n");
}

#[test]
fn nothing_of_the_host_is_there_unless_it_is_given() {
    let finished = run_with(
        &["run", "--", "bash", "-c", "ls -A; env; ls /home /root /mnt"],
        "",
        |command| command.env("SANDBAR_TEST_SECRET", "4711").current_dir("/"),
    );
    assert!(!finished.stdout.contains("4711"), "{}", finished.stdout);
    let given = [
        "HOME", "LANG", "LOGNAME", "PATH", "PWD", "SHELL", "TERM", "TMPDIR", "USER",
    ];
    let own = ["_", "OLDPWD", "SHLVL"];
    let names = finished
        .stdout
        .lines()
        .filter_map(|line| line.split('=').next());
    let mut names: Vec<&str> = names.filter(|name| !own.contains(name)).collect();
    names.sort_unstable();
    assert_eq!(names, given, "{}", finished.stderr);
}

#[test]
fn a_scratch_workspace_is_gone_afterwards() {
    let dir = tempfile::tempdir().expect("a directory");
    let finished = run_with(
        &[
            "run",
            "--",
            "bash",
            "-c",
            "echo x > f; chmod 0 f; mkdir -p a/b",
        ],
        "",
        |command| command.env("TMPDIR", dir.path()),
    );
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    assert_eq!(
        std::fs::read_dir(dir.path()).expect("a directory").count(),
        0
    );
}

#[test]
fn memory_is_limited_per_process() {
    let script = "x=$(head -c 60000000 /dev/zero | tr '\\0' a); echo ${#x}";
    let finished = run(&["run", "--memory", "48M", "--", "bash", "-c", script]);
    assert_ne!(finished.code, Some(0), "{}", finished.stdout);
    assert_eq!(finished.stdout, "");
    assert_run(
        &["run", "--memory", "1G", "--", "bash", "-c", script],
        0,
        "60000000\n",
    );
}

#[test]
fn standard_input_is_not_read_without_need() {
    // The input stays open and silent; a program that does not read it must not be held up.
    let mut child = sandbar()
        .args(["run", "--", "echo", "done"])
        .stdin(Stdio::piped())
        .spawn()
        .expect("it starts");
    let stdin = child.stdin.take().expect("it is piped");
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.stdout, b"done\n");
    drop(stdin);
}
