//! Small builtins: `echo`, `command`, `getopts`, `let`, `shift`, `umask`, `times` and others.

#![expect(clippy::unnecessary_wraps, reason = "all builtins have one type")]

use std::rc::Rc;

use super::{BUILTINS, find};
use crate::ast::Bytes;
use crate::escape;
use crate::options::{opt, shopt};
use crate::shell::{Exec, Flow, FrameKind, Shell};
use crate::sys;

pub(super) fn succeed(_shell: &mut Shell, _args: &[Bytes]) -> Exec {
    Ok(0)
}

pub(super) fn fail(_shell: &mut Shell, _args: &[Bytes]) -> Exec {
    Ok(1)
}

pub(super) fn echo(shell: &mut Shell, args: &[Bytes]) -> Exec {
    let mut newline = true;
    let mut escapes = shell.shopt(shopt::XPG_ECHO);
    let mut next = 1;
    if !(escapes && shell.on(opt::POSIX)) {
        while let Some(letters) = args
            .get(next)
            .and_then(|arg| arg.strip_prefix(b"-"))
            .filter(|letters| !letters.is_empty())
        {
            if !letters.iter().all(|b| matches!(b, b'n' | b'e' | b'E')) {
                break;
            }
            for b in letters {
                match b {
                    b'n' => newline = false,
                    b'e' => escapes = true,
                    _ => escapes = false,
                }
            }
            next += 1;
        }
    }
    for (at, arg) in args[next.min(args.len())..].iter().enumerate() {
        if at > 0 {
            shell.out.push(b' ');
        }
        if escapes {
            let escaped = escape::echo(arg, false);
            shell.print(&escaped.text);
            if escaped.stop {
                return Ok(0);
            }
        } else {
            shell.print(arg);
        }
    }
    if newline {
        shell.out.push(b'\n');
    }
    Ok(0)
}

/// Runs a command past functions.
pub(crate) fn run_past_functions(shell: &mut Shell, args: &[Bytes]) -> Exec {
    if let Some(builtin) = find(&args[0]).filter(|builtin| {
        !shell
            .st
            .disabled
            .iter()
            .any(|off| *off == builtin.name.as_bytes())
    }) {
        shell.run_builtin(builtin, args)
    } else {
        let outer = shell.builtin.take();
        let result = match shell.prepare_program(args) {
            Ok(spawn) => match shell.spawn(spawn) {
                Ok(child) => shell.wait_foreground(child),
                Err(error) => Ok(shell.spawn_failed(&args[0], error)),
            },
            Err(status) => Ok(status),
        };
        shell.builtin = outer;
        result
    }
}

/// Array arguments are numbered from the front; dropping words renumbers them.
fn shift_array_args(shell: &mut Shell, by: usize) {
    for (at, _) in &mut shell.array_args {
        *at = at.saturating_sub(by);
    }
}

pub(super) fn command(shell: &mut Shell, args: &[Bytes]) -> Exec {
    let parsed = match shell.options(args, "pvV") {
        Ok(parsed) => parsed,
        Err(status) => return Ok(status),
    };
    let operands = &args[parsed.next..];
    if operands.is_empty() {
        return Ok(0);
    }
    let saved_path = parsed.has(b'p').then(|| shell.get(b"PATH"));
    if saved_path.is_some() {
        shell.set_quietly(b"PATH", b"/usr/local/bin:/usr/bin:/bin".to_vec());
    }
    let result = if parsed.has(b'v') || parsed.has(b'V') {
        let mut status = 0;
        let mut found_any = false;
        for name in operands {
            if super::alias::describe(shell, name, parsed.has(b'V')) {
                found_any = true;
            } else {
                if parsed.has(b'V') {
                    shell.complain_about(name, "not found");
                }
                status = 1;
            }
        }
        Ok(if found_any { 0 } else { status })
    } else {
        shift_array_args(shell, parsed.next);
        let result = run_past_functions(shell, operands);
        match result {
            // `command` takes the fatal errors from special builtins.
            Err(Flow::Discard(status)) => Ok(status),
            other => other,
        }
    };
    if let Some(Some(path)) = saved_path {
        shell.set_quietly(b"PATH", path.to_vec());
    }
    result
}

pub(super) fn builtin(shell: &mut Shell, args: &[Bytes]) -> Exec {
    let parsed = match shell.options(args, "") {
        Ok(parsed) => parsed,
        Err(status) => return Ok(status),
    };
    let operands = &args[parsed.next..];
    let Some(name) = operands.first() else {
        return Ok(0);
    };
    if let Some(builtin) = find(name).filter(|_| !shell.st.disabled.contains(name)) {
        shift_array_args(shell, parsed.next);
        shell.run_builtin(builtin, operands)
    } else {
        shell.complain_about(name, "not a shell builtin");
        Ok(1)
    }
}

pub(super) fn caller(shell: &mut Shell, args: &[Bytes]) -> Exec {
    let frames = &shell.st.frames;
    if !frames
        .iter()
        .any(|frame| frame.kind == FrameKind::Function || frame.kind == FrameKind::Source)
    {
        return Ok(1);
    }
    let depth = match args.get(1) {
        None => None,
        Some(text) => {
            if let Some(depth) = std::str::from_utf8(text)
                .ok()
                .and_then(|text| text.parse::<usize>().ok())
            {
                Some(depth)
            } else {
                shell.complain_about(text, "invalid number");
                return Ok(shell.usage());
            }
        }
    };
    let frame_at = |back: usize| {
        frames
            .len()
            .checked_sub(back + 1)
            .and_then(|at| frames.get(at))
    };
    let Some(frame) = frame_at(depth.unwrap_or(0)) else {
        return Ok(1);
    };
    let outer = frame_at(depth.unwrap_or(0) + 1);
    if outer.is_none() && depth.is_some() && (shell.command_string || shell.reads_stdin) {
        return Ok(1);
    }
    let source = outer.map_or_else(
        || {
            if shell.command_string || shell.reads_stdin {
                b"NULL".to_vec()
            } else {
                shell.st.name.clone()
            }
        },
        |frame| frame.source.clone(),
    );
    let name = outer.map_or_else(|| b"main".to_vec(), |frame| frame.name.clone());
    let line = frame.line.to_string().into_bytes();
    let text = if depth.is_some() {
        [line, name, source].join(&b' ')
    } else {
        [line, source].join(&b' ')
    };
    shell.print(&text);
    shell.print(b"\n");
    Ok(0)
}

pub(super) fn compgen(shell: &mut Shell, args: &[Bytes]) -> Exec {
    let parsed = match shell.options(args, "abcdefgjksuvo:A:G:W:F:C:X:P:S:") {
        Ok(parsed) => parsed,
        Err(status) => return Ok(status),
    };
    let prefix = args.get(parsed.next).cloned().unwrap_or_default();
    let mut words: Vec<Bytes> = Vec::new();
    for (letter, value) in &parsed.options {
        let action: &[u8] = match letter {
            b'A' => value,
            b'a' => b"alias",
            b'b' => b"builtin",
            b'v' => b"variable",
            b'k' => b"keyword",
            b'c' => b"command",
            b'e' => b"export",
            b'f' => b"file",
            b'd' => b"directory",
            b'W' => {
                let word = crate::parser::parse_word_text(value, &shell.parse_context())
                    .unwrap_or_default();
                let text = shell.expand_single(&word)?;
                let ifs = shell.ifs();
                words.extend(
                    text.split(|b| ifs.contains(b))
                        .filter(|piece| !piece.is_empty())
                        .map(<[u8]>::to_vec),
                );
                continue;
            }
            _ => continue,
        };
        words.extend(candidates(shell, action, &prefix));
    }
    words.retain(|word| word.starts_with(&prefix));
    for word in &words {
        shell.print(word);
        shell.print(b"\n");
    }
    Ok(i32::from(words.is_empty()))
}

fn candidates(shell: &mut Shell, action: &[u8], prefix: &[u8]) -> Vec<Bytes> {
    let builtins = || {
        BUILTINS
            .iter()
            .map(|builtin| builtin.name.as_bytes().to_vec())
    };
    match action {
        b"alias" => shell.st.aliases.keys().cloned().collect(),
        b"builtin" => builtins().collect(),
        b"function" => {
            let mut names: Vec<Bytes> = shell
                .st
                .functions
                .keys()
                .map(|name| name.to_vec())
                .collect();
            names.sort_unstable();
            names
        }
        b"variable" => shell
            .st
            .vars
            .names()
            .iter()
            .map(|name| name.to_vec())
            .collect(),
        b"export" => shell
            .st
            .vars
            .names()
            .iter()
            .filter(|name| {
                shell
                    .st
                    .vars
                    .get(name)
                    .is_some_and(|var| var.has(crate::vars::attr::EXPORT))
            })
            .map(|name| name.to_vec())
            .collect(),
        b"keyword" => super::alias::KEYWORDS
            .iter()
            .map(|word| word.to_vec())
            .collect(),
        b"file" | b"directory" => {
            let mut pattern: Bytes = prefix.iter().flat_map(|b| [b'\\', *b]).collect();
            pattern.push(b'*');
            let mut found = crate::glob::expand(shell, &pattern);
            if action == b"directory" {
                found.retain(|path| sys::stat(path).is_ok_and(|stat| stat.is_dir()));
            }
            found
        }
        b"command" => {
            let mut names: Vec<Bytes> = builtins().collect();
            names.extend(shell.st.functions.keys().map(|name| name.to_vec()));
            names
        }
        _ => Vec::new(),
    }
}

pub(super) fn enable(shell: &mut Shell, args: &[Bytes]) -> Exec {
    let parsed = match shell.options(args, "adnpsf:") {
        Ok(parsed) => parsed,
        Err(status) => return Ok(status),
    };
    let operands = &args[parsed.next..];
    if operands.is_empty() {
        let show_off = parsed.has(b'n') || parsed.has(b'a');
        let show_on = !parsed.has(b'n');
        for builtin in BUILTINS {
            let off = shell
                .st
                .disabled
                .iter()
                .any(|name| *name == builtin.name.as_bytes());
            if parsed.has(b's') && !builtin.special {
                continue;
            }
            if off && show_off {
                shell.print(format!("enable -n {}\n", builtin.name).as_bytes());
            } else if !off && show_on {
                shell.print(format!("enable {}\n", builtin.name).as_bytes());
            }
        }
        return Ok(0);
    }
    let mut status = 0;
    for name in operands {
        if find(name).is_none() {
            shell.complain_about(name, "not a shell builtin");
            status = 1;
        } else if parsed.has(b'n') {
            shell.st.disabled.push(name.clone());
        } else {
            shell.st.disabled.retain(|off| off != name);
        }
    }
    Ok(status)
}

#[expect(clippy::too_many_lines, reason = "one state machine")]
pub(super) fn getopts(shell: &mut Shell, args: &[Bytes]) -> Exec {
    let parsed = match shell.options(args, "") {
        Ok(parsed) => parsed,
        Err(status) => return Ok(status),
    };
    let operands = &args[parsed.next..];
    let [spec, name, rest @ ..] = operands else {
        return Ok(shell.usage());
    };
    if !crate::parser::is_name(name) {
        shell.complain(&[b"`".as_slice(), name, b"': not a valid identifier"].concat());
        return Ok(1);
    }
    let params: Rc<Vec<Bytes>> = if rest.is_empty() {
        Rc::clone(&shell.st.params)
    } else {
        Rc::new(rest.to_vec())
    };
    let index = shell
        .get(b"OPTIND")
        .and_then(|text| std::str::from_utf8(&text).ok()?.parse::<i64>().ok())
        .unwrap_or(1);
    let mut at = usize::try_from(index.max(1) - 1).unwrap_or(0);
    if index != shell.st.getopts_index {
        shell.st.getopts_at = 0;
    }
    let (silent, letters) = match spec.strip_prefix(b":") {
        Some(rest) => (true, rest),
        None => (false, spec.as_slice()),
    };
    let mut place = shell.st.getopts_at;
    let finish = |shell: &mut Shell, at: usize, place: usize| {
        shell.st.getopts_index = i64::try_from(at).unwrap_or(0) + 1;
        let text = shell.st.getopts_index.to_string().into_bytes();
        shell.set_quietly(b"OPTIND", text);
        shell.st.getopts_at = place;
    };
    if place == 0 {
        match params.get(at) {
            Some(word) if word == b"--" => {
                finish(shell, at + 1, 0);
                super::unset_variable(shell, b"OPTARG");
                shell.set(name, b"?".to_vec())?;
                return Ok(1);
            }
            Some(word) if word.len() > 1 && word[0] == b'-' => place = 1,
            _ => {
                finish(shell, at.min(params.len()), 0);
                super::unset_variable(shell, b"OPTARG");
                shell.set(name, b"?".to_vec())?;
                return Ok(1);
            }
        }
    }
    let Some(&letter) = params.get(at).and_then(|word| word.get(place)) else {
        finish(shell, at + 1, 0);
        shell.set(name, b"?".to_vec())?;
        return Ok(1);
    };
    place += 1;
    let word_done = params.get(at).is_none_or(|word| place >= word.len());
    let spot = letters.iter().position(|b| *b == letter && letter != b':');
    let verbose = !silent
        && shell
            .get(b"OPTERR")
            .is_none_or(|text| text.as_slice() != b"0");
    let say = |shell: &mut Shell, text: &str| {
        if verbose {
            let line = [
                shell.st.name.as_slice(),
                b": ",
                text.as_bytes(),
                b" -- ",
                &[letter],
                b"\n",
            ]
            .concat();
            shell.print_error(&line);
        }
    };
    let Some(spot) = spot else {
        say(shell, "illegal option");
        if silent {
            shell.set(b"OPTARG", vec![letter])?;
        } else {
            super::unset_variable(shell, b"OPTARG");
        }
        finish(
            shell,
            at + usize::from(word_done),
            if word_done { 0 } else { place },
        );
        shell.set(name, b"?".to_vec())?;
        return Ok(0);
    };
    if letters.get(spot + 1) != Some(&b':') {
        super::unset_variable(shell, b"OPTARG");
        finish(
            shell,
            at + usize::from(word_done),
            if word_done { 0 } else { place },
        );
        shell.set(name, vec![letter])?;
        return Ok(0);
    }
    let value = if !word_done {
        params.get(at).map(|word| word[place..].to_vec())
    } else {
        at += 1;
        params.get(at).cloned()
    };
    finish(shell, at + 1, 0);
    if let Some(value) = value {
        shell.set(b"OPTARG", value)?;
        shell.set(name, vec![letter])?;
    } else {
        finish(shell, at.min(params.len()), 0);
        say(shell, "option requires an argument");
        if silent {
            shell.set(b"OPTARG", vec![letter])?;
        } else {
            super::unset_variable(shell, b"OPTARG");
        }
        shell.set(name, if silent { b":".to_vec() } else { b"?".to_vec() })?;
    }
    Ok(0)
}

pub(super) fn help(shell: &mut Shell, args: &[Bytes]) -> Exec {
    let parsed = match shell.options(args, "dms") {
        Ok(parsed) => parsed,
        Err(status) => return Ok(status),
    };
    let operands = &args[parsed.next..];
    if operands.is_empty() {
        shell.print(b"These shell commands are defined internally.  Type `help name' to see how `name' is called.\n\n");
    }
    let mut status = 0;
    let all = [b"*".to_vec()];
    for name in if operands.is_empty() { &all } else { operands } {
        let pattern = crate::pattern::Pattern::new(name, crate::pattern::Syntax::default());
        let mut found = false;
        for builtin in BUILTINS {
            if pattern.matches(builtin.name.as_bytes()) {
                found = true;
                shell.print(
                    format!("{}: {} {}\n", builtin.name, builtin.name, builtin.usage).as_bytes(),
                );
            }
        }
        if !found {
            shell.complain(
                &[
                    b"no help topics match `",
                    name.as_slice(),
                    b"'.  Try `help help' or `man -k ",
                    name,
                    b"' or `info ",
                    name,
                    b"'.",
                ]
                .concat(),
            );
            status = 1;
        }
    }
    Ok(status)
}

pub(super) fn let_(shell: &mut Shell, args: &[Bytes]) -> Exec {
    let operands = if args.get(1).is_some_and(|arg| arg == b"--") {
        &args[2..]
    } else {
        &args[1..]
    };
    if operands.is_empty() {
        shell.complain(b"expression expected");
        return Ok(1);
    }
    let mut value = 0;
    for text in operands {
        value = match shell.arith_try(text) {
            Ok(value) => value,
            Err(fail) => match shell.arith_failed(fail, text, None) {
                Flow::Discard(_) => return Ok(1),
                flow => return Err(flow),
            },
        };
    }
    Ok(i32::from(value == 0))
}

pub(super) fn shift(shell: &mut Shell, args: &[Bytes]) -> Exec {
    let operands = if args.get(1).is_some_and(|arg| arg == b"--") {
        &args[2..]
    } else {
        &args[1..]
    };
    let count = match operands {
        [] => 1,
        [text] => match shell.numeric_arg(text) {
            Some(count) => count,
            None => return Ok(1),
        },
        _ => {
            shell.complain(b"too many arguments");
            return Err(Flow::Discard(1));
        }
    };
    let Ok(count) = usize::try_from(count) else {
        shell.complain_about(&operands[0], "shift count out of range");
        return Ok(1);
    };
    if count > shell.st.params.len() {
        if shell.shopt(shopt::SHIFT_VERBOSE) {
            let text = count.to_string();
            shell.complain_about(text.as_bytes(), "shift count out of range");
        }
        return Ok(1);
    }
    Rc::make_mut(&mut shell.st.params).drain(..count);
    Ok(0)
}

pub(super) fn times(shell: &mut Shell, _args: &[Bytes]) -> Exec {
    for who in [
        sandbar_guest::process::Who::Caller,
        sandbar_guest::process::Who::Children,
    ] {
        let (user, system) = sandbar_guest::process::usage(who)
            .map(|u| (u.user, u.system))
            .unwrap_or_default();
        let show = |time: std::time::Duration| {
            format!(
                "{}m{}.{:03}s",
                time.as_secs() / 60,
                time.as_secs() % 60,
                time.subsec_millis()
            )
        };
        let line = format!("{} {}\n", show(user), show(system));
        shell.print(line.as_bytes());
    }
    Ok(0)
}

pub(super) fn umask(shell: &mut Shell, args: &[Bytes]) -> Exec {
    let parsed = match shell.options(args, "pS") {
        Ok(parsed) => parsed,
        Err(status) => return Ok(status),
    };
    let current = sys::umask();
    let Some(text) = args.get(parsed.next) else {
        let symbolic = || {
            let part = |who: char, shift: u32| {
                let bits = !current >> shift & 7;
                let letters: String = [(4, 'r'), (2, 'w'), (1, 'x')]
                    .iter()
                    .filter(|(bit, _)| bits & bit != 0)
                    .map(|(_, c)| *c)
                    .collect();
                format!("{who}={letters}")
            };
            [part('u', 6), part('g', 3), part('o', 0)].join(",")
        };
        let shown = if parsed.has(b'S') {
            symbolic()
        } else {
            format!("{current:04o}")
        };
        let line = if parsed.has(b'p') {
            format!(
                "umask {}{shown}\n",
                if parsed.has(b'S') { "-S " } else { "" }
            )
        } else {
            format!("{shown}\n")
        };
        shell.print(line.as_bytes());
        return Ok(0);
    };
    let mask = if text.first().is_some_and(u8::is_ascii_digit) {
        let value = std::str::from_utf8(text)
            .ok()
            .and_then(|text| u32::from_str_radix(text, 8).ok())
            .filter(|mask| *mask <= 0o7777);
        if value.is_none() {
            shell.complain_about(text, "octal number out of range");
        }
        value
    } else {
        let value = symbolic_mask(text, current);
        if value.is_none() {
            let shown = text
                .iter()
                .find(|b| {
                    !matches!(
                        b,
                        b'u' | b'g' | b'o' | b'a' | b'=' | b'+' | b'-' | b'r' | b'w' | b'x' | b','
                    )
                })
                .copied()
                .unwrap_or(b'?');
            shell.complain(
                &[
                    b"`".as_slice(),
                    &[shown],
                    b"': invalid symbolic mode operator",
                ]
                .concat(),
            );
        }
        value
    };
    let Some(mask) = mask else { return Ok(1) };
    shell.first_umask.get_or_insert(current);
    shell.st.umask = Some(mask & 0o777);
    sys::set_umask(mask & 0o777);
    Ok(0)
}

/// A mask from `u=rwx,g-w`, which names what is *allowed*.
fn symbolic_mask(text: &[u8], current: u32) -> Option<u32> {
    let mut allowed = !current & 0o777;
    for clause in text.split(|&b| b == b',') {
        let op_at = clause
            .iter()
            .position(|b| matches!(b, b'=' | b'+' | b'-'))?;
        let mut who = 0;
        for b in &clause[..op_at] {
            who |= match b {
                b'u' => 0o700,
                b'g' => 0o070,
                b'o' => 0o007,
                b'a' => 0o777,
                _ => return None,
            };
        }
        if who == 0 {
            who = 0o777;
        }
        let mut bits = 0;
        for b in &clause[op_at + 1..] {
            bits |= match b {
                b'r' => 0o444,
                b'w' => 0o222,
                b'x' => 0o111,
                _ => return None,
            };
        }
        allowed = match clause[op_at] {
            b'=' => allowed & !who | bits & who,
            b'+' => allowed | bits & who,
            _ => allowed & !(bits & who),
        };
    }
    Some(!allowed & 0o777)
}
