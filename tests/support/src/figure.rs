//! Figures: what a bench measured, beside its native twin and its bar.
//!
//! A figure prints one line, and adds a row to `rows.md` and its samples to `raw.jsonl` in the directory that `SANDBAR_BENCH_DIR`
//! names, from which `benches/report.sh` makes the report.

use std::io::Write;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::json;

/// What a figure is held against.
#[derive(Clone, Copy, Debug)]
pub enum Bar {
    /// It may be this much at most.
    AtMost(f64),
    /// It must be this much at least.
    AtLeast(f64),
    /// It is only reported.
    None,
}

impl Bar {
    fn holds(self, value: f64) -> bool {
        match self {
            Self::AtMost(limit) => value <= limit,
            Self::AtLeast(limit) => value >= limit,
            Self::None => true,
        }
    }

    fn text(self, unit: &str) -> String {
        match self {
            Self::AtMost(limit) => format!("≤ {limit} {unit}"),
            Self::AtLeast(limit) => format!("≥ {limit} {unit}"),
            Self::None => "–".into(),
        }
    }
}

/// Something measured.
#[derive(Clone, Debug)]
#[must_use = "a figure that is not recorded is lost"]
pub struct Figure {
    /// What was measured.
    pub name: String,
    /// The number that the bar is about.
    pub value: f64,
    /// Its unit.
    pub unit: &'static str,
    /// The bar.
    pub bar: Bar,
    /// The numbers behind it.
    pub detail: String,
    /// Samples in nanoseconds: ours, the twin's.
    pub samples: [Vec<f64>; 2],
}

impl Figure {
    /// Prints it and adds it to the report.
    ///
    /// # Panics
    /// When the report's directory cannot be written.
    #[expect(clippy::print_stdout, reason = "benches report on standard output")]
    pub fn record(&self) {
        let verdict = match (self.bar, self.bar.holds(self.value)) {
            (Bar::None, _) => "–",
            (_, true) => "holds",
            (_, false) => "**missed**",
        };
        let bar = self.bar.text(self.unit);
        let (name, unit, detail) = (&self.name, self.unit, &self.detail);
        println!(
            "FIGURE {name}: {} {unit} (bar {bar}: {verdict}); {detail}",
            number(self.value)
        );
        let Some(dir) = std::env::var_os("SANDBAR_BENCH_DIR").map(PathBuf::from) else {
            return;
        };
        // A `|` of a pipeline would end the table's cell.
        let row = format!(
            "| {} | {bar} | {} {unit} | {verdict} | {detail} |\n",
            name.replace('|', "\\|"),
            number(self.value)
        );
        let raw = json!({
            "name": name, "value": self.value, "unit": unit, "bar": bar, "verdict": verdict, "detail": detail,
            "sandbar_ns": self.samples[0], "native_ns": self.samples[1],
        });
        for (file, line) in [("rows.md", row), ("raw.jsonl", format!("{raw}\n"))] {
            std::fs::OpenOptions::new()
                .create(true)
                .append(true)
                .open(dir.join(file))
                .and_then(|mut file| file.write_all(line.as_bytes()))
                .expect("SANDBAR_BENCH_DIR is a directory that can be written");
        }
    }
}

/// Says that something is not measured, and why.
///
/// # Panics
/// When the report's directory cannot be written.
#[expect(clippy::print_stdout, reason = "benches report on standard output")]
pub fn skip(name: &str, reason: &str) {
    println!("SKIPPED {name}: {reason}");
    if let Some(dir) = std::env::var_os("SANDBAR_BENCH_DIR").map(PathBuf::from) {
        let file = std::fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(dir.join("rows.md"));
        let written =
            file.and_then(|mut file| writeln!(file, "| {name} | | | **skipped** | {reason} |"));
        written.expect("SANDBAR_BENCH_DIR is a directory that can be written");
    }
}

/// A native program, when this machine has it.
pub fn native(name: &str) -> Option<PathBuf> {
    std::env::split_paths(&std::env::var_os("PATH")?)
        .map(|dir| dir.join(name))
        .find(|path| path.is_file())
}

/// Ours and its native twin, sampled in turns, so that a busy machine weighs on both.
pub struct Twin<'a> {
    ours: Box<dyn FnMut() + 'a>,
    native: Option<Box<dyn FnMut() + 'a>>,
    samples: Vec<(f64, f64)>,
}

impl std::fmt::Debug for Twin<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Twin")
            .field("samples", &self.samples)
            .finish_non_exhaustive()
    }
}

impl<'a> Twin<'a> {
    /// Two closures that do the same.
    pub fn new(ours: impl FnMut() + 'a, native: impl FnMut() + 'a) -> Self {
        Self {
            ours: Box::new(ours),
            native: Some(Box::new(native)),
            samples: Vec::new(),
        }
    }

    /// One that has no native twin.
    pub fn alone(ours: impl FnMut() + 'a) -> Self {
        Self {
            ours: Box::new(ours),
            native: None,
            samples: Vec::new(),
        }
    }

    /// Runs ours `count` times, then the native one; returns what ours took. For criterion's `iter_custom`.
    pub fn sample(&mut self, count: u64) -> Duration {
        let ours = timed(count, &mut *self.ours);
        let native = self
            .native
            .as_mut()
            .map_or(Duration::ZERO, |native| timed(count, &mut **native));
        self.samples
            .push((nanos_each(ours, count), nanos_each(native, count)));
        ours
    }

    fn last(&self, keep: usize) -> [Vec<f64>; 2] {
        let skipped = self.samples.len().saturating_sub(keep);
        let last = || self.samples.iter().skip(skipped);
        [
            last().map(|(ours, _)| *ours).collect(),
            last().map(|(_, native)| *native).collect(),
        ]
    }

    /// Time of ours as a multiple of the native one's, medians of the last `keep` samples (those before warmed up).
    pub fn time_ratio(&self, name: &str, keep: usize, bar: Bar) -> Figure {
        self.figure(name, keep, bar, |ours, native| ours / native)
    }

    /// Speed of ours as a multiple of the native one's.
    pub fn speed_ratio(&self, name: &str, keep: usize, bar: Bar) -> Figure {
        self.figure(name, keep, bar, |ours, native| native / ours)
    }

    fn figure(&self, name: &str, keep: usize, bar: Bar, ratio: impl Fn(f64, f64) -> f64) -> Figure {
        let samples = self.last(keep);
        let (ours, native) = (median(&samples[0]), median(&samples[1]));
        Figure {
            name: name.into(),
            value: ratio(ours, native),
            unit: "×",
            bar,
            detail: format!("sandbar {}, native {}", time(ours), time(native)),
            samples,
        }
    }

    /// Time of ours in microseconds.
    pub fn micros(&self, name: &str, keep: usize, bar: Bar) -> Figure {
        let samples = self.last(keep);
        let (ours, native) = (median(&samples[0]), median(&samples[1]));
        Figure {
            name: name.into(),
            value: ours / 1000.0,
            unit: "µs",
            bar,
            detail: if self.native.is_some() {
                format!("native {}", time(native))
            } else {
                "median".into()
            },
            samples,
        }
    }
}

fn timed(count: u64, work: &mut dyn FnMut()) -> Duration {
    let started = Instant::now();
    for _ in 0..count {
        work();
    }
    started.elapsed()
}

#[expect(
    clippy::cast_precision_loss,
    reason = "counts and times of benches are far below 2^52"
)]
fn nanos_each(time: Duration, count: u64) -> f64 {
    time.as_nanos() as f64 / count as f64
}

/// The middle of some samples.
pub fn median(samples: &[f64]) -> f64 {
    quantile(samples, 0.5)
}

/// The sample below which `part` of all lie; `NaN` of none.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "an index into a few thousand samples"
)]
pub fn quantile(samples: &[f64], part: f64) -> f64 {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    let last = sorted.len().saturating_sub(1);
    let index = (part * last as f64).round() as usize;
    sorted.get(index).copied().unwrap_or(f64::NAN)
}

/// Nanoseconds in a readable unit.
pub fn time(nanos: f64) -> String {
    let (value, unit) = match nanos {
        n if n < 1e3 => (n, "ns"),
        n if n < 1e6 => (n / 1e3, "µs"),
        n if n < 1e9 => (n / 1e6, "ms"),
        n => (n / 1e9, "s"),
    };
    format!("{} {unit}", number(value))
}

fn number(value: f64) -> String {
    if value < 10.0 {
        format!("{value:.2}")
    } else if value < 100.0 {
        format!("{value:.1}")
    } else {
        format!("{value:.0}")
    }
}

#[cfg(test)]
mod tests {
    use super::{Bar, Twin, median, quantile, time};

    #[test]
    fn quantiles_are_samples() {
        let samples = [5.0, 1.0, 3.0];
        assert!((median(&samples) - 3.0).abs() < f64::EPSILON);
        assert!((quantile(&samples, 0.99) - 5.0).abs() < f64::EPSILON);
        assert!(median(&[]).is_nan());
    }

    #[test]
    fn a_twin_runs_both_as_often_as_asked() {
        let (ours, native) = (std::cell::Cell::new(0), std::cell::Cell::new(0));
        let mut twin = Twin::new(|| ours.set(ours.get() + 1), || native.set(native.get() + 1));
        let _ = twin.sample(3);
        let _ = twin.sample(2);
        let figure = twin.time_ratio("x", 1, Bar::AtMost(1.0));
        assert_eq!(figure.samples[0].len(), 1);
        drop(twin);
        assert_eq!((ours.get(), native.get()), (5, 5));
    }

    #[test]
    fn times_are_readable() {
        assert_eq!(time(1500.0), "1.50 µs");
        assert_eq!(time(12.3e6), "12.3 ms");
    }
}
