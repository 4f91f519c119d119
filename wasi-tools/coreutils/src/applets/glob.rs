//! Patterns of names: `*`, `?`, `[…]` and `\`.

/// Whether the pattern matches the whole name. A dot at the start must be matched by a dot.
pub(super) fn matches(pattern: &[u8], name: &[u8]) -> bool {
    if name.starts_with(b".") && !pattern.starts_with(b".") {
        return false;
    }
    // After a mismatch the last star takes one byte more; earlier stars need not be tried again.
    let (mut at, mut in_name) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    loop {
        if pattern.get(at) == Some(&b'*') {
            star = Some((at + 1, in_name));
            at += 1;
            continue;
        }
        match (step(pattern, at, name.get(in_name)), star) {
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

/// Where the pattern goes on when its part at `at` matches the byte.
fn step(pattern: &[u8], at: usize, byte: Option<&u8>) -> Option<usize> {
    let byte = *byte?;
    match pattern.get(at)? {
        b'?' => Some(at + 1),
        b'\\' => pattern
            .get(at + 1)
            .filter(|escaped| **escaped == byte)
            .map(|_| at + 2),
        b'[' => match set(pattern, at + 1, byte) {
            Some((true, next)) => Some(next),
            Some((false, _)) => None,
            // Without its end a bracket is an ordinary byte.
            None => (byte == b'[').then_some(at + 1),
        },
        literal => (*literal == byte).then_some(at + 1),
    }
}

/// Whether a set that starts at `at` holds the byte, and where the pattern goes on.
fn set(pattern: &[u8], at: usize, byte: u8) -> Option<(bool, usize)> {
    let negated = matches!(pattern.get(at), Some(b'!' | b'^'));
    let start = at + usize::from(negated);
    let mut at = start;
    let mut found = false;
    loop {
        let low = *pattern.get(at)?;
        if low == b']' && at > start {
            return Some((found != negated, at + 1));
        }
        let range = pattern.get(at + 1) == Some(&b'-')
            && pattern.get(at + 2).is_some_and(|high| *high != b']');
        if range {
            let high = *pattern.get(at + 2)?;
            found |= (low..=high).contains(&byte);
            at += 3;
        } else {
            found |= low == byte;
            at += 1;
        }
    }
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
    }
}
