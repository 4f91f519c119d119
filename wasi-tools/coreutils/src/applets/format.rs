//! The flags, width and precision of a `printf`-like directive, as `stat` and `ps` use them.

/// How a value is laid out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Layout {
    pub(super) left: bool,
    pub(super) plus: bool,
    pub(super) space: bool,
    pub(super) zero: bool,
    pub(super) alternate: bool,
    pub(super) width: usize,
    pub(super) precision: Option<usize>,
}

/// Widths beyond this are cut: nobody reads them, and they cost memory.
const WIDEST: usize = 4096;

impl Layout {
    /// Reads flags, width and precision from the start of `text` and returns what follows them.
    pub(super) fn parse(text: &[u8]) -> (Self, &[u8]) {
        let mut layout = Self::default();
        let mut rest = text;
        while let Some((flag, after)) = rest.split_first() {
            match flag {
                b'-' => layout.left = true,
                b'+' => layout.plus = true,
                b' ' => layout.space = true,
                b'0' => layout.zero = true,
                b'#' => layout.alternate = true,
                b'\'' | b'I' => {}
                _ => break,
            }
            rest = after;
        }
        let (width, after) = number(rest);
        layout.width = width.unwrap_or(0);
        rest = after;
        if let Some(after) = rest.strip_prefix(b".") {
            let (precision, after) = number(after);
            layout.precision = Some(precision.unwrap_or(0));
            rest = after;
        }
        (layout, rest)
    }

    /// Text: cut to the precision, filled to the width.
    pub(super) fn text(self, text: &[u8]) -> Vec<u8> {
        let text = self
            .precision
            .and_then(|precision| text.get(..precision))
            .unwrap_or(text);
        self.fill(text.to_vec())
    }

    /// An unsigned number in decimal.
    pub(super) fn decimal(self, number: u64) -> Vec<u8> {
        self.number("", &number.to_string())
    }

    /// A signed number in decimal.
    pub(super) fn signed(self, number: i64) -> Vec<u8> {
        let sign = match () {
            () if number < 0 => "-",
            () if self.plus => "+",
            () if self.space => " ",
            () => "",
        };
        self.number(sign, &number.unsigned_abs().to_string())
    }

    /// A number in octal, with a leading 0 in the alternate form.
    pub(super) fn octal(self, number: u64) -> Vec<u8> {
        let digits = format!("{number:o}");
        let digits = if self.alternate && number != 0 {
            format!("0{digits}")
        } else {
            digits
        };
        self.number("", &digits)
    }

    /// A number in hexadecimal, with a leading 0x in the alternate form.
    pub(super) fn hex(self, number: u64) -> Vec<u8> {
        let prefix = if self.alternate && number != 0 {
            "0x"
        } else {
            ""
        };
        self.number(prefix, &format!("{number:x}"))
    }

    fn number(self, prefix: &str, digits: &str) -> Vec<u8> {
        let missing = self.precision.unwrap_or(0).saturating_sub(digits.len());
        let digits = [&"0".repeat(missing), digits].concat();
        if self.zero && !self.left && self.precision.is_none() {
            let zeros = self.width.saturating_sub(prefix.len() + digits.len());
            return [prefix, &"0".repeat(zeros), &digits].concat().into_bytes();
        }
        self.fill([prefix, &digits].concat().into_bytes())
    }

    /// Fills to the width with spaces.
    pub(super) fn fill(self, mut text: Vec<u8>) -> Vec<u8> {
        let characters = String::from_utf8_lossy(&text).chars().count();
        let missing = self.width.saturating_sub(characters);
        if self.left {
            text.resize(text.len() + missing, b' ');
            return text;
        }
        let mut filled = vec![b' '; missing];
        filled.append(&mut text);
        filled
    }
}

/// A decimal number at the start of `text`, and what follows it.
fn number(text: &[u8]) -> (Option<usize>, &[u8]) {
    let end = text
        .iter()
        .position(|byte| !byte.is_ascii_digit())
        .unwrap_or(text.len());
    let (digits, rest) = text.split_at_checked(end).unwrap_or((text, b""));
    if digits.is_empty() {
        return (None, rest);
    }
    let value = digits.iter().fold(0_usize, |all, digit| {
        all.saturating_mul(10)
            .saturating_add(usize::from(digit - b'0'))
            .min(WIDEST)
    });
    (Some(value), rest)
}

/// One byte of an escape such as `\n` or `\033` at the start of `text` (behind the backslash), and what follows it; `None` when
/// it is not one.
pub(super) fn escape(text: &[u8]) -> Option<(u8, &[u8])> {
    let (letter, rest) = text.split_first()?;
    let byte = match letter {
        b'a' => 7,
        b'b' => 8,
        b'e' => 27,
        b'f' => 12,
        b'n' => 10,
        b'r' => 13,
        b't' => 9,
        b'v' => 11,
        b'\\' => b'\\',
        b'"' => b'"',
        b'0'..=b'7' => {
            let end = text
                .iter()
                .take(3)
                .take_while(|byte| (b'0'..=b'7').contains(byte))
                .count();
            let (digits, rest) = text.split_at_checked(end)?;
            return Some((
                digits
                    .iter()
                    .fold(0_u8, |all, digit| (all << 3) | (digit - b'0')),
                rest,
            ));
        }
        b'x' => {
            let end = rest
                .iter()
                .take(2)
                .take_while(|byte| byte.is_ascii_hexdigit())
                .count();
            let (digits, rest) = rest.split_at_checked(end)?;
            let value = u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
            return Some((value, rest));
        }
        _ => return None,
    };
    Some((byte, rest))
}
