//! Starting a shell: options, environment, start-up files, and what is run.

use std::rc::Rc;

use crate::ast::Bytes;
use crate::builtins;
use crate::handover::{self, Purpose};
use crate::input::{Input, SharedInput, TextInput};
use crate::options::{letter_bit, opt, set_bit, shopt, shopt_bit};
use crate::parser::{Parser, is_name};
use crate::shell::{Exec, Flow, Function, FunctionEntry, Shell};
use crate::shell_vars::{BASH_VERSION, MACHINE};
use crate::sys;
use crate::vars::{Var, attr};

/// What the command line asks for.
#[derive(Debug, Default)]
struct Invocation {
    command: bool,
    stdin: bool,
    login: bool,
    interactive: bool,
    norc: bool,
    noprofile: bool,
    rcfile: Option<Bytes>,
    state_in: Option<i32>,
    state_out: Option<i32>,
    operands: Vec<Bytes>,
}

const DEFAULT_PATH: &[u8] = b"/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
const SUBSHELL: &[u8] = b"--sandbar-subshell=";

/// Runs the shell with these arguments, the program's name first, and gives its exit status.
pub fn run(args: &[Vec<u8>]) -> i32 {
    let name = args.first().cloned().unwrap_or_else(|| b"bash".to_vec());
    let mut shell = Shell::new(name);
    if let Some(number) = args.get(1).and_then(|arg| arg.strip_prefix(SUBSHELL)) {
        return subshell(&mut shell, number);
    }
    let base = shell
        .st
        .name
        .rsplit(|&b| b == b'/')
        .next()
        .unwrap_or_default()
        .to_vec();
    if base == b"sh" || base == b"-sh" {
        shell.switch(opt::POSIX, true);
    }
    let mut invocation = match options(&mut shell, args) {
        Ok(invocation) => invocation,
        Err(status) => return status,
    };
    if base.starts_with(b"-") {
        invocation.login = true;
    }
    import_environment(&mut shell);
    let result = start(&mut shell, &invocation);
    finish(&mut shell, &invocation, result)
}

/// Reads what another shell handed over and runs it.
fn subshell(shell: &mut Shell, number: &[u8]) -> i32 {
    let fd = std::str::from_utf8(number)
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(handover::STATE_FD);
    let state = sys::read_to_end(fd).unwrap_or_default();
    sys::close(fd);
    let Some(text) = handover::decode(shell, &state, Purpose::Subshell) else {
        shell.error(b"the state of the parent shell is damaged");
        return 1;
    };
    drop(state);
    shell.handed_over = true;
    shell.apply_signals();
    let mut parser = Parser::new(Box::new(TextInput::new(text)), shell.parse_context(), 1);
    let result = shell.run_parser(&mut parser, true);
    let status = status_of(result);
    let status = shell.exit_trap(status);
    shell.flush();
    status & 0xff
}

fn status_of(result: Exec) -> i32 {
    match result {
        Ok(status) | Err(Flow::Exit(status) | Flow::Return(status) | Flow::Discard(status)) => {
            status
        }
        Err(Flow::Break(_) | Flow::Continue(_)) => 0,
    }
}

fn finish(shell: &mut Shell, invocation: &Invocation, result: Exec) -> i32 {
    let exited = matches!(result, Err(Flow::Exit(_)));
    let mut status = status_of(result);
    if invocation.state_out.is_none() || exited {
        status = shell.exit_trap(status);
    }
    shell.flush();
    if let Some(fd) = invocation.state_out {
        shell.st.status = status;
        let state = handover::encode(shell, b"");
        if let Err(error) = sys::write_all(fd, &state) {
            shell.error(&[b"cannot keep the state: ", sys::message(error).as_bytes()].concat());
        }
        sys::close(fd);
    }
    status & 0xff
}

fn bad_option(shell: &mut Shell, text: &[u8]) -> i32 {
    let name = shell.st.name.clone();
    let line = [name.as_slice(), b": ", text, b": invalid option\n"].concat();
    shell.print_error(&line);
    let usage = [
        b"Usage:\t".as_slice(),
        &name,
        b" [GNU long option] [option] ...\n\t",
        &name,
        b" [GNU long option] [option] script-file ...\n",
    ]
    .concat();
    shell.print_error(&usage);
    2
}

#[expect(clippy::too_many_lines, reason = "the options one after another")]
fn options(shell: &mut Shell, args: &[Bytes]) -> Result<Invocation, i32> {
    let mut invocation = Invocation::default();
    let mut next = 1;
    while let Some(arg) = args.get(next) {
        if !arg.starts_with(b"--") || arg.len() == 2 {
            break;
        }
        next += 1;
        let mut value = || {
            next += 1;
            args.get(next - 1).cloned()
        };
        match arg.as_slice() {
            b"--norc" => invocation.norc = true,
            b"--noprofile" => invocation.noprofile = true,
            b"--posix" => shell.switch(opt::POSIX, true),
            b"--login" => invocation.login = true,
            b"--verbose" => shell.switch(opt::VERBOSE, true),
            b"--noediting" | b"--restricted" | b"--debugger" | b"--dump-strings"
            | b"--dump-po-strings" => {}
            b"--rcfile" | b"--init-file" => invocation.rcfile = value(),
            b"--sandbar-state-in" => {
                invocation.state_in =
                    value().and_then(|text| std::str::from_utf8(&text).ok()?.parse().ok());
            }
            b"--sandbar-state-out" => {
                invocation.state_out =
                    value().and_then(|text| std::str::from_utf8(&text).ok()?.parse().ok());
            }
            b"--version" => {
                let text = format!(
                    "GNU bash compatible shell of Sandbar, version {BASH_VERSION} ({MACHINE})\n"
                );
                shell.print(text.as_bytes());
                shell.flush();
                return Err(0);
            }
            b"--help" => {
                let name = shell.st.name.clone();
                shell.print(
                    &[
                        b"Usage:\t".as_slice(),
                        &name,
                        b" [GNU long option] [option] ...\n\t",
                        &name,
                        b" [GNU long option] [option] script-file ...\n",
                    ]
                    .concat(),
                );
                shell.flush();
                return Err(0);
            }
            other => return Err(bad_option(shell, other)),
        }
    }
    while let Some(arg) = args.get(next) {
        let (on, letters) = match arg.as_slice() {
            b"--" | b"-" => {
                next += 1;
                break;
            }
            [b'-', rest @ ..] => (true, rest),
            [b'+', rest @ ..] if !rest.is_empty() => (false, rest),
            _ => break,
        };
        next += 1;
        for &letter in letters {
            match letter {
                b'c' => invocation.command = true,
                b's' => invocation.stdin = true,
                b'l' => invocation.login = true,
                b'i' => invocation.interactive = true,
                b'r' | b'D' => {}
                b'o' | b'O' => {
                    let Some(name) = args.get(next) else { continue };
                    next += 1;
                    let known = if letter == b'o' {
                        set_bit(name).map(|bit| shell.switch(bit, on))
                    } else {
                        shopt_bit(name).map(|bit| {
                            shell.st.shopt = if on {
                                shell.st.shopt | bit
                            } else {
                                shell.st.shopt & !bit
                            }
                        })
                    };
                    if known.is_none() {
                        let what: &[u8] = if letter == b'o' {
                            b": invalid option name\n"
                        } else {
                            b": invalid shell option name\n"
                        };
                        let line = [shell.st.name.as_slice(), b": ", name, what].concat();
                        shell.print_error(&line);
                        return Err(2);
                    }
                }
                _ => match letter_bit(letter) {
                    Some(bit) => shell.switch(bit, on),
                    None => return Err(bad_option(shell, &[b'-', letter])),
                },
            }
        }
    }
    invocation.operands = args[next.min(args.len())..].to_vec();
    Ok(invocation)
}

/// Takes the environment over as exported variables and functions.
fn import_environment(shell: &mut Shell) {
    for entry in sandbar_guest::process::environment() {
        let Some(at) = entry.iter().position(|&b| b == b'=') else {
            continue;
        };
        let (name, value) = (&entry[..at], &entry[at + 1..]);
        if let Some(function) = name
            .strip_prefix(b"BASH_FUNC_")
            .and_then(|rest| rest.strip_suffix(b"%%"))
        {
            import_function(shell, function, value);
            continue;
        }
        if !is_name(name)
            || name == b"_"
            || matches!(
                name,
                b"SHELLOPTS" | b"BASHOPTS" | b"BASH_VERSINFO" | b"PPID" | b"UID" | b"EUID"
            )
        {
            continue;
        }
        let mut var = Var::string(value.to_vec());
        var.attrs = attr::EXPORT;
        shell.st.vars.insert(name, var);
    }
    let exported = |text: Bytes| {
        let mut var = Var::string(text);
        var.attrs = attr::EXPORT;
        var
    };
    let vars = &mut shell.st.vars;
    for (name, value) in [
        (&b"IFS"[..], &b" \t\n"[..]),
        (b"PS4", b"+ "),
        (b"OPTIND", b"1"),
        (b"OPTERR", b"1"),
    ] {
        let keep = name == b"PS4" && vars.get(name).is_some();
        if !keep {
            vars.insert(name, Var::string(value.to_vec()));
        }
    }
    if vars.get(b"PATH").is_none() {
        vars.insert(b"PATH", Var::string(DEFAULT_PATH.to_vec()));
    }
    if vars.get(b"SHELL").is_none() {
        vars.insert(b"SHELL", Var::string(b"/bin/bash".to_vec()));
    }
    if vars.get(b"TERM").is_none() {
        vars.insert(b"TERM", Var::string(b"dumb".to_vec()));
    }
    let level = vars
        .get(b"SHLVL")
        .and_then(Var::scalar)
        .and_then(|text| std::str::from_utf8(text).ok()?.trim().parse::<i64>().ok())
        .unwrap_or(0);
    vars.insert(
        b"SHLVL",
        exported((level + 1).clamp(0, 1000).to_string().into_bytes()),
    );
    let cwd = sys::current_dir().unwrap_or_else(|_| b"/".to_vec());
    let claimed = vars
        .get(b"PWD")
        .and_then(Var::scalar)
        .cloned()
        .filter(|text| text.starts_with(b"/"));
    let pwd = match claimed {
        Some(claimed) if claimed == cwd => claimed,
        Some(claimed)
            if sys::stat(&claimed)
                .ok()
                .zip(sys::stat(b".").ok())
                .is_some_and(|(a, b)| a.same_file(&b)) =>
        {
            claimed
        }
        _ => cwd,
    };
    shell.st.cwd.clone_from(&pwd);
    vars.insert(b"PWD", exported(pwd));
    let old = vars
        .get(b"OLDPWD")
        .and_then(Var::scalar)
        .is_some_and(|text| sys::stat(text).is_ok_and(|stat| stat.is_dir()));
    if !old {
        vars.insert(
            b"OLDPWD",
            Var {
                attrs: attr::EXPORT,
                ..Var::default()
            },
        );
    }
    // Seeded from the clock; a script that wants a sequence sets RANDOM itself.
    let now = sandbar_guest::time::realtime_ns().unsigned_abs();
    shell.st.random =
        u32::try_from((now ^ (now >> 31)) & 0x7fff_ffff).unwrap_or(1) ^ shell.pid.unsigned_abs();
}

fn import_function(shell: &mut Shell, name: &[u8], value: &[u8]) {
    if !value.starts_with(b"() {") {
        return;
    }
    let text = [name, b" ", value].concat();
    let function = Function {
        parsed: std::cell::OnceCell::new(),
        text: std::cell::OnceCell::from(text),
        source: b"environment".to_vec(),
        line: 1,
    };
    if function.def().is_some() {
        let entry = FunctionEntry {
            function: Rc::new(function),
            export: true,
            readonly: false,
            trace: false,
        };
        Rc::make_mut(&mut shell.st.functions).insert(name.into(), entry);
    }
}

fn start(shell: &mut Shell, invocation: &Invocation) -> Exec {
    shell.interactive = invocation.interactive;
    if invocation.interactive || shell.on(opt::POSIX) {
        shell.st.shopt |= shopt::EXPAND_ALIASES;
    }
    if invocation.login {
        shell.st.shopt |= shopt::LOGIN_SHELL;
    }
    let mut operands = invocation.operands.clone();
    let mut text = None;
    if invocation.command {
        if operands.is_empty() {
            let name = shell.st.name.clone();
            shell.print_error(&[name.as_slice(), b": -c: option requires an argument\n"].concat());
            return Ok(2);
        }
        text = Some(operands.remove(0));
        shell.command_string = true;
        if !operands.is_empty() {
            shell.st.name = operands.remove(0);
        }
    } else if invocation.stdin || operands.is_empty() {
        shell.reads_stdin = true;
    }
    let script = (!invocation.command && !shell.reads_stdin).then(|| operands.remove(0));
    shell.st.params = Rc::new(operands);
    shell.st.last_arg = script.clone().unwrap_or_else(|| shell.st.name.clone());
    resume(shell, invocation);
    startup_files(shell, invocation)?;
    let input: Box<dyn Input> = match (text, script) {
        (Some(text), _) => Box::new(TextInput::new(text)),
        (None, Some(path)) => match script_input(shell, &path) {
            Ok(input) => input,
            Err(status) => return Ok(status),
        },
        (None, None) => Box::new(SharedInput::new(0)),
    };
    let mut parser = Parser::new(input, shell.parse_context(), 1);
    shell.run_parser(&mut parser, true)
}

/// Goes on where the call before ended, when there was one.
fn resume(shell: &mut Shell, invocation: &Invocation) {
    shell.state_out = invocation.state_out;
    if let Some(fd) = invocation.state_out {
        // Programs must not hold it open.
        let _private = sandbar_guest::Fd(fd).set_on_exec(sys::OnExec::Close);
    }
    let Some(fd) = invocation.state_in else {
        return;
    };
    let state = sys::read_to_end(fd).unwrap_or_default();
    sys::close(fd);
    if state.is_empty() || state.len() > handover::MAX_STATE {
        return;
    }
    let fresh = shell.st.clone();
    if handover::decode(shell, &state, Purpose::Resume).is_none() {
        shell.st = fresh;
        shell.error(b"warning: the kept state is damaged; this is a fresh shell");
        return;
    }
    if sys::chdir(&shell.st.cwd).is_err() {
        let text = [
            b"warning: ",
            shell.st.cwd.as_slice(),
            b": the directory is gone",
        ]
        .concat();
        shell.error(&text);
        shell.st.cwd = sys::current_dir().unwrap_or_else(|_| b"/".to_vec());
    }
    if let Some(mask) = shell.st.umask {
        sys::set_umask(mask);
    }
    shell.apply_signals();
}

fn startup_files(shell: &mut Shell, invocation: &Invocation) -> Result<(), Flow> {
    let mut files: Vec<Bytes> = Vec::new();
    let home = |shell: &mut Shell, name: &str| {
        shell
            .home()
            .map(|home| [home.as_slice(), b"/", name.as_bytes()].concat())
    };
    if invocation.login && !invocation.noprofile {
        files.push(b"/etc/profile".to_vec());
        let names = [".bash_profile", ".bash_login", ".profile"];
        let own = names
            .iter()
            .filter_map(|name| home(shell, name))
            .find(|path| sys::stat(path).is_ok());
        files.extend(own);
    } else if invocation.interactive && !invocation.norc && !shell.on(opt::POSIX) {
        files.extend(invocation.rcfile.clone().or_else(|| home(shell, ".bashrc")));
    }
    let variable: &[u8] = if shell.on(opt::POSIX) {
        b"ENV"
    } else {
        b"BASH_ENV"
    };
    if invocation.interactive == shell.on(opt::POSIX)
        && let Some(value) = shell.get(variable).filter(|text| !text.is_empty())
        && let Ok(word) = crate::parser::parse_double_quoted(&value, &shell.parse_context())
    {
        files.push(shell.expand_single(&word)?);
    }
    for path in files {
        if let Ok(text) = sys::read_file(&path) {
            builtins::run_file(shell, &path, text)?;
        }
    }
    Ok(())
}

fn script_input(shell: &mut Shell, path: &[u8]) -> Result<Box<dyn Input>, i32> {
    let shell_name = shell.st.name.clone();
    let mut found = path.to_vec();
    if sys::stat(&found).is_err() && !path.contains(&b'/') {
        found = shell
            .search_path(path, false)
            .into_iter()
            .next()
            .unwrap_or(found);
    }
    let fail = |shell: &mut Shell, why: &str, status: i32| {
        let line = [
            shell_name.as_slice(),
            b": ",
            path,
            b": ",
            why.as_bytes(),
            b"\n",
        ]
        .concat();
        shell.print_error(&line);
        Err(status)
    };
    if sys::stat(&found).is_ok_and(|stat| stat.is_dir()) {
        return fail(shell, "Is a directory", 126);
    }
    let text = match sys::read_file(&found) {
        Ok(text) => text,
        Err(error) => {
            return fail(
                shell,
                &sys::message(error),
                if error == sys::Errno::ENOENT {
                    127
                } else {
                    126
                },
            );
        }
    };
    let first_line = text.iter().take(80).take_while(|&&b| b != b'\n');
    if first_line.clone().any(|&b| b == 0) {
        return fail(shell, "cannot execute binary file", 126);
    }
    shell.st.name = path.to_vec();
    Ok(Box::new(TextInput::new(text)))
}
