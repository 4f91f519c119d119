//! `printf`

use crate::ast::Bytes;
use crate::escape;
use crate::parser::is_name;
use crate::pattern::{char_offset, next_char};
use crate::shell::{Exec, Flow, Shell};

/// Width and precision above which a directive is refused.
const MAX_WIDTH: usize = 1 << 24;

/// Flags, width and precision of a directive.
#[derive(Debug, Default, Clone)]
struct Spec {
    minus: bool,
    plus: bool,
    space: bool,
    zero: bool,
    alternate: bool,
    width: usize,
    precision: Option<usize>,
}

struct Run<'a> {
    shell: &'a mut Shell,
    args: &'a [Bytes],
    next: usize,
    out: Bytes,
    status: i32,
    /// `\c` in a `%b` argument.
    stop: bool,
}

pub(super) fn printf(shell: &mut Shell, args: &[Bytes]) -> Exec {
    let parsed = match shell.options(args, "v:") {
        Ok(parsed) => parsed,
        Err(status) => return Ok(status),
    };
    let Some(format) = args.get(parsed.next) else {
        return Ok(shell.usage());
    };
    let target = parsed.value(b'v').cloned();
    if let Some(name) = &target {
        let base = name.split(|&b| b == b'[').next().unwrap_or(name);
        if !is_name(base) || name.contains(&b'[') && !name.ends_with(b"]") {
            shell.complain(&[b"`".as_slice(), name, b"': not a valid identifier"].concat());
            return Ok(2);
        }
    }
    let operands = &args[parsed.next + 1..];
    let mut run = Run {
        shell,
        args: operands,
        next: 0,
        out: Bytes::new(),
        status: 0,
        stop: false,
    };
    loop {
        let before = run.next;
        run.format(format)?;
        if run.stop || run.next >= operands.len() || run.next == before {
            break;
        }
        if target.is_none() {
            // Long output does not pile up.
            let piece = std::mem::take(&mut run.out);
            run.shell.print(&piece);
        }
    }
    let (out, status) = (run.out, run.status);
    match target {
        None => shell.print(&out),
        Some(name) => {
            let open = name
                .iter()
                .position(|&b| b == b'[')
                .filter(|_| name.ends_with(b"]"));
            match open {
                Some(at) => {
                    let index = name[at + 1..name.len() - 1].to_vec();
                    let key = shell.key_of_text(&name[..at], &index)?;
                    shell.assign(&name[..at], Some(key), out, false)?;
                }
                None => shell.set(&name, out)?,
            }
        }
    }
    Ok(status)
}

impl Run<'_> {
    fn arg(&mut self) -> Option<Bytes> {
        let arg = self.args.get(self.next).cloned();
        if arg.is_some() {
            self.next += 1;
        }
        arg
    }

    fn format(&mut self, format: &[u8]) -> Result<(), Flow> {
        let mut at = 0;
        while at < format.len() && !self.stop {
            let b = format[at];
            at += 1;
            match b {
                b'\\' => escape::format_escape(format, &mut at, &mut self.out),
                b'%' if format.get(at) == Some(&b'%') => {
                    at += 1;
                    self.out.push(b'%');
                }
                b'%' => {
                    if !self.directive(format, &mut at)? {
                        self.stop = true;
                        self.status = 1;
                        return Ok(());
                    }
                }
                _ => self.out.push(b),
            }
        }
        Ok(())
    }

    /// Flags, width and precision, from after `%`.
    fn spec(&mut self, format: &[u8], at: &mut usize) -> Spec {
        let mut spec = Spec::default();
        while let Some(b) = format.get(*at) {
            match b {
                b'-' => spec.minus = true,
                b'+' => spec.plus = true,
                b' ' => spec.space = true,
                b'0' => spec.zero = true,
                b'#' => spec.alternate = true,
                b'\'' => {}
                _ => break,
            }
            *at += 1;
        }
        if format.get(*at) == Some(&b'*') {
            *at += 1;
            let width = self.integer_arg();
            spec.minus |= width < 0;
            spec.width = usize::try_from(width.unsigned_abs()).unwrap_or(usize::MAX);
        } else {
            spec.width = digits(format, at).unwrap_or(0);
        }
        if format.get(*at) == Some(&b'.') {
            *at += 1;
            spec.precision = if format.get(*at) == Some(&b'*') {
                *at += 1;
                usize::try_from(self.integer_arg()).ok()
            } else {
                Some(digits(format, at).unwrap_or(0))
            };
        }
        spec
    }

    /// One directive after `%`; `false` when it is no directive, after a message.
    #[expect(clippy::too_many_lines, reason = "one arm for each directive")]
    fn directive(&mut self, format: &[u8], at: &mut usize) -> Result<bool, Flow> {
        let start = *at - 1;
        let mut spec = self.spec(format, at);
        if spec.width > MAX_WIDTH
            || spec
                .precision
                .is_some_and(|precision| precision > MAX_WIDTH)
        {
            let text = format!("width or precision above {MAX_WIDTH}");
            self.shell.complain(text.as_bytes());
            return Ok(false);
        }
        while matches!(
            format.get(*at),
            Some(b'h' | b'l' | b'L' | b'j' | b'z' | b't')
        ) {
            *at += 1;
        }
        let Some(&kind) = format.get(*at) else {
            let shown = format[start..].to_vec();
            self.shell.complain(
                &[
                    b"`".as_slice(),
                    &shown[shown.len() - 1..],
                    b"': missing format character",
                ]
                .concat(),
            );
            return Ok(false);
        };
        *at += 1;
        if kind == b'(' {
            return Ok(self.time(format, at, &spec));
        }
        match kind {
            b's' => {
                let text = self.arg().unwrap_or_default();
                self.text(&text, &spec);
            }
            b'b' => {
                let text = self.arg().unwrap_or_default();
                let escaped = escape::echo(&text, true);
                self.text(&escaped.text, &spec);
                self.stop |= escaped.stop;
            }
            b'q' | b'Q' => {
                let mut text = self.arg().unwrap_or_default();
                if kind == b'Q'
                    && let Some(precision) = spec.precision
                {
                    text.truncate(char_offset(&text, precision));
                    spec.precision = None;
                }
                self.text(&escape::backslash_quote(&text), &spec);
            }
            b'c' => {
                let text = self.arg().unwrap_or_default();
                let first = if text.is_empty() {
                    vec![0]
                } else {
                    text[..1].to_vec()
                };
                let shown = if text.is_empty() { Bytes::new() } else { first };
                spec.precision = None;
                self.text(&shown, &spec);
            }
            b'd' | b'i' => {
                let value = self.integer_arg();
                let sign: &[u8] = if value < 0 {
                    b"-"
                } else if spec.plus {
                    b"+"
                } else if spec.space {
                    b" "
                } else {
                    b""
                };
                let digits = value.unsigned_abs().to_string().into_bytes();
                self.number(sign, digits, &spec);
            }
            b'u' | b'o' | b'x' | b'X' => {
                let value = self.unsigned_arg();
                let (prefix, digits): (&[u8], String) = match kind {
                    b'u' => (b"", value.to_string()),
                    b'o' => (
                        b"",
                        format!(
                            "{}{value:o}",
                            if spec.alternate && value != 0 {
                                "0"
                            } else {
                                ""
                            }
                        ),
                    ),
                    b'x' => (
                        if spec.alternate && value != 0 {
                            b"0x"
                        } else {
                            b""
                        },
                        format!("{value:x}"),
                    ),
                    _ => (
                        if spec.alternate && value != 0 {
                            b"0X"
                        } else {
                            b""
                        },
                        format!("{value:X}"),
                    ),
                };
                self.number(prefix, digits.into_bytes(), &spec);
            }
            b'e' | b'E' | b'f' | b'F' | b'g' | b'G' | b'a' | b'A' => {
                let value = self.float_arg();
                self.float(value, kind, &spec);
            }
            b'n' => {
                let name = self.arg().unwrap_or_default();
                let count = self.out.len().to_string().into_bytes();
                if is_name(&name) {
                    self.shell.set(&name, count)?;
                }
            }
            other => {
                self.shell.complain(
                    &[b"`".as_slice(), &[other], b"': invalid format character"].concat(),
                );
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn pad(&mut self, text: &[u8], spec: &Spec) {
        let have = crate::pattern::char_count(text);
        let fill = spec.width.saturating_sub(have);
        if !spec.minus {
            self.out.extend(std::iter::repeat_n(b' ', fill));
        }
        self.out.extend_from_slice(text);
        if spec.minus {
            self.out.extend(std::iter::repeat_n(b' ', fill));
        }
    }

    fn text(&mut self, text: &[u8], spec: &Spec) {
        let end = spec
            .precision
            .map_or(text.len(), |precision| char_offset(text, precision));
        self.pad(&text[..end], spec);
    }

    fn number(&mut self, prefix: &[u8], mut digits: Bytes, spec: &Spec) {
        let want = match spec.precision {
            Some(0) if digits == b"0" => {
                digits.clear();
                0
            }
            Some(precision) => precision,
            None if spec.zero && !spec.minus => spec.width.saturating_sub(prefix.len()),
            None => 0,
        };
        let zeros = want.saturating_sub(digits.len());
        let text: Bytes = prefix
            .iter()
            .copied()
            .chain(std::iter::repeat_n(b'0', zeros))
            .chain(digits)
            .collect();
        self.pad(&text, spec);
    }

    fn bad_number(&mut self, text: &[u8]) {
        self.shell.complain_about(text, "invalid number");
        self.status = 1;
    }

    fn integer_arg(&mut self) -> i64 {
        let (value, text) = self.wide_arg();
        i64::try_from(value).unwrap_or_else(|_| {
            self.out_of_range(&text);
            if value < 0 { i64::MIN } else { i64::MAX }
        })
    }

    /// As `strtoumax` reads it: a negative number is taken from 2^64.
    fn unsigned_arg(&mut self) -> u64 {
        let (value, text) = self.wide_arg();
        match u64::try_from(value.unsigned_abs()) {
            Ok(size) if value < 0 => size.wrapping_neg(),
            Ok(size) => size,
            Err(_) => {
                self.out_of_range(&text);
                u64::MAX
            }
        }
    }

    /// The next argument as a number, far beyond 64 bits if need be, and its text.
    fn wide_arg(&mut self) -> (i128, Bytes) {
        let Some(text) = self.arg() else {
            return (0, Bytes::new());
        };
        if let Some(value) = character_value(&text) {
            return (i128::from(value), text);
        }
        let trimmed = text.trim_ascii_start();
        let (negative, body) = match trimmed {
            [b'-', rest @ ..] => (true, rest),
            [b'+', rest @ ..] | rest => (false, rest),
        };
        let (radix, body) = match body {
            [b'0', b'x' | b'X', rest @ ..] => (16, rest),
            [b'0', rest @ ..] if !rest.is_empty() => (8, rest),
            rest => (10, rest),
        };
        let end = body
            .iter()
            .position(|b| !char::from(*b).is_digit(radix))
            .unwrap_or(body.len());
        if (end < body.len() || body.is_empty() && radix != 8) && !text.is_empty() {
            self.bad_number(&text);
        }
        let digits = std::str::from_utf8(&body[..end]).unwrap_or("");
        if digits.is_empty() {
            return (0, text);
        }
        let value = i128::from_str_radix(digits, radix).unwrap_or(i128::MAX);
        (if negative { -value } else { value }, text)
    }

    fn out_of_range(&mut self, text: &[u8]) {
        self.shell
            .complain(&[b"warning: ", text, b": Numerical result out of range"].concat());
    }

    fn float_arg(&mut self) -> f64 {
        let Some(text) = self.arg() else { return 0.0 };
        if let Some(value) = character_value(&text) {
            #[expect(
                clippy::cast_precision_loss,
                reason = "a character's number is far below 2^52"
            )]
            return value as f64;
        }
        let valid = std::str::from_utf8(text.trim_ascii()).unwrap_or("");
        if let Ok(value) = valid.parse::<f64>() {
            return value;
        }
        if let Some(hex) = valid
            .strip_prefix("0x")
            .or_else(|| valid.strip_prefix("0X"))
            && let Ok(value) = u64::from_str_radix(hex, 16)
        {
            #[expect(clippy::cast_precision_loss, reason = "printing a float rounds")]
            return value as f64;
        }
        if text.is_empty() {
            return 0.0;
        }
        self.bad_number(&text);
        // What can be read is used.
        let mut end = valid.len();
        while end > 0 {
            if let Some(value) = valid.get(..end).and_then(|head| head.parse::<f64>().ok()) {
                return value;
            }
            end -= 1;
        }
        0.0
    }

    fn float(&mut self, value: f64, kind: u8, spec: &Spec) {
        let sign: &[u8] = if value.is_sign_negative() && !value.is_nan() {
            b"-"
        } else if spec.plus {
            b"+"
        } else if spec.space {
            b" "
        } else {
            b""
        };
        let magnitude = value.abs();
        if !magnitude.is_finite() {
            let word = if value.is_nan() { "nan" } else { "inf" };
            let word = if kind.is_ascii_uppercase() {
                word.to_uppercase()
            } else {
                word.to_owned()
            };
            self.pad(&[sign, word.as_bytes()].concat(), spec);
            return;
        }
        let precision = spec.precision.unwrap_or(6);
        let mut digits = match kind.to_ascii_lowercase() {
            b'f' => format!("{magnitude:.precision$}"),
            b'e' => exponential(magnitude, precision),
            b'g' => general(magnitude, precision, spec.alternate),
            _ => hexadecimal(magnitude, spec.precision),
        };
        if spec.alternate && precision == 0 && !digits.contains('.') {
            digits.push('.');
        }
        if kind.is_ascii_uppercase() {
            digits = digits.to_uppercase();
        }
        let zeros = if spec.zero && !spec.minus {
            spec.width.saturating_sub(sign.len() + digits.len())
        } else {
            0
        };
        let text: Bytes = sign
            .iter()
            .copied()
            .chain(std::iter::repeat_n(b'0', zeros))
            .chain(digits.into_bytes())
            .collect();
        self.pad(&text, spec);
    }

    /// `%(format)T`
    fn time(&mut self, format: &[u8], at: &mut usize, spec: &Spec) -> bool {
        let mut depth = 1;
        let start = *at;
        while *at < format.len() && depth > 0 {
            match format[*at] {
                b'(' => depth += 1,
                b')' => depth -= 1,
                _ => {}
            }
            *at += 1;
        }
        if depth > 0 || format.get(*at) != Some(&b'T') {
            self.shell
                .complain(b"warning: `(': invalid time format specification");
            return false;
        }
        let pattern = format[start..*at - 1].to_vec();
        *at += 1;
        let seconds = match self.args.get(self.next) {
            None => -1,
            Some(_) => self.integer_arg(),
        };
        let now = sandbar_guest::time::realtime_ns() / 1_000_000_000;
        let moment = match seconds {
            -1 => now,
            -2 => now - i64::try_from(self.shell.elapsed().as_secs()).unwrap_or(0),
            other => other,
        };
        let pattern = if pattern.is_empty() {
            b"%X".to_vec()
        } else {
            pattern
        };
        let text = crate::datetime::format(self.shell, &pattern, moment);
        self.text(&text, spec);
        true
    }
}

fn digits(format: &[u8], at: &mut usize) -> Option<usize> {
    let start = *at;
    let mut value = 0_usize;
    while let Some(b) = format.get(*at).filter(|b| b.is_ascii_digit()) {
        value = value
            .saturating_mul(10)
            .saturating_add(usize::from(b - b'0'));
        *at += 1;
    }
    (*at > start).then_some(value)
}

/// The number of the character in `'x` or `"x`.
fn character_value(text: &[u8]) -> Option<i64> {
    match text {
        [b'\'' | b'"', rest @ ..] => {
            let (code, _) = next_char(rest);
            Some(i64::from(if code >= 0x11_0000 {
                code - 0x11_0000
            } else {
                code
            }))
        }
        _ => None,
    }
}

/// C's `%e`.
fn exponential(value: f64, precision: usize) -> String {
    let text = format!("{value:.precision$e}");
    match text.split_once('e') {
        Some((mantissa, exponent)) => {
            let (sign, digits) = match exponent.strip_prefix('-') {
                Some(digits) => ('-', digits),
                None => ('+', exponent),
            };
            format!("{mantissa}e{sign}{digits:0>2}")
        }
        None => text,
    }
}

/// C's `%g`.
fn general(value: f64, precision: usize, alternate: bool) -> String {
    let precision = precision.max(1);
    let shown = exponential(value, precision - 1);
    let exponent: i64 = shown
        .split_once('e')
        .and_then(|(_, e)| e.parse().ok())
        .unwrap_or(0);
    let limit = i64::try_from(precision).unwrap_or(i64::MAX);
    let strip = |text: String| {
        if alternate || !text.contains('.') {
            text
        } else {
            text.trim_end_matches('0').trim_end_matches('.').to_owned()
        }
    };
    if exponent < -4 || exponent >= limit {
        let (mantissa, tail) = shown.split_once('e').unwrap_or((&shown, "+00"));
        return format!("{}e{tail}", strip(mantissa.to_owned()));
    }
    let decimals = usize::try_from(limit - 1 - exponent).unwrap_or(0);
    strip(format!("{value:.decimals$}"))
}

/// C's `%a`.
fn hexadecimal(value: f64, precision: Option<usize>) -> String {
    let bits = value.to_bits();
    let raw = (bits >> 52) & 0x7ff;
    let fraction = bits & ((1 << 52) - 1);
    if raw == 0 && fraction == 0 {
        return "0x0p+0".to_owned();
    }
    let exponent = i64::try_from(raw).unwrap_or(0) - 1023;
    let mut digits = format!("{fraction:013x}");
    match precision {
        Some(count) => digits.truncate(count),
        None => digits = digits.trim_end_matches('0').to_owned(),
    }
    let point = if digits.is_empty() { "" } else { "." };
    format!("0x1{point}{digits}p{exponent:+}")
}
