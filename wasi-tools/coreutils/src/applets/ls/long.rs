//! The long format.

use sandbar_guest::{
    file::{FileType, Stat},
    time::DateTime,
};

use super::{
    columns::{blocks, colored, inode},
    entry::{Entry, indicator},
    options::{Indicators, Options},
};
use crate::applets::{cli::Output, mode, users};

/// The columns of one entry.
struct Line {
    inode: String,
    blocks: String,
    mode: String,
    links: String,
    owner: String,
    group: String,
    author: String,
    size: String,
    /// Of a device, instead of a size.
    device: Option<(String, String)>,
    time: String,
}

/// Names of users and groups that were looked up already.
#[derive(Default)]
struct Names {
    users: Vec<(u32, String)>,
    groups: Vec<(u32, String)>,
}

impl Names {
    fn get(known: &mut Vec<(u32, String)>, id: u32, look_up: fn(u32) -> Option<String>) -> String {
        if let Some((_, name)) = known.iter().find(|(known, _)| *known == id) {
            return name.clone();
        }
        let name = look_up(id).unwrap_or_else(|| id.to_string());
        known.push((id, name.clone()));
        name
    }
}

pub(super) fn show(entries: &[Entry], options: &Options, out: &mut Output) {
    let mut names = Names::default();
    let lines: Vec<_> = entries
        .iter()
        .map(|entry| line(entry, options, &mut names))
        .collect();
    let widest = |of: fn(&Line) -> &str| {
        lines
            .iter()
            .map(|line| of(line).chars().count())
            .max()
            .unwrap_or(0)
    };
    let (inodes, blocks) = (widest(|line| &line.inode), widest(|line| &line.blocks));
    let (links, authors) = (widest(|line| &line.links), widest(|line| &line.author));
    let (owners, groups) = (widest(|line| &line.owner), widest(|line| &line.group));
    let majors = widest(|line| line.device.as_ref().map_or("", |device| &device.0));
    let minors = widest(|line| line.device.as_ref().map_or("", |device| &device.1));
    let any_device = lines.iter().any(|line| line.device.is_some());
    let sizes = widest(|line| &line.size).max(if any_device { majors + 2 + minors } else { 0 });
    // Times are as wide as they are; only the mark of an unknown one is put into their column.
    let times = widest(|line| if line.time == "?" { "" } else { &line.time });
    let name_column = |name: &str, width: usize| {
        if options.numeric {
            format!("{name:>width$} ")
        } else {
            format!("{name:<width$} ")
        }
    };
    let mut first_color = true;
    for (entry, line) in entries.iter().zip(&lines) {
        if options.inode {
            out.text(&format!("{:>inodes$} ", line.inode));
        }
        if options.blocks {
            out.text(&format!("{:>blocks$} ", line.blocks));
        }
        out.text(&format!("{} {:>links$} ", line.mode, line.links));
        if options.owner {
            out.text(&name_column(&line.owner, owners));
        }
        if options.group {
            out.text(&name_column(&line.group, groups));
        }
        if options.author {
            out.text(&name_column(&line.author, authors));
        }
        match &line.device {
            Some((major, minor)) => {
                let width = sizes.saturating_sub(minors + 2);
                out.text(&format!("{major:>width$}, {minor:>minors$} "));
            }
            None => out.text(&format!("{:>sizes$} ", line.size)),
        }
        let width = if line.time == "?" { times } else { 0 };
        out.text(&format!("{:>width$} ", line.time));
        name(entry, options, &mut first_color, out);
        out.text(options.line_end.encode_utf8(&mut [0; 4]));
    }
}

fn line(entry: &Entry, options: &Options, names: &mut Names) -> Line {
    let unknown = || String::from("?");
    let Some(stat) = entry.stat else {
        return Line {
            inode: unknown(),
            blocks: unknown(),
            mode: format!("{}?????????", if entry.is_link_problem { 'l' } else { '?' }),
            links: unknown(),
            owner: unknown(),
            group: unknown(),
            author: unknown(),
            size: unknown(),
            device: None,
            time: unknown(),
        };
    };
    let mut owner = |id: u32| {
        if options.numeric {
            id.to_string()
        } else {
            Names::get(&mut names.users, id, users::user_name)
        }
    };
    let (author, owner) = (owner(stat.uid), owner(stat.uid));
    let group = if options.numeric {
        stat.gid.to_string()
    } else {
        Names::get(&mut names.groups, stat.gid, users::group_name)
    };
    Line {
        inode: inode(entry),
        blocks: blocks(entry, options),
        mode: mode::long(stat.mode),
        links: stat.nlink.to_string(),
        owner,
        group,
        author,
        size: options.file_size.show(stat.len),
        device: device(&stat),
        time: time(entry, options),
    }
}

/// Major and minor number of a device.
fn device(stat: &Stat) -> Option<(String, String)> {
    let is_device = matches!(
        stat.file_type(),
        FileType::CharDevice | FileType::BlockDevice
    );
    is_device.then(|| {
        (
            mode::major(stat.rdev).to_string(),
            mode::minor(stat.rdev).to_string(),
        )
    })
}

/// Half a year in nanoseconds, a year having 365.2425 days.
const HALF_YEAR_NS: i64 = 31_556_952 / 2 * 1_000_000_000;

fn time(entry: &Entry, options: &Options) -> String {
    let Some(ns) = options.time.of(entry) else {
        return String::from("?");
    };
    let date = DateTime::new(&options.zone, ns.div_euclid(1_000_000_000));
    let recent = ns > options.now_ns.saturating_sub(HALF_YEAR_NS) && ns <= options.now_ns;
    let style = if recent {
        &options.time_style.recent
    } else {
        &options.time_style.old
    };
    date.format(
        style,
        u32::try_from(ns.rem_euclid(1_000_000_000)).unwrap_or(0),
    )
}

fn name(entry: &Entry, options: &Options, first_color: &mut bool, out: &mut Output) {
    let mut bytes = Vec::new();
    let codes = options.colors.as_ref().and_then(|colors| colors.of(entry));
    if codes.is_some() && *first_color {
        *first_color = false;
        bytes.extend_from_slice(b"\x1b[0m");
    }
    colored(&options.quoting.show(&entry.name), codes, &mut bytes);
    match &entry.target {
        Some(target) if entry.stat.is_some_and(|stat| stat.is_symlink()) => {
            bytes.extend_from_slice(b" -> ");
            let codes = options
                .colors
                .as_ref()
                .and_then(|colors| colors.of_target(entry));
            colored(&options.quoting.show(target), codes, &mut bytes);
            if options.indicators > Indicators::Slash
                && let Some(stat) = &entry.target_stat
            {
                bytes.extend_from_slice(indicator(stat, options.indicators).as_bytes());
            }
        }
        _ => bytes.extend_from_slice(entry.indicator(options).as_bytes()),
    }
    out.bytes(&bytes);
}
