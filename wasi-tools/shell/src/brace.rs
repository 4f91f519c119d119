//! Brace expansion: `{a,b}` and `{1..9..2}`.

use std::rc::Rc;

use crate::ast::{Bytes, Param, ParamName, ParamOp, Part};
use crate::parser::is_name_byte;

/// Words above which an expansion is refused.
const MAX_WORDS: usize = 1 << 20;

#[derive(Debug, Clone)]
enum Atom {
    Byte(u8),
    Part(Part),
}

/// The words that the parts expand to; `Some(None)` when no brace expands, `None` when there would be too many.
#[expect(
    clippy::option_option,
    reason = "the two outcomes besides words differ"
)]
pub(crate) fn expand(parts: &[Part]) -> Option<Option<Vec<Vec<Part>>>> {
    let atoms: Vec<Atom> = parts
        .iter()
        .flat_map(|part| match part {
            Part::Lit(text) => text.iter().map(|&b| Atom::Byte(b)).collect(),
            other => vec![Atom::Part(other.clone())],
        })
        .collect();
    let mut budget = MAX_WORDS;
    let words = words_of(&atoms, &mut budget, 0)?;
    if let [only] = words.as_slice()
        && only.len() == atoms.len()
    {
        return Some(None);
    }
    Some(Some(words.into_iter().map(join).collect()))
}

fn join(atoms: Vec<Atom>) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut text = Bytes::new();
    let flush = |text: &mut Bytes, parts: &mut Vec<Part>| {
        if !text.is_empty() {
            // A tilde that a brace put in front is a tilde prefix.
            if parts.is_empty() && text.first() == Some(&b'~') {
                let end = text.iter().position(|&b| b == b'/').unwrap_or(text.len());
                parts.push(Part::Tilde(text[1..end].into()));
                text.drain(..end);
            }
            if !text.is_empty() {
                parts.push(Part::Lit(text.as_slice().into()));
                text.clear();
            }
        }
    };
    for atom in atoms {
        match atom {
            Atom::Byte(b) => {
                if text.is_empty()
                    && is_name_byte(b)
                    && let Some(longer) = parts.last().and_then(|part| lengthened(part, b))
                {
                    parts.pop();
                    parts.push(longer);
                } else {
                    text.push(b);
                }
            }
            Atom::Part(part) => {
                flush(&mut text, &mut parts);
                parts.push(part);
            }
        }
    }
    flush(&mut text, &mut parts);
    parts
}

/// `$name` with one more byte: bash expands braces in the text, before it looks for parameters.
fn lengthened(part: &Part, b: u8) -> Option<Part> {
    let Part::Param(param) = part else {
        return None;
    };
    let ParamName::Variable(name) = &param.name else {
        return None;
    };
    if param.raw.get(1) == Some(&b'{') {
        return None;
    }
    let raw: Rc<[u8]> = [&*param.raw, &[b]].concat().into();
    Some(Part::Param(Rc::new(Param {
        name: ParamName::Variable([name.as_slice(), &[b]].concat()),
        index: None,
        indirect: false,
        op: ParamOp::None,
        raw,
    })))
}

fn byte(atom: &Atom) -> Option<u8> {
    match atom {
        Atom::Byte(b) => Some(*b),
        Atom::Part(_) => None,
    }
}

fn words_of(atoms: &[Atom], budget: &mut usize, depth: u32) -> Option<Vec<Vec<Atom>>> {
    if depth > 200 {
        return None;
    }
    let mut from = 0;
    while let Some(open) = atoms[from..]
        .iter()
        .position(|a| byte(a) == Some(b'{'))
        .map(|n| n + from)
    {
        from = open + 1;
        let Some((close, commas)) = matching(atoms, open) else {
            continue;
        };
        let inner = &atoms[open + 1..close];
        let middles = if commas.is_empty() {
            match sequence(inner, budget) {
                Some(Some(words)) => words,
                Some(None) => continue,
                None => return None,
            }
        } else {
            let mut middles = Vec::new();
            let mut start = open + 1;
            for end in commas.iter().copied().chain([close]) {
                middles.extend(words_of(&atoms[start..end], budget, depth + 1)?);
                start = end + 1;
            }
            middles
        };
        let suffixes = words_of(&atoms[close + 1..], budget, depth + 1)?;
        *budget = budget.checked_sub(middles.len().checked_mul(suffixes.len())?)?;
        let prefix = &atoms[..open];
        let mut words = Vec::with_capacity(middles.len() * suffixes.len());
        for middle in &middles {
            for suffix in &suffixes {
                words.push(prefix.iter().chain(middle).chain(suffix).cloned().collect());
            }
        }
        return Some(words);
    }
    Some(vec![atoms.to_vec()])
}

/// The `}` that closes the brace at `open` and the commas between them at its own level.
fn matching(atoms: &[Atom], open: usize) -> Option<(usize, Vec<usize>)> {
    let mut depth = 0_u32;
    let mut commas = Vec::new();
    for (at, atom) in atoms.iter().enumerate().skip(open) {
        match byte(atom) {
            Some(b'{') => depth += 1,
            Some(b'}') => {
                depth -= 1;
                if depth == 0 {
                    return Some((at, commas));
                }
            }
            Some(b',') if depth == 1 => commas.push(at),
            _ => {}
        }
    }
    None
}

/// `x..y` or `x..y..step`.
#[expect(clippy::option_option, reason = "as in `expand`")]
fn sequence(inner: &[Atom], budget: &mut usize) -> Option<Option<Vec<Vec<Atom>>>> {
    let Some(text) = inner.iter().map(byte).collect::<Option<Bytes>>() else {
        return Some(None);
    };
    let Ok(text) = String::from_utf8(text) else {
        return Some(None);
    };
    let pieces: Vec<&str> = text.split("..").collect();
    let (first, last, step) = match pieces.as_slice() {
        [first, last] => (*first, *last, 0),
        [first, last, step] => match step.parse::<i64>() {
            Ok(step) => (*first, *last, step),
            Err(_) => return Some(None),
        },
        _ => return Some(None),
    };
    let letter = |text: &str| match text.as_bytes() {
        [b] if b.is_ascii_alphabetic() => Some(i64::from(*b)),
        _ => None,
    };
    if let (Some(from), Some(to)) = (letter(first), letter(last)) {
        let words = numbers(from, to, step, budget)?;
        let atom = |n: i64| {
            let b = u8::try_from(n).unwrap_or(b'?');
            // Between the two alphabets lie characters that must not act.
            vec![if b.is_ascii_alphabetic() {
                Atom::Byte(b)
            } else {
                Atom::Part(Part::Quoted(Rc::from([b].as_slice())))
            }]
        };
        return Some(Some(words.into_iter().map(atom).collect()));
    }
    let (Ok(from), Ok(to)) = (first.parse::<i64>(), last.parse::<i64>()) else {
        return Some(None);
    };
    let padded = |text: &str| {
        let digits = text.trim_start_matches(['-', '+']);
        digits.len() > 1 && digits.starts_with('0')
    };
    let width = if padded(first) || padded(last) {
        first.len().max(last.len())
    } else {
        0
    };
    let words = numbers(from, to, step, budget)?;
    let word = |n: i64| {
        let text = format!("{n:0width$}");
        text.bytes().map(Atom::Byte).collect()
    };
    Some(Some(words.into_iter().map(word).collect()))
}

fn numbers(from: i64, to: i64, step: i64, budget: &mut usize) -> Option<Vec<i64>> {
    let step = step.unsigned_abs().max(1);
    let count = usize::try_from(from.abs_diff(to) / step)
        .ok()?
        .checked_add(1)?;
    *budget = budget.checked_sub(count)?;
    let step = i64::try_from(step).ok()?;
    let mut all = Vec::with_capacity(count);
    let mut value = from;
    for _ in 0..count {
        all.push(value);
        value = if from <= to {
            value.wrapping_add(step)
        } else {
            value.wrapping_sub(step)
        };
    }
    Some(all)
}
