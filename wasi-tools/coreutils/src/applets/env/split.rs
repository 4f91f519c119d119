//! The little language of `env -S`.

/// Where the scanner is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Quotes {
    None,
    Single,
    Double,
}

/// Splits a string into words: blanks separate, quotes keep together, `\\` escapes, `${NAME}` is the environment's, `#` starts
/// a comment.
///
/// # Errors
/// A message when the string is wrong.
pub(super) fn split(text: &[u8]) -> Result<Vec<Vec<u8>>, String> {
    let mut words = Vec::new();
    let mut word: Option<Vec<u8>> = None;
    let mut quotes = Quotes::None;
    let mut rest = text;
    while let Some((byte, after)) = rest.split_first() {
        rest = after;
        match (quotes, byte) {
            (Quotes::None, b' ' | b'\t'..=b'\r') => words.extend(word.take()),
            (Quotes::None, b'#') if word.is_none() => break,
            (Quotes::None, b'\'') => {
                (quotes, word) = (Quotes::Single, Some(word.unwrap_or_default()));
            }
            (Quotes::None, b'"') => {
                (quotes, word) = (Quotes::Double, Some(word.unwrap_or_default()));
            }
            (Quotes::Single, b'\'') | (Quotes::Double, b'"') => quotes = Quotes::None,
            (Quotes::Single, b'\\') if matches!(rest, [b'\\' | b'\'', ..]) => {
                word.get_or_insert_default().extend(rest.first());
                rest = rest.get(1..).unwrap_or_default();
            }
            (Quotes::None | Quotes::Double, b'\\') => {
                let Some((letter, after)) = rest.split_first() else {
                    return Err(String::from("invalid backslash at end of string in -S"));
                };
                rest = after;
                match escape(*letter, quotes)? {
                    Escape::Byte(byte) => word.get_or_insert_default().push(byte),
                    Escape::Separator => words.extend(word.take()),
                    Escape::End => break,
                }
            }
            (Quotes::None | Quotes::Double, b'$') => {
                let (name, after) = variable(rest)?;
                rest = after;
                let value = std::env::var_os(name);
                if let Some(value) = value {
                    word.get_or_insert_default()
                        .extend_from_slice(value.as_encoded_bytes());
                }
            }
            (_, byte) => word.get_or_insert_default().push(*byte),
        }
    }
    if quotes != Quotes::None {
        return Err(String::from("no terminating quote in -S string"));
    }
    words.extend(word);
    Ok(words)
}

enum Escape {
    Byte(u8),
    /// `\_` outside of quotes.
    Separator,
    /// `\c`: the rest is ignored.
    End,
}

fn escape(letter: u8, quotes: Quotes) -> Result<Escape, String> {
    Ok(Escape::Byte(match letter {
        b'"' | b'#' | b'$' | b'\'' | b'\\' => letter,
        b'_' if quotes == Quotes::None => return Ok(Escape::Separator),
        b'_' => b' ',
        b'c' if quotes == Quotes::Double => {
            return Err(String::from(
                "'\\c' must not appear in double-quoted -S string",
            ));
        }
        b'c' => return Ok(Escape::End),
        b'f' => 12,
        b'n' => 10,
        b'r' => 13,
        b't' => 9,
        b'v' => 11,
        other => return Err(format!("invalid sequence '\\{}' in -S", char::from(other))),
    }))
}

/// The name in `{NAME}`, and what follows.
fn variable(text: &[u8]) -> Result<(&str, &[u8]), String> {
    let wrong = || {
        let text = String::from_utf8_lossy(text);
        format!("only ${{VARNAME}} expansion is supported, error at: ${text}")
    };
    let inner = text.strip_prefix(b"{").ok_or_else(wrong)?;
    let end = inner
        .iter()
        .position(|byte| *byte == b'}')
        .ok_or_else(wrong)?;
    let (name, rest) = inner.split_at_checked(end).ok_or_else(wrong)?;
    let starts = name
        .first()
        .is_some_and(|byte| byte.is_ascii_alphabetic() || *byte == b'_');
    let valid = starts
        && name
            .iter()
            .all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
    let name = std::str::from_utf8(name)
        .ok()
        .filter(|_| valid)
        .ok_or_else(wrong)?;
    Ok((name, rest.get(1..).unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_split_as_env_does() {
        let words = split(br#"a  'b c' "d\_e" f\_g \x2 "#);
        assert!(words.is_err());
        let words = split(br#"a  'b c' "d\_e" f\_g '' h\ti # comment"#);
        let expected =
            ["a", "b c", "d e", "f", "g", "", "h\ti"].map(|word| word.as_bytes().to_vec());
        assert_eq!(words.as_deref(), Ok(expected.as_slice()));
        for wrong in ["'a", "a\\", "$x", "${", "${1}", "\"\\c\""] {
            assert!(split(wrong.as_bytes()).is_err(), "{wrong}");
        }
    }
}
