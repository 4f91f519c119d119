//! Simple and compound commands.

use std::cell::OnceCell;
use std::rc::Rc;

use super::{ActiveAlias, Parsed, Parser, is_name};
use crate::ast::{
    ArithText, ArmEnd, Bytes, CaseArm, Command, FunctionDef, Kind, Script, Simple, Word,
};

/// Words that cannot start a simple command.
const RESERVED_ENDS: [&[u8]; 10] = [
    b"then", b"else", b"elif", b"fi", b"do", b"done", b"esac", b"}", b"]]", b"in",
];

/// The builtins whose arguments are read as assignments.
const DECLARATIONS: [&[u8]; 7] = [
    b"declare",
    b"typeset",
    b"local",
    b"export",
    b"readonly",
    b"alias",
    b"eval",
];

impl Parser {
    pub(super) fn command_inner(&mut self) -> Parsed<Command> {
        self.skip_blanks();
        self.expand_aliases();
        let line = self.line;
        let Some(first) = self.peek() else {
            return Err(self.unexpected());
        };
        let kind = match first {
            b'(' if self.peek_at(1) == Some(b'(') && self.is_arith_group(self.pos + 2) => {
                self.pos += 2;
                Kind::Arith(self.arith_group()?)
            }
            b'(' => {
                self.pos += 1;
                Kind::Subshell(self.paren_list(line)?)
            }
            _ => match self.compound()? {
                Some(kind) => kind,
                None => return self.simple(line),
            },
        };
        let redirs = self.redirections()?;
        Ok(Command { kind, redirs, line })
    }

    /// A list up to and including `)`.
    fn paren_list(&mut self, line: u32) -> Parsed<Script> {
        let _ = line;
        let script = self.list(&[], Some(b')'))?;
        if script.items.is_empty() {
            return Err(self.unexpected());
        }
        self.pos += 1;
        Ok(script)
    }

    fn compound(&mut self) -> Parsed<Option<Kind>> {
        let kind = if self.keyword(b"{") {
            let body = self.list(&[b"}"], None)?;
            self.expect_keyword(b"}")?;
            Kind::Group(body)
        } else if self.keyword(b"if") {
            self.if_command()?
        } else if self.keyword(b"while") {
            self.while_command(false)?
        } else if self.keyword(b"until") {
            self.while_command(true)?
        } else if self.keyword(b"for") {
            self.for_command()?
        } else if self.keyword(b"select") {
            let (name, words) = self.for_head()?;
            let body = self.loop_body()?;
            Kind::Select { name, words, body }
        } else if self.keyword(b"case") {
            self.case_command()?
        } else if self.keyword(b"[[") {
            Kind::Cond(self.conditional()?)
        } else if self.keyword(b"function") {
            return self.function_keyword().map(Some);
        } else if self.at_keyword(b"coproc") {
            self.pos += 6;
            self.coproc()?
        } else {
            if RESERVED_ENDS
                .iter()
                .any(|word| *word != b"]]" && *word != b"in" && self.at_keyword(word))
            {
                return Err(self.unexpected());
            }
            return Ok(None);
        };
        Ok(Some(kind))
    }

    fn if_command(&mut self) -> Parsed<Kind> {
        let mut arms = Vec::new();
        loop {
            let condition = self.list(&[b"then"], None)?;
            self.expect_keyword(b"then")?;
            let body = self.list(&[b"elif", b"else", b"fi"], None)?;
            arms.push((condition, body));
            if self.keyword(b"elif") {
                continue;
            }
            let mut otherwise = None;
            if self.keyword(b"else") {
                otherwise = Some(self.list(&[b"fi"], None)?);
            }
            self.expect_keyword(b"fi")?;
            return Ok(Kind::If { arms, otherwise });
        }
    }

    fn while_command(&mut self, until: bool) -> Parsed<Kind> {
        let condition = self.list(&[b"do"], None)?;
        self.expect_keyword(b"do")?;
        let body = self.list(&[b"done"], None)?;
        self.expect_keyword(b"done")?;
        Ok(Kind::While {
            until,
            condition,
            body,
        })
    }

    fn for_command(&mut self) -> Parsed<Kind> {
        self.skip_blanks();
        if self.peek() == Some(b'(') && self.peek_at(1) == Some(b'(') {
            self.pos += 2;
            let text = self.arith_group()?;
            let mut pieces = text
                .raw
                .split(|&b| b == b';')
                .map(<[u8]>::to_vec)
                .collect::<Vec<Bytes>>();
            if pieces.len() != 3 {
                let message = if pieces.len() < 3 {
                    b"syntax error: arithmetic expression required".to_vec()
                } else {
                    b"syntax error: `;' unexpected".to_vec()
                };
                return Err(self.error(message));
            }
            let step = self.arith_of(&pieces.pop().unwrap_or_default())?;
            let condition = self.arith_of(&pieces.pop().unwrap_or_default())?;
            let init = self.arith_of(&pieces.pop().unwrap_or_default())?;
            self.skip_blanks();
            if self.peek() == Some(b';') {
                self.pos += 1;
            }
            self.skip_newlines()?;
            let body = self.loop_body()?;
            return Ok(Kind::ForArith {
                init,
                condition,
                step,
                body,
            });
        }
        let (name, words) = self.for_head()?;
        let body = self.loop_body()?;
        Ok(Kind::For { name, words, body })
    }

    fn arith_of(&self, text: &[u8]) -> Parsed<ArithText> {
        super::parse_arith_text(text, &self.context)
    }

    /// `name [in word…];` up to the body.
    fn for_head(&mut self) -> Parsed<(Bytes, Option<Vec<Word>>)> {
        self.skip_blanks();
        // Whether the name is valid is looked at when the loop runs, as in bash.
        let Some(name) = self.word()? else {
            return Err(self.unexpected());
        };
        self.skip_newlines()?;
        if self.alias_next == self.pos {
            self.expand_aliases();
        }
        let mut words = None;
        if self.keyword(b"in") {
            let mut list = Vec::new();
            loop {
                self.skip_blanks();
                match self.word()? {
                    Some(word) => list.push(word),
                    None => break,
                }
            }
            words = Some(list);
            match self.peek() {
                Some(b';') if self.peek_at(1) != Some(b';') => self.pos += 1,
                Some(b'\n') => {}
                _ => return Err(self.unexpected()),
            }
        } else if self.peek() == Some(b';') && self.peek_at(1) != Some(b';') {
            self.pos += 1;
        }
        self.skip_newlines()?;
        Ok((name.raw.to_vec(), words))
    }

    /// `do … done` or `{ … }`
    fn loop_body(&mut self) -> Parsed<Script> {
        self.skip_blanks();
        if self.keyword(b"{") {
            let body = self.list(&[b"}"], None)?;
            self.expect_keyword(b"}")?;
            return Ok(body);
        }
        self.expect_keyword(b"do")?;
        let body = self.list(&[b"done"], None)?;
        self.expect_keyword(b"done")?;
        Ok(body)
    }

    fn case_command(&mut self) -> Parsed<Kind> {
        self.skip_blanks();
        let Some(word) = self.word()? else {
            return Err(self.unexpected());
        };
        self.skip_newlines()?;
        self.expect_keyword(b"in")?;
        let mut arms = Vec::new();
        loop {
            self.skip_newlines()?;
            if self.keyword(b"esac") {
                return Ok(Kind::Case { word, arms });
            }
            if self.peek() == Some(b'(') {
                self.pos += 1;
                self.skip_blanks();
            }
            let mut patterns = Vec::new();
            loop {
                self.skip_blanks();
                let Some(pattern) = self.word()? else {
                    return Err(self.unexpected());
                };
                patterns.push(pattern);
                self.skip_blanks();
                match self.peek() {
                    Some(b'|') if self.peek_at(1) != Some(b'|') => self.pos += 1,
                    Some(b')') => break,
                    _ => return Err(self.unexpected()),
                }
            }
            self.pos += 1;
            self.skip_newlines()?;
            let body = if self.at_list_end(&[b";;", b"esac"], None) {
                Script::default()
            } else {
                self.list(&[b";;", b"esac"], None)?
            };
            self.skip_newlines()?;
            let mut end = ArmEnd::Break;
            if self.peek() == Some(b';') {
                end = match (self.peek_at(1), self.peek_at(2)) {
                    (Some(b'&'), _) => ArmEnd::FallThrough,
                    (Some(b';'), Some(b'&')) => ArmEnd::TestNext,
                    _ => ArmEnd::Break,
                };
                self.pos += if end == ArmEnd::TestNext { 3 } else { 2 };
            } else if !self.at_keyword(b"esac") {
                return Err(self.unexpected());
            }
            arms.push(CaseArm {
                patterns,
                body,
                end,
            });
        }
    }

    fn function_keyword(&mut self) -> Parsed<Kind> {
        let line = self.line;
        self.skip_blanks();
        let Some(name) = self.word()? else {
            return Err(self.unexpected());
        };
        self.skip_blanks();
        if self.peek() == Some(b'(') && self.peek_at(1).is_some() {
            let save = self.pos;
            self.pos += 1;
            self.skip_blanks();
            if self.peek() == Some(b')') {
                self.pos += 1;
            } else {
                self.pos = save;
            }
        }
        self.function_body(name.raw.to_vec(), line)
    }

    fn function_body(&mut self, name: Bytes, line: u32) -> Parsed<Kind> {
        self.skip_newlines()?;
        self.enter()?;
        let body_line = self.line;
        let kind = match self.peek() {
            Some(b'(') if self.peek_at(1) == Some(b'(') && self.is_arith_group(self.pos + 2) => {
                self.pos += 2;
                Some(Kind::Arith(self.arith_group()?))
            }
            Some(b'(') => {
                self.pos += 1;
                Some(Kind::Subshell(self.paren_list(body_line)?))
            }
            _ => self.compound()?,
        };
        let Some(kind) = kind else {
            return Err(self.unexpected());
        };
        let redirs = self.redirections()?;
        self.leave();
        let body = Command {
            kind,
            redirs,
            line: body_line,
        };
        Ok(Kind::Function(Rc::new(FunctionDef { name, body, line })))
    }

    fn coproc(&mut self) -> Parsed<Kind> {
        self.skip_blanks();
        let save = (self.pos, self.line);
        // `coproc NAME compound`; a simple command takes no name.
        if let Some(word) = self.word()?
            && word.as_lit().is_some_and(is_name)
        {
            self.skip_blanks();
            let compound: [&[u8]; 9] = [
                b"{", b"if", b"while", b"until", b"for", b"case", b"select", b"[[", b"((",
            ];
            if self.peek() == Some(b'(') || compound.iter().any(|w| self.at_keyword(w)) {
                let body = Box::new(self.command()?);
                return Ok(Kind::Coproc {
                    name: Some(word.raw.to_vec()),
                    body,
                });
            }
        }
        (self.pos, self.line) = save;
        Ok(Kind::Coproc {
            name: None,
            body: Box::new(self.command()?),
        })
    }

    fn simple(&mut self, line: u32) -> Parsed<Command> {
        let mut simple = Simple::default();
        let mut redirs = Vec::new();
        let mut declaration = false;
        loop {
            self.skip_blanks();
            if self.alias_next == self.pos
                || simple.words.is_empty() && !(simple.assigns.is_empty() && redirs.is_empty())
            {
                self.expand_aliases();
            }
            if let Some(redir) = self.redirection()? {
                redirs.push(redir);
                continue;
            }
            let Some(b) = self.peek() else { break };
            if b == b'(' {
                if simple.assigns.is_empty() && redirs.is_empty() && simple.words.len() == 1 {
                    return self.function_parens(simple, line);
                }
                return Err(self.unexpected());
            }
            let in_assigns = simple.words.is_empty();
            let Some(mut word) = self.command_word(in_assigns || declaration)? else {
                break;
            };
            if in_assigns {
                if let Some(assign) = word.assign.take() {
                    let assign = Rc::try_unwrap(assign).unwrap_or_else(|shared| (*shared).clone());
                    simple.assigns.push(assign);
                    continue;
                }
                declaration = word
                    .as_lit()
                    .is_some_and(|text| DECLARATIONS.contains(&text));
                self.own_process |= word
                    .as_lit()
                    .is_some_and(|text| matches!(text, b"ulimit" | b"suspend"));
            } else if !declaration
                && simple.words.len() < 3
                && word
                    .as_lit()
                    .is_some_and(|t| DECLARATIONS[..5].contains(&t))
            {
                // `command declare a=(1)` and `builtin local …`
                declaration = simple.words.iter().all(|w| {
                    w.as_lit()
                        .is_some_and(|t| matches!(t, b"command" | b"builtin" | b"--"))
                });
            }
            simple.words.push(word);
        }
        if simple.assigns.is_empty() && simple.words.is_empty() && redirs.is_empty() {
            return Err(self.unexpected());
        }
        Ok(Command {
            kind: Kind::Simple(simple),
            redirs,
            line,
        })
    }

    fn function_parens(&mut self, mut simple: Simple, line: u32) -> Parsed<Command> {
        let open = self.pos;
        self.pos += 1;
        self.skip_blanks();
        if self.peek() != Some(b')') {
            if self.peek().is_some_and(|b| b != b'\n') && self.buf[open..].starts_with(b"(") {
                // bash names the word after the parenthesis here.
                return Err(self.unexpected());
            }
            return Err(self.unexpected());
        }
        self.pos += 1;
        let name = simple
            .words
            .pop()
            .map(|w| w.raw.to_vec())
            .unwrap_or_default();
        let kind = self.function_body(name, line)?;
        Ok(Command {
            kind,
            redirs: Vec::new(),
            line,
        })
    }

    /// Replaces the alias that stands here, as often as there is one.
    pub(super) fn expand_aliases(&mut self) {
        self.alias_next = usize::MAX;
        for _ in 0..1000 {
            self.skip_blanks();
            let start = self.pos;
            if self.peek().is_none() {
                return;
            }
            let mut end = start;
            while let Some(&b) = self.buf.get(end) {
                if super::is_meta(b) {
                    break;
                }
                if matches!(b, b'\'' | b'"' | b'\\' | b'$' | b'`' | b'/' | b'=') {
                    return;
                }
                end += 1;
            }
            if end == start {
                return;
            }
            self.aliases.retain(|active| active.end > start);
            let name = self.buf[start..end].to_vec();
            if self.aliases.iter().any(|active| active.name == name) {
                return;
            }
            let Some(text) = self
                .context
                .aliases
                .as_ref()
                .and_then(|all| all.get(&name))
                .cloned()
            else {
                return;
            };
            let blank = text.last().is_some_and(|b| matches!(b, b' ' | b'\t'));
            let delta = text.len();
            let old = end - start;
            for active in &mut self.aliases {
                active.end = active.end + delta - old;
            }
            self.aliases.push(ActiveAlias {
                name,
                end: start + delta,
            });
            self.buf.splice(start..end, text);
            if blank {
                // The word after the alias is looked at, too.
                let mut next = start + delta;
                while matches!(self.buf.get(next), Some(b' ' | b'\t')) {
                    next += 1;
                }
                self.alias_next = next;
            }
        }
    }

    /// Whether the text from `start` runs to a `)` that is followed by another one.
    ///
    /// A flat scan that only counts parentheses outside quotes: it decides between `((…))` and `( (…) )` in linear time.
    pub(super) fn is_arith_group(&mut self, start: usize) -> bool {
        let mut at = start;
        let mut depth = 0_u32;
        let mut quote = 0_u8;
        loop {
            if at >= self.buf.len() && !self.fill() {
                // Never closed: the error is the same either way, but for its words.
                return true;
            }
            let b = self.buf[at];
            if quote == 0 {
                match b {
                    b'\'' | b'"' => quote = b,
                    b'\\' => at += 1,
                    b'(' => depth += 1,
                    b')' if depth == 0 => {
                        if at + 1 >= self.buf.len() {
                            self.fill();
                        }
                        return self.buf.get(at + 1) == Some(&b')');
                    }
                    b')' => depth -= 1,
                    _ => {}
                }
            } else if b == quote {
                quote = 0;
            } else if b == b'\\' && quote == b'"' {
                at += 1;
            }
            at += 1;
        }
    }

    /// The expression of `((…))`, from after the opening to after the closing parentheses.
    pub(super) fn arith_group(&mut self) -> Parsed<ArithText> {
        let line = self.line;
        let start = self.pos;
        let parts = self.arith_parts(b')', line)?;
        let raw = self.buf[start..self.pos].into();
        // arith_parts stops at the parenthesis that is followed by another.
        self.pos += 1;
        if self.peek() != Some(b')') {
            return Err(self.unexpected());
        }
        self.pos += 1;
        Ok(ArithText {
            parts,
            raw,
            cache: OnceCell::new(),
        })
    }
}
