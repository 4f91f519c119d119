//! `mkdir`: makes directories.

use std::ffi::OsString;

use sandbar_guest::{
    Errno,
    file::{self, Follow},
    process,
};

use super::{
    cli::{self, Opt, Order, Outcome, Output, Tool},
    mode::Mode,
    quote::{quote, quote_word},
};

static TOOL: Tool = Tool {
    name: "mkdir",
    help: "\
Usage: mkdir [OPTION]... DIRECTORY...
Makes each DIRECTORY.

  -m, --mode=MODE   its mode, as for chmod, instead of a=rwx minus the umask
  -p, --parents     no error when there is one; make those above it too
  -v, --verbose     tell of each one that is made
      --help        show this text
      --version     show the version
",
    options: &[
        Opt::value(b'm', "mode"),
        Opt::flag(b'p', "parents"),
        Opt::flag(b'v', "verbose"),
    ],
    order: Order::Any,
    usage_status: 1,
};

pub(super) fn main(args: Vec<OsString>) -> i32 {
    cli::status(run(args))
}

/// How directories are made.
pub(super) struct Maker {
    /// Mode of the last component, exactly; `None` is 0777 minus the umask.
    pub(super) mode: Option<u32>,
    /// Mode of those above it, before the umask.
    pub(super) parent_mode: u32,
    pub(super) umask: u32,
}

fn run(args: Vec<OsString>) -> Outcome {
    let (mut mode, mut parents, mut verbose) = (None, false, false);
    let mut parser = TOOL.parse(args);
    while let Some((option, value)) = parser.next()? {
        match option {
            "mode" => mode = value,
            "parents" => parents = true,
            _ => verbose = true,
        }
    }
    let operands = parser.operands();
    if operands.is_empty() {
        return Err(TOOL.missing_operand(None));
    }
    let umask = process::umask().unwrap_or(0);
    let mode = mode.map(|text| {
        let mode = Mode::parse(&text)
            .ok_or_else(|| TOOL.fail(1, format!("invalid mode {}", quote_word(&text))))?;
        Ok(mode.apply(0o777 & !umask, true, umask))
    });
    let maker = Maker {
        mode: mode.transpose()?,
        parent_mode: 0o777,
        umask,
    };
    let mut out = Output::new();
    let mut failed = false;
    for path in &operands {
        let mut told = |path: &[u8]| {
            if verbose {
                out.text(&format!("mkdir: created directory {}\n", quote(path)));
            }
        };
        let made = if parents {
            maker.make_all(path, &mut told)
        } else {
            maker.make(path).map(|()| told(path))
        };
        if let Err((path, errno)) = made.map_err(|failure| failure.named(path)) {
            failed = true;
            out.flush();
            TOOL.warn(format!(
                "cannot create directory {}: {errno}",
                quote_word(&path)
            ));
        }
    }
    Ok(out.finish(&TOOL, i32::from(failed)))
}

/// Which directory could not be made, when it is not the one asked for.
pub(super) struct Failure {
    path: Option<Vec<u8>>,
    errno: Errno,
}

impl Failure {
    /// The failure with the path that it is about.
    pub(super) fn named(self, asked: &[u8]) -> (Vec<u8>, Errno) {
        (self.path.unwrap_or_else(|| asked.to_vec()), self.errno)
    }
}

impl From<Errno> for Failure {
    fn from(errno: Errno) -> Self {
        Self { path: None, errno }
    }
}

impl Maker {
    /// Makes one directory.
    pub(super) fn make(&self, path: &[u8]) -> Result<(), Failure> {
        let Some(mode) = self.mode else {
            return Ok(file::make_dir(path, 0o777)?);
        };
        // Made with the exact mode at once, so that nobody gets in while it is wider.
        let _mask = process::set_umask(0);
        let made = file::make_dir(path, mode & 0o777);
        let _mask = process::set_umask(self.umask);
        made?;
        let special = mode & 0o7000 != 0;
        if special {
            file::set_mode(path, mode)?;
        }
        Ok(())
    }

    /// Makes a directory and all above it that are missing; `made` hears of each.
    pub(super) fn make_all(&self, path: &[u8], made: &mut dyn FnMut(&[u8])) -> Result<(), Failure> {
        let is_dir = |path: &[u8]| file::stat(path, Follow::Follow).is_ok_and(|stat| stat.is_dir());
        for end in parents(path) {
            let parent = path.get(..end).unwrap_or(path);
            // The owner must get into what is made here, whatever the umask says.
            let _mask = process::set_umask(self.umask & !0o300);
            let result = file::make_dir(parent, self.parent_mode);
            let _mask = process::set_umask(self.umask);
            match result {
                Ok(()) => made(parent),
                Err(_) if is_dir(parent) => {}
                // What is there is no directory, so nothing can be made below.
                Err(Errno::EEXIST) => {
                    return Err(Failure {
                        path: Some(parent.to_vec()),
                        errno: Errno::ENOTDIR,
                    });
                }
                Err(errno) => {
                    return Err(Failure {
                        path: Some(parent.to_vec()),
                        errno,
                    });
                }
            }
        }
        match self.make(path) {
            Ok(()) => made(path),
            Err(_) if is_dir(path) => {}
            Err(failure) => return Err(failure),
        }
        Ok(())
    }
}

/// Where the components above the last one end.
fn parents(path: &[u8]) -> Vec<usize> {
    let last = path.iter().rposition(|byte| *byte != b'/').unwrap_or(0);
    let ends = path
        .windows(2)
        .enumerate()
        .filter(|(_, pair)| pair[0] != b'/' && pair[1] == b'/');
    ends.map(|(at, _)| at + 1)
        .filter(|end| *end <= last)
        .collect()
}
