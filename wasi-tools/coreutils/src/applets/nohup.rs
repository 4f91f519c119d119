//! `nohup`: runs a program that outlives its terminal.

use std::ffi::OsString;

use sandbar_guest::{
    Errno, Fd, Signal,
    fd::OnExec,
    file::{self, OpenFlags},
    process,
    signal::{self, Disposition},
};

use super::{
    cli::{self, Order, Outcome, Stop, Tool},
    program,
    quote::quote,
};

static TOOL: Tool = Tool {
    name: "nohup",
    help: "\
Usage: nohup COMMAND [ARG]...
  or:  nohup OPTION
Runs COMMAND with hangup signals ignored. What is a terminal is redirected: standard input from nothing, standard output to
the end of nohup.out (here or in HOME), standard error to standard output.

      --help      show this text
      --version   show the version
",
    options: &[],
    order: Order::OptionsFirst,
    usage_status: 125,
};

pub(super) fn main(args: Vec<OsString>) -> i32 {
    cli::status(run(args))
}

fn run(args: Vec<OsString>) -> Outcome {
    let mut parser = TOOL.parse(args);
    while parser.next()?.is_some() {}
    let words = parser.operands();
    if words.is_empty() {
        return Err(TOOL.missing_operand(None));
    }
    let [no_input, no_output, no_errors] = [Fd::STDIN, Fd::STDOUT, Fd::STDERR].map(Fd::is_terminal);
    if no_input {
        redirect(b"/dev/null", OpenFlags::WRONLY, Fd::STDIN).map_err(|errno| {
            TOOL.fail(
                125,
                format!("failed to render standard input unusable: {errno}"),
            )
        })?;
    }
    let mut said = no_input && !no_output;
    if said && !no_errors {
        TOOL.warn("ignoring input");
    }
    if no_output {
        let file = append_output()?;
        let ignoring = if no_input { "ignoring input and " } else { "" };
        TOOL.warn(format!("{ignoring}appending output to {}", quote(&file)));
        said = false;
    }
    // What is to be said goes to the old standard error, the program's goes elsewhere.
    let spoken = Fd::STDERR.dup(3, OnExec::Close);
    if no_errors {
        if !no_output {
            let ignoring = if said { "ignoring input and " } else { "" };
            TOOL.warn(format!("{ignoring}redirecting stderr to stdout"));
        }
        Fd::STDOUT.dup2(Fd::STDERR, OnExec::Keep).map_err(|errno| {
            TOOL.fail(125, format!("failed to redirect standard error: {errno}"))
        })?;
    }
    let _always_possible = signal::action(Signal::HUP, Disposition::Ignore);
    let errno = program::command(&words).exec();
    if let Ok(spoken) = spoken {
        let _as_it_is = spoken.dup2(Fd::STDERR, OnExec::Keep);
    }
    Err(program::failed(&TOOL, &words, errno))
}

fn redirect(path: &[u8], flags: OpenFlags, to: Fd) -> Result<(), Errno> {
    let fd = file::open(path, flags, 0o600)?;
    if fd != to {
        fd.dup2(to, OnExec::Keep)?;
        fd.close()?;
    }
    Ok(())
}

/// Sends standard output to `nohup.out` here, or else in the home directory; its name.
fn append_output() -> Result<Vec<u8>, Stop> {
    let flags = OpenFlags::WRONLY | OpenFlags::CREAT | OpenFlags::APPEND;
    // NOTE: only its user may read it, whatever the umask says.
    let umask = process::set_umask(0o177);
    let here = redirect(b"nohup.out", flags, Fd::STDOUT);
    let home =
        std::env::var_os("HOME").map(|home| [home.as_encoded_bytes(), b"/nohup.out"].concat());
    let result = match (here, home) {
        (Ok(()), _) => Ok(b"nohup.out".to_vec()),
        (Err(errno), None) => Err((b"nohup.out".to_vec(), errno)),
        (Err(errno), Some(home)) => {
            TOOL.warn(format!("failed to open 'nohup.out': {errno}"));
            redirect(&home, flags, Fd::STDOUT)
                .map(|()| home.clone())
                .map_err(|errno| (home, errno))
        }
    };
    if let Ok(umask) = umask {
        let _restored = process::set_umask(umask);
    }
    result.map_err(|(file, errno)| {
        TOOL.fail(125, format!("failed to open {}: {errno}", quote(&file)))
    })
}
