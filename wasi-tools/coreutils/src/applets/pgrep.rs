//! `pgrep`, `pkill` and `pidof`: find processes by their names.

use std::ffi::OsString;

use sandbar_guest::{Signal, process};

use super::{
    cli::{self, Opt, Order, Outcome, Output, Stop, Takes, Tool},
    proc::{self, Process},
    quote::quote_word,
    regex::Regex,
    users,
};

macro_rules! options {
    ($($more:expr),*) => {
        &[
            $($more,)*
            Opt::flag(b'c', "count"),
            Opt::flag(b'f', "full"),
            Opt::value(b'g', "pgroup"),
            Opt::value(b'G', "group"),
            Opt::flag(b'i', "ignore-case"),
            Opt::flag(b'n', "newest"),
            Opt::flag(b'o', "oldest"),
            Opt::value(b'P', "parent"),
            Opt::value(b'r', "runstates"),
            Opt::value(b's', "session"),
            Opt::value(b'u', "euid"),
            Opt::value(b'U', "uid"),
            Opt::value(0, "signal"),
            Opt::flag(b'x', "exact"),
        ]
    };
}

macro_rules! help {
    ($first:literal, $own:literal) => {
        concat!(
            $first,
            $own,
            "\
  -c, --count          show how many
  -f, --full           look at the whole command line
  -g, --pgroup LIST    in these groups; 0 is the caller's
  -G, --group LIST     of these users' groups
  -i, --ignore-case    upper and lower case are the same
  -n, --newest         only the newest
  -o, --oldest         only the oldest
  -P, --parent LIST    children of these
  -r, --runstates LIST in these states
  -s, --session LIST   in these sessions; 0 is the caller's
  -u, --euid LIST      of these effective users
  -U, --uid LIST       of these users
      --signal SIG     the signal to send
  -x, --exact          the whole name must match
      --help           show this text
      --version        show the version
"
        )
    };
}

static PGREP: Tool = Tool {
    name: "pgrep",
    help: help!(
        "Usage: pgrep [OPTION]... PATTERN\nShows the numbers of the processes whose names match an extended regular expression.\n\n",
        "  -a, --list-full      with command lines\n  -d, --delimiter S    S between numbers, not newline\n  -l, --list-name      with names\n  -v, --inverse        all others\n"
    ),
    options: options!(
        Opt::flag(b'a', "list-full"),
        Opt::value(b'd', "delimiter"),
        Opt::flag(b'l', "list-name"),
        Opt::flag(b'v', "inverse")
    ),
    order: Order::Any,
    usage_status: 2,
};

static PKILL: Tool = Tool {
    name: "pkill",
    help: help!(
        "Usage: pkill [-SIGNAL] [OPTION]... PATTERN\nSends TERM, or SIGNAL, to the processes whose names match an extended regular expression.\n\n",
        "  -e, --echo           show what is killed\n"
    ),
    options: options!(Opt::flag(b'e', "echo")),
    order: Order::Any,
    usage_status: 2,
};

static PIDOF: Tool = Tool {
    name: "pidof",
    help: "\
Usage: pidof [OPTION]... NAME...
Shows the numbers of the processes that run programs of these names.

  -s, --single-shot     only one
  -q                    show nothing, only exit
  -o, --omit-pid LIST   leave these out
  -S, --separator S     S between numbers, not a blank
  -x                    scripts too
      --help            show this text
      --version         show the version
",
    options: &[
        Opt::flag(b's', "single-shot"),
        Opt::letter(b'q', Takes::Nothing, "-q"),
        Opt::value(b'o', "omit-pid"),
        Opt::value(b'S', "separator"),
        Opt::letter(b'x', Takes::Nothing, "-x"),
    ],
    order: Order::Any,
    usage_status: 1,
};

pub(super) fn pgrep(args: Vec<OsString>) -> i32 {
    cli::status(run(&PGREP, args, None))
}

pub(super) fn pkill(args: Vec<OsString>) -> i32 {
    // The first word may be the signal: `pkill -HUP name`.
    let mut args = args;
    let signal = args
        .get(1)
        .and_then(|word| Signal::parse(word.as_encoded_bytes().strip_prefix(b"-")?));
    if signal.is_some() {
        args.remove(1);
    }
    cli::status(run(&PKILL, args, Some(signal.unwrap_or(Signal::TERM))))
}

#[derive(Default)]
struct Filter {
    full: bool,
    exact: bool,
    ignore_case: bool,
    inverse: bool,
    newest: bool,
    oldest: bool,
    groups: Vec<i32>,
    parents: Vec<i32>,
    sessions: Vec<i32>,
    states: String,
    user_groups: Vec<u32>,
    effective: Vec<u32>,
    real: Vec<u32>,
}

#[derive(Default)]
struct Display {
    count: bool,
    list_full: bool,
    list_name: bool,
    echo: bool,
    delimiter: Option<Vec<u8>>,
}

fn run(tool: &'static Tool, args: Vec<OsString>, mut signal: Option<Signal>) -> Outcome {
    let (mut filter, mut display) = (Filter::default(), Display::default());
    let mut parser = tool.parse(args);
    while let Some((option, value)) = parser.next()? {
        let value = value
            .map(|value| String::from_utf8_lossy(&value).into_owned())
            .unwrap_or_default();
        match option {
            "count" => display.count = true,
            "list-full" => display.list_full = true,
            "list-name" => display.list_name = true,
            "echo" => display.echo = true,
            "delimiter" => display.delimiter = Some(value.into_bytes()),
            "signal" if signal.is_some() => {
                let parsed = Signal::parse(value.as_bytes());
                signal = Some(parsed.ok_or_else(|| {
                    tool.usage(format!("unknown signal {}", quote_word(value.as_bytes())))
                })?);
            }
            other => filter.read(tool, other, &value)?,
        }
    }
    let operands = parser.operands();
    let pattern = match operands.as_slice() {
        [] if filter.is_empty() => return Err(tool.usage("no matching criteria specified")),
        [] => None,
        [pattern] => Some(regex(tool, pattern, filter.ignore_case)?),
        _ => return Err(tool.usage("only one pattern can be provided")),
    };
    let found = filter.find(pattern.as_ref());
    let mut failed = false;
    if let Some(signal) = signal {
        for process in &found {
            if let Err(errno) = process::kill(process.pid, Some(signal)) {
                failed = true;
                tool.warn(format!("killing pid {} failed: {errno}", process.pid));
            }
        }
    }
    let mut out = Output::new();
    display.show(&found, signal.is_some(), &mut out);
    Ok(out.finish(tool, i32::from(found.is_empty() || failed)))
}

fn regex(tool: &Tool, pattern: &[u8], ignore_case: bool) -> Result<Regex, Stop> {
    let text = String::from_utf8_lossy(pattern).into_owned();
    Regex::new(&text, ignore_case).ok_or_else(|| {
        tool.fail(
            2,
            format!("invalid regular expression: {}", quote_word(pattern)),
        )
    })
}

impl Filter {
    fn read(&mut self, tool: &Tool, option: &str, value: &str) -> Result<(), Stop> {
        let wrong = |item: &str| tool.usage(format!("not a number: {item}"));
        let numbers = || {
            value
                .split(',')
                .map(|item| item.parse::<i32>().map_err(|_| wrong(item)))
                .collect::<Result<Vec<_>, _>>()
        };
        let ids = |find: fn(&str) -> Option<u32>, what: &str| {
            let id =
                |item| find(item).ok_or_else(|| tool.usage(format!("invalid {what} name: {item}")));
            value.split(',').map(id).collect::<Result<Vec<_>, _>>()
        };
        let user = |name: &str| {
            users::user(name)
                .map(|user| user.uid)
                .or_else(|| name.parse().ok())
        };
        match option {
            "full" => self.full = true,
            "exact" => self.exact = true,
            "ignore-case" => self.ignore_case = true,
            "inverse" => self.inverse = true,
            "newest" => self.newest = true,
            "oldest" => self.oldest = true,
            "pgroup" => self.groups = numbers()?,
            "parent" => self.parents = numbers()?,
            "session" => self.sessions = numbers()?,
            "runstates" => value.clone_into(&mut self.states),
            "group" => self.user_groups = ids(users::group, "group")?,
            "euid" => self.effective = ids(user, "user")?,
            "uid" => self.real = ids(user, "user")?,
            _ => {}
        }
        Ok(())
    }

    fn is_empty(&self) -> bool {
        self.groups.is_empty()
            && self.parents.is_empty()
            && self.sessions.is_empty()
            && self.states.is_empty()
            && self.user_groups.is_empty()
            && self.effective.is_empty()
            && self.real.is_empty()
    }

    fn find(&self, pattern: Option<&Regex>) -> Vec<Process> {
        let own = process::ids(None).ok();
        let own_id = |number: i32, own: Option<process::Pid>| {
            if number == 0 {
                own.map_or(0, |pid| pid.0)
            } else {
                number
            }
        };
        let groups: Vec<_> = self
            .groups
            .iter()
            .map(|id| own_id(*id, own.map(|own| own.pgid)))
            .collect();
        let sessions: Vec<_> = self
            .sessions
            .iter()
            .map(|id| own_id(*id, own.map(|own| own.sid)))
            .collect();
        let among = |list: &[i32], id: i32| list.is_empty() || list.contains(&id);
        let of_user = |list: &[u32], id: u32| list.is_empty() || list.contains(&id);
        let mut found = proc::all();
        found.retain(|process| own.is_none_or(|own| own.pid.0 != process.pid));
        found.retain(|process| {
            let text = if self.full && !process.args.is_empty() {
                process.args.join(" ")
            } else {
                process.comm.clone()
            };
            let matches = among(&groups, process.pgid)
                && among(&self.parents, process.ppid)
                && among(&sessions, process.sid)
                && (self.states.is_empty() || self.states.contains(process.state))
                && of_user(&self.user_groups, process.real_gid)
                && of_user(&self.effective, process.uid)
                && of_user(&self.real, process.real_uid)
                && pattern.is_none_or(|pattern| pattern.matches(&text, self.exact));
            matches != self.inverse
        });
        let age = |process: &Process| (process.start_ticks, process.pid);
        let chosen = match (self.newest, self.oldest) {
            (true, _) => found.iter().max_by_key(|process| age(process)),
            (_, true) => found.iter().min_by_key(|process| age(process)),
            _ => return found,
        };
        chosen.cloned().into_iter().collect()
    }
}

impl Display {
    fn show(&self, found: &[Process], killed: bool, out: &mut Output) {
        if self.count {
            return out.text(&format!("{}\n", found.len()));
        }
        if killed {
            for process in found.iter().filter(|_| self.echo) {
                out.text(&format!("{} killed (pid {})\n", process.comm, process.pid));
            }
            return;
        }
        let line = |process: &Process| match () {
            () if self.list_full => format!("{} {}", process.pid, process.command()),
            () if self.list_name => format!("{} {}", process.pid, process.comm),
            () => process.pid.to_string(),
        };
        let delimiter = self.delimiter.as_deref().unwrap_or(b"\n");
        for (index, process) in found.iter().enumerate() {
            if index > 0 {
                out.bytes(delimiter);
            }
            out.text(&line(process));
        }
        if !found.is_empty() {
            out.text("\n");
        }
    }
}

pub(super) fn pidof(args: Vec<OsString>) -> i32 {
    cli::status(run_pidof(args))
}

fn run_pidof(args: Vec<OsString>) -> Outcome {
    let (mut single, mut quiet, mut scripts, mut separator, mut omitted) =
        (false, false, false, b" ".to_vec(), Vec::new());
    let mut parser = PIDOF.parse(args);
    while let Some((option, value)) = parser.next()? {
        let value = value.unwrap_or_default();
        match option {
            "single-shot" => single = true,
            "-q" => quiet = true,
            "-x" => scripts = true,
            "separator" => separator = value,
            _ => omitted.extend(
                String::from_utf8_lossy(&value)
                    .split(',')
                    .filter_map(|pid| pid.parse::<i32>().ok()),
            ),
        }
    }
    let base = |path: &str| path.rsplit('/').next().unwrap_or_default().to_owned();
    let names: Vec<_> = parser
        .operands()
        .iter()
        .map(|name| String::from_utf8_lossy(name).into_owned())
        .collect();
    let own = process::id();
    let mut found = proc::all();
    found.retain(|process| {
        let program = process
            .args
            .first()
            .map(|program| base(program))
            .unwrap_or_default();
        let script = process
            .args
            .get(1)
            .map(|script| base(script))
            .filter(|_| scripts);
        let called = |name: &String| {
            let name = base(name);
            program.trim_start_matches('-') == name
                || process.comm == name
                || script.as_deref() == Some(&name)
        };
        process.pid != own.0
            && !omitted.contains(&process.pid)
            && process.state != 'Z'
            && names.iter().any(called)
    });
    // The newest first, as it has always been.
    found.reverse();
    let numbers: Vec<_> = found
        .iter()
        .take(if single { 1 } else { usize::MAX })
        .map(|p| p.pid.to_string())
        .collect();
    let mut out = Output::new();
    if !quiet && !numbers.is_empty() {
        out.bytes(
            &numbers
                .iter()
                .map(String::as_bytes)
                .collect::<Vec<_>>()
                .join(separator.as_slice()),
        );
        out.text("\n");
    }
    Ok(out.finish(&PIDOF, i32::from(numbers.is_empty())))
}
