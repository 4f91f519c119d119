//! `du`: how much space files take.

use std::{collections::HashSet, ffi::OsString};

use sandbar_guest::file::{self, Follow, Stat};

use super::{
    cli::{self, Opt, Order, Outcome, Output, Stop, Takes, Tool},
    glob,
    quote::{quote, quote_word},
    size::BlockSize,
};

static TOOL: Tool = Tool {
    name: "du",
    help: "\
Usage: du [OPTION]... [FILE]...
Shows how much space each FILE takes, directories with everything below.

  -0, --null             end lines with NUL
  -a, --all              files too, not only directories
      --apparent-size    lengths, not the space on disk
  -B, --block-size=SIZE  in units of SIZE
  -b, --bytes            --apparent-size --block-size=1
  -c, --total            a total too
  -D, -H, --dereference-args  follow the links given
  -d, --max-depth=N      only N levels deep
      --exclude=PATTERN  leave out what PATTERN matches
  -X, --exclude-from=FILE  leave out what a pattern in FILE matches
  -h, --human-readable   1K 234M 2G
      --inodes           count files, not space
  -k, -m                 --block-size=1K, 1M
  -L, --dereference      follow all links
  -l, --count-links      count a file as often as it has names
  -P, --no-dereference   follow no links (default)
  -S, --separate-dirs    directories without their subdirectories
      --si               like -h, with powers of 1000
  -s, --summarize        only a total for each FILE
  -t, --threshold=SIZE   leave out what is smaller, or with a minus larger
  -x, --one-file-system  stay on the file system
      --help             show this text
      --version          show the version
",
    options: &[
        Opt::flag(b'0', "null"),
        Opt::flag(b'a', "all"),
        Opt::flag(0, "apparent-size"),
        Opt::value(b'B', "block-size"),
        Opt::flag(b'b', "bytes"),
        Opt::flag(b'c', "total"),
        Opt::flag(b'D', "dereference-args"),
        Opt::letter(b'H', Takes::Nothing, "dereference-args"),
        Opt::value(b'd', "max-depth"),
        Opt::value(0, "exclude"),
        Opt::value(b'X', "exclude-from"),
        Opt::flag(b'h', "human-readable"),
        Opt::flag(0, "inodes"),
        Opt::letter(b'k', Takes::Nothing, "-k"),
        Opt::letter(b'm', Takes::Nothing, "-m"),
        Opt::flag(b'L', "dereference"),
        Opt::flag(b'l', "count-links"),
        Opt::flag(b'P', "no-dereference"),
        Opt::flag(b'S', "separate-dirs"),
        Opt::flag(0, "si"),
        Opt::flag(b's', "summarize"),
        Opt::value(b't', "threshold"),
        Opt::flag(b'x', "one-file-system"),
    ],
    order: Order::Any,
    usage_status: 1,
};

pub(super) fn main(args: Vec<OsString>) -> i32 {
    cli::status(run(args))
}

/// Which links are followed.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Links {
    #[default]
    None,
    Given,
    All,
}

#[derive(Default)]
struct Options {
    null: bool,
    all: bool,
    apparent: bool,
    total: bool,
    links: Links,
    max_depth: Option<usize>,
    exclude: Vec<Vec<u8>>,
    inodes: bool,
    count_links: bool,
    separate: bool,
    summarize: bool,
    /// The smallest size; negative is the largest.
    threshold: i128,
    one_system: bool,
    size: Option<BlockSize>,
}

struct Du {
    options: Options,
    size: BlockSize,
    seen: HashSet<(u64, u64)>,
    out: Output,
    failed: bool,
}

/// A directory that is being added up.
struct Level {
    path: Vec<u8>,
    names: std::vec::IntoIter<Vec<u8>>,
    own: u64,
    below: u64,
    id: (u64, u64),
}

fn run(args: Vec<OsString>) -> Outcome {
    let mut options = Options::default();
    let mut parser = TOOL.parse(args);
    while let Some((option, value)) = parser.next()? {
        options.read(option, &value.unwrap_or_default())?;
    }
    if options.summarize && options.all {
        return Err(TOOL.usage("cannot both summarize and show all entries"));
    }
    if options.summarize {
        match options.max_depth {
            Some(0) => TOOL.warn("warning: summarizing is the same as using --max-depth=0"),
            Some(depth) => {
                return Err(TOOL.usage(format!(
                    "warning: summarizing conflicts with --max-depth={depth}"
                )));
            }
            None => options.max_depth = Some(0),
        }
    }
    let environment = ["DU_BLOCK_SIZE", "BLOCK_SIZE", "BLOCKSIZE"]
        .iter()
        .find_map(|name| std::env::var(name).ok());
    let environment = environment.and_then(|text| BlockSize::parse(text.as_bytes()));
    let size = options.size.or(environment).unwrap_or(BlockSize::KIBI);
    let mut operands = parser.operands();
    if operands.is_empty() {
        operands.push(b".".to_vec());
    }
    let mut du = Du {
        options,
        size,
        seen: HashSet::new(),
        out: Output::new(),
        failed: false,
    };
    let mut total = 0_u64;
    for path in operands {
        total = total.saturating_add(du.operand(path));
    }
    if du.options.total {
        du.line(total, b"total");
    }
    let status = i32::from(du.failed);
    Ok(du.out.finish(&TOOL, status))
}

impl Options {
    fn read(&mut self, option: &str, value: &[u8]) -> Result<(), Stop> {
        let size = |what: &str| {
            let size = BlockSize::parse(value);
            size.ok_or_else(|| {
                TOOL.fail(1, format!("invalid {what} argument {}", quote_word(value)))
            })
        };
        match option {
            "null" => self.null = true,
            "all" => self.all = true,
            "apparent-size" => self.apparent = true,
            "block-size" => self.size = Some(size("-B")?),
            "bytes" => (self.apparent, self.size) = (true, Some(BlockSize::BYTES)),
            "total" => self.total = true,
            "dereference-args" => self.links = Links::Given,
            "dereference" => self.links = Links::All,
            "no-dereference" => self.links = Links::None,
            "max-depth" => {
                let depth = std::str::from_utf8(value)
                    .ok()
                    .and_then(|text| text.parse().ok());
                let wrong = || TOOL.usage(format!("invalid maximum depth {}", quote_word(value)));
                self.max_depth = Some(depth.ok_or_else(wrong)?);
            }
            "exclude" => self.exclude.push(value.to_vec()),
            "exclude-from" => {
                let path = String::from_utf8_lossy(value).into_owned();
                let text = std::fs::read(path).map_err(|error| {
                    TOOL.fail(
                        1,
                        format!("{}: {}", quote(value), sandbar_guest::Errno::from(error)),
                    )
                })?;
                let lines = text
                    .split(|byte| *byte == b'\n')
                    .filter(|line| !line.is_empty());
                self.exclude.extend(lines.map(<[u8]>::to_vec));
            }
            "human-readable" => self.size = Some(BlockSize::HUMAN),
            "si" => self.size = Some(BlockSize::SI),
            "-k" => self.size = Some(BlockSize::KIBI),
            "-m" => self.size = BlockSize::parse(b"1M"),
            "inodes" => self.inodes = true,
            "count-links" => self.count_links = true,
            "separate-dirs" => self.separate = true,
            "summarize" => self.summarize = true,
            "threshold" => {
                let (sign, text) = value
                    .strip_prefix(b"-")
                    .map_or((1, value), |text| (-1, text));
                let wrong = || {
                    TOOL.fail(
                        1,
                        format!("invalid --threshold argument {}", quote_word(value)),
                    )
                };
                self.threshold = match BlockSize::parse(text) {
                    Some(BlockSize::Fixed(size, _)) => sign * i128::from(size),
                    None if text == b"0" && sign == 1 => 0,
                    _ => return Err(wrong()),
                };
            }
            _ => self.one_system = true,
        }
        Ok(())
    }
}

impl Du {
    fn fail(&mut self, text: &str) {
        self.failed = true;
        self.out.flush();
        TOOL.warn(text);
    }

    fn line(&mut self, size: u64, path: &[u8]) {
        let bytes = i128::from(size);
        let threshold = self.options.threshold;
        if (threshold > 0 && bytes < threshold) || (threshold < 0 && bytes > -threshold) {
            return;
        }
        let in_units =
            !self.options.inodes || matches!(self.options.size, Some(BlockSize::Human(_)));
        let shown = if in_units {
            self.size.show(size)
        } else {
            size.to_string()
        };
        self.out.text(&shown);
        self.out.text("\t");
        self.out.bytes(path);
        self.out.text(if self.options.null { "\0" } else { "\n" });
    }

    /// What one file takes by itself; `None` when it has been counted.
    fn own_size(&mut self, stat: &Stat) -> Option<u64> {
        let repeated = !self.options.count_links && (stat.nlink > 1 || stat.is_dir());
        if repeated && !self.seen.insert((stat.dev, stat.ino)) {
            return None;
        }
        Some(match (self.options.inodes, self.options.apparent) {
            (true, _) => 1,
            (false, true) if !(stat.is_file() || stat.is_symlink() || stat.is_dir()) => 0,
            (false, true) => stat.len,
            (false, false) => stat.blocks.saturating_mul(512),
        })
    }

    fn stat(&mut self, path: &[u8], given: bool) -> Option<Stat> {
        let follow = match self.options.links {
            Links::All => Follow::Follow,
            Links::Given if given => Follow::Follow,
            _ => Follow::NoFollow,
        };
        match file::stat(path, follow) {
            Ok(stat) => Some(stat),
            Err(errno) => {
                self.fail(&format!("cannot access {}: {errno}", quote(path)));
                None
            }
        }
    }

    fn excluded(&self, path: &[u8], name: &[u8]) -> bool {
        self.options
            .exclude
            .iter()
            .any(|p| glob::matches(p, name) || glob::matches(p, path))
    }

    /// Adds up what is given, and returns it.
    fn operand(&mut self, path: Vec<u8>) -> u64 {
        let name = path
            .strip_suffix(b"/")
            .unwrap_or(&path)
            .rsplit(|byte| *byte == b'/')
            .next()
            .unwrap_or_default();
        if self.excluded(&path, name) {
            return 0;
        }
        if path.is_empty() {
            self.fail("invalid zero-length file name");
            return 0;
        }
        let Some(stat) = self.stat(&path, true) else {
            return 0;
        };
        let Some(own) = self.own_size(&stat) else {
            return 0;
        };
        if !stat.is_dir() {
            self.line(own, &path);
            return own;
        }
        let device = stat.dev;
        let mut levels = vec![self.enter(path, own, &stat)];
        let mut total = 0;
        // A stack instead of recursion: depth is the file system's to choose.
        while !levels.is_empty() {
            let depth = levels.len();
            let Some(level) = levels.last_mut() else {
                break;
            };
            if let Some(name) = level.names.next() {
                let slash: &[u8] = if level.path.ends_with(b"/") {
                    b""
                } else {
                    b"/"
                };
                let path = [&level.path, slash, &name].concat();
                let below = self.entry(path, &name, device, depth, &mut levels);
                levels.extend(below);
                continue;
            }
            let Some(done) = levels.pop() else { break };
            let sum = done.own.saturating_add(done.below);
            if depth - 1 <= self.options.max_depth.unwrap_or(usize::MAX) {
                self.line(sum, &done.path);
            }
            match levels.last_mut() {
                Some(parent) if !self.options.separate => {
                    parent.below = parent.below.saturating_add(sum);
                }
                Some(_) => {}
                None => total = sum,
            }
        }
        total
    }

    /// Counts a name in a directory; a directory that has to be entered is returned.
    fn entry(
        &mut self,
        path: Vec<u8>,
        name: &[u8],
        device: u64,
        depth: usize,
        levels: &mut [Level],
    ) -> Option<Level> {
        if self.excluded(&path, name) {
            return None;
        }
        let stat = self.stat(&path, false)?;
        if self.options.one_system && stat.dev != device {
            return None;
        }
        if stat.is_dir() && levels.iter().any(|level| level.id == (stat.dev, stat.ino)) {
            return None;
        }
        let own = self.own_size(&stat)?;
        if stat.is_dir() {
            return Some(self.enter(path, own, &stat));
        }
        if let Some(parent) = levels.last_mut() {
            parent.own = parent.own.saturating_add(own);
        }
        if self.options.all && depth <= self.options.max_depth.unwrap_or(usize::MAX) {
            self.line(own, &path);
        }
        None
    }

    fn enter(&mut self, path: Vec<u8>, own: u64, stat: &Stat) -> Level {
        let names = match file::read_dir(&path) {
            Ok(entries) => entries
                .into_iter()
                .map(|entry| entry.name)
                .collect::<Vec<_>>(),
            Err(errno) => {
                self.fail(&format!("cannot read directory {}: {errno}", quote(&path)));
                Vec::new()
            }
        };
        Level {
            path,
            names: names.into_iter(),
            own,
            below: 0,
            id: (stat.dev, stat.ino),
        }
    }
}
