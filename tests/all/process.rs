//! Processes: starting, ending, signals, pipes.

use std::time::{Duration, Instant};

use sandbar::{Ended, ExitStatus, Signal};
use sandbar_test_support::{bash, sandbox, sandbox_with, stdout_of};

#[test]
fn an_endless_loop_is_stopped_at_its_time_limit_with_its_output_kept() {
    let sandbox = sandbox();
    let command = sandbox
        .bash("echo before; while :; do :; done")
        .timeout(Duration::from_millis(300));
    let output = command.output_blocking().expect("bash starts");
    assert_eq!(output.status, ExitStatus::Signaled(Signal::KILL));
    assert_eq!(output.report.ended, Ended::TimeLimit);
    assert_eq!(output.stdout_text(), "before\n");
    assert_eq!(sandbox.processes(), 0);
}

#[test]
fn yes_ends_by_sigpipe_when_head_has_its_line() {
    let sandbox = sandbox();
    assert_eq!(
        stdout_of(&sandbox, "yes | head -1; echo ${PIPESTATUS[0]}"),
        "y\n141"
    );
}

#[test]
fn a_pipeline_of_twelve_processes_carries_every_byte() {
    let sandbox = sandbox();
    let script = format!("seq 1 100000 {} | md5sum", "| cat ".repeat(10));
    let expected = stdout_of(&sandbox, "seq 1 100000 | md5sum");
    assert_eq!(stdout_of(&sandbox, &script), expected);
}

#[test]
fn a_hundred_megabytes_pass_three_pipes() {
    let sandbox = sandbox();
    let output = stdout_of(&sandbox, "head -c 100000000 /dev/zero | cat | cat | wc -c");
    assert_eq!(output.trim(), "100000000");
}

#[test]
fn a_script_runs_by_its_first_line() {
    let sandbox = sandbox();
    let files = sandbox.files();
    files
        .write("run.sh", "#!/bin/bash\necho \"$0 $1\"\n")
        .expect("write");
    assert_eq!(bash(&sandbox, "./run.sh x").status, ExitStatus::Exited(126));
    assert_eq!(
        stdout_of(&sandbox, "chmod +x run.sh && ./run.sh x"),
        "./run.sh x"
    );
}

#[test]
fn an_unlinked_open_file_is_still_read() {
    let sandbox = sandbox();
    for dir in ["/tmp", "/data/workspace"] {
        let script = format!("cd {dir}; echo text > f; exec 3<f; rm f; cat <&3; ls f");
        let output = bash(&sandbox, &script);
        assert_eq!(output.stdout_text(), "text\n");
        assert!(output.stderr_text().contains("No such file or directory"));
    }
}

#[test]
fn a_background_job_runs_beside_and_is_waited_for() {
    let sandbox = sandbox();
    let script = "sleep 0.2 && echo late & echo early; wait; echo end";
    assert_eq!(stdout_of(&sandbox, script), "early\nlate\nend");
}

#[test]
fn a_fork_bomb_ends_at_the_process_limit_and_the_sandbox_goes_on() {
    let sandbox = sandbox_with(|limits| limits.processes = 40);
    let command = sandbox
        .bash("f() { f | f & }; f; wait")
        .timeout(Duration::from_secs(3));
    let output = command.output_blocking().expect("bash starts");
    drop(output);
    sandbox.kill_all();
    let deadline = Instant::now() + Duration::from_secs(5);
    while sandbox.processes() > 0 && Instant::now() < deadline {
        sandbox.kill_all();
        std::thread::yield_now();
    }
    assert_eq!(stdout_of(&sandbox, "echo alive"), "alive");
}

#[test]
fn killing_a_child_ends_everything_that_it_started() {
    let sandbox = sandbox();
    let child = sandbox
        .bash("sleep 100 & (sleep 100; true) & setsid sleep 100 & wait")
        .spawn()
        .expect("bash starts");
    let deadline = Instant::now() + Duration::from_secs(10);
    while sandbox.processes() < 4 && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(sandbox.processes() >= 4);
    drop(child);
    let deadline = Instant::now() + Duration::from_secs(2);
    while sandbox.processes() > 0 && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(sandbox.processes(), 0);
}

#[test]
fn what_is_not_there_is_127_and_what_cannot_run_is_126() {
    let sandbox = sandbox();
    assert_eq!(
        bash(&sandbox, "no-such-command").status,
        ExitStatus::Exited(127)
    );
    assert_eq!(
        bash(&sandbox, "/etc/passwd").status,
        ExitStatus::Exited(126)
    );
    let error = sandbox
        .command("no-such-command")
        .output_blocking()
        .expect_err("not found");
    assert_eq!(error.errno(), Some(sandbar::Errno::NotFound));
}
