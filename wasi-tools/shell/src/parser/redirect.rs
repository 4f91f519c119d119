//! Redirections and here-documents.

use std::cell::RefCell;
use std::rc::Rc;

use super::{Parsed, Parser, is_name};
use crate::ast::{Bytes, HereDoc, Redir, RedirFd, RedirOp, Word};

/// What `|&` adds to the command before it.
pub(super) fn stderr_to_stdout() -> Redir {
    Redir {
        fd: RedirFd::Number(2),
        op: RedirOp::DupOut,
        target: Word::literal(b"1"),
        heredoc: None,
    }
}

impl Parser {
    pub(super) fn redirections(&mut self) -> Parsed<Vec<Redir>> {
        let mut redirs = Vec::new();
        loop {
            self.skip_blanks();
            match self.redirection()? {
                Some(redir) => redirs.push(redir),
                None => return Ok(redirs),
            }
        }
    }

    /// The redirection that stands here, if one does.
    pub(super) fn redirection(&mut self) -> Parsed<Option<Redir>> {
        let start = self.pos;
        let Some(first) = self.peek() else {
            return Ok(None);
        };
        let mut fd = RedirFd::Default;
        let mut at = start;
        if first.is_ascii_digit() {
            let mut number = 0_i32;
            while let Some(d) = self.buf.get(at).filter(|b| b.is_ascii_digit()) {
                number = number
                    .saturating_mul(10)
                    .saturating_add(i32::from(d - b'0'));
                at += 1;
            }
            fd = RedirFd::Number(number);
        } else if first == b'{' {
            let length = self.buf[start..].iter().position(|&b| b == b'}');
            let Some(close) = length.map(|n| start + n) else {
                return Ok(None);
            };
            if !is_name(&self.buf[start + 1..close]) {
                return Ok(None);
            }
            fd = RedirFd::Variable(self.buf[start + 1..close].to_vec());
            at = close + 1;
        }
        let rest = &self.buf[at..];
        let (op, length) = match rest {
            [b'<', b'<', b'<', ..] => (RedirOp::HereString, 3),
            [b'<', b'<', b'-', ..] => (RedirOp::HereDoc, 3),
            [b'<', b'<', ..] => (RedirOp::HereDoc, 2),
            [b'<', b'&', ..] => (RedirOp::DupIn, 2),
            [b'<', b'>', ..] => (RedirOp::ReadWrite, 2),
            [b'<' | b'>', b'(', ..] if fd == RedirFd::Default && !self.context.posix => {
                return Ok(None);
            }
            [b'<', ..] => (RedirOp::Read, 1),
            [b'>', b'>', ..] => (RedirOp::Append, 2),
            [b'>', b'&', ..] => (RedirOp::DupOut, 2),
            [b'>', b'|', ..] => (RedirOp::Clobber, 2),
            [b'>', ..] => (RedirOp::Write, 1),
            [b'&', b'>', b'>', ..] if fd == RedirFd::Default => (RedirOp::BothAppend, 3),
            [b'&', b'>', ..] if fd == RedirFd::Default => (RedirOp::Both, 2),
            _ => return Ok(None),
        };
        let strip_tabs = op == RedirOp::HereDoc && length == 3;
        self.pos = at + length;
        self.skip_blanks();
        let Some(target) = self.word()? else {
            return Err(self.unexpected());
        };
        let heredoc = (op == RedirOp::HereDoc).then(|| self.pend_heredoc(&target, strip_tabs));
        Ok(Some(Redir {
            fd,
            op,
            target,
            heredoc,
        }))
    }

    fn pend_heredoc(&mut self, target: &Word, strip_tabs: bool) -> Rc<HereDoc> {
        let (delimiter, quoted) = unquote_delimiter(&target.raw);
        let doc = Rc::new(HereDoc {
            delimiter,
            quoted,
            strip_tabs,
            body: RefCell::new(Word::default()),
        });
        self.pending.push(Rc::clone(&doc));
        doc
    }

    /// Reads the bodies of the here-documents whose operators stood on the line before.
    pub(super) fn read_heredocs(&mut self) -> Parsed<()> {
        if self.pending.is_empty() {
            return Ok(());
        }
        let raw = std::mem::replace(&mut self.raw, true);
        let result = self.read_bodies();
        self.raw = raw;
        result
    }

    fn read_bodies(&mut self) -> Parsed<()> {
        for doc in std::mem::take(&mut self.pending) {
            let first_line = self.line;
            let mut text = Bytes::new();
            loop {
                let Some(mut line) = self.raw_line(!doc.quoted) else {
                    let wanted = [
                        b"here-document at line ".as_slice(),
                        (first_line.saturating_sub(1)).to_string().as_bytes(),
                        b" delimited by end-of-file (wanted `",
                        &doc.delimiter,
                        b"')",
                    ]
                    .concat();
                    self.warnings.push((self.line, wanted));
                    break;
                };
                if doc.strip_tabs {
                    let tabs = line.iter().take_while(|&&b| b == b'\t').count();
                    line.drain(..tabs);
                }
                let content = line.strip_suffix(b"\n").unwrap_or(&line);
                if content == doc.delimiter {
                    break;
                }
                text.extend_from_slice(&line);
            }
            let word = if doc.quoted {
                Word::literal(&text)
            } else {
                super::parse_double_quoted(&text, &self.context).map_err(|mut error| {
                    error.line += first_line.saturating_sub(1);
                    error
                })?
            };
            doc.body.replace(word);
        }
        Ok(())
    }

    /// A line with its newline; with `join`, a backslash before the newline continues it.
    fn raw_line(&mut self, join: bool) -> Option<Bytes> {
        self.peek()?;
        let mut line = Bytes::new();
        loop {
            if self.peek().is_none() {
                return Some(line);
            }
            let rest = &self.buf[self.pos..];
            let length = rest
                .iter()
                .position(|&b| b == b'\n')
                .map_or(rest.len(), |at| at + 1);
            line.extend_from_slice(&rest[..length]);
            self.pos += length;
            if !line.ends_with(b"\n") {
                // Only the last line of the input has no newline.
                continue;
            }
            self.line += 1;
            let slashes = line
                .iter()
                .rev()
                .skip(1)
                .take_while(|&&b| b == b'\\')
                .count();
            if join && slashes % 2 == 1 {
                line.truncate(line.len() - 2);
                continue;
            }
            return Some(line);
        }
    }
}

/// The delimiter of a here-document without its quotes, and whether it had any.
fn unquote_delimiter(raw: &[u8]) -> (Bytes, bool) {
    let mut out = Bytes::new();
    let mut quote = 0_u8;
    let mut quoted = false;
    let mut at = 0;
    while at < raw.len() {
        let b = raw[at];
        at += 1;
        match (quote, b) {
            (0, b'\'' | b'"') => {
                quote = b;
                quoted = true;
            }
            (0, b'$') if matches!(raw.get(at), Some(b'\'' | b'"')) => {}
            (0 | b'"', b'\\')
                if quote == 0 || matches!(raw.get(at), Some(b'"' | b'\\' | b'$' | b'`')) =>
            {
                quoted = true;
                out.extend(raw.get(at));
                at += 1;
            }
            (q, b) if q == b && q != 0 => quote = 0,
            _ => out.push(b),
        }
    }
    (out, quoted)
}
