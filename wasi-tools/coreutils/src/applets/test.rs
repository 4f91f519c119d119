//! `test` and `[`: asks about files, strings and numbers.

mod operators;

use std::ffi::OsString;

use sandbar_guest::Fd;

use super::{
    cli::{self, Order, Outcome, Stop, Tool},
    quote::quote_word,
};

const HELP: &str = "\
Usage: test EXPRESSION
  or:  test
  or:  [ EXPRESSION ]
  or:  [ ]
  or:  [ OPTION
Exits with 0 when EXPRESSION is true, 1 when it is false or missing, 2 on an error.

  ( E )   ! E   E -a F   E -o F       grouping, not, and, or
  STRING  -n STRING  -z STRING        it has characters; it has none
  S = T   S == T   S != T             the strings are equal or not
  I -eq J  -ne  -lt  -le  -gt  -ge    whole numbers; -l STRING is a string's length
  F -ef G  -nt  -ot                   same file; newer; older
  -e F  -f  -d  -h  -L  -p  -S  -b  -c   there is such a file; of that type: file, directory, link, FIFO, socket, devices
  -r F  -w  -x  -s  -u  -g  -k  -O  -G  -N   readable, writable, executable, not empty, set-uid, set-gid, sticky, own,
                                      own group's, changed since it was read
  -t FD                               the descriptor is a terminal
  --help  --version                   of [ only
";

static TEST: Tool = Tool {
    name: "test",
    help: HELP,
    options: &[],
    order: Order::OptionsFirst,
    usage_status: 2,
};
static BRACKET: Tool = Tool {
    name: "[",
    help: HELP,
    options: &[],
    order: Order::OptionsFirst,
    usage_status: 2,
};

pub(super) fn main(args: Vec<OsString>) -> i32 {
    let words = args
        .into_iter()
        .skip(1)
        .map(OsString::into_encoded_bytes)
        .collect();
    cli::status(run(&TEST, words))
}

pub(super) fn bracket(args: Vec<OsString>) -> i32 {
    let mut words: Vec<_> = args
        .into_iter()
        .skip(1)
        .map(OsString::into_encoded_bytes)
        .collect();
    if let [only] = words.as_slice()
        && (only == b"--help" || only == b"--version")
    {
        let mut parser = BRACKET.parse(vec![
            OsString::from("["),
            String::from_utf8_lossy(only).into_owned().into(),
        ]);
        return cli::status(parser.next().map(|_| 0));
    }
    if words.pop().is_none_or(|last| last != b"]") {
        BRACKET.warn("missing ']'");
        return BRACKET.usage_status;
    }
    cli::status(run(&BRACKET, words))
}

fn run(tool: &'static Tool, words: Vec<Vec<u8>>) -> Outcome {
    let mut expression = Expression {
        tool,
        words,
        at: 0,
        depth: 0,
    };
    let count = expression.words.len();
    if count == 0 {
        return Ok(1);
    }
    let value = expression.of_count(count)?;
    match expression.words.get(expression.at) {
        Some(extra) => Err(expression.error(&format!("extra argument {}", quote_word(extra)))),
        None => Ok(i32::from(!value)),
    }
}

/// An expression and how far it has been read.
struct Expression {
    tool: &'static Tool,
    words: Vec<Vec<u8>>,
    at: usize,
    depth: usize,
}

/// Parentheses nest no deeper: the stack has an end.
const DEEPEST: usize = 1000;

impl Expression {
    fn error(&self, text: &str) -> Stop {
        self.tool.fail(2, text)
    }

    fn word(&self, ahead: usize) -> &[u8] {
        self.words
            .get(self.at + ahead)
            .map(Vec::as_slice)
            .unwrap_or_default()
    }

    fn left(&self) -> usize {
        self.words.len() - self.at.min(self.words.len())
    }

    fn missing(&self) -> Stop {
        let last = self.words.last().map(Vec::as_slice).unwrap_or_default();
        self.error(&format!("missing argument after {}", quote_word(last)))
    }

    /// Goes on to a word that must be there.
    fn advance(&mut self) -> Result<(), Stop> {
        self.at += 1;
        if self.at < self.words.len() {
            Ok(())
        } else {
            Err(self.missing())
        }
    }

    /// POSIX says what expressions of one to four words mean; longer ones follow the grammar.
    fn of_count(&mut self, count: usize) -> Result<bool, Stop> {
        match count {
            1 => Ok(self.one()),
            2 => self.two(),
            3 => self.three(),
            4 if self.word(0) == b"!" => {
                self.advance()?;
                self.three().map(|value| !value)
            }
            4 if self.word(0) == b"(" && self.word(3) == b")" => {
                self.at += 1;
                let value = self.two()?;
                self.at += 1;
                Ok(value)
            }
            _ => self.or(),
        }
    }

    fn one(&mut self) -> bool {
        let value = !self.word(0).is_empty();
        self.at += 1;
        value
    }

    fn two(&mut self) -> Result<bool, Stop> {
        match self.word(0) {
            b"!" => {
                self.at += 1;
                Ok(!self.one())
            }
            [b'-', _] => self.unary(),
            _ => Err(self.missing()),
        }
    }

    fn three(&mut self) -> Result<bool, Stop> {
        if operators::is_binary(self.word(1)) {
            return self.binary(false);
        }
        match (self.word(0), self.word(1), self.word(2)) {
            (b"!", ..) => {
                self.advance()?;
                self.two().map(|value| !value)
            }
            (b"(", _, b")") => {
                self.at += 1;
                let value = self.one();
                self.at += 1;
                Ok(value)
            }
            (_, b"-a" | b"-o", _) => self.or(),
            (_, operator, _) => Err(self.error(&format!(
                "{}: binary operator expected",
                quote_word(operator)
            ))),
        }
    }

    fn or(&mut self) -> Result<bool, Stop> {
        let mut value = self.and()?;
        while self.left() > 0 && self.word(0) == b"-o" {
            self.advance()?;
            value |= self.and()?;
        }
        Ok(value)
    }

    fn and(&mut self) -> Result<bool, Stop> {
        let mut value = self.term()?;
        while self.left() > 0 && self.word(0) == b"-a" {
            self.advance()?;
            value &= self.term()?;
        }
        Ok(value)
    }

    fn term(&mut self) -> Result<bool, Stop> {
        let mut negated = false;
        while self.word(0) == b"!" {
            self.advance()?;
            negated = !negated;
        }
        let value = match self.word(0) {
            _ if self.left() == 0 => return Err(self.missing()),
            b"(" => self.group()?,
            b"-l" if self.left() >= 4 && operators::is_binary(self.word(2)) => self.binary(true)?,
            _ if self.left() >= 3 && operators::is_binary(self.word(1)) => self.binary(false)?,
            [b'-', _] => self.unary()?,
            _ => self.one(),
        };
        Ok(negated ^ value)
    }

    fn group(&mut self) -> Result<bool, Stop> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(self.error(&format!("more than {DEEPEST} parentheses in each other")));
        }
        self.advance()?;
        // A short group follows the rules for its number of words.
        let inner = self
            .words
            .iter()
            .skip(self.at + 1)
            .take(4)
            .position(|word| word == b")");
        let count = inner.map_or(self.left(), |end| end + 1);
        let value = self.of_count(count)?;
        self.depth -= 1;
        match self.words.get(self.at) {
            Some(end) if end == b")" => {
                self.at += 1;
                Ok(value)
            }
            Some(other) => Err(self.error(&format!("')' expected, found {}", quote_word(other)))),
            None => Err(self.error("')' expected")),
        }
    }

    fn unary(&mut self) -> Result<bool, Stop> {
        let operator = self.word(0).last().copied().unwrap_or(0);
        if !operators::is_unary(operator) {
            return Err(self.error(&format!(
                "{}: unary operator expected",
                quote_word(self.word(0))
            )));
        }
        self.advance()?;
        let operand = self.word(0).to_vec();
        self.at += 1;
        match operator {
            b'n' => Ok(!operand.is_empty()),
            b'z' => Ok(operand.is_empty()),
            b't' => {
                let number = self.integer(&operand)?;
                Ok(number
                    .to_i32()
                    .is_some_and(|number| Fd(number).is_terminal()))
            }
            _ => Ok(operators::file(operator, &operand)),
        }
    }

    /// A binary operator; a left operand after `-l` is the length of a string.
    fn binary(&mut self, mut left_length: bool) -> Result<bool, Stop> {
        let operand = |this: &mut Self, length: bool| {
            this.at += usize::from(length);
            let word = this.word(0).to_vec();
            this.at += 1;
            if length {
                word.len().to_string().into_bytes()
            } else {
                word
            }
        };
        left_length &= self.word(0) == b"-l";
        let left = operand(self, left_length);
        let operator = self.word(0).to_vec();
        self.at += 1;
        let right_length = self.left() >= 2 && self.word(0) == b"-l";
        let numeric = operators::is_numeric(&operator);
        let right = operand(self, right_length && numeric);
        if numeric {
            let (left, right) = (self.integer(&left)?, self.integer(&right)?);
            return Ok(operators::compare(&operator, &left, &right));
        }
        Ok(match operator.as_slice() {
            b"=" | b"==" => left == right,
            b"!=" => left != right,
            _ => operators::files(&operator, &left, &right),
        })
    }

    fn integer(&self, word: &[u8]) -> Result<operators::Integer, Stop> {
        operators::Integer::parse(word)
            .ok_or_else(|| self.error(&format!("invalid integer {}", quote_word(word))))
    }
}
