//! Commands as text: as `declare -f` shows them, and compact, with their line numbers kept, for another shell to parse.

use std::rc::Rc;

use crate::ast::{
    AndOr, ArmEnd, Assign, AssignValue, Bytes, Command, Cond, FunctionDef, HereDoc, Item, Kind,
    Pipeline, Redir, RedirFd, RedirOp, Script, Simple, TimeStyle,
};

struct Printer {
    out: Bytes,
    indent: usize,
    /// Compact text in which each command stands on its own line number.
    compact: bool,
    line: u32,
    docs: Vec<Rc<HereDoc>>,
}

impl Printer {
    fn new(compact: bool, line: u32) -> Self {
        Self {
            out: Bytes::new(),
            indent: 0,
            compact,
            line,
            docs: Vec::new(),
        }
    }

    fn text(&mut self, text: &[u8]) {
        if self.compact {
            self.line += text.iter().map(|&b| u32::from(b == b'\n')).sum::<u32>();
        }
        self.out.extend_from_slice(text);
    }

    /// A line break, or the blank that stands for one.
    fn newline(&mut self) {
        if self.compact {
            self.text(b" ");
            return;
        }
        self.out.push(b'\n');
        self.out.extend(std::iter::repeat_n(b' ', self.indent));
    }

    /// Moves to the line of a command, where a newline means nothing.
    fn sync(&mut self, line: u32) {
        while self.compact && self.line < line {
            self.text(b"\n");
        }
    }

    fn here_documents(&mut self) -> bool {
        if self.docs.is_empty() {
            return false;
        }
        self.text(b"\n");
        for doc in std::mem::take(&mut self.docs) {
            let body = doc.body.borrow();
            let text = if doc.quoted {
                body.as_static().unwrap_or_default()
            } else {
                body.raw.to_vec()
            };
            self.text(&text);
            self.text(&doc.delimiter);
            self.text(b"\n");
        }
        true
    }

    fn script(&mut self, script: &Script) {
        let count = script.items.len();
        for (at, item) in script.items.iter().enumerate() {
            self.item(item);
            let last = at + 1 == count;
            let documents = self.here_documents();
            if last {
                break;
            }
            if documents {
                self.newline();
            } else if item.background {
                self.text(b" ");
            } else {
                self.text(b";");
                self.newline();
            }
        }
    }

    /// A list that ends in `;`, `&` or a here-document, as before `done`.
    fn terminated(&mut self, script: &Script) {
        self.script(script);
        if !matches!(self.out.last(), Some(b'&' | b'\n')) {
            self.text(b";");
        }
    }

    fn item(&mut self, item: &Item) {
        self.and_or(&item.and_or);
        if item.background {
            self.text(b" &");
        }
    }

    fn and_or(&mut self, and_or: &AndOr) {
        self.pipeline(&and_or.first);
        for (and, pipeline) in &and_or.rest {
            self.text(if *and { b" && " } else { b" || " });
            self.pipeline(pipeline);
        }
    }

    fn pipeline(&mut self, pipeline: &Pipeline) {
        if let Some(first) = pipeline.stages.first() {
            self.sync(first.line);
        }
        match pipeline.time {
            Some(TimeStyle::Bash) => self.text(b"time "),
            Some(TimeStyle::Posix) => self.text(b"time -p "),
            None => {}
        }
        if pipeline.negate {
            self.text(b"! ");
        }
        for (at, stage) in pipeline.stages.iter().enumerate() {
            if at > 0 {
                self.text(b" | ");
                self.sync(stage.line);
            }
            self.command(stage);
        }
    }

    fn command(&mut self, command: &Command) {
        self.kind(&command.kind);
        for redir in &command.redirs {
            if !matches!(self.out.last(), None | Some(b' ' | b'\n')) {
                self.text(b" ");
            }
            self.redir(redir);
        }
    }

    fn block(&mut self, open: &[u8], body: &Script, close: &[u8]) {
        self.text(open);
        self.indent += 4;
        self.newline();
        if self.compact || close != b"}" {
            self.terminated(body);
        } else {
            self.script(body);
        }
        self.indent -= 4;
        self.newline();
        self.text(close);
    }

    fn kind(&mut self, kind: &Kind) {
        match kind {
            Kind::Simple(simple) => self.simple(simple),
            Kind::Subshell(body) => {
                self.text(b"( ");
                self.script(body);
                self.text(b" )");
            }
            Kind::Group(body) => self.block(if self.compact { b"{" } else { b"{ " }, body, b"}"),
            Kind::If { arms, otherwise } => self.if_arms(arms, otherwise.as_ref()),
            Kind::While {
                until,
                condition,
                body,
            } => {
                self.text(if *until { b"until " } else { b"while " });
                self.terminated(condition);
                self.text(b" ");
                self.block(b"do", body, b"done");
            }
            Kind::For { name, words, body } => {
                self.for_words(b"for ", name, words.as_deref(), body);
            }
            Kind::Select { name, words, body } => {
                self.for_words(b"select ", name, words.as_deref(), body);
            }
            Kind::ForArith {
                init,
                condition,
                step,
                body,
            } => {
                let head = [
                    b"for ((".as_slice(),
                    &init.raw,
                    b"; ",
                    trim(&condition.raw),
                    b"; ",
                    trim(&step.raw),
                    b"))",
                ]
                .concat();
                self.text(&head);
                self.newline();
                self.block(b"do", body, b"done");
            }
            Kind::Case { word, arms } => {
                self.text(&[b"case ", &*word.raw, b" in "].concat());
                self.indent += 4;
                for arm in arms {
                    self.newline();
                    let patterns: Vec<&[u8]> =
                        arm.patterns.iter().map(|pattern| &*pattern.raw).collect();
                    if self.compact {
                        // A pattern may be `esac`.
                        self.text(b"(");
                    }
                    self.text(&patterns.join(&b" | "[..]));
                    self.text(b")");
                    self.indent += 4;
                    self.newline();
                    self.script(&arm.body);
                    self.indent -= 4;
                    self.newline();
                    self.text(match arm.end {
                        ArmEnd::Break => b";;",
                        ArmEnd::FallThrough => b";&",
                        ArmEnd::TestNext => b";;&",
                    });
                }
                self.indent -= 4;
                self.newline();
                self.text(b"esac");
            }
            Kind::Cond(cond) => {
                self.text(b"[[ ");
                self.cond(cond);
                self.text(b" ]]");
            }
            Kind::Arith(text) => {
                self.text(&[b"((", &*text.raw, b"))"].concat());
            }
            Kind::Function(def) => self.function(def, true),
            Kind::Coproc { name, body } => {
                self.text(b"coproc ");
                if let Some(name) = name {
                    self.text(&[name.as_slice(), b" "].concat());
                }
                self.command(body);
            }
        }
    }

    fn if_arms(&mut self, arms: &[(Script, Script)], otherwise: Option<&Script>) {
        let Some(((condition, body), rest)) = arms.split_first() else {
            return;
        };
        self.text(b"if ");
        self.terminated(condition);
        self.text(b" ");
        if rest.is_empty() && otherwise.is_none() {
            self.block(b"then", body, b"fi");
            return;
        }
        self.block(b"then", body, b"else");
        self.indent += 4;
        self.newline();
        if rest.is_empty() {
            if let Some(body) = otherwise {
                self.terminated(body);
            }
        } else {
            self.if_arms(rest, otherwise);
            self.text(b";");
        }
        self.indent -= 4;
        self.newline();
        self.text(b"fi");
    }

    fn for_words(
        &mut self,
        keyword: &[u8],
        name: &[u8],
        words: Option<&[crate::ast::Word]>,
        body: &Script,
    ) {
        self.text(&[keyword, name].concat());
        match words {
            Some(words) => {
                self.text(b" in");
                for word in words {
                    self.text(&[b" ", &*word.raw].concat());
                }
            }
            None => self.text(b" in \"$@\""),
        }
        self.text(b";");
        self.newline();
        self.block(b"do", body, b"done");
    }

    fn simple(&mut self, simple: &Simple) {
        let mut first = true;
        for item in &simple.assigns {
            if !first {
                self.text(b" ");
            }
            first = false;
            let mut text = Bytes::new();
            assign(item, &mut text);
            self.text(&text);
        }
        for word in &simple.words {
            if !first {
                self.text(b" ");
            }
            first = false;
            self.text(&word.raw);
        }
    }

    fn redir(&mut self, redir: &Redir) {
        match &redir.fd {
            RedirFd::Default => {}
            RedirFd::Number(fd) => self.text(fd.to_string().as_bytes()),
            RedirFd::Variable(name) => self.text(&[b"{".as_slice(), name, b"}"].concat()),
        }
        let (operator, blank): (&[u8], bool) = match redir.op {
            RedirOp::Read => (b"<", true),
            RedirOp::Write => (b">", true),
            RedirOp::Append => (b">>", true),
            RedirOp::Clobber => (b">|", true),
            RedirOp::ReadWrite => (b"<>", true),
            RedirOp::DupIn => (b"<&", false),
            RedirOp::DupOut => (b">&", false),
            RedirOp::Both => (b"&>", true),
            RedirOp::BothAppend => (b"&>>", true),
            RedirOp::HereDoc => (b"<<", false),
            RedirOp::HereString => (b"<<<", true),
        };
        self.text(operator);
        if let Some(doc) = &redir.heredoc {
            // The tabs of `<<-` were stripped when it was read.
            let quoted = if doc.quoted {
                [b"'".as_slice(), &doc.delimiter, b"'"].concat()
            } else {
                doc.delimiter.clone()
            };
            self.text(&quoted);
            self.docs.push(Rc::clone(doc));
            return;
        }
        if blank {
            self.text(b" ");
        }
        self.text(&redir.target.raw);
    }

    fn cond(&mut self, cond: &Cond) {
        match cond {
            Cond::Word(word) => self.text(&word.raw),
            Cond::Unary(op, word) => {
                self.text(&[b"-".as_slice(), &[*op], b" ", &word.raw].concat());
            }
            Cond::Binary(op, a, b) => self.text(&[&*a.raw, b" ", op, b" ", &*b.raw].concat()),
            Cond::Not(inner) => {
                self.text(b"! ");
                self.cond(inner);
            }
            Cond::And(a, b) | Cond::Or(a, b) => {
                self.cond(a);
                self.text(if matches!(cond, Cond::And(..)) {
                    b" && "
                } else {
                    b" || "
                });
                self.cond(b);
            }
            Cond::Paren(inner) => {
                self.text(b"( ");
                self.cond(inner);
                self.text(b" )");
            }
        }
    }

    fn function(&mut self, def: &FunctionDef, nested: bool) {
        if nested && !self.compact
            || def
                .name
                .iter()
                .any(|b| !b.is_ascii_alphanumeric() && *b != b'_')
        {
            self.text(b"function ");
        }
        self.text(&def.name);
        self.text(b" () ");
        if self.compact {
            self.sync(def.body.line);
        } else {
            self.newline();
        }
        if self.compact || matches!(def.body.kind, Kind::Group(_)) {
            self.command(&def.body);
        } else {
            self.text(b"{ ");
            self.indent += 4;
            self.newline();
            self.command(&def.body);
            self.here_documents();
            self.indent -= 4;
            self.newline();
            self.text(b"}");
        }
    }
}

fn trim(text: &[u8]) -> &[u8] {
    text.trim_ascii()
}

/// `name[index]+=value`
pub(crate) fn assign(item: &Assign, out: &mut Bytes) {
    out.extend_from_slice(&item.name);
    if let Some(index) = &item.index {
        out.extend([b"[".as_slice(), &index.raw, b"]"].concat());
    }
    out.extend_from_slice(if item.append { b"+=" } else { b"=" });
    match &item.value {
        AssignValue::Scalar(word) => out.extend_from_slice(&word.raw),
        AssignValue::Array(elements) => {
            out.push(b'(');
            for (at, element) in elements.iter().enumerate() {
                if at > 0 {
                    out.push(b' ');
                }
                if let Some(index) = &element.index {
                    out.extend([b"[".as_slice(), &index.raw, b"]"].concat());
                    out.extend_from_slice(if element.append { b"+=" } else { b"=" });
                }
                out.extend_from_slice(&element.value.raw);
            }
            out.push(b')');
        }
    }
}

/// A function as `declare -f` shows it, without a newline at the end.
pub(crate) fn function_text(def: &FunctionDef) -> Bytes {
    let mut printer = Printer::new(false, 0);
    printer.function(def, false);
    printer.here_documents();
    printer.out
}

fn compact(line: u32, print: impl FnOnce(&mut Printer)) -> Bytes {
    // The reader starts to count at 1.
    let mut printer = Printer::new(true, 1);
    printer.sync(line);
    print(&mut printer);
    printer.here_documents();
    printer.out
}

/// A list for another shell to parse.
pub(crate) fn script_text(script: &Script) -> Bytes {
    compact(1, |printer| printer.script(script))
}

/// A command for another shell to parse.
pub(crate) fn command_text(command: &Command) -> Bytes {
    compact(command.line, |printer| printer.command(command))
}

/// A function for another shell to parse; its first line is the definition's.
pub(crate) fn function_source(def: &FunctionDef) -> Bytes {
    let mut printer = Printer::new(true, def.line);
    printer.function(def, true);
    printer.here_documents();
    printer.out
}

/// An and-or list on one line, as `jobs` shows it.
pub(crate) fn and_or_shown(and_or: &AndOr) -> Bytes {
    let mut printer = Printer::new(true, u32::MAX >> 1);
    printer.and_or(and_or);
    printer.out
}

/// An and-or list for another shell to parse.
pub(crate) fn and_or_text(and_or: &AndOr) -> Bytes {
    let line = and_or
        .first
        .stages
        .first()
        .map_or(1, |command| command.line);

    compact(line, |printer| printer.and_or(and_or))
}
