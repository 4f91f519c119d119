//! `break`, `continue`, `return`, `exit`, `eval`, `source`, `exec`.

use std::rc::Rc;

use crate::ast::Bytes;
use crate::input::TextInput;
use crate::options::{opt, shopt};
use crate::parser::Parser;
use crate::shell::{Exec, Flow, Frame, FrameKind, Shell, TrapKind};
use crate::sys::{self, Errno, Spawn};

fn loop_count(shell: &mut Shell, args: &[Bytes]) -> Result<u32, Exec> {
    if shell.loops == 0 {
        shell.complain(b"only meaningful in a `for', `while', or `until' loop");
        return Err(Ok(0));
    }
    let Some(text) = args.get(1) else {
        return Ok(1);
    };
    if args.len() > 2 {
        shell.complain(b"too many arguments");
        return Err(Err(Flow::Discard(1)));
    }
    let Some(number) = shell.numeric_arg(text) else {
        return Err(Err(Flow::Exit(128)));
    };
    if number < 1 {
        shell.complain_about(text, "loop count out of range");
        return Err(Err(Flow::Break(u32::MAX)));
    }
    Ok(u32::try_from(number).unwrap_or(u32::MAX).min(shell.loops))
}

pub(super) fn break_(shell: &mut Shell, args: &[Bytes]) -> Exec {
    match loop_count(shell, args) {
        Ok(count) => {
            shell.st.status = 0;
            Err(Flow::Break(count))
        }
        Err(Err(Flow::Break(_))) => Err(Flow::Break(shell.loops)),
        Err(result) => result,
    }
}

pub(super) fn continue_(shell: &mut Shell, args: &[Bytes]) -> Exec {
    match loop_count(shell, args) {
        Ok(count) => {
            shell.st.status = 0;
            Err(Flow::Continue(count))
        }
        Err(Err(Flow::Break(_))) => Err(Flow::Break(shell.loops)),
        Err(result) => result,
    }
}

fn status_arg(shell: &mut Shell, args: &[Bytes]) -> Result<i32, i32> {
    let operands = if args.get(1).is_some_and(|arg| arg == b"--") {
        &args[2..]
    } else {
        &args[1..]
    };
    match operands {
        // In a trap it is the status from before the trap.
        [] => Ok(shell.trap_status.unwrap_or(shell.st.status)),
        [text, rest @ ..] => {
            let Some(number) = shell.numeric_arg(text) else {
                return Err(2);
            };
            if !rest.is_empty() {
                shell.complain(b"too many arguments");
                return Err(1);
            }
            Ok(i32::from(number.to_le_bytes()[0]))
        }
    }
}

pub(super) fn return_(shell: &mut Shell, args: &[Bytes]) -> Exec {
    if shell.st.frames.is_empty() {
        shell.complain(b"can only `return' from a function or sourced script");
        return Ok(2);
    }
    match status_arg(shell, args) {
        Ok(status) => Err(Flow::Return(status)),
        Err(2) => Err(Flow::Return(2)),
        Err(status) => Err(Flow::Discard(status)),
    }
}

pub(super) fn exit(shell: &mut Shell, args: &[Bytes]) -> Exec {
    match status_arg(shell, args) {
        Ok(status) | Err(status @ 2) => Err(Flow::Exit(status)),
        Err(status) => Err(Flow::Discard(status)),
    }
}

pub(super) fn logout(shell: &mut Shell, args: &[Bytes]) -> Exec {
    if !shell.shopt(shopt::LOGIN_SHELL) {
        shell.complain(b"not login shell: use `exit'");
        return Ok(1);
    }
    exit(shell, args)
}

pub(super) fn eval(shell: &mut Shell, args: &[Bytes]) -> Exec {
    let parsed = match shell.options(args, "") {
        Ok(parsed) => parsed,
        Err(status) => return Ok(status),
    };
    let text = args[parsed.next..].join(&b' ');
    let outer = shell.builtin.take();
    let result = shell.eval_text(&text, Some("eval"));
    shell.builtin = outer;
    result
}

pub(super) fn source(shell: &mut Shell, args: &[Bytes]) -> Exec {
    let parsed = match shell.options(args, "") {
        Ok(parsed) => parsed,
        Err(status) => return Ok(status),
    };
    let Some(name) = args.get(parsed.next) else {
        shell.complain(b"filename argument required");
        return Ok(shell.usage());
    };
    let mut path = name.clone();
    if !name.contains(&b'/') {
        let mut found = None;
        if shell.shopt(shopt::SOURCEPATH) {
            let dirs = shell
                .get(b"PATH")
                .map(|path| path.to_vec())
                .unwrap_or_default();
            found = dirs
                .split(|&b| b == b':')
                .filter(|dir| !dir.is_empty())
                .map(|dir| [dir, b"/", name].concat())
                .find(|full| sys::stat(full).is_ok_and(|stat| stat.is_file()));
        }
        if let Some(full) = found {
            path = full;
        } else if shell.on(opt::POSIX) {
            shell.complain_about(name, "file not found");
            return Err(Flow::Exit(1));
        }
    }
    if sys::stat(&path).is_ok_and(|stat| stat.is_dir()) {
        shell.complain_about(name, "is a directory");
        return Ok(1);
    }
    let text = match sys::read_file(&path) {
        Ok(text) => text,
        Err(error) => {
            let builtin = shell.builtin.take();
            shell.error(&[name.as_slice(), b": ", sys::message(error).as_bytes()].concat());
            shell.builtin = builtin;
            return if shell.on(opt::POSIX) {
                Err(Flow::Exit(1))
            } else {
                Ok(1)
            };
        }
    };
    let operands = &args[parsed.next + 1..];
    let params = (!operands.is_empty())
        .then(|| std::mem::replace(&mut shell.st.params, Rc::new(operands.to_vec())));
    let result = run_file(shell, &path, text);
    if let Some(params) = params {
        shell.st.params = params;
    }
    result
}

/// Runs the text of a file in the current shell.
pub(crate) fn run_file(shell: &mut Shell, path: &[u8], text: Bytes) -> Exec {
    let line = shell.st.line;
    shell.st.frames.push(Frame {
        kind: FrameKind::Source,
        name: b"source".to_vec(),
        source: path.to_vec(),
        line,
    });
    let builtin = shell.builtin.take();
    let parsing = shell.parsing.take();
    let mut parser = Parser::new(Box::new(TextInput::new(text)), shell.parse_context(), 1);
    let result = shell.run_parser(&mut parser, false);
    shell.parsing = parsing;
    if shell.st.traps.contains_key(&TrapKind::Return)
        && matches!(result, Ok(_) | Err(Flow::Return(_)))
    {
        shell.run_trap(TrapKind::Return)?;
    }
    shell.builtin = builtin;
    shell.st.frames.pop();
    shell.st.line = line;
    match result {
        Err(Flow::Return(status)) => Ok(status),
        other => other,
    }
}

pub(super) fn exec(shell: &mut Shell, args: &[Bytes]) -> Exec {
    let parsed = match shell.options(args, "cla:") {
        Ok(parsed) => parsed,
        Err(status) => return Ok(status),
    };
    let operands = &args[parsed.next..];
    let Some(name) = operands.first() else {
        return Ok(0);
    };
    let Some(path) = shell.find_program(name) else {
        shell.complain_about(name, "not found");
        return failed(shell, 127);
    };
    let mut argv: Vec<Bytes> = operands.to_vec();
    if let Some(shown) = parsed.value(b'a') {
        argv[0].clone_from(shown);
    }
    if parsed.has(b'l') {
        argv[0].insert(0, b'-');
    }
    let mut spawn = Spawn::new(&path);
    spawn.args(&argv).all_fds(true);
    spawn.env(if parsed.has(b'c') {
        Vec::new()
    } else {
        shell.environment(&path)
    });
    if shell.st.subshell > 0 && !shell.subshell_saves.is_empty() || !shell.captures.is_empty() {
        // A subshell in this process ends with the program instead of becoming it.
        return match shell.spawn(spawn) {
            Ok(child) => {
                let status = shell.wait_foreground(child)?;
                shell.st.traps.remove(&TrapKind::Exit);
                Err(Flow::Exit(status))
            }
            Err(error) => cannot(shell, name, error),
        };
    }
    if stale(&path) {
        return cannot(shell, name, Errno::ENOENT);
    }
    let status = shell.st.status;
    let trap = shell.st.traps.remove(&TrapKind::Exit);
    shell.flush();
    let error = spawn.exec();
    if let Some(trap) = trap {
        shell.st.traps.insert(TrapKind::Exit, trap);
    }
    shell.st.status = status;
    if error == Errno::ENOEXEC {
        // A script without `#!`.
        let mut script = Spawn::new(shell.own_program());
        script
            .args(
                [b"bash".to_vec(), b"--".to_vec(), path.clone()]
                    .into_iter()
                    .chain(argv[1..].iter().cloned()),
            )
            .all_fds(true);
        script.env(shell.environment(&path));
        let error = script.exec();
        return cannot(shell, name, error);
    }
    cannot(shell, name, error)
}

fn stale(path: &[u8]) -> bool {
    sys::stat(path).is_err()
}

fn cannot(shell: &mut Shell, name: &[u8], error: Errno) -> Exec {
    if sys::stat(name).is_ok_and(|stat| stat.is_dir()) {
        shell.complain_about(name, "cannot execute: Is a directory");
        return failed(shell, 126);
    }
    let text = sys::message(error);
    shell.complain_about(name, &format!("cannot execute: {text}"));
    failed(shell, if error == Errno::ENOENT { 127 } else { 126 })
}

fn failed(shell: &mut Shell, status: i32) -> Exec {
    if shell.interactive || shell.shopt(shopt::EXECFAIL) {
        Ok(status)
    } else {
        Err(Flow::Exit(status))
    }
}
