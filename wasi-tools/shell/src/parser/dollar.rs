//! What `$` and the backquote start.

use std::cell::OnceCell;
use std::rc::Rc;

use super::word::{Pieces, Term};
use super::{ParseError, Parsed, Parser, is_name_byte, is_name_start};
use crate::ast::{
    ArithText, Bytes, CommandSub, Index, Param, ParamName, ParamOp, Part, Presence, SubstKind, Word,
};
use crate::escape;

impl Parser {
    /// An expansion that starts with `$`; a lone dollar stands for itself.
    pub(super) fn dollar(&mut self, pieces: &mut Pieces, dq: bool) -> Parsed<()> {
        let start = self.pos;
        let line = self.line;
        let part = match self.peek_at(1) {
            Some(b'\'') if !dq => {
                self.pos += 2;
                let text = self.ansi_quoted(line)?;
                pieces.quoted_all(&text);
                return Ok(());
            }
            Some(b'"') if !dq => {
                self.pos += 2;
                Part::Double(self.double_quoted(Some(b'"'))?.into())
            }
            Some(b'(') if self.peek_at(2) == Some(b'(') && self.is_arith_group(self.pos + 3) => {
                self.pos += 3;
                Part::Arith(Rc::new(self.arith_group()?))
            }
            Some(b'(') => {
                self.pos += 2;
                self.command_substitution()?
            }
            Some(b'[') => {
                self.pos += 2;
                let from = self.pos;
                let parts = self.arith_parts(b']', line)?;
                let raw = self.buf[from..self.pos].into();
                self.pos += 1;
                Part::Arith(Rc::new(ArithText {
                    parts,
                    raw,
                    cache: OnceCell::new(),
                }))
            }
            Some(b'{') => {
                self.pos += 2;
                self.braced_parameter(dq)?
            }
            Some(b) if is_name_start(b) => {
                let end = self.name_end(start + 1);
                self.pos = end;
                self.own_process |= &self.buf[start + 1..end] == b"BASHPID";
                self.plain_parameter(
                    start,
                    ParamName::Variable(self.buf[start + 1..end].to_vec()),
                )
            }
            Some(b @ b'0'..=b'9') => {
                self.pos += 2;
                self.plain_parameter(start, ParamName::Positional(usize::from(b - b'0')))
            }
            Some(b @ (b'@' | b'*' | b'#' | b'?' | b'-' | b'$' | b'!')) => {
                self.pos += 2;
                self.plain_parameter(start, ParamName::Special(b))
            }
            _ => {
                self.pos += 1;
                if dq {
                    pieces.quoted(b'$');
                } else {
                    pieces.lit(b'$');
                }
                return Ok(());
            }
        };
        pieces.part(part);
        Ok(())
    }

    fn plain_parameter(&self, start: usize, name: ParamName) -> Part {
        let raw = self.buf[start..self.pos].into();
        Part::Param(Rc::new(Param {
            name,
            index: None,
            indirect: false,
            op: ParamOp::None,
            raw,
        }))
    }

    fn ansi_quoted(&mut self, line: u32) -> Parsed<Bytes> {
        let raw = std::mem::replace(&mut self.raw, true);
        let text = self.ansi_text(line);
        self.raw = raw;
        text
    }

    fn ansi_text(&mut self, line: u32) -> Parsed<Bytes> {
        let mut text = Bytes::new();
        loop {
            match self.bump() {
                None => return Err(Self::unclosed(b'\'', line)),
                Some(b'\'') => break,
                Some(b'\\') => {
                    text.push(b'\\');
                    if let Some(next) = self.bump() {
                        text.push(next);
                    }
                }
                Some(b) => text.push(b),
            }
        }
        Ok(escape::ansi_c(&text))
    }

    /// From after `$(` to after the closing parenthesis.
    fn command_substitution(&mut self) -> Parsed<Part> {
        let line = self.line;
        let saved = std::mem::take(&mut self.pending);
        let body = self.list(&[], Some(b')')).map_err(Self::blame_paren)?;
        self.pos += 1;
        let inner = std::mem::replace(&mut self.pending, saved);
        self.pending.extend(inner);
        let cell = OnceCell::new();
        let _fresh = cell.set(Rc::new(body));
        Ok(Part::Command(Rc::new(CommandSub {
            body: cell,
            text: Bytes::new(),
            line,
        })))
    }

    /// The input ended inside parentheses: what is missing is their end.
    pub(super) fn blame_paren(error: Box<ParseError>) -> Box<ParseError> {
        if error.at_end && error.message.starts_with(b"syntax error") {
            return Self::unclosed(b')', error.line);
        }
        error
    }

    /// `` `…` ``: the text is unescaped here and parsed when it runs.
    pub(super) fn backquoted(&mut self, dq: bool) -> Parsed<Part> {
        let raw = std::mem::replace(&mut self.raw, true);
        let part = self.backquoted_text(dq);
        self.raw = raw;
        part
    }

    fn backquoted_text(&mut self, dq: bool) -> Parsed<Part> {
        let line = self.line;
        self.pos += 1;
        let mut text = Bytes::new();
        loop {
            match self.bump() {
                None => return Err(Self::unclosed(b'`', line)),
                Some(b'`') => break,
                Some(b'\\') => match self.peek() {
                    Some(b) if matches!(b, b'$' | b'`' | b'\\') || (dq && b == b'"') => {
                        self.pos += 1;
                        text.push(b);
                    }
                    _ => text.push(b'\\'),
                },
                Some(b) => text.push(b),
            }
        }
        Ok(Part::Command(Rc::new(CommandSub {
            body: OnceCell::new(),
            text,
            line,
        })))
    }

    /// Arithmetic text up to `close` at nesting 0, which is not taken.
    pub(super) fn arith_parts(&mut self, close: u8, line: u32) -> Parsed<Vec<Part>> {
        self.enter()?;
        let mut pieces = Pieces::default();
        let open = if close == b']' { b'[' } else { b'(' };
        let mut depth = 0_u32;
        loop {
            let Some(b) = self.peek() else {
                return Err(Self::unclosed(close, line));
            };
            if b == close && depth == 0 {
                break;
            }
            self.arith_byte(&mut pieces, b)?;
            if b == open {
                depth += 1;
            } else if b == close {
                depth -= 1;
            }
        }
        self.leave();
        Ok(pieces.finish())
    }

    fn arith_byte(&mut self, pieces: &mut Pieces, b: u8) -> Parsed<()> {
        match b {
            b'$' => self.dollar(pieces, true)?,
            b'`' => {
                let part = self.backquoted(true)?;
                pieces.part(part);
            }
            b'"' => {
                self.pos += 1;
                let parts = self.double_quoted(Some(b'"'))?;
                for part in parts {
                    pieces.part(part);
                }
            }
            b'\\' if self.peek_at(1) == Some(b'\n') => {
                self.pos += 1;
                self.bump();
            }
            _ => {
                self.bump();
                pieces.lit(b);
            }
        }
        Ok(())
    }

    /// From after `${` to after `}`.
    fn braced_parameter(&mut self, dq: bool) -> Parsed<Part> {
        self.enter()?;
        let start = self.pos;
        let line = self.line;
        let param = self.parameter(dq, line)?;
        let (name, index, indirect, mut op) = match param {
            Some(found) => found,
            None => (ParamName::Special(b'#'), None, false, ParamOp::Bad),
        };
        if self.peek() != Some(b'}') {
            // Not an expansion bash knows: an error, but only when it is expanded.
            op = ParamOp::Bad;
            self.word_until(Term::Brace { dq, pattern: false })?;
        }
        let raw = [b"${".as_slice(), &self.buf[start..self.pos], b"}"].concat();
        self.pos += 1;
        self.leave();
        Ok(Part::Param(Rc::new(Param {
            name,
            index,
            indirect,
            op,
            raw: raw.into(),
        })))
    }

    #[expect(
        clippy::type_complexity,
        reason = "the four parts of a parameter expansion"
    )]
    fn parameter(
        &mut self,
        dq: bool,
        line: u32,
    ) -> Parsed<Option<(ParamName, Option<Index>, bool, ParamOp)>> {
        let start = self.pos;
        if self.peek() == Some(b'#') && self.peek_at(1) != Some(b'}') {
            // `${#name}` if that is all there is; otherwise an operator on `$#`.
            self.pos += 1;
            if let Some(name) = self.parameter_name() {
                let index = self.parameter_index()?;
                if self.peek() == Some(b'}') {
                    return Ok(Some((name, index, false, ParamOp::Length)));
                }
            }
            self.pos = start;
        }
        let mut indirect = false;
        if self.peek() == Some(b'!') {
            let special = matches!(
                self.peek_at(1),
                Some(b'@' | b'*' | b'#' | b'?' | b'-' | b'$' | b'!')
            );
            let named = self.peek_at(1).is_some_and(is_name_byte);
            if named || special && self.peek_at(2) == Some(b'}') {
                indirect = true;
                self.pos += 1;
            }
        }
        let Some(name) = self.parameter_name() else {
            return Ok(None);
        };
        let index = self.parameter_index()?;
        let op = self.parameter_op(dq, line, indirect, index.as_ref())?;
        if matches!(op, ParamOp::Keys { .. } | ParamOp::Names { .. }) {
            indirect = false;
        }
        Ok(Some((name, index, indirect, op)))
    }

    fn parameter_name(&mut self) -> Option<ParamName> {
        let b = self.peek()?;
        let start = self.pos;
        if is_name_start(b) {
            self.pos = self.name_end(start);
            self.own_process |= &self.buf[start..self.pos] == b"BASHPID";
            return Some(ParamName::Variable(self.buf[start..self.pos].to_vec()));
        }
        if b.is_ascii_digit() {
            let mut number = 0_usize;
            while let Some(d) = self.peek_at(0).filter(u8::is_ascii_digit) {
                number = number
                    .saturating_mul(10)
                    .saturating_add(usize::from(d - b'0'));
                self.pos += 1;
            }
            return Some(ParamName::Positional(number));
        }
        if matches!(b, b'@' | b'*' | b'#' | b'?' | b'-' | b'$' | b'!') {
            self.pos += 1;
            return Some(ParamName::Special(b));
        }
        None
    }

    fn parameter_index(&mut self) -> Parsed<Option<Index>> {
        if self.peek() != Some(b'[') {
            return Ok(None);
        }
        if self.peek_at(2) == Some(b']') && matches!(self.peek_at(1), Some(b'@' | b'*')) {
            let star = self.peek_at(1) == Some(b'*');
            self.pos += 3;
            return Ok(Some(if star { Index::Star } else { Index::At }));
        }
        self.pos += 1;
        let word = self.word_until(Term::Subscript)?;
        self.pos += 1;
        Ok(Some(Index::Expr(word)))
    }

    fn parameter_op(
        &mut self,
        dq: bool,
        line: u32,
        indirect: bool,
        index: Option<&Index>,
    ) -> Parsed<ParamOp> {
        let Some(b) = self.peek() else {
            return Err(Self::unclosed(b'}', line));
        };
        let next = self.peek_at(1);
        let doubled = next == Some(b);
        Ok(match b {
            b'}' => match index {
                Some(Index::At) if indirect => ParamOp::Keys { star: false },
                Some(Index::Star) if indirect => ParamOp::Keys { star: true },
                _ => ParamOp::None,
            },
            b':' if next == Some(b'}') => ParamOp::Bad,
            b':' if !matches!(next, Some(b'-' | b'=' | b'?' | b'+')) => {
                self.pos += 1;
                let offset = self.slice_arith(line)?;
                let length = if self.peek() == Some(b':') {
                    self.pos += 1;
                    Some(self.slice_arith(line)?)
                } else {
                    None
                };
                ParamOp::Slice { offset, length }
            }
            b':' | b'-' | b'=' | b'?' | b'+' => {
                let colon = b == b':';
                self.pos += if colon { 2 } else { 1 };
                let kind = match if colon { next } else { Some(b) } {
                    Some(b'=') => Presence::Assign,
                    Some(b'?') => Presence::Error,
                    Some(b'+') => Presence::Alternative,
                    _ => Presence::Default,
                };
                let word = self.word_until(Term::Brace { dq, pattern: false })?;
                ParamOp::Presence { kind, colon, word }
            }
            b'#' | b'%' => {
                self.pos += if doubled { 2 } else { 1 };
                let pattern = self.word_until(Term::Brace { dq, pattern: true })?;
                if b == b'#' {
                    ParamOp::RemovePrefix {
                        longest: doubled,
                        pattern,
                    }
                } else {
                    ParamOp::RemoveSuffix {
                        longest: doubled,
                        pattern,
                    }
                }
            }
            b'/' => self.substitution(dq)?,
            b'^' | b',' | b'~' => {
                self.pos += if doubled { 2 } else { 1 };
                let pattern = self.word_until(Term::Brace { dq, pattern: true })?;
                ParamOp::Case {
                    op: b,
                    all: doubled,
                    pattern,
                }
            }
            b'@' | b'*' if indirect && next == Some(b'}') => {
                self.pos += 1;
                ParamOp::Names { star: b == b'*' }
            }
            b'@' if self.peek_at(2) == Some(b'}') => {
                self.pos += 2;
                match next {
                    Some(
                        op @ (b'Q' | b'E' | b'P' | b'A' | b'a' | b'U' | b'u' | b'L' | b'K' | b'k'),
                    ) => ParamOp::Transform(op),
                    _ => ParamOp::Bad,
                }
            }
            _ => ParamOp::Bad,
        })
    }

    fn substitution(&mut self, dq: bool) -> Parsed<ParamOp> {
        self.pos += 1;
        let kind = match self.peek() {
            Some(b'/') => SubstKind::All,
            Some(b'#') => SubstKind::Prefix,
            Some(b'%') => SubstKind::Suffix,
            _ => SubstKind::First,
        };
        if kind != SubstKind::First {
            self.pos += 1;
        }
        let mut pattern =
            if kind != SubstKind::All && self.peek() == Some(b'/') && kind == SubstKind::First {
                Word::default()
            } else {
                // A slash that comes first belongs to the pattern of `${x///y}`.
                let start = self.pos;
                let mut first = None;
                if self.peek() == Some(b'/') && kind == SubstKind::All {
                    self.pos += 1;
                    first = Some(Part::Lit(Rc::from(&b"/"[..])));
                }
                let pieces = self.parts(Term::Slash { dq })?;
                let mut word = self.make_word(pieces, start);
                if let Some(first) = first {
                    word.parts.insert(0, first);
                }
                word
            };
        pattern.brace = false;
        let with = if self.peek() == Some(b'/') {
            self.pos += 1;
            self.word_until(Term::Brace { dq, pattern: true })?
        } else {
            Word::default()
        };
        Ok(ParamOp::Subst {
            kind,
            pattern,
            with,
        })
    }

    /// The arithmetic of `${x:offset:length}`, up to `:` or `}` outside parentheses and `? :`.
    fn slice_arith(&mut self, line: u32) -> Parsed<ArithText> {
        let start = self.pos;
        let mut pieces = Pieces::default();
        let mut depth = 0_u32;
        let mut choices = 0_u32;
        loop {
            let Some(b) = self.peek() else {
                return Err(Self::unclosed(b'}', line));
            };
            match b {
                b'}' if depth == 0 => break,
                b':' if depth == 0 && choices == 0 => break,
                b':' if depth == 0 => choices -= 1,
                b'?' if depth == 0 => choices += 1,
                b'(' | b'{' | b'[' => depth += 1,
                b')' | b'}' | b']' => depth = depth.saturating_sub(1),
                _ => {}
            }
            self.arith_byte(&mut pieces, b)?;
        }
        let raw = self.buf[start..self.pos].into();
        Ok(ArithText {
            parts: pieces.finish(),
            raw,
            cache: OnceCell::new(),
        })
    }
}
