//! The last line of a `Bash` or `BashOutput` answer: one line in brackets, parts set apart by semicolons, always in this order.
//!
//! `[exit CODE (SIGNAL) after SECONDS s; stopped at its time limit of SECONDS s; OUTPUT; BACKGROUND]`, or for a command that still
//! runs `[running for SECONDS s as ID; OUTPUT; …]`. A part that does not apply is not there.

use std::time::Duration;

use sandbar::{Ended, ExitStatus};

use crate::limits;
use crate::session::{Excerpt, Finished, Running};
use crate::text::grouped;

/// `exit 0 after 0.012 s`, with the signal and the limit that ended it.
pub(super) fn end(finished: &Finished, limit: Duration) -> String {
    let code = finished.status.code();
    let signal = match finished.status {
        ExitStatus::Exited(_) => String::new(),
        ExitStatus::Signaled(signal) => format!(" (SIG{})", signal.name()),
    };
    let stopped = match finished.ended {
        Ended::TimeLimit => format!("; stopped at its time limit of {}", seconds(limit)),
        Ended::FuelLimit | Ended::Exited => String::new(),
    };
    format!(
        "exit {code}{signal} after {}{stopped}",
        seconds(finished.wall)
    )
}

/// `running for 50.0 s as bash_3`.
pub(super) fn running(running: &Running) -> String {
    format!(
        "running for {} as {}",
        seconds(running.elapsed()),
        running.shell_id()
    )
}

/// What was left out of the output, and where all of it is.
pub(super) fn left_out(excerpt: &Excerpt) -> Option<String> {
    let omitted = excerpt.omitted.as_ref()?;
    let file = &omitted.file;
    let whole = match omitted.held {
        held if held == excerpt.total => format!("all of it is in {file}"),
        0 => format!("no file holds it, because {file} cannot be written"),
        held => {
            let why = if held >= limits::SPOOL_BYTES {
                "the most that is kept"
            } else {
                "then the sandbox's space was used up"
            };
            format!(
                "the first {} bytes of it are in {file}, {why}",
                grouped(held)
            )
        }
    };
    Some(format!(
        "{} of {} bytes ({} lines) of output were left out; {whole}",
        grouped(omitted.bytes),
        grouped(excerpt.total),
        grouped(omitted.lines)
    ))
}

/// Puts the parts behind the output.
pub(super) fn close(mut output: String, parts: impl IntoIterator<Item = String>) -> String {
    if !output.is_empty() && !output.ends_with('\n') {
        output.push('\n');
    }
    let parts: Vec<_> = parts.into_iter().collect();
    format!("{output}[{}]", parts.join("; "))
}

/// Seconds with as many digits as matter.
pub(super) fn seconds(duration: Duration) -> String {
    let seconds = duration.as_secs_f64();
    if duration.subsec_nanos() == 0 || seconds >= 100.0 {
        format!("{seconds:.0} s")
    } else if seconds < 1.0 {
        format!("{seconds:.3} s")
    } else {
        format!("{seconds:.1} s")
    }
}

#[cfg(test)]
mod tests {
    use sandbar::Signal;

    use super::*;
    use crate::session::Omitted;

    fn finished(status: ExitStatus, ended: Ended) -> Finished {
        Finished {
            status,
            wall: Duration::from_millis(1234),
            ended,
        }
    }

    #[test]
    fn the_end_says_code_signal_time_and_limit() {
        let limit = Duration::from_secs(1);
        let text = |status, ended| end(&finished(status, ended), limit);
        assert_eq!(
            text(ExitStatus::Exited(0), Ended::Exited),
            "exit 0 after 1.2 s"
        );
        assert_eq!(
            text(ExitStatus::Signaled(Signal::PIPE), Ended::Exited),
            "exit 141 (SIGPIPE) after 1.2 s"
        );
        assert_eq!(
            text(ExitStatus::Signaled(Signal::KILL), Ended::TimeLimit),
            "exit 137 (SIGKILL) after 1.2 s; stopped at its time limit of 1 s"
        );
    }

    #[test]
    fn what_is_left_out_is_said_exactly() {
        let excerpt = |held| Excerpt {
            text: String::new(),
            total: 24_000_000,
            omitted: Some(Omitted {
                bytes: 23_970_500,
                lines: 399_508,
                file: "/data/x.txt".into(),
                held,
            }),
        };
        let start = "23,970,500 of 24,000,000 bytes (399,508 lines) of output were left out; ";
        let text = |held| left_out(&excerpt(held)).expect("something is left out");
        assert_eq!(
            text(24_000_000),
            format!("{start}all of it is in /data/x.txt")
        );
        assert_eq!(
            text(1000),
            format!(
                "{start}the first 1,000 bytes of it are in /data/x.txt, then the sandbox's space was used up"
            )
        );
        assert_eq!(
            text(0),
            format!("{start}no file holds it, because /data/x.txt cannot be written")
        );
    }

    #[test]
    fn the_line_stands_alone() {
        assert_eq!(close(String::new(), ["a".into()]), "[a]");
        assert_eq!(close("out".into(), ["a".into(), "b".into()]), "out\n[a; b]");
        assert_eq!(close("out\n".into(), ["a".into()]), "out\n[a]");
    }
}
