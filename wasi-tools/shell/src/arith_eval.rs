//! Evaluation of arithmetic.

use std::rc::Rc;

use crate::arith::{ArithError, Binary, Expr, Unary, parse};
use crate::ast::{ArithText, Bytes, ParamName, ParamOp, Part};
use crate::options::opt;
use crate::shell::{Flow, Shell};
use crate::shell_vars::Key;

/// Why an expression has no value.
#[derive(Debug)]
pub(crate) enum Fail {
    Arith(ArithError),
    Flow(Flow),
}

impl From<Flow> for Fail {
    fn from(flow: Flow) -> Self {
        Self::Flow(flow)
    }
}

impl From<ArithError> for Fail {
    fn from(error: ArithError) -> Self {
        Self::Arith(error)
    }
}

type Value = Result<i64, Fail>;

/// Variables whose values name variables are followed this deep.
const MAX_RECURSION: u32 = 256;

impl Shell {
    /// The value of an arithmetic expansion or command; an error has been printed when it fails.
    pub(crate) fn arith(&mut self, text: &ArithText, command: Option<&str>) -> Result<i64, Flow> {
        let cached = text.cache.get_or_init(|| {
            // The text itself can be parsed when it holds nothing that expands to anything but a number.
            let simple = text.parts.iter().all(|part| match part {
                Part::Lit(_) => true,
                Part::Param(param) => {
                    matches!(
                        (&param.name, &param.op),
                        (ParamName::Variable(_), ParamOp::None)
                    ) && param.index.is_none()
                        && !param.indirect
                }
                _ => false,
            });
            let plain = !text.raw.iter().any(|b| matches!(b, b'"' | b'\\' | b'\''));
            if simple && plain {
                parse(&text.raw).ok().map(Rc::new)
            } else {
                None
            }
        });
        if let Some(expr) = cached.clone()
            && self.dollars_are_numbers(&expr)
        {
            return match self.eval(&expr) {
                Ok(value) => Ok(value),
                Err(fail) => Err(self.arith_failed(fail, &text.raw, command)),
            };
        }
        let expanded = self.expand_arith_text(&text.parts)?;
        match self.arith_try(&expanded) {
            Ok(value) => Ok(value),
            Err(fail) => Err(self.arith_failed(fail, &expanded, command)),
        }
    }

    /// The value of text that was already expanded.
    pub(crate) fn arith_value(&mut self, text: &[u8]) -> Result<i64, Flow> {
        // Most values are plain numbers.
        if let Some(value) = small_decimal(text) {
            return Ok(value);
        }
        match self.arith_try(text) {
            Ok(value) => Ok(value),
            Err(fail) => Err(self.arith_failed(fail, text, None)),
        }
    }

    pub(crate) fn arith_try(&mut self, text: &[u8]) -> Value {
        let expr = parse(text)?;
        self.eval(&expr)
    }

    /// Prints an arithmetic error.
    pub(crate) fn arith_failed(&mut self, fail: Fail, text: &[u8], command: Option<&str>) -> Flow {
        match fail {
            Fail::Flow(flow) => flow,
            Fail::Arith(error) => {
                let start = text
                    .iter()
                    .position(|b| !b.is_ascii_whitespace())
                    .unwrap_or(0);
                let mut line = Bytes::new();
                if let Some(command) = command {
                    line.extend(command.bytes());
                    line.extend(b": ");
                } else if let Some(builtin) = self.builtin {
                    line.extend(builtin.bytes());
                    line.extend(b": ");
                }
                line.extend_from_slice(&text[start..]);
                line.extend(b": ");
                line.extend(error.message.bytes());
                line.extend(b" (error token is \"");
                line.extend_from_slice(&error.token);
                line.extend(b"\")");
                self.error(&line);
                Flow::Discard(1)
            }
        }
    }

    /// Whether each `$name` has a plain decimal value, so that putting its text in would not change the parse.
    fn dollars_are_numbers(&mut self, expr: &Expr) -> bool {
        match expr {
            Expr::Number(_) | Expr::Variable(_) => true,
            // A subscript is text that is expanded on its own.
            Expr::Element(_, index) => !index.contains(&b'$'),
            Expr::Dollar(name) => self
                .get(name)
                .is_some_and(|value| small_decimal(&value).is_some_and(|number| number >= 0)),
            Expr::Unary(_, a) | Expr::Step { target: a, .. } => self.dollars_are_numbers(a),
            Expr::Binary(_, a, b)
            | Expr::And(a, b)
            | Expr::Or(a, b)
            | Expr::Comma(a, b)
            | Expr::Assign(_, a, b) => self.dollars_are_numbers(a) && self.dollars_are_numbers(b),
            Expr::Choice(a, b, c) => {
                self.dollars_are_numbers(a)
                    && self.dollars_are_numbers(b)
                    && self.dollars_are_numbers(c)
            }
        }
    }

    pub(crate) fn eval(&mut self, expr: &Expr) -> Value {
        Ok(match expr {
            Expr::Number(value) => *value,
            Expr::Variable(_) | Expr::Dollar(_) | Expr::Element(..) => self.read(expr)?,
            Expr::Unary(op, operand) => {
                let value = self.eval(operand)?;
                match op {
                    Unary::Minus => value.wrapping_neg(),
                    Unary::Plus => value,
                    Unary::Not => i64::from(value == 0),
                    Unary::Complement => !value,
                }
            }
            Expr::Binary(op, a, b) => {
                let left = self.eval(a)?;
                let right = self.eval(b)?;
                apply(*op, left, right)?
            }
            Expr::And(a, b) => i64::from(self.eval(a)? != 0 && self.eval(b)? != 0),
            Expr::Or(a, b) => i64::from(self.eval(a)? != 0 || self.eval(b)? != 0),
            Expr::Choice(condition, yes, no) => {
                if self.eval(condition)? != 0 {
                    self.eval(yes)?
                } else {
                    self.eval(no)?
                }
            }
            Expr::Comma(a, b) => {
                self.eval(a)?;
                self.eval(b)?
            }
            Expr::Assign(op, target, value) => {
                let value = match op {
                    // The right side comes first, then the old value, as in bash's `expassign`.
                    Some(op) => {
                        let old = self.read(target)?;
                        let right = self.eval(value)?;
                        apply(*op, old, right)?
                    }
                    None => self.eval(value)?,
                };
                self.store(target, value)?;
                value
            }
            Expr::Step { target, by, old } => {
                let before = self.read(target)?;
                let after = before.wrapping_add(*by);
                self.store(target, after)?;
                if *old { before } else { after }
            }
        })
    }

    fn read(&mut self, target: &Expr) -> Value {
        let text = match target {
            Expr::Variable(name) | Expr::Dollar(name) => match self.get(name) {
                Some(text) => {
                    if let Some(value) = small_decimal(&text) {
                        return Ok(value);
                    }
                    text
                }
                None => return self.unset(name),
            },
            Expr::Element(name, index) => {
                let key = self.element_key(name, index)?;
                match self.get_element(name, &key) {
                    Some(text) => Rc::new(text),
                    None => return self.unset(name),
                }
            }
            _ => return Ok(0),
        };
        if text.iter().all(u8::is_ascii_whitespace) {
            return Ok(0);
        }
        self.nested_arith += 1;
        if self.nested_arith > MAX_RECURSION {
            self.nested_arith -= 1;
            return Err(Fail::Arith(ArithError {
                message: "expression recursion level exceeded".into(),
                token: text.to_vec(),
            }));
        }
        let value = self.arith_try(&text);
        self.nested_arith -= 1;
        match value {
            // The message shows the variable's text, not the expression that names it.
            Err(Fail::Arith(error)) if self.nested_arith == 0 => Err(Fail::Flow(
                self.arith_failed(Fail::Arith(error), &text, None),
            )),
            other => other,
        }
    }

    fn unset(&mut self, name: &[u8]) -> Value {
        if self.on(opt::NOUNSET) {
            self.error(&[name, b": unbound variable"].concat());
            return Err(Fail::Flow(self.fatal_expansion()));
        }
        Ok(0)
    }

    fn element_key(&mut self, name: &[u8], index: &[u8]) -> Result<Key, Fail> {
        let assoc = self.lookup(name).is_some_and(|var| var.is_assoc());
        if assoc {
            let text = self.expand_subscript_text(index)?;
            return Ok(Key::Text(text));
        }
        let text = if index
            .iter()
            .any(|b| matches!(b, b'$' | b'`' | b'"' | b'\''))
        {
            self.expand_subscript_text(index)?
        } else {
            index.to_vec()
        };
        Ok(Key::Index(self.arith_try(&text)?))
    }

    fn store(&mut self, target: &Expr, value: i64) -> Result<(), Fail> {
        let text = value.to_string().into_bytes();
        match target {
            Expr::Variable(name) => self.assign(name, None, text, false)?,
            Expr::Element(name, index) => {
                let key = self.element_key(name, index)?;
                self.assign(name, Some(key), text, false)?;
            }
            _ => {}
        }
        Ok(())
    }
}

/// The value of a short decimal number without a leading zero.
fn small_decimal(text: &[u8]) -> Option<i64> {
    let (negative, digits) = match text {
        [b'-', rest @ ..] => (true, rest),
        rest => (false, rest),
    };
    if digits.is_empty() || digits.len() > 18 || digits.len() > 1 && digits[0] == b'0' {
        return None;
    }
    let mut value = 0_i64;
    for &b in digits {
        if !b.is_ascii_digit() {
            return None;
        }
        value = value * 10 + i64::from(b - b'0');
    }
    Some(if negative { -value } else { value })
}

fn apply(op: Binary, a: i64, b: i64) -> Value {
    let error = |message: &str| {
        Err(Fail::Arith(ArithError {
            message: message.into(),
            token: b.to_string().into_bytes(),
        }))
    };
    let shift = u32::try_from(b & 63).unwrap_or(0);
    Ok(match op {
        Binary::Add => a.wrapping_add(b),
        Binary::Sub => a.wrapping_sub(b),
        Binary::Mul => a.wrapping_mul(b),
        Binary::Div | Binary::Rem if b == 0 => return error("division by 0"),
        Binary::Div => a.wrapping_div(b),
        Binary::Rem => a.wrapping_rem(b),
        Binary::Pow if b < 0 => return error("exponent less than 0"),
        Binary::Pow => {
            let (mut result, mut base, mut exponent) = (1_i64, a, b);
            while exponent > 0 {
                if exponent & 1 == 1 {
                    result = result.wrapping_mul(base);
                }
                base = base.wrapping_mul(base);
                exponent >>= 1;
            }
            result
        }
        Binary::Shl => a.wrapping_shl(shift),
        Binary::Shr => a.wrapping_shr(shift),
        Binary::Lt => i64::from(a < b),
        Binary::Le => i64::from(a <= b),
        Binary::Gt => i64::from(a > b),
        Binary::Ge => i64::from(a >= b),
        Binary::Eq => i64::from(a == b),
        Binary::Ne => i64::from(a != b),
        Binary::BitAnd => a & b,
        Binary::BitXor => a ^ b,
        Binary::BitOr => a | b,
    })
}
