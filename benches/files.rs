//! Work on one large file in the workspace.

use std::fmt::Write;
use std::process::Command;
use std::time::Duration;

use criterion::{Criterion, SamplingMode, criterion_group, criterion_main};
use sandbar_test_support::figure::{Bar, Twin, native, skip};
use sandbar_test_support::sandbox_with;

const SAMPLES: usize = 10;
const LINES: usize = 2_000_000;

/// Two million lines, 60 MB, in no order.
fn text() -> String {
    let mut text = String::with_capacity(LINES * 31);
    let mut number: u64 = 1;
    for line in 0..LINES {
        // A linear congruential generator (Knuth's MMIX): the same file on every machine.
        number = number
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        writeln!(text, "{number:016x} line {line:07}").expect("a string grows");
    }
    text
}

struct Case {
    name: &'static str,
    command: &'static [&'static str],
    native: &'static [&'static str],
    bar: Bar,
}

const CASES: &[Case] = &[
    Case {
        name: "`sha256sum` of 60 MB",
        command: &["sha256sum", "f"],
        native: &["sha256sum", "f"],
        bar: Bar::AtLeast(0.8),
    },
    Case {
        name: "`cp` of 60 MB",
        command: &["cp", "f", "g"],
        native: &["cp", "f", "g"],
        bar: Bar::AtLeast(0.8),
    },
    Case {
        name: "`wc -l` of 60 MB",
        command: &["wc", "-l", "f"],
        native: &["wc", "-l", "f"],
        bar: Bar::AtLeast(0.3),
    },
    Case {
        name: "`sort` of 60 MB, native on one thread",
        command: &["sort", "-o", "g", "f"],
        native: &["sort", "--parallel=1", "-o", "g", "f"],
        bar: Bar::AtLeast(0.8),
    },
    Case {
        name: "`sort` of 60 MB, native on all processors",
        command: &["sort", "-o", "g", "f"],
        native: &["sort", "-o", "g", "f"],
        bar: Bar::None,
    },
];

fn files(criterion: &mut Criterion) {
    let text = text();
    let sandbox = sandbox_with(|_| {});
    sandbox.files().write("f", &text).expect("a file");
    let dir = tempfile::tempdir().expect("a directory");
    std::fs::write(dir.path().join("f"), &text).expect("a file");
    drop(text);
    let mut group = criterion.benchmark_group("60 MB");
    group.sampling_mode(SamplingMode::Flat);
    for case in CASES {
        let Some(program) = native(case.native[0]) else {
            skip(
                case.name,
                &format!("this machine has no `{}`", case.native[0]),
            );
            continue;
        };
        let ours = || {
            let command = sandbox.command(case.command[0]).args(&case.command[1..]);
            let output = command.output_blocking().expect("the program starts");
            assert!(
                output.status.success(),
                "{}: {}",
                case.name,
                output.stderr_text()
            );
            output.stdout.bytes
        };
        let native = || {
            let mut command = Command::new(&program);
            command
                .args(&case.native[1..])
                .current_dir(&dir)
                .env("LC_ALL", "C.UTF-8");
            let output = command.output().expect("the program starts");
            assert!(output.status.success(), "{}", case.name);
            output.stdout
        };
        assert_eq!(
            String::from_utf8_lossy(&ours()),
            String::from_utf8_lossy(&native())
        );
        if case.command.contains(&"g") {
            let result = sandbox.files().read_at_most("g", 1 << 30).expect("a file");
            assert!(
                result == std::fs::read(dir.path().join("g")).expect("a file"),
                "{}",
                case.name
            );
        }
        let mut twin = Twin::new(|| drop(ours()), || drop(native()));
        group.bench_function(case.name, |bencher| {
            bencher.iter_custom(|count| twin.sample(count));
        });
        twin.speed_ratio(case.name, SAMPLES, case.bar).record();
    }
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .sample_size(SAMPLES)
        .warm_up_time(Duration::from_millis(1))
        .measurement_time(Duration::from_millis(500));
    targets = files
}
criterion_main!(benches);
