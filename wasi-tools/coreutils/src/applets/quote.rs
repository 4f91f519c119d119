//! Names in messages, quoted for a shell as GNU does, and free of bytes that a terminal would take as commands.

use std::fmt::Write;

/// A name in single quotes, always. Other bytes than printable UTF-8 become `'$'\nnn''` parts; with an apostrophe and nothing
/// that double quotes change, it stands in those.
pub(super) fn quote(name: &[u8]) -> String {
    let plain = std::str::from_utf8(name).is_ok_and(|text| !text.chars().any(char::is_control));
    if plain && name.contains(&b'\'') && !name.iter().any(|byte| b"\"$`\\!".contains(byte)) {
        return format!("\"{}\"", String::from_utf8_lossy(name));
    }
    let mut quoted = String::from("'");
    let mut escaping = false;
    for chunk in name.utf8_chunks() {
        for character in chunk.valid().chars() {
            match character {
                '\'' => {
                    leave(&mut quoted, &mut escaping);
                    quoted.push_str("'\\''");
                }
                control if control.is_control() => {
                    let mut buffer = [0; 4];
                    for byte in control.encode_utf8(&mut buffer).bytes() {
                        escape(&mut quoted, &mut escaping, byte);
                    }
                }
                other => {
                    leave(&mut quoted, &mut escaping);
                    quoted.push(other);
                }
            }
        }
        for byte in chunk.invalid() {
            escape(&mut quoted, &mut escaping, *byte);
        }
    }
    quoted.push('\'');
    quoted
}

/// A word as it is, or quoted when a shell would not read it as that word.
pub(super) fn quote_for_shell(word: &[u8]) -> String {
    let plain = |byte: &u8| {
        byte.is_ascii_alphanumeric() || *byte >= 0x80 || b"%+,-./:@_]^{}".contains(byte)
    };
    let special_start = matches!(word, [] | [b'{' | b'}']);
    match std::str::from_utf8(word) {
        Ok(text)
            if word.iter().all(plain) && !special_start && !text.chars().any(char::is_control) =>
        {
            text.to_owned()
        }
        _ => quote(word),
    }
}

/// A word that is no name of a file, in single quotes with C's escapes.
///
/// NOTE: in a UTF-8 locale GNU takes curly quotes here, and these in the C locale. All of Sandbar's tools have these.
pub(super) fn quote_word(word: &[u8]) -> String {
    let mut quoted = String::from("'");
    for chunk in word.utf8_chunks() {
        for character in chunk.valid().chars() {
            match character {
                '\'' | '\\' => quoted.extend(['\\', character]),
                control if control.is_control() => {
                    let mut buffer = [0; 4];
                    for byte in control.encode_utf8(&mut buffer).bytes() {
                        push_escape(&mut quoted, byte);
                    }
                }
                other => quoted.push(other),
            }
        }
        for byte in chunk.invalid() {
            push_escape(&mut quoted, *byte);
        }
    }
    quoted.push('\'');
    quoted
}

fn escape(quoted: &mut String, escaping: &mut bool, byte: u8) {
    if !*escaping {
        quoted.push_str("'$'");
        *escaping = true;
    }
    push_escape(quoted, byte);
}

/// The escape of C for a byte.
pub(super) fn push_escape(quoted: &mut String, byte: u8) {
    match byte {
        7 => quoted.push_str("\\a"),
        8 => quoted.push_str("\\b"),
        9 => quoted.push_str("\\t"),
        10 => quoted.push_str("\\n"),
        11 => quoted.push_str("\\v"),
        12 => quoted.push_str("\\f"),
        13 => quoted.push_str("\\r"),
        // Writing to a String does not fail.
        other => drop(write!(quoted, "\\{other:03o}")),
    }
}

fn leave(quoted: &mut String, escaping: &mut bool) {
    if *escaping {
        quoted.push_str("''");
        *escaping = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_quoted_as_a_shell_reads_them() {
        for (name, quoted) in [
            (b"a b".as_slice(), "'a b'"),
            (b"", "''"),
            (b"it's", "\"it's\""),
            (b"it$'s", "'it$'\\''s'"),
            (b"a!'b", "'a!'\\''b'"),
            (b"a\nb", "'a'$'\\n''b'"),
            (b"\n", "''$'\\n'"),
            (b"it's\nx", "'it'\\''s'$'\\n''x'"),
            (b"\xffa", "''$'\\377''a'"),
            ("é".as_bytes(), "'é'"),
        ] {
            assert_eq!(quote(name), quoted);
        }
        assert_eq!(quote_word(b"it's\n\xff"), "'it\\'s\\n\\377'");
    }
}
