//! A thousand sandboxes at once: what each of them costs the host while it is idle.

use std::time::{Duration, Instant};

use sandbar::{Child, Engine, Sandbox, Stdio};
use sandbar_test_support::engine;
use sandbar_test_support::figure::{Bar, Figure, skip};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};

const SANDBOXES: usize = 1000;
/// What is freed is given back by threads that have work of their own to finish first.
const SETTLE: Duration = Duration::from_millis(500);

/// What this process takes of the host.
#[derive(Clone, Copy, Debug)]
struct Taken {
    pss_kib: f64,
    mappings: f64,
}

#[expect(
    clippy::cast_precision_loss,
    reason = "numbers of mappings are far below 2^52"
)]
fn taken() -> Option<Taken> {
    let rollup = std::fs::read_to_string("/proc/self/smaps_rollup").ok()?;
    let line = rollup.lines().find_map(|line| line.strip_prefix("Pss:"))?;
    let pss_kib = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    let maps = std::fs::read_to_string("/proc/self/maps").ok()?;
    Some(Taken {
        pss_kib,
        mappings: maps.lines().count() as f64,
    })
}

#[expect(clippy::cast_precision_loss, reason = "a thousand")]
fn record(state: &str, base: Taken, bar_kib: f64) {
    let now = taken().expect("it could be read before");
    let count = SANDBOXES as f64;
    let each = (now.pss_kib - base.pss_kib) / count;
    let mappings = (now.mappings - base.mappings) / count;
    let figure = Figure {
        name: format!("memory of one of {SANDBOXES} idle sandboxes, {state}"),
        value: each,
        unit: "KB",
        bar: Bar::AtMost(bar_kib),
        detail: format!(
            "{mappings:.2} mappings each; process {:.0} MB PSS, empty engine {:.0} MB and {:.0} mappings",
            now.pss_kib / 1024.0,
            base.pss_kib / 1024.0,
            base.mappings
        ),
        samples: [Vec::new(), Vec::new()],
    };
    figure.record();
}

async fn one_command_each(sandboxes: &[Sandbox]) {
    let children: Vec<Child> = sandboxes
        .iter()
        .enumerate()
        .map(|(index, sandbox)| {
            let command = sandbox.bash(format!("echo {index} > mine"));
            command.spawn().expect("bash starts")
        })
        .collect();
    for child in children {
        let output = child.wait().await;
        assert!(output.status.success(), "{}", output.stderr_text());
    }
}

async fn answers(sandboxes: &[Sandbox]) {
    for (index, sandbox) in sandboxes.iter().enumerate() {
        let output = sandbox
            .bash("cat mine")
            .output()
            .await
            .expect("bash starts");
        assert_eq!(output.stdout_text(), format!("{index}\n"));
    }
}

fn live_shell(sandbox: &Sandbox) -> Child {
    let command = sandbox
        .command("bash")
        .stdin(Stdio::Piped)
        .stdout(Stdio::Piped);
    command.spawn().expect("bash starts")
}

/// Has each shell, one after another, say what is in its sandbox's file.
async fn ask_all(shells: &mut [Child]) {
    for (index, shell) in shells.iter_mut().enumerate() {
        let stdin = shell.stdin.as_mut().expect("it is piped");
        stdin.write_all(b"cat mine\n").await.expect("bash reads");
        let mut line = String::new();
        let stdout = shell.stdout.as_mut().expect("it is piped");
        BufReader::new(stdout)
            .read_line(&mut line)
            .await
            .expect("bash answers");
        assert_eq!(line, format!("{index}\n"));
    }
}

/// Waits until every shell has said one thing, which it can only once it reads its input.
async fn wait_until_all_read(shells: &mut [Child]) {
    for shell in shells.iter_mut() {
        let stdin = shell.stdin.as_mut().expect("it is piped");
        stdin.write_all(b"echo ready\n").await.expect("bash reads");
    }
    for shell in shells {
        let mut line = String::new();
        let stdout = shell.stdout.as_mut().expect("it is piped");
        BufReader::new(stdout)
            .read_line(&mut line)
            .await
            .expect("bash answers");
        assert_eq!(line, "ready\n");
    }
}

async fn measure(engine: &Engine, base: Taken) {
    let sandboxes: Vec<Sandbox> = (0..SANDBOXES)
        .map(|_| engine.sandbox().create().expect("a sandbox"))
        .collect();
    let started = Instant::now();
    one_command_each(&sandboxes).await;
    let took = started.elapsed();
    tokio::time::sleep(SETTLE).await;
    record("no process", base, 100.0);
    answers(&sandboxes).await;
    let figure = Figure {
        name: format!("{SANDBOXES} sandboxes run `bash -c 'echo N > mine'` all at once"),
        value: took.as_secs_f64() * 1000.0,
        unit: "ms",
        bar: Bar::None,
        detail: "until the last has ended".into(),
        samples: [Vec::new(), Vec::new()],
    };
    figure.record();

    let mut shells: Vec<Child> = sandboxes.iter().map(live_shell).collect();
    wait_until_all_read(&mut shells).await;
    tokio::time::sleep(SETTLE).await;
    record("a live bash in each", base, 500.0);
    ask_all(&mut shells).await;
    drop(shells);
}

fn main() {
    let threads = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let threads = threads.expect("a runtime");
    threads.block_on(async {
        let engine = engine();
        engine
            .prepare(|_| {})
            .await
            .expect("every program compiles");
        {
            // Mapped code and lazily made state belong to the empty engine.
            let sandbox = engine.sandbox().create().expect("a sandbox");
            one_command_each(std::slice::from_ref(&sandbox)).await;
            answers(std::slice::from_ref(&sandbox)).await;
        }
        match taken() {
            Some(base) => measure(engine, base).await,
            None => skip(
                "memory of idle sandboxes",
                "this system has no /proc/self/smaps_rollup",
            ),
        }
    });
}
