//! `mktemp`: makes a file or directory with a new name.

use std::{
    collections::hash_map::RandomState,
    ffi::OsString,
    hash::{BuildHasher, Hasher},
};

use sandbar_guest::{
    Errno,
    file::{self, Follow, OpenFlags},
};

use super::{
    cli::{self, Opt, Order, Outcome, Output, Stop, Takes, Tool},
    quote::{quote, quote_word},
};

static TOOL: Tool = Tool {
    name: "mktemp",
    help: "\
Usage: mktemp [OPTION]... [TEMPLATE]
Makes a file with a new name and shows the name. TEMPLATE must have at least 3 X in a row in its last component, which are
replaced; without one it is tmp.XXXXXXXXXX in the temporary directory.

  -d, --directory      make a directory
  -u, --dry-run        make nothing, only show a name; unsafe
  -q, --quiet          say nothing when it fails
      --suffix=SUFF    append SUFF
  -p DIR, --tmpdir[=DIR]  below DIR; without it below $TMPDIR, else /tmp
  -t                   TEMPLATE is one component, below the temporary directory
      --help           show this text
      --version        show the version
",
    options: &[
        Opt::flag(b'd', "directory"),
        Opt::flag(b'u', "dry-run"),
        Opt::flag(b'q', "quiet"),
        Opt::value(0, "suffix"),
        Opt::letter(b'p', Takes::Value, "tmpdir"),
        Opt::optional(0, "tmpdir"),
        Opt::letter(b't', Takes::Nothing, "-t"),
        Opt::letter(b'V', Takes::Nothing, "version"),
    ],
    order: Order::Any,
    usage_status: 1,
};

const DEFAULT_TEMPLATE: &[u8] = b"tmp.XXXXXXXXXX";
const LETTERS: &[u8; 62] = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";

/// Names tried before giving up: with 62^3 names, chance alone does not come so far.
const ATTEMPTS: usize = 10_000;

pub(super) fn main(args: Vec<OsString>) -> i32 {
    cli::status(run(args))
}

#[derive(Default)]
struct Request {
    directory: bool,
    dry_run: bool,
    quiet: bool,
    suffix: Option<Vec<u8>>,
    below: Option<Vec<u8>>,
    use_tmpdir: bool,
    deprecated_t: bool,
}

fn run(args: Vec<OsString>) -> Outcome {
    let mut request = Request::default();
    let mut parser = TOOL.parse(args);
    while let Some((option, value)) = parser.next()? {
        match option {
            "directory" => request.directory = true,
            "dry-run" => request.dry_run = true,
            "quiet" => request.quiet = true,
            "suffix" => request.suffix = value,
            "tmpdir" => {
                request.use_tmpdir = true;
                request.below = value;
            }
            _ => (request.use_tmpdir, request.deprecated_t) = (true, true),
        }
    }
    let mut operands = parser.operands();
    if operands.len() > 1 {
        return Err(TOOL.usage("too many templates"));
    }
    let template = operands.pop();
    if template.is_none() {
        request.use_tmpdir = true;
    }
    let template = template.unwrap_or_else(|| DEFAULT_TEMPLATE.to_vec());
    let (before, count, suffix) = request.split(&template)?;
    let before = request.place(&template, before)?;
    let path = request.make(&before, count, &suffix)?;
    let mut out = Output::new();
    out.bytes(&path);
    out.bytes(b"\n");
    Ok(out.finish(&TOOL, 0))
}

impl Request {
    /// What precedes the X, how many there are, and what follows.
    fn split(&self, template: &[u8]) -> Result<(Vec<u8>, usize, Vec<u8>), Stop> {
        let end = match &self.suffix {
            Some(_) if !template.ends_with(b"X") => {
                let text = format!(
                    "with --suffix, template {} must end in X",
                    quote_word(template)
                );
                return Err(TOOL.fail(1, text));
            }
            Some(_) => template.len(),
            None => template
                .iter()
                .rposition(|byte| *byte == b'X')
                .map_or(0, |last| last + 1),
        };
        let (with_marks, rest) = template.split_at_checked(end).unwrap_or((template, b""));
        let suffix = self.suffix.clone().unwrap_or_else(|| rest.to_vec());
        if suffix.contains(&b'/') {
            let text = format!(
                "invalid suffix {}, contains directory separator",
                quote(&suffix)
            );
            return Err(TOOL.fail(1, text));
        }
        let count = with_marks
            .iter()
            .rev()
            .take_while(|byte| **byte == b'X')
            .count();
        if count < 3 {
            return Err(TOOL.fail(
                1,
                format!("too few X's in template {}", quote_word(template)),
            ));
        }
        let before = with_marks
            .get(..with_marks.len() - count)
            .unwrap_or_default()
            .to_vec();
        Ok((before, count, suffix))
    }

    /// The beginning of the path with its directory.
    fn place(&self, template: &[u8], before: Vec<u8>) -> Result<Vec<u8>, Stop> {
        if !self.use_tmpdir {
            return Ok(before);
        }
        let variable = std::env::var_os("TMPDIR")
            .map(OsString::into_encoded_bytes)
            .filter(|dir| !dir.is_empty());
        let given = self.below.clone().filter(|dir| !dir.is_empty());
        let dir = if self.deprecated_t {
            variable.or(given)
        } else {
            given.or(variable)
        };
        if self.deprecated_t && before.contains(&b'/') {
            let text = format!(
                "invalid template, {}, contains directory separator",
                quote(template)
            );
            return Err(TOOL.fail(1, text));
        }
        if before.starts_with(b"/") {
            let text = format!(
                "invalid template, {}; with --tmpdir, it may not be absolute",
                quote(template)
            );
            return Err(TOOL.fail(1, text));
        }
        let dir = dir.unwrap_or_else(|| b"/tmp".to_vec());
        let slash: &[u8] = if dir.ends_with(b"/") { b"" } else { b"/" };
        Ok([&dir, slash, &before].concat())
    }

    fn make(&self, before: &[u8], count: usize, suffix: &[u8]) -> Result<Vec<u8>, Stop> {
        let mut result = Err(Errno::EEXIST);
        let mut path = Vec::new();
        for _ in 0..ATTEMPTS {
            path = [before, &random_letters(count), suffix].concat();
            result = self.try_make(&path);
            if result != Err(Errno::EEXIST) {
                break;
            }
        }
        result.map(|()| path).map_err(|errno| {
            let kind = if self.directory { "directory" } else { "file" };
            let template = [before, &b"X".repeat(count), suffix].concat();
            if self.quiet {
                return Stop(1);
            }
            TOOL.fail(
                1,
                format!(
                    "failed to create {kind} via template {}: {errno}",
                    quote(&template)
                ),
            )
        })
    }

    fn try_make(&self, path: &[u8]) -> Result<(), Errno> {
        if self.dry_run {
            return match file::stat(path, Follow::NoFollow) {
                Err(Errno::ENOENT) => Ok(()),
                Err(errno) => Err(errno),
                Ok(_) => Err(Errno::EEXIST),
            };
        }
        if self.directory {
            return file::make_dir(path, 0o700);
        }
        let flags = OpenFlags::RDWR | OpenFlags::CREAT | OpenFlags::EXCL | OpenFlags::CLOEXEC;
        file::open(path, flags, 0o600)?.close()
    }
}

/// Letters that nobody can foresee: the hasher's keys come from the system's random numbers.
fn random_letters(count: usize) -> Vec<u8> {
    let state = RandomState::new();
    let mut letters = Vec::new();
    for index in 0..count {
        let mut hasher = state.build_hasher();
        hasher.write_usize(index);
        // 62 of 2^64: the bias is one in 10^17.
        let letter = usize::try_from(hasher.finish() % 62).unwrap_or(0);
        letters.extend(LETTERS.get(letter));
    }
    letters
}
