//! The core utilities of Sandbar.
//!
//! Most are uutils' crates as they are; what starts programs, shows modes or needs ids is ours. Two modules are built from
//! this crate: [`BASE`] with the small ones that a shell calls all the time, so that a first command does not wait for the
//! rest to be compiled, and [`FULL`] with the others.

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::Path;

use sandbar_guest as _;

mod upstream;

pub use upstream::{BASE, FULL};

/// One utility: the name it is called by, and its main function.
#[derive(Debug, Clone, Copy)]
pub struct Utility {
    /// The name in `/usr/bin`.
    pub name: &'static str,
    /// The name under which its messages are filed: `[` has those of `test`.
    pub messages: &'static str,
    /// Runs it with `argv`, `argv[0]` included, and returns the exit status.
    pub main: fn(std::vec::IntoIter<OsString>) -> i32,
}

/// Runs the utility that `argv[0]` names, or, called as `module`, the one that `argv[1]` names; returns the exit status.
pub fn run(module: &str, utilities: &[Utility]) -> i32 {
    let mut arguments: Vec<OsString> = std::env::args_os().collect();
    let mut name = arguments.first().map_or_else(String::new, |called| file_name(called));
    if name == module {
        arguments.remove(0);
        uucore::set_utility_is_second_arg();
        name = match arguments.first() {
            Some(first) => first.to_string_lossy().into_owned(),
            None => return fail(&format!("{module}: missing argument; `{module} --list` shows the utilities")),
        };
        if name == "--list" {
            return list(utilities);
        }
    }
    let Some(utility) = utilities.iter().find(|utility| utility.name == name) else {
        return fail(&format!("{module}: unknown utility `{name}`; `{module} --list` shows all"));
    };
    if let Err(error) = uucore::locale::setup_localization(utility.messages) {
        return fail(&format!("{name}: {error}"));
    }
    (utility.main)(arguments.into_iter())
}

fn file_name(called: &OsString) -> String {
    Path::new(called).file_name().unwrap_or(called).to_string_lossy().into_owned()
}

fn list(utilities: &[Utility]) -> i32 {
    let mut names: String = utilities.iter().map(|utility| utility.name).collect::<Vec<_>>().join("\n");
    names.push('\n');
    match io::stdout().write_all(names.as_bytes()) {
        Ok(()) => 0,
        Err(error) => fail(&format!("standard output: {error}")),
    }
}

/// Prints a line on standard error and returns the status for it. There is nobody to tell when even that fails.
fn fail(message: &str) -> i32 {
    let _ = writeln!(io::stderr(), "{message}");
    1
}
