//! Background jobs.

use crate::ast::Bytes;
use crate::sys::WaitStatus;

/// A background pipeline.
#[derive(Debug, Clone)]
pub(crate) struct Job {
    pub(crate) number: usize,
    /// Its processes with what became of them.
    pub(crate) processes: Vec<(i32, Option<WaitStatus>)>,
    pub(crate) group: Option<i32>,
    pub(crate) text: Bytes,
    /// A change of its state was not shown yet.
    pub(crate) changed: bool,
    /// `disown -h`
    pub(crate) no_hangup: bool,
    pub(crate) stopped: bool,
}

impl Job {
    /// The last process, whose status is the job's.
    pub(crate) fn pid(&self) -> i32 {
        self.processes.last().map_or(0, |(pid, _)| *pid)
    }

    pub(crate) fn done(&self) -> bool {
        self.processes.iter().all(|(_, status)| status.is_some())
    }

    pub(crate) fn status(&self) -> Option<WaitStatus> {
        if !self.done() {
            return None;
        }
        self.processes.last().and_then(|(_, status)| *status)
    }

    /// `Running`, `Done` and so on.
    pub(crate) fn state(&self) -> String {
        match self.status() {
            None if self.stopped => "Stopped".into(),
            None => "Running".into(),
            Some(WaitStatus::Exited(0)) => "Done".into(),
            Some(WaitStatus::Exited(code)) => format!("Exit {code}"),
            Some(WaitStatus::Signaled(signal)) => signal.description().into(),
            Some(_) => "Stopped".into(),
        }
    }
}

/// The job table.
#[derive(Debug, Default, Clone)]
pub(crate) struct Jobs {
    pub(crate) list: Vec<Job>,
    /// Ended processes whose jobs are gone, for `wait PID`.
    pub(crate) ended: Vec<(i32, WaitStatus)>,
}

/// Ended processes that are remembered.
const MAX_ENDED: usize = 1024;

impl Jobs {
    pub(crate) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Adds a job and returns its number.
    pub(crate) fn add(&mut self, pids: &[i32], group: Option<i32>, text: Bytes) -> usize {
        let number = self.list.iter().map(|job| job.number).max().unwrap_or(0) + 1;
        let processes = pids.iter().map(|&pid| (pid, None)).collect();
        self.list.push(Job {
            number,
            processes,
            group,
            text,
            changed: false,
            no_hangup: false,
            stopped: false,
        });
        number
    }

    /// Notes what became of a child; `false` when no job has it.
    pub(crate) fn note(&mut self, pid: i32, status: WaitStatus) -> bool {
        for job in &mut self.list {
            if let Some(slot) = job.processes.iter_mut().find(|(have, _)| *have == pid) {
                match status {
                    WaitStatus::Stopped(_) => job.stopped = true,
                    WaitStatus::Continued => job.stopped = false,
                    _ => slot.1 = Some(status),
                }
                job.changed = true;
                return true;
            }
        }
        false
    }

    /// Removes an ended job; its status stays known for `wait PID`.
    pub(crate) fn forget(&mut self, number: usize) {
        if let Some(at) = self.list.iter().position(|job| job.number == number) {
            let job = self.list.remove(at);
            if let Some(status) = job.status() {
                if self.ended.len() >= MAX_ENDED {
                    self.ended.remove(0);
                }
                self.ended.push((job.pid(), status));
            }
        }
    }

    /// The current job (`%+`) and the one before (`%-`).
    pub(crate) fn current(&self) -> (Option<usize>, Option<usize>) {
        let mut live = self
            .list
            .iter()
            .rev()
            .filter(|job| !job.done())
            .map(|job| job.number);
        let mut any = self.list.iter().rev().map(|job| job.number);
        let first = live.next().or_else(|| any.next());
        let second = live.next().or_else(|| {
            self.list
                .iter()
                .rev()
                .map(|job| job.number)
                .find(|n| Some(*n) != first)
        });
        (first, second)
    }

    /// The job that `%…` names; an error says why there is none.
    pub(crate) fn find(&self, spec: &[u8]) -> Result<usize, &'static str> {
        let name = spec.strip_prefix(b"%").unwrap_or(spec);
        let (current, previous) = self.current();
        match name {
            b"" | b"%" | b"+" => current.ok_or("no such job"),
            b"-" => previous.or(current).ok_or("no such job"),
            _ if name.iter().all(u8::is_ascii_digit) => {
                let number = std::str::from_utf8(name)
                    .ok()
                    .and_then(|text| text.parse::<usize>().ok());
                number
                    .filter(|n| self.list.iter().any(|job| job.number == *n))
                    .ok_or("no such job")
            }
            _ => {
                let matching: Vec<usize> = match name.strip_prefix(b"?") {
                    Some(part) => self
                        .list
                        .iter()
                        .filter(|job| {
                            !part.is_empty() && job.text.windows(part.len()).any(|w| w == part)
                        })
                        .map(|job| job.number)
                        .collect(),
                    None => self
                        .list
                        .iter()
                        .filter(|job| job.text.starts_with(name))
                        .map(|job| job.number)
                        .collect(),
                };
                match matching.as_slice() {
                    [] => Err("no such job"),
                    [one] => Ok(*one),
                    _ => Err("ambiguous job spec"),
                }
            }
        }
    }

    pub(crate) fn get(&self, number: usize) -> Option<&Job> {
        self.list.iter().find(|job| job.number == number)
    }

    pub(crate) fn get_mut(&mut self, number: usize) -> Option<&mut Job> {
        self.list.iter_mut().find(|job| job.number == number)
    }
}
