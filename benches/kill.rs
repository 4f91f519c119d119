//! How long a kill takes, until the last process of what is killed has ended.

use std::time::{Duration, Instant};

use sandbar::{Child, Sandbox, Stdio};
use sandbar_test_support::figure::{Bar, Figure, quantile, time};
use sandbar_test_support::sandbox;
use tokio::io::{AsyncBufReadExt, BufReader};

const LOOP: &str = "echo up; while :; do :; done";
const GROUP: &str = "for i in {1..19}; do while :; do :; done & done; echo up; while :; do :; done";
const SPINNERS: &str =
    "for i in {1..99}; do while :; do :; done & done; echo up; while :; do :; done";

struct Case {
    name: &'static str,
    script: &'static str,
    processes: usize,
    samples: u64,
}

async fn started(sandbox: &Sandbox, script: &str, processes: usize) -> Child {
    let mut child = sandbox
        .bash(script)
        .stdout(Stdio::Piped)
        .spawn()
        .expect("bash starts");
    let mut line = String::new();
    let stdout = child.stdout.as_mut().expect("it is piped");
    BufReader::new(stdout)
        .read_line(&mut line)
        .await
        .expect("bash answers");
    assert_eq!(line, "up\n");
    assert_eq!(sandbox.processes(), processes);
    child
}

#[expect(
    clippy::cast_precision_loss,
    reason = "times of benches are far below 2^52"
)]
async fn latencies(case: &Case) -> Vec<f64> {
    let sandbox = sandbox();
    let mut samples = Vec::new();
    for number in 0..case.samples {
        let child = started(&sandbox, case.script, case.processes).await;
        // Not in step with the engine's ticks.
        tokio::time::sleep(Duration::from_micros(500 + number * 37 % 1000)).await;
        let killed = Instant::now();
        child.kill();
        sandbox.process_table().idle().await;
        samples.push(killed.elapsed().as_nanos() as f64);
    }
    samples
}

async fn measure(case: &Case, beside: &str) {
    let samples = latencies(case).await;
    let figure = Figure {
        name: format!("kill of {}, {beside}, p99", case.name),
        value: quantile(&samples, 0.99) / 1e6,
        unit: "ms",
        bar: Bar::AtMost(10.0),
        detail: format!(
            "p50 {}, worst of {} {}",
            time(quantile(&samples, 0.5)),
            samples.len(),
            time(quantile(&samples, 1.0))
        ),
        samples: [samples, Vec::new()],
    };
    figure.record();
}

fn main() {
    let threads = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    threads.expect("a runtime").block_on(async {
        let mut cases = [
            Case {
                name: "`while :; do :; done`",
                script: LOOP,
                processes: 1,
                samples: 300,
            },
            Case {
                name: "a group of 20 processes",
                script: GROUP,
                processes: 20,
                samples: 200,
            },
        ];
        for case in &cases {
            measure(case, "idle").await;
        }
        let crowd = sandbox();
        let spinners = started(&crowd, SPINNERS, 100).await;
        for case in &mut cases {
            // Starting takes its turn among a hundred others.
            case.samples = 100;
            measure(case, "beside 100 spinning guests").await;
        }
        assert_eq!(crowd.processes(), 100);
        drop(spinners);
    });
}
