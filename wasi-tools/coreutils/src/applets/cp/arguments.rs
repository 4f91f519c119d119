//! The command line of `cp`.

use std::ffi::OsString;

use sandbar_guest::{
    Errno, Fd,
    file::{self, Follow},
};

use crate::applets::{
    cli::{Opt, Order, Stop, Takes, Tool},
    quote::{quote, quote_word},
};

pub(super) static TOOL: Tool = Tool {
    name: "cp",
    help: "\
Usage: cp [OPTION]... [-T] SOURCE DEST
  or:  cp [OPTION]... SOURCE... DIRECTORY
  or:  cp [OPTION]... -t DIRECTORY SOURCE...
Copies SOURCE to DEST, or all SOURCEs into DIRECTORY.

  -a, --archive            -dR --preserve=all
      --attributes-only    not the contents
  -b, --backup[=CONTROL]   keep what is replaced, with a ~ behind its name (CONTROL: simple, none)
      --copy-contents      contents of special files with -R
  -d                       -P --preserve=links
  -f, --force              remove a target that can't be opened
  -H, -L, -P               follow links that are given; all; none
  -i, --interactive        ask before replacing
  -l, --link               hard links instead of copies
  -n, --no-clobber         replace nothing
  -p                       --preserve=mode,ownership,timestamps
      --preserve[=LIST]    keep mode, ownership, timestamps, links, all
      --no-preserve=LIST   don't
      --parents            with the directories of SOURCE below DIRECTORY
  -R, -r, --recursive      directories with what is in them
      --remove-destination  remove each target first
      --reflink[=WHEN], --sparse=WHEN  accepted; the file system decides
      --strip-trailing-slashes  of SOURCEs
  -s, --symbolic-link      symbolic links instead of copies
  -S, --suffix=SUFFIX      for -b
  -t, --target-directory=DIRECTORY  into DIRECTORY
  -T, --no-target-directory  DEST is no directory to copy into
  -u, --update             only what is newer or missing
  -v, --verbose            tell what is done
  -x, --one-file-system    stay on the file system
      --help               show this text
      --version            show the version
",
    options: &[
        Opt::flag(b'a', "archive"),
        Opt::flag(0, "attributes-only"),
        Opt::letter(b'b', Takes::Nothing, "-b"),
        Opt::optional(0, "backup"),
        Opt::flag(0, "copy-contents"),
        Opt::letter(b'd', Takes::Nothing, "-d"),
        Opt::flag(b'f', "force"),
        Opt::letter(b'H', Takes::Nothing, "-H"),
        Opt::flag(b'i', "interactive"),
        Opt::flag(b'l', "link"),
        Opt::flag(b'L', "dereference"),
        Opt::flag(b'n', "no-clobber"),
        Opt::flag(b'P', "no-dereference"),
        Opt::value(0, "no-preserve"),
        Opt::flag(b'T', "no-target-directory"),
        Opt::flag(b'x', "one-file-system"),
        Opt::letter(b'p', Takes::Nothing, "-p"),
        Opt::flag(0, "parents"),
        Opt::optional(0, "preserve"),
        Opt::flag(b'R', "recursive"),
        Opt::letter(b'r', Takes::Nothing, "recursive"),
        Opt::flag(0, "remove-destination"),
        Opt::optional(0, "reflink"),
        Opt::value(0, "sparse"),
        Opt::flag(0, "strip-trailing-slashes"),
        Opt::value(b'S', "suffix"),
        Opt::flag(b's', "symbolic-link"),
        Opt::value(b't', "target-directory"),
        Opt::flag(b'u', "update"),
        Opt::flag(b'v', "verbose"),
    ],
    order: Order::Any,
    usage_status: 1,
};

/// What happens to a target that is there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Overwrite {
    #[default]
    Always,
    Never,
    Ask,
}

/// Which links are followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Links {
    Given,
    All,
    Never,
}

/// What is kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Preserve {
    pub(super) mode: bool,
    /// `--no-preserve=mode`: new files get the mode of a new file.
    pub(super) no_mode: bool,
    pub(super) owner: bool,
    pub(super) times: bool,
    pub(super) links: bool,
}

#[derive(Debug)]
pub(super) struct Options {
    pub(super) attributes_only: bool,
    pub(super) backup: Option<Vec<u8>>,
    pub(super) copy_contents: bool,
    pub(super) force: bool,
    pub(super) links: Links,
    pub(super) overwrite: Overwrite,
    pub(super) hard_link: bool,
    pub(super) symbolic_link: bool,
    pub(super) preserve: Preserve,
    pub(super) parents: bool,
    pub(super) recursive: bool,
    pub(super) remove_first: bool,
    pub(super) one_system: bool,
    pub(super) update: bool,
    pub(super) verbose: bool,
    strip_slashes: bool,
    exact: bool,
    target: Option<Vec<u8>>,
}

impl Options {
    /// Whether a link that is the target is replaced, not followed.
    pub(super) const fn replaces_links(&self) -> bool {
        self.hard_link || self.symbolic_link
    }
}

pub(super) fn read(args: Vec<OsString>) -> Result<(Options, Vec<Vec<u8>>), Stop> {
    let mut options = Options {
        attributes_only: false,
        backup: None,
        copy_contents: false,
        force: false,
        links: Links::All,
        overwrite: Overwrite::Always,
        hard_link: false,
        symbolic_link: false,
        preserve: Preserve::default(),
        parents: false,
        recursive: false,
        remove_first: false,
        one_system: false,
        update: false,
        verbose: false,
        strip_slashes: false,
        exact: false,
        target: None,
    };
    let (mut links, mut suffix, mut backup) = (None, b"~".to_vec(), false);
    let mut parser = TOOL.parse(args);
    while let Some((option, value)) = parser.next()? {
        match option {
            "archive" => {
                (options.recursive, links) = (true, Some(Links::Never));
                options.preserve = Preserve {
                    mode: true,
                    no_mode: false,
                    owner: true,
                    times: true,
                    links: true,
                };
            }
            "-b" => backup = true,
            "backup" => backup = backup_wanted(value.as_deref())?,
            "suffix" => (suffix, backup) = (value.unwrap_or_default(), true),
            "-d" => (links, options.preserve.links) = (Some(Links::Never), true),
            "-H" => links = Some(Links::Given),
            "dereference" => links = Some(Links::All),
            "no-dereference" => links = Some(Links::Never),
            "interactive" => options.overwrite = Overwrite::Ask,
            "no-clobber" => options.overwrite = Overwrite::Never,
            "-p" => options.preserve.set(b"mode,ownership,timestamps", true)?,
            "preserve" => {
                let list = value.unwrap_or_else(|| b"mode,ownership,timestamps".to_vec());
                options.preserve.set(&list, true)?;
            }
            "no-preserve" => options.preserve.set(&value.unwrap_or_default(), false)?,
            "target-directory" => options.target = value,
            flag => options.flag(flag),
        }
    }
    // Directories are copied as they are unless links are to be followed; without -R what a link leads to is meant.
    options.links = links.unwrap_or(if options.recursive {
        Links::Never
    } else {
        Links::All
    });
    options.backup = backup.then_some(suffix);
    let operands = parser.operands();
    Ok((options, operands))
}

fn backup_wanted(control: Option<&[u8]>) -> Result<bool, Stop> {
    match control {
        Some(b"none" | b"off") => Ok(false),
        None | Some(b"simple" | b"never" | b"existing" | b"nil") => Ok(true),
        Some(b"numbered" | b"t") => Err(TOOL.fail(1, "numbered backups are not supported")),
        Some(other) => Err(TOOL.usage(format!(
            "invalid argument {} for 'backup type'",
            quote_word(other)
        ))),
    }
}

impl Options {
    fn flag(&mut self, flag: &str) {
        match flag {
            "attributes-only" => self.attributes_only = true,
            "copy-contents" => self.copy_contents = true,
            "force" => self.force = true,
            "link" => self.hard_link = true,
            "no-target-directory" => self.exact = true,
            "one-file-system" => self.one_system = true,
            "parents" => self.parents = true,
            "recursive" => self.recursive = true,
            "remove-destination" => self.remove_first = true,
            "strip-trailing-slashes" => self.strip_slashes = true,
            "symbolic-link" => self.symbolic_link = true,
            "update" => self.update = true,
            "verbose" => self.verbose = true,
            // How blocks are shared and holes are kept is the file system's business.
            _ => {}
        }
    }
}

/// What can be kept.
const KEPT: [&str; 7] = [
    "mode",
    "timestamps",
    "ownership",
    "links",
    "context",
    "xattr",
    "all",
];

impl Preserve {
    fn set(&mut self, list: &[u8], keep: bool) -> Result<(), Stop> {
        for word in list.split(|byte| *byte == b',') {
            // A word may be shortened as long as it is clear.
            let mut matching = KEPT.iter().filter(|kept| kept.as_bytes().starts_with(word));
            let clear = matching.next().filter(|_| matching.next().is_none());
            match clear.map_or(word, |kept| kept.as_bytes()) {
                b"mode" => (self.mode, self.no_mode) = (keep, !keep),
                b"ownership" => self.owner = keep,
                b"timestamps" => self.times = keep,
                b"links" => self.links = keep,
                // There are none of these in a sandbox.
                b"context" | b"xattr" => {}
                b"all" => {
                    *self = Self {
                        mode: keep,
                        no_mode: !keep,
                        owner: keep,
                        times: keep,
                        links: keep,
                    }
                }
                other => {
                    let option = if keep { "--preserve" } else { "--no-preserve" };
                    let list = KEPT.map(|word| format!("\n  - '{word}'")).concat();
                    let other = quote_word(other);
                    return Err(TOOL.usage(format!(
                        "invalid argument {other} for '{option}'\nValid arguments are:{list}"
                    )));
                }
            }
        }
        Ok(())
    }
}

/// Sources and their targets.
type Pairs = Vec<(Vec<u8>, Vec<u8>)>;

/// Which source goes where.
pub(super) fn targets(options: &Options, mut operands: Vec<Vec<u8>>) -> Result<Pairs, Stop> {
    if options.hard_link && options.symbolic_link {
        return Err(TOOL.usage("cannot make both hard and symbolic links"));
    }
    if options.exact && options.target.is_some() {
        return Err(TOOL.fail(
            1,
            "cannot combine --target-directory (-t) and --no-target-directory (-T)",
        ));
    }
    let least = if options.target.is_some() { 1 } else { 2 };
    match operands.as_slice() {
        [] => return Err(TOOL.usage("missing file operand")),
        [only] if least == 2 => {
            return Err(TOOL.usage(format!(
                "missing destination file operand after {}",
                quote(only)
            )));
        }
        [_, _, extra, ..] if options.exact => {
            return Err(TOOL.usage(format!("extra operand {}", quote(extra))));
        }
        _ => {}
    }
    let is_dir = |path: &[u8]| match file::stat(path, Follow::Follow) {
        Ok(stat) if stat.is_dir() => Ok(()),
        Ok(_) => Err(Errno::ENOTDIR),
        Err(errno) => Err(errno),
    };
    if let Some(dir) = &options.target {
        is_dir(dir)
            .map_err(|errno| TOOL.fail(1, format!("target directory {}: {errno}", quote(dir))))?;
        return Ok(into(options, dir, operands));
    }
    let last = operands.pop().unwrap_or_default();
    let found = is_dir(&last);
    if options.parents && found.is_err() {
        return Err(TOOL.usage("with --parents, the destination must be a directory"));
    }
    if !options.exact && found.is_ok() {
        return Ok(into(options, &last, operands));
    }
    if let (2.., Err(errno)) = (operands.len(), found) {
        return Err(TOOL.fail(1, format!("target {}: {errno}", quote(&last))));
    }
    Ok(operands
        .into_iter()
        .map(|source| (source, last.clone()))
        .collect())
}

fn into(options: &Options, dir: &[u8], sources: Vec<Vec<u8>>) -> Pairs {
    let slash: &[u8] = if dir.ends_with(b"/") { b"" } else { b"/" };
    let trim = |source: &'_ [u8]| {
        let end = source
            .iter()
            .rposition(|byte| *byte != b'/')
            .map_or(0, |last| last + 1);
        source.get(..end).unwrap_or(source).to_vec()
    };
    let target = |source: &[u8]| {
        let trimmed = trim(source);
        let name = match trimmed.rsplit(|byte| *byte == b'/').next() {
            _ if options.parents => source,
            // NOTE: `cp -r d/.. x` copies into x itself.
            Some(b"..") | None => b"",
            Some(name) => name,
        };
        [dir, slash, name].concat()
    };
    sources
        .into_iter()
        .map(|source| {
            let to = target(&source);
            // NOTE: only what goes into a directory is stripped.
            let strip = options.strip_slashes && source.iter().any(|byte| *byte != b'/');
            (if strip { trim(&source) } else { source }, to)
        })
        .collect()
}

/// Reads a line from standard input; whether it starts with `y`.
pub(super) fn answer_is_yes() -> bool {
    let mut first = None;
    let mut byte = [0];
    loop {
        match Fd::STDIN.read(&mut byte) {
            Ok(0) => break,
            Ok(_) if byte == *b"\n" => break,
            Ok(_) => first = first.or(byte.first().copied()),
            Err(Errno::EINTR) => {}
            Err(_) => break,
        }
    }
    matches!(first, Some(b'y' | b'Y'))
}
