//! `cd`, `pwd` and the directory stack.

#![expect(clippy::unnecessary_wraps, reason = "all builtins have one type")]

use crate::ast::Bytes;
use crate::options::{opt, shopt};
use crate::shell::{Exec, Shell};
use crate::sys;

/// `base/path` without `.`, `..` and doubled slashes, symbolic links not looked at.
pub(crate) fn logical(base: &[u8], path: &[u8]) -> Bytes {
    let full = if path.starts_with(b"/") {
        path.to_vec()
    } else {
        [base, b"/", path].concat()
    };
    let mut parts: Vec<&[u8]> = Vec::new();
    for part in full.split(|&b| b == b'/') {
        match part {
            b"" | b"." => {}
            b".." => {
                parts.pop();
            }
            _ => parts.push(part),
        }
    }
    let mut out = Bytes::new();
    for part in parts {
        out.push(b'/');
        out.extend_from_slice(part);
    }
    if out.is_empty() {
        out.push(b'/');
    }
    out
}

/// What is wrong with a directory that a `..` in `path` comes after: it has to exist although it is left again.
fn missing_before_parent(base: &[u8], path: &[u8]) -> Option<String> {
    let mut so_far = Bytes::new();
    for part in path.split(|&b| b == b'/') {
        if part == b".." && !so_far.is_empty() {
            match sys::stat(&logical(base, &so_far)) {
                Ok(stat) if stat.is_dir() => {}
                Ok(_) => return Some(sys::message(sys::Errno::ENOTDIR)),
                Err(error) => return Some(sys::message(error)),
            }
        }
        so_far.extend_from_slice(part);
        so_far.push(b'/');
    }
    None
}

impl Shell {
    /// The stack as `dirs` shows it, the current directory first.
    pub(crate) fn dir_stack(&self) -> Vec<Bytes> {
        std::iter::once(self.st.cwd.clone())
            .chain(self.st.dirs.iter().rev().cloned())
            .collect()
    }

    /// Changes the directory; `Err` is the message.
    fn change_dir(&mut self, path: &[u8], physical: bool) -> Result<(), String> {
        let physical = physical || self.on(opt::PHYSICAL);
        let target = if physical {
            path.to_vec()
        } else {
            logical(&self.st.cwd, path)
        };
        if !physical && let Some(missing) = missing_before_parent(&self.st.cwd, path) {
            return Err(missing);
        }
        if let Err(error) = sys::chdir(&target) {
            // The logical path may be gone while the real one is there.
            if physical || sys::chdir(path).is_err() {
                return Err(sys::message(error));
            }
        }
        let new = if physical {
            sys::current_dir().unwrap_or(target)
        } else {
            target
        };
        let old = std::mem::replace(&mut self.st.cwd, new.clone());
        let old = self.get(b"PWD").map_or(old, |pwd| pwd.to_vec());
        self.set_quietly(b"OLDPWD", old);
        self.set_quietly(b"PWD", new);
        Ok(())
    }
}

pub(super) fn cd(shell: &mut Shell, args: &[Bytes]) -> Exec {
    let parsed = match shell.options(args, "LPe@") {
        Ok(parsed) => parsed,
        Err(status) => return Ok(status),
    };
    let physical = parsed
        .options
        .iter()
        .rev()
        .find(|(b, _)| matches!(b, b'L' | b'P'))
        .is_some_and(|(b, _)| *b == b'P');
    let operands = &args[parsed.next..];
    if operands.len() > 1 {
        shell.complain(b"too many arguments");
        return Ok(1);
    }
    let mut show = false;
    let target = match operands.first() {
        None => {
            if let Some(home) = shell.home() {
                home
            } else {
                shell.complain(b"HOME not set");
                return Ok(1);
            }
        }
        Some(dash) if dash == b"-" => {
            if let Some(old) = shell.get(b"OLDPWD").filter(|text| !text.is_empty()) {
                show = true;
                old.to_vec()
            } else {
                shell.complain(b"OLDPWD not set");
                return Ok(1);
            }
        }
        Some(path) => path.clone(),
    };
    if target.is_empty() {
        return Ok(0);
    }
    let mut chosen = target.clone();
    if !target.starts_with(b"/")
        && !target.starts_with(b"./")
        && !target.starts_with(b"../")
        && target != b"."
        && target != b".."
    {
        let path = shell
            .get(b"CDPATH")
            .map(|text| text.to_vec())
            .unwrap_or_default();
        for dir in path.split(|&b| b == b':').filter(|_| !path.is_empty()) {
            let full = if dir.is_empty() {
                target.clone()
            } else {
                [dir, b"/", &target].concat()
            };
            let absolute = logical(&shell.st.cwd, &full);
            if sys::stat(&absolute).is_ok_and(|stat| stat.is_dir()) {
                show = !dir.is_empty();
                chosen = full;
                break;
            }
        }
    }
    match shell.change_dir(&chosen, physical) {
        Ok(()) => {}
        Err(message) => {
            let variable = if shell.shopt(shopt::CDABLE_VARS) {
                shell.get(&target).map(|text| text.to_vec())
            } else {
                None
            };
            match variable {
                Some(path) if shell.change_dir(&path, physical).is_ok() => show = true,
                _ => {
                    shell.complain_about(&target, &message);
                    return Ok(1);
                }
            }
        }
    }
    if show {
        let line = [shell.st.cwd.as_slice(), b"\n"].concat();
        shell.print(&line);
    }
    Ok(0)
}

pub(super) fn pwd(shell: &mut Shell, args: &[Bytes]) -> Exec {
    let parsed = match shell.options(args, "LP") {
        Ok(parsed) => parsed,
        Err(status) => return Ok(status),
    };
    let physical = parsed.options.last().is_some_and(|(b, _)| *b == b'P')
        || shell.on(opt::PHYSICAL) && parsed.options.is_empty();
    let path = if physical {
        sys::current_dir()
    } else {
        Ok(shell.st.cwd.clone())
    };
    match path {
        Ok(path) => {
            shell.print(&[path.as_slice(), b"\n"].concat());
            Ok(0)
        }
        Err(error) => {
            shell.complain(
                &[
                    b"error retrieving current directory: ",
                    sys::message(error).as_bytes(),
                ]
                .concat(),
            );
            Ok(1)
        }
    }
}

/// `+N` or `-N` as an index into a stack of `count`.
fn stack_index(text: &[u8], count: usize) -> Option<usize> {
    let (plus, digits) = match text {
        [b'+', rest @ ..] => (true, rest),
        [b'-', rest @ ..] => (false, rest),
        _ => return None,
    };
    let number: usize = std::str::from_utf8(digits).ok()?.parse().ok()?;
    if plus {
        Some(number)
    } else {
        count.checked_sub(number + 1)
    }
    .filter(|index| *index < count)
}

fn is_index(text: &[u8]) -> bool {
    matches!(text, [b'+' | b'-', rest @ ..] if !rest.is_empty() && rest.iter().all(u8::is_ascii_digit))
}

pub(super) fn dirs(shell: &mut Shell, args: &[Bytes]) -> Exec {
    let mut flags = Vec::new();
    let mut index = None;
    for arg in &args[1..] {
        if is_index(arg) {
            index = Some(arg.clone());
        } else if let Some(letters) = arg.strip_prefix(b"-") {
            for b in letters {
                if !matches!(b, b'c' | b'l' | b'p' | b'v') {
                    shell.complain(&[b"-".as_slice(), &[*b], b": invalid option"].concat());
                    return Ok(shell.usage());
                }
                flags.push(*b);
            }
        } else {
            shell.complain_about(arg, "invalid number");
            return Ok(shell.usage());
        }
    }
    if flags.contains(&b'c') {
        shell.st.dirs.clear();
        return Ok(0);
    }
    print_stack(shell, &flags, index.as_deref())
}

fn print_stack(shell: &mut Shell, flags: &[u8], index: Option<&[u8]>) -> Exec {
    let home = shell.home().unwrap_or_default();
    let stack = shell.dir_stack();
    let show = |path: &Bytes| {
        if flags.contains(&b'l') || home.is_empty() {
            return path.clone();
        }
        match path.strip_prefix(home.as_slice()) {
            Some(rest) if rest.is_empty() || rest.starts_with(b"/") => [b"~", rest].concat(),
            _ => path.clone(),
        }
    };
    if let Some(text) = index {
        let Some(at) = stack_index(text, stack.len()) else {
            shell.complain_about(&text[1..], "directory stack index out of range");
            return Ok(1);
        };
        let line = [show(&stack[at]).as_slice(), b"\n"].concat();
        shell.print(&line);
        return Ok(0);
    }
    let shown: Vec<Bytes> = stack.iter().map(show).collect();
    if flags.contains(&b'v') {
        for (at, path) in shown.iter().enumerate() {
            let line = [format!("{at:>2}  ").as_bytes(), path, b"\n"].concat();
            shell.print(&line);
        }
    } else {
        let separator: &[u8] = if flags.contains(&b'p') { b"\n" } else { b" " };
        let line = [shown.join(separator).as_slice(), b"\n"].concat();
        shell.print(&line);
    }
    Ok(0)
}

/// Whether `-n` was given, and the operands; a number with a sign is no option.
fn stack_operands<'a>(shell: &mut Shell, args: &'a [Bytes]) -> Result<(bool, &'a [Bytes]), i32> {
    let mut stay = false;
    let mut next = 1;
    while let Some(arg) = args.get(next) {
        match arg.as_slice() {
            b"-n" => stay = true,
            b"--" => {
                next += 1;
                break;
            }
            [b'-', rest @ ..] if !rest.is_empty() && !is_index(arg) => {
                shell.complain_about(arg, "invalid number");
                return Err(shell.usage());
            }
            _ => break,
        }
        next += 1;
    }
    Ok((stay, &args[next..]))
}

pub(super) fn pushd(shell: &mut Shell, args: &[Bytes]) -> Exec {
    let (stay, operands) = match stack_operands(shell, args) {
        Ok(found) => found,
        Err(status) => return Ok(status),
    };
    if operands.len() > 1 {
        shell.complain(b"too many arguments");
        return Ok(1);
    }
    let mut stack = shell.dir_stack();
    let Some(target) = operands.first() else {
        if stack.len() < 2 {
            shell.complain(b"no other directory");
            return Ok(1);
        }
        stack.swap(0, 1);
        return switch(shell, stack, stay);
    };
    if is_index(target) {
        let Some(at) = stack_index(target, stack.len()) else {
            shell.complain_about(target, "directory stack index out of range");
            return Ok(1);
        };
        stack.rotate_left(at);
        return switch(shell, stack, stay);
    }
    let path = if target == b"-" {
        shell
            .get(b"OLDPWD")
            .map(|text| text.to_vec())
            .unwrap_or_default()
    } else {
        target.clone()
    };
    if stay {
        shell.st.dirs.push(logical(&shell.st.cwd, &path));
        return print_stack(shell, &[], None);
    }
    let old = shell.st.cwd.clone();
    if let Err(message) = shell.change_dir(&path, false) {
        shell.complain_about(&path, &message);
        return Ok(1);
    }
    shell.st.dirs.push(old);
    print_stack(shell, &[], None)
}

/// Makes `stack` the directory stack and goes to its first entry.
fn switch(shell: &mut Shell, mut stack: Vec<Bytes>, stay: bool) -> Exec {
    let first = stack.remove(0);
    if !stay && let Err(message) = shell.change_dir(&first, false) {
        shell.complain_about(&first, &message);
        return Ok(1);
    }
    stack.reverse();
    shell.st.dirs = stack;
    print_stack(shell, &[], None)
}

pub(super) fn popd(shell: &mut Shell, args: &[Bytes]) -> Exec {
    let (stay, operands) = match stack_operands(shell, args) {
        Ok(found) => found,
        Err(status) => return Ok(status),
    };
    let mut stack = shell.dir_stack();
    if stack.len() < 2 {
        shell.complain(b"directory stack empty");
        return Ok(1);
    }
    let at = match operands.first() {
        None => 0,
        Some(text) if is_index(text) => {
            if let Some(at) = stack_index(text, stack.len()) {
                at
            } else {
                shell.complain_about(text, "directory stack index out of range");
                return Ok(1);
            }
        }
        Some(text) => {
            shell.complain_about(text, "invalid argument");
            return Ok(shell.usage());
        }
    };
    stack.remove(if stay && at == 0 { 1 } else { at });
    if at == 0 && !stay {
        return switch(shell, stack, false);
    }
    stack.remove(0);
    stack.reverse();
    shell.st.dirs = stack;
    print_stack(shell, &[], None)
}
