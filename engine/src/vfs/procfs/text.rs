//! The texts of `/proc`, in Linux's formats.
//!
//! Source: `proc(5)`.

use std::fmt::Write as _;

use super::{OS_RELEASE, OS_TYPE, PID_MAX, ProcessSummary, Shared};
use crate::errno::{Errno, SysResult};

/// Clock ticks a second, as `sysconf(_SC_CLK_TCK)` says everywhere.
const TICKS: u64 = 100;
/// The unit of `statm`, in bytes.
const PAGE: u64 = 4096;
/// The user and group of everything. Source: kernel-notes, one user.
const UID: u32 = 65_532;

const NS: u64 = 1_000_000_000;

fn ticks(ns: u64) -> u64 {
    ns / (NS / TICKS)
}

/// A random UUID of version 4.
pub(super) fn uuid() -> SysResult<String> {
    let mut bytes = [0_u8; 16];
    crate::host::random(&mut bytes).map_err(|_| Errno::Io)?;
    bytes[6] = (bytes[6] & 0x0f) | 0x40;
    bytes[8] = (bytes[8] & 0x3f) | 0x80;
    let number = u128::from_be_bytes(bytes);
    let field = |shift: u32, digits: usize| {
        let mask = (1_u128 << (4 * digits)) - 1;
        format!("{:0digits$x}", (number >> shift) & mask)
    };
    Ok([
        field(96, 8),
        field(80, 4),
        field(64, 4),
        field(48, 4),
        field(0, 12),
    ]
    .join("-"))
}

fn line(text: &str) -> Vec<u8> {
    format!("{text}\n").into_bytes()
}

#[expect(
    clippy::unnecessary_wraps,
    reason = "the signature that every text in the table has"
)]
mod always {
    use std::fmt::Write as _;

    use super::{NS, OS_RELEASE, OS_TYPE, PID_MAX, Shared, SysResult, line, ticks};

    pub(in super::super) fn hostname(shared: &Shared) -> SysResult<Vec<u8>> {
        Ok(line(&shared.hostname))
    }

    pub(in super::super) fn os_type(_: &Shared) -> SysResult<Vec<u8>> {
        Ok(line(OS_TYPE))
    }

    pub(in super::super) fn os_release(_: &Shared) -> SysResult<Vec<u8>> {
        Ok(line(OS_RELEASE))
    }

    pub(in super::super) fn kernel_version(_: &Shared) -> SysResult<Vec<u8>> {
        Ok(line("#1 SMP"))
    }

    pub(in super::super) fn pid_max(_: &Shared) -> SysResult<Vec<u8>> {
        Ok(line(&PID_MAX.to_string()))
    }

    pub(in super::super) fn ngroups_max(_: &Shared) -> SysResult<Vec<u8>> {
        Ok(line("65536"))
    }

    pub(in super::super) fn overcommit_memory(_: &Shared) -> SysResult<Vec<u8>> {
        Ok(line("0"))
    }

    pub(in super::super) fn boot_id(shared: &Shared) -> SysResult<Vec<u8>> {
        Ok(line(&shared.boot_id))
    }

    pub(in super::super) fn version(_: &Shared) -> SysResult<Vec<u8>> {
        Ok(line(&format!(
            "{OS_TYPE} version {OS_RELEASE} (sandbar) #1 SMP"
        )))
    }

    pub(in super::super) fn filesystems(_: &Shared) -> SysResult<Vec<u8>> {
        Ok(b"nodev\ttmpfs\nnodev\toverlay\nnodev\thostdir\nnodev\tproc\nnodev\tdevtmpfs\nnodev\timage\n".to_vec())
    }

    pub(in super::super) fn cpuinfo(shared: &Shared) -> SysResult<Vec<u8>> {
        let cpus = shared.view.cpus();
        let mut text = String::new();
        for cpu in 0..cpus {
            let _ = write!(
                text,
                "processor\t: {cpu}\nvendor_id\t: Sandbar\nmodel name\t: WebAssembly\n\
                 cpu cores\t: {cpus}\nflags\t\t: wasm32 simd128\n\n"
            );
        }
        Ok(text.into_bytes())
    }

    pub(in super::super) fn meminfo(shared: &Shared) -> SysResult<Vec<u8>> {
        let (limit, used) = shared.view.memory();
        // Without a limit a large machine is shown: programs compute with the number.
        let total = limit.min(1 << 42) / 1024;
        let free = total.saturating_sub(used / 1024);
        let rows = [
            ("MemTotal", total),
            ("MemFree", free),
            ("MemAvailable", free),
            ("Buffers", 0),
            ("Cached", 0),
            ("SwapCached", 0),
            ("SwapTotal", 0),
            ("SwapFree", 0),
            ("Shmem", 0),
            ("SReclaimable", 0),
        ];
        let mut text = String::new();
        for (name, kilobytes) in rows {
            let _ = writeln!(text, "{:<16}{kilobytes:>8} kB", format!("{name}:"));
        }
        Ok(text.into_bytes())
    }

    pub(in super::super) fn uptime(shared: &Shared) -> SysResult<Vec<u8>> {
        let up = ticks(shared.view.uptime_ns());
        Ok(line(&format!(
            "{}.{:02} {}.{:02}",
            up / 100,
            up % 100,
            up / 100,
            up % 100
        )))
    }

    pub(in super::super) fn loadavg(shared: &Shared) -> SysResult<Vec<u8>> {
        let pids = shared.view.pids();
        let running = running(shared, &pids);
        let last = pids.last().copied().unwrap_or(0);
        Ok(line(&format!(
            "0.00 0.00 0.00 {running}/{} {last}",
            pids.len()
        )))
    }

    pub(in super::super) fn stat(shared: &Shared) -> SysResult<Vec<u8>> {
        let pids = shared.view.pids();
        let cpus = u64::from(shared.view.cpus().max(1));
        let used: u64 = pids
            .iter()
            .filter_map(|&pid| shared.view.summary(pid))
            .map(|summary| summary.cpu_ns)
            .sum();
        let up = shared.view.uptime_ns();
        let (user, idle) = (
            ticks(used),
            ticks(up.saturating_mul(cpus).saturating_sub(used)),
        );
        let mut text = format!("cpu  {user} 0 0 {idle} 0 0 0 0 0 0\n");
        for cpu in 0..cpus {
            let _ = writeln!(
                text,
                "cpu{cpu} {} 0 0 {} 0 0 0 0 0 0",
                user / cpus,
                idle / cpus
            );
        }
        let boot = u64::try_from(shared.made).unwrap_or(0) / NS;
        let _ = writeln!(text, "ctxt 0\nbtime {boot}\nprocesses {}", pids.len());
        let _ = writeln!(
            text,
            "procs_running {}\nprocs_blocked 0",
            running(shared, &pids)
        );
        Ok(text.into_bytes())
    }

    fn running(shared: &Shared, pids: &[u32]) -> usize {
        let states = pids.iter().filter_map(|&pid| shared.view.summary(pid));
        states.filter(|summary| summary.state == 'R').count()
    }
}

pub(super) use self::always::{
    boot_id, cpuinfo, filesystems, hostname, kernel_version, loadavg, meminfo, ngroups_max,
    os_release, os_type, overcommit_memory, pid_max, stat, uptime, version,
};

pub(super) fn fresh_uuid(_: &Shared) -> SysResult<Vec<u8>> {
    Ok(line(&uuid()?))
}

fn with_nuls(strings: &[Vec<u8>]) -> Vec<u8> {
    strings
        .iter()
        .flat_map(|string| string.iter().copied().chain([0]))
        .collect()
}

pub(super) fn cmdline(_: &Shared, summary: &ProcessSummary) -> Vec<u8> {
    // A zombie has no memory to hold its arguments.
    if summary.state == 'Z' {
        Vec::new()
    } else {
        with_nuls(&summary.args)
    }
}

pub(super) fn environ(_: &Shared, summary: &ProcessSummary) -> Vec<u8> {
    if summary.state == 'Z' {
        Vec::new()
    } else {
        with_nuls(&summary.env)
    }
}

pub(super) fn comm(_: &Shared, summary: &ProcessSummary) -> Vec<u8> {
    let mut text = summary.comm.clone();
    text.push(b'\n');
    text
}

pub(super) fn maps(_: &Shared, _: &ProcessSummary) -> Vec<u8> {
    // Linear memory has no mappings to show.
    Vec::new()
}

pub(super) fn cgroup(_: &Shared, _: &ProcessSummary) -> Vec<u8> {
    line("0::/")
}

pub(super) fn mounts(shared: &Shared, _: &ProcessSummary) -> Vec<u8> {
    shared.view.mounts()
}

pub(super) fn limits(shared: &Shared, summary: &ProcessSummary) -> Vec<u8> {
    let number = |limit: u64| {
        if limit == u64::MAX {
            "unlimited".to_owned()
        } else {
            limit.to_string()
        }
    };
    let mut text = format!(
        "{:<25} {:<20} {:<20} {:<10}\n",
        "Limit", "Soft Limit", "Hard Limit", "Units"
    );
    for limit in shared.view.limits(summary.pid) {
        let (soft, hard) = (number(limit.soft), number(limit.hard));
        let _ = writeln!(
            text,
            "{:<25} {soft:<20} {hard:<20} {:<10}",
            limit.name, limit.unit
        );
    }
    text.into_bytes()
}

pub(super) fn statm(_: &Shared, summary: &ProcessSummary) -> Vec<u8> {
    let pages = summary.memory_bytes.div_ceil(PAGE);
    line(&format!("{pages} {pages} 0 0 0 {pages} 0"))
}

pub(super) fn process_stat(_: &Shared, summary: &ProcessSummary) -> Vec<u8> {
    let ProcessSummary {
        pid,
        ppid,
        pgid,
        sid,
        state,
        ..
    } = summary;
    let [pending, blocked, ignored, caught] = summary.signals;
    let (user, start) = (ticks(summary.cpu_ns), ticks(summary.start_ns));
    let (bytes, pages) = (summary.memory_bytes, summary.memory_bytes.div_ceil(PAGE));
    let mut text = format!("{pid} (").into_bytes();
    text.extend_from_slice(&summary.comm);
    // Fields 3 to 52, most of which mean nothing without a processor's registers.
    let rest = format!(
        ") {state} {ppid} {pgid} {sid} 0 -1 0 0 0 0 0 {user} 0 0 0 20 0 1 0 {start} {bytes} {pages} \
         18446744073709551615 0 0 0 0 0 {pending} {blocked} {ignored} {caught} 0 0 0 17 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n"
    );
    text.extend_from_slice(rest.as_bytes());
    text
}

pub(super) fn status(shared: &Shared, summary: &ProcessSummary) -> Vec<u8> {
    let state = match summary.state {
        'R' => "R (running)",
        'T' => "T (stopped)",
        'Z' => "Z (zombie)",
        _ => "S (sleeping)",
    };
    let descriptors = shared.view.descriptors(summary.pid).unwrap_or_default();
    let size = descriptors
        .last()
        .map_or(64, |&(fd, _)| u64::from(fd) + 1)
        .next_power_of_two()
        .max(64);
    let [pending, blocked, ignored, caught] = summary.signals;
    let kilobytes = summary.memory_bytes / 1024;
    let mut text = b"Name:\t".to_vec();
    text.extend_from_slice(&summary.comm);
    let rest = format!(
        "\nUmask:\t{:04o}\nState:\t{state}\nTgid:\t{pid}\nNgid:\t0\nPid:\t{pid}\nPPid:\t{}\nTracerPid:\t0\n\
         Uid:\t{UID}\t{UID}\t{UID}\t{UID}\nGid:\t{UID}\t{UID}\t{UID}\t{UID}\nFDSize:\t{size}\nGroups:\t{UID} \n\
         VmPeak:\t{kilobytes:>8} kB\nVmSize:\t{kilobytes:>8} kB\nVmRSS:\t{kilobytes:>8} kB\nThreads:\t1\n\
         SigPnd:\t{:016x}\nShdPnd:\t{pending:016x}\nSigBlk:\t{blocked:016x}\nSigIgn:\t{ignored:016x}\n\
         SigCgt:\t{caught:016x}\nCapInh:\t{:016x}\nCapPrm:\t{:016x}\nCapEff:\t{:016x}\nNoNewPrivs:\t1\n",
        summary.umask,
        summary.ppid,
        0,
        0,
        0,
        0,
        pid = summary.pid,
    );
    text.extend_from_slice(rest.as_bytes());
    text
}
