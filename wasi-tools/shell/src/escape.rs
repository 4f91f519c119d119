//! Backslash escapes and quoting for reuse.

use crate::ast::Bytes;

/// Appends a Unicode scalar (or, for anything else, its would-be UTF-8 bytes) to `out`.
pub(crate) fn push_char(out: &mut Bytes, code: u32) {
    if let Some(c) = char::from_u32(code) {
        let mut buffer = [0; 4];
        out.extend_from_slice(c.encode_utf8(&mut buffer).as_bytes());
    } else if code <= 0x7fff_ffff {
        // Surrogates and numbers above Unicode: bash encodes them the same way, up to six bytes.
        let byte = |shift: u32| 0x80 | u8::try_from((code >> shift) & 0x3f).unwrap_or(0);
        let lead = |mark: u8, shift: u32| mark | u8::try_from(code >> shift).unwrap_or(0);
        match code {
            0..=0xffff => out.extend([lead(0xe0, 12), byte(6), byte(0)]),
            0x1_0000..=0x1f_ffff => out.extend([lead(0xf0, 18), byte(12), byte(6), byte(0)]),
            0x20_0000..=0x3ff_ffff => {
                out.extend([lead(0xf8, 24), byte(18), byte(12), byte(6), byte(0)]);
            }
            _ => out.extend([
                lead(0xfc, 30),
                byte(24),
                byte(18),
                byte(12),
                byte(6),
                byte(0),
            ]),
        }
    }
}

fn digits(text: &[u8], at: &mut usize, max: usize, radix: u32) -> Option<u32> {
    let start = *at;
    let mut value = 0_u32;
    while *at < text.len() && *at - start < max {
        let Some(digit) = char::from(text[*at]).to_digit(radix) else {
            break;
        };
        value = value.wrapping_mul(radix).wrapping_add(digit);
        *at += 1;
    }
    (*at > start).then_some(value)
}

/// Low eight bits, as an octal or hexadecimal escape gives them.
fn low_byte(value: u32) -> u8 {
    value.to_le_bytes()[0]
}

/// The single-letter escapes that all forms share.
fn simple(b: u8) -> Option<u8> {
    Some(match b {
        b'a' => 7,
        b'b' => 8,
        b'e' | b'E' => 27,
        b'f' => 12,
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        b'v' => 11,
        b'\\' => b'\\',
        _ => return None,
    })
}

/// The text of `$'…'`. A NUL ends it, as in bash.
pub(crate) fn ansi_c(text: &[u8]) -> Bytes {
    let mut out = Bytes::with_capacity(text.len());
    let mut at = 0;
    while at < text.len() {
        let b = text[at];
        at += 1;
        if b != b'\\' || at >= text.len() {
            out.push(b);
            continue;
        }
        let escape = text[at];
        at += 1;
        let value = match escape {
            b'\'' | b'"' | b'?' => Some(escape),
            b'0'..=b'7' => {
                at -= 1;
                digits(text, &mut at, 3, 8).map(low_byte)
            }
            b'x' if text.get(at) == Some(&b'{') => {
                at += 1;
                let value = digits(text, &mut at, usize::MAX, 16).map(low_byte);
                if text.get(at) == Some(&b'}') {
                    at += 1;
                }
                value
            }
            b'x' => digits(text, &mut at, 2, 16).map(low_byte),
            b'u' | b'U' => {
                if let Some(code) = digits(text, &mut at, if escape == b'u' { 4 } else { 8 }, 16) {
                    if code == 0 {
                        return out;
                    }
                    push_char(&mut out, code);
                    continue;
                }
                None
            }
            b'c' if at < text.len() => {
                let mut control = text[at];
                at += 1;
                if control == b'\\' && text.get(at) == Some(&b'\\') {
                    at += 1;
                }
                control = if control == b'?' {
                    0x7f
                } else {
                    control.to_ascii_uppercase() & 0x1f
                };
                Some(control)
            }
            other => simple(other),
        };
        match value {
            Some(0) => return out,
            Some(value) => out.push(value),
            None => out.extend([b'\\', escape]),
        }
    }
    out
}

/// What [`echo`] made of an argument.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Escaped {
    pub(crate) text: Bytes,
    /// `\c`: nothing more is to be printed.
    pub(crate) stop: bool,
}

/// The escapes of `echo -e` (`\0nnn`) and, with `printf`, of `printf %b` (`\nnn`, too).
pub(crate) fn echo(text: &[u8], printf: bool) -> Escaped {
    let mut out = Bytes::with_capacity(text.len());
    let mut at = 0;
    while at < text.len() {
        let b = text[at];
        at += 1;
        if b != b'\\' || at >= text.len() {
            out.push(b);
            continue;
        }
        let escape = text[at];
        at += 1;
        match escape {
            b'c' => {
                return Escaped {
                    text: out,
                    stop: true,
                };
            }
            b'0' => out.push(digits(text, &mut at, 3, 8).map_or(0, low_byte)),
            b'1'..=b'7' if printf => {
                at -= 1;
                out.extend(digits(text, &mut at, 3, 8).map(low_byte));
            }
            b'\'' | b'"' | b'?' if printf => out.push(escape),
            b'x' => match digits(text, &mut at, 2, 16) {
                Some(value) => out.push(low_byte(value)),
                None => out.extend(b"\\x"),
            },
            b'u' | b'U' => match digits(text, &mut at, if escape == b'u' { 4 } else { 8 }, 16) {
                Some(code) => push_char(&mut out, code),
                None => out.extend([b'\\', escape]),
            },
            other => match simple(other) {
                Some(value) => out.push(value),
                None => out.extend([b'\\', other]),
            },
        }
    }
    Escaped {
        text: out,
        stop: false,
    }
}

/// One escape of a `printf` format, after the backslash; advances `at`.
pub(crate) fn format_escape(text: &[u8], at: &mut usize, out: &mut Bytes) {
    let Some(&escape) = text.get(*at) else {
        out.push(b'\\');
        return;
    };
    *at += 1;
    match escape {
        b'0'..=b'7' => {
            *at -= 1;
            out.extend(digits(text, at, 3, 8).map(low_byte));
        }
        b'\'' | b'"' | b'?' => out.push(escape),
        b'x' => match digits(text, at, 2, 16) {
            Some(value) => out.push(low_byte(value)),
            None => out.extend(b"\\x"),
        },
        b'u' | b'U' => match digits(text, at, if escape == b'u' { 4 } else { 8 }, 16) {
            Some(code) => push_char(out, code),
            None => out.extend([b'\\', escape]),
        },
        other => match simple(other) {
            Some(value) => out.push(value),
            None => out.extend([b'\\', other]),
        },
    }
}

/// Whether `text` needs `$'…'` to be shown: control characters or bytes that are not UTF-8.
fn needs_ansi(text: &[u8]) -> bool {
    text.iter().any(u8::is_ascii_control) || std::str::from_utf8(text).is_err()
}

/// `$'…'`
pub(crate) fn ansi_quote(text: &[u8]) -> Bytes {
    let mut out = b"$'".to_vec();
    let mut rest = text;
    while !rest.is_empty() {
        let (valid, bad) = match std::str::from_utf8(rest) {
            Ok(_) => (rest.len(), 0),
            Err(error) => (
                error.valid_up_to(),
                error
                    .error_len()
                    .unwrap_or(rest.len() - error.valid_up_to()),
            ),
        };
        for &b in &rest[..valid] {
            match b {
                7 => out.extend(b"\\a"),
                8 => out.extend(b"\\b"),
                9 => out.extend(b"\\t"),
                10 => out.extend(b"\\n"),
                11 => out.extend(b"\\v"),
                12 => out.extend(b"\\f"),
                13 => out.extend(b"\\r"),
                27 => out.extend(b"\\E"),
                b'\'' | b'\\' => out.extend([b'\\', b]),
                b if b.is_ascii_control() => out.extend(format!("\\{b:03o}").bytes()),
                b => out.push(b),
            }
        }
        for &b in &rest[valid..valid + bad] {
            out.extend(format!("\\{b:03o}").bytes());
        }
        rest = &rest[valid + bad..];
    }
    out.push(b'\'');
    out
}

/// `'…'`, with `'\''` for a quote.
pub(crate) fn single_quote(text: &[u8]) -> Bytes {
    if text == b"'" {
        return b"\\'".to_vec();
    }
    let mut out = b"'".to_vec();
    for &b in text {
        if b == b'\'' {
            out.extend(b"'\\''");
        } else {
            out.push(b);
        }
    }
    out.push(b'\'');
    out
}

/// Quoting as `printf %q`: backslashes, or `$'…'` when something is not printable.
pub(crate) fn backslash_quote(text: &[u8]) -> Bytes {
    if text.is_empty() {
        return b"''".to_vec();
    }
    if needs_ansi(text) {
        return ansi_quote(text);
    }
    let mut out = Bytes::with_capacity(text.len() + 4);
    for (at, &b) in text.iter().enumerate() {
        let special = match b {
            b' ' | b'\'' | b'"' | b'\\' | b'|' | b'&' | b';' | b'(' | b')' | b'<' | b'>' | b'!'
            | b'{' | b'}' | b'*' | b'[' | b'?' | b']' | b'^' | b'$' | b'`' | b',' => true,
            b'#' | b'~' => at == 0 || b == b'~' && matches!(text[at - 1], b':' | b'='),
            _ => false,
        };
        if special {
            out.push(b'\\');
        }
        out.push(b);
    }
    out
}

/// Quoting as `${x@Q}`: always in quotes.
pub(crate) fn transform_quote(text: &[u8]) -> Bytes {
    if needs_ansi(text) {
        ansi_quote(text)
    } else {
        single_quote(text)
    }
}

/// Quoting as `set` prints values: only when needed.
pub(crate) fn set_quote(text: &[u8]) -> Bytes {
    if needs_ansi(text) {
        return ansi_quote(text);
    }
    let special = |(at, &b): (usize, &u8)| {
        matches!(
            b,
            b' ' | b'\''
                | b'"'
                | b'\\'
                | b'|'
                | b'&'
                | b';'
                | b'('
                | b')'
                | b'<'
                | b'>'
                | b'!'
                | b'{'
                | b'}'
                | b'*'
                | b'['
                | b'?'
                | b']'
                | b'^'
                | b'$'
                | b'`'
        ) || at == 0 && matches!(b, b'#' | b'~')
            || at > 0 && b == b'~' && matches!(text[at - 1], b':' | b'=')
    };
    if text.iter().enumerate().any(special) {
        single_quote(text)
    } else {
        text.to_vec()
    }
}

/// Quoting as `declare -p` prints values: in double quotes.
pub(crate) fn double_quote(text: &[u8]) -> Bytes {
    if needs_ansi(text) {
        return ansi_quote(text);
    }
    let mut out = b"\"".to_vec();
    for &b in text {
        if matches!(b, b'"' | b'\\' | b'$' | b'`') {
            out.push(b'\\');
        }
        out.push(b);
    }
    out.push(b'"');
    out
}

/// Quoting of a word in the trace of `set -x`.
pub(crate) fn trace_quote(text: &[u8]) -> Bytes {
    if text.is_empty() {
        b"''".to_vec()
    } else {
        set_quote(text)
    }
}
