//! `alias`, `unalias`, `hash` and `type`: what a name stands for.

#![expect(clippy::unnecessary_wraps, reason = "all builtins have one type")]

use std::rc::Rc;

use super::find;
use crate::ast::Bytes;
use crate::escape::{self, single_quote};
use crate::options::shopt;
use crate::printer;
use crate::shell::{Exec, Shell};

/// The reserved words.
pub(crate) const KEYWORDS: [&[u8]; 22] = [
    b"if",
    b"then",
    b"else",
    b"elif",
    b"fi",
    b"case",
    b"esac",
    b"for",
    b"select",
    b"while",
    b"until",
    b"do",
    b"done",
    b"in",
    b"function",
    b"time",
    b"{",
    b"}",
    b"!",
    b"[[",
    b"]]",
    b"coproc",
];

pub(super) fn alias(shell: &mut Shell, args: &[Bytes]) -> Exec {
    let parsed = match shell.options(args, "p") {
        Ok(parsed) => parsed,
        Err(status) => return Ok(status),
    };
    let line =
        |name: &[u8], text: &[u8]| [b"alias ", name, b"=", &single_quote(text), b"\n"].concat();
    let operands = &args[parsed.next..];
    if operands.is_empty() || parsed.has(b'p') {
        let all: Vec<Bytes> = shell
            .st
            .aliases
            .iter()
            .map(|(name, text)| line(name, text))
            .collect();
        shell.print(&all.concat());
    }
    let mut status = 0;
    for operand in operands {
        match operand.iter().position(|&b| b == b'=').filter(|at| *at > 0) {
            Some(at) => {
                let name = &operand[..at];
                if name.iter().any(|b| {
                    matches!(
                        b,
                        b'/' | b'$'
                            | b'`'
                            | b'\''
                            | b'"'
                            | b'\\'
                            | b' '
                            | b'\t'
                            | b'\n'
                            | b'|'
                            | b'&'
                            | b';'
                            | b'('
                            | b')'
                            | b'<'
                            | b'>'
                    )
                }) {
                    shell.complain(&[b"`".as_slice(), name, b"': invalid alias name"].concat());
                    status = 1;
                    continue;
                }
                Rc::make_mut(&mut shell.st.aliases)
                    .insert(name.to_vec(), operand[at + 1..].to_vec());
            }
            None => {
                if let Some(text) = shell.st.aliases.get(operand).cloned() {
                    shell.print(&line(operand, &text));
                } else {
                    shell.complain_about(operand, "not found");
                    status = 1;
                }
            }
        }
    }
    Ok(status)
}

pub(super) fn unalias(shell: &mut Shell, args: &[Bytes]) -> Exec {
    let parsed = match shell.options(args, "a") {
        Ok(parsed) => parsed,
        Err(status) => return Ok(status),
    };
    if parsed.has(b'a') {
        Rc::make_mut(&mut shell.st.aliases).clear();
        return Ok(0);
    }
    let operands = &args[parsed.next..];
    if operands.is_empty() {
        return Ok(shell.usage());
    }
    let mut status = 0;
    for name in operands {
        if Rc::make_mut(&mut shell.st.aliases).remove(name).is_none() {
            shell.complain_about(name, "not found");
            status = 1;
        }
    }
    Ok(status)
}

pub(super) fn hash(shell: &mut Shell, args: &[Bytes]) -> Exec {
    let parsed = match shell.options(args, "lrp:dt") {
        Ok(parsed) => parsed,
        Err(status) => return Ok(status),
    };
    let operands = &args[parsed.next..];
    if parsed.has(b'r') {
        Rc::make_mut(&mut shell.st.hashed).clear();
    }
    if operands.is_empty() && !parsed.has(b'r') {
        if shell.st.hashed.is_empty() {
            if !parsed.has(b'l') {
                shell.print(b"hash: hash table empty\n");
            }
            return Ok(0);
        }
        let mut text = Bytes::new();
        if !parsed.has(b'l') {
            text.extend_from_slice(b"hits\tcommand\n");
        }
        for (name, (path, hits)) in shell.st.hashed.iter() {
            if parsed.has(b'l') {
                text.extend([b"builtin hash -p ".as_slice(), path, b" ", name, b"\n"].concat());
            } else {
                text.extend([format!("{hits:4}\t").as_bytes(), path, b"\n"].concat());
            }
        }
        shell.print(&text);
        return Ok(0);
    }
    let mut status = 0;
    for name in operands {
        if let Some(path) = parsed.value(b'p') {
            Rc::make_mut(&mut shell.st.hashed).insert(name.clone(), (path.clone(), 0));
        } else if parsed.has(b'd') || parsed.has(b't') {
            let known = shell.st.hashed.get(name).map(|(path, _)| path.clone());
            match known {
                None => {
                    shell.complain_about(name, "not found");
                    status = 1;
                }
                Some(_) if parsed.has(b'd') => {
                    Rc::make_mut(&mut shell.st.hashed).remove(name);
                }
                Some(path) => {
                    let line = if operands.len() > 1 {
                        [name.as_slice(), b"\t", &path, b"\n"].concat()
                    } else {
                        [path.as_slice(), b"\n"].concat()
                    };
                    shell.print(&line);
                }
            }
        } else if find(name).is_none() && !shell.st.functions.contains_key(name.as_slice()) {
            Rc::make_mut(&mut shell.st.hashed).remove(name);
            if let Some(path) = shell.search_path(name, false).into_iter().next() {
                Rc::make_mut(&mut shell.st.hashed).insert(name.clone(), (path, 0));
            } else {
                shell.complain_about(name, "not found");
                status = 1;
            }
        }
    }
    Ok(status)
}

/// Prints what a name stands for, as `command -v` or, `verbose`, as `command -V`; `false` when it is nothing.
pub(super) fn describe(shell: &mut Shell, name: &[u8], verbose: bool) -> bool {
    let line = |text: &[&[u8]]| [text.concat().as_slice(), b"\n"].concat();
    let alias = if shell.shopt(shopt::EXPAND_ALIASES) {
        shell.st.aliases.get(name).cloned()
    } else {
        None
    };
    if let Some(text) = alias {
        let shown = if verbose {
            line(&[name, b" is aliased to `", &text, b"'"])
        } else {
            line(&[b"alias ", name, b"=", &single_quote(&text)])
        };
        shell.print(&shown);
    } else if KEYWORDS.contains(&name) {
        shell.print(&if verbose {
            line(&[name, b" is a shell keyword"])
        } else {
            line(&[name])
        });
    } else if shell.st.functions.contains_key(name) {
        if verbose {
            shell.print(&line(&[name, b" is a function"]));
            show_function(shell, name);
        } else {
            shell.print(&line(&[name]));
        }
    } else if let Some(builtin) =
        find(name).filter(|_| !shell.st.disabled.iter().any(|off| off == name))
    {
        let special = builtin.special && shell.on(crate::options::opt::POSIX);
        let kind: &[u8] = if special {
            b" is a special shell builtin"
        } else {
            b" is a shell builtin"
        };
        shell.print(&if verbose {
            line(&[name, kind])
        } else {
            line(&[name])
        });
    } else if let Some((path, _)) = shell.st.hashed.get(name).cloned() {
        shell.print(&if verbose {
            line(&[name, b" is hashed (", &path, b")"])
        } else {
            line(&[&path])
        });
    } else {
        let path = if name.contains(&b'/') {
            vec![name.to_vec()]
        } else {
            shell.search_path(name, false)
        };
        let Some(path) = path.into_iter().next().filter(|path| {
            crate::sys::access(path, crate::sys::Access::EXECUTE)
                && !crate::sys::stat(path).is_ok_and(|s| s.is_dir())
        }) else {
            return false;
        };
        shell.print(&if verbose {
            line(&[name, b" is ", &path])
        } else {
            line(&[&path])
        });
    }
    true
}

/// Prints a function's text.
pub(crate) fn show_function(shell: &mut Shell, name: &[u8]) -> bool {
    let Some(def) = shell.function(name).and_then(|function| function.def()) else {
        return false;
    };
    let mut text = printer::function_text(&def);
    text.push(b'\n');
    shell.print(&text);
    true
}

/// All that a name stands for: kind and, for files, path.
fn meanings(shell: &mut Shell, name: &[u8], functions: bool) -> Vec<(&'static str, Bytes)> {
    let mut all = Vec::new();
    if shell.shopt(shopt::EXPAND_ALIASES) && shell.st.aliases.contains_key(name) {
        all.push(("alias", Bytes::new()));
    }
    if KEYWORDS.contains(&name) {
        all.push(("keyword", Bytes::new()));
    }
    if functions && shell.st.functions.contains_key(name) {
        all.push(("function", Bytes::new()));
    }
    if find(name).is_some() && !shell.st.disabled.iter().any(|off| off == name) {
        all.push(("builtin", Bytes::new()));
    }
    all
}

pub(super) fn type_(shell: &mut Shell, args: &[Bytes]) -> Exec {
    let parsed = match shell.options(args, "afptP") {
        Ok(parsed) => parsed,
        Err(status) => return Ok(status),
    };
    let all = parsed.has(b'a');
    let force = parsed.has(b'P');
    let path_only = parsed.has(b'p') || force;
    let kind_only = parsed.has(b't');
    let mut status = 0;
    for name in &args[parsed.next..] {
        let mut found = false;
        let kinds = if force {
            Vec::new()
        } else {
            meanings(shell, name, !parsed.has(b'f'))
        };
        for (kind, _) in &kinds {
            if found && !all {
                break;
            }
            found = true;
            if path_only {
                continue;
            }
            if kind_only {
                shell.print(format!("{kind}\n").as_bytes());
                continue;
            }
            match *kind {
                "alias" => {
                    let text = shell.st.aliases.get(name).cloned().unwrap_or_default();
                    shell.print(&[name.as_slice(), b" is aliased to `", &text, b"'\n"].concat());
                }
                "keyword" => shell.print(&[name.as_slice(), b" is a shell keyword\n"].concat()),
                "function" => {
                    shell.print(&[name.as_slice(), b" is a function\n"].concat());
                    show_function(shell, name);
                }
                _ => shell.print(&[name.as_slice(), b" is a shell builtin\n"].concat()),
            }
        }
        if !found || all {
            let hashed = shell
                .st
                .hashed
                .get(name)
                .map(|(path, _)| path.clone())
                .filter(|_| !all);
            let was_hashed = hashed.is_some();
            let paths = match hashed {
                Some(path) => vec![path],
                None if name.contains(&b'/') => {
                    let usable = crate::sys::access(name, crate::sys::Access::EXECUTE)
                        && !crate::sys::stat(name).is_ok_and(|stat| stat.is_dir());
                    if usable {
                        vec![name.clone()]
                    } else {
                        Vec::new()
                    }
                }
                None => shell.search_path(name, all),
            };
            for path in paths {
                found = true;
                if kind_only {
                    shell.print(b"file\n");
                } else if path_only {
                    shell.print(&[path.as_slice(), b"\n"].concat());
                } else if was_hashed {
                    shell.print(&[name.as_slice(), b" is hashed (", &path, b")\n"].concat());
                } else {
                    shell.print(&[name.as_slice(), b" is ", &path, b"\n"].concat());
                }
            }
        }
        if !found {
            status = 1;
            if !kind_only && !path_only {
                shell.complain_about(name, "not found");
            }
        }
    }
    Ok(status)
}

/// `name=value` as `set` prints it.
pub(crate) fn assignment_line(name: &[u8], value: &[u8]) -> Bytes {
    [name, b"=", &escape::set_quote(value), b"\n"].concat()
}
