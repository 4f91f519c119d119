//! The builtins: their table, and what they share.

mod alias;
mod control;
mod declare;
mod directory;
mod jobs;
mod mapfile;
mod misc;
mod printf;
mod read;
mod set;
mod test;
mod trap;
mod ulimit;

use crate::ast::Bytes;
use crate::shell::{Exec, Shell};

pub(crate) use control::run_file;
pub(crate) use declare::unset_variable;

/// A command that the shell runs itself.
#[derive(Debug)]
pub(crate) struct Builtin {
    pub(crate) name: &'static str,
    pub(crate) run: fn(&mut Shell, &[Bytes]) -> Exec,
    /// A special builtin of POSIX.
    pub(crate) special: bool,
    /// The line after `usage:`, without the name.
    pub(crate) usage: &'static str,
}

const fn builtin(
    name: &'static str,
    run: fn(&mut Shell, &[Bytes]) -> Exec,
    usage: &'static str,
) -> Builtin {
    Builtin {
        name,
        run,
        special: false,
        usage,
    }
}

const fn special(
    name: &'static str,
    run: fn(&mut Shell, &[Bytes]) -> Exec,
    usage: &'static str,
) -> Builtin {
    Builtin {
        name,
        run,
        special: true,
        usage,
    }
}

/// All builtins, sorted by name.
pub(crate) static BUILTINS: &[Builtin] = &[
    special(".", control::source, "filename [arguments]"),
    special(":", misc::succeed, ""),
    builtin("[", test::bracket, "[ arg... ]"),
    builtin("alias", alias::alias, "[-p] [name[=value] ... ]"),
    builtin("bg", jobs::bg, "[job_spec ...]"),
    special("break", control::break_, "[n]"),
    builtin("builtin", misc::builtin, "[shell-builtin [arg ...]]"),
    builtin("caller", misc::caller, "[expr]"),
    builtin("cd", directory::cd, "[-L|[-P [-e]] [-@]] [dir]"),
    builtin("command", misc::command, "[-pVv] command [arg ...]"),
    builtin(
        "compgen",
        misc::compgen,
        "[-abcdefgjksuv] [-o option] [-A action] [-G globpat] [-W wordlist] [-F function] [-C command] [-X filterpat] [-P prefix] [-S suffix] [word]",
    ),
    special("continue", control::continue_, "[n]"),
    builtin(
        "declare",
        declare::declare,
        "[-aAfFgiIlnrtux] [name[=value] ...] or declare -p [-aAfFilnrtux] [name ...]",
    ),
    builtin("dirs", directory::dirs, "[-clpv] [+N] [-N]"),
    builtin("disown", jobs::disown, "[-h] [-ar] [jobspec ... | pid ...]"),
    builtin("echo", misc::echo, "[-neE] [arg ...]"),
    builtin(
        "enable",
        misc::enable,
        "[-a] [-dnps] [-f filename] [name ...]",
    ),
    special("eval", control::eval, "[arg ...]"),
    special(
        "exec",
        control::exec,
        "[-cl] [-a name] [command [argument ...]] [redirection ...]",
    ),
    special("exit", control::exit, "[n]"),
    special(
        "export",
        declare::export,
        "[-fn] [name[=value] ...] or export -p",
    ),
    builtin("false", misc::fail, ""),
    builtin("fg", jobs::fg, "[job_spec]"),
    builtin("getopts", misc::getopts, "optstring name [arg ...]"),
    builtin("hash", alias::hash, "[-lr] [-p pathname] [-dt] [name ...]"),
    builtin("help", misc::help, "[-dms] [pattern ...]"),
    builtin(
        "jobs",
        jobs::jobs,
        "[-lnprs] [jobspec ...] or jobs -x command [args]",
    ),
    builtin(
        "kill",
        jobs::kill,
        "[-s sigspec | -n signum | -sigspec] pid | jobspec ... or kill -l [sigspec]",
    ),
    builtin("let", misc::let_, "arg [arg ...]"),
    builtin("local", declare::local, "[option] name[=value] ..."),
    builtin("logout", control::logout, "[n]"),
    builtin(
        "mapfile",
        mapfile::mapfile,
        "[-d delim] [-n count] [-O origin] [-s count] [-t] [-u fd] [-C callback] [-c quantum] [array]",
    ),
    builtin("popd", directory::popd, "[-n] [+N | -N]"),
    builtin("printf", printf::printf, "[-v var] format [arguments]"),
    builtin("pushd", directory::pushd, "[-n] [+N | -N | dir]"),
    builtin("pwd", directory::pwd, "[-LP]"),
    builtin(
        "read",
        read::read,
        "[-ers] [-a array] [-d delim] [-i text] [-n nchars] [-N nchars] [-p prompt] [-t timeout] [-u fd] [name ...]",
    ),
    builtin(
        "readarray",
        mapfile::mapfile,
        "[-d delim] [-n count] [-O origin] [-s count] [-t] [-u fd] [-C callback] [-c quantum] [array]",
    ),
    special(
        "readonly",
        declare::readonly,
        "[-aAf] [name[=value] ...] or readonly -p",
    ),
    special("return", control::return_, "[n]"),
    special(
        "set",
        set::set,
        "[-abefhkmnptuvxBCEHPT] [-o option-name] [--] [-] [arg ...]",
    ),
    special("shift", misc::shift, "[n]"),
    builtin("shopt", set::shopt_builtin, "[-pqsu] [-o] [optname ...]"),
    special("source", control::source, "filename [arguments]"),
    builtin("suspend", jobs::suspend, "[-f]"),
    builtin("test", test::test, "[expr]"),
    special("times", misc::times, ""),
    special("trap", trap::trap, "[-lp] [[arg] signal_spec ...]"),
    builtin("true", misc::succeed, ""),
    builtin("type", alias::type_, "[-afptP] name [name ...]"),
    builtin(
        "typeset",
        declare::declare,
        "[-aAfFgiIlnrtux] name[=value] ... or typeset -p [-aAfFilnrtux] [name ...]",
    ),
    builtin(
        "ulimit",
        ulimit::ulimit,
        "[-SHabcdefiklmnpqrstuvxPRT] [limit]",
    ),
    builtin("umask", misc::umask, "[-p] [-S] [mode]"),
    builtin("unalias", alias::unalias, "[-a] name [name ...]"),
    special("unset", declare::unset, "[-f] [-v] [-n] [name ...]"),
    builtin("wait", jobs::wait, "[-fn] [-p var] [id ...]"),
];

/// The builtin of that name.
pub(crate) fn find(name: &[u8]) -> Option<&'static Builtin> {
    let at = BUILTINS
        .binary_search_by(|builtin| builtin.name.as_bytes().cmp(name))
        .ok()?;
    BUILTINS.get(at)
}

/// Options of a builtin, in order, and the place of the first operand.
#[derive(Debug, Default)]
pub(crate) struct Parsed {
    pub(crate) options: Vec<(u8, Bytes)>,
    pub(crate) next: usize,
}

impl Parsed {
    pub(crate) fn has(&self, letter: u8) -> bool {
        self.options.iter().any(|(have, _)| *have == letter)
    }

    /// The value of the last occurrence.
    pub(crate) fn value(&self, letter: u8) -> Option<&Bytes> {
        self.options
            .iter()
            .rev()
            .find(|(have, _)| *have == letter)
            .map(|(_, value)| value)
    }
}

impl Shell {
    /// Reads options as `getopt` does; `spec` lists the letters, with `:` after those that take a value. On a bad one it
    /// prints the messages and gives the status.
    pub(crate) fn options(&mut self, args: &[Bytes], spec: &str) -> Result<Parsed, i32> {
        let spec = spec.as_bytes();
        let mut parsed = Parsed {
            options: Vec::new(),
            next: 1,
        };
        while let Some(arg) = args.get(parsed.next) {
            if arg.len() < 2 || arg[0] != b'-' {
                break;
            }
            parsed.next += 1;
            if arg == b"--" {
                break;
            }
            let mut at = 1;
            while at < arg.len() {
                let letter = arg[at];
                at += 1;
                let Some(place) = spec.iter().position(|b| *b == letter && letter != b':') else {
                    self.complain(&[b"-".as_slice(), &[letter], b": invalid option"].concat());
                    return Err(self.usage());
                };
                if spec.get(place + 1) != Some(&b':') {
                    parsed.options.push((letter, Bytes::new()));
                    continue;
                }
                let value = if at < arg.len() {
                    arg[at..].to_vec()
                } else if let Some(value) = args.get(parsed.next) {
                    parsed.next += 1;
                    value.clone()
                } else {
                    self.complain(
                        &[b"-".as_slice(), &[letter], b": option requires an argument"].concat(),
                    );
                    return Err(self.usage());
                };
                parsed.options.push((letter, value));
                break;
            }
        }
        Ok(parsed)
    }

    /// Prints the usage line of the running builtin; the status for it.
    pub(crate) fn usage(&mut self) -> i32 {
        if let Some(builtin) = self.builtin.and_then(|name| find(name.as_bytes())) {
            let line = format!(
                "{}: usage: {} {}\n",
                builtin.name, builtin.name, builtin.usage
            );
            self.print_error(line.as_bytes());
        }
        2
    }

    /// A decimal number among the arguments.
    pub(crate) fn numeric_arg(&mut self, text: &[u8]) -> Option<i64> {
        let number = std::str::from_utf8(text)
            .ok()
            .and_then(|text| text.trim().parse().ok());
        if number.is_none() {
            self.complain_about(text, "numeric argument required");
        }
        number
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_is_sorted_so_that_it_can_be_searched() {
        assert!(BUILTINS.windows(2).all(|pair| pair[0].name < pair[1].name));
    }
}
