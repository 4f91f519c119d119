//! A recursive-descent parser that reads one complete command at a time.
//!
//! It works on bytes, in linear time, and takes its input line by line: what a command does to aliases and options acts on the
//! line after it. Nesting is counted, so that no input can overflow the stack.

#![expect(
    clippy::unnecessary_box_returns,
    reason = "the error of every parsing function is boxed, to keep their results small"
)]

mod command;
mod cond;
mod dollar;
mod redirect;
mod word;

use std::collections::BTreeMap;
use std::rc::Rc;

use crate::ast::{
    AndOr, ArithText, Bytes, Command, HereDoc, Item, Pipeline, Script, TimeStyle, Word,
};
use crate::input::{Input, TextInput};
use crate::sys;

/// Nesting of commands, substitutions and quotes above which a script is refused.
pub(crate) const MAX_NESTING: u32 = 1000;

/// What the parser has to know of the shell.
#[derive(Debug, Clone)]
pub(crate) struct Context {
    /// The aliases, when they are expanded.
    pub(crate) aliases: Option<Rc<BTreeMap<Bytes, Bytes>>>,
    /// Whether `shopt extglob` is on.
    pub(crate) extglob: bool,
    /// Whether `set -o posix` is on.
    pub(crate) posix: bool,
    /// `set -v`: lines are shown as they are read.
    pub(crate) verbose: bool,
}

impl Context {
    /// For text that was parsed before, or that is no command.
    pub(crate) fn plain() -> Self {
        Self {
            aliases: None,
            extglob: true,
            posix: false,
            verbose: false,
        }
    }
}

/// Why a command could not be parsed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ParseError {
    pub(crate) line: u32,
    pub(crate) message: Bytes,
    /// The offending line, which bash prints on a second message line.
    pub(crate) source: Option<Bytes>,
    /// The shell ends with the status of the command before, not with 2.
    pub(crate) keep_status: bool,
    /// The input ended inside a command.
    pub(crate) at_end: bool,
}

pub(crate) type Parsed<T> = Result<T, Box<ParseError>>;

/// An alias whose text is being read: it is not expanded again before `end`.
#[derive(Debug)]
struct ActiveAlias {
    name: Bytes,
    end: usize,
}

/// The parser and the part of the input that belongs to the current command.
pub(crate) struct Parser {
    input: Box<dyn Input>,
    pub(crate) context: Context,
    buf: Bytes,
    pos: usize,
    /// A line of the buffer ends in a backslash: it may be continued.
    continued: bool,
    /// Text is being read in which a backslash before a newline means nothing.
    raw: bool,
    /// Line number at `pos`, from 1.
    line: u32,
    depth: u32,
    pending: Vec<Rc<HereDoc>>,
    aliases: Vec<ActiveAlias>,
    /// The next word is checked for an alias although it is not in command position (an alias ended in a blank).
    alias_next: usize,
    extglob: bool,
    /// The list being parsed needs a process of its own (it asks for `BASHPID` or changes limits).
    own_process: bool,
    /// Warnings about here-documents without their end.
    pub(crate) warnings: Vec<(u32, Bytes)>,
}

impl std::fmt::Debug for Parser {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Parser")
            .field("pos", &self.pos)
            .field("line", &self.line)
            .finish_non_exhaustive()
    }
}

/// Whether `b` ends an unquoted word.
pub(crate) fn is_meta(b: u8) -> bool {
    matches!(
        b,
        b' ' | b'\t' | b'\n' | b'|' | b'&' | b';' | b'(' | b')' | b'<' | b'>'
    )
}

/// Whether `b` can start a name.
pub(crate) fn is_name_start(b: u8) -> bool {
    b.is_ascii_alphabetic() || b == b'_'
}

/// Whether `b` can continue a name.
pub(crate) fn is_name_byte(b: u8) -> bool {
    b.is_ascii_alphanumeric() || b == b'_'
}

/// Whether `text` is a valid variable name.
pub(crate) fn is_name(text: &[u8]) -> bool {
    text.first().is_some_and(|&b| is_name_start(b)) && text.iter().all(|&b| is_name_byte(b))
}

impl Parser {
    /// A parser that starts counting lines at `line`.
    pub(crate) fn new(input: Box<dyn Input>, context: Context, line: u32) -> Self {
        Self {
            input,
            buf: Bytes::new(),
            pos: 0,
            continued: false,
            raw: false,
            line,
            depth: 0,
            pending: Vec::new(),
            aliases: Vec::new(),
            alias_next: usize::MAX,
            extglob: context.extglob,
            context,
            own_process: false,
            warnings: Vec::new(),
        }
    }

    /// The same over text in memory.
    pub(crate) fn of_text(text: &[u8], context: Context, line: u32) -> Self {
        Self::new(Box::new(TextInput::new(text.to_vec())), context, line)
    }

    /// The next complete command: everything up to the newline that ends it. `None` at the end of the input.
    pub(crate) fn next_command(&mut self) -> Parsed<Option<Script>> {
        self.buf.drain(..self.pos);
        self.pos = 0;
        self.continued = self.buf.windows(2).any(|pair| pair == b"\\\n");
        self.aliases.clear();
        self.alias_next = usize::MAX;
        self.depth = 0;
        self.extglob = self.context.extglob;
        loop {
            self.skip_blanks();
            match self.peek() {
                None => return Ok(None),
                Some(b'\n') => self.newline()?,
                Some(_) => break,
            }
        }
        let mut script = Script::default();
        loop {
            let and_or = self.and_or()?;
            let mut background = false;
            self.skip_blanks();
            match self.peek() {
                Some(b';') if !matches!(self.peek_at(1), Some(b';' | b'&')) => self.pos += 1,
                Some(b'&') if self.peek_at(1) != Some(b'&') => {
                    self.pos += 1;
                    background = true;
                }
                _ => {}
            }
            let separated = background || self.buf.get(self.pos.wrapping_sub(1)) == Some(&b';');
            script.items.push(Item { and_or, background });
            self.skip_blanks();
            match self.peek() {
                None => {
                    self.read_heredocs()?;
                    return Ok(Some(script));
                }
                Some(b'\n') => {
                    self.newline()?;
                    return Ok(Some(script));
                }
                Some(_) if separated => {}
                Some(_) => return Err(self.unexpected()),
            }
        }
    }

    /// Whether nothing is left to be parsed, as far as that can be told without reading on.
    pub(crate) fn at_end(&mut self) -> bool {
        self.buf[self.pos..].iter().all(u8::is_ascii_whitespace) && self.input.is_empty()
    }

    /// Numbers lines from `line`, for text that is evaluated at a place in a script.
    pub(crate) fn set_line_base(&mut self, line: u32) {
        self.line = line.max(1);
    }

    /// Everything to the end of the input as one list.
    pub(crate) fn whole(&mut self) -> Parsed<Script> {
        let mut all = Script::default();
        while let Some(mut script) = self.next_command()? {
            all.items.append(&mut script.items);
        }
        Ok(all)
    }

    fn and_or(&mut self) -> Parsed<AndOr> {
        let first = self.pipeline()?;
        let mut rest = Vec::new();
        loop {
            self.skip_blanks();
            let and = match (self.peek(), self.peek_at(1)) {
                (Some(b'&'), Some(b'&')) => true,
                (Some(b'|'), Some(b'|')) => false,
                _ => break,
            };
            self.pos += 2;
            self.skip_newlines()?;
            rest.push((and, self.pipeline()?));
        }
        Ok(AndOr { first, rest })
    }

    fn pipeline(&mut self) -> Parsed<Pipeline> {
        let mut pipeline = Pipeline {
            negate: false,
            time: None,
            stages: Vec::new(),
        };
        loop {
            self.skip_blanks();
            if self.keyword(b"!") {
                pipeline.negate = !pipeline.negate;
            } else if pipeline.time.is_none() && self.keyword(b"time") {
                pipeline.time = Some(TimeStyle::Bash);
                self.skip_blanks();
                if self.keyword(b"-p") {
                    pipeline.time = Some(TimeStyle::Posix);
                    self.skip_blanks();
                }
                self.keyword(b"--");
            } else {
                break;
            }
            self.skip_blanks();
            // `!` and `time` stand alone, too.
            if matches!(self.peek(), None | Some(b'\n' | b';')) {
                return Ok(pipeline);
            }
        }
        loop {
            let mut command = self.command()?;
            self.skip_blanks();
            let bar = self.peek() == Some(b'|') && self.peek_at(1) != Some(b'|');
            if bar && self.peek_at(1) == Some(b'&') {
                self.pos += 1;
                command.redirs.push(redirect::stderr_to_stdout());
            }
            pipeline.stages.push(command);
            if !bar {
                return Ok(pipeline);
            }
            self.pos += 1;
            self.skip_newlines()?;
        }
    }

    /// A list up to one of the words in `ends` (not consumed) or, with `close`, up to that byte.
    fn list(&mut self, ends: &[&[u8]], close: Option<u8>) -> Parsed<Script> {
        self.enter()?;
        let outside = std::mem::take(&mut self.own_process);
        let mut script = Script::default();
        loop {
            self.skip_newlines()?;
            if self.at_list_end(ends, close) {
                break;
            }
            let and_or = self.and_or()?;
            self.skip_blanks();
            let mut background = false;
            let mut separated = true;
            match (self.peek(), self.peek_at(1)) {
                (Some(b';'), Some(b';' | b'&')) | (None, _) => separated = false,
                (Some(b';'), _) => self.pos += 1,
                (Some(b'&'), next) if next != Some(b'&') => {
                    self.pos += 1;
                    background = true;
                }
                (Some(b'\n'), _) => {}
                _ => separated = false,
            }
            script.items.push(Item { and_or, background });
            if !separated {
                self.skip_blanks();
                if self.at_list_end(ends, close) {
                    break;
                }
                return Err(self.unexpected());
            }
        }
        if script.items.is_empty() && close.is_none() {
            return Err(self.unexpected());
        }
        self.leave();
        script.own_process = self.own_process;
        self.own_process |= outside;
        Ok(script)
    }

    fn at_list_end(&mut self, ends: &[&[u8]], close: Option<u8>) -> bool {
        if let Some(close) = close {
            return self.peek() == Some(close);
        }
        ends.iter().any(|end| match *end {
            b";;" => self.peek() == Some(b';') && matches!(self.peek_at(1), Some(b';' | b'&')),
            word => self.at_keyword(word),
        })
    }

    fn command(&mut self) -> Parsed<Command> {
        self.enter()?;
        let command = self.command_inner();
        self.leave();
        command
    }

    // ---- characters --------------------------------------------------------------------------------------------

    fn fill(&mut self) -> bool {
        let before = self.buf.len();
        let more = self.input.line(&mut self.buf);
        self.continued |= self.buf.ends_with(b"\\\n");
        if more && self.context.verbose {
            let _unreported = sys::write_all(2, &self.buf[before..]);
        }
        more
    }

    fn peek(&mut self) -> Option<u8> {
        if self.pos >= self.buf.len() && !self.fill() {
            return None;
        }
        if self.continued && !self.raw {
            self.join_lines();
            if self.pos >= self.buf.len() && !self.fill() {
                return None;
            }
        }
        self.buf.get(self.pos).copied()
    }

    /// The byte after a backslash, which is no start of a line continuation whatever follows it.
    fn escaped(&mut self) -> Option<u8> {
        if self.pos >= self.buf.len() && !self.fill() {
            return None;
        }
        self.buf.get(self.pos).copied()
    }

    /// Removes backslashes before newlines from the next few bytes, as far as no quote stands before them.
    fn join_lines(&mut self) {
        // As far as any look ahead goes, and one more.
        const WINDOW: usize = 10;
        let mut at = self.pos;
        while at < self.pos + WINDOW {
            match self.buf.get(at) {
                Some(b'\\') if self.buf.get(at + 1) == Some(&b'\n') => self.join_at(at),
                Some(b'\\') => at += 2,
                None | Some(b'\'' | b'#' | b'`' | b'\n') => return,
                Some(_) => at += 1,
            }
        }
    }

    /// Removes the backslash and the newline at `at` and reads on.
    fn join_at(&mut self, at: usize) {
        self.buf.drain(at..at + 2);
        self.line += 1;
        if at >= self.buf.len() {
            self.fill();
        }
    }

    /// The end of the name that starts at `end`; it may be continued on the next line.
    fn name_end(&mut self, mut end: usize) -> usize {
        loop {
            while self.buf.get(end).is_some_and(|&b| is_name_byte(b)) {
                end += 1;
            }
            if !(self.continued && self.buf[end..].starts_with(b"\\\n")) {
                return end;
            }
            self.join_at(end);
        }
    }

    /// Looks ahead in the current line only.
    fn peek_at(&self, offset: usize) -> Option<u8> {
        self.buf.get(self.pos + offset).copied()
    }

    /// Takes one byte and counts lines.
    fn bump(&mut self) -> Option<u8> {
        let b = self.peek()?;
        self.pos += 1;
        if b == b'\n' {
            self.line += 1;
        }
        Some(b)
    }

    /// Skips blanks, line continuations and a comment.
    fn skip_blanks(&mut self) {
        loop {
            match self.peek() {
                Some(b' ' | b'\t') => self.pos += 1,
                Some(b'\\') if self.peek_at(1) == Some(b'\n') => {
                    self.pos += 2;
                    self.line += 1;
                }
                Some(b'#') => {
                    // A backslash does not continue a comment.
                    while self.peek_at(0).is_some_and(|b| b != b'\n') {
                        self.pos += 1;
                    }
                }
                _ => return,
            }
        }
    }

    fn skip_newlines(&mut self) -> Parsed<()> {
        loop {
            self.skip_blanks();
            if self.peek() != Some(b'\n') {
                return Ok(());
            }
            self.newline()?;
        }
    }

    /// Takes a newline and the here-documents that start after it.
    fn newline(&mut self) -> Parsed<()> {
        self.pos += 1;
        self.line += 1;
        self.read_heredocs()
    }

    /// Whether the reserved word `word` stands here as a word of its own.
    fn at_keyword(&mut self, word: &[u8]) -> bool {
        if self.peek() != word.first().copied() || !self.buf[self.pos..].starts_with(word) {
            return false;
        }
        let mut next = self.pos + word.len();
        while self.buf.get(next) == Some(&b'\\') && self.buf.get(next + 1) == Some(&b'\n') {
            next += 2;
        }
        self.buf.get(next).is_none_or(|&b| is_meta(b))
    }

    fn keyword(&mut self, word: &[u8]) -> bool {
        let found = self.at_keyword(word);
        if found {
            self.pos += word.len();
        }
        found
    }

    fn expect_keyword(&mut self, word: &[u8]) -> Parsed<()> {
        self.skip_blanks();
        if self.keyword(word) {
            Ok(())
        } else {
            Err(self.unexpected())
        }
    }

    fn enter(&mut self) -> Parsed<()> {
        self.depth += 1;
        if self.depth > MAX_NESTING {
            let message =
                format!("syntax error: commands are nested more than {MAX_NESTING} levels deep");
            return Err(self.error(message.into_bytes()));
        }
        Ok(())
    }

    fn leave(&mut self) {
        self.depth = self.depth.saturating_sub(1);
    }

    // ---- errors ------------------------------------------------------------------------------------------------

    fn error(&self, message: Bytes) -> Box<ParseError> {
        Box::new(ParseError {
            line: self.line,
            message,
            source: None,
            keep_status: false,
            at_end: false,
        })
    }

    fn error_with_line(&self, message: Bytes) -> Box<ParseError> {
        let start = self.buf[..self.pos.min(self.buf.len())]
            .iter()
            .rposition(|&b| b == b'\n')
            .map_or(0, |at| at + 1);
        let end = self.buf[start..]
            .iter()
            .position(|&b| b == b'\n')
            .map_or(self.buf.len(), |at| start + at);
        let source = Some(self.buf[start..end].to_vec());
        Box::new(ParseError {
            line: self.line,
            message,
            source,
            keep_status: false,
            at_end: false,
        })
    }

    /// The error for the token that stands here.
    fn unexpected(&mut self) -> Box<ParseError> {
        self.skip_blanks();
        let Some(first) = self.peek() else {
            let line = self.line;
            let message = b"syntax error: unexpected end of file".to_vec();
            return Box::new(ParseError {
                line,
                message,
                source: None,
                keep_status: false,
                at_end: true,
            });
        };
        let token: Bytes = if first == b'\n' {
            b"newline".to_vec()
        } else if is_meta(first) {
            const OPERATORS: [&[u8]; 16] = [
                b"&>>", b"<<<", b"<<-", b";;&", b"&&", b"||", b";;", b";&", b"<<", b">>", b"<&",
                b">&", b"<>", b"&>", b">|", b"|&",
            ];
            let rest = &self.buf[self.pos..];
            OPERATORS
                .iter()
                .find(|op| rest.starts_with(op))
                .map_or_else(|| vec![first], |op| op.to_vec())
        } else {
            let start = self.pos;
            match self.word() {
                Ok(Some(word)) => {
                    self.pos = start;
                    word.raw.to_vec()
                }
                _ => vec![first],
            }
        };
        let mut message = b"syntax error near unexpected token `".to_vec();
        message.extend_from_slice(&token);
        message.push(b'\'');
        self.error_with_line(message)
    }

    /// The error for a quote or bracket that is never closed.
    fn unclosed(close: u8, line: u32) -> Box<ParseError> {
        let message = [
            b"unexpected EOF while looking for matching `".as_slice(),
            &[close],
            b"'",
        ]
        .concat();
        Box::new(ParseError {
            line,
            message,
            source: None,
            keep_status: false,
            at_end: true,
        })
    }
}

/// Parses `text` as the inside of double quotes: here-documents, prompts, `PS4`, arithmetic.
pub(crate) fn parse_double_quoted(text: &[u8], context: &Context) -> Parsed<Word> {
    let mut parser = Parser::new(
        Box::new(TextInput::exact(text.to_vec())),
        context.clone(),
        1,
    );
    parser.whole_double_quoted()
}

/// Parses `text` as one word, blanks included.
pub(crate) fn parse_word_text(text: &[u8], context: &Context) -> Parsed<Word> {
    let mut parser = Parser::new(
        Box::new(TextInput::exact(text.to_vec())),
        context.clone(),
        1,
    );
    parser.whole_word()
}

/// Parses `text` as an arithmetic expression with its expansions.
pub(crate) fn parse_arith_text(text: &[u8], context: &Context) -> Parsed<ArithText> {
    let word = parse_double_quoted(text, context)?;
    Ok(ArithText {
        parts: word.parts,
        raw: word.raw,
        cache: std::cell::OnceCell::new(),
    })
}

#[cfg(test)]
mod tests;
