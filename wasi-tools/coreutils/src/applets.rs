//! Sandbar's own utilities: those that start programs, show or set modes, or need ids, which uutils has not on WASI.
//!
//! Options, output, messages and exit codes are those of GNU coreutils 9, findutils 4.9 and procps 4 in the C.UTF-8 locale,
//! with straight quotes in messages as uutils has them.

mod cat;
mod chmod;
mod chown;
mod cli;
mod contents;
mod cp;
mod dd;
mod df;
mod du;
mod duration;
mod env;
mod find;
mod format;
mod glob;
mod id;
mod install;
mod kill;
mod ls;
mod mkdir;
mod mkfifo;
mod mktemp;
mod mode;
mod mv;
mod nice;
mod nohup;
mod pgrep;
mod proc;
mod program;
mod ps;
mod quote;
mod regex;
mod size;
mod sleep;
mod stat;
mod sync;
mod tac;
mod tail;
mod tee;
mod test;
mod text;
mod time;
mod timeout;
mod uname;
mod users;
mod which;
mod xargs;

use std::ffi::OsString;

#[cfg(not(target_os = "wasi"))]
use sandbar_guest::{
    Signal,
    signal::{self, Disposition},
};

/// One utility: its name, and what runs it with `argv` (`argv[0]` included) and returns the exit status.
pub type Applet = (&'static str, fn(Vec<OsString>) -> i32);

/// All of them, in the order of their names.
pub const APPLETS: &[Applet] = &[
    ("[", test::bracket),
    ("arch", uname::arch),
    ("cat", cat::main),
    ("chgrp", chown::chgrp),
    ("chmod", chmod::main),
    ("chown", chown::main),
    ("cp", cp::main),
    ("dd", dd::main),
    ("df", df::main),
    ("dir", ls::dir),
    ("du", du::main),
    ("env", env::main),
    ("find", find::main),
    ("groups", id::groups),
    ("hostname", uname::hostname),
    ("id", id::main),
    ("install", install::main),
    ("kill", kill::main),
    ("ls", ls::main),
    ("mkdir", mkdir::main),
    ("mkfifo", mkfifo::main),
    ("mktemp", mktemp::main),
    ("mv", mv::main),
    ("nice", nice::main),
    ("nohup", nohup::main),
    ("nproc", uname::nproc),
    ("pgrep", pgrep::pgrep),
    ("pidof", pgrep::pidof),
    ("pkill", pgrep::pkill),
    ("ps", ps::main),
    ("sleep", sleep::main),
    ("stat", stat::main),
    ("sync", sync::main),
    ("tac", tac::main),
    ("tail", tail::main),
    ("tee", tee::main),
    ("test", test::main),
    ("time", time::main),
    ("timeout", timeout::main),
    ("uname", uname::main),
    ("vdir", ls::vdir),
    ("which", which::main),
    ("whoami", id::whoami),
    ("xargs", xargs::main),
];

/// Their names.
pub const NAMES: [&str; APPLETS.len()] = {
    let mut names = [""; APPLETS.len()];
    let mut index = 0;
    while index < names.len() {
        names[index] = APPLETS[index].0;
        index += 1;
    }
    names
};

/// Runs the utility `name` with `args` (`argv[0]` included); `None` when it is not one of these.
pub fn run(name: &str, args: Vec<OsString>) -> Option<i32> {
    let (_, main) = APPLETS.iter().find(|applet| applet.0 == name)?;
    // Rust's runtime ignores it natively, which tools must not do and would hand to the programs that they start.
    #[cfg(not(target_os = "wasi"))]
    let _always_possible = signal::action(Signal::PIPE, Disposition::Default);
    Some(main(args))
}
