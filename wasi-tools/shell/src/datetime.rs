//! Dates by a format, as `strftime` writes them in the C locale.

use sandbar_guest::time::{DateTime, Zone};

use crate::ast::Bytes;
use crate::shell::Shell;

const DAYS: [&str; 7] = [
    "Sunday",
    "Monday",
    "Tuesday",
    "Wednesday",
    "Thursday",
    "Friday",
    "Saturday",
];
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

/// The current time by `format`.
pub(crate) fn now(shell: &mut Shell, format: &[u8]) -> Bytes {
    self::format(
        shell,
        format,
        sandbar_guest::time::realtime_ns() / 1_000_000_000,
    )
}

/// A moment, in seconds since 1970, by `format`, in the shell's time zone.
pub(crate) fn format(shell: &mut Shell, format: &[u8], seconds: i64) -> Bytes {
    let zone = match shell.get(b"TZ") {
        Some(name) => Zone::named(&String::from_utf8_lossy(&name)),
        None => Zone::local(),
    };
    let date = DateTime::new(&zone, seconds);
    let mut out = String::new();
    write(
        &mut out,
        &String::from_utf8_lossy(format),
        &date,
        seconds,
        0,
    );
    out.into_bytes()
}

fn name(names: &[&'static str], index: i64) -> &'static str {
    usize::try_from(index)
        .ok()
        .and_then(|at| names.get(at))
        .copied()
        .unwrap_or("?")
}

fn short(text: &str) -> &str {
    text.get(..3).unwrap_or(text)
}

/// Year and week by ISO 8601.
fn iso_week(date: &DateTime) -> (i64, i64) {
    let weekday = (date.weekday + 6).rem_euclid(7);
    let week = (date.year_day - weekday + 10).div_euclid(7);
    let leap = |year: i64| year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let long = |year: i64| {
        // A year has 53 weeks when it starts on a Thursday, or on a Wednesday and is a leap year.
        let first = |year: i64| {
            (year + (year - 1).div_euclid(4) - (year - 1).div_euclid(100)
                + (year - 1).div_euclid(400))
            .rem_euclid(7)
        };
        first(year) == 4 || first(year) == 3 && leap(year)
    };
    if week < 1 {
        let year = date.year - 1;
        (year, if long(year) { 53 } else { 52 })
    } else if week == 53 && !long(date.year) {
        (date.year + 1, 1)
    } else {
        (date.year, week)
    }
}

fn write(out: &mut String, format: &str, date: &DateTime, seconds: i64, depth: u32) {
    let mut chars = format.chars();
    while let Some(c) = chars.next() {
        if c != '%' || depth > 2 {
            out.push(c);
            continue;
        }
        let mut letter = chars.next();
        let mut pad = None;
        while matches!(letter, Some('-' | '_' | '0' | '^' | '#' | 'E' | 'O')) {
            if matches!(letter, Some('-' | '_' | '0')) {
                pad = letter;
            }
            letter = chars.next();
        }
        let two = |value: i64, fill: char| match pad.unwrap_or(fill) {
            '-' => value.to_string(),
            '_' => format!("{value:2}"),
            _ => format!("{value:02}"),
        };
        let hour12 = if date.hour % 12 == 0 {
            12
        } else {
            date.hour % 12
        };
        let piece = match letter {
            Some('Y') => date.year.to_string(),
            Some('C') => two(date.year.div_euclid(100), '0'),
            Some('y') => two(date.year.rem_euclid(100), '0'),
            Some('m') => two(date.month, '0'),
            Some('d') => two(date.day, '0'),
            Some('e') => {
                if pad.is_some() {
                    two(date.day, '0')
                } else {
                    format!("{:2}", date.day)
                }
            }
            Some('H') => two(date.hour, '0'),
            Some('I') => two(hour12, '0'),
            Some('k') => format!("{:2}", date.hour),
            Some('l') => format!("{hour12:2}"),
            Some('M') => two(date.minute, '0'),
            Some('S') => two(date.second, '0'),
            Some('j') => format!("{:03}", date.year_day + 1),
            Some('a') => short(name(&DAYS, date.weekday)).to_owned(),
            Some('A') => name(&DAYS, date.weekday).to_owned(),
            Some('b' | 'h') => short(name(&MONTHS, date.month - 1)).to_owned(),
            Some('B') => name(&MONTHS, date.month - 1).to_owned(),
            Some('p') => if date.hour < 12 { "AM" } else { "PM" }.to_owned(),
            Some('P') => if date.hour < 12 { "am" } else { "pm" }.to_owned(),
            Some('s') => seconds.to_string(),
            Some('%') | None => "%".to_owned(),
            Some('n') => "\n".to_owned(),
            Some('t') => "\t".to_owned(),
            Some('u') => (if date.weekday == 0 { 7 } else { date.weekday }).to_string(),
            Some('w') => date.weekday.to_string(),
            Some('U') => format!("{:02}", (date.year_day + 7 - date.weekday).div_euclid(7)),
            Some('W') => format!(
                "{:02}",
                (date.year_day + 7 - (date.weekday + 6).rem_euclid(7)).div_euclid(7)
            ),
            Some('V') => format!("{:02}", iso_week(date).1),
            Some('G') => iso_week(date).0.to_string(),
            Some('g') => format!("{:02}", iso_week(date).0.rem_euclid(100)),
            Some('z') => date.offset_text(),
            Some('Z') => date.offset.name.clone(),
            Some(letter) => {
                let whole = match letter {
                    'D' | 'x' => "%m/%d/%y",
                    'F' => "%Y-%m-%d",
                    'T' | 'X' => "%H:%M:%S",
                    'R' => "%H:%M",
                    'r' => "%I:%M:%S %p",
                    'c' => "%a %b %e %H:%M:%S %Y",
                    other => {
                        out.push('%');
                        out.push(other);
                        continue;
                    }
                };
                write(out, whole, date, seconds, depth + 1);
                continue;
            }
        };
        out.push_str(&piece);
    }
}
