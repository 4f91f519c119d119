//! `nice`: runs a program with another scheduling priority, of which Sandbar has only one.

use std::ffi::OsString;

use super::{
    cli::{self, Opt, Order, Outcome, Output, Tool},
    program,
    quote::quote_word,
};

static TOOL: Tool = Tool {
    name: "nice",
    help: "\
Usage: nice [OPTION] [COMMAND [ARG]...]
Runs COMMAND; without one, shows the niceness. All programs of a sandbox have the niceness 0, whatever is asked for.

  -n, --adjustment=N   add N to the niceness (default 10)
      --help           show this text
      --version        show the version
",
    options: &[Opt::value(b'n', "adjustment")],
    order: Order::OptionsFirst,
    usage_status: 125,
};

pub(super) fn main(args: Vec<OsString>) -> i32 {
    cli::status(run(args))
}

fn run(args: Vec<OsString>) -> Outcome {
    let mut parser = TOOL.parse(old_style(args));
    let mut adjustment = None;
    while let Some((_, value)) = parser.next()? {
        adjustment = value;
    }
    if let Some(text) = &adjustment
        && std::str::from_utf8(text)
            .ok()
            .and_then(|text| text.trim_ascii_start().parse::<i64>().ok())
            .is_none()
    {
        return Err(TOOL.fail(125, format!("invalid adjustment {}", quote_word(text))));
    }
    let words = parser.operands();
    if !words.is_empty() {
        let errno = program::command(&words).exec();
        let name = quote_word(words.first().map(Vec::as_slice).unwrap_or_default());
        return Err(TOOL.fail(program::failure_status(errno), format!("{name}: {errno}")));
    }
    if adjustment.is_some() {
        return Err(TOOL.usage("a command must be given with an adjustment"));
    }
    let mut out = Output::new();
    out.text("0\n");
    Ok(out.finish(&TOOL, 0))
}

/// Turns the leading `-N`, `-+N` and `--N` of old into `-n`.
fn old_style(args: Vec<OsString>) -> Vec<OsString> {
    let mut words = args.into_iter();
    let mut new: Vec<OsString> = words.next().into_iter().collect();
    for word in words.by_ref() {
        let text = word.to_string_lossy().into_owned();
        let number = text.strip_prefix('-').filter(|rest| {
            rest.strip_prefix(['-', '+'])
                .unwrap_or(rest)
                .starts_with(|first: char| first.is_ascii_digit())
        });
        let Some(number) = number else {
            new.push(word);
            break;
        };
        new.extend([OsString::from("-n"), OsString::from(number)]);
    }
    new.extend(words);
    new
}
