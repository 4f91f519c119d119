//! Dates as text, by `strftime`'s directives.

use super::{DateTime, civil_date, days_from_civil};

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
const WEEKDAYS: [&str; 7] = [
    "Sunday",
    "Monday",
    "Tuesday",
    "Wednesday",
    "Thursday",
    "Friday",
    "Saturday",
];

/// Widths beyond this are cut.
const WIDEST: usize = 1024;

/// Flags and width of a directive.
#[derive(Clone, Copy, Default)]
struct Layout {
    pad: Option<char>,
    upper: bool,
    swap_case: bool,
    width: usize,
    colons: usize,
}

impl DateTime {
    /// The moment as `format` says, with GNU's flags (`-` no padding, `_` blanks, `0` zeros, `^` upper case) and widths;
    /// `nanoseconds` is what `%N` shows. Names are those of the C locale.
    ///
    /// Source: POSIX `strftime`; glibc's extensions. An unknown directive stays as it is.
    pub fn format(&self, format: &str, nanoseconds: u32) -> String {
        let mut text = String::new();
        let mut rest = format;
        while let Some(at) = rest.find('%') {
            let (before, directive) = rest.split_at(at);
            text.push_str(before);
            let (layout, letter, after) = parse(directive);
            match letter.and_then(|letter| self.directive(layout, letter, nanoseconds)) {
                Some(shown) => text.push_str(&shown),
                None => text.push_str(directive.strip_suffix(after).unwrap_or(directive)),
            }
            rest = after;
        }
        text.push_str(rest);
        text
    }

    fn directive(&self, layout: Layout, letter: char, nanoseconds: u32) -> Option<String> {
        let number = |value, digits| Some(layout.number(value, digits, '0'));
        let blank = |value, digits| Some(layout.number(value, digits, ' '));
        let whole = |format: &str| Some(layout.text(&self.format(format, nanoseconds)));
        let twelve = if self.hour % 12 == 0 {
            12
        } else {
            self.hour % 12
        };
        match letter {
            '%' => Some(String::from("%")),
            'n' => Some(String::from("\n")),
            't' => Some(String::from("\t")),
            'a' => Some(layout.text(short(name(&WEEKDAYS, self.weekday)))),
            'A' => Some(layout.text(name(&WEEKDAYS, self.weekday))),
            'b' | 'h' => Some(layout.text(short(name(&MONTHS, self.month - 1)))),
            'B' => Some(layout.text(name(&MONTHS, self.month - 1))),
            'c' => whole("%a %b %e %H:%M:%S %Y"),
            'C' => number(self.year.div_euclid(100), 2),
            'd' => number(self.day, 2),
            'D' | 'x' => whole("%m/%d/%y"),
            'e' => blank(self.day, 2),
            'F' => whole("%Y-%m-%d"),
            'g' => number(self.iso_week().0.rem_euclid(100), 2),
            'G' => number(self.iso_week().0, 4),
            'H' => number(self.hour, 2),
            'I' => number(twelve, 2),
            'j' => number(self.year_day + 1, 3),
            'k' => blank(self.hour, 2),
            'l' => blank(twelve, 2),
            'm' => number(self.month, 2),
            'M' => number(self.minute, 2),
            'N' => Some(layout.fraction(nanoseconds)),
            'p' if layout.swap_case => Some(String::from(if self.hour < 12 { "am" } else { "pm" })),
            'p' => Some(layout.text(if self.hour < 12 { "AM" } else { "PM" })),
            'P' => Some(layout.text(if self.hour < 12 { "am" } else { "pm" })),
            'r' => whole("%I:%M:%S %p"),
            'R' => whole("%H:%M"),
            's' => number(self.seconds(), 1),
            'S' => number(self.second, 2),
            'T' | 'X' => whole("%H:%M:%S"),
            'u' => number(if self.weekday == 0 { 7 } else { self.weekday }, 1),
            'U' => number((self.year_day + 7 - self.weekday) / 7, 2),
            'V' => number(self.iso_week().1, 2),
            'w' => number(self.weekday, 1),
            'W' => number((self.year_day + 7 - (self.weekday + 6) % 7) / 7, 2),
            'y' => number(self.year.rem_euclid(100), 2),
            'Y' => number(self.year, 1),
            'z' => Some(self.zone_text(layout.colons)),
            'Z' if layout.swap_case => Some(self.offset.name.to_lowercase()),
            'Z' => Some(layout.text(&self.offset.name)),
            _ => None,
        }
    }

    /// Seconds since 1970-01-01 00:00 UTC.
    pub fn seconds(&self) -> i64 {
        let days = days_from_civil(self.year, self.month, self.day);
        days * super::DAY + self.hour * 3600 + self.minute * 60 + self.second
            - i64::from(self.offset.seconds)
    }

    /// Year and week of ISO 8601: weeks start on Monday, and the first has the year's first Thursday.
    fn iso_week(&self) -> (i64, i64) {
        let days = days_from_civil(self.year, self.month, self.day);
        let thursday = days - (self.weekday + 6) % 7 + 3;
        let (year, ..) = civil_date(thursday);
        (year, (thursday - days_from_civil(year, 1, 1)) / 7 + 1)
    }

    fn zone_text(&self, colons: usize) -> String {
        let seconds = self.offset.seconds;
        let sign = if seconds < 0 { '-' } else { '+' };
        let (hours, minutes, rest) = (
            seconds.abs() / 3600,
            seconds.abs() / 60 % 60,
            seconds.abs() % 60,
        );
        match colons {
            0 => format!("{sign}{hours:02}{minutes:02}"),
            1 => format!("{sign}{hours:02}:{minutes:02}"),
            _ => format!("{sign}{hours:02}:{minutes:02}:{rest:02}"),
        }
    }
}

/// Flags, width and letter of the directive that `text` starts with, and what follows.
fn parse(text: &str) -> (Layout, Option<char>, &str) {
    let mut layout = Layout::default();
    let mut characters = text.chars();
    characters.next();
    let mut letter = None;
    for character in characters.by_ref() {
        match character {
            '_' => layout.pad = Some(' '),
            '-' => layout.pad = Some('-'),
            '0' if layout.width == 0 => layout.pad = Some('0'),
            '^' => layout.upper = true,
            '#' => layout.swap_case = true,
            ':' => layout.colons += 1,
            // The locale's other forms; the C locale has none.
            'E' | 'O' => {}
            digit if digit.is_ascii_digit() => {
                let digit = digit
                    .to_digit(10)
                    .and_then(|digit| usize::try_from(digit).ok())
                    .unwrap_or(0);
                layout.width = (layout.width * 10 + digit).min(WIDEST);
            }
            other => {
                letter = Some(other);
                break;
            }
        }
    }
    (layout, letter, characters.as_str())
}

fn name<'a>(names: &[&'a str], index: i64) -> &'a str {
    usize::try_from(index)
        .ok()
        .and_then(|index| names.get(index))
        .copied()
        .unwrap_or("?")
}

fn short(name: &str) -> &str {
    name.get(..3).unwrap_or(name)
}

impl Layout {
    fn number(self, value: i64, digits: usize, pad: char) -> String {
        let sign = if value < 0 { "-" } else { "" };
        let text = value.unsigned_abs().to_string();
        let width = if self.width > 0 { self.width } else { digits };
        match self.pad.unwrap_or(pad) {
            '-' => format!("{sign}{text}"),
            ' ' => format!("{:>width$}", format!("{sign}{text}")),
            _ => {
                let zeros = width.saturating_sub(sign.len() + text.len());
                format!("{sign}{}{text}", "0".repeat(zeros))
            }
        }
    }

    fn text(self, text: &str) -> String {
        let text = if self.upper || self.swap_case {
            text.to_uppercase()
        } else {
            text.to_owned()
        };
        let missing = self.width.saturating_sub(text.chars().count());
        let pad = if self.pad == Some('0') { "0" } else { " " };
        format!("{}{text}", pad.repeat(missing))
    }

    /// Nine digits, or as many as the width says.
    fn fraction(self, nanoseconds: u32) -> String {
        let mut text = format!("{nanoseconds:09}");
        if self.width > 0 {
            let missing = self.width.saturating_sub(text.len());
            text.truncate(self.width);
            text.push_str(&"0".repeat(missing));
        }
        if self.pad == Some('-') {
            text.truncate(text.trim_end_matches('0').len());
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use crate::time::{DateTime, Zone};

    #[test]
    fn directives_are_strftimes() {
        let date = DateTime::new(&Zone::named("CET-1CEST,M3.5.0,M10.5.0/3"), 1_767_315_845);
        for (format, text) in [
            (
                "%Y-%m-%d %H:%M:%S.%N %z",
                "2026-01-02 02:04:05.000000007 +0100",
            ),
            (
                "%a %A %b %B %e|%-d|%_d|%3d",
                "Fri Friday Jan January  2|2| 2|002",
            ),
            (
                "%I %l %k %p %P %j %U %W %V %G %g %u %w",
                "02  2  2 AM am 002 00 00 01 2026 26 5 5",
            ),
            (
                "%s %Z %:z %::z %% %n%t%C%y",
                "1767315845 CET +01:00 +01:00:00 % \n\t2026",
            ),
            ("%^a %#Z %3N %-N %Q %", "FRI cet 000 000000007 %Q %"),
            (
                "%c|%D|%r|%R|%T|%x|%X",
                "Fri Jan  2 02:04:05 2026|01/02/26|02:04:05 AM|02:04|02:04:05|01/02/26|02:04:05",
            ),
        ] {
            assert_eq!(date.format(format, 7), text, "{format}");
        }
    }
}
