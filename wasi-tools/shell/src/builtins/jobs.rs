//! `jobs`, `wait`, `kill`, `fg`, `bg`, `disown`, `suspend`.

#![expect(clippy::unnecessary_wraps, reason = "all builtins have one type")]

use super::trap::signal_table;
use crate::ast::Bytes;
use crate::options::opt;
use crate::shell::{Exec, Flow, Shell};
use crate::sys::{Errno, Signal, Wait, WaitStatus};

impl Shell {
    /// Notes the children that have ended, without waiting.
    pub(crate) fn reap(&mut self) {
        let options = Wait {
            no_hang: true,
            stopped: self.on(opt::MONITOR),
            continued: self.on(opt::MONITOR),
        };
        let pids: Vec<i32> = self
            .jobs
            .list
            .iter()
            .flat_map(|job| {
                job.processes
                    .iter()
                    .filter(|(_, status)| status.is_none())
                    .map(|(pid, _)| *pid)
            })
            .collect();
        for pid in pids {
            match sandbar_guest::process::wait(pid, options) {
                Ok(Some(waited)) => {
                    self.jobs.note(pid, waited.status);
                }
                Err(Errno::ECHILD)
                    // Another shell's child: it counts as running as long as it exists.
                    if sandbar_guest::process::kill(pid, None).is_err() => {
                        self.jobs.note(pid, WaitStatus::Exited(127));
                    }
                _ => {}
            }
        }
    }

    fn job_line(&self, number: usize, long: bool) -> Bytes {
        let Some(job) = self.jobs.get(number) else {
            return Bytes::new();
        };
        let (current, previous) = self.jobs.current();
        let mark = if current == Some(number) {
            '+'
        } else if previous == Some(number) {
            '-'
        } else {
            ' '
        };
        let running = if job.done() || job.stopped { "" } else { " &" };
        let pid = if long {
            format!("{} ", job.pid())
        } else {
            String::new()
        };
        let head = format!("[{number}]{mark}  {pid}{:<24}", job.state());
        [head.as_bytes(), &job.text, running.as_bytes(), b"\n"].concat()
    }
}

pub(super) fn jobs(shell: &mut Shell, args: &[Bytes]) -> Exec {
    let parsed = match shell.options(args, "lnprsx") {
        Ok(parsed) => parsed,
        Err(status) => return Ok(status),
    };
    shell.reap();
    let operands = &args[parsed.next..];
    let mut numbers: Vec<usize> = shell.jobs.list.iter().map(|job| job.number).collect();
    if !operands.is_empty() {
        numbers.clear();
        for text in operands {
            match shell.jobs.find(text) {
                Ok(number) => numbers.push(number),
                Err(why) => {
                    shell.complain_about(text, why);
                    return Ok(1);
                }
            }
        }
    }
    for number in numbers {
        let Some(job) = shell.jobs.get(number) else {
            continue;
        };
        let done = job.done();
        if parsed.has(b'r') && (done || job.stopped)
            || parsed.has(b's') && !job.stopped
            || parsed.has(b'n') && !job.changed
        {
            continue;
        }
        let line = if parsed.has(b'p') {
            format!("{}\n", job.processes.first().map_or(0, |(pid, _)| *pid)).into_bytes()
        } else {
            shell.job_line(number, parsed.has(b'l'))
        };
        shell.print(&line);
        if done {
            shell.jobs.forget(number);
        } else if let Some(job) = shell.jobs.get_mut(number) {
            job.changed = false;
        }
    }
    Ok(0)
}

/// Waits until a job has ended; signals with traps end the waiting.
fn wait_job(shell: &mut Shell, number: usize) -> Result<i32, Exec> {
    loop {
        let Some(job) = shell.jobs.get(number) else {
            return Ok(127);
        };
        if let Some(status) = job.status() {
            return Ok(i32::from(status.shell_code()));
        }
        let Some(pid) = job
            .processes
            .iter()
            .find(|(_, status)| status.is_none())
            .map(|(pid, _)| *pid)
        else {
            return Ok(127);
        };
        match sandbar_guest::process::wait(pid, Wait::BLOCK) {
            Ok(Some(waited)) => {
                shell.jobs.note(pid, waited.status);
            }
            Ok(None) => {}
            Err(Errno::EINTR) => interrupted(shell)?,
            Err(_) => {
                shell.jobs.note(pid, WaitStatus::Exited(127));
            }
        }
    }
}

/// A signal arrived while waiting: its trap runs, and `wait` ends with its number.
fn interrupted(shell: &mut Shell) -> Result<(), Exec> {
    let signal = sandbar_guest::signal::pending().iter().next();
    if let Err(flow) = shell.run_signal_traps() {
        return Err(Err(flow));
    }
    match signal {
        Some(signal) => Err(Ok(128 + i32::try_from(signal.number()).unwrap_or(0))),
        None => Ok(()),
    }
}

pub(super) fn wait(shell: &mut Shell, args: &[Bytes]) -> Exec {
    let parsed = match shell.options(args, "fnp:") {
        Ok(parsed) => parsed,
        Err(status) => return Ok(status),
    };
    let operands = &args[parsed.next..];
    let result = if parsed.has(b'n') {
        wait_next(shell, operands)
    } else if operands.is_empty() {
        wait_all(shell)
    } else {
        wait_each(shell, operands)
    };
    match result {
        Ok((status, pid)) => {
            if let (Some(name), Some(pid)) = (parsed.value(b'p'), pid) {
                shell.set(name, pid.to_string().into_bytes())?;
            }
            Ok(status)
        }
        Err(result) => result,
    }
}

type Waited = Result<(i32, Option<i32>), Exec>;

fn wait_all(shell: &mut Shell) -> Waited {
    for number in shell
        .jobs
        .list
        .iter()
        .map(|job| job.number)
        .collect::<Vec<_>>()
    {
        wait_job(shell, number)?;
        shell.jobs.forget(number);
    }
    Ok((0, None))
}

fn wait_each(shell: &mut Shell, operands: &[Bytes]) -> Waited {
    let mut last = (0, None);
    for text in operands {
        if text.starts_with(b"%") {
            match shell.jobs.find(text) {
                Ok(number) => {
                    let pid = shell.jobs.get(number).map(crate::job::Job::pid);
                    last = (wait_job(shell, number)?, pid);
                    shell.jobs.forget(number);
                }
                Err(why) => {
                    shell.complain_about(text, why);
                    last = (127, None);
                }
            }
            continue;
        }
        let Some(pid) = std::str::from_utf8(text)
            .ok()
            .and_then(|text| text.parse::<i32>().ok())
        else {
            shell.complain(&[b"`".as_slice(), text, b"': not a pid or valid job spec"].concat());
            last = (1, None);
            continue;
        };
        let job = shell
            .jobs
            .list
            .iter()
            .find(|job| job.processes.iter().any(|(have, _)| *have == pid))
            .map(|job| job.number);
        last = if let Some(number) = job {
            let status = wait_job(shell, number)?;
            shell.jobs.forget(number);
            (status, Some(pid))
        } else if let Some((_, status)) = shell.jobs.ended.iter().find(|(have, _)| *have == pid) {
            (i32::from(status.shell_code()), Some(pid))
        } else if let Ok(Some(waited)) = sandbar_guest::process::wait(pid, Wait::BLOCK) {
            (i32::from(waited.status.shell_code()), Some(pid))
        } else {
            shell.complain(format!("pid {pid} is not a child of this shell").as_bytes());
            (127, None)
        };
    }
    Ok(last)
}

fn wait_next(shell: &mut Shell, operands: &[Bytes]) -> Waited {
    let wanted = |shell: &Shell, number: usize| {
        operands.is_empty()
            || operands.iter().any(|text| {
                shell
                    .jobs
                    .get(number)
                    .is_some_and(|job| job.pid().to_string().as_bytes() == text.as_slice())
                    || text.starts_with(b"%") && shell.jobs.find(text) == Ok(number)
            })
    };
    loop {
        let numbers: Vec<usize> = shell
            .jobs
            .list
            .iter()
            .map(|job| job.number)
            .filter(|number| wanted(shell, *number))
            .collect();
        if numbers.is_empty() {
            return Ok((127, None));
        }
        for number in numbers {
            if let Some((status, pid)) = shell
                .jobs
                .get(number)
                .and_then(|job| job.status().map(|status| (status, job.pid())))
            {
                shell.jobs.forget(number);
                return Ok((i32::from(status.shell_code()), Some(pid)));
            }
        }
        match sandbar_guest::process::wait(-1, Wait::BLOCK) {
            Ok(Some(waited)) => {
                shell.jobs.note(waited.pid.0, waited.status);
            }
            Ok(None) => {}
            Err(Errno::EINTR) => interrupted(shell)?,
            Err(_) => return Ok((127, None)),
        }
    }
}

pub(super) fn kill(shell: &mut Shell, args: &[Bytes]) -> Exec {
    shell.reap();
    let mut signal = Some(Signal::TERM);
    let mut next = 1;
    let bad = |shell: &mut Shell, text: &[u8]| {
        shell.complain_about(text, "invalid signal specification");
        Ok(1)
    };
    let read_signal = |text: &[u8]| {
        if text == b"0" || text.eq_ignore_ascii_case(b"EXIT") {
            Some(None)
        } else {
            Signal::parse(text).map(Some)
        }
    };
    while let Some(arg) = args.get(next) {
        match arg.as_slice() {
            b"--" => {
                next += 1;
                break;
            }
            b"-l" | b"-L" => return list(shell, &args[next + 1..]),
            b"-s" | b"-n" => {
                let Some(text) = args.get(next + 1) else {
                    shell.complain_about(arg, "option requires an argument");
                    return Ok(1);
                };
                match read_signal(text) {
                    Some(found) => signal = found,
                    None => return bad(shell, text),
                }
                next += 2;
            }
            [b'-', rest @ ..] if !rest.is_empty() && next == 1 => {
                match read_signal(rest) {
                    Some(found) => signal = found,
                    None => return bad(shell, rest),
                }
                next += 1;
            }
            _ => break,
        }
    }
    let operands = &args[next.min(args.len())..];
    if operands.is_empty() {
        return Ok(shell.usage());
    }
    let mut failed = false;
    for text in operands {
        let target = if text.starts_with(b"%") {
            shell.reap();
            match shell.jobs.find(text) {
                Ok(number) => shell
                    .jobs
                    .get(number)
                    .map(|job| job.group.map_or(job.pid(), |group| -group)),
                Err(why) => {
                    shell.complain_about(text, why);
                    None
                }
            }
        } else {
            let pid = std::str::from_utf8(text)
                .ok()
                .and_then(|text| text.parse::<i32>().ok());
            if pid.is_none() {
                shell.complain_about(text, "arguments must be process or job IDs");
            }
            pid
        };
        let Some(target) = target else {
            failed = true;
            continue;
        };
        if let Err(error) = sandbar_guest::process::kill(target, signal) {
            shell.complain(format!("({target}) - {}", error.message()).as_bytes());
            failed = true;
        }
    }
    // A signal to the shell itself is looked at before the next command.
    shell.flush();
    shell.run_signal_traps()?;
    Ok(i32::from(failed))
}

fn list(shell: &mut Shell, operands: &[Bytes]) -> Exec {
    if operands.is_empty() {
        shell.print(&signal_table());
        return Ok(0);
    }
    let mut status = 0;
    for text in operands {
        let number = std::str::from_utf8(text)
            .ok()
            .and_then(|text| text.parse::<u32>().ok());
        let line = match number {
            // An exit status of a killed process is understood, too.
            Some(0) => "EXIT\n".to_owned(),
            Some(number) => {
                if let Some(signal) =
                    Signal::from_number(if number > 128 { number - 128 } else { number })
                {
                    format!("{}\n", signal.name())
                } else {
                    shell.complain_about(text, "invalid signal specification");
                    status = 1;
                    continue;
                }
            }
            None => {
                if let Some(signal) = Signal::parse(text) {
                    format!("{}\n", signal.number())
                } else {
                    shell.complain_about(text, "invalid signal specification");
                    status = 1;
                    continue;
                }
            }
        };
        shell.print(line.as_bytes());
    }
    Ok(status)
}

fn named_job(shell: &mut Shell, args: &[Bytes]) -> Result<usize, Exec> {
    if !shell.on(opt::MONITOR) {
        shell.complain(b"no job control");
        return Err(Ok(1));
    }
    let text = args.get(1).cloned().unwrap_or_default();
    match shell.jobs.find(&text) {
        Ok(number) => Ok(number),
        Err(why) => {
            let shown = if text.is_empty() {
                b"current".to_vec()
            } else {
                text
            };
            shell.complain_about(&shown, why);
            Err(Ok(1))
        }
    }
}

pub(super) fn fg(shell: &mut Shell, args: &[Bytes]) -> Exec {
    let number = match named_job(shell, args) {
        Ok(number) => number,
        Err(result) => return result,
    };
    if let Some(job) = shell.jobs.get_mut(number) {
        job.stopped = false;
        let line = [job.text.as_slice(), b"\n"].concat();
        let target = job.group.map_or(job.pid(), |group| -group);
        let _gone = sandbar_guest::process::kill(target, Some(Signal::CONT));
        shell.print(&line);
        shell.flush();
    }
    match wait_job(shell, number) {
        Ok(status) => {
            shell.jobs.forget(number);
            Ok(status)
        }
        Err(result) => result,
    }
}

pub(super) fn bg(shell: &mut Shell, args: &[Bytes]) -> Exec {
    let number = match named_job(shell, args) {
        Ok(number) => number,
        Err(result) => return result,
    };
    if let Some(job) = shell.jobs.get_mut(number) {
        job.stopped = false;
        let line = [format!("[{number}] ").as_bytes(), &job.text, b" &\n"].concat();
        let target = job.group.map_or(job.pid(), |group| -group);
        let _gone = sandbar_guest::process::kill(target, Some(Signal::CONT));
        shell.print(&line);
    }
    Ok(0)
}

pub(super) fn disown(shell: &mut Shell, args: &[Bytes]) -> Exec {
    let parsed = match shell.options(args, "har") {
        Ok(parsed) => parsed,
        Err(status) => return Ok(status),
    };
    let operands = &args[parsed.next..];
    let mut status = 0;
    let numbers: Vec<usize> = if parsed.has(b'a') || parsed.has(b'r') {
        shell
            .jobs
            .list
            .iter()
            .filter(|job| !parsed.has(b'r') || !job.done())
            .map(|job| job.number)
            .collect()
    } else {
        let current = [Bytes::new()];
        let mut numbers = Vec::new();
        for text in if operands.is_empty() {
            &current
        } else {
            operands
        } {
            let by_pid = shell
                .jobs
                .list
                .iter()
                .find(|job| job.pid().to_string().as_bytes() == text.as_slice())
                .map(|job| job.number);
            match by_pid.map_or_else(|| shell.jobs.find(text), Ok) {
                Ok(number) => numbers.push(number),
                Err(why) => {
                    let shown = if text.is_empty() {
                        b"current".as_slice()
                    } else {
                        text
                    };
                    shell.complain_about(shown, why);
                    status = 1;
                }
            }
        }
        numbers
    };
    for number in numbers {
        if parsed.has(b'h') {
            if let Some(job) = shell.jobs.get_mut(number) {
                job.no_hangup = true;
            }
        } else {
            shell.jobs.list.retain(|job| job.number != number);
        }
    }
    Ok(status)
}

pub(super) fn suspend(shell: &mut Shell, args: &[Bytes]) -> Exec {
    let parsed = match shell.options(args, "f") {
        Ok(parsed) => parsed,
        Err(status) => return Ok(status),
    };
    if !shell.on(opt::MONITOR) && !parsed.has(b'f') {
        shell.complain(b"cannot suspend: no job control");
        return Ok(1);
    }
    match sandbar_guest::process::kill(crate::sys::pid(), Some(Signal::STOP)) {
        Ok(()) => Ok(0),
        Err(_) => Err(Flow::Discard(1)),
    }
}
