//! The library's face: streams, host commands, reports, engines side by side.

use sandbar::{Engine, Errno, ExitStatus, Signal, Stdio};
use sandbar_test_support::programs::{install, program};
use sandbar_test_support::{engine, sandbox, stdout_of};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

#[test]
fn handles_can_be_shared_between_threads() {
    fn shared<T: Send + Sync + 'static>() {}
    shared::<Engine>();
    shared::<sandbar::Sandbox>();
    shared::<sandbar::Command>();
    shared::<sandbar::Child>();
    shared::<sandbar::Files>();
}

#[tokio::test]
async fn a_child_is_talked_to_while_it_runs() {
    let sandbox = sandbox();
    let mut child = sandbox
        .command("cat")
        .stdin(Stdio::Piped)
        .stdout(Stdio::Piped)
        .spawn()
        .expect("cat starts");
    let mut stdin = child.stdin.take().expect("piped");
    let mut stdout = child.stdout.take().expect("piped");
    for line in ["one\n", "two\n"] {
        stdin.write_all(line.as_bytes()).await.expect("write");
        let mut buffer = [0; 4];
        stdout.read_exact(&mut buffer).await.expect("read");
        assert_eq!(buffer, line.as_bytes());
    }
    drop(stdin);
    assert_eq!(child.wait().await.status, ExitStatus::Exited(0));
}

#[tokio::test]
async fn a_megabyte_goes_in_and_out_at_once() {
    let sandbox = sandbox();
    let mut child = sandbox
        .command("cat")
        .stdin(Stdio::Piped)
        .stdout(Stdio::Piped)
        .spawn()
        .expect("starts");
    let mut stdin = child.stdin.take().expect("piped");
    let mut stdout = child.stdout.take().expect("piped");
    let sent: Vec<u8> = (0..1_000_000_u32).map(|n| (n % 251) as u8).collect();
    let copy = sent.clone();
    let writer = tokio::spawn(async move { stdin.write_all(&copy).await });
    let mut received = Vec::new();
    stdout.read_to_end(&mut received).await.expect("read");
    writer.await.expect("joined").expect("written");
    assert_eq!(received, sent);
    drop(child);
}

#[test]
fn a_host_command_pipes_redirects_and_is_killed_like_any_program() {
    let sandbox = engine()
        .sandbox()
        .command("upper", |args, io, files| async move {
            let Ok(text) = io.read_to_end(1 << 20).await else {
                return 1;
            };
            let upper = String::from_utf8_lossy(&text).to_uppercase();
            let note = format!("{} bytes for {}\n", text.len(), args.join(" "));
            if files.write("note", note).is_err() || io.write(upper).await.is_err() {
                return 2;
            }
            u8::try_from(args.len()).unwrap_or(9)
        })
        .command("forever", |_, _, _| std::future::pending())
        .create()
        .expect("a sandbox");
    let script = "echo abc | upper x y > out; echo ${PIPESTATUS[1]}; cat out note; type -t upper; ls -l /usr/local/bin/upper | cut -c1-10";
    assert_eq!(
        stdout_of(&sandbox, script),
        "3\nABC\n4 bytes for upper x y\nfile\n-rwxr-xr-x"
    );
    assert_eq!(
        stdout_of(&sandbox, "forever & sleep 0.05; kill %1; wait $!; echo $?"),
        "143"
    );
}

#[test]
fn a_report_says_what_was_used() {
    let sandbox = sandbox();
    let output = sandbox
        .bash("head -c 1000 /dev/zero | wc -c")
        .output_blocking()
        .expect("runs");
    let report = output.report;
    assert!(report.processes >= 2 && report.processes <= 4, "{report:?}");
    assert!(
        report.read_bytes >= 2000 && report.written_bytes >= 1000,
        "{report:?}"
    );
    assert!(report.peak_memory_bytes > 1 << 20, "{report:?}");
    assert!(
        report.cpu <= report.wall * 4 && !report.cpu.is_zero(),
        "{report:?}"
    );
    assert_eq!(report.fuel, None);
}

#[test]
fn output_beyond_the_limit_keeps_its_beginning_and_its_end() {
    let sandbox = sandbox();
    let command = sandbox
        .command("seq")
        .args(["1", "100000"])
        .output_bytes(1000);
    let captured = command.output_blocking().expect("runs").stdout;
    assert_eq!(captured.bytes.len(), 1000);
    let omitted = captured.omitted.expect("cut");
    assert_eq!((omitted.at, omitted.bytes), (500, 588_895 - 1000));
    assert!(captured.bytes.starts_with(b"1\n2\n") && captured.bytes.ends_with(b"100000\n"));
}

#[test]
fn a_program_of_the_users_own_runs_from_the_workspace() {
    let sandbox = sandbox();
    install(
        &sandbox,
        "hello",
        &format!(
            "(module {} (data (i32.const 100) \"hi there\\n\")
               (func (export \"_start\")
                 (i32.store (i32.const 0) (i32.const 100)) (i32.store (i32.const 4) (i32.const 9))
                 (drop (call $fd_write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 8)))
                 (call $exit (i32.const 7))))",
            sandbar_test_support::programs::PRELUDE
        ),
    );
    assert_eq!(
        stdout_of(&sandbox, "./hello | tr a-z A-Z; echo ${PIPESTATUS[0]}"),
        "HI THERE\n7"
    );
}

#[test]
fn files_of_two_sandboxes_do_not_meet() {
    let (one, two) = (sandbox(), sandbox());
    one.files().write("secret", "x").expect("write");
    one.files().write("/tmp/secret", "x").expect("write");
    one.files().write("/usr/bin/secret", "x").expect("write");
    for path in [
        "secret",
        "/tmp/secret",
        "/usr/bin/secret",
        "/data/workspace/secret",
    ] {
        let error = two.files().read(path).expect_err("not there");
        assert_eq!(error.errno(), Some(Errno::NotFound), "{path}");
    }
}

#[test]
fn two_engines_live_side_by_side_and_end_one_by_one() {
    let second = Engine::builder().build().expect("a second engine");
    let sandbox = second.sandbox().create().expect("a sandbox");
    assert_eq!(stdout_of(&sandbox, "echo two"), "two");
    drop(second);
    assert_eq!(stdout_of(&sandbox, "echo still"), "still");
    drop(sandbox);
    assert_eq!(stdout_of(&sandbox_of_first(), "echo one"), "one");
}

fn sandbox_of_first() -> sandbar::Sandbox {
    sandbox()
}

#[tokio::test]
async fn an_engine_is_dropped_inside_an_async_context_without_harm() {
    let second = Engine::builder().build().expect("an engine");
    let sandbox = second.sandbox().create().expect("a sandbox");
    let child = sandbox.command("sleep").arg("100").spawn().expect("starts");
    drop((second, sandbox));
    drop(child);
}

#[test]
fn a_scratch_directory_is_gone_with_its_sandbox() {
    let scratch = tempfile::tempdir().expect("a directory");
    let engine = Engine::builder()
        .scratch_dir(scratch.path())
        .build()
        .expect("an engine");
    let sandbox = engine.sandbox().create().expect("a sandbox");
    let output = sandbox
        .bash("mkdir -p a/b; echo x > a/b/f; chmod 000 a/b a")
        .output_blocking()
        .expect("bash starts");
    assert!(output.status.success(), "{}", output.stderr_text());
    let count = || walk(scratch.path());
    assert!(count() > 3);
    drop(sandbox);
    assert_eq!(count(), 1, "only the engine's own directory is left");
    drop(engine);
    assert_eq!(count(), 0);
}

fn walk(path: &std::path::Path) -> usize {
    let entries = std::fs::read_dir(path).expect("listable");
    entries
        .map(|entry| entry.expect("an entry").path())
        .map(|path| 1 + if path.is_dir() { walk(&path) } else { 0 })
        .sum()
}

#[test]
fn a_command_can_be_ended_by_a_signal_of_the_embedder() {
    let sandbox = sandbox();
    install(&sandbox, "spin", &program("(loop (br 0))"));
    let child = sandbox.command("./spin").spawn().expect("starts");
    child.signal(Signal::TERM);
    assert_eq!(
        child.wait_blocking().status,
        ExitStatus::Signaled(Signal::TERM)
    );
}

#[test]
fn a_sandbox_that_could_not_be_made_takes_no_place() {
    let mut ceilings = sandbar::Ceilings::default();
    ceilings.sandboxes = 1;
    let engine = Engine::builder()
        .ceilings(ceilings)
        .build()
        .expect("an engine");
    let missing = "/no/such/directory";
    for _ in 0..3 {
        assert!(
            engine
                .sandbox()
                .workspace(missing, sandbar::MountMode::ReadOnly)
                .create()
                .is_err()
        );
    }
    let only = engine.sandbox().create().expect("the place is free");
    let second = engine.sandbox().create().expect_err("the ceiling is one");
    assert_eq!(
        second.to_string(),
        "sandboxes: 1 are in use, which is the engine's ceiling"
    );
    drop(only);
    assert_eq!(engine.sandboxes(), 0);
    engine.sandbox().create().expect("free again");
}
