//! `which`: where a program is.

use std::ffi::OsString;

use sandbar_guest::file::{self, Access, Follow};

use super::cli::{self, Opt, Order, Outcome, Output, Takes, Tool};

static TOOL: Tool = Tool {
    name: "which",
    help: "\
Usage: which [-a] NAME...
Shows which file a shell would run for each NAME. Exits with 1 when there is none for one of them.

  -a              all files on PATH, not only the first
      --help      show this text
      --version   show the version
",
    options: &[Opt::letter(b'a', Takes::Nothing, "all")],
    order: Order::OptionsFirst,
    usage_status: 2,
};

pub(super) fn main(args: Vec<OsString>) -> i32 {
    cli::status(run(args))
}

fn run(args: Vec<OsString>) -> Outcome {
    let mut all = false;
    let mut parser = TOOL.parse(args);
    while parser.next()?.is_some() {
        all = true;
    }
    let names = parser.operands();
    let path = std::env::var_os("PATH")
        .map(OsString::into_encoded_bytes)
        .unwrap_or_default();
    let mut out = Output::new();
    let mut missing = names.is_empty();
    for name in &names {
        let found = find(name, &path);
        missing |= found.is_empty();
        for file in found.iter().take(if all { usize::MAX } else { 1 }) {
            out.bytes(file);
            out.bytes(b"\n");
        }
    }
    Ok(out.finish(&TOOL, i32::from(missing)))
}

/// All files that `name` can mean, in the order of PATH.
fn find(name: &[u8], path: &[u8]) -> Vec<Vec<u8>> {
    let is_program = |file: &Vec<u8>| {
        let regular = file::stat(file, Follow::Follow).is_ok_and(|stat| stat.is_file());
        regular && file::access(file, Access::EXECUTE).is_ok()
    };
    if name.contains(&b'/') {
        return Some(name.to_vec()).into_iter().filter(is_program).collect();
    }
    let candidates = path.split(|byte| *byte == b':').map(|dir| match dir {
        b"" => [b"./", name].concat(),
        dir => [dir, b"/", name].concat(),
    });
    candidates
        .filter(|_| !name.is_empty())
        .filter(is_program)
        .collect()
}
