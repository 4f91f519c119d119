//! `set` and `shopt`.

#![expect(clippy::unnecessary_wraps, reason = "all builtins have one type")]

use std::rc::Rc;

use super::declare::array_text;
use crate::ast::Bytes;
use crate::options::{SET_OPTIONS, letter_bit, opt, set_bit, shopt, shopt_bit, shopts};
use crate::shell::{Exec, Shell};

impl Shell {
    /// Switches an option of `set`.
    pub(crate) fn switch(&mut self, bit: u32, on: bool) {
        if on && bit & (opt::VI | opt::EMACS) != 0 {
            // One style of line editing at a time.
            self.st.set &= !(opt::VI | opt::EMACS);
        }
        if on {
            self.st.set |= bit;
        } else {
            self.st.set &= !bit;
        }
    }
}

pub(super) fn set(shell: &mut Shell, args: &[Bytes]) -> Exec {
    if args.len() == 1 {
        list_variables(shell);
        return Ok(0);
    }
    let mut next = 1;
    while let Some(arg) = args.get(next) {
        let (on, letters) = match arg.as_slice() {
            b"--" => {
                shell.st.params = Rc::new(args[next + 1..].to_vec());
                return Ok(0);
            }
            b"-" => {
                shell.switch(opt::XTRACE | opt::VERBOSE, false);
                if next + 1 < args.len() {
                    shell.st.params = Rc::new(args[next + 1..].to_vec());
                }
                return Ok(0);
            }
            [b'-', rest @ ..] => (true, rest),
            [b'+', rest @ ..] => (false, rest),
            _ => break,
        };
        next += 1;
        for &letter in letters {
            if letter == b'o' {
                let Some(name) = args.get(next) else {
                    list_options(shell, on);
                    continue;
                };
                next += 1;
                if let Some(bit) = set_bit(name) {
                    shell.switch(bit, on);
                } else {
                    shell.complain_about(name, "invalid option name");
                    return Ok(2);
                }
                continue;
            }
            if let Some(bit) = letter_bit(letter) {
                shell.switch(bit, on);
            } else {
                let sign: &[u8] = if on { b"-" } else { b"+" };
                shell.complain(&[sign, &[letter], b": invalid option"].concat());
                return Ok(shell.usage());
            }
        }
    }
    if next < args.len() {
        shell.st.params = Rc::new(args[next..].to_vec());
    }
    Ok(0)
}

fn list_variables(shell: &mut Shell) {
    for name in shell.st.vars.names() {
        let Some(var) = shell.st.vars.get(&name).cloned() else {
            continue;
        };
        if !var.is_set() {
            continue;
        }
        let line = if var.is_array() {
            [&name, b"=".as_slice(), &array_text(&var), b"\n"].concat()
        } else {
            super::alias::assignment_line(&name, var.scalar().map_or(b"", Vec::as_slice))
        };
        shell.print(&line);
    }
    if !shell.on(opt::POSIX) {
        let mut names: Vec<Bytes> = shell
            .st
            .functions
            .keys()
            .map(|name| name.to_vec())
            .collect();
        names.sort_unstable();
        for name in names {
            super::alias::show_function(shell, &name);
        }
    }
}

fn list_options(shell: &mut Shell, table: bool) {
    for (name, _, bit) in SET_OPTIONS {
        let on = shell.on(bit);
        let line = if table {
            format!("{name:<15}\t{}\n", if on { "on" } else { "off" })
        } else {
            format!("set {}o {name}\n", if on { '-' } else { '+' })
        };
        shell.print(line.as_bytes());
    }
}

pub(super) fn shopt_builtin(shell: &mut Shell, args: &[Bytes]) -> Exec {
    let parsed = match shell.options(args, "pqsuo") {
        Ok(parsed) => parsed,
        Err(status) => return Ok(status),
    };
    let (on, off, quiet, print, set_names) = (
        parsed.has(b's'),
        parsed.has(b'u'),
        parsed.has(b'q'),
        parsed.has(b'p'),
        parsed.has(b'o'),
    );
    if on && off {
        shell.complain(b"cannot set and unset shell options simultaneously");
        return Ok(1);
    }
    let operands = &args[parsed.next..];
    let current = |shell: &Shell, name: &[u8]| {
        if set_names {
            set_bit(name).map(|bit| shell.on(bit))
        } else {
            shopt_bit(name).map(|bit| shell.shopt(bit))
        }
    };
    let show = |shell: &mut Shell, name: &str, value: bool| {
        if quiet {
            return;
        }
        let line = if print && set_names {
            format!("set {}o {name}\n", if value { '-' } else { '+' })
        } else if print {
            format!("shopt -{} {name}\n", if value { 's' } else { 'u' })
        } else if set_names {
            format!("{name:<15}\t{}\n", if value { "on" } else { "off" })
        } else {
            format!("{name:<15}\t{}\n", if value { "on" } else { "off" })
        };
        shell.print(line.as_bytes());
    };
    if operands.is_empty() {
        let names: Vec<&str> = if set_names {
            SET_OPTIONS.iter().map(|(name, ..)| *name).collect()
        } else {
            shopts().map(|(name, _)| name).collect()
        };
        for name in names {
            let value = current(shell, name.as_bytes()).unwrap_or(false);
            if on && !value || off && value {
                continue;
            }
            show(shell, name, value);
        }
        return Ok(0);
    }
    let mut status = 0;
    for name in operands {
        let Some(value) = current(shell, name) else {
            let what = if set_names {
                "invalid option name"
            } else {
                "invalid shell option name"
            };
            shell.complain_about(name, what);
            status = 1;
            continue;
        };
        if on || off {
            if set_names {
                let bit = set_bit(name).unwrap_or(0);
                shell.switch(bit, on);
            } else {
                let bit = shopt_bit(name).unwrap_or(0);
                if bit == shopt::EXTDEBUG {
                    // It brings the inheritance of traps with it.
                    shell.switch(opt::FUNCTRACE | opt::ERRTRACE, on);
                }
                shell.st.shopt = if on {
                    shell.st.shopt | bit
                } else {
                    shell.st.shopt & !bit
                };
            }
            continue;
        }
        if !value {
            status = 1;
        }
        let name = String::from_utf8_lossy(name).into_owned();
        show(shell, &name, value);
    }
    Ok(status)
}
