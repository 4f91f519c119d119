//! `chown` and `chgrp`: set owners. A sandbox has one user, so that only its own ids can be set.

use std::{collections::HashSet, ffi::OsString};

use sandbar_guest::{
    Errno,
    file::{self, Follow, Stat},
};

use super::{
    cli::{self, Opt, Order, Outcome, Output, Stop, Takes, Tool},
    quote::{quote, quote_word},
    users,
};

const OPTIONS: &[Opt] = &[
    Opt::flag(b'c', "changes"),
    Opt::flag(b'f', "silent"),
    Opt::flag(0, "quiet"),
    Opt::flag(b'v', "verbose"),
    Opt::flag(0, "dereference"),
    Opt::flag(b'h', "no-dereference"),
    Opt::flag(0, "no-preserve-root"),
    Opt::flag(0, "preserve-root"),
    Opt::value(0, "from"),
    Opt::value(0, "reference"),
    Opt::flag(b'R', "recursive"),
    Opt::letter(b'H', Takes::Nothing, "-H"),
    Opt::letter(b'L', Takes::Nothing, "-L"),
    Opt::letter(b'P', Takes::Nothing, "-P"),
];

macro_rules! help {
    ($usage:literal) => {
        concat!(
            $usage,
            "
  -c, --changes          report each change
  -f, --silent, --quiet  report few failures
  -v, --verbose          report every file
      --dereference      the file that a link leads to (default)
  -h, --no-dereference   the link itself
      --from=OWNER[:GROUP]  only where these own it now
      --no-preserve-root  treat / like any directory (default)
      --preserve-root    refuse to work recursively on /
      --reference=RFILE  take the owners of RFILE
  -R, --recursive        also everything below a directory
  -H, -L, -P             with -R: follow links to directories that are given; all; none (default)
      --help             show this text
      --version          show the version
"
        )
    };
}

static CHOWN: Tool = Tool {
    name: "chown",
    help: help!(
        "Usage: chown [OPTION]... [OWNER][:[GROUP]] FILE...\nSets the owner and group of each FILE.\n"
    ),
    options: OPTIONS,
    order: Order::Any,
    usage_status: 1,
};

static CHGRP: Tool = Tool {
    name: "chgrp",
    help: help!("Usage: chgrp [OPTION]... GROUP FILE...\nSets the group of each FILE.\n"),
    options: OPTIONS,
    order: Order::Any,
    usage_status: 1,
};

pub(super) fn main(args: Vec<OsString>) -> i32 {
    cli::status(run(&CHOWN, args))
}

pub(super) fn chgrp(args: Vec<OsString>) -> i32 {
    cli::status(run(&CHGRP, args))
}

/// Owner and group; `None` stays as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Owners {
    uid: Option<u32>,
    gid: Option<u32>,
    /// As they were written; `chgrp` has no user, not even an empty one.
    user: Option<String>,
    group: Option<String>,
}

/// What is reported about each file.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Report {
    Nothing,
    Changes,
    Everything,
}

/// Which links to directories are followed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Links {
    Given,
    All,
    None,
}

/// A step of a walk through directories.
enum Step {
    Enter(Vec<u8>, Follow),
    Leave(Vec<u8>, Follow, Stat),
}

struct Chown {
    tool: &'static Tool,
    owners: Owners,
    from: Owners,
    report: Report,
    quiet: bool,
    follow: Follow,
    recursive: bool,
    links: Links,
    out: Output,
    failed: bool,
}

fn run(tool: &'static Tool, args: Vec<OsString>) -> Outcome {
    let mut chown = Chown {
        tool,
        owners: Owners::default(),
        from: Owners::default(),
        report: Report::Nothing,
        quiet: false,
        follow: Follow::Follow,
        recursive: false,
        links: Links::None,
        out: Output::new(),
        failed: false,
    };
    let (mut reference, mut preserve_root) = (None, false);
    let mut parser = tool.parse(args);
    while let Some((option, value)) = parser.next()? {
        match option {
            "changes" => chown.report = Report::Changes,
            "silent" | "quiet" => chown.quiet = true,
            "verbose" => chown.report = Report::Everything,
            "dereference" => chown.follow = Follow::Follow,
            "no-dereference" => chown.follow = Follow::NoFollow,
            "preserve-root" => preserve_root = true,
            "no-preserve-root" => preserve_root = false,
            "from" => chown.from = owners(tool, &value.unwrap_or_default())?,
            "reference" => reference = value,
            "recursive" => chown.recursive = true,
            "-H" => chown.links = Links::Given,
            "-L" => chown.links = Links::All,
            _ => chown.links = Links::None,
        }
    }
    let mut operands = parser.operands();
    chown.owners = match reference {
        Some(path) => {
            let stat = file::stat(&path, Follow::Follow).map_err(|errno| {
                tool.fail(
                    1,
                    format!("failed to get attributes of {}: {errno}", quote(&path)),
                )
            })?;
            let uid = (tool.name == "chown").then_some(stat.uid);
            let user = uid.map(|uid| users::user_name(uid).unwrap_or_else(|| uid.to_string()));
            let group = users::group_name(stat.gid).unwrap_or_else(|| stat.gid.to_string());
            Owners {
                uid,
                gid: Some(stat.gid),
                user,
                group: Some(group),
            }
        }
        None if operands.is_empty() => return Err(tool.missing_operand(None)),
        None => {
            let text = operands.remove(0);
            if operands.is_empty() {
                return Err(tool.missing_operand(Some(&text)));
            }
            if tool.name == "chgrp" {
                group(tool, &text)?
            } else {
                owners(tool, &text)?
            }
        }
    };
    if operands.is_empty() {
        return Err(tool.missing_operand(None));
    }
    for path in operands {
        if chown.recursive
            && preserve_root
            && path.iter().all(|byte| *byte == b'/')
            && !path.is_empty()
        {
            chown.failed = true;
            tool.warn("it is dangerous to operate recursively on '/'");
            tool.warn("use --no-preserve-root to override this failsafe");
            continue;
        }
        chown.operand(path);
    }
    let status = i32::from(chown.failed);
    Ok(chown.out.finish(tool, status))
}

fn group(tool: &Tool, text: &[u8]) -> Result<Owners, Stop> {
    let name = String::from_utf8_lossy(text).into_owned();
    let gid = users::group(&name)
        .ok_or_else(|| tool.fail(1, format!("invalid group: {}", quote_word(text))))?;
    Ok(Owners {
        uid: None,
        gid: Some(gid),
        user: None,
        group: Some(name),
    })
}

/// Reads `OWNER`, `OWNER:GROUP`, `OWNER:` (its own group) or `:GROUP`.
fn owners(tool: &Tool, text: &[u8]) -> Result<Owners, Stop> {
    let at = text.iter().position(|byte| *byte == b':');
    let (owner, group_text) = match at {
        Some(at) => (text.get(..at).unwrap_or_default(), text.get(at + 1..)),
        None => (text, None),
    };
    let invalid = |what: &str| tool.fail(1, format!("invalid {what}: {}", quote_word(text)));
    let name = String::from_utf8_lossy(owner);
    let user = users::user(&name);
    let uid = match (&user, owner) {
        (_, b"") => None,
        (Some(user), _) => Some(user.uid),
        (None, _) => Some(name.parse().map_err(|_| invalid("user"))?),
    };
    let gid = match group_text {
        None => None,
        Some(b"") if owner.is_empty() => None,
        Some(b"") => Some(
            user.as_ref()
                .map(|user| user.gid)
                .ok_or_else(|| invalid("spec"))?,
        ),
        Some(group) => {
            Some(users::group(&String::from_utf8_lossy(group)).ok_or_else(|| invalid("group"))?)
        }
    };
    let own_group = || users::group_name(gid?).or_else(|| gid.map(|gid| gid.to_string()));
    let group = match group_text {
        Some(b"") => own_group(),
        text => text.map(|text| String::from_utf8_lossy(text).into_owned()),
    };
    Ok(Owners {
        uid,
        gid,
        user: Some(name.into_owned()),
        group,
    })
}

impl Chown {
    fn fail(&mut self, text: &str) {
        self.failed = true;
        if !self.quiet {
            self.out.flush();
            self.tool.warn(text);
        }
    }

    fn operand(&mut self, path: Vec<u8>) {
        let first_follow = if self.recursive && self.links == Links::None {
            Follow::NoFollow
        } else {
            self.follow
        };
        let mut waiting = vec![Step::Enter(path, first_follow)];
        // Directories that were entered: with links a way can lead back to where it came from.
        let mut entered = HashSet::new();
        while let Some(step) = waiting.pop() {
            match step {
                Step::Leave(path, follow, stat) => self.change(&path, follow, &stat),
                Step::Enter(path, follow) => {
                    let Some(stat) = self.stat(&path, follow) else {
                        continue;
                    };
                    // NOTE: a directory comes after what is in it.
                    waiting.push(Step::Leave(path.clone(), follow, stat));
                    if stat.is_dir() && self.recursive && entered.insert((stat.dev, stat.ino)) {
                        waiting.extend(self.below(&path));
                    }
                }
            }
        }
    }

    /// The names in a directory.
    fn below(&mut self, path: &[u8]) -> Vec<Step> {
        let follow = if self.links == Links::All {
            Follow::Follow
        } else {
            Follow::NoFollow
        };
        match file::read_dir(path) {
            Ok(entries) => {
                let slash: &[u8] = if path.ends_with(b"/") { b"" } else { b"/" };
                let paths = entries
                    .iter()
                    .rev()
                    .map(|entry| [path, slash, &entry.name].concat());
                paths.map(|path| Step::Enter(path, follow)).collect()
            }
            Err(errno) => {
                self.fail(&format!("cannot read directory {}: {errno}", quote(path)));
                Vec::new()
            }
        }
    }

    fn stat(&mut self, path: &[u8], follow: Follow) -> Option<Stat> {
        let errno = match file::stat(path, follow) {
            Ok(stat) => return Some(stat),
            Err(errno) => errno,
        };
        let dangling = errno == Errno::ENOENT && file::stat(path, Follow::NoFollow).is_ok();
        let cannot = if dangling { "dereference" } else { "access" };
        self.fail(&format!("cannot {cannot} {}: {errno}", quote(path)));
        if self.report == Report::Everything {
            let new = show(self.owners.user.as_deref(), self.owners.group.as_deref());
            let (what, name) = (self.what(), quote(path));
            self.out
                .text(&format!("failed to change {what} of {name} to {new}\n"));
        }
        None
    }

    fn change(&mut self, path: &[u8], follow: Follow, stat: &Stat) {
        let from = &self.from;
        if from.uid.is_some_and(|uid| uid != stat.uid)
            || from.gid.is_some_and(|gid| gid != stat.gid)
        {
            return;
        }
        let result = file::set_owner(path, self.owners.uid, self.owners.gid, follow);
        if let Err(errno) = result {
            let what = if self.owners.uid.is_some() {
                "ownership"
            } else {
                "group"
            };
            self.fail(&format!("changing {what} of {}: {errno}", quote(path)));
        }
        self.tell(path, stat, result.is_ok());
    }

    /// What is changed, in messages.
    fn what(&self) -> &'static str {
        if self.owners.user.is_some() {
            "ownership"
        } else {
            "group"
        }
    }

    fn tell(&mut self, path: &[u8], stat: &Stat, done: bool) {
        let Owners {
            uid,
            gid,
            user,
            group,
        } = &self.owners;
        let changed =
            uid.is_some_and(|uid| uid != stat.uid) || gid.is_some_and(|gid| gid != stat.gid);
        if self.report == Report::Nothing || (self.report == Report::Changes && !(done && changed))
        {
            return;
        }
        let old_user = users::user_name(stat.uid).unwrap_or_else(|| stat.uid.to_string());
        let old_group = users::group_name(stat.gid).unwrap_or_else(|| stat.gid.to_string());
        let old = show(
            user.as_ref().map(|_| old_user.as_str()),
            group.as_ref().map(|_| old_group.as_str()),
        );
        let (name, what, new) = (
            quote(path),
            self.what(),
            show(user.as_deref(), group.as_deref()),
        );
        let text = match (done, changed) {
            (false, _) => format!("failed to change {what} of {name} from {old} to {new}\n"),
            (true, true) => format!("changed {what} of {name} from {old} to {new}\n"),
            (true, false) => format!("{what} of {name} retained as {old}\n"),
        };
        self.out.text(&text);
    }
}

/// `user:group`, or the one of them that there is.
fn show(user: Option<&str>, group: Option<&str>) -> String {
    match (user, group) {
        (Some(user), Some(group)) => format!("{user}:{group}"),
        (user, group) => user.or(group).unwrap_or_default().to_owned(),
    }
}
