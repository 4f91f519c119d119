//! `${…}`

use std::rc::Rc;

use crate::ast::{ArithText, Bytes, Index, Param, ParamName, ParamOp, Presence, SubstKind, Word};
use crate::escape;
use crate::expand::{Builder, Val, lower, upper};
use crate::options::{SET_OPTIONS, opt, shopt};
use crate::parser::{Context, is_name, parse_word_text};
use crate::pattern::{Pattern, char_count, char_offset, next_char};
use crate::shell::{Flow, Shell};
use crate::shell_vars::{DYNAMIC, Key};
use crate::vars::{Value, attr};

impl Param {
    /// Whether the expansion is a list that can be empty in double quotes.
    pub(crate) fn is_at_list(&self) -> bool {
        let at =
            matches!(self.name, ParamName::Special(b'@')) || matches!(self.index, Some(Index::At));
        match self.op {
            ParamOp::Keys { star } | ParamOp::Names { star } => !star,
            ParamOp::Length | ParamOp::Bad => false,
            _ => at,
        }
    }

    fn shown_name(&self) -> Bytes {
        match &self.name {
            ParamName::Variable(name) => match &self.index {
                Some(Index::Expr(word)) => [name.as_slice(), b"[", &word.raw, b"]"].concat(),
                Some(Index::At) => [name.as_slice(), b"[@]"].concat(),
                Some(Index::Star) => [name.as_slice(), b"[*]"].concat(),
                None => name.clone(),
            },
            ParamName::Positional(number) => number.to_string().into_bytes(),
            ParamName::Special(b) => vec![*b],
        }
    }
}

impl Shell {
    /// Adds the value of a parameter expansion.
    pub(crate) fn add_param(
        &mut self,
        builder: &mut Builder,
        param: &Param,
        quoted: bool,
    ) -> Result<(), Flow> {
        // The common case by itself: a plain variable.
        if let (ParamName::Variable(name), None, ParamOp::None, false) =
            (&param.name, &param.index, &param.op, param.indirect)
            && let Some(value) = self.get(name)
        {
            if quoted {
                builder.quoted(&value);
            } else {
                builder.split(&value);
            }
            return Ok(());
        }
        if matches!(param.op, ParamOp::Bad) {
            self.error(&[&param.raw, b": bad substitution".as_slice()].concat());
            return Err(Flow::Discard(1));
        }
        if let ParamOp::Presence { kind, colon, word } = &param.op {
            return self.presence(builder, param, quoted, (*kind, *colon, word));
        }
        let value = self.param_result(param)?;
        Self::add_value(builder, value, quoted);
        Ok(())
    }

    fn presence(
        &mut self,
        builder: &mut Builder,
        param: &Param,
        quoted: bool,
        op: (Presence, bool, &Word),
    ) -> Result<(), Flow> {
        let (kind, colon, word) = op;
        let value = self.param_value(param)?;
        let missing = match &value {
            Val::Unset => true,
            Val::One(text) => colon && text.is_empty(),
            Val::Many { items, star } => {
                let joined_is_empty = items.iter().all(Vec::is_empty)
                    && (items.len() == 1 || *star && builder.ifs_is_empty());
                items.is_empty() || colon && joined_is_empty
            }
        };
        match (kind, missing) {
            (Presence::Alternative, true) => Ok(()),
            (Presence::Alternative, false) | (Presence::Default, true) => {
                self.add_parts(builder, &word.parts, quoted, true)
            }
            (_, false) => {
                Self::add_value(builder, value, quoted);
                Ok(())
            }
            (Presence::Assign, true) => {
                let text = self.expand_single(word)?;
                self.assign_param(param, text)?;
                let value = self.param_value(param)?;
                Self::add_value(builder, value, quoted);
                Ok(())
            }
            (Presence::Error, true) => {
                let mut text = self.expand_single(word)?;
                if word.parts.is_empty() {
                    text = if colon {
                        b"parameter null or not set".to_vec()
                    } else {
                        b"parameter not set".to_vec()
                    };
                }
                self.error(&[&param.shown_name(), b": ".as_slice(), &text].concat());
                Err(self.fatal_expansion())
            }
        }
    }

    /// The end of a shell that is not interactive after an unset parameter.
    pub(crate) fn fatal_expansion(&self) -> Flow {
        if self.interactive {
            Flow::Discard(1)
        } else {
            Flow::Exit(if self.st.subshell == 0 && self.command_string {
                127
            } else {
                1
            })
        }
    }

    fn assign_param(&mut self, param: &Param, text: Bytes) -> Result<(), Flow> {
        let (name, index) = self.param_target(param)?;
        match name {
            ParamName::Variable(name) => {
                let key = match index {
                    Some(word) => Some(self.key_of_word(&name, &word)?),
                    None => None,
                };
                self.assign(&name, key, text, false)
            }
            other => {
                let shown = match other {
                    ParamName::Positional(number) => number.to_string().into_bytes(),
                    ParamName::Special(b) => vec![b],
                    ParamName::Variable(name) => name,
                };
                self.error(&[b"$".as_slice(), &shown, b": cannot assign in this way"].concat());
                Err(Flow::Discard(1))
            }
        }
    }

    /// The subscript of a word for `name`.
    pub(crate) fn key_of_word(&mut self, name: &[u8], word: &Word) -> Result<Key, Flow> {
        if self.lookup(name).is_some_and(|var| var.is_assoc()) {
            return Ok(Key::Text(self.expand_single(word)?));
        }
        let text = self.expand_single(word)?;
        Ok(Key::Index(self.arith_value(&text)?))
    }

    /// Name and subscript after indirection.
    fn param_target(&mut self, param: &Param) -> Result<(ParamName, Option<Word>), Flow> {
        let index = match &param.index {
            Some(Index::Expr(word)) => Some(word.clone()),
            _ => None,
        };
        if !param.indirect {
            return Ok((param.name.clone(), index));
        }
        let direct = Param {
            name: param.name.clone(),
            index: index.map(Index::Expr),
            indirect: false,
            op: ParamOp::None,
            raw: Rc::clone(&param.raw),
        };
        let text = match self.param_value(&direct)? {
            Val::One(text) => text,
            _ => Bytes::new(),
        };
        let (name, index) = self.named_by(&text, param)?;
        let index = match index {
            Some(Index::Expr(word)) => Some(word),
            _ => None,
        };
        Ok((name, index))
    }

    /// The parameter that `text` names, for `${!x}`.
    fn named_by(&mut self, text: &[u8], param: &Param) -> Result<(ParamName, Option<Index>), Flow> {
        if let Some(open) = text
            .iter()
            .position(|&b| b == b'[')
            .filter(|&open| text.ends_with(b"]") && is_name(&text[..open]))
        {
            let inner = &text[open + 1..text.len() - 1];
            let index = match inner {
                b"@" => Index::At,
                b"*" => Index::Star,
                _ => Index::Expr(
                    parse_word_text(inner, &Context::plain())
                        .unwrap_or_else(|_| Word::literal(inner)),
                ),
            };
            return Ok((ParamName::Variable(text[..open].to_vec()), Some(index)));
        }
        if is_name(text) {
            return Ok((ParamName::Variable(text.to_vec()), None));
        }
        if let Ok(number) = std::str::from_utf8(text).unwrap_or("").parse::<usize>() {
            return Ok((ParamName::Positional(number), None));
        }
        if let [b @ (b'@' | b'*' | b'#' | b'?' | b'-' | b'$' | b'!')] = text {
            return Ok((ParamName::Special(*b), None));
        }
        if text.is_empty() {
            self.error(
                &[
                    &param.shown_name(),
                    b": invalid indirect expansion".as_slice(),
                ]
                .concat(),
            );
        } else {
            self.error(&[text, b": invalid variable name"].concat());
        }
        Err(Flow::Discard(1))
    }

    /// The value before any operator.
    pub(crate) fn param_value(&mut self, param: &Param) -> Result<Val, Flow> {
        if param.indirect {
            if let (ParamName::Variable(name), None) = (&param.name, &param.index)
                && self.is_nameref(name)
            {
                // The name that the last of a chain of namerefs refers to.
                let (target, index) = self.resolve(name);
                return Ok(match index {
                    Some(index) => Val::One([target.as_slice(), b"[", &index, b"]"].concat()),
                    None if target == *name => Val::Unset,
                    None => Val::One(target),
                });
            }
            let direct_index = match &param.index {
                Some(Index::Expr(word)) => Some(Index::Expr(word.clone())),
                Some(Index::At) => Some(Index::At),
                Some(Index::Star) => Some(Index::Star),
                None => None,
            };
            let text = match self.value_of(&param.name, direct_index.as_ref())? {
                Val::One(text) => text,
                Val::Many { items, .. } if items.is_empty() => return Ok(Val::Unset),
                Val::Many { items, .. } => items.join(&b' '),
                Val::Unset => {
                    if let ParamName::Variable(name) = &param.name
                        && param.index.is_none()
                        && self.st.vars.get(name).is_some()
                    {
                        // It is there but has no value: so has what it refers to.
                        return Ok(Val::Unset);
                    }
                    Bytes::new()
                }
            };
            let (name, index) = self.named_by(&text, param)?;
            return self.value_of(&name, index.as_ref());
        }
        self.value_of(&param.name, param.index.as_ref())
    }

    fn value_of(&mut self, name: &ParamName, index: Option<&Index>) -> Result<Val, Flow> {
        Ok(match name {
            ParamName::Positional(0) => Val::One(self.st.name.clone()),
            ParamName::Positional(number) => self
                .st
                .params
                .get(number - 1)
                .map_or(Val::Unset, |text| Val::One(text.clone())),
            ParamName::Special(b) => self.special_value(*b),
            ParamName::Variable(name) => match index {
                None if name == b"_" => Val::One(self.st.last_arg.clone()),
                None => {
                    // A nameref may lead to all elements of an array.
                    if self
                        .st
                        .vars
                        .get(name)
                        .is_some_and(|var| var.has(attr::NAMEREF))
                    {
                        let (target, index) = self.resolve(name);
                        if let Some(star) = index.and_then(|index| {
                            (index == b"@" || index == b"*").then(|| index == b"*")
                        }) {
                            let items = self
                                .lookup(&target)
                                .map(|var| var.elements())
                                .unwrap_or_default();
                            return Ok(Val::Many { items, star });
                        }
                    }
                    self.get(name)
                        .map_or(Val::Unset, |text| Val::One(text.to_vec()))
                }
                Some(Index::At | Index::Star) => {
                    let items = self
                        .lookup(name)
                        .map(|var| var.elements())
                        .unwrap_or_default();
                    Val::Many {
                        items,
                        star: matches!(index, Some(Index::Star)),
                    }
                }
                Some(Index::Expr(word)) => {
                    let key = self.key_of_word(name, word)?;
                    if let Key::Index(number @ i64::MIN..=-1) = key {
                        let count = self.lookup(name).map_or(0, |var| match &var.value {
                            Value::Indexed(map) => {
                                map.keys().next_back().map_or(0, |last| last + 1)
                            }
                            Value::Str(_) => 1,
                            _ => 0,
                        });
                        if count + number < 0 {
                            self.error(&[name.as_slice(), b": bad array subscript"].concat());
                            return Ok(Val::Unset);
                        }
                    }
                    self.get_element(name, &key).map_or(Val::Unset, Val::One)
                }
            },
        })
    }

    fn special_value(&mut self, b: u8) -> Val {
        let number = |n: i64| Val::One(n.to_string().into_bytes());
        match b {
            b'@' | b'*' => Val::Many {
                items: self.st.params.to_vec(),
                star: b == b'*',
            },
            b'#' => number(i64::try_from(self.st.params.len()).unwrap_or(0)),
            b'?' => number(i64::from(self.st.status)),
            b'$' => number(i64::from(self.pid)),
            b'!' if self.st.last_background == 0 => Val::Unset,
            b'!' => number(i64::from(self.st.last_background)),
            _ => Val::One(self.dash()),
        }
    }

    /// `$-`
    pub(crate) fn dash(&self) -> Bytes {
        let mut letters: Bytes = SET_OPTIONS
            .iter()
            .filter(|(_, letter, bit)| *letter != 0 && self.on(*bit))
            .map(|(_, letter, _)| *letter)
            .collect();
        letters.sort_unstable_by_key(|b| (b.is_ascii_uppercase(), *b));
        if self.interactive {
            letters.push(b'i');
        }
        if self.command_string {
            letters.push(b'c');
        }
        if self.reads_stdin {
            letters.push(b's');
        }
        letters
    }

    /// The value after the operator.
    fn param_result(&mut self, param: &Param) -> Result<Val, Flow> {
        match &param.op {
            ParamOp::Names { star } => {
                let ParamName::Variable(prefix) = &param.name else {
                    return Ok(Val::Unset);
                };
                let mut names = self.st.vars.names();
                for special in DYNAMIC {
                    if !names.iter().any(|name| &**name == special.as_bytes())
                        && self.dynamic(special.as_bytes()).is_some()
                    {
                        names.push(special.as_bytes().into());
                    }
                }
                names.sort_unstable();
                let items = names
                    .iter()
                    .filter(|name| {
                        name.starts_with(prefix)
                            && self.st.vars.get(name).is_none_or(crate::vars::Var::is_set)
                    })
                    .map(|name| name.to_vec())
                    .collect();
                return Ok(Val::Many { items, star: *star });
            }
            ParamOp::Keys { star } => {
                let ParamName::Variable(name) = &param.name else {
                    return Ok(Val::Unset);
                };
                let items = self.lookup(name).map(|var| var.keys()).unwrap_or_default();
                return Ok(Val::Many { items, star: *star });
            }
            _ => {}
        }
        let mut value = self.param_value(param)?;
        if let ParamName::Variable(name) = &param.name
            && (param.index.is_some() || matches!(param.op, ParamOp::Length))
            && !param.indirect
            && self.is_nameref(name)
            && self.resolve(name).1.is_some()
        {
            // bash looks for a variable with brackets in its name, and finds none.
            value = match value {
                Val::Many { star, .. } => Val::Many {
                    items: Vec::new(),
                    star,
                },
                _ => Val::One(Bytes::new()),
            };
        }
        if matches!(value, Val::Unset)
            && self.on(opt::NOUNSET)
            && !matches!(param.op, ParamOp::Transform(b'a' | b'A'))
        {
            let dollar: &[u8] = if matches!(param.name, ParamName::Positional(_)) {
                b"$"
            } else {
                b""
            };
            self.error(&[dollar, &param.shown_name(), b": unbound variable"].concat());
            return Err(self.fatal_expansion());
        }
        match &param.op {
            ParamOp::Length => {
                let length = match value {
                    Val::Unset => 0,
                    Val::One(text) => char_count(&text),
                    Val::Many { items, .. } => items.len(),
                };
                Ok(Val::One(length.to_string().into_bytes()))
            }
            ParamOp::RemovePrefix { longest, pattern } => {
                let pattern = self.pattern_of(pattern, false, false)?;
                Ok(map(value, |text| {
                    let end = if *longest {
                        pattern.longest(&text, 0)
                    } else {
                        pattern.shortest(&text, 0)
                    };
                    text[end.unwrap_or(0)..].to_vec()
                }))
            }
            ParamOp::RemoveSuffix { longest, pattern } => {
                let pattern = self.pattern_of(pattern, false, false)?;
                Ok(map(value, |mut text| {
                    if let Some(start) = pattern.suffix(&text, *longest) {
                        text.truncate(start);
                    }
                    text
                }))
            }
            ParamOp::Subst {
                kind,
                pattern,
                with,
            } => {
                let fold = self.shopt(shopt::NOCASEMATCH);
                let pattern = self.pattern_of(pattern, fold, false)?;
                let with = if self.shopt(shopt::PATSUB_REPLACEMENT) {
                    self.expand_replacement(with)?
                } else {
                    // Without the option an ampersand is nothing special.
                    self.expand_single(with)?
                        .iter()
                        .flat_map(|&b| {
                            if matches!(b, b'&' | b'\\') {
                                vec![b'\\', b]
                            } else {
                                vec![b]
                            }
                        })
                        .collect()
                };
                Ok(map(value, |text| substitute(&text, &pattern, &with, *kind)))
            }
            ParamOp::Case { op, all, pattern } => {
                let pattern = if pattern.parts.is_empty() {
                    None
                } else {
                    Some(self.pattern_of(pattern, false, false)?)
                };
                Ok(map(value, |text| {
                    case_op(&text, *op, *all, pattern.as_ref())
                }))
            }
            ParamOp::Slice { offset, length } => self.slice(param, value, offset, length.as_ref()),
            ParamOp::Transform(op) => self.transform(param, value, *op),
            _ => Ok(value),
        }
    }

    fn slice(
        &mut self,
        param: &Param,
        value: Val,
        offset: &ArithText,
        length: Option<&ArithText>,
    ) -> Result<Val, Flow> {
        let offset = self.arith(offset, None)?;
        let length_text = length;
        let length = match length {
            Some(text) => Some(self.arith(text, None)?),
            None => None,
        };
        match value {
            Val::Unset => Ok(Val::Unset),
            Val::One(text) => {
                let count = i64::try_from(char_count(&text)).unwrap_or(i64::MAX);
                let start = if offset < 0 { count + offset } else { offset };
                if start < 0 || start > count {
                    return Ok(Val::One(Bytes::new()));
                }
                let end = match length {
                    None => count,
                    Some(length) if length < 0 => {
                        let end = count + length;
                        if end < start {
                            let shown = length_text
                                .map(|text| text.raw.to_vec())
                                .unwrap_or_default();
                            self.error(&[shown.as_slice(), b": substring expression < 0"].concat());
                            return Err(Flow::Discard(1));
                        }
                        end
                    }
                    Some(length) => start.saturating_add(length).min(count),
                };
                let from = char_offset(&text, usize::try_from(start).unwrap_or(0));
                let to = char_offset(&text, usize::try_from(end).unwrap_or(0));
                Ok(Val::One(text[from..to].to_vec()))
            }
            Val::Many { mut items, star } => {
                if length.is_some_and(|length| length < 0) {
                    let shown = length_text
                        .map(|text| text.raw.to_vec())
                        .unwrap_or_default();
                    self.error(&[shown.as_slice(), b": substring expression < 0"].concat());
                    return Err(Flow::Discard(1));
                }
                let mut start = offset;
                if let ParamName::Variable(name) = &param.name {
                    // The offset counts subscripts, not elements.
                    if let Some(Value::Indexed(map)) = self.lookup(name).map(|var| var.value) {
                        if start < 0 {
                            start += map.keys().next_back().map_or(0, |last| last + 1);
                        }
                        if start < 0 {
                            return Ok(Val::Many {
                                items: Vec::new(),
                                star,
                            });
                        }
                        start = i64::try_from(map.range(..start).count()).unwrap_or(i64::MAX);
                    } else if start > 0 {
                        start = if self.lookup(name).is_some_and(|v| v.is_assoc()) {
                            start - 1
                        } else {
                            start
                        };
                    }
                } else {
                    items.insert(0, self.st.name.clone());
                    if offset < 0 && offset.unsigned_abs() > u64::try_from(items.len()).unwrap_or(0)
                    {
                        return Ok(Val::Many {
                            items: Vec::new(),
                            star,
                        });
                    }
                }
                let count = i64::try_from(items.len()).unwrap_or(i64::MAX);
                if start < 0 {
                    start += count;
                }
                if start < 0 || start >= count {
                    return Ok(Val::Many {
                        items: Vec::new(),
                        star,
                    });
                }
                let end = length.map_or(count, |length| start.saturating_add(length).min(count));
                let range = usize::try_from(start).unwrap_or(0)..usize::try_from(end).unwrap_or(0);
                Ok(Val::Many {
                    items: items.get(range).unwrap_or(&[]).to_vec(),
                    star,
                })
            }
        }
    }

    fn transform(&mut self, param: &Param, value: Val, op: u8) -> Result<Val, Flow> {
        let (name, _) = self.param_target(param)?;
        match op {
            b'Q' => Ok(map(value, |text| escape::transform_quote(&text))),
            b'E' => Ok(map(value, |text| escape::ansi_c(&text))),
            b'U' => Ok(map(value, |text| case_op(&text, b'^', true, None))),
            b'u' => Ok(map(value, |text| case_op(&text, b'^', false, None))),
            b'L' => Ok(map(value, |text| case_op(&text, b',', true, None))),
            b'P' => Ok(match value {
                Val::One(text) => Val::One(self.prompt(&text)),
                other => other,
            }),
            b'a' => {
                let ParamName::Variable(name) = name else {
                    return Ok(Val::Unset);
                };
                let letters = self.lookup(&name).map(|var| var.letters());
                Ok(match (letters, value) {
                    (Some(letters), Val::Many { items, star }) => Val::Many {
                        items: vec![letters; items.len()],
                        star,
                    },
                    (Some(letters), _) => Val::One(letters),
                    (None, _) => Val::Unset,
                })
            }
            b'A' => {
                let ParamName::Variable(name) = name else {
                    return Ok(match value {
                        Val::Many { items, .. } => {
                            let all: Vec<Bytes> = items
                                .iter()
                                .map(|item| escape::transform_quote(item))
                                .collect();
                            Val::One([b"set -- ".to_vec(), all.join(&b' ')].concat())
                        }
                        other => other,
                    });
                };
                let (name, _) = self.resolve(&name);
                let Some(mut var) = self.lookup(&name) else {
                    return Ok(Val::Unset);
                };
                if let (Some(Index::Expr(_)), Val::One(text)) = (&param.index, &value) {
                    // The attributes of the array with the value of the element.
                    var.attrs |= if var.is_assoc() {
                        attr::ASSOC
                    } else {
                        attr::INDEXED
                    };
                    var.value = Value::Str(Rc::new(text.clone()));
                }
                Ok(Val::One(Self::declaration(
                    &name,
                    &var,
                    matches!(param.index, Some(Index::At | Index::Star)),
                )))
            }
            _ => Ok(self.transform_pairs(&name, param, value, op)),
        }
    }

    /// `${x@K}` and `${x@k}`: subscripts and values.
    fn transform_pairs(&mut self, name: &ParamName, param: &Param, value: Val, op: u8) -> Val {
        let ParamName::Variable(name) = name else {
            return map(value, |text| escape::transform_quote(&text));
        };
        let var = self.lookup(name);
        let Some(var) = var
            .filter(|var| var.is_array() && matches!(param.index, Some(Index::At | Index::Star)))
        else {
            return map(value, |text| escape::transform_quote(&text));
        };
        let assoc = var.is_assoc();
        let pairs = var.keys().into_iter().zip(var.elements());
        if op == b'k' {
            return Val::Many {
                items: pairs.flat_map(|(key, value)| [key, value]).collect(),
                star: matches!(param.index, Some(Index::Star)),
            };
        }
        let mut text = Bytes::new();
        for (key, value) in pairs {
            if !text.is_empty() {
                text.push(b' ');
            }
            let key = if assoc { escape::set_quote(&key) } else { key };
            text.extend([key, b" ".to_vec(), escape::double_quote(&value)].concat());
        }
        if assoc && !text.is_empty() {
            text.push(b' ');
        }
        Val::One(text)
    }
}

fn map(value: Val, change: impl Fn(Bytes) -> Bytes) -> Val {
    match value {
        Val::Unset => Val::Unset,
        Val::One(text) => Val::One(change(text)),
        Val::Many { items, star } => Val::Many {
            items: items.into_iter().map(change).collect(),
            star,
        },
    }
}

/// The replacement with `&` standing for `matched`.
fn replacement(with: &[u8], matched: &[u8], out: &mut Bytes) {
    let mut at = 0;
    while at < with.len() {
        match with[at] {
            b'&' => out.extend_from_slice(matched),
            b'\\' if matches!(with.get(at + 1), Some(b'&' | b'\\')) => {
                at += 1;
                out.push(with[at]);
            }
            b => out.push(b),
        }
        at += 1;
    }
}

fn substitute(text: &[u8], pattern: &Pattern, with: &[u8], kind: SubstKind) -> Bytes {
    let mut out = Bytes::with_capacity(text.len());
    match kind {
        SubstKind::Prefix => {
            let end = pattern.longest(text, 0);
            if let Some(end) = end {
                replacement(with, &text[..end], &mut out);
            }
            out.extend_from_slice(&text[end.unwrap_or(0)..]);
        }
        SubstKind::Suffix => {
            let start = pattern.suffix(text, true);
            out.extend_from_slice(&text[..start.unwrap_or(text.len())]);
            if let Some(start) = start {
                replacement(with, &text[start..], &mut out);
            }
        }
        SubstKind::First | SubstKind::All => {
            if pattern.as_literal() == Some(b"") {
                return text.to_vec();
            }
            let mut at = 0;
            while at <= text.len() {
                let end = pattern
                    .longest(text, at)
                    .filter(|&end| end > at || text.is_empty());
                if let Some(end) = end {
                    replacement(with, &text[at..end], &mut out);
                    at = end;
                    if kind == SubstKind::First || text.is_empty() {
                        break;
                    }
                } else if at < text.len() {
                    let used = next_char(&text[at..]).1;
                    out.extend_from_slice(&text[at..at + used]);
                    at += used;
                } else {
                    break;
                }
            }
            out.extend_from_slice(&text[at.min(text.len())..]);
        }
    }
    out
}

fn case_op(text: &[u8], op: u8, all: bool, pattern: Option<&Pattern>) -> Bytes {
    let mut out = Bytes::with_capacity(text.len());
    let mut at = 0;
    while at < text.len() {
        let (code, used) = next_char(&text[at..]);
        let piece = &text[at..at + used];
        let wanted = (all || at == 0) && pattern.is_none_or(|pattern| pattern.matches(piece));
        match char::from_u32(code).filter(|_| wanted) {
            Some(c) => {
                let changed = match op {
                    b'^' => upper(c),
                    b',' => lower(c),
                    _ if c.is_uppercase() => lower(c),
                    _ => upper(c),
                };
                escape::push_char(&mut out, u32::from(changed));
            }
            None => out.extend_from_slice(piece),
        }
        at += used;
    }
    out
}
