//! Arithmetic expressions: syntax tree and parser. Evaluation is in `arith_eval`.

use crate::ast::Bytes;
use crate::parser::{is_name_byte, is_name_start};

/// An expression over 64-bit integers.
#[derive(Debug, Clone)]
pub(crate) enum Expr {
    Number(i64),
    Variable(Bytes),
    /// `$name` or `${name}` in the text: its value if that is a plain number; otherwise the text is expanded first.
    Dollar(Bytes),
    /// Name and text of the subscript.
    Element(Bytes, Bytes),
    Unary(Unary, Box<Self>),
    Binary(Binary, Box<Self>, Box<Self>),
    And(Box<Self>, Box<Self>),
    Or(Box<Self>, Box<Self>),
    Choice(Box<Self>, Box<Self>, Box<Self>),
    Comma(Box<Self>, Box<Self>),
    /// An assignment with the operator that is applied first, if any.
    Assign(Option<Binary>, Box<Self>, Box<Self>),
    /// `++` and `--`: by how much, and whether the old value is the result.
    Step {
        target: Box<Self>,
        by: i64,
        old: bool,
    },
}

/// Operators with one operand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unary {
    Minus,
    Plus,
    Not,
    Complement,
}

/// Operators with two operands that are both evaluated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Binary {
    Add,
    Sub,
    Mul,
    Div,
    Rem,
    Pow,
    Shl,
    Shr,
    Lt,
    Le,
    Gt,
    Ge,
    Eq,
    Ne,
    BitAnd,
    BitXor,
    BitOr,
}

/// What is wrong with an expression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ArithError {
    pub(crate) message: String,
    /// The text from the offending token on.
    pub(crate) token: Bytes,
}

/// Nesting above which an expression is refused.
const MAX_DEPTH: u32 = 500;

struct ArithParser<'a> {
    text: &'a [u8],
    at: usize,
    /// Start of the token read last, which messages quote.
    last: usize,
    depth: u32,
}

type Step<T> = Result<T, ArithError>;

/// Parses `text`; an empty expression is 0.
pub(crate) fn parse(text: &[u8]) -> Step<Expr> {
    let mut parser = ArithParser {
        text,
        at: 0,
        last: 0,
        depth: 0,
    };
    parser.blanks();
    if parser.at == text.len() {
        return Ok(Expr::Number(0));
    }
    let expr = parser.comma()?;
    parser.blanks();
    if parser.at < text.len() {
        let rest = &text[parser.at..];
        let invalid = !is_name_byte(rest[0]) && !b"+-*/%()<>=!&|^~?:,$'\"".contains(&rest[0]);
        return Err(ArithError {
            message: if invalid {
                "syntax error: invalid arithmetic operator"
            } else {
                "syntax error in expression"
            }
            .into(),
            token: rest.to_vec(),
        });
    }
    Ok(expr)
}

/// Binary operators by level, loosest first; longer spellings before their prefixes.
const LEVELS: [&[(&[u8], Binary)]; 8] = [
    &[(b"|", Binary::BitOr)],
    &[(b"^", Binary::BitXor)],
    &[(b"&", Binary::BitAnd)],
    &[(b"==", Binary::Eq), (b"!=", Binary::Ne)],
    &[
        (b"<=", Binary::Le),
        (b">=", Binary::Ge),
        (b"<", Binary::Lt),
        (b">", Binary::Gt),
    ],
    &[(b"<<", Binary::Shl), (b">>", Binary::Shr)],
    &[(b"+", Binary::Add), (b"-", Binary::Sub)],
    &[
        (b"*", Binary::Mul),
        (b"/", Binary::Div),
        (b"%", Binary::Rem),
    ],
];

const ASSIGNMENTS: [(&[u8], Option<Binary>); 11] = [
    (b"<<=", Some(Binary::Shl)),
    (b">>=", Some(Binary::Shr)),
    (b"*=", Some(Binary::Mul)),
    (b"/=", Some(Binary::Div)),
    (b"%=", Some(Binary::Rem)),
    (b"+=", Some(Binary::Add)),
    (b"-=", Some(Binary::Sub)),
    (b"&=", Some(Binary::BitAnd)),
    (b"^=", Some(Binary::BitXor)),
    (b"|=", Some(Binary::BitOr)),
    (b"=", None),
];

impl<'a> ArithParser<'a> {
    fn blanks(&mut self) {
        while matches!(self.text.get(self.at), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn rest(&mut self) -> &'a [u8] {
        self.blanks();
        &self.text[self.at..]
    }

    fn fail<T>(&self, message: &str) -> Step<T> {
        let from = if self.at < self.text.len() {
            self.at
        } else {
            self.last
        };
        Err(ArithError {
            message: message.into(),
            token: self.text[from..].to_vec(),
        })
    }

    fn take(&mut self, token: &[u8]) -> bool {
        if self.rest().starts_with(token) {
            self.last = self.at;
            self.at += token.len();
            true
        } else {
            false
        }
    }

    fn nest(&mut self) -> Step<()> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return self.fail("expression recursion level exceeded");
        }
        Ok(())
    }

    fn comma(&mut self) -> Step<Expr> {
        self.nest()?;
        let mut left = self.assignment()?;
        while self.take(b",") {
            left = Expr::Comma(Box::new(left), Box::new(self.assignment()?));
        }
        self.depth -= 1;
        Ok(left)
    }

    fn assignment(&mut self) -> Step<Expr> {
        self.nest()?;
        let left = self.choice()?;
        let rest = self.rest();
        let found = ASSIGNMENTS.iter().find(|(token, op)| {
            rest.starts_with(token) && !(op.is_none() && rest.starts_with(b"=="))
        });
        if let Some((token, op)) = found {
            if !matches!(left, Expr::Variable(_) | Expr::Element(..)) {
                return self.fail("attempted assignment to non-variable");
            }
            self.take(token);
            let right = self.assignment()?;
            self.depth -= 1;
            return Ok(Expr::Assign(*op, Box::new(left), Box::new(right)));
        }
        self.depth -= 1;
        Ok(left)
    }

    fn choice(&mut self) -> Step<Expr> {
        let condition = self.or()?;
        if !self.take(b"?") {
            return Ok(condition);
        }
        if self.rest().first() == Some(&b':') || self.rest().is_empty() {
            return self.fail("expression expected");
        }
        let yes = self.comma()?;
        if !self.take(b":") {
            return self.fail("`:' expected for conditional expression");
        }
        if self.rest().is_empty() {
            return self.fail("expression expected");
        }
        self.nest()?;
        let no = self.assignment()?;
        self.depth -= 1;
        Ok(Expr::Choice(
            Box::new(condition),
            Box::new(yes),
            Box::new(no),
        ))
    }

    fn or(&mut self) -> Step<Expr> {
        let mut left = self.and()?;
        while self.take(b"||") {
            left = Expr::Or(Box::new(left), Box::new(self.and()?));
        }
        Ok(left)
    }

    fn and(&mut self) -> Step<Expr> {
        let mut left = self.binary(0)?;
        while self.take(b"&&") {
            left = Expr::And(Box::new(left), Box::new(self.binary(0)?));
        }
        Ok(left)
    }

    fn binary(&mut self, level: usize) -> Step<Expr> {
        let Some(operators) = LEVELS.get(level) else {
            return self.power();
        };
        let mut left = self.binary(level + 1)?;
        loop {
            let rest = self.rest();
            let found = operators.iter().find(|(token, _)| {
                rest.starts_with(token) && {
                    let next = rest.get(token.len()).copied();
                    match (token[0], next) {
                        // `&&`, `||`, `**` and the assignments are other operators.
                        (b'|', Some(b'|' | b'='))
                        | (b'&', Some(b'&' | b'='))
                        | (b'*', Some(b'*'))
                        | (b'^' | b'+' | b'-' | b'*' | b'/' | b'%', Some(b'=')) => false,
                        (b'<' | b'>', Some(n)) if token.len() == 1 => n != token[0] && n != b'=',
                        (b'<' | b'>', Some(b'=')) => token[1] == b'=',
                        _ => true,
                    }
                }
            });
            let Some(&(token, op)) = found else {
                return Ok(left);
            };
            self.take(token);
            let right = self.binary(level + 1)?;
            left = Expr::Binary(op, Box::new(left), Box::new(right));
        }
    }

    fn power(&mut self) -> Step<Expr> {
        let base = self.unary()?;
        if self.take(b"**") {
            self.nest()?;
            let exponent = self.power()?;
            self.depth -= 1;
            return Ok(Expr::Binary(
                Binary::Pow,
                Box::new(base),
                Box::new(exponent),
            ));
        }
        Ok(base)
    }

    fn unary(&mut self) -> Step<Expr> {
        self.nest()?;
        let rest = self.rest();
        let expr = match rest {
            [a @ (b'+' | b'-'), b, ..] if a == b => {
                let by = if *a == b'+' { 1 } else { -1 };
                let mut after = 2;
                while rest.get(after).is_some_and(u8::is_ascii_whitespace) {
                    after += 1;
                }
                if rest.get(after).is_some_and(|&b| is_name_start(b)) {
                    self.last = self.at;
                    self.at += 2;
                    let target = Box::new(self.primary()?);
                    Expr::Step {
                        target,
                        by,
                        old: false,
                    }
                } else {
                    // `--3` is two signs.
                    self.sign()?
                }
            }
            [b'+' | b'-' | b'!' | b'~', ..] => self.sign()?,
            _ => self.postfix()?,
        };
        self.depth -= 1;
        Ok(expr)
    }

    fn sign(&mut self) -> Step<Expr> {
        let op = match self.text.get(self.at) {
            Some(b'-') => Unary::Minus,
            Some(b'+') => Unary::Plus,
            Some(b'!') => Unary::Not,
            _ => Unary::Complement,
        };
        self.last = self.at;
        self.at += 1;
        Ok(Expr::Unary(op, Box::new(self.unary()?)))
    }

    fn postfix(&mut self) -> Step<Expr> {
        let expr = self.primary()?;
        if matches!(expr, Expr::Variable(_) | Expr::Element(..)) {
            for (token, by) in [(&b"++"[..], 1), (b"--", -1)] {
                if self.take(token) {
                    return Ok(Expr::Step {
                        target: Box::new(expr),
                        by,
                        old: true,
                    });
                }
            }
        }
        Ok(expr)
    }

    fn primary(&mut self) -> Step<Expr> {
        let Some(&b) = self.rest().first() else {
            return self.fail("syntax error: operand expected");
        };
        if b == b'(' {
            self.take(b"(");
            let inner = self.comma()?;
            if !self.take(b")") {
                return self.fail("missing `)'");
            }
            // In parentheses a variable is a value: `(a)++` is no increment.
            return Ok(match inner {
                Expr::Variable(_) | Expr::Element(..) => Expr::Unary(Unary::Plus, Box::new(inner)),
                other => other,
            });
        }
        let start = self.at;
        self.last = start;
        if b.is_ascii_digit() {
            while self
                .text
                .get(self.at)
                .is_some_and(|&b| is_name_byte(b) || b == b'#' || b == b'@')
            {
                self.at += 1;
            }
            let token = &self.text[start..self.at];
            return match number(token) {
                Ok(value) => Ok(Expr::Number(value)),
                Err(message) => Err(ArithError {
                    message: message.into(),
                    token: self.text[start..].to_vec(),
                }),
            };
        }
        if b == b'$' {
            let braced = self.text.get(start + 1) == Some(&b'{');
            let from = start + if braced { 2 } else { 1 };
            let mut end = from;
            while self.text.get(end).is_some_and(|&b| is_name_byte(b)) {
                end += 1;
            }
            if end > from && (!braced || self.text.get(end) == Some(&b'}')) {
                self.at = end + usize::from(braced);
                return Ok(Expr::Dollar(self.text[from..end].to_vec()));
            }
        }
        if !is_name_start(b) {
            return self.fail("syntax error: operand expected");
        }
        while self.text.get(self.at).is_some_and(|&b| is_name_byte(b)) {
            self.at += 1;
        }
        let name = self.text[start..self.at].to_vec();
        if self.text.get(self.at) != Some(&b'[') {
            return Ok(Expr::Variable(name));
        }
        let open = self.at + 1;
        let mut depth = 1_u32;
        let mut end = open;
        while depth > 0 {
            match self.text.get(end) {
                None => {
                    return Err(ArithError {
                        message: "bad array subscript".into(),
                        token: self.text[start..].to_vec(),
                    });
                }
                Some(b'[') => depth += 1,
                Some(b']') => depth -= 1,
                _ => {}
            }
            end += 1;
        }
        self.at = end;
        Ok(Expr::Element(name, self.text[open..end - 1].to_vec()))
    }
}

/// The value of an integer constant: decimal, `0` octal, `0x`, or `base#digits`.
pub(crate) fn number(token: &[u8]) -> Result<i64, &'static str> {
    let (base, digits) = if let Some(hash) = token.iter().position(|&b| b == b'#') {
        let base = decimal(&token[..hash])
            .filter(|base| (2..=64).contains(base))
            .ok_or("invalid arithmetic base")?;
        if hash + 1 == token.len() {
            return Err("invalid integer constant");
        }
        (base, &token[hash + 1..])
    } else if let [b'0', b'x' | b'X', rest @ ..] = token {
        (16, rest)
    } else if let [b'0', rest @ ..] = token {
        (8, rest)
    } else {
        (10, token)
    };
    let mut value = 0_i64;
    for &b in digits {
        let digit = match b {
            b'0'..=b'9' => i64::from(b - b'0'),
            b'a'..=b'z' => i64::from(b - b'a') + 10,
            b'A'..=b'Z' if base <= 36 => i64::from(b - b'A') + 10,
            b'A'..=b'Z' => i64::from(b - b'A') + 36,
            b'@' => 62,
            b'_' => 63,
            _ => return Err("invalid number"),
        };
        if digit >= base {
            return Err("value too great for base");
        }
        value = value.wrapping_mul(base).wrapping_add(digit);
    }
    Ok(value)
}

fn decimal(text: &[u8]) -> Option<i64> {
    std::str::from_utf8(text).ok()?.parse().ok()
}
