//! The command line of `ls`.

use std::ffi::OsString;

use sandbar_guest::Fd;

use super::{
    color::Colors,
    options::{Format, Indicators, Links, Options, TimeStyle},
    quoting::Quoting,
    sort::{Key, Time},
};
use crate::applets::{
    cli::{Opt, Order, Stop, Takes, Tool},
    quote::quote_word,
    size::BlockSize,
};

const HELP: &str = "\
Usage: ls [OPTION]... [FILE]...
Lists each FILE, or what is in it when it is a directory; the current directory without FILE.

What: -a all names; -A all but . and ..; -B, --ignore-backups; -d, --directory the directory itself; --hide=P, -I P,
  --ignore=P no names that P matches; -R, --recursive; -L, --dereference follow links; -H follow those given
How: -l long; -1 one a line; -C in columns; -x across; -m with commas; --format=WORD; -w, --width=N; -T, --tabsize=N;
  --zero ends lines with NUL; --color[=WHEN]
In long lists: -g no owner; -G, -o no group; -n numbers; --author; -h, --human-readable; --si; -k; --block-size=SIZE;
  --full-time; --time-style=full-iso, long-iso, iso, locale or +FORMAT; -c, -u, --time=WORD which time
With names: -i inode; -s, --size blocks; -F, --classify[=WHEN]; -p; --file-type; --indicator-style=WORD
Order: -t time; -S size; -X extension; -v version; -U none; -f none, and all names; -r reverse; --sort=WORD;
  --group-directories-first
Quoting: -b, --escape; -N, --literal; -Q, --quote-name; -q, --hide-control-chars; --show-control-chars; --quoting-style=WORD
  --help, --version

Exit status: 1 for small problems, 2 when something given can't be listed.
";

const OPTIONS: &[Opt] = &[
    Opt::flag(b'a', "all"),
    Opt::flag(b'A', "almost-all"),
    Opt::flag(0, "author"),
    Opt::flag(b'b', "escape"),
    Opt::value(0, "block-size"),
    Opt::flag(b'B', "ignore-backups"),
    Opt::letter(b'c', Takes::Nothing, "-c"),
    Opt::letter(b'C', Takes::Nothing, "-C"),
    Opt::optional(0, "color"),
    Opt::flag(b'd', "directory"),
    Opt::letter(b'f', Takes::Nothing, "-f"),
    Opt::letter(b'F', Takes::Nothing, "classify"),
    Opt::optional(0, "classify"),
    Opt::flag(0, "file-type"),
    Opt::value(0, "format"),
    Opt::flag(0, "full-time"),
    Opt::letter(b'g', Takes::Nothing, "-g"),
    Opt::flag(0, "group-directories-first"),
    Opt::flag(b'G', "no-group"),
    Opt::flag(b'h', "human-readable"),
    Opt::flag(0, "si"),
    Opt::flag(b'H', "dereference-command-line"),
    Opt::flag(0, "dereference-command-line-symlink-to-dir"),
    Opt::value(0, "hide"),
    Opt::value(0, "indicator-style"),
    Opt::flag(b'i', "inode"),
    Opt::value(b'I', "ignore"),
    Opt::flag(b'k', "kibibytes"),
    Opt::letter(b'l', Takes::Nothing, "-l"),
    Opt::flag(b'L', "dereference"),
    Opt::letter(b'm', Takes::Nothing, "-m"),
    Opt::flag(b'n', "numeric-uid-gid"),
    Opt::flag(b'N', "literal"),
    Opt::letter(b'o', Takes::Nothing, "-o"),
    Opt::letter(b'p', Takes::Nothing, "-p"),
    Opt::flag(b'q', "hide-control-chars"),
    Opt::flag(0, "show-control-chars"),
    Opt::flag(b'Q', "quote-name"),
    Opt::value(0, "quoting-style"),
    Opt::flag(b'r', "reverse"),
    Opt::flag(b'R', "recursive"),
    Opt::flag(b's', "size"),
    Opt::letter(b'S', Takes::Nothing, "-S"),
    Opt::value(0, "sort"),
    Opt::value(0, "time"),
    Opt::value(0, "time-style"),
    Opt::letter(b't', Takes::Nothing, "-t"),
    Opt::value(b'T', "tabsize"),
    Opt::letter(b'u', Takes::Nothing, "-u"),
    Opt::letter(b'U', Takes::Nothing, "-U"),
    Opt::letter(b'v', Takes::Nothing, "-v"),
    Opt::value(b'w', "width"),
    Opt::letter(b'x', Takes::Nothing, "-x"),
    Opt::letter(b'X', Takes::Nothing, "-X"),
    Opt::flag(0, "zero"),
    Opt::letter(b'1', Takes::Nothing, "-1"),
];

pub(super) static LS: Tool = Tool {
    name: "ls",
    help: HELP,
    options: OPTIONS,
    order: Order::Any,
    usage_status: 2,
};
pub(super) static DIR: Tool = Tool {
    name: "dir",
    help: HELP,
    options: OPTIONS,
    order: Order::Any,
    usage_status: 2,
};
pub(super) static VDIR: Tool = Tool {
    name: "vdir",
    help: HELP,
    options: OPTIONS,
    order: Order::Any,
    usage_status: 2,
};

/// What was said on the command line where a default depends on the rest.
#[derive(Default)]
struct Said {
    format: Option<Format>,
    quoting: Option<Quoting>,
    links: Option<Links>,
    key: Option<Key>,
    width: Option<usize>,
    tab: Option<usize>,
    time: Option<Time>,
    time_style: Option<Vec<u8>>,
    block_size: Option<BlockSize>,
    color: bool,
    kibibytes: bool,
}

pub(super) fn read(
    tool: &'static Tool,
    args: Vec<OsString>,
    format: Option<Format>,
) -> Result<(Options, Vec<Vec<u8>>), Stop> {
    let (mut options, mut said) = (Options::new(), Said::default());
    let mut parser = tool.parse(args);
    while let Some((option, value)) = parser.next()? {
        read_option(tool, option, value, &mut options, &mut said)?;
    }
    finish(tool, format, &mut options, said)?;
    Ok((options, parser.operands()))
}

fn read_option(
    tool: &Tool,
    option: &str,
    value: Option<Vec<u8>>,
    options: &mut Options,
    said: &mut Said,
) -> Result<(), Stop> {
    match option {
        "all" => options.hidden.all = true,
        "almost-all" => options.hidden.almost_all = true,
        "ignore-backups" => options.hidden.backups = true,
        "hide" => options.hidden.hide.extend(value),
        "ignore" => options.hidden.ignore.extend(value),
        "author" => options.author = true,
        "directory" => options.directories = true,
        "recursive" => options.recursive = true,
        "inode" => options.inode = true,
        "size" => options.blocks = true,
        "reverse" => options.reverse = true,
        "group-directories-first" => options.directories_first = true,
        "no-group" => options.group = false,
        "numeric-uid-gid" => (options.numeric, said.format) = (true, Some(Format::Long)),
        "-g" => (options.owner, said.format) = (false, Some(Format::Long)),
        "-o" => (options.group, said.format) = (false, Some(Format::Long)),
        "-l" => said.format = Some(Format::Long),
        "-C" => said.format = Some(Format::Columns),
        "-x" => said.format = Some(Format::Across),
        "-m" => said.format = Some(Format::Commas),
        // NOTE: -1 does not take a long list back.
        "-1" if said.format == Some(Format::Long) => {}
        "-1" => said.format = Some(Format::Single),
        "zero" => {
            options.line_end = '\0';
            said.quoting = Some(Quoting::Literal);
            said.color = false;
            if said.format != Some(Format::Long) {
                said.format = Some(Format::Single);
            }
        }
        "-f" => {
            options.hidden.all = true;
            said.key = Some(Key::None);
            (said.color, options.blocks) = (false, false);
            if said.format == Some(Format::Long) {
                said.format = None;
            }
        }
        "human-readable" | "si" => {
            let size = if option == "si" {
                BlockSize::SI
            } else {
                BlockSize::HUMAN
            };
            said.block_size = Some(size);
            options.file_size = size;
        }
        "kibibytes" => said.kibibytes = true,
        "block-size" => {
            let value = value.unwrap_or_default();
            let size = BlockSize::parse(&value).ok_or_else(|| {
                tool.fail(
                    2,
                    format!("invalid --block-size argument {}", quote_word(&value)),
                )
            })?;
            said.block_size = Some(size);
            options.file_size = size;
        }
        "full-time" => {
            (said.format, said.time_style) = (Some(Format::Long), Some(b"full-iso".to_vec()));
        }
        "time-style" => said.time_style = value,
        "dereference" => said.links = Some(Links::All),
        "dereference-command-line" => said.links = Some(Links::Given),
        "dereference-command-line-symlink-to-dir" => said.links = Some(Links::GivenToDirectories),
        "-c" => said.time = Some(Time::Changed),
        "-u" => said.time = Some(Time::Accessed),
        "-t" => said.key = Some(Key::Time),
        "-S" => said.key = Some(Key::Size),
        "-X" => said.key = Some(Key::Extension),
        "-v" => said.key = Some(Key::Version),
        "-U" => said.key = Some(Key::None),
        _ => return read_word_option(tool, option, value.as_deref(), options, said),
    }
    Ok(())
}

/// The options whose value is a word out of a list, and those about names.
fn read_word_option(
    tool: &Tool,
    option: &str,
    value: Option<&[u8]>,
    options: &mut Options,
    said: &mut Said,
) -> Result<(), Stop> {
    let given = value.unwrap_or_default();
    match option {
        "escape" => said.quoting = Some(Quoting::Escape),
        "literal" => said.quoting = Some(Quoting::Literal),
        "quote-name" => said.quoting = Some(Quoting::C),
        "hide-control-chars" => said.quoting = Some(Quoting::Hidden),
        "show-control-chars" if said.quoting == Some(Quoting::Hidden) => {
            said.quoting = Some(Quoting::Literal);
        }
        "quoting-style" => said.quoting = Some(word(tool, option, given, QUOTING_STYLES)?),
        "-p" => options.indicators = Indicators::Slash,
        "file-type" => options.indicators = Indicators::FileType,
        "indicator-style" => options.indicators = word(tool, option, given, INDICATOR_STYLES)?,
        "classify" if value.is_none() || is_wanted(tool, option, given)? => {
            options.indicators = Indicators::Classify;
        }
        "color" => said.color = value.is_none() || is_wanted(tool, option, given)?,
        "format" => said.format = Some(word(tool, option, given, FORMATS)?),
        "sort" => said.key = Some(word(tool, option, given, KEYS)?),
        // Newer than the list in the message.
        "time" if given == b"mtime" || given == b"modification" => said.time = Some(Time::Modified),
        "time" => said.time = Some(word(tool, option, given, TIMES)?),
        "width" => said.width = Some(line_width(tool, given)?),
        "tabsize" => {
            let size = std::str::from_utf8(given)
                .ok()
                .and_then(|text| text.parse().ok());
            said.tab =
                Some(size.ok_or_else(|| {
                    tool.fail(2, format!("invalid tab size: {}", quote_word(given)))
                })?);
        }
        _ => {}
    }
    Ok(())
}

const QUOTING_STYLES: &[(&str, Quoting)] = &[
    ("literal", Quoting::Literal),
    ("shell", Quoting::Shell),
    ("shell-always", Quoting::ShellAlways),
    ("shell-escape", Quoting::Shell),
    ("shell-escape-always", Quoting::ShellAlways),
    ("c", Quoting::C),
    ("c-maybe", Quoting::C),
    ("escape", Quoting::Escape),
    ("locale", Quoting::ShellAlways),
    ("clocale", Quoting::ShellAlways),
];
const INDICATOR_STYLES: &[(&str, Indicators)] = &[
    ("none", Indicators::None),
    ("slash", Indicators::Slash),
    ("file-type", Indicators::FileType),
    ("classify", Indicators::Classify),
];
const FORMATS: &[(&str, Format)] = &[
    ("verbose", Format::Long),
    ("long", Format::Long),
    ("commas", Format::Commas),
    ("horizontal", Format::Across),
    ("across", Format::Across),
    ("vertical", Format::Columns),
    ("single-column", Format::Single),
];
const KEYS: &[(&str, Key)] = &[
    ("none", Key::None),
    ("time", Key::Time),
    ("size", Key::Size),
    ("extension", Key::Extension),
    ("version", Key::Version),
    ("width", Key::Width),
];
const TIMES: &[(&str, Time)] = &[
    ("atime", Time::Accessed),
    ("access", Time::Accessed),
    ("use", Time::Accessed),
    ("ctime", Time::Changed),
    ("status", Time::Changed),
    ("birth", Time::Modified),
    ("creation", Time::Modified),
];
const WHENS: &[(&str, Option<bool>)] = &[
    ("always", Some(true)),
    ("yes", Some(true)),
    ("force", Some(true)),
    ("never", Some(false)),
    ("no", Some(false)),
    ("none", Some(false)),
    ("auto", None),
    ("tty", None),
    ("if-tty", None),
];

fn is_wanted(tool: &Tool, option: &str, given: &[u8]) -> Result<bool, Stop> {
    let when = word(tool, option, given, WHENS)?;
    Ok(when.unwrap_or_else(|| Fd::STDOUT.is_terminal()))
}

/// The value that a word stands for; it may be shortened as long as it is clear.
fn word<T: Copy + PartialEq>(
    tool: &Tool,
    option: &str,
    given: &[u8],
    words: &[(&str, T)],
) -> Result<T, Stop> {
    let exact = words.iter().find(|(name, _)| name.as_bytes() == given);
    let mut matching = words
        .iter()
        .filter(|(name, _)| name.as_bytes().starts_with(given));
    let first = matching.next();
    let clear = first.filter(|first| matching.all(|other| other.1 == first.1));
    if let Some((_, value)) = exact.or(clear) {
        return Ok(*value);
    }
    let problem = if first.is_some() {
        "ambiguous"
    } else {
        "invalid"
    };
    let mut list = String::new();
    let mut previous: Option<&T> = None;
    for (name, value) in words {
        list.push_str(if previous == Some(value) {
            ", '"
        } else {
            "\n  - '"
        });
        list.push_str(name);
        list.push('\'');
        previous = Some(value);
    }
    let given = quote_word(given);
    Err(tool.usage(format!(
        "{problem} argument {given} for '--{option}'\nValid arguments are:{list}"
    )))
}

fn line_width(tool: &Tool, given: &[u8]) -> Result<usize, Stop> {
    let width = std::str::from_utf8(given)
        .ok()
        .and_then(|text| text.parse().ok());
    width.ok_or_else(|| tool.fail(2, format!("invalid line width: {}", quote_word(given))))
}

/// Fills in what was not said from the environment and from what standard output is.
fn finish(
    tool: &Tool,
    format: Option<Format>,
    options: &mut Options,
    said: Said,
) -> Result<(), Stop> {
    let terminal = Fd::STDOUT.is_terminal();
    let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let default = format.unwrap_or(if terminal {
        Format::Columns
    } else {
        Format::Single
    });
    options.format = said.format.unwrap_or(default);
    let environment = variable("QUOTING_STYLE").and_then(|style| {
        QUOTING_STYLES
            .iter()
            .find(|(name, _)| *name == style)
            .map(|(_, quoting)| *quoting)
    });
    let by_output = match (terminal, format) {
        (_, Some(_)) => Quoting::Escape,
        (true, None) => Quoting::Shell,
        (false, None) => Quoting::Literal,
    };
    options.quoting = said.quoting.or(environment).unwrap_or(by_output);
    options.time = said.time.unwrap_or(Time::Modified);
    // NOTE: -c, -u and --time sort by that time too, unless a long list only shows it.
    let by_time = said.time.is_some() && options.format != Format::Long;
    options.key = said
        .key
        .unwrap_or(if by_time { Key::Time } else { Key::Name });
    let plain_links = options.directories
        || options.indicators == Indicators::Classify
        || options.format == Format::Long;
    options.links = said.links.unwrap_or(if plain_links {
        Links::Never
    } else {
        Links::GivenToDirectories
    });
    let size = || {
        variable("LS_BLOCK_SIZE")
            .or_else(|| variable("BLOCK_SIZE"))
            .or_else(|| variable("BLOCKSIZE"))
    };
    if let Some(size) = said.block_size {
        options.block_size = size;
    } else if let Some(size) = size()
        .filter(|_| !said.kibibytes)
        .and_then(|text| BlockSize::parse(text.as_bytes()))
    {
        options.block_size = size;
    }
    let columns = || variable("COLUMNS").and_then(|text| text.parse().ok());
    let window = || {
        Fd::STDOUT
            .window_size()
            .ok()
            .and_then(|size| usize::try_from(size.columns).ok())
    };
    options.width = said
        .width
        .or_else(|| window().filter(|width| *width > 0))
        .or_else(columns)
        .unwrap_or(80);
    let tab_variable = || variable("TABSIZE").and_then(|text| text.parse().ok());
    options.tab = said.tab.or_else(tab_variable).unwrap_or(8);
    options.colors = if said.color {
        Colors::from_environment()
    } else {
        None
    };
    if options.colors.is_some() {
        // A tab would show the background of what stands before it.
        options.tab = 0;
    }
    let style = said
        .time_style
        .or_else(|| variable("TIME_STYLE").map(String::into_bytes));
    if let Some(style) = style {
        options.time_style = time_style(tool, &style)?;
    }
    Ok(())
}

fn time_style(tool: &Tool, given: &[u8]) -> Result<TimeStyle, Stop> {
    let text = String::from_utf8_lossy(given).into_owned();
    let same = |format: &str| TimeStyle {
        old: format.to_owned(),
        recent: format.to_owned(),
    };
    if let Some(format) = text.strip_prefix('+') {
        return Ok(match format.split_once('\n') {
            Some((old, recent)) => TimeStyle {
                old: old.to_owned(),
                recent: recent.to_owned(),
            },
            None => same(format),
        });
    }
    match text.strip_prefix("posix-").unwrap_or(&text) {
        "full-iso" => Ok(same("%Y-%m-%d %H:%M:%S.%N %z")),
        "long-iso" => Ok(same("%Y-%m-%d %H:%M")),
        "iso" => Ok(TimeStyle {
            old: String::from("%Y-%m-%d "),
            recent: String::from("%m-%d %H:%M"),
        }),
        "locale" => Ok(TimeStyle {
            old: String::from("%b %e  %Y"),
            recent: String::from("%b %e %H:%M"),
        }),
        _ => {
            tool.warn(format!(
                "invalid argument {} for 'time style'",
                quote_word(given)
            ));
            let text = "Valid arguments are:\n  - [posix-]full-iso\n  - [posix-]long-iso\n  - [posix-]iso\n  \
                        - [posix-]locale\n  - +FORMAT (e.g., +%H:%M) for a 'date'-style format\n";
            let _unwritable = Fd::STDERR.write_all(text.as_bytes());
            Err(tool.try_help())
        }
    }
}
