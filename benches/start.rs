//! Starting: a sandbox, a process, a shell.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use criterion::{Criterion, criterion_group, criterion_main};
use sandbar::Sandbox;
use sandbar_test_support::figure::{Bar, Figure, Twin, native, skip, time};
use sandbar_test_support::{engine, sandbox};

const SAMPLES: usize = 20;

fn settings() -> Criterion {
    Criterion::default()
        .sample_size(SAMPLES)
        .warm_up_time(Duration::from_millis(500))
        .measurement_time(Duration::from_secs(2))
}

/// Runs `make` on `count` new things, none of which is dropped while time is taken.
fn each<T>(count: u64, mut make: impl FnMut() -> T) -> Duration {
    let mut total = Duration::ZERO;
    for _ in 0..count {
        let started = Instant::now();
        let made = make();
        total += started.elapsed();
        drop(made);
    }
    total
}

#[expect(
    clippy::cast_precision_loss,
    reason = "times of benches are far below 2^52"
)]
fn per_call(total: Duration, count: u64) -> f64 {
    total.as_nanos() as f64 / count as f64
}

/// The twin of a private directory with two in it, which is what a sandbox cannot do without.
fn directories(root: &std::path::Path, number: &mut u64) -> std::path::PathBuf {
    *number += 1;
    let dir = root.join(number.to_string());
    for part in ["", "workspace", "home"] {
        std::fs::create_dir(dir.join(part)).expect("a directory");
    }
    dir
}

fn create(criterion: &mut Criterion) {
    let root = tempfile::tempdir().expect("a directory");
    let mut number = 0;
    for (name, bar, file) in [
        ("create a sandbox with a scratch workspace", 150.0, false),
        ("the same with its first file written", 250.0, true),
    ] {
        let mut samples = [Vec::new(), Vec::new()];
        criterion.bench_function(name, |bencher| {
            bencher.iter_custom(|count| {
                let ours = each(count, || {
                    let sandbox = engine().sandbox().create().expect("a sandbox");
                    if file {
                        sandbox
                            .files()
                            .write("first.txt", "first\n")
                            .expect("a file");
                    }
                    sandbox
                });
                let native = each(count, || {
                    let dir = directories(root.path(), &mut number);
                    if file {
                        std::fs::write(dir.join("workspace/first.txt"), "first\n").expect("a file");
                    }
                });
                samples[0].push(per_call(ours, count));
                samples[1].push(per_call(native, count));
                ours
            });
        });
        let last = |samples: &[f64]| samples[samples.len().saturating_sub(SAMPLES)..].to_vec();
        let samples = [last(&samples[0]), last(&samples[1])];
        let median = sandbar_test_support::figure::median;
        let figure = Figure {
            name: name.into(),
            value: median(&samples[0]) / 1000.0,
            unit: "µs",
            bar: Bar::AtMost(bar),
            detail: format!("its three directories alone {}", time(median(&samples[1]))),
            samples,
        };
        figure.record();
    }
}

fn run_true(sandbox: &Sandbox) {
    let output = sandbox
        .command("true")
        .output_blocking()
        .expect("true starts");
    assert!(output.status.success());
}

fn spawn(criterion: &mut Criterion) {
    let sandbox = sandbox();
    run_true(&sandbox);
    let name = "spawn and wait of `true`";
    let Some(program) = native("true") else {
        return skip(name, "this machine has no `true`");
    };
    // The standard library starts it by `posix_spawn`.
    let native = || {
        let status = Command::new(&program).status().expect("true starts");
        assert!(status.success());
    };
    let mut twin = Twin::new(|| run_true(&sandbox), native);
    criterion.bench_function(name, |bencher| {
        bencher.iter_custom(|count| twin.sample(count));
    });
    twin.time_ratio(name, SAMPLES, Bar::AtMost(0.15)).record();
}

fn two_threads(criterion: &mut Criterion) {
    const EACH: u32 = 200;
    let sandboxes = [sandbox(), sandbox()];
    sandboxes.iter().for_each(run_true);
    let name = "spawn and wait of `true` by two threads at once";
    let many = |sandbox: &Sandbox| (0..EACH).for_each(|_| run_true(sandbox));
    // Both sides start 2 × EACH processes: the ratio of times is that of rates.
    let both = || {
        std::thread::scope(|scope| {
            for sandbox in &sandboxes {
                scope.spawn(|| many(sandbox));
            }
        });
    };
    let one = || sandboxes.iter().for_each(many);
    let mut twin = Twin::new(both, one);
    criterion.bench_function(name, |bencher| {
        bencher.iter_custom(|count| twin.sample(count));
    });
    let mut figure = twin.speed_ratio(name, SAMPLES, Bar::AtLeast(1.6));
    figure.detail = format!(
        "{} processes: the rate of two threads to that of one",
        2 * EACH
    );
    figure.record();
}

fn shell(criterion: &mut Criterion) {
    let sandbox = sandbox();
    let name = "`bash -c 'echo hi'`";
    let Some(program) = native("bash") else {
        return skip(name, "this machine has no bash");
    };
    let ours = || {
        let output = sandbox
            .bash("echo hi")
            .output_blocking()
            .expect("bash starts");
        assert_eq!(output.stdout.bytes, b"hi\n");
    };
    let native = || {
        let mut command = Command::new(&program);
        command.args(["-c", "echo hi"]).stderr(Stdio::null());
        assert_eq!(command.output().expect("bash starts").stdout, b"hi\n");
    };
    let mut twin = Twin::new(ours, native);
    criterion.bench_function(name, |bencher| {
        bencher.iter_custom(|count| twin.sample(count));
    });
    twin.time_ratio(name, SAMPLES, Bar::AtMost(0.35)).record();
}

criterion_group! {
    name = start;
    config = settings();
    targets = create, spawn, two_threads, shell
}
criterion_main!(start);
