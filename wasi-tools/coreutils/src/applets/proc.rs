//! Processes as `/proc` shows them.

use sandbar_guest::{file, time};

/// Clock ticks a second in `/proc`.
pub(super) const TICKS: u64 = 100;

/// One process.
#[derive(Clone, Debug)]
pub(super) struct Process {
    pub(super) pid: i32,
    pub(super) comm: String,
    pub(super) state: char,
    pub(super) ppid: i32,
    pub(super) pgid: i32,
    pub(super) sid: i32,
    pub(super) tty: u64,
    /// The foreground group of its terminal, -1 without one.
    pub(super) foreground: i32,
    /// CPU time in ticks, in the program and in calls.
    pub(super) user_ticks: u64,
    pub(super) system_ticks: u64,
    pub(super) priority: i64,
    pub(super) nice: i64,
    pub(super) threads: u64,
    /// Ticks from the start of the system.
    pub(super) start_ticks: u64,
    pub(super) virtual_bytes: u64,
    pub(super) resident_pages: u64,
    pub(super) flags: u64,
    pub(super) uid: u32,
    pub(super) real_uid: u32,
    pub(super) gid: u32,
    pub(super) real_gid: u32,
    pub(super) args: Vec<String>,
}

/// All processes in the order of their numbers.
pub(super) fn all() -> Vec<Process> {
    let entries = file::read_dir(b"/proc").unwrap_or_default();
    let numbers = entries
        .iter()
        .filter_map(|entry| std::str::from_utf8(&entry.name).ok()?.parse::<i32>().ok());
    let mut numbers: Vec<_> = numbers.collect();
    numbers.sort_unstable();
    // One that ends meanwhile is left out.
    numbers.into_iter().filter_map(one).collect()
}

/// The process with that number.
pub(super) fn one(pid: i32) -> Option<Process> {
    let read = |name: &str| std::fs::read(format!("/proc/{pid}/{name}")).ok();
    let text = String::from_utf8_lossy(&read("stat")?).into_owned();
    // The name stands in parentheses and may hold some itself.
    let (_, rest) = text.split_once('(')?;
    let (comm, rest) = rest.rsplit_once(')')?;
    let fields: Vec<_> = rest.split_ascii_whitespace().collect();
    let number = |index: usize| {
        fields
            .get(index)
            .and_then(|field| field.parse::<i64>().ok())
            .unwrap_or(0)
    };
    let unsigned = |index: usize| {
        fields
            .get(index)
            .and_then(|field| field.parse::<u64>().ok())
            .unwrap_or(0)
    };
    let id = |index: usize| i32::try_from(number(index)).unwrap_or(0);
    let status = String::from_utf8_lossy(&read("status").unwrap_or_default()).into_owned();
    let ids = |label: &str| -> (u32, u32) {
        let line = status
            .lines()
            .find_map(|line| line.strip_prefix(label))
            .unwrap_or_default();
        let mut ids = line
            .split_ascii_whitespace()
            .map(|id| id.parse().unwrap_or(0));
        (ids.next().unwrap_or(0), ids.next().unwrap_or(0))
    };
    let ((real_uid, uid), (real_gid, gid)) = (ids("Uid:"), ids("Gid:"));
    let arguments = read("cmdline").unwrap_or_default();
    let arguments = arguments.strip_suffix(b"\0").unwrap_or(&arguments);
    let args = if arguments.is_empty() {
        Vec::new()
    } else {
        arguments
            .split(|byte| *byte == 0)
            .map(|word| String::from_utf8_lossy(word).into_owned())
            .collect()
    };
    Some(Process {
        pid,
        comm: comm.to_owned(),
        state: fields.first()?.chars().next()?,
        ppid: id(1),
        pgid: id(2),
        sid: id(3),
        tty: unsigned(4),
        foreground: id(5),
        flags: unsigned(6),
        user_ticks: unsigned(11),
        system_ticks: unsigned(12),
        priority: number(15),
        nice: number(16),
        threads: unsigned(17),
        start_ticks: unsigned(19),
        virtual_bytes: unsigned(20),
        resident_pages: unsigned(21),
        uid,
        real_uid,
        gid,
        real_gid,
        args,
    })
}

/// Ticks that the system is up.
pub(super) fn uptime_ticks() -> u64 {
    let text = std::fs::read_to_string("/proc/uptime").unwrap_or_default();
    let (seconds, hundredths) = text
        .split(' ')
        .next()
        .and_then(|up| up.split_once('.'))
        .unwrap_or(("0", "0"));
    seconds
        .parse::<u64>()
        .unwrap_or(0)
        .saturating_mul(TICKS)
        .saturating_add(hundredths.trim().parse().unwrap_or(0))
}

/// When the system came up, in seconds since 1970.
pub(super) fn boot_seconds() -> i64 {
    let text = std::fs::read_to_string("/proc/stat").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("btime "));
    let from_clock = || {
        let up = i64::try_from(uptime_ticks() / TICKS).unwrap_or(0);
        time::realtime_ns() / 1_000_000_000 - up
    };
    line.and_then(|seconds| seconds.trim().parse().ok())
        .unwrap_or_else(from_clock)
}

/// A line of `/proc/meminfo`, in KiB.
pub(super) fn memory_kib(label: &str) -> u64 {
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix(label)?.strip_prefix(':'));
    line.and_then(|rest| rest.split_ascii_whitespace().next()?.parse().ok())
        .unwrap_or(0)
}

impl Process {
    /// The whole command line as it is shown: the name in brackets when there is none.
    pub(super) fn command(&self) -> String {
        match (self.state, self.args.is_empty()) {
            ('Z', _) => format!("[{}] <defunct>", self.comm),
            (_, true) => format!("[{}]", self.comm),
            (_, false) => self.args.join(" "),
        }
    }

    /// The name, marked when it has ended.
    pub(super) fn name(&self) -> String {
        if self.state == 'Z' {
            format!("{} <defunct>", self.comm)
        } else {
            self.comm.clone()
        }
    }

    /// Its terminal, `?` without one.
    pub(super) fn terminal(&self) -> String {
        let (major, minor) = (
            (self.tty >> 8) & 0xfff,
            (self.tty & 0xff) | ((self.tty >> 12) & 0xfff00),
        );
        match major {
            0 => String::from("?"),
            4 if minor < 64 => format!("tty{minor}"),
            4 => format!("ttyS{}", minor - 64),
            5 => String::from("console"),
            136..=143 => format!("pts/{}", minor + (major - 136) * 256),
            _ => format!("{major},{minor}"),
        }
    }
}
