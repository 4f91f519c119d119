//! `find`: walks through directories and does something with what it finds.

mod exec;
mod expression;
mod parse;
mod printf;
mod tests;

use std::{cell::OnceCell, ffi::OsString};

use sandbar_guest::{
    Errno,
    file::{self, FileType, Follow, Stat},
};

use super::{
    cli::{self, Order, Outcome, Output, Stop, Tool},
    quote::quote,
};
use expression::Expression;

static TOOL: Tool = Tool {
    name: "find",
    help: "\
Usage: find [-H] [-L] [-P] [PATH...] [EXPRESSION]
Walks through each PATH (default .) and evaluates EXPRESSION (default -print) for what is there.

Operators:  ( E )   ! E   -not E   E E   E -a E   E -o E   E , E
Options:    -maxdepth N  -mindepth N  -depth  -xdev  -mount  -follow  -daystart  -regextype TYPE
Names:      -name P  -iname  -path  -ipath  -wholename  -regex  -iregex  -lname  -ilname
Kinds:      -type bcdpfls  -xtype  -empty  -size N[cwbkMG]  -links N  -inum N  -samefile F  -fstype T
Rights:     -perm MODE, -MODE, /MODE  -user  -group  -uid  -gid  -nouser  -nogroup  -readable  -writable  -executable
Times:      -mtime N  -atime  -ctime  -mmin  -amin  -cmin  -newer F  -anewer  -cnewer  -newerXY  -used N
Others:     -true  -false
Actions:    -print  -print0  -printf F  -fprint F  -fprint0 F  -fprintf F FORMAT  -ls  -fls F  -delete  -prune  -quit
            -exec COMMAND ;  -exec COMMAND {} +  -execdir  -ok  -okdir
N is exact, +N more, -N less.  --help  --version
",
    options: &[],
    order: Order::Any,
    usage_status: 1,
};

pub(super) fn main(args: Vec<OsString>) -> i32 {
    cli::status(run(args))
}

/// Which links are followed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Links {
    #[default]
    Never,
    Given,
    Always,
}

/// What holds for the whole walk.
#[derive(Debug, Default)]
struct Settings {
    links: Links,
    max_depth: Option<usize>,
    min_depth: usize,
    depth_first: bool,
    one_system: bool,
}

/// Something that was found.
struct Item {
    path: Vec<u8>,
    /// How much of the path was given on the command line.
    given: usize,
    depth: usize,
    follow: Follow,
    /// From the directory, where it says so.
    known_type: FileType,
    stat: OnceCell<Result<Stat, Errno>>,
}

impl Item {
    fn name(&self) -> &[u8] {
        let trimmed = match self.path.iter().rposition(|byte| *byte != b'/') {
            Some(last) => self.path.get(..=last).unwrap_or(&self.path),
            None => return self.path.get(..1).unwrap_or_default(),
        };
        trimmed
            .rsplit(|byte| *byte == b'/')
            .next()
            .unwrap_or_default()
    }

    /// What it is; a link that is to be followed and leads nowhere is itself.
    fn stat(&self) -> Result<&Stat, Errno> {
        let ask = || match file::stat(&self.path, self.follow) {
            Err(Errno::ENOENT | Errno::ELOOP) if self.follow == Follow::Follow => {
                file::stat(&self.path, Follow::NoFollow)
            }
            answer => answer,
        };
        self.stat.get_or_init(ask).as_ref().map_err(|errno| *errno)
    }

    fn file_type(&self) -> FileType {
        let is_sure = self.follow == Follow::NoFollow || self.known_type != FileType::Symlink;
        if self.known_type != FileType::Unknown && is_sure {
            return self.known_type;
        }
        self.stat().map_or(FileType::Unknown, Stat::file_type)
    }
}

/// A walk under way.
struct Walk {
    settings: Settings,
    out: Output,
    failed: bool,
    /// `-quit` was reached.
    quit: bool,
    /// `-prune` was reached for the item that is looked at.
    prune: bool,
}

/// A step of the walk.
enum Step {
    Enter(Item),
    /// The item after everything below it.
    Leave(Item),
    /// A directory of the way down is done.
    Up,
}

fn run(args: Vec<OsString>) -> Outcome {
    let words: Vec<_> = args
        .into_iter()
        .skip(1)
        .map(OsString::into_encoded_bytes)
        .collect();
    if let [only] = words.as_slice()
        && let Some(option @ ("--help" | "-help" | "--version" | "-version")) =
            std::str::from_utf8(only).ok()
    {
        let option = format!("--{}", option.trim_start_matches('-'));
        return TOOL
            .parse(vec!["find".into(), option.into()])
            .next()
            .map(|_| 0);
    }
    let (paths, settings, mut expression) = parse::parse(words)?;
    let mut walk = Walk {
        settings,
        out: Output::new(),
        failed: false,
        quit: false,
        prune: false,
    };
    for path in paths {
        if walk.quit {
            break;
        }
        walk.from(path, &mut expression)?;
    }
    walk.failed |= !exec::finish(&mut expression, &mut walk.out);
    let failed = i32::from(walk.failed | expression.close_files());
    Ok(walk.out.finish(&TOOL, failed))
}

impl Walk {
    fn fail(&mut self, text: &str) {
        self.failed = true;
        self.out.flush();
        TOOL.warn(text);
    }

    fn from(&mut self, path: Vec<u8>, expression: &mut Expression) -> Result<(), Stop> {
        let follow = if self.settings.links == Links::Never {
            Follow::NoFollow
        } else {
            Follow::Follow
        };
        let given = path.len();
        let first = Item {
            path,
            given,
            depth: 0,
            follow,
            known_type: FileType::Unknown,
            stat: OnceCell::new(),
        };
        let device = match first.stat() {
            Ok(stat) => stat.dev,
            Err(errno) => {
                self.fail(&format!("{}: {errno}", quote(&first.path)));
                return Ok(());
            }
        };
        let mut steps = vec![Step::Enter(first)];
        // The directories of the way down, to see when a link leads back to one of them.
        let mut above: Vec<(u64, u64, Vec<u8>)> = Vec::new();
        while let Some(step) = steps.pop() {
            match step {
                Step::Up => drop(above.pop()),
                Step::Leave(item) => self.visit(&item, expression)?,
                Step::Enter(item) => {
                    self.enter(item, device, expression, &mut steps, &mut above)?;
                }
            }
            if self.quit {
                break;
            }
        }
        Ok(())
    }

    fn enter(
        &mut self,
        item: Item,
        device: u64,
        expression: &mut Expression,
        steps: &mut Vec<Step>,
        above: &mut Vec<(u64, u64, Vec<u8>)>,
    ) -> Result<(), Stop> {
        self.prune = false;
        let is_dir = item.file_type() == FileType::Directory;
        if is_dir
            && self.settings.links == Links::Always
            && let Ok(stat) = item.stat()
            && let Some((.., path)) = above
                .iter()
                .find(|(dev, ino, _)| (*dev, *ino) == (stat.dev, stat.ino))
        {
            let (loops, at) = (quote(&item.path), quote(path));
            self.fail(&format!(
                "File system loop detected; {loops} is part of the same file system loop as {at}."
            ));
            return Ok(());
        }
        if !self.settings.depth_first {
            self.visit(&item, expression)?;
        }
        let deeper = item.depth < self.settings.max_depth.unwrap_or(usize::MAX);
        let same_system =
            !self.settings.one_system || item.stat().is_ok_and(|stat| stat.dev == device);
        let descend = is_dir && deeper && same_system && !self.prune && !self.quit;
        let below = if descend {
            self.below(&item)
        } else {
            Vec::new()
        };
        if descend && self.settings.links == Links::Always {
            let id = item.stat().map_or((0, 0), |stat| (stat.dev, stat.ino));
            above.push((id.0, id.1, item.path.clone()));
        }
        if self.settings.depth_first {
            steps.push(Step::Leave(item));
        }
        if descend && self.settings.links == Links::Always {
            steps.push(Step::Up);
        }
        steps.extend(below.into_iter().rev().map(Step::Enter));
        Ok(())
    }

    /// What is in a directory.
    fn below(&mut self, item: &Item) -> Vec<Item> {
        let entries = match file::read_dir(&item.path) {
            Ok(entries) => entries,
            Err(errno) => {
                self.fail(&format!("{}: {errno}", quote(&item.path)));
                return Vec::new();
            }
        };
        let follow = if self.settings.links == Links::Always {
            Follow::Follow
        } else {
            Follow::NoFollow
        };
        let slash: &[u8] = if item.path.ends_with(b"/") { b"" } else { b"/" };
        let below = entries.into_iter().map(|entry| Item {
            path: [&item.path, slash, &entry.name].concat(),
            given: item.given,
            depth: item.depth + 1,
            follow,
            known_type: entry.file_type,
            stat: OnceCell::new(),
        });
        below.collect()
    }

    fn visit(&mut self, item: &Item, expression: &mut Expression) -> Result<(), Stop> {
        if item.depth < self.settings.min_depth {
            return Ok(());
        }
        expression.evaluate(item, self).map(drop)
    }
}
