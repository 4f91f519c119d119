//! `ps`: shows processes.

mod columns;

use std::ffi::OsString;

use sandbar_guest::{Fd, process};

use super::{
    cli::{Order, Output, Stop, Tool, status},
    proc::{self, Process},
    users,
};
use columns::{Column, Context};

static TOOL: Tool = Tool {
    name: "ps",
    help: "\
Usage: ps [OPTION]...
Shows processes: those of the caller, without options.

Which: -e, -A all; -a with a terminal; -d all but session leaders; -p, --pid LIST; --ppid LIST; -C NAMES; -u, -U, --user
  LIST; -g, --group LIST; -s, --sid LIST; -N, --deselect all others; of BSD: a with a terminal, x without too, p, U
How: -f full; -F more; -l long; -j jobs; -o, --format LIST columns; of BSD: u, l, j, o
  --no-headers, h; --sort [-]COLUMN,...; -w, w ignored: lines are never cut
  --help, --version

Columns: pid ppid pgid sid user uid group gid ruser euser rgroup egroup tty stat s comm args cmd ucmd etime etimes time
  cputimes %cpu c %mem vsz rss sz start stime lstart start_time bsdstart bsdtime ni pri nlwp f wchan psr; NAME=HEADING
  sets a heading.
",
    options: &[],
    order: Order::Any,
    usage_status: 1,
};

/// What is asked for.
#[derive(Default)]
struct Request {
    columns: Vec<Column>,
    /// A format of its own name, when none is given by columns.
    format: Option<&'static str>,
    all: bool,
    with_terminal: bool,
    no_leaders: bool,
    bsd: bool,
    bsd_all: bool,
    bsd_no_terminal: bool,
    deselect: bool,
    pids: Vec<i32>,
    parents: Vec<i32>,
    sessions: Vec<i32>,
    names: Vec<String>,
    users: Vec<u32>,
    groups: Vec<u32>,
    no_headers: bool,
    sort: Vec<String>,
}

const DEFAULT: &str = "pid,tname,time,ucmd";
const FULL: &str = "user=UID,pid,ppid,c,stime,tname,time,cmd";
const MORE: &str = "user=UID,pid,ppid,c,sz,rss,psr,stime,tname,time,cmd";
const LONG: &str = "f,s,uid,pid,ppid,c,opri,ni,addr_1,sz,wchan,tname,time,ucmd";
const JOBS: &str = "pid,pgid,sid,tname,time,ucmd";
const BSD: &str = "pid,tname,stat,bsdtime,args";
const BSD_USER: &str = "user,pid,%cpu,%mem,vsz,rss,tname,stat,start_time,bsdtime,args";
const BSD_LONG: &str = "f,uid,pid,ppid,pri,ni,vsz,rss,wchan,stat,tname,bsdtime,args";
const BSD_JOBS: &str = "ppid,pid,pgid,sid,tname,tpgid,stat,uid,bsdtime,args";

pub(super) fn main(args: Vec<OsString>) -> i32 {
    status(run(args))
}

fn wrong(text: &str) -> Stop {
    let usage = "\nUsage:\n ps [options]\n\n Try 'ps --help' for additional help text.\n";
    let _unwritable = Fd::STDERR.write_all(format!("error: {text}\n{usage}").as_bytes());
    Stop(1)
}

fn run(args: Vec<OsString>) -> Result<i32, Stop> {
    let mut request = Request::default();
    let mut words: Vec<_> = args
        .into_iter()
        .skip(1)
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    words.reverse();
    while let Some(word) = words.pop() {
        if let Some(long) = word.strip_prefix("--") {
            request.long(long, &mut words)?;
        } else if let Some(letters) = word.strip_prefix('-') {
            request.letters(letters, &mut words)?;
        } else if word.starts_with(|c: char| c.is_ascii_digit()) {
            request.pids.extend(numbers(&word)?);
        } else {
            request.bsd_letters(&word, &mut words)?;
        }
    }
    let own = process::ids(None).map_err(|errno| TOOL.fail(1, errno.to_string()))?;
    let own_terminal = proc::one(own.pid.0).map_or(0, |own| own.tty);
    let mut shown = proc::all();
    shown.retain(|process| request.wants(process, own.uid, own_terminal) != request.deselect);
    Ok(request.show(shown))
}

/// What a list of numbers, names or columns is taken apart at.
fn list(text: &str) -> impl Iterator<Item = &str> {
    text.split([',', ' ']).filter(|item| !item.is_empty())
}

fn numbers(text: &str) -> Result<Vec<i32>, Stop> {
    list(text)
        .map(|item| {
            item.parse()
                .map_err(|_| wrong("process ID list syntax error"))
        })
        .collect()
}

fn user_ids(text: &str) -> Result<Vec<u32>, Stop> {
    let id = |name: &str| {
        users::user(name)
            .map(|user| user.uid)
            .or_else(|| name.parse().ok())
    };
    list(text)
        .map(|item| id(item).ok_or_else(|| wrong("user name does not exist")))
        .collect()
}

fn group_ids(text: &str) -> Result<Vec<u32>, Stop> {
    list(text)
        .map(|item| users::group(item).ok_or_else(|| wrong("group name does not exist")))
        .collect()
}

impl Request {
    fn long(&mut self, word: &str, words: &mut Vec<String>) -> Result<(), Stop> {
        let (name, attached) = match word.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (word, None),
        };
        let mut value = || {
            attached
                .clone()
                .or_else(|| words.pop())
                .ok_or_else(|| wrong("list of values must follow"))
        };
        match name {
            "help" | "version" => {
                let mut parser = TOOL.parse(vec!["ps".into(), format!("--{name}").into()]);
                return parser.next().map(|_| ());
            }
            "deselect" => self.deselect = true,
            "no-headers" | "no-heading" | "noheader" | "noheading" | "no-header" | "noheaders"
            | "noheadings" | "no-headings" => self.no_headers = true,
            "headers" | "heading" | "header" | "headings" => self.no_headers = false,
            "pid" => self.pids.extend(numbers(&value()?)?),
            "ppid" => self.parents.extend(numbers(&value()?)?),
            "sid" => self.sessions.extend(numbers(&value()?)?),
            "user" | "User" => self.users.extend(user_ids(&value()?)?),
            "group" | "Group" => self.groups.extend(group_ids(&value()?)?),
            "format" => self.add_columns(&value()?)?,
            "sort" => self.sort.extend(list(&value()?).map(str::to_owned)),
            // Lines are as long as they are, and there is no terminal with columns and rows.
            "cols" | "columns" | "width" | "rows" | "lines" => drop(value()?),
            _ => return Err(wrong("unknown gnu long option")),
        }
        Ok(())
    }

    fn letters(&mut self, letters: &str, words: &mut Vec<String>) -> Result<(), Stop> {
        let mut letters = letters.chars();
        while let Some(letter) = letters.next() {
            let mut value = || {
                let rest = std::mem::replace(&mut letters, "".chars())
                    .as_str()
                    .to_owned();
                if !rest.is_empty() {
                    Ok(rest)
                } else {
                    words
                        .pop()
                        .ok_or_else(|| wrong("list of values must follow"))
                }
            };
            match letter {
                'e' | 'A' => self.all = true,
                'a' => self.with_terminal = true,
                'd' => self.no_leaders = true,
                'N' => self.deselect = true,
                'f' => self.format = Some(FULL),
                'F' => self.format = Some(MORE),
                'l' => self.format = Some(LONG),
                'j' => self.format = Some(JOBS),
                'p' | 'q' => self.pids.extend(numbers(&value()?)?),
                's' => self.sessions.extend(numbers(&value()?)?),
                'u' | 'U' => self.users.extend(user_ids(&value()?)?),
                'G' | 'g' => self.groups.extend(group_ids(&value()?)?),
                'C' => self.names.extend(list(&value()?).map(str::to_owned)),
                'o' => self.add_columns(&value()?)?,
                // Lines are never cut, a process has one thread, and -y changes what is not shown.
                'w' | 'y' => {}
                _ => return Err(wrong("unsupported SysV option")),
            }
        }
        Ok(())
    }

    fn bsd_letters(&mut self, letters: &str, words: &mut Vec<String>) -> Result<(), Stop> {
        self.bsd = true;
        let mut letters = letters.chars();
        while let Some(letter) = letters.next() {
            let mut value = || {
                let rest = std::mem::replace(&mut letters, "".chars())
                    .as_str()
                    .to_owned();
                if !rest.is_empty() {
                    Ok(rest)
                } else {
                    words
                        .pop()
                        .ok_or_else(|| wrong("list of values must follow"))
                }
            };
            match letter {
                'a' => self.bsd_all = true,
                'x' => self.bsd_no_terminal = true,
                'u' => self.format = Some(BSD_USER),
                'l' => self.format = Some(BSD_LONG),
                'j' => self.format = Some(BSD_JOBS),
                'h' => self.no_headers = true,
                'p' => self.pids.extend(numbers(&value()?)?),
                'U' => self.users.extend(user_ids(&value()?)?),
                'o' => self.add_columns(&value()?)?,
                'k' => self.sort.extend(list(&value()?).map(str::to_owned)),
                'w' => {}
                _ => return Err(wrong("unsupported option (BSD syntax)")),
            }
        }
        Ok(())
    }

    /// Adds columns: `NAME`, `NAME:WIDTH` or `NAME=HEADING`, with commas or blanks between them.
    fn add_columns(&mut self, text: &str) -> Result<(), Stop> {
        let mut rest = text;
        while !rest.is_empty() {
            let end = rest.find([',', ' ', '=', ':']).unwrap_or(rest.len());
            let (name, after) = rest.split_at(end);
            let mut column = Column::find(name).ok_or_else(|| {
                wrong(&format!("unknown user-defined format specifier \"{name}\""))
            })?;
            rest = after;
            if let Some(after) = rest.strip_prefix(':') {
                let end = after.find([',', ' ', '=']).unwrap_or(after.len());
                let (width, after) = after.split_at(end);
                column.width = width
                    .parse()
                    .ok()
                    .filter(|width| (1..=4096).contains(width))
                    .ok_or_else(|| wrong("improper format list"))?;
                rest = after;
            }
            match rest.strip_prefix('=') {
                Some(after) => {
                    let end = after.find(',').unwrap_or(after.len());
                    let (heading, after) = after.split_at(end);
                    column.set_heading(heading);
                    rest = after.strip_prefix(',').unwrap_or(after);
                }
                None => rest = rest.get(1..).unwrap_or_default(),
            }
            self.columns.push(column);
        }
        Ok(())
    }

    fn wants(&self, process: &Process, uid: u32, own_terminal: u64) -> bool {
        let chosen = !(self.pids.is_empty()
            && self.parents.is_empty()
            && self.sessions.is_empty()
            && self.names.is_empty()
            && self.users.is_empty()
            && self.groups.is_empty());
        if self.all || (self.bsd_all && self.bsd_no_terminal) {
            return true;
        }
        let leader = process.sid == process.pid;
        let listed = self.pids.contains(&process.pid)
            || self.parents.contains(&process.ppid)
            || self.sessions.contains(&process.sid)
            || self.names.contains(&process.comm)
            || self.users.contains(&process.uid)
            || self.groups.contains(&process.gid)
            || self
                .groups
                .contains(&u32::try_from(process.sid).unwrap_or(0));
        // Without a terminal of its own the caller does not care about others'.
        let has_terminal = process.tty != 0 || own_terminal == 0;
        if self.no_leaders && !leader || self.with_terminal && has_terminal && !leader {
            return true;
        }
        if chosen || self.no_leaders || self.with_terminal {
            return listed;
        }
        match (self.bsd, self.bsd_all, self.bsd_no_terminal) {
            (true, true, _) => has_terminal,
            (true, false, true) => process.uid == uid,
            (true, false, false) => process.uid == uid && has_terminal,
            (false, ..) => process.uid == uid && process.tty == own_terminal,
        }
    }

    fn show(&mut self, mut processes: Vec<Process>) -> i32 {
        let found = !processes.is_empty();
        if self.columns.is_empty() {
            let format = self.format.unwrap_or(if self.bsd { BSD } else { DEFAULT });
            for item in format.split(',') {
                // The formats above name columns that there are.
                let (name, heading) = item
                    .split_once('=')
                    .map_or((item, None), |(name, it)| (name, Some(it)));
                if let Some(mut column) = Column::find(name) {
                    if let Some(heading) = heading {
                        heading.clone_into(&mut column.heading);
                    }
                    self.columns.push(column);
                }
            }
        }
        let context = Context::new();
        for key in self.sort.iter().rev() {
            let (reverse, name) = key
                .strip_prefix('-')
                .map_or((false, key.as_str()), |name| (true, name));
            if let Some(column) = Column::find(name.strip_prefix('+').unwrap_or(name)) {
                processes.sort_by(|left, right| {
                    let order = column.compare(&context, left, right);
                    if reverse { order.reverse() } else { order }
                });
            }
        }
        let mut out = Output::new();
        let headings: Vec<_> = self
            .columns
            .iter()
            .map(|column| column.heading.clone())
            .collect();
        if !self.no_headers && headings.iter().any(|heading| !heading.is_empty()) {
            self.line(&headings, &mut out);
        }
        for process in &processes {
            let values: Vec<_> = self
                .columns
                .iter()
                .map(|column| (column.value)(&context, process))
                .collect();
            self.line(&values, &mut out);
        }
        out.finish(&TOOL, i32::from(!found))
    }

    fn line(&self, values: &[String], out: &mut Output) {
        let mut line = String::new();
        let last = self.columns.len().saturating_sub(1);
        let mut over = 0;
        for (index, (column, value)) in self.columns.iter().zip(values).enumerate() {
            let value: String = value
                .chars()
                .map(|c| if c.is_control() { '?' } else { c })
                .collect();
            // A value that is too wide takes the place of the next one's blanks.
            let width = column.width.saturating_sub(over);
            let shown = value.chars().count();
            let missing = width.saturating_sub(shown);
            if column.left {
                line.push_str(&value);
                if index < last {
                    line.push_str(&" ".repeat(missing));
                }
            } else {
                line.push_str(&" ".repeat(missing));
                line.push_str(&value);
            }
            over = (over + shown.max(width))
                .saturating_sub(column.width)
                .min(over + shown);
            if shown <= width {
                over = 0;
            }
            if index < last {
                line.push(' ');
            }
        }
        out.text(&line);
        out.text("\n");
    }
}
