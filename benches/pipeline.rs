//! A pipeline of four programs over a megabyte.

use std::fmt::Write;
use std::process::Command;
use std::time::Duration;

use criterion::{Criterion, criterion_group, criterion_main};
use sandbar_test_support::figure::{Bar, Twin, native, skip};
use sandbar_test_support::sandbox;

const SAMPLES: usize = 15;
const SCRIPT: &str = "cat f | grep x | sort | uniq -c";
const BYTES: usize = 1 << 20;

/// Lines of a log: a few hundred different ones, about half of which have an `x`.
fn text() -> String {
    let mut text = String::new();
    let mut number: u32 = 1;
    while text.len() < BYTES {
        // A linear congruential generator: the same file on every machine.
        number = number.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let word = if number >> 31 == 0 { "exit" } else { "enter" };
        let user = (number >> 16) % 200;
        writeln!(
            text,
            "2025-01-01 user{user:03} {word} door {}",
            (number >> 8) % 7
        )
        .expect("a string grows");
    }
    text
}

fn pipeline(criterion: &mut Criterion) {
    let name = "`cat f | grep x | sort | uniq -c` on 1 MB";
    for tool in ["bash", "cat", "grep", "sort", "uniq"] {
        if native(tool).is_none() {
            return skip(name, &format!("this machine has no `{tool}`"));
        }
    }
    let text = text();
    let sandbox = sandbox();
    sandbox.files().write("f", &text).expect("a file");
    let dir = tempfile::tempdir().expect("a directory");
    std::fs::write(dir.path().join("f"), &text).expect("a file");
    let ours = || {
        sandbox
            .bash(SCRIPT)
            .output_blocking()
            .expect("bash starts")
            .stdout
            .bytes
    };
    let native = || {
        let mut command = Command::new("bash");
        command
            .args(["-c", SCRIPT])
            .current_dir(&dir)
            .env("LC_ALL", "C.UTF-8");
        command.output().expect("bash starts").stdout
    };
    let expected = native();
    assert!(!expected.is_empty());
    assert_eq!(
        String::from_utf8_lossy(&ours()),
        String::from_utf8_lossy(&expected)
    );
    let mut twin = Twin::new(
        || assert_eq!(ours(), expected),
        || assert_eq!(native(), expected),
    );
    criterion.bench_function(name, |bencher| {
        bencher.iter_custom(|count| twin.sample(count));
    });
    twin.time_ratio(name, SAMPLES, Bar::AtMost(0.8)).record();
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .sample_size(SAMPLES)
        .warm_up_time(Duration::from_millis(500))
        .measurement_time(Duration::from_secs(2));
    targets = pipeline
}
criterion_main!(benches);
