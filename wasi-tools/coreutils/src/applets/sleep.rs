//! `sleep`: waits.

use std::{ffi::OsString, time::Duration};

use sandbar_guest::{Errno, fd, time};

use super::{
    cli::{self, Opt, Order, Outcome, Tool},
    duration,
    quote::quote_word,
};

static TOOL: Tool = Tool {
    name: "sleep",
    help: "\
Usage: sleep NUMBER[SUFFIX]...
  or:  sleep OPTION
Waits for the sum of the times. A NUMBER may have a fraction; SUFFIX is s for seconds (default), m for minutes, h for hours
or d for days. 'infinity' waits until a signal ends it.

      --help      show this text
      --version   show the version
",
    options: NO_OPTIONS,
    order: Order::Any,
    usage_status: 1,
};

const NO_OPTIONS: &[Opt] = &[];

pub(super) fn main(args: Vec<OsString>) -> i32 {
    cli::status(run(args))
}

fn run(args: Vec<OsString>) -> Outcome {
    let mut parser = TOOL.parse(args);
    while parser.next()?.is_some() {}
    let operands = parser.operands();
    if operands.is_empty() {
        return Err(TOOL.missing_operand(None));
    }
    let mut total = Duration::ZERO;
    let mut wrong = false;
    for operand in &operands {
        if let Some(duration) = duration::parse(operand) {
            total = total.saturating_add(duration);
        } else {
            wrong = true;
            TOOL.warn(format!("invalid time interval {}", quote_word(operand)));
        }
    }
    if wrong {
        return Err(TOOL.try_help());
    }
    sleep(total).map_or_else(
        |errno| Err(TOOL.fail(1, format!("cannot sleep: {errno}"))),
        |()| Ok(0),
    )
}

/// Sleeps, going on after signals; [`Duration::MAX`] has no end.
fn sleep(total: Duration) -> Result<(), Errno> {
    let end = time::monotonic().checked_add(total);
    loop {
        let left = end.map(|end| end.saturating_sub(time::monotonic()));
        match fd::poll(&mut [], left) {
            Ok(_) if end.is_some() => return Ok(()),
            Ok(_) | Err(Errno::EINTR) => {}
            Err(errno) => return Err(errno),
        }
    }
}
