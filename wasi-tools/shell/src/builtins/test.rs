//! `test`, `[` and the expressions of `[[ … ]]`.

#![expect(clippy::unnecessary_wraps, reason = "all builtins have one type")]

use crate::ast::{Bytes, Cond};
use crate::escape;
use crate::options::{opt, set_bit, shopt};
use crate::regex::Regex;
use crate::shell::{Exec, Flow, Shell};
use crate::sys::{self, Access, FileType};

/// The two words of a file test's operator letter, applied to `operand`; `None` for an unknown letter.
pub(crate) fn unary_test(shell: &mut Shell, op: u8, operand: &[u8]) -> Option<bool> {
    let stat = |path: &[u8]| sys::stat(path).ok();
    let kind =
        |path: &[u8], want: FileType| stat(path).is_some_and(|stat| stat.file_type() == want);
    let mode_bit = |bit: u32| stat(operand).is_some_and(|stat| stat.permissions() & bit != 0);
    Some(match op {
        b'n' => !operand.is_empty(),
        b'z' => operand.is_empty(),
        b'a' | b'e' => stat(operand).is_some(),
        b'f' => stat(operand).is_some_and(|stat| stat.is_file()),
        b'd' => stat(operand).is_some_and(|stat| stat.is_dir()),
        b'h' | b'L' => sys::lstat(operand).is_ok_and(|stat| stat.is_symlink()),
        b's' => stat(operand).is_some_and(|stat| stat.len > 0),
        b'r' => !operand.is_empty() && sys::access(operand, Access::READ),
        b'w' => !operand.is_empty() && sys::access(operand, Access::WRITE),
        b'x' => !operand.is_empty() && sys::access(operand, Access::EXECUTE),
        b'b' => kind(operand, FileType::BlockDevice),
        b'c' => kind(operand, FileType::CharDevice),
        b'p' => kind(operand, FileType::Fifo),
        b'S' => kind(operand, FileType::Socket),
        b'u' => mode_bit(0o4000),
        b'g' => mode_bit(0o2000),
        b'k' => mode_bit(0o1000),
        b'O' | b'G' => {
            let ids = sandbar_guest::process::ids(None).ok()?;
            stat(operand).is_some_and(|stat| {
                if op == b'O' {
                    stat.uid == ids.uid
                } else {
                    stat.gid == ids.gid
                }
            })
        }
        b'N' => stat(operand).is_some_and(|stat| stat.modified_ns > stat.accessed_ns),
        b't' => std::str::from_utf8(operand)
            .ok()
            .and_then(|text| text.trim().parse().ok())
            .is_some_and(sys::is_terminal),
        b'o' => set_bit(operand).is_some_and(|bit| shell.on(bit)),
        b'v' => is_set(shell, operand),
        b'R' => shell
            .st
            .vars
            .get(operand)
            .is_some_and(|var| var.has(crate::vars::attr::NAMEREF) && var.is_set()),
        _ => return None,
    })
}

fn is_set(shell: &mut Shell, text: &[u8]) -> bool {
    if let Some(open) = text
        .iter()
        .position(|&b| b == b'[')
        .filter(|_| text.ends_with(b"]"))
    {
        let (name, index) = (&text[..open], &text[open + 1..text.len() - 1]);
        if index == b"@" || index == b"*" {
            return shell
                .lookup(name)
                .is_some_and(|var| !var.elements().is_empty());
        }
        let index = shell.expand_subscript_text(index).unwrap_or_default();
        return match shell.key_of_text(name, &index) {
            Ok(key) => shell.get_element(name, &key).is_some(),
            Err(_) => false,
        };
    }
    if let Ok(number) = std::str::from_utf8(text).unwrap_or("").parse::<usize>() {
        return number == 0 || number <= shell.st.params.len();
    }
    shell.get(text).is_some()
}

/// Comparisons of files and numbers; `None` for an unknown operator, `Some(Err)` names an operand that is no number.
pub(crate) fn binary_test(op: &[u8], left: &[u8], right: &[u8]) -> Option<Result<bool, Bytes>> {
    let times = || {
        let time = |path: &[u8]| sys::stat(path).ok().map(|stat| stat.modified_ns);
        (time(left), time(right))
    };
    let number = |text: &[u8]| {
        std::str::from_utf8(text)
            .ok()
            .and_then(|text| text.trim().parse::<i64>().ok())
            .ok_or_else(|| text.to_vec())
    };
    let numbers = |compare: fn(i64, i64) -> bool| {
        number(left).and_then(|a| number(right).map(|b| compare(a, b)))
    };
    Some(match op {
        b"=" | b"==" => Ok(left == right),
        b"!=" => Ok(left != right),
        b"<" => Ok(left < right),
        b">" => Ok(left > right),
        b"-eq" => numbers(|a, b| a == b),
        b"-ne" => numbers(|a, b| a != b),
        b"-lt" => numbers(|a, b| a < b),
        b"-le" => numbers(|a, b| a <= b),
        b"-gt" => numbers(|a, b| a > b),
        b"-ge" => numbers(|a, b| a >= b),
        b"-nt" => Ok(match times() {
            (Some(a), Some(b)) => a > b,
            (a, b) => a.is_some() && b.is_none(),
        }),
        b"-ot" => Ok(match times() {
            (Some(a), Some(b)) => a < b,
            (a, b) => a.is_none() && b.is_some(),
        }),
        b"-ef" => Ok(match (sys::stat(left), sys::stat(right)) {
            (Ok(a), Ok(b)) => a.same_file(&b),
            _ => false,
        }),
        _ => return None,
    })
}

pub(super) fn bracket(shell: &mut Shell, args: &[Bytes]) -> Exec {
    if args.last().map(Vec::as_slice) != Some(b"]") || args.len() < 2 {
        shell.complain(b"missing `]'");
        return Ok(2);
    }
    evaluate(shell, &args[1..args.len() - 1])
}

pub(super) fn test(shell: &mut Shell, args: &[Bytes]) -> Exec {
    evaluate(shell, &args[1..])
}

/// Why an expression is wrong; the message was printed.
struct Wrong;

struct Test<'a> {
    shell: &'a mut Shell,
    args: &'a [Bytes],
    at: usize,
    depth: u32,
}

fn evaluate(shell: &mut Shell, args: &[Bytes]) -> Exec {
    let mut test = Test {
        shell,
        args,
        at: 0,
        depth: 0,
    };
    match test.posix(args) {
        Ok(value) => Ok(i32::from(!value)),
        Err(Wrong) => Ok(2),
    }
}

fn is_binary(op: &[u8]) -> bool {
    matches!(
        op,
        b"=" | b"=="
            | b"!="
            | b"<"
            | b">"
            | b"-eq"
            | b"-ne"
            | b"-lt"
            | b"-le"
            | b"-gt"
            | b"-ge"
            | b"-nt"
            | b"-ot"
            | b"-ef"
    )
}

fn is_unary(op: &[u8]) -> bool {
    matches!(op, [b'-', letter] if b"abcdefghknoprstuvwxzGLNORS".contains(letter))
}

impl Test<'_> {
    /// The rules of POSIX for up to four arguments, the grammar for more.
    fn posix(&mut self, args: &[Bytes]) -> Result<bool, Wrong> {
        match args {
            [] => Ok(false),
            [one] => Ok(!one.is_empty()),
            [not, one] if not == b"!" => Ok(one.is_empty()),
            [op, operand] if is_unary(op) => {
                Ok(unary_test(self.shell, op[1], operand).unwrap_or(false))
            }
            [op, _] => self.wrong(op, "unary operator expected"),
            [a, op, b] if is_binary(op) => self.binary(op, a, b),
            [a, op, b] if op == b"-a" => Ok(!a.is_empty() && !b.is_empty()),
            [a, op, b] if op == b"-o" => Ok(!a.is_empty() || !b.is_empty()),
            [not, rest @ ..] if not == b"!" && args.len() <= 4 => Ok(!self.posix(rest)?),
            [open, one, close] if open == b"(" && close == b")" => Ok(!one.is_empty()),
            [_, op, _] => self.wrong(op, "binary operator expected"),
            [open, inner @ .., close] if open == b"(" && close == b")" && args.len() == 4 => {
                self.posix(inner)
            }
            _ => self.grammar(),
        }
    }

    fn wrong<T>(&mut self, what: &[u8], why: &str) -> Result<T, Wrong> {
        self.shell.complain_about(what, why);
        Err(Wrong)
    }

    fn binary(&mut self, op: &[u8], a: &[u8], b: &[u8]) -> Result<bool, Wrong> {
        match binary_test(op, a, b) {
            Some(Ok(value)) => Ok(value),
            Some(Err(text)) => self.wrong(&text, "integer expression expected"),
            None => self.wrong(op, "binary operator expected"),
        }
    }

    fn grammar(&mut self) -> Result<bool, Wrong> {
        let value = self.or()?;
        if self.at < self.args.len() {
            self.shell.complain(b"too many arguments");
            return Err(Wrong);
        }
        Ok(value)
    }

    fn peek(&self) -> Option<&[u8]> {
        self.args.get(self.at).map(Vec::as_slice)
    }

    fn or(&mut self) -> Result<bool, Wrong> {
        self.depth += 1;
        if self.depth > 500 {
            self.shell.complain(b"expression is nested too deeply");
            return Err(Wrong);
        }
        let mut value = self.and()?;
        while self.peek() == Some(b"-o") {
            self.at += 1;
            let right = self.and()?;
            value = value || right;
        }
        self.depth -= 1;
        Ok(value)
    }

    fn and(&mut self) -> Result<bool, Wrong> {
        let mut value = self.not()?;
        while self.peek() == Some(b"-a") {
            self.at += 1;
            let right = self.not()?;
            value = value && right;
        }
        Ok(value)
    }

    fn not(&mut self) -> Result<bool, Wrong> {
        let mut negate = false;
        while self.peek() == Some(b"!") {
            negate = !negate;
            self.at += 1;
        }
        Ok(self.term()? != negate)
    }

    fn term(&mut self) -> Result<bool, Wrong> {
        let Some(first) = self.args.get(self.at) else {
            self.shell.complain(b"argument expected");
            return Err(Wrong);
        };
        let second = self.args.get(self.at + 1);
        if let (Some(op), Some(right)) = (second, self.args.get(self.at + 2))
            && is_binary(op)
        {
            self.at += 3;
            return self.binary(op, first, right);
        }
        if first == b"(" {
            self.at += 1;
            let value = self.or()?;
            if self.peek() != Some(b")") {
                self.shell.complain(b"`)' expected");
                return Err(Wrong);
            }
            self.at += 1;
            return Ok(value);
        }
        if is_unary(first)
            && let Some(operand) = second
        {
            self.at += 2;
            return Ok(unary_test(self.shell, first[1], operand).unwrap_or(false));
        }
        self.at += 1;
        Ok(!first.is_empty())
    }
}

impl Shell {
    /// `[[ … ]]`
    pub(crate) fn conditional(&mut self, cond: &Cond) -> Exec {
        match self.cond(cond) {
            Ok(value) => Ok(i32::from(!value)),
            // A regular expression that is none.
            Err(Flow::Discard(2)) => Ok(2),
            Err(Flow::Discard(1)) if self.nested_arith == 0 => Ok(1),
            Err(flow) => Err(flow),
        }
    }

    fn cond(&mut self, cond: &Cond) -> Result<bool, Flow> {
        match cond {
            Cond::Word(word) => {
                let text = self.expand_single(word)?;
                self.trace_cond(&[b"-n ", escape::trace_quote(&text).as_slice()].concat());
                Ok(!text.is_empty())
            }
            Cond::Not(inner) => Ok(!self.cond(inner)?),
            Cond::And(a, b) => Ok(self.cond(a)? && self.cond(b)?),
            Cond::Or(a, b) => Ok(self.cond(a)? || self.cond(b)?),
            Cond::Paren(inner) => self.cond(inner),
            Cond::Unary(op, word) => {
                let text = self.expand_single(word)?;
                self.trace_cond(
                    &[b"-".as_slice(), &[*op], b" ", &escape::trace_quote(&text)].concat(),
                );
                Ok(unary_test(self, *op, &text).unwrap_or(false))
            }
            Cond::Binary(op, left, right) => {
                let a = self.expand_single(left)?;
                let fold = self.shopt(shopt::NOCASEMATCH);
                match op.as_slice() {
                    b"=" | b"==" | b"!=" => {
                        let pattern = self.pattern_of(right, fold, true)?;
                        if self.on(opt::XTRACE) {
                            let shown = self.expand_pattern(right)?;
                            self.trace_cond(
                                &[&escape::trace_quote(&a), b" ".as_slice(), op, b" ", &shown]
                                    .concat(),
                            );
                        }
                        Ok(pattern.matches(&a) == (op != b"!="))
                    }
                    b"=~" => {
                        let text = self.expand_regex(right)?;
                        self.trace_cond(
                            &[&escape::trace_quote(&a), b" =~ ".as_slice(), &text].concat(),
                        );
                        self.regex_match(&a, &text, fold)
                    }
                    b"-eq" | b"-ne" | b"-lt" | b"-le" | b"-gt" | b"-ge" => {
                        let b = self.expand_single(right)?;
                        self.trace_cond(&[a.as_slice(), b" ", op, b" ", &b].concat());
                        let outer = self.builtin.replace("[[");
                        let pair = self
                            .arith_value(&a)
                            .and_then(|x| self.arith_value(&b).map(|y| (x, y)));
                        self.builtin = outer;
                        let (x, y) = pair?;
                        Ok(match op.as_slice() {
                            b"-eq" => x == y,
                            b"-ne" => x != y,
                            b"-lt" => x < y,
                            b"-le" => x <= y,
                            b"-gt" => x > y,
                            _ => x >= y,
                        })
                    }
                    _ => {
                        let b = self.expand_single(right)?;
                        self.trace_cond(
                            &[
                                &escape::trace_quote(&a),
                                b" ".as_slice(),
                                op,
                                b" ",
                                &escape::trace_quote(&b),
                            ]
                            .concat(),
                        );
                        Ok(binary_test(op, &a, &b).is_some_and(|result| result.unwrap_or(false)))
                    }
                }
            }
        }
    }

    fn trace_cond(&mut self, text: &[u8]) {
        if self.on(opt::XTRACE) {
            self.trace_raw(&[b"[[ ", text, b" ]]"].concat());
        }
    }

    fn regex_match(&mut self, text: &[u8], regex: &[u8], fold: bool) -> Result<bool, Flow> {
        let Some(regex) = Regex::new(regex, fold) else {
            return Err(Flow::Discard(2));
        };
        let found = regex.find(text);
        let groups: Vec<Bytes> = found
            .iter()
            .flatten()
            .map(|range| {
                range.map_or_else(Bytes::new, |(from, to)| {
                    text.get(from..to).unwrap_or_default().to_vec()
                })
            })
            .collect();
        self.set_array(b"BASH_REMATCH", groups)?;
        Ok(found.is_some())
    }
}
