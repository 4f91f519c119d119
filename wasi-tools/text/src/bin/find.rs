//! `find`: start-up only.

use std::io::{self, Write};

use findutils::find::{StandardDependencies, find_main};
use sandbar_guest as _;

fn main() {
    let arguments: Result<Vec<String>, _> = std::env::args_os()
        .map(std::ffi::OsString::into_string)
        .collect();
    let status = match &arguments {
        Ok(arguments) => find_main(
            &arguments.iter().map(String::as_str).collect::<Vec<_>>(),
            &StandardDependencies::new(),
        ),
        Err(argument) => {
            let _ = writeln!(
                io::stderr(),
                "find: argument {} is not UTF-8",
                argument.display()
            );
            1
        }
    };
    std::process::exit(status);
}
