//! Expansion of words: tilde, parameters, commands, arithmetic, splitting, file names.

use std::rc::Rc;

use crate::ast::{ArithText, Bytes, Part, Word};
use crate::options::{opt, shopt};
use crate::parser::{Context, parse_word_text};
use crate::pattern::{self, Pattern, Syntax, next_char};
use crate::shell::{Flow, Shell};
use crate::vars::attr;
use crate::{brace, glob, sys};

/// What the text is for, which decides how quoted characters are marked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Words of a command: splitting and file names; quoted pattern characters get a backslash.
    Fields,
    /// One string.
    Single,
    /// One pattern: quoted pattern characters get a backslash.
    Pattern,
    /// One regular expression: quoted special characters get a backslash.
    Regex,
    /// The replacement of `${x/p/r}`: quoted `&` and `\` get a backslash.
    Replacement,
}

/// A field under construction.
#[derive(Debug, Default)]
pub(crate) struct Field {
    text: Bytes,
    /// It has unquoted pattern characters.
    glob: bool,
    /// Backslashes were put in.
    escaped: bool,
    /// What the field is when no file matches, if an expansion gave a backslash, which only quotes in the pattern.
    literal: Option<Bytes>,
    /// It stays even if empty: something was quoted.
    keep: bool,
}

/// Collects the fields of one word.
#[derive(Debug)]
pub(crate) struct Builder {
    pub(crate) mode: Mode,
    fields: Vec<Field>,
    current: Option<Field>,
    ifs: Rc<Bytes>,
    extglob: bool,
    /// The field before ended at white space; a separator that follows belongs to the same break.
    after_space: bool,
}

fn is_pattern_byte(b: u8) -> bool {
    matches!(
        b,
        b'*' | b'?' | b'[' | b']' | b'\\' | b'(' | b')' | b'|' | b'!' | b'^' | b'-' | b'+' | b'@'
    )
}

fn is_regex_byte(b: u8) -> bool {
    matches!(
        b,
        b'*' | b'?'
            | b'['
            | b']'
            | b'\\'
            | b'('
            | b')'
            | b'|'
            | b'^'
            | b'+'
            | b'.'
            | b'$'
            | b'{'
            | b'}'
    )
}

impl Builder {
    fn new(mode: Mode, ifs: Rc<Bytes>, extglob: bool) -> Self {
        Self {
            mode,
            fields: Vec::new(),
            current: None,
            ifs,
            extglob,
            after_space: false,
        }
    }

    /// Whether elements of `$*` are joined without anything between them.
    pub(crate) fn ifs_is_empty(&self) -> bool {
        self.ifs.is_empty()
    }

    fn field(&mut self) -> &mut Field {
        self.after_space = false;
        self.current.get_or_insert_with(Field::default)
    }

    /// Quoted text.
    pub(crate) fn quoted(&mut self, text: &[u8]) {
        let mode = self.mode;
        let field = self.field();
        field.keep = true;
        if let Some(literal) = &mut field.literal {
            literal.extend_from_slice(text);
        }
        let special: fn(u8) -> bool = match mode {
            Mode::Single => {
                field.text.extend_from_slice(text);
                return;
            }
            Mode::Fields | Mode::Pattern => is_pattern_byte,
            Mode::Regex => is_regex_byte,
            Mode::Replacement => |b| matches!(b, b'&' | b'\\'),
        };
        for &b in text {
            if special(b) {
                field.text.push(b'\\');
                field.escaped = true;
            }
            field.text.push(b);
        }
    }

    /// Unquoted text of the script itself: not split.
    fn literal(&mut self, text: &[u8]) {
        let extglob = self.extglob;
        let fields = self.mode == Mode::Fields;
        let field = self.field();
        if fields {
            field.glob |= has_pattern(text, extglob);
            if let Some(literal) = &mut field.literal {
                literal.extend_from_slice(text);
            }
        }
        field.text.extend_from_slice(text);
    }

    /// The unquoted result of an expansion: split in [`Mode::Fields`].
    pub(crate) fn split(&mut self, text: &[u8]) {
        if self.mode != Mode::Fields {
            if !text.is_empty() {
                self.field().text.extend_from_slice(text);
            }
            return;
        }
        let ifs = Rc::clone(&self.ifs);
        let extglob = self.extglob;
        let mut rest = text;
        while !rest.is_empty() {
            let run = rest
                .iter()
                .position(|b| ifs.contains(b))
                .unwrap_or(rest.len());
            if run > 0 {
                let piece = &rest[..run];
                let field = self.field();
                field.glob |= has_pattern(piece, extglob);
                if piece.contains(&b'\\') && field.literal.is_none() {
                    field.literal = Some(pattern::unescape(&field.text));
                }
                if let Some(literal) = &mut field.literal {
                    literal.extend_from_slice(piece);
                }
                field.text.extend_from_slice(piece);
                rest = &rest[run..];
                continue;
            }
            let b = rest[0];
            rest = &rest[1..];
            if matches!(b, b' ' | b'\t' | b'\n') {
                if let Some(field) = self.current.take() {
                    self.fields.push(field);
                    self.after_space = true;
                }
            } else if self.after_space {
                self.after_space = false;
            } else {
                // A separator that is no white space ends a field even if nothing is in it.
                let mut field = self.current.take().unwrap_or_default();
                field.keep = true;
                self.fields.push(field);
            }
        }
    }

    /// The end of one element of `$@`: the field ends, if there is one.
    fn end_field(&mut self) {
        if let Some(field) = self.current.take() {
            self.fields.push(field);
        }
        self.after_space = false;
    }

    /// All elements of `"$@"` or `$@`.
    fn list(&mut self, items: &[Bytes], quoted: bool) {
        let separator = self.ifs.first().copied();
        for (at, item) in items.iter().enumerate() {
            match separator {
                _ if at == 0 => {}
                // Unquoted elements are as if joined and split again: with a visible separator empty ones stay.
                Some(separator) if !quoted => self.split(&[separator]),
                _ => self.end_field(),
            }
            if quoted {
                self.quoted(item);
            } else {
                self.split(item);
            }
        }
    }
}

fn has_pattern(text: &[u8], extglob: bool) -> bool {
    text.iter().any(|b| matches!(b, b'*' | b'?' | b'['))
        || extglob
            && text
                .windows(2)
                .any(|pair| matches!(pair[0], b'+' | b'@' | b'!') && pair[1] == b'(')
}

/// What a parameter stands for.
#[derive(Debug, Clone)]
pub(crate) enum Val {
    Unset,
    One(Bytes),
    /// `@` or, with `star`, `*`.
    Many {
        items: Vec<Bytes>,
        star: bool,
    },
}

impl Shell {
    pub(crate) fn ifs(&mut self) -> Rc<Bytes> {
        match self.get(b"IFS") {
            Some(ifs) => ifs,
            None => Rc::new(b" \t\n".to_vec()),
        }
    }

    /// The arguments of a command.
    pub(crate) fn expand_words(&mut self, words: &[Word]) -> Result<Vec<Bytes>, Flow> {
        let mut out = Vec::with_capacity(words.len());
        for word in words {
            self.expand_word(word, &mut out)?;
        }
        Ok(out)
    }

    /// All that one word of a command becomes.
    pub(crate) fn expand_word(&mut self, word: &Word, out: &mut Vec<Bytes>) -> Result<(), Flow> {
        if word.brace && self.on(opt::BRACEEXPAND) {
            let Some(words) = brace::expand(&word.parts) else {
                self.error(b"brace expansion: too many words");
                return Err(Flow::Discard(1));
            };
            if let Some(words) = words {
                for parts in words {
                    self.expand_parts(&parts, out)?;
                }
                return Ok(());
            }
        }
        self.expand_parts(&word.parts, out)
    }

    fn expand_parts(&mut self, parts: &[Part], out: &mut Vec<Bytes>) -> Result<(), Flow> {
        match parts {
            [Part::Quoted(text)] => {
                out.push(text.to_vec());
                return Ok(());
            }
            [Part::Lit(text)] if !has_pattern(text, true) => {
                out.push(text.to_vec());
                return Ok(());
            }
            _ => {}
        }
        let mut builder = self.builder(Mode::Fields);
        self.add_parts(&mut builder, parts, false, false)?;
        builder.end_field();
        for field in builder.fields {
            self.finish_field(field, out)?;
        }
        Ok(())
    }

    fn finish_field(&mut self, field: Field, out: &mut Vec<Bytes>) -> Result<(), Flow> {
        if field.glob && !self.on(opt::NOGLOB) {
            let extglob = self.shopt(shopt::EXTGLOB);
            if pattern::is_pattern(&field.text, extglob) {
                let found = glob::expand(self, &field.text);
                if !found.is_empty() {
                    out.extend(found);
                    return Ok(());
                }
                if self.shopt(shopt::FAILGLOB) {
                    let text = pattern::unescape(&field.text);
                    self.error(&[b"no match: ", text.as_slice()].concat());
                    return Err(Flow::Discard(1));
                }
                if self.shopt(shopt::NULLGLOB) {
                    return Ok(());
                }
            }
        }
        if field.text.is_empty() && !field.keep {
            return Ok(());
        }
        out.push(match field.literal {
            Some(literal) => literal,
            None if field.escaped => pattern::unescape(&field.text),
            None => field.text,
        });
        Ok(())
    }

    fn builder(&mut self, mode: Mode) -> Builder {
        let ifs = self.ifs();
        let extglob = self.shopt(shopt::EXTGLOB);
        Builder::new(mode, ifs, extglob)
    }

    fn one(&mut self, word: &Word, mode: Mode) -> Result<Bytes, Flow> {
        let mut builder = self.builder(mode);
        self.add_parts(&mut builder, &word.parts, false, false)?;
        Ok(builder.current.map(|field| field.text).unwrap_or_default())
    }

    /// One string without splitting or file names, as on the right of an assignment.
    pub(crate) fn expand_single(&mut self, word: &Word) -> Result<Bytes, Flow> {
        match word.parts.as_slice() {
            [] => Ok(Bytes::new()),
            [Part::Lit(text) | Part::Quoted(text)] => Ok(text.to_vec()),
            _ => self.one(word, Mode::Single),
        }
    }

    /// A pattern in which quoted characters are escaped.
    pub(crate) fn expand_pattern(&mut self, word: &Word) -> Result<Bytes, Flow> {
        self.one(word, Mode::Pattern)
    }

    pub(crate) fn expand_regex(&mut self, word: &Word) -> Result<Bytes, Flow> {
        self.one(word, Mode::Regex)
    }

    pub(crate) fn expand_replacement(&mut self, word: &Word) -> Result<Bytes, Flow> {
        self.one(word, Mode::Replacement)
    }

    /// Arithmetic text: everything as in double quotes.
    pub(crate) fn expand_arith_text(&mut self, parts: &[Part]) -> Result<Bytes, Flow> {
        let mut builder = self.builder(Mode::Single);
        self.add_parts(&mut builder, parts, true, false)?;
        Ok(builder.current.map(|field| field.text).unwrap_or_default())
    }

    /// Expands text that was not parsed as a word before: subscripts, prompts' pieces.
    pub(crate) fn expand_subscript_text(&mut self, text: &[u8]) -> Result<Bytes, Flow> {
        match parse_word_text(text, &Context::plain()) {
            Ok(word) => self.expand_single(&word),
            Err(_) => Ok(text.to_vec()),
        }
    }

    /// The compiled pattern of a word.
    pub(crate) fn pattern_of(
        &mut self,
        word: &Word,
        fold: bool,
        extglob: bool,
    ) -> Result<Pattern, Flow> {
        let text = self.expand_pattern(word)?;
        let syntax = Syntax {
            extglob: extglob || self.shopt(shopt::EXTGLOB),
            fold,
        };
        Ok(Pattern::new(&text, syntax))
    }

    // ---- parts -------------------------------------------------------------------------------------------------

    /// Adds parts; `quoted` inside double quotes, `operand` for the unquoted operand of `${x-…}`, whose text is split.
    pub(crate) fn add_parts(
        &mut self,
        builder: &mut Builder,
        parts: &[Part],
        quoted: bool,
        operand: bool,
    ) -> Result<(), Flow> {
        for part in parts {
            match part {
                Part::Lit(text) if quoted => builder.quoted(text),
                Part::Lit(text) if operand => builder.split(text),
                Part::Lit(text) => builder.literal(text),
                Part::Quoted(text) => builder.quoted(text),
                Part::Double(inner) => self.add_double(builder, inner)?,
                Part::Tilde(name) => self.add_tilde(builder, name),
                Part::Param(param) => self.add_param(builder, param, quoted)?,
                Part::Command(sub) => {
                    let text = self.command_output(sub)?;
                    if quoted {
                        builder.quoted(&text);
                    } else {
                        builder.split(&text);
                    }
                }
                Part::Arith(text) => {
                    let value = self.arith_part(text)?;
                    if quoted {
                        builder.quoted(&value);
                    } else {
                        builder.split(&value);
                    }
                }
                Part::Process(sub) => {
                    let path = self.process_substitution(sub)?;
                    builder.quoted(&path);
                }
            }
        }
        Ok(())
    }

    fn arith_part(&mut self, text: &ArithText) -> Result<Bytes, Flow> {
        Ok(self.arith(text, None)?.to_string().into_bytes())
    }

    /// `"…"`: it makes a field even when empty, unless all it holds is `$@` without elements.
    fn add_double(&mut self, builder: &mut Builder, parts: &[Part]) -> Result<(), Flow> {
        let only_lists = !parts.is_empty()
            && parts
                .iter()
                .all(|part| matches!(part, Part::Param(param) if param.is_at_list()));
        if !only_lists {
            builder.quoted(b"");
        }
        self.add_parts(builder, parts, true, false)
    }

    fn add_tilde(&mut self, builder: &mut Builder, name: &[u8]) {
        match self.tilde(name) {
            Some(path) => builder.quoted(&path),
            None => builder.literal(&[b"~", name].concat()),
        }
    }

    /// What `~name` stands for.
    pub(crate) fn tilde(&mut self, name: &[u8]) -> Option<Bytes> {
        match name {
            b"" => self.home().or_else(|| passwd_home(b"root")),
            b"+" => self.get(b"PWD").map(|text| text.to_vec()),
            b"-" => self.get(b"OLDPWD").map(|text| text.to_vec()),
            _ => {
                let digits = name
                    .strip_prefix(b"+")
                    .or_else(|| name.strip_prefix(b"-"))
                    .unwrap_or(name);
                if let Ok(number) = std::str::from_utf8(digits).unwrap_or("").parse::<usize>() {
                    let stack = self.dir_stack();
                    let at = if name.starts_with(b"-") {
                        stack.len().checked_sub(number + 1)?
                    } else {
                        number
                    };
                    return stack.get(at).cloned();
                }
                passwd_home(name)
            }
        }
    }

    /// Adds a value: split when unquoted, joined or in several fields when it is a list.
    pub(crate) fn add_value(builder: &mut Builder, value: Val, quoted: bool) {
        match value {
            Val::Unset => {}
            Val::One(text) if quoted => builder.quoted(&text),
            Val::One(text) => builder.split(&text),
            Val::Many { items, star } => {
                let separate = builder.mode == Mode::Fields && !(star && quoted);
                // Without separators in IFS, `$*` keeps its elements apart, too.
                if separate {
                    builder.list(&items, quoted);
                    return;
                }
                let separator: &[u8] = if star {
                    &builder.ifs.clone()[..builder.ifs.len().min(next_char(&builder.ifs).1)]
                } else {
                    b" "
                };
                let text = items.join(separator);
                if quoted {
                    builder.quoted(&text);
                } else {
                    builder.split(&text);
                }
            }
        }
    }
}

fn passwd_home(name: &[u8]) -> Option<Bytes> {
    let text = sys::read_file(b"/etc/passwd").ok()?;
    text.split(|&b| b == b'\n').find_map(|line| {
        let mut fields = line.split(|&b| b == b':');
        (fields.next()? == name).then(|| fields.nth(4).map(<[u8]>::to_vec))?
    })
}

/// Text after the attributes `-u`, `-l` or `-c` of `declare`.
pub(crate) fn change_case(text: &[u8], attrs: u16) -> Bytes {
    let Ok(valid) = std::str::from_utf8(text) else {
        return if attrs & attr::UPPER != 0 {
            text.to_ascii_uppercase()
        } else {
            text.to_ascii_lowercase()
        };
    };
    if attrs & attr::UPPER != 0 {
        valid.chars().map(upper).collect::<String>().into_bytes()
    } else if attrs & attr::LOWER != 0 {
        valid.chars().map(lower).collect::<String>().into_bytes()
    } else {
        let mut chars = valid.chars();
        let first = chars.next().map(upper);
        first
            .into_iter()
            .chain(chars.map(lower))
            .collect::<String>()
            .into_bytes()
    }
}

/// The upper-case twin, when it is a single character as in the C library.
pub(crate) fn upper(c: char) -> char {
    let mut all = c.to_uppercase();
    match (all.next(), all.next()) {
        (Some(one), None) => one,
        _ => c,
    }
}

/// The lower-case twin, likewise.
pub(crate) fn lower(c: char) -> char {
    let mut all = c.to_lowercase();
    match (all.next(), all.next()) {
        (Some(one), None) => one,
        _ => c,
    }
}
