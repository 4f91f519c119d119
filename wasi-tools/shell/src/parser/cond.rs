//! `[[ … ]]`

use super::word::Term;
use super::{Parsed, Parser};
use crate::ast::{Bytes, Cond, Word};

const BINARY: [&[u8]; 15] = [
    b"==", b"=", b"!=", b"=~", b"<", b">", b"-eq", b"-ne", b"-lt", b"-le", b"-gt", b"-ge", b"-nt",
    b"-ot", b"-ef",
];

impl Parser {
    /// The expression of `[[`, up to and including `]]`.
    pub(super) fn conditional(&mut self) -> Parsed<Cond> {
        let extglob = std::mem::replace(&mut self.extglob, true);
        let cond = self.cond_or();
        self.extglob = extglob;
        let cond = cond.map_err(|mut error| {
            error.keep_status = true;
            error
        })?;
        self.skip_newlines()?;
        if !self.keyword(b"]]") {
            if self.peek().is_none() {
                return Err(self.unexpected());
            }
            let token = self.token_text();
            let mut error = self.error_with_line(
                [
                    b"syntax error in conditional expression: unexpected token `".as_slice(),
                    &token,
                    b"'",
                ]
                .concat(),
            );
            error.source = None;
            error.keep_status = true;
            return Err(error);
        }
        Ok(cond)
    }

    fn token_text(&mut self) -> Bytes {
        match self.peek() {
            Some(b'\n') => b"newline".to_vec(),
            Some(b @ (b'|' | b'&' | b';' | b'(' | b')' | b'<' | b'>')) => {
                if self.peek_at(1) == Some(b) && b != b'(' && b != b')' {
                    vec![b, b]
                } else {
                    vec![b]
                }
            }
            _ => {
                let start = self.pos;
                let text = self
                    .word()
                    .ok()
                    .flatten()
                    .map(|w| w.raw.to_vec())
                    .unwrap_or_default();
                self.pos = start;
                text
            }
        }
    }

    fn cond_or(&mut self) -> Parsed<Cond> {
        self.enter()?;
        let mut left = self.cond_and()?;
        loop {
            self.skip_newlines()?;
            if !(self.peek() == Some(b'|') && self.peek_at(1) == Some(b'|')) {
                break;
            }
            self.pos += 2;
            left = Cond::Or(Box::new(left), Box::new(self.cond_and()?));
        }
        self.leave();
        Ok(left)
    }

    fn cond_and(&mut self) -> Parsed<Cond> {
        let mut left = self.cond_not()?;
        loop {
            self.skip_newlines()?;
            if !(self.peek() == Some(b'&') && self.peek_at(1) == Some(b'&')) {
                return Ok(left);
            }
            self.pos += 2;
            left = Cond::And(Box::new(left), Box::new(self.cond_not()?));
        }
    }

    fn cond_not(&mut self) -> Parsed<Cond> {
        self.skip_newlines()?;
        if self.keyword(b"!") {
            self.enter()?;
            let inner = self.cond_not()?;
            self.leave();
            return Ok(Cond::Not(Box::new(inner)));
        }
        if self.peek() == Some(b'(') {
            self.pos += 1;
            let inner = self.cond_or()?;
            self.skip_newlines()?;
            if self.peek() != Some(b')') {
                return Err(self.unexpected());
            }
            self.pos += 1;
            return Ok(Cond::Paren(Box::new(inner)));
        }
        self.cond_term()
    }

    fn cond_word(&mut self) -> Parsed<Word> {
        self.skip_newlines()?;
        if self.at_keyword(b"]]") {
            return Err(
                self.cond_unexpected("unexpected argument `]]' to conditional unary operator")
            );
        }
        match self.word()? {
            Some(word) => Ok(word),
            None => Err(self.unexpected()),
        }
    }

    fn cond_unexpected(&mut self, message: &str) -> Box<super::ParseError> {
        self.error(message.as_bytes().to_vec())
    }

    fn cond_term(&mut self) -> Parsed<Cond> {
        self.skip_newlines()?;
        if self.at_keyword(b"]]") {
            return Err(self.unexpected());
        }
        let Some(first) = self.word()? else {
            return Err(self.unexpected());
        };
        if let Some(&[b'-', op]) = first.as_lit()
            && b"abcdefghknoprstuvwxzGLNORS".contains(&op)
        {
            self.skip_blanks();
            let binary = self.cond_operator().is_some();
            if !binary {
                let operand = self.cond_word()?;
                return Ok(Cond::Unary(op, operand));
            }
        }
        self.skip_blanks();
        let Some(op) = self.cond_operator() else {
            if self.at_cond_end() {
                return Ok(Cond::Word(first));
            }
            if self.peek() == Some(b'\n') {
                return Err(self.cond_unexpected(
                    "unexpected token `newline', conditional binary operator expected",
                ));
            }
            if self.peek().is_none() {
                return Err(self.unexpected());
            }
            return Err(self.cond_unexpected("conditional binary operator expected"));
        };
        self.pos += op.len();
        self.skip_blanks();
        let right = if op == b"=~" {
            let start = self.pos;
            let saved = std::mem::replace(&mut self.extglob, false);
            let pieces = self.parts(Term::Regex);
            self.extglob = saved;
            let word = self.make_word(pieces?, start);
            if word.raw.is_empty() {
                return Err(self.unexpected());
            }
            word
        } else {
            self.cond_word()?
        };
        Ok(Cond::Binary(op.to_vec(), first, right))
    }

    fn cond_operator(&mut self) -> Option<&'static [u8]> {
        self.peek()?;
        let rest = &self.buf[self.pos..];
        let end = if matches!(rest.first(), Some(b'<' | b'>')) {
            1
        } else {
            rest.iter()
                .position(|b| matches!(b, b' ' | b'\t' | b'\n' | b'\'' | b'"' | b'$'))
                .unwrap_or(rest.len())
        };
        BINARY.iter().copied().find(|op| *op == &rest[..end])
    }

    fn at_cond_end(&mut self) -> bool {
        match self.peek() {
            Some(b')') | None => true,
            Some(b'&') => self.peek_at(1) == Some(b'&'),
            Some(b'|') => self.peek_at(1) == Some(b'|'),
            _ => self.at_keyword(b"]]"),
        }
    }
}
