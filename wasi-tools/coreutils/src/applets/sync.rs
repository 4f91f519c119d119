//! `sync`: waits until files are on disk.

use std::ffi::OsString;

use sandbar_guest::file::{self, OpenFlags};

use super::{
    cli::{self, Opt, Order, Outcome, Tool},
    quote::quote,
};

static TOOL: Tool = Tool {
    name: "sync",
    help: "\
Usage: sync [OPTION] [FILE]...
Waits until each FILE is on disk. Without FILE there is nothing to wait for: what the sandbox wrote is with the host already.

  -d, --data          only the contents
  -f, --file-system   the file system of each FILE
      --help          show this text
      --version       show the version
",
    options: &[Opt::flag(b'd', "data"), Opt::flag(b'f', "file-system")],
    order: Order::Any,
    usage_status: 1,
};

pub(super) fn main(args: Vec<OsString>) -> i32 {
    cli::status(run(args))
}

fn run(args: Vec<OsString>) -> Outcome {
    let mut given = Vec::new();
    let mut parser = TOOL.parse(args);
    while let Some((option, _)) = parser.next()? {
        given.push(option);
    }
    let operands = parser.operands();
    if given.contains(&"data") && given.contains(&"file-system") {
        return Err(TOOL.fail(1, "cannot specify both --data and --file-system"));
    }
    if given.contains(&"data") && operands.is_empty() {
        return Err(TOOL.fail(1, "--data needs at least one argument"));
    }
    let mut failed = false;
    for path in &operands {
        let flags = OpenFlags::RDONLY | OpenFlags::NONBLOCK | OpenFlags::CLOEXEC;
        let fd = match file::open(path, flags, 0) {
            Ok(fd) => fd,
            Err(errno) => {
                failed = true;
                TOOL.warn(format!("error opening {}: {errno}", quote(path)));
                continue;
            }
        };
        let (synced, closed) = (fd.sync(), fd.close());
        if let Err(errno) = synced.and(closed) {
            failed = true;
            TOOL.warn(format!("error syncing {}: {errno}", quote(path)));
        }
    }
    Ok(i32::from(failed))
}
