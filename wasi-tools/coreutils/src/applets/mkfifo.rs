//! `mkfifo`: makes named pipes.

use std::ffi::OsString;

use sandbar_guest::{file, process};

use super::{
    cli::{self, Opt, Order, Outcome, Tool},
    mode::Mode,
    quote::quote,
};

static TOOL: Tool = Tool {
    name: "mkfifo",
    help: "\
Usage: mkfifo [OPTION]... NAME...
Makes a named pipe for each NAME.

  -m, --mode=MODE   its mode, as for chmod, instead of a=rw minus the umask
      --help        show this text
      --version     show the version
",
    options: &[Opt::value(b'm', "mode")],
    order: Order::Any,
    usage_status: 1,
};

pub(super) fn main(args: Vec<OsString>) -> i32 {
    cli::status(run(args))
}

fn run(args: Vec<OsString>) -> Outcome {
    let mut mode = None;
    let mut parser = TOOL.parse(args);
    while let Some((_, value)) = parser.next()? {
        mode = value;
    }
    let operands = parser.operands();
    if operands.is_empty() {
        return Err(TOOL.missing_operand(None));
    }
    let mode = match mode {
        None => 0o666,
        Some(text) => {
            let mode = Mode::parse(&text).ok_or_else(|| TOOL.fail(1, "invalid mode"))?;
            let mode = mode.apply(0o666, false, process::umask().unwrap_or(0));
            if mode & !0o777 != 0 {
                return Err(TOOL.fail(1, "mode must specify only file permission bits"));
            }
            // From here on the mode is exact.
            let _before = process::set_umask(0);
            mode
        }
    };
    let mut failed = false;
    for path in &operands {
        if let Err(errno) = file::make_fifo(path, mode) {
            failed = true;
            TOOL.warn(format!("cannot create fifo {}: {errno}", quote(path)));
        }
    }
    Ok(i32::from(failed))
}
