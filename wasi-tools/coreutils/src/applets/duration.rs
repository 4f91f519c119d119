//! Durations as `sleep` and `timeout` take them: a decimal number and `s`, `m`, `h` or `d`.

use std::time::Duration;

/// The longest time that is told from `infinity`: beyond it nobody waits for the end.
const LONGEST: f64 = 1e15;

/// Reads a duration; `infinity` and what is too long is [`Duration::MAX`]. `None` when it is none.
pub(super) fn parse(text: &[u8]) -> Option<Duration> {
    let text = std::str::from_utf8(text).ok()?.trim_ascii_start();
    let (number, unit) = match text.as_bytes().last()? {
        b's' => (text.strip_suffix('s')?, 1.0),
        b'm' => (text.strip_suffix('m')?, 60.0),
        b'h' => (text.strip_suffix('h')?, 3600.0),
        b'd' if !is_hex(text) => (text.strip_suffix('d')?, 86_400.0),
        _ => (text, 1.0),
    };
    // Rust also reads "nan", which is no time.
    let number: f64 = if is_hex(number) {
        hex(number)?
    } else {
        number.parse().ok()?
    };
    let seconds = number * unit;
    if seconds.is_nan() || seconds < 0.0 {
        return None;
    }
    if seconds > LONGEST {
        return Some(Duration::MAX);
    }
    // Rounded up: nobody may be woken too early, and 1e-12 is not no time at all.
    let duration = Duration::try_from_secs_f64(seconds).ok()?;
    let short = duration.is_zero() && seconds > 0.0;
    Some(if short {
        Duration::from_nanos(1)
    } else {
        duration
    })
}

fn is_hex(text: &str) -> bool {
    let text = text.strip_prefix(['+', '-']).unwrap_or(text);
    text.starts_with("0x") || text.starts_with("0X")
}

/// A whole hexadecimal number, which `strtod` reads too.
fn hex(text: &str) -> Option<f64> {
    let text = text.strip_prefix('+').unwrap_or(text);
    let digits = text.get(2..).filter(|digits| !digits.is_empty())?;
    digits.chars().try_fold(0.0, |value, digit| {
        Some(value * 16.0 + f64::from(digit.to_digit(16)?))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_units_are_read() {
        for (text, milliseconds) in [
            ("1", 1000),
            (".5", 500),
            ("0.1s", 100),
            ("1e-3", 1),
            ("2m", 120_000),
            ("0x10", 16_000),
        ] {
            assert_eq!(
                parse(text.as_bytes()),
                Some(Duration::from_millis(milliseconds)),
                "{text}"
            );
        }
        assert_eq!(parse(b"1d"), Some(Duration::from_hours(24)));
        for text in ["infinity", "inf", "1e400", "9e99d"] {
            assert_eq!(parse(text.as_bytes()), Some(Duration::MAX), "{text}");
        }
        for text in ["", "s", "-1", "1x", "nan", "1 s", "1ss", "0x"] {
            assert_eq!(parse(text.as_bytes()), None, "{text}");
        }
    }
}
