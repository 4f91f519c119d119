//! `sandbar run`: one command in a sandbox of its own.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::time::Duration;

use base64::Engine as _;
use sandbar::{Captured, Child, Ended, ExitStatus, Limits, Output, Report, Stdio};
use serde::Serialize;

use crate::config::{self, SandboxArgs};
use crate::error::Failure;
use crate::printer::Printer;
use crate::signals::Interrupts;

const EXAMPLES: &str = "\
Examples:
  sandbar run -- bash -c 'seq 5 | sort -rn'
  sandbar run --workspace . -- grep -rn TODO .
  sandbar run --workspace .:rw --timeout 30s --memory 256M -- ./build.wasm
  sandbar run --json -- sha256sum /usr/bin/bash
  cat log.txt | sandbar run -- sort | head

Exit codes:
  the command's own; 128+N when signal N ended it
  124  it was stopped at its time limit
  125  sandbar itself failed
  126  the program cannot be run
  127  the program was not found
  130, 143  sandbar got SIGINT or SIGTERM and ended everything";

/// Run a command in a new sandbox and pass its streams and its exit code on.
///
/// Nothing of the host is visible unless it is given. The sandbox ends with the command.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Run {
    #[command(flatten)]
    sandbox: SandboxArgs,

    /// Stop the command, with everything it started, after this time (`500ms`, `2s`, `1m`)
    #[arg(long, value_name = "DURATION", value_parser = config::parse_limit)]
    timeout: Option<Duration>,

    /// At the time limit send TERM and only after this time KILL
    #[arg(long, value_name = "DURATION", value_parser = config::parse_duration, default_value = "0")]
    grace: Duration,

    /// Memory of one process (`64M`, `1G`)
    #[arg(long, value_name = "SIZE", value_parser = config::parse_size)]
    memory: Option<u64>,

    /// Stop the command when its processes have executed about this many WebAssembly instructions
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u64).range(1..))]
    fuel: Option<u64>,

    /// Directory to start in; a relative one starts at /data/workspace
    #[arg(long, value_name = "DIR")]
    cwd: Option<OsString>,

    /// Print one JSON object with output, status and what was used, instead of passing the output on
    #[arg(long)]
    json: bool,

    /// The program and its arguments
    #[arg(
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "COMMAND"
    )]
    command: Vec<OsString>,
}

impl Run {
    #[cfg(test)]
    pub(super) fn program(&self) -> &[OsString] {
        &self.command
    }

    pub(super) fn run(self, printer: Printer) -> Result<u8, Failure> {
        config::raise_open_files();
        let engine = config::engine(1)?;
        let mut limits = Limits::default();
        if let Some(memory) = self.memory {
            limits.process_memory_bytes = memory;
            limits.memory_bytes = limits.memory_bytes.max(memory);
        }
        let builder = engine.sandbox().limits(limits);
        let sandbox = config::furnish(
            builder,
            &self.sandbox.all_mounts(),
            &self.sandbox.env_pairs(),
        )
        .create()?;
        let [program, args @ ..] = self.command.as_slice() else {
            return Err(Failure::Usage("no command was given".into()));
        };
        let output = if self.json {
            Stdio::Captured
        } else {
            Stdio::Inherit
        };
        let mut command = sandbox
            .command(program.as_bytes())
            .args(args.iter().map(|arg| arg.as_bytes()))
            .stdin(Stdio::Inherit)
            .stdout(output.clone())
            .stderr(output)
            .grace(self.grace);
        if let Some(timeout) = self.timeout {
            command = command.timeout(timeout);
        }
        if let Some(fuel) = self.fuel {
            command = command.fuel(fuel);
        }
        if let Some(cwd) = &self.cwd {
            command = command.current_dir(cwd.as_bytes());
        }
        let (output, interrupt) = super::runtime()?.block_on(async {
            let interrupts = Interrupts::new()?;
            Ok::<_, Failure>(follow(command.spawn()?, interrupts).await)
        })?;
        if self.json {
            print_json(printer, &output)?;
        } else {
            self.explain(printer, output.report.ended);
        }
        Ok(interrupt.map_or_else(|| exit_code(&output), |signal| 128 + signal))
    }

    /// Says which limit ended the command.
    fn explain(&self, printer: Printer, ended: Ended) {
        match (ended, self.timeout, self.fuel) {
            (Ended::TimeLimit, Some(limit), _) => {
                printer.note(&format!("stopped at the time limit of {limit:?}"));
            }
            (Ended::FuelLimit, _, Some(limit)) => {
                printer.note(&format!("stopped at the fuel limit of {limit}"));
            }
            _ => {}
        }
    }
}

/// Waits for a command's end; a signal to this program ends it at once. Gives that signal's number.
pub(super) async fn follow(child: Child, mut interrupts: Interrupts) -> (Output, Option<u8>) {
    let interrupt = tokio::select! {
        _ = child.ended() => None,
        signal = interrupts.next() => Some(signal),
    };
    if interrupt.is_some() {
        child.kill();
    }
    (child.wait().await, interrupt)
}

/// The exit code that is passed on.
pub(super) fn exit_code(output: &Output) -> u8 {
    match output.report.ended {
        Ended::TimeLimit => 124,
        Ended::FuelLimit | Ended::Exited => output.status.code(),
    }
}

/// What `--json` prints.
#[derive(Debug, Serialize)]
struct JsonOutput {
    /// The exit code as a shell shows it.
    status: u8,
    /// Name of the signal that ended it, without `SIG`.
    signal: Option<&'static str>,
    /// `exited`, `time_limit` or `fuel_limit`.
    ended: &'static str,
    stdout: JsonStream,
    stderr: JsonStream,
    report: JsonReport,
}

#[derive(Debug, Serialize)]
struct JsonStream {
    /// `utf-8`, or `base64` where the bytes are no UTF-8.
    encoding: &'static str,
    data: String,
    /// Bytes that are missing, and at which offset; `null` when none is.
    omitted: Option<JsonOmitted>,
}

#[derive(Debug, Serialize)]
struct JsonOmitted {
    at: usize,
    bytes: u64,
}

#[derive(Debug, Serialize)]
struct JsonReport {
    wall_ms: f64,
    cpu_ms: f64,
    fuel: Option<u64>,
    peak_memory_bytes: u64,
    read_bytes: u64,
    written_bytes: u64,
    processes: u64,
}

impl From<&Captured> for JsonStream {
    fn from(captured: &Captured) -> Self {
        let omitted = captured.omitted.map(|omitted| JsonOmitted {
            at: omitted.at,
            bytes: omitted.bytes,
        });
        if let Ok(text) = std::str::from_utf8(&captured.bytes) {
            return Self {
                encoding: "utf-8",
                data: text.to_owned(),
                omitted,
            };
        }
        let data = base64::prelude::BASE64_STANDARD.encode(&captured.bytes);
        Self {
            encoding: "base64",
            data,
            omitted,
        }
    }
}

impl From<&Report> for JsonReport {
    fn from(report: &Report) -> Self {
        Self {
            wall_ms: report.wall.as_secs_f64() * 1000.0,
            cpu_ms: report.cpu.as_secs_f64() * 1000.0,
            fuel: report.fuel,
            peak_memory_bytes: report.peak_memory_bytes,
            read_bytes: report.read_bytes,
            written_bytes: report.written_bytes,
            processes: report.processes,
        }
    }
}

impl From<&Output> for JsonOutput {
    fn from(output: &Output) -> Self {
        Self {
            status: exit_code(output),
            signal: match output.status {
                ExitStatus::Exited(_) => None,
                ExitStatus::Signaled(signal) => Some(signal.name()),
            },
            ended: match output.report.ended {
                Ended::Exited => "exited",
                Ended::TimeLimit => "time_limit",
                Ended::FuelLimit => "fuel_limit",
            },
            stdout: (&output.stdout).into(),
            stderr: (&output.stderr).into(),
            report: (&output.report).into(),
        }
    }
}

fn print_json(printer: Printer, output: &Output) -> Result<(), Failure> {
    let text = serde_json::to_string_pretty(&JsonOutput::from(output))
        .map_err(|error| Failure::Usage(error.to_string()))?;
    printer.line(&text);
    Ok(())
}

#[cfg(test)]
mod tests {
    use sandbar::{Omitted, Signal};

    use super::*;

    fn output(status: ExitStatus, ended: Ended) -> Output {
        Output {
            status,
            stdout: Captured {
                bytes: b"hi\n".to_vec(),
                omitted: None,
            },
            stderr: Captured {
                bytes: vec![0xff, b'a'],
                omitted: Some(Omitted { at: 1, bytes: 9 }),
            },
            report: Report {
                wall: Duration::from_millis(1500),
                cpu: Duration::from_micros(250),
                fuel: None,
                peak_memory_bytes: 65536,
                read_bytes: 0,
                written_bytes: 3,
                processes: 1,
                ended,
            },
        }
    }

    #[test]
    fn json_tells_text_from_bytes_and_what_is_missing() {
        let json = serde_json::to_value(JsonOutput::from(&output(
            ExitStatus::Signaled(Signal::KILL),
            Ended::TimeLimit,
        )))
        .expect("it has only plain values");
        assert_eq!(
            json,
            serde_json::json!({
                "status": 124, "signal": "KILL", "ended": "time_limit",
                "stdout": {"encoding": "utf-8", "data": "hi\n", "omitted": null},
                "stderr": {"encoding": "base64", "data": "/2E=", "omitted": {"at": 1, "bytes": 9}},
                "report": {"wall_ms": 1500.0, "cpu_ms": 0.25, "fuel": null, "peak_memory_bytes": 65536,
                           "read_bytes": 0, "written_bytes": 3, "processes": 1},
            })
        );
    }

    #[test]
    fn the_exit_code_is_the_command_s_unless_a_time_limit_ended_it() {
        assert_eq!(exit_code(&output(ExitStatus::Exited(7), Ended::Exited)), 7);
        assert_eq!(
            exit_code(&output(ExitStatus::Signaled(Signal::TERM), Ended::Exited)),
            143
        );
        assert_eq!(
            exit_code(&output(
                ExitStatus::Signaled(Signal::XCPU),
                Ended::FuelLimit
            )),
            152
        );
        assert_eq!(
            exit_code(&output(ExitStatus::Exited(0), Ended::TimeLimit)),
            124
        );
    }
}
