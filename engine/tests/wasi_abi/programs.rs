//! What only a running program shows.

use sandbar::process::{ExitStatus, Signal};

use crate::harness::{Kernel, within};

fn exited(code: u8) -> ExitStatus {
    ExitStatus::Exited(code)
}

#[tokio::test]
async fn exit_codes_are_eight_bits() {
    let kernel = Kernel::new();
    for (code, status) in [(0, 0), (7, 7), (255, 255), (256, 0), (-1, 255), (126, 126)] {
        let text = format!(
            r#"(module (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
                (func (export "_start") (call $exit (i32.const {code}))))"#
        );
        assert_eq!(kernel.run(&text).await, exited(status));
    }
}

#[tokio::test]
async fn raising_ends_by_the_signal_that_wasi_numbers() {
    let kernel = Kernel::new();
    for (number, signal) in [
        (6, Signal::ABRT),
        (15, Signal::TERM),
        (24, Signal::XFSZ),
        (30, Signal::SYS),
    ] {
        let text = format!(
            r#"(module (import "wasi_snapshot_preview1" "proc_raise" (func $raise (param i32) (result i32)))
                (func (export "_start") (drop (call $raise (i32.const {number})))))"#
        );
        assert_eq!(kernel.run(&text).await, ExitStatus::Signaled(signal));
    }
}

/// Replaces itself by `/bin/next` with its output moved to descriptor 5.
const EXEC: &str = r#"(module
    (import "sandbar_v1" "proc_exec" (func $exec (param i32) (result i32)))
    (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
    (memory (export "memory") 1)
    (data (i32.const 256) "/bin/next")
    (data (i32.const 272) "next")
    (data (i32.const 280) "\10\01\00\00\04\00\00\00") ;; argv: "next"
    (data (i32.const 288) "\05\00\00\00\01\00\00\00") ;; 5 is what 1 is
    (func (export "_start")
        (i32.store (i32.const 0) (i32.const 64))
        (i32.store (i32.const 4) (i32.const 128)) ;; ALLFDS
        (i32.store (i32.const 8) (i32.const 256)) (i32.store (i32.const 12) (i32.const 9))
        (i32.store (i32.const 16) (i32.const 280)) (i32.store (i32.const 20) (i32.const 1))
        (i32.store (i32.const 32) (i32.const 288)) (i32.store (i32.const 36) (i32.const 1))
        (call $exit (call $exec (i32.const 0)))))"#;

/// Exits with its number of arguments, plus 100 when descriptor 5 can be written.
const NEXT: &str = r#"(module
    (import "sandbar_v1" "fd_getfl" (func $getfl (param i32 i32) (result i32)))
    (import "wasi_snapshot_preview1" "args_sizes_get" (func $sizes (param i32 i32) (result i32)))
    (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
    (memory (export "memory") 1)
    (func (export "_start")
        (drop (call $sizes (i32.const 0) (i32.const 4)))
        (if (i32.eqz (call $getfl (i32.const 5) (i32.const 8)))
            (then (i32.store (i32.const 0) (i32.add (i32.load (i32.const 0)) (i32.const 100)))))
        (call $exit (i32.load (i32.const 0)))))"#;

#[tokio::test]
async fn exec_replaces_the_program_in_the_same_process() {
    let kernel = Kernel::new();
    kernel.program("/bin/exec", EXEC);
    kernel.program("/bin/next", NEXT);
    let (_reader, writer) = sandbar::process::pipe();
    let writer = sandbar::process::Description::stream(
        std::sync::Arc::new(writer),
        sandbar::vfs::AccessMode::Write,
    );
    let process = kernel.spawn(&["/bin/exec", "a", "b"], "/data", vec![(1, writer)]);
    assert_eq!(within(process.exited()).await, exited(101));
    assert_eq!(&*process.exe(), b"/bin/next");
    assert_eq!(&*process.args(), [b"next".to_vec()]);
}

#[tokio::test]
async fn a_failed_exec_returns() {
    let kernel = Kernel::new();
    kernel.program("/bin/exec", EXEC);
    let process = kernel.spawn(&["/bin/exec"], "/data", Vec::new());
    // There is no descriptor 1 to pass on.
    let bad = u8::try_from(sandbar::errno::Errno::BadFd.number()).unwrap();
    assert_eq!(within(process.exited()).await, exited(bad));
    let missing = EXEC.replace(
        "(i32.const 36) (i32.const 1)",
        "(i32.const 36) (i32.const 0)",
    );
    let not_found = u8::try_from(sandbar::errno::Errno::NotFound.number()).unwrap();
    assert_eq!(kernel.run(&missing).await, exited(not_found));
}

#[tokio::test]
async fn a_signal_reaches_a_computation() {
    let kernel = Kernel::new();
    // Spins on its own word until SIGUSR1 is shown in it.
    kernel.program(
        "/bin/spin",
        r#"(module
            (import "sandbar_v1" "sig_action" (func $action (param i32 i32 i32) (result i32)))
            (import "sandbar_v1" "sig_word" (func $word (param i32) (result i32)))
            (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
            (memory (export "memory") 1)
            (func (export "_start")
                (drop (call $action (i32.const 10) (i32.const 2) (i32.const 0)))
                (drop (call $word (i32.const 64)))
                (loop $again (br_if $again (i32.eqz (i32.load (i32.const 64)))))
                (call $exit (i32.eq (i32.load (i32.const 64)) (i32.const 512)))))"#,
    );
    let process = kernel.spawn(&["/bin/spin"], "/data", Vec::new());
    while process.signals().handled().0 == 0 {
        tokio::time::sleep(std::time::Duration::from_millis(1)).await;
    }
    process.signal(Signal::USR1);
    assert_eq!(within(process.exited()).await, exited(1));
}

#[tokio::test]
async fn a_killed_program_ends_wherever_it_is() {
    let kernel = Kernel::new();
    kernel.program(
        "/bin/loop",
        r#"(module (func (export "_start") (loop $again (br $again))))"#,
    );
    kernel.program(
        "/bin/pause",
        r#"(module (import "sandbar_v1" "sig_pause" (func $pause (result i32)))
            (memory (export "memory") 1)
            (func (export "_start") (drop (call $pause)) (unreachable)))"#,
    );
    for program in ["/bin/loop", "/bin/pause"] {
        let process = kernel.spawn(&[program], "/data", Vec::new());
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        assert_eq!(process.exit_status(), None);
        process.signal(Signal::TERM);
        assert_eq!(
            within(process.exited()).await,
            ExitStatus::Signaled(Signal::TERM)
        );
    }
}

#[tokio::test]
async fn a_start_section_may_call() {
    let kernel = Kernel::new();
    let status = kernel
        .run(
            r#"(module
                (import "wasi_snapshot_preview1" "random_get" (func $random (param i32 i32) (result i32)))
                (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
                (memory (export "memory") 1)
                (func $first (i32.store (i32.const 64) (call $random (i32.const 0) (i32.const 8))))
                (start $first)
                (func (export "_start") (call $exit (i32.load (i32.const 64)))))"#,
        )
        .await;
    assert_eq!(status, exited(0));
}

#[tokio::test]
async fn a_large_write_is_written_whole() {
    let kernel = Kernel::new();
    // Three MiB and a byte to a file, in one call; exits with the count's mebibytes.
    let status = kernel
        .run(
            r#"(module
                (import "sandbar_v1" "path_open" (func $open (param i32 i32 i32 i32 i32 i32) (result i32)))
                (import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
                (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
                (memory (export "memory") 64)
                (data (i32.const 64) "large")
                (func (export "_start")
                    (drop (call $open (i32.const 0x40000001) (i32.const 64) (i32.const 5) (i32.const 65) (i32.const 438) (i32.const 0)))
                    (i32.store (i32.const 8) (i32.const 128))
                    (i32.store (i32.const 12) (i32.const 0x300001))
                    (drop (call $write (i32.load (i32.const 0)) (i32.const 8) (i32.const 1) (i32.const 16)))
                    (call $exit (i32.shr_u (i32.load (i32.const 16)) (i32.const 20)))))"#,
        )
        .await;
    assert_eq!(status, exited(3));
}
