//! The core utilities of Sandbar.
//!
//! Most are uutils' crates as they are ([`upstream`]); what starts programs, shows modes or needs ids is ours ([`applets`])
//! and takes precedence. Two modules are built from this crate: `coreutils-base` has ours and the small ones that a shell
//! calls all the time, so that a first command does not wait for the rest to be compiled; `coreutils` has the others.

use std::ffi::{OsStr, OsString};
use std::io::{self, Write};
use std::path::Path;

use sandbar_guest::process::Spawn;

pub mod applets;
pub mod listing;
pub mod upstream;

/// One utility from upstream: the name it is called by, and its main function.
#[derive(Debug, Clone, Copy)]
pub struct Utility {
    /// The name in `/usr/bin`.
    pub name: &'static str,
    /// Runs it with `argv`, `argv[0]` included, and returns the exit status.
    pub main: fn(std::vec::IntoIter<OsString>) -> i32,
}

/// What one module has.
#[derive(Debug, Clone, Copy)]
pub struct Module {
    /// Its name in `/usr/bin`; called by it, the first argument names the utility.
    pub name: &'static str,
    /// Our own utilities, run by [`applets::run`].
    pub own: &'static [&'static str],
    /// Those from upstream.
    pub upstream: &'static [Utility],
    /// The module that is asked for a utility this one has not.
    pub other: Option<&'static str>,
}

/// Ours, and the small ones that a shell calls all the time.
pub const BASE: Module = Module {
    name: "coreutils-base",
    own: &applets::NAMES,
    upstream: upstream::BASE,
    other: None,
};

/// The larger and rarer ones.
pub const FULL: Module = Module {
    name: "coreutils",
    own: &[],
    upstream: upstream::FULL,
    other: Some("coreutils-base"),
};

impl Module {
    /// Runs the utility that `argv[0]` names, or `argv[1]` when the module is called by its own name.
    ///
    /// Returns the exit status: the utility's, 1 when there is none of that name.
    pub fn run(&self) -> i32 {
        let mut arguments: Vec<OsString> = std::env::args_os().collect();
        let mut name = arguments
            .first()
            .map_or_else(String::new, |called| file_name(called));
        if name == self.name {
            arguments.remove(0);
            uucore::set_utility_is_second_arg();
            name = match arguments.first() {
                Some(first) => first.to_string_lossy().into_owned(),
                None => {
                    return fail(&format!(
                        "{name}: missing argument; `{name} --list` shows the utilities"
                    ));
                }
            };
            if name == "--list" {
                return self.list();
            }
        }
        self.start(&name, arguments)
    }

    fn start(&self, name: &str, arguments: Vec<OsString>) -> i32 {
        if self.own.contains(&name) {
            return applets::run(name, arguments).unwrap_or(1);
        }
        let Some(utility) = self.upstream.iter().find(|utility| utility.name == name) else {
            if let Some(other) = self.other {
                let argv = std::iter::once(other.as_bytes())
                    .chain(arguments.iter().map(|one| one.as_encoded_bytes()));
                let error = Spawn::new(other)
                    .search(true)
                    .all_fds(true)
                    .args(argv)
                    .exec();
                return fail(&format!(
                    "{}: `{other}` could not be started: {error}",
                    self.name
                ));
            }
            return fail(&format!(
                "{}: unknown utility `{name}`; `{} --list` shows all",
                self.name, self.name
            ));
        };
        if let Some(option) = unsupported(name, &arguments) {
            return fail(&format!(
                "{name}: option '{option}' is not supported in a sandbox"
            ));
        }
        // Parsing the messages takes as long as the rest of such a small program, and without arguments these two have none.
        let silent = matches!(utility.name, "true" | "false") && arguments.len() == 1;
        if !silent && let Err(error) = uucore::locale::setup_localization(messages(utility.name)) {
            return fail(&format!("{name}: {error}"));
        }
        (utility.main)(arguments.into_iter())
    }

    fn list(&self) -> i32 {
        let mut names: Vec<&str> = self
            .upstream
            .iter()
            .map(|utility| utility.name)
            .filter(|name| !applets::NAMES.contains(name))
            .chain(self.own.iter().copied())
            .collect();
        names.sort_unstable();
        names.dedup();
        match writeln!(io::stdout(), "{}", names.join("\n")) {
            Ok(()) => 0,
            Err(error) => fail(&format!("{}: standard output: {error}", self.name)),
        }
    }
}

/// The option among `arguments` that this utility can't do here. Abbreviations count, as for upstream.
fn unsupported(utility: &str, arguments: &[OsString]) -> Option<&'static str> {
    let given = arguments
        .iter()
        .filter_map(|one| one.to_str())
        .take_while(|one| *one != "--");
    let names: Vec<&str> = given
        .filter_map(|one| one.split('=').next())
        .filter(|name| name.len() > 4)
        .collect();
    upstream::UNSUPPORTED
        .iter()
        .find(|(of, option)| *of == utility && names.iter().any(|name| option.starts_with(name)))
        .map(|(_, option)| *option)
}

/// The name under which the messages of a utility are filed.
fn messages(utility: &str) -> &str {
    match utility {
        "[" => "test",
        "dir" | "vdir" => "ls",
        other => other,
    }
}

fn file_name(called: &OsStr) -> String {
    Path::new(called)
        .file_name()
        .unwrap_or(called)
        .to_string_lossy()
        .into_owned()
}

/// Prints a line on standard error and returns the status for it. There is nobody to tell when even that fails.
fn fail(message: &str) -> i32 {
    writeln!(io::stderr(), "{message}").ok();
    1
}
