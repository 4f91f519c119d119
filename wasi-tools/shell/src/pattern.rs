//! Shell patterns: `*`, `?`, brackets and the extended operators.
//!
//! A pattern is matched by carrying the *set* of positions it can have reached from token to token. So the work is bounded by
//! the lengths of pattern and text, whatever the pattern; there is no backtracking that could explode.

use crate::ast::Bytes;

/// A compiled pattern.
#[derive(Debug, Clone)]
pub(crate) struct Pattern {
    tokens: Vec<Token>,
    fold: bool,
}

#[derive(Debug, Clone)]
enum Token {
    Text(Bytes),
    Any,
    Star,
    Class(Class),
    Group(u8, Vec<Vec<Self>>),
}

/// A bracket expression.
#[derive(Debug, Clone, Default)]
pub(crate) struct Class {
    negate: bool,
    ranges: Vec<(u32, u32)>,
    names: Vec<Bytes>,
}

/// Syntax that depends on options.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Syntax {
    pub(crate) extglob: bool,
    pub(crate) fold: bool,
}

/// The character at the start of `text` and its length in bytes; a byte that is not UTF-8 counts as one character.
pub(crate) fn next_char(text: &[u8]) -> (u32, usize) {
    let first = text.first().copied().unwrap_or(0);
    let length = match first {
        0..=0x7f => return (u32::from(first), 1),
        0xc2..=0xdf => 2,
        0xe0..=0xef => 3,
        0xf0..=0xf4 => 4,
        _ => return (0x11_0000 + u32::from(first), 1),
    };
    match text
        .get(..length)
        .and_then(|bytes| std::str::from_utf8(bytes).ok())
        .and_then(|s| s.chars().next())
    {
        Some(c) => (u32::from(c), length),
        None => (0x11_0000 + u32::from(first), 1),
    }
}

/// Number of characters.
pub(crate) fn char_count(text: &[u8]) -> usize {
    if text.is_ascii() {
        return text.len();
    }
    let mut at = 0;
    let mut count = 0;
    while at < text.len() {
        at += next_char(&text[at..]).1;
        count += 1;
    }
    count
}

/// The byte offset of character number `index`, at most the length.
pub(crate) fn char_offset(text: &[u8], index: usize) -> usize {
    if text.is_ascii() {
        return index.min(text.len());
    }
    let mut at = 0;
    for _ in 0..index {
        if at >= text.len() {
            break;
        }
        at += next_char(&text[at..]).1;
    }
    at
}

fn fold_char(c: u32) -> u32 {
    char::from_u32(c).map_or(c, |c| {
        let mut lower = c.to_lowercase();
        match (lower.next(), lower.next()) {
            (Some(one), None) => u32::from(one),
            _ => u32::from(c),
        }
    })
}

impl Class {
    /// Parses from after `[`; the class and the bytes taken, or nothing when it does not close.
    pub(crate) fn parse(text: &[u8], backslash: bool) -> Option<(Self, usize)> {
        let mut class = Self::default();
        let mut at = 0;
        if matches!(text.first(), Some(b'!' | b'^')) {
            class.negate = true;
            at = 1;
        }
        let first = at;
        loop {
            let b = *text.get(at)?;
            if b == b']' && at > first {
                return Some((class, at + 1));
            }
            if b == b'[' && matches!(text.get(at + 1), Some(b':' | b'=' | b'.')) {
                let kind = text[at + 1];
                if let Some(length) = text[at + 2..].windows(2).position(|w| w == [kind, b']']) {
                    let name = &text[at + 2..at + 2 + length];
                    at += length + 4;
                    if kind == b':' {
                        class.names.push(name.to_vec());
                        continue;
                    }
                    let (c, used) = next_char(name);
                    if used == name.len() {
                        class.push_range(c, text, &mut at, backslash);
                    }
                    continue;
                }
            }
            let mut from = at;
            if b == b'\\' && backslash && at + 1 < text.len() {
                from += 1;
            }
            let (c, used) = next_char(&text[from..]);
            at = from + used;
            class.push_range(c, text, &mut at, backslash);
        }
    }

    /// Adds `c`, or the range from it when `-x` follows.
    fn push_range(&mut self, c: u32, text: &[u8], at: &mut usize, backslash: bool) {
        let mut last = c;
        if text.get(*at) == Some(&b'-') && text.get(*at + 1).is_some_and(|&b| b != b']') {
            let mut from = *at + 1;
            if text[from] == b'[' && text.get(from + 1) == Some(&b'.') {
                if let Some(length) = text[from + 2..].windows(2).position(|w| w == b".]") {
                    last = next_char(&text[from + 2..from + 2 + length]).0;
                    *at = from + length + 4;
                }
            } else {
                if text[from] == b'\\' && backslash && from + 1 < text.len() {
                    from += 1;
                }
                let (end, used) = next_char(&text[from..]);
                last = end;
                *at = from + used;
            }
        }
        self.ranges.push((c, last));
    }

    /// Whether the class takes `c`.
    pub(crate) fn matches(&self, c: u32, fold: bool) -> bool {
        let inside = |c: u32| {
            self.ranges.iter().any(|&(from, to)| from <= c && c <= to)
                || self.names.iter().any(|name| named_class(name, c))
        };
        let hit = inside(c) || fold && (inside(fold_char(c)) || inside(upper_char(c)));
        hit != self.negate
    }
}

fn upper_char(c: u32) -> u32 {
    char::from_u32(c).map_or(c, |c| {
        let mut upper = c.to_uppercase();
        match (upper.next(), upper.next()) {
            (Some(one), None) => u32::from(one),
            _ => u32::from(c),
        }
    })
}

/// `[:name:]`
pub(crate) fn named_class(name: &[u8], c: u32) -> bool {
    let Some(c) = char::from_u32(c) else {
        return false;
    };
    match name {
        b"alpha" => c.is_alphabetic(),
        b"digit" => c.is_ascii_digit(),
        b"alnum" => c.is_alphanumeric(),
        b"upper" => c.is_uppercase(),
        b"lower" => c.is_lowercase(),
        b"space" => c.is_ascii_whitespace() || c == '\x0b' || !c.is_ascii() && c.is_whitespace(),
        b"blank" => c == ' ' || c == '\t',
        b"punct" => {
            c.is_ascii_punctuation()
                || !c.is_ascii() && !c.is_alphanumeric() && !c.is_whitespace() && !c.is_control()
        }
        b"cntrl" => c.is_control(),
        b"xdigit" => c.is_ascii_hexdigit(),
        b"print" => !c.is_control(),
        b"graph" => !c.is_control() && !c.is_whitespace(),
        b"word" => c.is_alphanumeric() || c == '_',
        b"ascii" => c.is_ascii(),
        _ => false,
    }
}

/// Whether `text` holds anything but literal text (a backslash escape alone does not count).
pub(crate) fn is_pattern(text: &[u8], extglob: bool) -> bool {
    let mut at = 0;
    while at < text.len() {
        match text[at] {
            b'\\' => at += 1,
            b'*' | b'?' => return true,
            b'[' if Class::parse(&text[at + 1..], true).is_some() => return true,
            b'+' | b'@' | b'!' if extglob && text.get(at + 1) == Some(&b'(') => return true,
            _ => {}
        }
        at += 1;
    }
    false
}

/// `text` with its escapes removed.
pub(crate) fn unescape(text: &[u8]) -> Bytes {
    let mut out = Bytes::with_capacity(text.len());
    let mut at = 0;
    while at < text.len() {
        if text[at] == b'\\' && at + 1 < text.len() {
            at += 1;
        }
        out.push(text[at]);
        at += 1;
    }
    out
}

impl Pattern {
    /// Compiles a pattern in which a backslash quotes the character after it.
    pub(crate) fn new(text: &[u8], syntax: Syntax) -> Self {
        let mut at = 0;
        let tokens = compile(text, &mut at, syntax, false, 0);
        Self {
            tokens,
            fold: syntax.fold,
        }
    }

    /// The text, when the pattern matches exactly that.
    pub(crate) fn as_literal(&self) -> Option<&[u8]> {
        match self.tokens.as_slice() {
            [] => Some(b""),
            [Token::Text(text)] if !self.fold => Some(text),
            _ => None,
        }
    }

    /// Whether the whole of `text` matches.
    pub(crate) fn matches(&self, text: &[u8]) -> bool {
        if let Some(literal) = self.as_literal() {
            return literal == text;
        }
        self.ends(text, 0).last() == Some(&text.len())
    }

    /// The lengths of the prefixes that match from `start`, in order, as end offsets.
    pub(crate) fn ends(&self, text: &[u8], start: usize) -> Vec<usize> {
        run(&self.tokens, text, vec![start], self.fold)
    }

    /// The end of the longest match from `start`.
    pub(crate) fn longest(&self, text: &[u8], start: usize) -> Option<usize> {
        match self.tokens.first() {
            Some(Token::Text(first)) if !self.fold && !text[start..].starts_with(first) => None,
            _ => self.ends(text, start).last().copied(),
        }
    }

    /// The end of the shortest match from `start`.
    pub(crate) fn shortest(&self, text: &[u8], start: usize) -> Option<usize> {
        self.ends(text, start).first().copied()
    }

    /// The start of the longest (or shortest) suffix that matches.
    pub(crate) fn suffix(&self, text: &[u8], longest: bool) -> Option<usize> {
        let whole = |&at: &usize| match self.tokens.first() {
            Some(Token::Text(first)) if !self.fold && !text[at..].starts_with(first) => false,
            _ => self.ends(text, at).last() == Some(&text.len()),
        };
        let mut starts = Vec::new();
        let mut at = 0;
        while at < text.len() {
            starts.push(at);
            at += next_char(&text[at..]).1;
        }
        starts.push(text.len());
        if longest {
            starts.iter().copied().find(whole)
        } else {
            starts.iter().rev().copied().find(whole)
        }
    }
}

fn compile(text: &[u8], at: &mut usize, syntax: Syntax, in_group: bool, depth: u32) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut literal = Bytes::new();
    let flush = |literal: &mut Bytes, tokens: &mut Vec<Token>| {
        if !literal.is_empty() {
            tokens.push(Token::Text(std::mem::take(literal)));
        }
    };
    while *at < text.len() {
        let b = text[*at];
        if in_group && matches!(b, b'|' | b')') {
            break;
        }
        *at += 1;
        let group = syntax.extglob
            && depth < 100
            && matches!(b, b'?' | b'*' | b'+' | b'@' | b'!')
            && text.get(*at) == Some(&b'(');
        if group && let Some(alternatives) = compile_group(text, at, syntax, depth) {
            flush(&mut literal, &mut tokens);
            tokens.push(Token::Group(b, alternatives));
            continue;
        }
        match b {
            b'\\' if *at < text.len() => {
                literal.push(text[*at]);
                *at += 1;
            }
            b'*' => {
                flush(&mut literal, &mut tokens);
                if !matches!(tokens.last(), Some(Token::Star)) {
                    tokens.push(Token::Star);
                }
            }
            b'?' => {
                flush(&mut literal, &mut tokens);
                tokens.push(Token::Any);
            }
            b'[' => match Class::parse(&text[*at..], true) {
                Some((class, used)) => {
                    flush(&mut literal, &mut tokens);
                    tokens.push(Token::Class(class));
                    *at += used;
                }
                None => literal.push(b),
            },
            _ => literal.push(b),
        }
    }
    flush(&mut literal, &mut tokens);
    tokens
}

/// The alternatives of `(…|…)`; nothing, and no advance, when it does not close.
fn compile_group(
    text: &[u8],
    at: &mut usize,
    syntax: Syntax,
    depth: u32,
) -> Option<Vec<Vec<Token>>> {
    let mut inner = *at + 1;
    let mut alternatives = Vec::new();
    loop {
        alternatives.push(compile(text, &mut inner, syntax, true, depth + 1));
        match text.get(inner) {
            Some(b'|') => inner += 1,
            Some(b')') => {
                *at = inner + 1;
                return Some(alternatives);
            }
            _ => return None,
        }
    }
}

fn starts_with_folded(text: &[u8], prefix: &[u8]) -> Option<usize> {
    let (mut a, mut b) = (0, 0);
    while b < prefix.len() {
        if a >= text.len() {
            return None;
        }
        let (x, used_x) = next_char(&text[a..]);
        let (y, used_y) = next_char(&prefix[b..]);
        if fold_char(x) != fold_char(y) {
            return None;
        }
        a += used_x;
        b += used_y;
    }
    Some(a)
}

/// Where `tokens` can end when they start at any of `from`; sorted, without duplicates.
fn run(tokens: &[Token], text: &[u8], from: Vec<usize>, fold: bool) -> Vec<usize> {
    let mut set = from;
    for token in tokens {
        if set.is_empty() {
            break;
        }
        set = match token {
            Token::Text(literal) if fold => set
                .into_iter()
                .filter_map(|p| starts_with_folded(&text[p..], literal).map(|n| p + n))
                .collect(),
            Token::Text(literal) => set
                .into_iter()
                .filter(|&p| text[p..].starts_with(literal))
                .map(|p| p + literal.len())
                .collect(),
            Token::Any => set
                .into_iter()
                .filter(|&p| p < text.len())
                .map(|p| p + next_char(&text[p..]).1)
                .collect(),
            Token::Class(class) => set
                .into_iter()
                .filter(|&p| p < text.len())
                .filter_map(|p| {
                    let (c, used) = next_char(&text[p..]);
                    class.matches(c, fold).then_some(p + used)
                })
                .collect(),
            Token::Star => all_from(text, set[0]),
            Token::Group(kind, alternatives) => group(*kind, alternatives, text, set, fold),
        };
    }
    set
}

/// All character boundaries from `start`.
fn all_from(text: &[u8], start: usize) -> Vec<usize> {
    let mut all = Vec::with_capacity(text.len() - start + 1);
    let mut at = start;
    while at < text.len() {
        all.push(at);
        at += next_char(&text[at..]).1;
    }
    all.push(text.len());
    all
}

fn union(alternatives: &[Vec<Token>], text: &[u8], from: &[usize], fold: bool) -> Vec<usize> {
    let mut all: Vec<usize> = alternatives
        .iter()
        .flat_map(|tokens| run(tokens, text, from.to_vec(), fold))
        .collect();
    all.sort_unstable();
    all.dedup();
    all
}

fn group(
    kind: u8,
    alternatives: &[Vec<Token>],
    text: &[u8],
    from: Vec<usize>,
    fold: bool,
) -> Vec<usize> {
    match kind {
        b'@' => union(alternatives, text, &from, fold),
        b'!' => {
            let mut all = Vec::new();
            for &start in &from {
                let taken = union(alternatives, text, &[start], fold);
                all.extend(
                    all_from(text, start)
                        .into_iter()
                        .filter(|end| taken.binary_search(end).is_err()),
                );
            }
            all.sort_unstable();
            all.dedup();
            all
        }
        _ => {
            // `?`, `*` and `+`: once, or until nothing new is reached.
            let mut all = if kind == b'+' {
                Vec::new()
            } else {
                from.clone()
            };
            let mut fresh = from;
            loop {
                let mut next = union(alternatives, text, &fresh, fold);
                next.retain(|end| all.binary_search(end).is_err());
                if next.is_empty() {
                    return all;
                }
                all.extend_from_slice(&next);
                all.sort_unstable();
                if kind == b'?' {
                    return all;
                }
                fresh = next;
            }
        }
    }
}
