//! `uname`, `arch`, `hostname` and `nproc`: what this machine says it is.

use std::ffi::OsString;

use super::{
    cli::{self, Opt, Order, Outcome, Output, Stop, Takes, Tool},
    quote::quote_word,
};

/// NOTE: scripts ask for "Linux" to learn which options tools have, and these are Linux's.
const KERNEL: &str = "Linux";
const MACHINE: &str = "wasm32";
const SYSTEM: &str = "GNU/Linux";

static UNAME: Tool = Tool {
    name: "uname",
    help: "\
Usage: uname [OPTION]...
Shows what the system is; the same as -s without an option.

  -a, --all                everything, in this order, without -p and -i if unknown
  -s, --kernel-name        name of the kernel
  -n, --nodename           name of the host
  -r, --kernel-release     release of the kernel: Sandbar's version
  -v, --kernel-version     build of the kernel
  -m, --machine            kind of machine
  -p, --processor          kind of processor
  -i, --hardware-platform  kind of hardware
  -o, --operating-system   name of the operating system
      --help               show this text
      --version            show the version
",
    options: &[
        Opt::flag(b'a', "all"),
        Opt::flag(b's', "kernel-name"),
        Opt::flag(0, "sysname"),
        Opt::flag(b'n', "nodename"),
        Opt::flag(b'r', "kernel-release"),
        Opt::flag(0, "release"),
        Opt::flag(b'v', "kernel-version"),
        Opt::flag(b'm', "machine"),
        Opt::flag(b'p', "processor"),
        Opt::flag(b'i', "hardware-platform"),
        Opt::flag(b'o', "operating-system"),
    ],
    order: Order::Any,
    usage_status: 1,
};

static ARCH: Tool = Tool {
    name: "arch",
    help: "Usage: arch [OPTION]...\nShows the kind of machine, as uname -m.\n\n      --help      show this text\n      --version   show the version\n",
    options: &[],
    order: Order::Any,
    usage_status: 1,
};

static HOSTNAME: Tool = Tool {
    name: "hostname",
    help: "\
Usage: hostname [OPTION]...
Shows the name of this host. It can't be set.

  -a, --alias            other names
  -d, --domain           what follows the first dot
  -f, --fqdn, --long     the full name
  -i, --ip-address       addresses of the name
  -I, --all-ip-addresses addresses of this host
  -s, --short            what precedes the first dot
      --help             show this text
      --version          show the version
",
    options: &[
        Opt::flag(b'a', "alias"),
        Opt::flag(b'd', "domain"),
        Opt::flag(b'f', "fqdn"),
        Opt::flag(0, "long"),
        Opt::flag(b'i', "ip-address"),
        Opt::flag(b'I', "all-ip-addresses"),
        Opt::flag(b's', "short"),
        Opt::letter(b'h', Takes::Nothing, "help"),
        Opt::letter(b'V', Takes::Nothing, "version"),
    ],
    order: Order::Any,
    usage_status: 1,
};

static NPROC: Tool = Tool {
    name: "nproc",
    help: "\
Usage: nproc [OPTION]...
Shows how many processors there are.

      --all        all that are installed
      --ignore=N   as if there were N fewer
      --help       show this text
      --version    show the version
",
    options: &[Opt::flag(0, "all"), Opt::value(0, "ignore")],
    order: Order::Any,
    usage_status: 1,
};

fn read(path: &str) -> Option<String> {
    let text = std::fs::read_to_string(path).ok()?;
    Some(text.trim().to_owned()).filter(|text| !text.is_empty())
}

/// What the kernel says about itself.
fn kernel(name: &str) -> Option<String> {
    read(&format!("/proc/sys/kernel/{name}"))
}

/// The host's name: the kernel's, else the one in `/etc`.
fn host_name() -> String {
    kernel("hostname")
        .or_else(|| read("/etc/hostname"))
        .unwrap_or_else(|| String::from("sandbar"))
}

fn no_operands(tool: &'static Tool, parser: cli::Parser) -> Result<(), Stop> {
    parser
        .operands()
        .first()
        .map_or(Ok(()), |operand| Err(tool.extra_operand(operand)))
}

fn print(tool: &Tool, text: &str) -> i32 {
    let mut out = Output::new();
    out.text(text);
    out.text("\n");
    out.finish(tool, 0)
}

pub(super) fn main(args: Vec<OsString>) -> i32 {
    cli::status(run(args))
}

fn run(args: Vec<OsString>) -> Outcome {
    let mut wanted = Vec::new();
    let mut parser = UNAME.parse(args);
    while let Some((option, _)) = parser.next()? {
        match option {
            "all" => wanted.extend([
                "kernel-name",
                "nodename",
                "kernel-release",
                "kernel-version",
                "machine",
            ]),
            "sysname" => wanted.push("kernel-name"),
            "release" => wanted.push("kernel-release"),
            other => wanted.push(other),
        }
        if option == "all" {
            wanted.push("operating-system");
        }
    }
    no_operands(&UNAME, parser)?;
    if wanted.is_empty() {
        wanted.push("kernel-name");
    }
    let parts = [
        ("kernel-name", KERNEL.to_owned()),
        ("nodename", host_name()),
        (
            "kernel-release",
            kernel("osrelease").unwrap_or_else(|| env!("CARGO_PKG_VERSION").to_owned()),
        ),
        (
            "kernel-version",
            kernel("version").unwrap_or_else(|| String::from("Sandbar")),
        ),
        ("machine", MACHINE.to_owned()),
        ("processor", String::from("unknown")),
        ("hardware-platform", String::from("unknown")),
        ("operating-system", SYSTEM.to_owned()),
    ];
    let shown = parts
        .into_iter()
        .filter(|(part, _)| wanted.contains(part))
        .map(|(_, text)| text);
    Ok(print(&UNAME, &shown.collect::<Vec<_>>().join(" ")))
}

pub(super) fn arch(args: Vec<OsString>) -> i32 {
    let run = || {
        let mut parser = ARCH.parse(args);
        while parser.next()?.is_some() {}
        no_operands(&ARCH, parser)?;
        Ok(print(&ARCH, MACHINE))
    };
    cli::status(run())
}

pub(super) fn hostname(args: Vec<OsString>) -> i32 {
    cli::status(run_hostname(args))
}

fn run_hostname(args: Vec<OsString>) -> Outcome {
    let name = host_name();
    let mut shown = name.clone();
    let mut parser = HOSTNAME.parse(args);
    while let Some((option, _)) = parser.next()? {
        shown = match option {
            "short" => name.split('.').next().unwrap_or_default().to_owned(),
            "domain" => name
                .split_once('.')
                .map(|(_, domain)| domain.to_owned())
                .unwrap_or_default(),
            "alias" => String::new(),
            // A sandbox has no network but itself.
            "ip-address" | "all-ip-addresses" => String::from("127.0.0.1"),
            _ => name.clone(),
        };
    }
    if !parser.operands().is_empty() {
        return Err(HOSTNAME.fail(1, "you must be root to change the host name"));
    }
    Ok(print(&HOSTNAME, &shown))
}

pub(super) fn nproc(args: Vec<OsString>) -> i32 {
    cli::status(run_nproc(args))
}

fn run_nproc(args: Vec<OsString>) -> Outcome {
    let (mut all, mut ignored) = (false, 0);
    let mut parser = NPROC.parse(args);
    while let Some((option, value)) = parser.next()? {
        match (option, value) {
            ("ignore", Some(value)) => {
                let number = std::str::from_utf8(&value)
                    .ok()
                    .and_then(|text| text.trim_ascii_start().parse().ok());
                ignored = number.ok_or_else(|| {
                    NPROC.fail(1, format!("invalid number: {}", quote_word(&value)))
                })?;
            }
            _ => all = true,
        }
    }
    no_operands(&NPROC, parser)?;
    Ok(print(
        &NPROC,
        &processors(all).saturating_sub(ignored).max(1).to_string(),
    ))
}

/// How many processors: OpenMP's variables may lower what `/proc/cpuinfo` shows.
fn processors(all: bool) -> u64 {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let installed = text
        .lines()
        .filter(|line| line.starts_with("processor"))
        .count();
    let installed = u64::try_from(installed).unwrap_or(1).max(1);
    let variable = |name: &str| {
        let text = std::env::var(name).ok()?;
        text.split(',')
            .next()?
            .trim()
            .parse::<u64>()
            .ok()
            .filter(|number| *number > 0)
    };
    if all {
        return installed;
    }
    let threads = variable("OMP_NUM_THREADS").unwrap_or(installed);
    variable("OMP_THREAD_LIMIT").map_or(threads, |limit| threads.min(limit))
}
