//! `trap`, and the dispositions of signals.

#![expect(clippy::unnecessary_wraps, reason = "all builtins have one type")]

use std::collections::BTreeMap;
use std::fmt::Write;

use sandbar_guest::signal::{Disposition, action};

use crate::ast::Bytes;
use crate::escape::single_quote;
use crate::shell::{Exec, Shell, TrapKind};
use crate::sys::Signal;

/// What a signal specification of `trap` means.
fn kind(text: &[u8]) -> Option<TrapKind> {
    let upper = text.to_ascii_uppercase();
    match upper.as_slice() {
        b"EXIT" | b"0" => return Some(TrapKind::Exit),
        b"DEBUG" => return Some(TrapKind::Debug),
        b"ERR" => return Some(TrapKind::Err),
        b"RETURN" => return Some(TrapKind::Return),
        _ => {}
    }
    Signal::parse(&upper)
        .and_then(|signal| u8::try_from(signal.number()).ok())
        .map(TrapKind::Signal)
}

fn name(kind: TrapKind) -> String {
    match kind {
        TrapKind::Exit => "EXIT".into(),
        TrapKind::Debug => "DEBUG".into(),
        TrapKind::Err => "ERR".into(),
        TrapKind::Return => "RETURN".into(),
        TrapKind::Signal(number) => Signal::from_number(u32::from(number))
            .map_or_else(String::new, |signal| format!("SIG{}", signal.name())),
    }
}

/// Makes the kernel do with a signal what its trap says.
fn dispose(kind: TrapKind, text: Option<&[u8]>) {
    let TrapKind::Signal(number) = kind else {
        return;
    };
    let Some(signal) = Signal::from_number(u32::from(number)) else {
        return;
    };
    let disposition = match text {
        None => Disposition::Default,
        Some(b"") => Disposition::Ignore,
        Some(_) => Disposition::Handle,
    };
    // KILL and STOP cannot be changed; bash does not mind either.
    let _refused = action(signal, disposition);
}

impl Shell {
    /// Puts the dispositions back to what a set of traps says.
    pub(crate) fn restore_signals(&mut self, traps: &BTreeMap<TrapKind, Bytes>) {
        let now: Vec<TrapKind> = self
            .st
            .traps
            .keys()
            .copied()
            .filter(|kind| !traps.contains_key(kind))
            .collect();
        for kind in now {
            dispose(kind, None);
        }
        for (kind, text) in traps {
            dispose(*kind, Some(text));
        }
    }

    /// Takes the dispositions of the traps that were handed over or are kept.
    pub(crate) fn apply_signals(&mut self) {
        for (kind, text) in &self.st.traps {
            if !self.st.traps_shown_only || text.is_empty() {
                dispose(*kind, Some(text));
            }
        }
    }
}

/// All signals by number and name, five to a line, as `trap -l` and `kill -l` show them.
pub(crate) fn signal_table() -> Bytes {
    let mut text = String::new();
    for (at, signal) in Signal::all().enumerate() {
        let end = if at % 5 == 4 || signal.number() == 31 {
            "\n"
        } else {
            "\t"
        };
        // Writing to a string cannot fail.
        let _written = write!(text, "{:>2}) SIG{}{end}", signal.number(), signal.name());
    }
    text.into_bytes()
}

pub(super) fn trap(shell: &mut Shell, args: &[Bytes]) -> Exec {
    let parsed = match shell.options(args, "lp") {
        Ok(parsed) => parsed,
        Err(status) => return Ok(status),
    };
    if parsed.has(b'l') {
        shell.print(&signal_table());
        return Ok(0);
    }
    let operands = &args[parsed.next..];
    if operands.is_empty() || parsed.has(b'p') {
        let wanted: Vec<TrapKind> = if operands.is_empty() {
            shell.st.traps.keys().copied().collect()
        } else {
            operands.iter().filter_map(|text| kind(text)).collect()
        };
        for kind in wanted {
            if let Some(text) = shell.st.traps.get(&kind) {
                let line = [
                    b"trap -- ".as_slice(),
                    &single_quote(text),
                    b" ",
                    name(kind).as_bytes(),
                    b"\n",
                ]
                .concat();
                shell.print(&line);
            }
        }
        return Ok(0);
    }
    // A single operand, or a number first, resets.
    let reset = operands.len() == 1
        || operands[0] == b"-"
        || operands[0].iter().all(u8::is_ascii_digit) && !operands[0].is_empty();
    let (command, signals) = if operands.len() == 1 || operands[0] != b"-" && reset {
        (None, operands)
    } else {
        (Some(&operands[0]), &operands[1..])
    };
    if operands.len() == 1 && kind(&operands[0]).is_none() {
        shell.complain_about(&operands[0], "invalid signal specification");
        return Ok(shell.usage());
    }
    if std::mem::take(&mut shell.st.traps_shown_only) {
        // The parent's traps were only kept to be shown; what is ignored stays so.
        shell.st.traps.retain(|_, text| text.is_empty());
    }
    let mut status = 0;
    for text in signals {
        let Some(kind) = kind(text) else {
            shell.complain_about(text, "invalid signal specification");
            status = 1;
            continue;
        };
        if let Some(command) = command.filter(|command| *command != b"-") {
            dispose(kind, Some(command));
            shell.st.traps.insert(kind, command.clone());
            let level = shell.function_depth();
            shell.st.trap_levels.insert(kind, level);
        } else {
            dispose(kind, None);
            shell.st.traps.remove(&kind);
        }
    }
    Ok(status)
}
