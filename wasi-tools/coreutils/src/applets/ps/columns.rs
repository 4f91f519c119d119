//! The columns of `ps`.

use std::cmp::Ordering;

use sandbar_guest::time::{self, DateTime, Zone};

use crate::applets::{
    proc::{self, Process, TICKS},
    users,
};

/// What values are computed from besides the process.
pub(super) struct Context {
    zone: Zone,
    now: i64,
    boot: i64,
    up_ticks: u64,
    memory_kib: u64,
}

impl Context {
    pub(super) fn new() -> Self {
        Self {
            zone: Zone::local(),
            now: time::realtime_ns() / 1_000_000_000,
            boot: proc::boot_seconds(),
            up_ticks: proc::uptime_ticks(),
            memory_kib: proc::memory_kib("MemTotal"),
        }
    }

    /// Seconds that a process has existed.
    fn elapsed(&self, process: &Process) -> u64 {
        self.up_ticks.saturating_sub(process.start_ticks) / TICKS
    }

    fn started(&self, process: &Process) -> DateTime {
        let since_boot = i64::try_from(process.start_ticks / TICKS).unwrap_or(i64::MAX);
        DateTime::new(&self.zone, self.boot.saturating_add(since_boot))
    }

    /// Whether it started in the last 24 hours.
    fn is_recent(&self, process: &Process) -> bool {
        self.elapsed(process) < 86_400
    }

    /// CPU time in thousandths of the time that it has existed.
    fn cpu_permille(&self, process: &Process) -> u64 {
        let ticks = self.up_ticks.saturating_sub(process.start_ticks);
        cpu_ticks(process)
            .saturating_mul(1000)
            .checked_div(ticks)
            .unwrap_or(0)
            .min(9999)
    }
}

type Value = fn(&Context, &Process) -> String;

/// One column.
#[derive(Clone)]
pub(super) struct Column {
    pub(super) heading: String,
    pub(super) width: usize,
    pub(super) left: bool,
    pub(super) value: Value,
}

/// Names, heading, width, whether the left side is aligned, value.
type Row = (&'static [&'static str], &'static str, usize, bool, Value);

/// A width that depends on the largest process number.
const PID: usize = 0;
/// A width that the widest value on the line sets.
const USER: usize = 8;

const COLUMNS: &[Row] = &[
    (&["pid", "tgid"], "PID", PID, false, |_, p| {
        p.pid.to_string()
    }),
    (&["ppid"], "PPID", PID, false, |_, p| p.ppid.to_string()),
    (&["pgid"], "PGID", PID, false, |_, p| p.pgid.to_string()),
    (&["pgrp"], "PGRP", PID, false, |_, p| p.pgid.to_string()),
    (&["sid"], "SID", PID, false, |_, p| p.sid.to_string()),
    (&["sess", "session"], "SESS", PID, false, |_, p| {
        p.sid.to_string()
    }),
    (&["tpgid"], "TPGID", PID, false, |_, p| {
        p.foreground.to_string()
    }),
    (&["user", "uname"], "USER", USER, true, |_, p| user(p.uid)),
    (&["euser"], "EUSER", USER, true, |_, p| user(p.uid)),
    (&["ruser"], "RUSER", USER, true, |_, p| user(p.real_uid)),
    (&["group"], "GROUP", USER, true, |_, p| group(p.gid)),
    (&["egroup"], "EGROUP", USER, true, |_, p| group(p.gid)),
    (&["rgroup"], "RGROUP", USER, true, |_, p| group(p.real_gid)),
    (&["uid"], "UID", 5, false, |_, p| p.uid.to_string()),
    (&["euid"], "EUID", 5, false, |_, p| p.uid.to_string()),
    (&["ruid"], "RUID", 5, false, |_, p| p.real_uid.to_string()),
    (&["gid"], "GID", 5, false, |_, p| p.gid.to_string()),
    (&["egid"], "EGID", 5, false, |_, p| p.gid.to_string()),
    (&["rgid"], "RGID", 5, false, |_, p| p.real_gid.to_string()),
    (&["tty", "tt"], "TT", 8, true, |_, p| p.terminal()),
    (&["tname"], "TTY", 8, true, |_, p| p.terminal()),
    (&["stat"], "STAT", 4, true, |_, p| state(p)),
    (&["s", "state"], "S", 1, true, |_, p| p.state.to_string()),
    (&["comm", "ucomm"], "COMMAND", 15, true, |_, p| p.name()),
    (&["ucmd"], "CMD", 15, true, |_, p| p.name()),
    (&["args", "command"], "COMMAND", 27, true, |_, p| {
        p.command()
    }),
    (&["cmd"], "CMD", 27, true, |_, p| p.command()),
    (&["fname"], "COMMAND", 8, true, |_, p| {
        p.comm.chars().take(8).collect()
    }),
    (&["etime"], "ELAPSED", 11, false, |c, p| {
        elapsed(c.elapsed(p))
    }),
    (&["etimes"], "ELAPSED", 7, false, |c, p| {
        c.elapsed(p).to_string()
    }),
    (&["time", "cputime"], "TIME", 8, false, |_, p| cpu_time(p)),
    (&["bsdtime"], "TIME", 6, false, |_, p| {
        let seconds = cpu_ticks(p) / TICKS;
        format!("{}:{:02}", seconds / 60, seconds % 60)
    }),
    (&["cputimes", "times"], "TIME", 8, false, |_, p| {
        (cpu_ticks(p) / TICKS).to_string()
    }),
    (&["%cpu", "pcpu"], "%CPU", 4, false, |c, p| {
        let permille = c.cpu_permille(p);
        if permille >= 1000 {
            (permille / 10).to_string()
        } else {
            format!("{}.{}", permille / 10, permille % 10)
        }
    }),
    (&["c"], "C", 2, false, |c, p| {
        (c.cpu_permille(p) / 10).min(99).to_string()
    }),
    (&["%mem", "pmem"], "%MEM", 4, false, |c, p| {
        let permille = resident_kib(p)
            .saturating_mul(1000)
            .checked_div(c.memory_kib)
            .unwrap_or(0)
            .min(999);
        format!("{}.{}", permille / 10, permille % 10)
    }),
    (&["vsz", "vsize"], "VSZ", 6, false, |_, p| {
        (p.virtual_bytes / 1024).to_string()
    }),
    (&["rss", "rssize", "rsz"], "RSS", 5, false, |_, p| {
        resident_kib(p).to_string()
    }),
    (&["sz"], "SZ", 5, false, |_, p| {
        (p.virtual_bytes / PAGE).to_string()
    }),
    (&["start"], "STARTED", 8, false, |c, p| {
        let format = if c.is_recent(p) {
            "%H:%M:%S"
        } else {
            "  %b %d"
        };
        c.started(p).format(format, 0)
    }),
    (&["lstart"], "STARTED", 24, false, |c, p| {
        c.started(p).format("%a %b %e %H:%M:%S %Y", 0)
    }),
    (&["stime"], "STIME", 5, false, start_time),
    (&["start_time"], "START", 5, false, start_time),
    (&["bsdstart"], "START", 6, false, |c, p| {
        let format = if c.is_recent(p) { "%H:%M" } else { "%b %d" };
        c.started(p).format(format, 0)
    }),
    (&["ni", "nice"], "NI", 3, false, |_, p| p.nice.to_string()),
    (&["pri"], "PRI", 3, false, |_, p| {
        (39 - p.priority).to_string()
    }),
    (&["opri"], "PRI", 3, false, |_, p| {
        (60 + p.priority).to_string()
    }),
    (&["nlwp", "thcount"], "NLWP", 4, false, |_, p| {
        p.threads.to_string()
    }),
    (&["f", "flag", "flags"], "F", 1, false, |_, p| {
        format!("{:o}", (p.flags >> 6) & 7)
    }),
    (&["wchan"], "WCHAN", 6, true, |_, _| String::from("-")),
    (&[SHORT_ADDRESS], "ADDR", 1, false, |_, _| String::from("-")),
    (&["addr"], "ADDR", 4, false, |_, _| String::from("-")),
    (&["psr"], "PSR", 3, false, |_, _| String::from("0")),
    (&["label"], "LABEL", 31, true, |_, _| String::from("-")),
];

const PAGE: u64 = 4096;

/// Narrower than its heading, which reaches into the blanks of the next column.
const SHORT_ADDRESS: &str = "addr_1";

fn user(uid: u32) -> String {
    users::user_name(uid).unwrap_or_else(|| uid.to_string())
}

fn group(gid: u32) -> String {
    users::group_name(gid).unwrap_or_else(|| gid.to_string())
}

fn cpu_ticks(process: &Process) -> u64 {
    process.user_ticks.saturating_add(process.system_ticks)
}

fn resident_kib(process: &Process) -> u64 {
    process.resident_pages.saturating_mul(PAGE / 1024)
}

fn state(process: &Process) -> String {
    let mut text = process.state.to_string();
    for (mark, shown) in [
        ('<', process.nice < 0),
        ('N', process.nice > 0),
        ('s', process.sid == process.pid),
        ('l', process.threads > 1),
        (
            '+',
            process.foreground > 0 && process.foreground == process.pgid,
        ),
    ] {
        if shown {
            text.push(mark);
        }
    }
    text
}

/// `[[DD-]hh:]mm:ss`
fn elapsed(seconds: u64) -> String {
    let (days, hours) = (seconds / 86_400, seconds / 3600 % 24);
    let rest = format!("{:02}:{:02}", seconds / 60 % 60, seconds % 60);
    match (days, hours) {
        (0, 0) => rest,
        (0, hours) => format!("{hours:02}:{rest}"),
        (days, hours) => format!("{days}-{hours:02}:{rest}"),
    }
}

/// `[DD-]hh:mm:ss`
fn cpu_time(process: &Process) -> String {
    let seconds = cpu_ticks(process) / TICKS;
    let days = if seconds < 86_400 {
        String::new()
    } else {
        format!("{}-", seconds / 86_400)
    };
    format!(
        "{days}{:02}:{:02}:{:02}",
        seconds / 3600 % 24,
        seconds / 60 % 60,
        seconds % 60
    )
}

/// The time when it was today, else the day, else the year.
fn start_time(context: &Context, process: &Process) -> String {
    let (started, now) = (
        context.started(process),
        DateTime::new(&context.zone, context.now),
    );
    let format = match (started.year == now.year, started.year_day == now.year_day) {
        (true, true) => "%H:%M",
        (true, false) => "%b%d",
        (false, _) => "%Y",
    };
    started.format(format, 0)
}

/// The width of process numbers: as wide as the largest, at least 5.
fn pid_width() -> usize {
    let text = std::fs::read_to_string("/proc/sys/kernel/pid_max").unwrap_or_default();
    let largest = text.trim().parse::<u64>().unwrap_or(0).saturating_sub(1);
    largest.to_string().len().max(5)
}

impl Column {
    pub(super) fn find(name: &str) -> Option<Self> {
        let (_, heading, width, left, value) =
            COLUMNS.iter().find(|(names, ..)| names.contains(&name))?;
        let width = if *width == PID { pid_width() } else { *width };
        let width = if name == SHORT_ADDRESS {
            width
        } else {
            width.max(heading.len())
        };
        Some(Self {
            heading: (*heading).to_owned(),
            width,
            left: *left,
            value: *value,
        })
    }

    /// Sets the heading and makes room for it.
    pub(super) fn set_heading(&mut self, heading: &str) {
        heading.clone_into(&mut self.heading);
        self.width = self.width.max(heading.chars().count());
    }

    /// The order of two processes by this column: by number when both values are numbers.
    pub(super) fn compare(&self, context: &Context, left: &Process, right: &Process) -> Ordering {
        let (left, right) = ((self.value)(context, left), (self.value)(context, right));
        match (left.parse::<f64>(), right.parse::<f64>()) {
            (Ok(left), Ok(right)) => left.total_cmp(&right),
            _ => left.cmp(&right),
        }
    }
}
