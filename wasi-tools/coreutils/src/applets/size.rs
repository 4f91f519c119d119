//! Sizes in blocks, or as people read them.

/// The unit that sizes are shown in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BlockSize {
    /// So many bytes each, rounded up; the letters follow the number.
    Fixed(u64, Suffix),
    /// The largest unit that leaves a number, to this base.
    Human(u64),
}

/// The letters behind a number in fixed units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Suffix {
    None,
    /// `K`, `M`, …
    Binary(char),
    /// `kB`, `MB`, …
    Decimal(char),
}

const UNITS: [char; 8] = ['K', 'M', 'G', 'T', 'P', 'E', 'Z', 'Y'];

impl BlockSize {
    pub(super) const BYTES: Self = Self::Fixed(1, Suffix::None);
    pub(super) const KIBI: Self = Self::Fixed(1024, Suffix::None);
    pub(super) const HUMAN: Self = Self::Human(1024);
    pub(super) const SI: Self = Self::Human(1000);

    /// Reads `1024`, `K`, `2M`, `kB`, `MiB`, `human-readable` or `si`; `None` when it is no size, or 0.
    pub(super) fn parse(text: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(text).ok()?;
        let text = text.strip_prefix('\'').unwrap_or(text);
        match text {
            "human-readable" => return Some(Self::HUMAN),
            "si" => return Some(Self::SI),
            _ => {}
        }
        let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let (number, unit) = text.split_at_checked(digits)?;
        let count: u64 = if number.is_empty() {
            1
        } else {
            number.parse().ok()?
        };
        let (factor, suffix) = unit_factor(unit)?;
        let size = count.checked_mul(factor).filter(|size| *size > 0)?;
        // NOTE: the letters are shown only when no number was given with them.
        Some(Self::Fixed(
            size,
            if number.is_empty() {
                suffix
            } else {
                Suffix::None
            },
        ))
    }

    /// A number of bytes in this unit.
    pub(super) fn show(self, bytes: u64) -> String {
        match self {
            Self::Fixed(size, suffix) => {
                let blocks = bytes.div_ceil(size);
                match suffix {
                    Suffix::None => blocks.to_string(),
                    Suffix::Binary(letter) => format!("{blocks}{letter}"),
                    Suffix::Decimal('K') => format!("{blocks}kB"),
                    Suffix::Decimal(letter) => format!("{blocks}{letter}B"),
                }
            }
            Self::Human(base) => human(bytes, base),
        }
    }
}

/// The bytes of a unit.
fn unit_factor(unit: &str) -> Option<(u64, Suffix)> {
    if unit.is_empty() {
        return Some((1, Suffix::None));
    }
    let letter = unit.chars().next()?.to_ascii_uppercase();
    let power = u32::try_from(UNITS.iter().position(|known| *known == letter)?).ok()? + 1;
    let (base, suffix): (u64, _) = match unit.get(1..)? {
        "" | "iB" => (1024, Suffix::Binary(letter)),
        "B" => (1000, Suffix::Decimal(letter)),
        _ => return None,
    };
    Some((base.checked_pow(power)?, suffix))
}

/// Rounded up, with one digit after the point below 10.
fn human(bytes: u64, base: u64) -> String {
    if bytes < base {
        return bytes.to_string();
    }
    let (bytes, base) = (u128::from(bytes), u128::from(base));
    let mut unit = base;
    for letter in UNITS {
        let tenths = (bytes * 10).div_ceil(unit);
        let letter = if base == 1000 && letter == 'K' {
            'k'
        } else {
            letter
        };
        if tenths < 100 {
            return format!("{}.{}{letter}", tenths / 10, tenths % 10);
        }
        let whole = bytes.div_ceil(unit);
        if whole < base {
            return format!("{whole}{letter}");
        }
        unit *= base;
    }
    format!("{}Y", bytes.div_ceil(unit / base))
}

/// A number as `dd`, `head` and `tail` take it: factors with `x` between them, each with a unit (`b` 512, `K` 1024, `kB` 1000, …).
pub(super) fn number(text: &str) -> Option<u64> {
    let factor = |text: &str| {
        let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let (number, unit) = text.split_at_checked(digits)?;
        let unit = match unit {
            "" | "c" => 1,
            "w" => 2,
            "b" => 512,
            unit => {
                let power = "KMGTPE".find(unit.get(..1)?.to_uppercase().as_str())?;
                let power = u32::try_from(power).ok()? + 1;
                match unit.get(1..)? {
                    "" | "iB" => 1024_u64.checked_pow(power)?,
                    "B" => 1000_u64.checked_pow(power)?,
                    _ => return None,
                }
            }
        };
        number.parse::<u64>().ok()?.checked_mul(unit)
    };
    text.split('x')
        .try_fold(1_u64, |product, text| product.checked_mul(factor(text)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_rounded_up() {
        for (bytes, human, si) in [
            (0, "0", "0"),
            (999, "999", "999"),
            (1000, "1000", "1.0k"),
            (1025, "1.1K", "1.1k"),
            (10_240, "10K", "11k"),
            (10_241, "11K", "11k"),
            (1_048_575, "1.0M", "1.1M"),
            (u64::MAX, "16E", "19E"),
        ] {
            assert_eq!(
                (BlockSize::HUMAN.show(bytes), BlockSize::SI.show(bytes)),
                (human.into(), si.into()),
                "{bytes}"
            );
        }
        for (text, shown) in [
            ("K", "10K"),
            ("1K", "10"),
            ("kB", "10kB"),
            ("512", "20"),
            ("MiB", "1M"),
        ] {
            assert_eq!(
                BlockSize::parse(text.as_bytes()).map(|size| size.show(10_000)),
                Some(shown.into()),
                "{text}"
            );
        }
        for text in [
            "",
            "0",
            "x",
            "1x",
            "-1",
            "KX",
            "9999999999999999999999",
            "Y",
        ] {
            assert!(
                BlockSize::parse(text.as_bytes()).is_none() || text.is_empty(),
                "{text}"
            );
        }
    }
}
