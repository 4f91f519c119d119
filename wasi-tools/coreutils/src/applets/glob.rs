//! Patterns of names: `*`, `?`, `[…]` with ranges and classes, and `\`.

/// How a pattern is matched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Rules {
    /// A dot at the start must be matched by a dot.
    pub(super) period: bool,
    /// Upper and lower case are the same.
    pub(super) ignore_case: bool,
}

/// Whether the pattern matches the whole name as `ls` and shells do: hidden names only with a dot.
pub(super) fn matches(pattern: &[u8], name: &[u8]) -> bool {
    matches_by(
        pattern,
        name,
        Rules {
            period: true,
            ignore_case: false,
        },
    )
}

/// Whether the pattern matches the whole name by these rules.
pub(super) fn matches_by(pattern: &[u8], name: &[u8], rules: Rules) -> bool {
    if rules.period && name.starts_with(b".") && !pattern.starts_with(b".") {
        return false;
    }
    let (pattern, name) = (characters(pattern), characters(name));
    // After a mismatch the last star takes one more; earlier stars need not be tried again.
    let (mut at, mut in_name) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    loop {
        if pattern.get(at) == Some(&'*') {
            star = Some((at + 1, in_name));
            at += 1;
            continue;
        }
        match (step(&pattern, at, name.get(in_name), rules), star) {
            (Some(next), _) if in_name < name.len() => (at, in_name) = (next, in_name + 1),
            _ if at == pattern.len() && in_name == name.len() => return true,
            (_, Some((after, from))) if from < name.len() => {
                star = Some((after, from + 1));
                (at, in_name) = (after, from + 1);
            }
            _ => return false,
        }
    }
}

/// The last plane's private characters stand for bytes that are no text.
const NO_TEXT: u32 = 0x10_ff00;

fn characters(text: &[u8]) -> Vec<char> {
    let mut characters = Vec::new();
    for chunk in text.utf8_chunks() {
        characters.extend(chunk.valid().chars());
        let bytes = chunk.invalid().iter();
        characters.extend(bytes.filter_map(|byte| char::from_u32(NO_TEXT + u32::from(*byte))));
    }
    characters
}

fn same(one: char, other: char, rules: Rules) -> bool {
    one == other || (rules.ignore_case && one.to_lowercase().eq(other.to_lowercase()))
}

/// Where the pattern goes on when its part at `at` matches the character.
fn step(pattern: &[char], at: usize, character: Option<&char>, rules: Rules) -> Option<usize> {
    let character = *character?;
    match *pattern.get(at)? {
        '?' => Some(at + 1),
        '\\' => match pattern.get(at + 1) {
            Some(escaped) => same(*escaped, character, rules).then_some(at + 2),
            None => (character == '\\').then_some(at + 1),
        },
        '[' => match set(pattern, at + 1, character, rules) {
            Some((true, next)) => Some(next),
            Some((false, _)) => None,
            // Without its end a bracket is an ordinary character.
            None => (character == '[').then_some(at + 1),
        },
        literal => same(literal, character, rules).then_some(at + 1),
    }
}

/// Whether a set that starts at `at` holds the character, and where the pattern goes on.
fn set(pattern: &[char], at: usize, character: char, rules: Rules) -> Option<(bool, usize)> {
    let negated = matches!(pattern.get(at), Some('!' | '^'));
    let start = at + usize::from(negated);
    let other_case = if character.is_uppercase() {
        character.to_ascii_lowercase()
    } else {
        character.to_ascii_uppercase()
    };
    let within = |low: char, high: char| {
        (low..=high).contains(&character)
            || (rules.ignore_case && (low..=high).contains(&other_case))
    };
    let mut at = start;
    let mut found = false;
    loop {
        let mut low = *pattern.get(at)?;
        if low == ']' && at > start {
            return Some((found != negated, at + 1));
        }
        if low == '['
            && pattern.get(at + 1) == Some(&':')
            && let Some((in_class, next)) = class(pattern, at + 2, character)
        {
            found |= in_class;
            at = next;
            continue;
        }
        if low == '\\' && pattern.get(at + 1).is_some() {
            at += 1;
            low = *pattern.get(at)?;
        }
        let range = pattern.get(at + 1) == Some(&'-')
            && pattern.get(at + 2).is_some_and(|high| *high != ']');
        if range {
            found |= within(low, *pattern.get(at + 2)?);
            at += 3;
        } else {
            found |= within(low, low);
            at += 1;
        }
    }
}

/// Whether a class `name:]` holds the character, and where the pattern goes on.
fn class(pattern: &[char], at: usize, character: char) -> Option<(bool, usize)> {
    let rest = pattern.get(at..)?;
    let len = rest.windows(2).position(|pair| pair == [':', ']'])?;
    let name: String = rest.get(..len)?.iter().collect();
    let holds = match name.as_str() {
        "alpha" => character.is_alphabetic(),
        "digit" => character.is_ascii_digit(),
        "alnum" => character.is_alphanumeric(),
        "lower" => character.is_lowercase(),
        "upper" => character.is_uppercase(),
        "space" => character.is_whitespace(),
        "blank" => matches!(character, ' ' | '\t'),
        "punct" => character.is_ascii_punctuation(),
        "cntrl" => character.is_control(),
        "xdigit" => character.is_ascii_hexdigit(),
        "print" => !character.is_control(),
        "graph" => !character.is_control() && !character.is_whitespace(),
        _ => return None,
    };
    Some((holds, at + len + 2))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_whole_names() {
        for (pattern, name) in [
            ("*", "a"),
            ("a*c", "abbc"),
            ("?[a-c]", "xb"),
            ("[!x]", "y"),
            ("a\\*", "a*"),
            ("*.o", "x.y.o"),
            ("[]]", "]"),
            (".*", ".x"),
            ("?", "é"),
            ("[[:digit:]a]*", "1b"),
        ] {
            assert!(
                matches(pattern.as_bytes(), name.as_bytes()),
                "{pattern} {name}"
            );
        }
        for (pattern, name) in [
            ("*", ".a"),
            ("a*c", "abb"),
            ("?", "ab"),
            ("[!x]", "x"),
            ("[a", "a"),
            ("", "a"),
        ] {
            assert!(
                !matches(pattern.as_bytes(), name.as_bytes()),
                "{pattern} {name}"
            );
        }
        let free = Rules {
            period: false,
            ignore_case: true,
        };
        assert!(matches_by(b"*B[c-d]", b".abD", free));
    }
}
