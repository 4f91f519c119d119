//! `id`, `whoami` and `groups`: who the caller is.

use std::ffi::OsString;

use sandbar_guest::process;

use super::{
    cli::{self, Opt, Order, Outcome, Output, Stop, Tool},
    quote::quote_word,
    users::{self, User},
};

static ID: Tool = Tool {
    name: "id",
    help: "\
Usage: id [OPTION]... [USER]...
Shows the ids of each USER, or of the calling process.

  -a              ignored, for compatibility
  -Z, --context   the security context, which there is none of
  -g, --group     only the effective group
  -G, --groups    all groups
  -n, --name      names instead of numbers, with -u, -g or -G
  -r, --real      the real id, with -u, -g or -G
  -u, --user      only the effective user
  -z, --zero      end entries with NUL instead of space or newline
      --help      show this text
      --version   show the version
",
    options: &[
        Opt::letter(b'a', cli::Takes::Nothing, "-a"),
        Opt::flag(b'Z', "context"),
        Opt::flag(b'g', "group"),
        Opt::flag(b'G', "groups"),
        Opt::flag(b'n', "name"),
        Opt::flag(b'r', "real"),
        Opt::flag(b'u', "user"),
        Opt::flag(b'z', "zero"),
    ],
    order: Order::Any,
    usage_status: 1,
};

static WHOAMI: Tool = Tool {
    name: "whoami",
    help: "\
Usage: whoami [OPTION]...
Shows the name of the effective user.

      --help      show this text
      --version   show the version
",
    options: &[],
    order: Order::Any,
    usage_status: 1,
};

static GROUPS: Tool = Tool {
    name: "groups",
    help: "\
Usage: groups [OPTION]... [USERNAME]...
Shows the groups of each USERNAME, or of the calling process.

      --help      show this text
      --version   show the version
",
    options: &[],
    order: Order::Any,
    usage_status: 1,
};

pub(super) fn main(args: Vec<OsString>) -> i32 {
    cli::status(run(args))
}

pub(super) fn whoami(args: Vec<OsString>) -> i32 {
    cli::status(run_whoami(args))
}

pub(super) fn groups(args: Vec<OsString>) -> i32 {
    cli::status(run_groups(args))
}

/// The ids of the process, with its user's name when it has one.
fn caller(tool: &Tool) -> Result<User, Stop> {
    let ids =
        process::ids(None).map_err(|errno| tool.fail(1, format!("cannot get the ids: {errno}")))?;
    let name = users::user_name(ids.uid).unwrap_or_default();
    Ok(User {
        name,
        uid: ids.uid,
        gid: ids.gid,
    })
}

/// Which part `id` shows.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Everything,
    User,
    Group,
    Groups,
}

fn run(args: Vec<OsString>) -> Outcome {
    let (mut part, mut names, mut real, mut zero) = (Part::Everything, false, false, false);
    let mut parser = ID.parse(args);
    while let Some((option, _)) = parser.next()? {
        let chosen = match option {
            "context" => {
                return Err(ID.fail(1, "--context (-Z) works only on an SELinux-enabled kernel"));
            }
            "group" => Part::Group,
            "groups" => Part::Groups,
            "user" => Part::User,
            "name" => {
                names = true;
                continue;
            }
            "real" => {
                real = true;
                continue;
            }
            "zero" => {
                zero = true;
                continue;
            }
            _ => continue,
        };
        if part != Part::Everything && part != chosen {
            return Err(ID.fail(1, "cannot print \"only\" of more than one choice"));
        }
        part = chosen;
    }
    if part == Part::Everything && (names || real) {
        return Err(ID.fail(1, "cannot print only names or real IDs in default format"));
    }
    if part == Part::Everything && zero {
        return Err(ID.fail(1, "option --zero not permitted in default format"));
    }
    let operands = parser.operands();
    let mut show = Show {
        part,
        names,
        zero,
        several: operands.len() > 1,
        out: Output::new(),
        failed: false,
    };
    if operands.is_empty() {
        show.user(&caller(&ID)?);
    }
    for operand in operands {
        let text = String::from_utf8_lossy(&operand);
        if let Some(user) = users::user(text.strip_prefix('+').unwrap_or(&text)) {
            show.user(&user);
        } else {
            show.out.flush();
            show.failed = true;
            ID.warn(format!("{}: no such user", quote_word(&operand)));
        }
    }
    let failed = i32::from(show.failed);
    Ok(show.out.finish(&ID, failed))
}

struct Show {
    part: Part,
    names: bool,
    zero: bool,
    several: bool,
    out: Output,
    failed: bool,
}

impl Show {
    fn user(&mut self, user: &User) {
        let end = if self.zero { "\0" } else { "\n" };
        let text = match self.part {
            Part::User => self.name_or_number(user.uid, users::user_name(user.uid), "user") + end,
            Part::Group => {
                self.name_or_number(user.gid, users::group_name(user.gid), "group") + end
            }
            Part::Groups => {
                let names = users::groups_of(user).into_iter();
                let names =
                    names.map(|gid| self.name_or_number(gid, users::group_name(gid), "group"));
                let names: Vec<_> = names.collect();
                let between = if self.zero { "\0" } else { " " };
                let last = if self.zero && self.several {
                    "\0\0"
                } else {
                    end
                };
                names.join(between) + last
            }
            Part::Everything => everything(user),
        };
        self.out.text(&text);
    }

    fn name_or_number(&mut self, id: u32, name: Option<String>, what: &str) -> String {
        if !self.names {
            return id.to_string();
        }
        name.unwrap_or_else(|| {
            ID.warn(format!("cannot find name for {what} ID {id}"));
            self.failed = true;
            id.to_string()
        })
    }
}

fn everything(user: &User) -> String {
    let with_name = |id: u32, name: Option<String>| match name {
        Some(name) => format!("{id}({name})"),
        None => id.to_string(),
    };
    let group = |gid| with_name(gid, users::group_name(gid));
    let groups: Vec<_> = users::groups_of(user).into_iter().map(group).collect();
    let name = users::user_name(user.uid);
    format!(
        "uid={} gid={} groups={}\n",
        with_name(user.uid, name),
        group(user.gid),
        groups.join(",")
    )
}

fn run_whoami(args: Vec<OsString>) -> Outcome {
    let mut parser = WHOAMI.parse(args);
    while parser.next()?.is_some() {}
    if let Some(operand) = parser.operands().first() {
        return Err(WHOAMI.extra_operand(operand));
    }
    let user = caller(&WHOAMI)?;
    if user.name.is_empty() {
        return Err(WHOAMI.fail(1, format!("cannot find name for user ID {}", user.uid)));
    }
    let mut out = Output::new();
    out.text(&(user.name + "\n"));
    Ok(out.finish(&WHOAMI, 0))
}

fn run_groups(args: Vec<OsString>) -> Outcome {
    let mut parser = GROUPS.parse(args);
    while parser.next()?.is_some() {}
    let operands = parser.operands();
    let (mut out, mut failed) = (Output::new(), false);
    let mut names = |user: &User| {
        let names = users::groups_of(user).into_iter().map(|gid| {
            users::group_name(gid).unwrap_or_else(|| {
                GROUPS.warn(format!("cannot find name for group ID {gid}"));
                failed = true;
                gid.to_string()
            })
        });
        names.collect::<Vec<_>>().join(" ")
    };
    if operands.is_empty() {
        out.text(&(names(&caller(&GROUPS)?) + "\n"));
    }
    let mut unknown = false;
    for operand in operands {
        let text = String::from_utf8_lossy(&operand).into_owned();
        if let Some(user) = users::user(&text) {
            out.text(&format!("{text} : {}\n", names(&user)));
        } else {
            out.flush();
            unknown = true;
            GROUPS.warn(format!("{}: no such user", quote_word(&operand)));
        }
    }
    Ok(out.finish(&GROUPS, i32::from(failed || unknown)))
}
