//! Limits: at each, one above, and the state after.

use std::time::{Duration, Instant};

use sandbar::{Ended, Errno, ExitStatus, Signal};
use sandbar_test_support::programs::{install, program};
use sandbar_test_support::{bash, sandbox, sandbox_with, stdout_of};

#[test]
fn recursion_to_the_end_of_the_stack_is_a_segmentation_fault_of_the_guest() {
    let sandbox = sandbox();
    // Every frame calls the host, so that the deepest call into it stands at the very end of the guest's stack.
    install(
        &sandbox,
        "deep",
        "(module
            (import \"wasi_snapshot_preview1\" \"sched_yield\" (func $yield (result i32)))
            (import \"wasi_snapshot_preview1\" \"random_get\" (func $random (param i32 i32) (result i32)))
            (memory (export \"memory\") 1)
            (func $down (param i32) (result i32)
                (drop (call $random (i32.const 0) (i32.const 64)))
                (drop (call $yield))
                (i32.add (call $down (i32.add (local.get 0) (i32.const 1))) (i32.const 1)))
            (func (export \"_start\") (drop (call $down (i32.const 0)))))",
    );
    for _ in 0..3 {
        let output = sandbox
            .command("./deep")
            .output_blocking()
            .expect("it starts");
        assert_eq!(output.status, ExitStatus::Signaled(Signal::SEGV));
    }
    assert_eq!(stdout_of(&sandbox, "echo alive"), "alive");
}

#[test]
fn traps_end_a_program_by_the_signal_that_a_native_one_would_get() {
    let sandbox = sandbox();
    for (name, body, signal) in [
        ("abort", "unreachable", Signal::ABRT),
        (
            "divide",
            "(drop (i32.div_u (i32.const 1) (i32.const 0)))",
            Signal::FPE,
        ),
        ("address", "(drop (i32.load (i32.const -8)))", Signal::SEGV),
    ] {
        install(&sandbox, name, &program(body));
        let output = sandbox
            .command(format!("./{name}"))
            .output_blocking()
            .expect("it starts");
        assert_eq!(output.status, ExitStatus::Signaled(signal), "{name}");
    }
}

#[test]
fn memory_grows_to_the_limit_of_a_process_and_not_beyond() {
    let pages = 64;
    let sandbox = sandbox_with(|limits| limits.process_memory_bytes = pages * 65536);
    // Exits with 0 when growing by its argument's pages works; the memory has one already.
    let grow = |more: u64| {
        program(&format!(
            "(call $exit (i32.eq (memory.grow (i32.const {more})) (i32.const -1)))"
        ))
    };
    install(&sandbox, "fits", &grow(pages - 1));
    install(&sandbox, "over", &grow(pages));
    assert_eq!(
        sandbox
            .command("./fits")
            .output_blocking()
            .expect("runs")
            .status,
        ExitStatus::Exited(0)
    );
    assert_eq!(
        sandbox
            .command("./over")
            .output_blocking()
            .expect("runs")
            .status,
        ExitStatus::Exited(1)
    );
    let used = sandbox.process_table().memory_account().used();
    assert_eq!(used, 0);
}

#[test]
fn the_memory_of_all_processes_together_is_limited() {
    let sandbox = sandbox_with(|limits| limits.memory_bytes = 8 << 20);
    let output = bash(&sandbox, "echo never");
    assert_eq!(output.status, ExitStatus::Exited(126));
    assert!(
        output.stderr_text().contains("memory"),
        "{}",
        output.stderr_text()
    );
}

#[test]
fn a_program_that_does_not_end_is_stopped_by_fuel_and_one_with_enough_passes() {
    let sandbox = sandbox();
    install(&sandbox, "spin", &program("(loop (br 0))"));
    let output = sandbox
        .command("./spin")
        .fuel(1_000_000)
        .output_blocking()
        .expect("runs");
    assert_eq!(output.report.ended, Ended::FuelLimit);
    install(
        &sandbox,
        "count",
        &program(
            "(local i32) (loop (br_if 0 (i32.lt_u (local.tee 0 (i32.add (local.get 0) (i32.const 1))) (i32.const 1000))))",
        ),
    );
    let used = |fuel| {
        let output = sandbox
            .command("./count")
            .fuel(fuel)
            .output_blocking()
            .expect("runs");
        (output.report.fuel, output.status.success())
    };
    let (needed, passed) = used(1_000_000);
    assert!(passed);
    let needed = needed.expect("fuel is counted");
    assert_eq!(used(1_000_000), (Some(needed), true));
    assert_eq!(used(needed), (Some(needed), true));
    assert!(!used(needed - 1).1);
}

#[test]
fn a_full_disk_quota_is_an_error_of_the_write_and_space_comes_back() {
    let sandbox = sandbox_with(|limits| limits.disk_bytes = 1 << 20);
    let output = bash(&sandbox, "head -c 2000000 /dev/zero > big");
    assert!(!output.status.success());
    let text = output.stderr_text();
    assert!(text.contains("quota exceeded"), "{text}");
    assert_eq!(
        stdout_of(
            &sandbox,
            "rm big; head -c 500000 /dev/zero > small; wc -c < small"
        )
        .trim(),
        "500000"
    );
}

#[test]
fn a_full_memory_file_system_is_an_error_of_the_write_and_space_comes_back() {
    let sandbox = sandbox_with(|limits| limits.memory_fs_bytes = 1 << 20);
    let output = bash(&sandbox, "head -c 2000000 /dev/zero > /tmp/big");
    assert!(!output.status.success());
    assert!(
        output.stderr_text().contains("No space left on device"),
        "{}",
        output.stderr_text()
    );
    assert_eq!(
        stdout_of(
            &sandbox,
            "rm /tmp/big; head -c 500000 /dev/zero > /tmp/small; wc -c < /tmp/small"
        )
        .trim(),
        "500000"
    );
}

#[test]
fn the_limit_of_files_holds() {
    let sandbox = sandbox_with(|limits| limits.memory_fs_files = 50);
    let output = bash(
        &sandbox,
        "cd /tmp; for i in {1..100}; do : > f$i || exit 9; done",
    );
    assert_eq!(output.status, ExitStatus::Exited(9));
    assert_eq!(
        stdout_of(&sandbox, "rm /tmp/f*; : > /tmp/again; echo ok"),
        "ok"
    );
}

#[test]
fn open_files_are_limited_per_process() {
    let sandbox = sandbox_with(|limits| limits.open_files = 20);
    let script = "for i in {3..30}; do eval \"exec $i</etc/passwd\" || exit 7; done";
    assert!(!bash(&sandbox, script).status.success());
    assert_eq!(stdout_of(&sandbox, "exec 19</etc/passwd; echo ok"), "ok");
}

#[test]
fn a_kill_comes_through_beside_spinning_guests() {
    let sandbox = sandbox();
    install(&sandbox, "spin", &program("(loop (br 0))"));
    let spinners: Vec<_> = (0..30)
        .map(|_| sandbox.command("./spin").spawn().expect("it starts"))
        .collect();
    let child = sandbox.command("./spin").spawn().expect("it starts");
    let started = Instant::now();
    child.kill();
    let output = child.wait_blocking();
    assert_eq!(output.status, ExitStatus::Signaled(Signal::KILL));
    // No bar here, the benches measure; this only tells a kill from the end of the test.
    assert!(started.elapsed() < Duration::from_secs(10));
    drop(spinners);
}

#[test]
fn what_a_guest_compiles_is_measured_first() {
    let sandbox = sandbox();
    let locals = "i32 ".repeat(2000);
    install(
        &sandbox,
        "many",
        &format!(
            "(module (memory (export \"memory\") 1) (func (local {locals})) (func (export \"_start\")))"
        ),
    );
    let output = sandbox
        .command("./many")
        .output_blocking()
        .expect("it starts");
    assert_eq!(output.status, ExitStatus::Exited(126));
    assert!(
        output.stderr_text().contains("2000 locals"),
        "{}",
        output.stderr_text()
    );
}

#[test]
fn a_module_that_needs_what_is_not_there_is_126_with_its_name() {
    let sandbox = sandbox();
    for (name, text, says) in [
        (
            "threads",
            "(module (memory 1 1 shared) (func (export \"_start\")))",
            "thread",
        ),
        (
            "memory64",
            "(module (memory i64 1) (func (export \"_start\")))",
            "memory",
        ),
        (
            "old",
            "(module (import \"wasi_unstable\" \"sched_yield\" (func (result i32))) (func (export \"_start\")))",
            "wasi_unstable",
        ),
        ("library", "(module (func (export \"f\")))", "_start"),
    ] {
        install(&sandbox, name, text);
        let output = sandbox
            .command(format!("./{name}"))
            .output_blocking()
            .expect("it starts");
        assert_eq!(output.status, ExitStatus::Exited(126), "{name}");
        assert!(
            output.stderr_text().contains(says),
            "{name}: {}",
            output.stderr_text()
        );
    }
    let broken = b"\0asm\x01\0\0\0garbage".to_vec();
    sandbox.files().write("broken", broken).expect("write");
    sandbox.files().set_mode("broken", 0o755).expect("chmod");
    let output = sandbox
        .command("./broken")
        .output_blocking()
        .expect("it starts");
    assert_eq!(output.status, ExitStatus::Exited(126));
}

#[test]
fn arguments_beyond_the_limit_are_too_big() {
    let sandbox = sandbox();
    let error = sandbox
        .command("true")
        .arg(vec![b'x'; 3 << 20])
        .output_blocking()
        .expect_err("too big");
    assert_eq!(error.errno(), Some(Errno::TooBig));
}
