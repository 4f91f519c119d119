//! `df`: how full file systems are.

use std::ffi::OsString;

use sandbar_guest::file::{self, FileSystem, Follow};

use super::{
    cli::{self, Opt, Order, Outcome, Output, Takes, Tool},
    quote::{quote, quote_word},
    size::BlockSize,
    text::display_width,
};

static TOOL: Tool = Tool {
    name: "df",
    help: "\
Usage: df [OPTION]... [FILE]...
Shows how full the file system of each FILE is; all of them without FILE.

  -a, --all              those without space too
  -B, --block-size=SIZE  in units of SIZE
  -H, --si               with powers of 1000
  -h, --human-readable   1K 234M 2G
  -i, --inodes           files instead of space
  -k                     --block-size=1K
  -l, --local            ignored: all are local
  -P, --portability      in the format of POSIX
      --sync, --no-sync  ignored
      --total            a total too
  -t, --type=TYPE        only of this type
  -T, --print-type       the type too
  -x, --exclude-type=TYPE  not of this type
      --help             show this text
      --version          show the version
",
    options: &[
        Opt::flag(b'a', "all"),
        Opt::value(b'B', "block-size"),
        Opt::flag(b'H', "si"),
        Opt::flag(b'h', "human-readable"),
        Opt::flag(b'i', "inodes"),
        Opt::letter(b'k', Takes::Nothing, "-k"),
        Opt::flag(b'l', "local"),
        Opt::flag(b'P', "portability"),
        Opt::flag(0, "sync"),
        Opt::flag(0, "no-sync"),
        Opt::flag(0, "total"),
        Opt::value(b't', "type"),
        Opt::flag(b'T', "print-type"),
        Opt::value(b'x', "exclude-type"),
        Opt::letter(b'v', Takes::Nothing, "-v"),
    ],
    order: Order::Any,
    usage_status: 1,
};

pub(super) fn main(args: Vec<OsString>) -> i32 {
    cli::status(run(args))
}

#[derive(Default)]
struct Options {
    all: bool,
    inodes: bool,
    portable: bool,
    total: bool,
    show_type: bool,
    types: Vec<String>,
    excluded: Vec<String>,
    size: Option<BlockSize>,
}

/// A line of `/proc/mounts`.
#[derive(Clone)]
struct Mount {
    source: String,
    point: String,
    kind: String,
}

struct Row {
    mount: Mount,
    system: Option<FileSystem>,
}

fn run(args: Vec<OsString>) -> Outcome {
    let mut options = Options::default();
    let mut parser = TOOL.parse(args);
    while let Some((option, value)) = parser.next()? {
        let value = value.unwrap_or_default();
        let text = || String::from_utf8_lossy(&value).into_owned();
        match option {
            "all" => options.all = true,
            "block-size" => {
                let wrong = || TOOL.fail(1, format!("invalid -B argument {}", quote_word(&value)));
                options.size = Some(BlockSize::parse(&value).ok_or_else(wrong)?);
            }
            "si" => options.size = Some(BlockSize::SI),
            "human-readable" => options.size = Some(BlockSize::HUMAN),
            "-k" => options.size = Some(BlockSize::KIBI),
            "inodes" => options.inodes = true,
            "portability" => options.portable = true,
            "total" => options.total = true,
            "print-type" => options.show_type = true,
            "type" => options.types.push(text()),
            "exclude-type" => options.excluded.push(text()),
            _ => {}
        }
    }
    let operands = parser.operands();
    let mounts = mounts();
    let mut failed = false;
    let mut rows = Vec::new();
    for path in &operands {
        match row_of(path, &mounts) {
            Ok(row) => rows.push(row),
            Err(text) => {
                failed = true;
                TOOL.warn(text);
            }
        }
    }
    if operands.is_empty() {
        rows = all_rows(&mounts, options.all);
    }
    rows.retain(|row| {
        (options.types.is_empty() || options.types.contains(&row.mount.kind))
            && !options.excluded.contains(&row.mount.kind)
    });
    let mut out = Output::new();
    if rows.is_empty() {
        if !failed {
            return Err(TOOL.fail(1, "no file systems processed"));
        }
    } else {
        options.show(rows, &mut out);
    }
    Ok(out.finish(&TOOL, i32::from(failed)))
}

/// A field of `/proc/mounts` with its octal escapes resolved.
fn unescape(field: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = field.as_bytes();
    while let Some((byte, after)) = rest.split_first() {
        let escaped = if *byte == b'\\' {
            super::format::escape(after)
        } else {
            None
        };
        let (byte, after) = escaped.unwrap_or((*byte, after));
        bytes.push(byte);
        rest = after;
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn mounts() -> Vec<Mount> {
    let text = std::fs::read("/proc/mounts").unwrap_or_default();
    let text = String::from_utf8_lossy(&text).into_owned();
    let line = |line: &str| {
        let mut fields = line.split(' ').map(unescape);
        Some(Mount {
            source: fields.next()?,
            point: fields.next()?,
            kind: fields.next()?,
        })
    };
    text.lines().filter_map(line).collect()
}

/// The mount that a path is on: the longest mount point that leads there, the last one mounted there.
fn row_of(path: &[u8], mounts: &[Mount]) -> Result<Row, String> {
    file::stat(path, Follow::Follow).map_err(|errno| format!("{}: {errno}", quote_plain(path)))?;
    let system = file::file_system(path).map_err(|errno| format!("{}: {errno}", quote(path)))?;
    let place = std::fs::canonicalize(String::from_utf8_lossy(path).as_ref()).unwrap_or_default();
    let best = mounts
        .iter()
        .filter(|mount| place.starts_with(&mount.point))
        .max_by_key(|mount| mount.point.len());
    let mount = best.cloned().unwrap_or_else(|| Mount {
        source: String::from("-"),
        point: String::from("/"),
        kind: String::from("-"),
    });
    Ok(Row {
        mount,
        system: Some(system),
    })
}

/// A name in a message, quoted only if it has to be.
fn quote_plain(path: &[u8]) -> String {
    super::quote::quote_for_shell(path)
}

fn all_rows(mounts: &[Mount], all: bool) -> Vec<Row> {
    let mut rows = Vec::new();
    let mut seen = Vec::new();
    for mount in mounts {
        let system = file::file_system(mount.point.as_bytes()).ok();
        let device = file::stat(mount.point.as_bytes(), Follow::Follow)
            .ok()
            .map(|stat| stat.dev);
        // Something mounted over it hides it, and one file system is shown once.
        let repeated = device.is_some() && seen.contains(&device);
        let empty = system.is_none_or(|system| system.blocks == 0);
        if all || !(repeated || empty) {
            seen.push(device);
            rows.push(Row {
                mount: mount.clone(),
                system,
            });
        }
    }
    rows
}

impl Options {
    fn show(&self, mut rows: Vec<Row>, out: &mut Output) {
        let default = if self.portable && std::env::var_os("POSIXLY_CORRECT").is_some() {
            BlockSize::parse(b"512").unwrap_or(BlockSize::KIBI)
        } else {
            BlockSize::KIBI
        };
        let environment = ["DF_BLOCK_SIZE", "BLOCK_SIZE", "BLOCKSIZE"]
            .iter()
            .find_map(|name| std::env::var(name).ok());
        let size = self
            .size
            .or_else(|| BlockSize::parse(environment?.as_bytes()))
            .unwrap_or(default);
        if self.total {
            rows.push(total(&rows));
        }
        let mut table = vec![self.headings(size)];
        table.extend(rows.iter().map(|row| self.cells(row, size)));
        let columns = table.first().map_or(0, Vec::len);
        let widths: Vec<_> = (0..columns)
            .map(|column| {
                let widest = table
                    .iter()
                    .filter_map(|row| row.get(column))
                    .map(|cell| display_width(cell.as_bytes()));
                widest.max().unwrap_or(0).max(self.least_width(column))
            })
            .collect();
        for row in &table {
            let mut line = String::new();
            for (column, (cell, width)) in row.iter().zip(&widths).enumerate() {
                let missing = " ".repeat(width.saturating_sub(display_width(cell.as_bytes())));
                let left = column == 0 || (self.show_type && column == 1);
                match () {
                    () if column + 1 == columns => line.push_str(cell),
                    () if left => line.extend([cell, missing.as_str(), " "]),
                    () => line.extend([missing.as_str(), cell, " "]),
                }
            }
            out.text(&line);
            out.text("\n");
        }
    }

    fn least_width(&self, column: usize) -> usize {
        let numbers = if self.show_type { 2..5 } else { 1..4 };
        match column {
            0 => 14,
            1 if self.show_type => 4,
            column if numbers.contains(&column) => 5,
            _ => 4,
        }
    }

    fn headings(&self, size: BlockSize) -> Vec<String> {
        let blocks = match size {
            BlockSize::Human(_) => String::from("Size"),
            BlockSize::Fixed(size, _) if self.portable => format!("{size}-blocks"),
            BlockSize::Fixed(size, _) => format!("{}-blocks", unit_name(size)),
        };
        let mut headings = vec!["Filesystem".to_owned()];
        headings.extend(self.show_type.then(|| "Type".to_owned()));
        let rest: [String; 5] = if self.inodes {
            ["Inodes", "IUsed", "IFree", "IUse%", "Mounted on"].map(str::to_owned)
        } else {
            let human = matches!(size, BlockSize::Human(_)) && !self.portable;
            let available = if human { "Avail" } else { "Available" };
            let used_percent = if self.portable { "Capacity" } else { "Use%" };
            [
                blocks,
                "Used".into(),
                available.into(),
                used_percent.into(),
                "Mounted on".into(),
            ]
        };
        headings.extend(rest);
        headings
    }

    fn cells(&self, row: &Row, size: BlockSize) -> Vec<String> {
        let dash = || String::from("-");
        let mut cells = vec![row.mount.source.clone()];
        cells.extend(self.show_type.then(|| row.mount.kind.clone()));
        let (total, free, unit) = match &row.system {
            Some(system) if self.inodes => (system.files, system.files_free, 1),
            Some(system) => (system.blocks, system.blocks_free, system.block_size),
            None => (0, 0, 1),
        };
        let used = total.saturating_sub(free);
        let number = |count: u64| match (&row.system, self.inodes, size) {
            (None, ..) => dash(),
            (_, true, BlockSize::Fixed(..)) => count.to_string(),
            _ => size.show(count.saturating_mul(unit)),
        };
        let percent = if total == 0 {
            dash()
        } else {
            let hundredfold = u128::from(used) * 100;
            format!("{}%", hundredfold.div_ceil(u128::from(total)))
        };
        cells.extend([
            number(total),
            number(used),
            number(free),
            percent,
            row.mount.point.clone(),
        ]);
        cells
    }
}

/// A size as `df` has it in its heading: `1K`, `1M`, else bytes.
fn unit_name(size: u64) -> String {
    let units = [(1 << 30, 'G'), (1 << 20, 'M'), (1 << 10, 'K')];
    let binary = units.iter().find(|(unit, _)| size.is_multiple_of(*unit));
    let decimal = [(1_000_000_000, "GB"), (1_000_000, "MB"), (1_000, "kB")];
    match (
        binary,
        decimal.iter().find(|(unit, _)| size.is_multiple_of(*unit)),
    ) {
        (Some((unit, letter)), _) => format!("{}{letter}", size / unit),
        (None, Some((unit, letters))) => format!("{}{letters}", size / unit),
        (None, None) => format!("{size}B"),
    }
}

fn total(rows: &[Row]) -> Row {
    let mut sum = FileSystem {
        read_only: false,
        block_size: 1,
        blocks: 0,
        blocks_free: 0,
        files: 0,
        files_free: 0,
        name_max: 0,
        id: 0,
    };
    for system in rows.iter().filter_map(|row| row.system.as_ref()) {
        let bytes = |blocks: u64| blocks.saturating_mul(system.block_size);
        sum.blocks = sum.blocks.saturating_add(bytes(system.blocks));
        sum.blocks_free = sum.blocks_free.saturating_add(bytes(system.blocks_free));
        sum.files = sum.files.saturating_add(system.files);
        sum.files_free = sum.files_free.saturating_add(system.files_free);
    }
    let mount = Mount {
        source: String::from("total"),
        point: String::from("-"),
        kind: String::from("-"),
    };
    Row {
        mount,
        system: Some(sum),
    }
}
