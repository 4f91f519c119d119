//! Words: quotes, tildes, patterns, assignments.

use std::rc::Rc;

use super::{Parsed, Parser, is_meta, is_name_byte, is_name_start};
use crate::ast::{Assign, AssignValue, Bytes, Element, Part, ProcessSub, Word};

/// Where a run of word parts ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Term {
    /// At an unquoted blank or operator.
    Word,
    /// As [`Term::Word`], but parentheses and bars belong to the word: the right side of `=~`.
    Regex,
    /// At `}`: the operand of `${x-…}`; `dq` when the expansion stands in double quotes, `pattern` when `'` quotes even there.
    Brace { dq: bool, pattern: bool },
    /// At `/` or `}`.
    Slash { dq: bool },
    /// At `]`.
    Subscript,
    /// At the end of the text.
    Text,
}

/// Word parts under construction: neighbouring bytes of one kind become one part.
#[derive(Debug, Default)]
pub(super) struct Pieces {
    pub(super) parts: Vec<Part>,
    text: Bytes,
    quoted: bool,
    pub(super) brace: bool,
}

impl Pieces {
    pub(super) fn lit(&mut self, b: u8) {
        self.switch(false);
        self.text.push(b);
    }

    pub(super) fn quoted(&mut self, b: u8) {
        self.switch(true);
        self.text.push(b);
    }

    pub(super) fn quoted_all(&mut self, text: &[u8]) {
        self.switch(true);
        if text.is_empty() {
            // An empty quoted string still makes a field.
            self.flush();
            self.parts.push(Part::Quoted(Rc::from(&b""[..])));
        }
        self.text.extend_from_slice(text);
    }

    pub(super) fn part(&mut self, part: Part) {
        self.flush();
        self.parts.push(part);
    }

    fn switch(&mut self, quoted: bool) {
        if self.quoted != quoted {
            self.flush();
            self.quoted = quoted;
        }
    }

    fn flush(&mut self) {
        if !self.text.is_empty() {
            let text: Rc<[u8]> = self.text.as_slice().into();
            self.text.clear();
            self.parts.push(if self.quoted {
                Part::Quoted(text)
            } else {
                Part::Lit(text)
            });
        }
    }

    pub(super) fn finish(mut self) -> Vec<Part> {
        self.flush();
        self.parts
    }

    /// Whether everything so far is a plain name.
    fn is_name(&self) -> bool {
        self.parts.is_empty()
            && !self.quoted
            && self.text.first().is_some_and(|&b| is_name_start(b))
            && self.text.iter().all(|&b| is_name_byte(b))
    }
}

impl Parser {
    /// The word that stands here, if one does.
    pub(super) fn word(&mut self) -> Parsed<Option<Word>> {
        self.command_word(false)
    }

    /// The same; with `assignments`, a word of the form `name=value` also carries its parts as an assignment.
    pub(super) fn command_word(&mut self, assignments: bool) -> Parsed<Option<Word>> {
        if self.alias_next == self.pos {
            self.expand_aliases();
        }
        let start = self.pos;
        match self.peek() {
            None => return Ok(None),
            Some(b'<' | b'>') if self.peek_at(1) == Some(b'(') && !self.context.posix => {}
            Some(b) if is_meta(b) => return Ok(None),
            Some(_) => {}
        }
        if assignments && let Some(word) = self.assignment()? {
            return Ok(Some(word));
        }
        let pieces = self.parts(Term::Word)?;
        Ok(Some(self.make_word(pieces, start)))
    }

    pub(super) fn make_word(&self, pieces: Pieces, start: usize) -> Word {
        let brace = pieces.brace;
        let raw = self.buf[start.min(self.pos)..self.pos].into();
        Word {
            parts: pieces.finish(),
            raw,
            brace,
            assign: None,
        }
    }

    pub(super) fn word_until(&mut self, term: Term) -> Parsed<Word> {
        let start = self.pos;
        let pieces = self.parts(term)?;
        Ok(self.make_word(pieces, start))
    }

    /// All of the text as one word.
    pub(super) fn whole_word(&mut self) -> Parsed<Word> {
        self.word_until(Term::Text)
    }

    /// All of the text as the inside of double quotes.
    pub(super) fn whole_double_quoted(&mut self) -> Parsed<Word> {
        let parts = self.double_quoted(None)?;
        let raw = self.buf[..self.pos].into();
        Ok(Word {
            parts,
            raw,
            brace: false,
            assign: None,
        })
    }

    /// `name=value`, `name[index]+=value` and `name=(…)`, or nothing when the word is something else.
    fn assignment(&mut self) -> Parsed<Option<Word>> {
        let start = self.pos;
        let mut at = start;
        if !self.buf.get(at).is_some_and(|&b| is_name_start(b)) {
            return Ok(None);
        }
        at = self.name_end(at);
        let name_end = at;
        let mut index = None;
        if self.buf.get(at) == Some(&b'[') {
            if !self.subscript_is_assigned(at + 1) {
                return Ok(None);
            }
            self.pos = at + 1;
            index = Some(self.word_until(Term::Subscript)?);
            self.pos += 1;
            at = self.pos;
        }
        let append = self.buf.get(at) == Some(&b'+') && self.buf.get(at + 1) == Some(&b'=');
        if !append && self.buf.get(at) != Some(&b'=') {
            self.pos = start;
            return Ok(None);
        }
        self.pos = at + if append { 2 } else { 1 };
        let name = self.buf[start..name_end].to_vec();
        let value_start = self.pos;
        let mut parts = vec![Part::Lit(self.buf[start..value_start].into())];
        let mut brace = false;
        let value = if self.peek() == Some(b'(') && index.is_none() {
            self.pos += 1;
            AssignValue::Array(self.array_literal()?.into())
        } else {
            let pieces = self.assigned_value()?;
            brace = pieces.brace;
            let word = self.make_word(pieces, value_start);
            parts.extend(word.parts.iter().cloned());
            AssignValue::Scalar(word)
        };
        let raw = self.buf[start..self.pos].into();
        let assign = Some(Rc::new(Assign {
            name,
            index,
            append,
            value,
        }));
        Ok(Some(Word {
            parts,
            raw,
            brace,
            assign,
        }))
    }

    /// The value after `=`: tildes are special at its start and after each colon.
    fn assigned_value(&mut self) -> Parsed<Pieces> {
        let mut pieces = Pieces::default();
        self.parts_into(&mut pieces, Term::Word, true)?;
        Ok(pieces)
    }

    /// Whether the subscript that starts at `at` closes and is followed by `=` or `+=`.
    fn subscript_is_assigned(&mut self, mut at: usize) -> bool {
        let mut depth = 1_u32;
        let mut quote = 0_u8;
        loop {
            if at >= self.buf.len() && !self.fill() {
                return false;
            }
            let b = self.buf[at];
            match (quote, b) {
                (0, b'[') => depth += 1,
                (0, b']') => {
                    depth -= 1;
                    if depth == 0 {
                        let rest = &self.buf[at + 1..];
                        return rest.starts_with(b"=") || rest.starts_with(b"+=");
                    }
                }
                (0, b'\'' | b'"' | b'`') => quote = b,
                (0 | b'"', b'\\') => at += 1,
                (q, b) if q != 0 && q == b => quote = 0,
                _ => {}
            }
            at += 1;
        }
    }

    /// The elements of `(…)`, from after the opening to after the closing parenthesis.
    fn array_literal(&mut self) -> Parsed<Vec<Element>> {
        self.enter()?;
        let line = self.line;
        let mut elements = Vec::new();
        loop {
            self.skip_newlines()?;
            match self.peek() {
                None => return Err(Self::unclosed(b')', line)),
                Some(b')') => {
                    self.pos += 1;
                    self.leave();
                    return Ok(elements);
                }
                Some(b'[') if self.subscript_is_assigned(self.pos + 1) => {
                    self.pos += 1;
                    let index = Some(self.word_until(Term::Subscript)?);
                    self.pos += 1;
                    let append = self.peek() == Some(b'+');
                    self.pos += if append { 2 } else { 1 };
                    let start = self.pos;
                    let pieces = self.assigned_value()?;
                    let value = self.make_word(pieces, start);
                    elements.push(Element {
                        index,
                        append,
                        value,
                    });
                }
                Some(_) => match self.word()? {
                    Some(value) => elements.push(Element {
                        index: None,
                        append: false,
                        value,
                    }),
                    None => return Err(self.unexpected()),
                },
            }
        }
    }

    pub(super) fn parts(&mut self, term: Term) -> Parsed<Pieces> {
        let mut pieces = Pieces::default();
        self.parts_into(&mut pieces, term, false)?;
        Ok(pieces)
    }

    #[expect(clippy::too_many_lines, reason = "one arm for each kind of character")]
    fn parts_into(&mut self, pieces: &mut Pieces, term: Term, value: bool) -> Parsed<()> {
        self.enter()?;
        let start_line = self.line;
        let dq = matches!(
            term,
            Term::Brace { dq: true, .. } | Term::Slash { dq: true }
        );
        let single_quotes =
            !dq || matches!(term, Term::Brace { pattern: true, .. } | Term::Slash { .. });
        // A tilde is special here: at the start, and in assignments after `=` and `:`.
        let mut tilde = !dq && !matches!(term, Term::Subscript);
        let mut assigned = value;
        // Open parentheses of extended patterns, or of a regular expression.
        let mut groups = 0_u32;
        let mut brackets = 0_u32;
        // Inside double quotes a single quote stays, but hides a closing brace.
        let mut hidden = false;
        loop {
            let Some(b) = self.peek() else {
                let close = match term {
                    Term::Word | Term::Regex if groups > 0 => b')',
                    Term::Word | Term::Regex | Term::Text => break,
                    Term::Subscript => b']',
                    Term::Brace { .. } | Term::Slash { .. } => {
                        if hidden {
                            b'\''
                        } else {
                            b'}'
                        }
                    }
                };
                return Err(Self::unclosed(close, start_line));
            };
            let was_tilde = std::mem::replace(&mut tilde, false);
            match b {
                b'\\' => self.backslash(pieces, !single_quotes),
                b'\'' if single_quotes => {
                    self.pos += 1;
                    let text = self.single_quoted()?;
                    pieces.quoted_all(&text);
                }
                b'"' => {
                    self.pos += 1;
                    let parts = self.double_quoted(Some(b'"'))?;
                    pieces.part(Part::Double(parts.into()));
                }
                b'$' => self.dollar(pieces, !single_quotes)?,
                b'`' => {
                    let part = self.backquoted(dq)?;
                    pieces.part(part);
                }
                b'\'' if dq && !self.context.posix => {
                    hidden = !hidden;
                    self.take_lit(pieces);
                }
                b'}' if matches!(term, Term::Brace { .. } | Term::Slash { .. }) && !hidden => break,
                b'/' if matches!(term, Term::Slash { .. }) => break,
                b']' if term == Term::Subscript => {
                    if brackets == 0 {
                        break;
                    }
                    brackets -= 1;
                    self.take_lit(pieces);
                }
                b'[' if term == Term::Subscript => {
                    brackets += 1;
                    self.take_lit(pieces);
                }
                b'~' if was_tilde => self.tilde(pieces, term, assigned),
                b'<' | b'>'
                    if term == Term::Word
                        && groups == 0
                        && self.peek_at(1) == Some(b'(')
                        && !self.context.posix =>
                {
                    let part = self.process_substitution(b == b'<')?;
                    pieces.part(part);
                }
                b'?' | b'*' | b'+' | b'@' | b'!'
                    if self.extglob && self.peek_at(1) == Some(b'(') && term != Term::Subscript =>
                {
                    self.take_lit(pieces);
                    self.take_lit(pieces);
                    groups += 1;
                }
                b'(' if groups > 0 || term == Term::Regex => {
                    groups += 1;
                    self.take_lit(pieces);
                }
                b')' if groups > 0 => {
                    groups -= 1;
                    self.take_lit(pieces);
                }
                b'|' if term == Term::Regex => self.take_lit(pieces),
                b if is_meta(b) && groups == 0 && term == Term::Word => break,
                b' ' | b'\t' | b'\n' | b')' if groups == 0 && term == Term::Regex => break,
                b'=' if term == Term::Word && !assigned && pieces.is_name() => {
                    assigned = true;
                    tilde = true;
                    self.take_lit(pieces);
                }
                b':' if assigned => {
                    tilde = true;
                    self.take_lit(pieces);
                }
                b'{' => {
                    pieces.brace = true;
                    self.take_lit(pieces);
                }
                _ => self.take_lit(pieces),
            }
        }
        self.leave();
        Ok(())
    }

    fn take_lit(&mut self, pieces: &mut Pieces) {
        if let Some(b) = self.bump() {
            pieces.lit(b);
        }
    }

    fn backslash(&mut self, pieces: &mut Pieces, dq: bool) {
        self.pos += 1;
        match self.escaped() {
            None => pieces.lit(b'\\'),
            Some(b'\n') => {
                self.bump();
            }
            Some(b) if dq && !matches!(b, b'$' | b'`' | b'"' | b'\\' | b'}' | b'/') => {
                pieces.quoted(b'\\');
            }
            Some(b) => {
                self.pos += 1;
                pieces.quoted(b);
            }
        }
    }

    /// `~name` up to a slash, a colon in an assignment, or the end of the word; left alone when a quote follows.
    fn tilde(&mut self, pieces: &mut Pieces, term: Term, assigned: bool) {
        let mut end = self.pos + 1;
        let special = loop {
            match self.buf.get(end) {
                None | Some(b'/') => break true,
                Some(b':') if assigned => break true,
                Some(b'}') if matches!(term, Term::Brace { .. } | Term::Slash { .. }) => {
                    break true;
                }
                Some(&b) if is_meta(b) => break true,
                Some(&b) if is_name_byte(b) || matches!(b, b'.' | b'-' | b'+') || b >= 0x80 => {
                    end += 1;
                }
                Some(_) => break false,
            }
        };
        if special {
            let name = self.buf[self.pos + 1..end].into();
            self.pos = end;
            pieces.part(Part::Tilde(name));
        } else {
            self.take_lit(pieces);
        }
    }

    /// From after `'` to after the closing one.
    pub(super) fn single_quoted(&mut self) -> Parsed<Bytes> {
        let raw = std::mem::replace(&mut self.raw, true);
        let text = self.single_text();
        self.raw = raw;
        text
    }

    fn single_text(&mut self) -> Parsed<Bytes> {
        let line = self.line;
        let mut text = Bytes::new();
        loop {
            match self.bump() {
                None => return Err(Self::unclosed(b'\'', line)),
                Some(b'\'') => return Ok(text),
                Some(b) => text.push(b),
            }
        }
    }

    /// The inside of double quotes up to `close` (taken), or to the end of the text.
    pub(super) fn double_quoted(&mut self, close: Option<u8>) -> Parsed<Vec<Part>> {
        self.enter()?;
        let line = self.line;
        let mut pieces = Pieces::default();
        loop {
            let Some(b) = self.peek() else {
                match close {
                    Some(close) => return Err(Self::unclosed(close, line)),
                    None => break,
                }
            };
            match b {
                b if Some(b) == close => {
                    self.pos += 1;
                    break;
                }
                b'\\' => {
                    self.pos += 1;
                    match self.escaped() {
                        Some(b'\n') => {
                            self.bump();
                        }
                        Some(b) if matches!(b, b'$' | b'`' | b'\\') || Some(b) == close => {
                            self.pos += 1;
                            pieces.quoted(b);
                        }
                        _ => pieces.quoted(b'\\'),
                    }
                }
                b'$' => self.dollar(&mut pieces, true)?,
                b'`' => {
                    let part = self.backquoted(true)?;
                    pieces.part(part);
                }
                _ => {
                    self.bump();
                    pieces.quoted(b);
                }
            }
        }
        self.leave();
        Ok(pieces.finish())
    }

    fn process_substitution(&mut self, input: bool) -> Parsed<Part> {
        self.pos += 2;
        let saved = std::mem::take(&mut self.pending);
        let body = self.list(&[], Some(b')')).map_err(Self::blame_paren)?;
        self.pos += 1;
        let inner = std::mem::replace(&mut self.pending, saved);
        self.pending.extend(inner);
        Ok(Part::Process(Rc::new(ProcessSub {
            input,
            body: Rc::new(body),
        })))
    }
}
