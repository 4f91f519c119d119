//! The command line as a whole process.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use criterion::{Criterion, SamplingMode, criterion_group, criterion_main};
use sandbar_test_support::figure::{Bar, Twin, skip};

const SAMPLES: usize = 10;

/// The binary of this build: `cargo bench` puts benches into `<profile>/deps`.
fn binary() -> Option<PathBuf> {
    let bench = std::env::current_exe().ok()?;
    let path = bench.parent()?.parent()?.join("sandbar");
    path.is_file().then_some(path)
}

fn run_true(binary: &Path, cache: &Path) {
    let mut command = Command::new(binary);
    command
        .args(["run", "--", "true"])
        .env("SANDBAR_CACHE_DIR", cache);
    assert!(command.status().expect("sandbar starts").success());
}

fn cli(criterion: &mut Criterion) {
    let Some(binary) = binary() else {
        return skip(
            "`sandbar run -- true`",
            "the binary is not built for this profile: `cargo build --release --workspace`",
        );
    };
    let dir = tempfile::tempdir().expect("a directory");
    let warm = dir.path().join("warm");
    run_true(&binary, &warm);
    let mut group = criterion.benchmark_group("sandbar run -- true");
    group.sampling_mode(SamplingMode::Flat);

    let mut twin = Twin::alone(|| run_true(&binary, &warm));
    group.bench_function("warm", |bencher| {
        bencher.iter_custom(|count| twin.sample(count));
    });
    let mut figure = twin.micros("`sandbar run -- true`, warm caches", SAMPLES, Bar::None);
    (figure.value, figure.unit, figure.bar) = (figure.value / 1000.0, "ms", Bar::AtMost(15.0));
    figure.record();

    let mut number = 0;
    let mut twin = Twin::alone(|| {
        number += 1;
        run_true(&binary, &dir.path().join(format!("empty-{number}")));
    });
    group.bench_function("empty cache", |bencher| {
        bencher.iter_custom(|count| twin.sample(count));
    });
    let mut figure = twin.micros("`sandbar run -- true`, empty cache", SAMPLES, Bar::None);
    (figure.value, figure.unit, figure.bar) = (figure.value / 1e6, "s", Bar::AtMost(3.0));
    figure.record();
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .sample_size(SAMPLES)
        .warm_up_time(Duration::from_millis(1))
        .measurement_time(Duration::from_millis(500));
    targets = cli
}
criterion_main!(benches);
