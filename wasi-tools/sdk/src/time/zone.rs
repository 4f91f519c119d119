//! Time zones: which offset from UTC holds at a moment, from `TZ`, zoneinfo files and POSIX rules.

use std::path::{Path, PathBuf};

/// Where zoneinfo files lie.
const ZONEINFO: &str = "/usr/share/zoneinfo";

/// Offset and name that hold at a moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offset {
    /// Seconds east of UTC.
    pub seconds: i32,
    /// Whether it is summer time.
    pub is_dst: bool,
    /// Its abbreviation, such as `CET`.
    pub name: String,
}

impl Offset {
    fn utc() -> Self {
        Self {
            seconds: 0,
            is_dst: false,
            name: String::from("UTC"),
        }
    }
}

/// A time zone.
#[derive(Clone, Debug)]
pub struct Zone {
    /// Moments from which the offset with that index holds, ascending.
    transitions: Vec<(i64, usize)>,
    offsets: Vec<Offset>,
    /// What holds after the last transition.
    rule: Option<Rule>,
}

impl Zone {
    /// The zone that `TZ` names; without it that of `/etc/localtime`. One that can't be read is UTC.
    ///
    /// Source: POSIX, "Environment Variables", `TZ`.
    pub fn local() -> Self {
        match std::env::var("TZ") {
            Ok(name) => Self::named(&name),
            Err(_) => Self::from_file(Path::new("/etc/localtime")).unwrap_or_else(Self::utc),
        }
    }

    /// The zone of a `TZ` value: a name, `:` and a path, or a rule such as `CET-1CEST,M3.5.0,M10.5.0/3`.
    pub fn named(tz: &str) -> Self {
        let name = tz.strip_prefix(':').unwrap_or(tz);
        if name.is_empty() {
            return Self::utc();
        }
        // A name must not lead out of the folder: TZ can come from anybody.
        let plain = !name.split('/').any(|part| part == "..");
        let file = if name.starts_with('/') {
            PathBuf::from(name)
        } else {
            Path::new(ZONEINFO).join(name)
        };
        let from_file = if plain { Self::from_file(&file) } else { None };
        from_file
            .or_else(|| Self::from_rule(name))
            .unwrap_or_else(Self::utc)
    }

    fn utc() -> Self {
        Self {
            transitions: Vec::new(),
            offsets: vec![Offset::utc()],
            rule: None,
        }
    }

    fn from_rule(text: &str) -> Option<Self> {
        let rule = Rule::parse(text)?;
        Some(Self {
            transitions: Vec::new(),
            offsets: Vec::new(),
            rule: Some(rule),
        })
    }

    fn from_file(path: &Path) -> Option<Self> {
        Self::from_tzif(&std::fs::read(path).ok()?)
    }

    /// Reads RFC 8536's format; version 1 has only 32-bit times and no rule.
    fn from_tzif(bytes: &[u8]) -> Option<Self> {
        let first = Block::split(bytes, 4)?;
        let (block, footer) = if first.version == 0 {
            (first, None)
        } else {
            let second = Block::split(first.rest, 8)?;
            let footer = second.rest.strip_prefix(b"\n")?;
            let end = footer.iter().position(|byte| *byte == b'\n')?;
            (second, footer.get(..end))
        };
        let times = block.times.chunks_exact(block.time_size).map(|time| {
            let negative = time.first().is_some_and(|byte| byte & 0x80 != 0);
            time.iter()
                .fold(if negative { -1 } else { 0 }, |all: i64, byte| {
                    (all << 8) | i64::from(*byte)
                })
        });
        let offsets = block.types.chunks_exact(6).map(|entry| {
            let (seconds, rest) = entry.split_first_chunk()?;
            let [is_dst, name_at] = rest else { return None };
            let name = block
                .names
                .get(usize::from(*name_at)..)?
                .split(|byte| *byte == 0)
                .next()?;
            let name = String::from_utf8_lossy(name).into_owned();
            Some(Offset {
                seconds: i32::from_be_bytes(*seconds),
                is_dst: *is_dst != 0,
                name,
            })
        });
        let offsets = offsets.collect::<Option<Vec<_>>>()?;
        let transitions: Vec<_> = times
            .zip(block.indices.iter().map(|index| usize::from(*index)))
            .collect();
        let valid =
            !offsets.is_empty() && transitions.iter().all(|(_, index)| *index < offsets.len());
        let rule = footer.and_then(|text| Rule::parse(std::str::from_utf8(text).ok()?));
        valid.then_some(Self {
            transitions,
            offsets,
            rule,
        })
    }

    /// The offset at a moment in seconds since 1970-01-01 00:00 UTC.
    pub fn offset_at(&self, seconds: i64) -> Offset {
        let after = self
            .transitions
            .partition_point(|(from, _)| *from <= seconds);
        if after == self.transitions.len()
            && let Some(rule) = &self.rule
        {
            return rule.offset_at(seconds);
        }
        let index = match after.checked_sub(1).and_then(|at| self.transitions.get(at)) {
            Some((_, index)) => *index,
            // Before the first transition: the first offset that is not summer time.
            None => self
                .offsets
                .iter()
                .position(|offset| !offset.is_dst)
                .unwrap_or(0),
        };
        self.offsets.get(index).cloned().unwrap_or_else(Offset::utc)
    }
}

/// One of the data blocks of a zoneinfo file.
struct Block<'a> {
    version: u8,
    time_size: usize,
    times: &'a [u8],
    indices: &'a [u8],
    types: &'a [u8],
    names: &'a [u8],
    rest: &'a [u8],
}

impl<'a> Block<'a> {
    fn split(bytes: &'a [u8], time_size: usize) -> Option<Self> {
        let header = bytes.strip_prefix(b"TZif")?;
        let version = *header.first()?;
        let (counts, mut rest) = header.get(16..)?.split_at_checked(24)?;
        let mut counts = counts.chunks_exact(4).map(|count| {
            count
                .iter()
                .fold(0_usize, |all, byte| (all << 8) | usize::from(*byte))
        });
        let mut next = || counts.next();
        let (utc, standard, leaps, times, types, names) =
            (next()?, next()?, next()?, next()?, next()?, next()?);
        let mut take = |len: usize| {
            let (part, tail) = rest.split_at_checked(len)?;
            rest = tail;
            Some(part)
        };
        let size = |count: usize, size: usize| count.checked_mul(size);
        let times_part = take(size(times, time_size)?)?;
        let indices = take(times)?;
        let types = take(size(types, 6)?)?;
        let names = take(names)?;
        take(size(leaps, time_size + 4)?)?;
        take(standard)?;
        take(utc)?;
        Some(Self {
            version,
            time_size,
            times: times_part,
            indices,
            types,
            names,
            rest,
        })
    }
}

/// A POSIX rule: standard time, and summer time between two days of each year.
#[derive(Clone, Debug)]
struct Rule {
    standard: Offset,
    summer: Option<(Offset, Change, Change)>,
}

/// The day and time of a change in a year.
#[derive(Clone, Copy, Debug)]
struct Change {
    day: Day,
    /// Seconds after that day's midnight, in the time that holds before.
    seconds: i64,
}

#[derive(Clone, Copy, Debug)]
enum Day {
    /// `Jn`: 1 to 365, never 29 February.
    Julian(i64),
    /// `n`: 0 to 365.
    Counted(i64),
    /// `Mm.w.d`: week 5 is the last.
    Weekday { month: i64, week: i64, weekday: i64 },
}

/// A cursor over a rule.
struct Text<'a>(&'a str);

impl<'a> Text<'a> {
    fn eat(&mut self, character: char) -> bool {
        let rest = self.0.strip_prefix(character);
        self.0 = rest.unwrap_or(self.0);
        rest.is_some()
    }

    fn take_while(&mut self, keep: impl Fn(char) -> bool) -> &'a str {
        let end = self
            .0
            .find(|character| !keep(character))
            .unwrap_or(self.0.len());
        let (part, rest) = self.0.split_at(end);
        self.0 = rest;
        part
    }

    fn number(&mut self) -> Option<i64> {
        self.take_while(|c| c.is_ascii_digit())
            .parse()
            .ok()
            .filter(|number| *number <= 1000)
    }

    fn name(&mut self) -> Option<String> {
        let name = if self.eat('<') {
            let name = self.take_while(|c| c != '>');
            self.eat('>').then_some(name)?
        } else {
            self.take_while(|c| c.is_ascii_alphabetic())
        };
        (name.len() >= 3).then(|| name.to_owned())
    }

    /// `[+-]hh[:mm[:ss]]` in seconds.
    fn time(&mut self) -> Option<i64> {
        let negative = self.eat('-');
        if !negative {
            self.eat('+');
        }
        let mut seconds = self.number()? * 3600;
        for unit in [60, 1] {
            if !self.eat(':') {
                break;
            }
            seconds += self.number()? * unit;
        }
        Some(if negative { -seconds } else { seconds })
    }

    fn change(&mut self) -> Option<Change> {
        let day = if self.eat('M') {
            let month = self.number()?;
            let week = self.eat('.').then(|| self.number())??;
            let weekday = self.eat('.').then(|| self.number())??;
            let valid =
                (1..=12).contains(&month) && (1..=5).contains(&week) && (0..=6).contains(&weekday);
            valid.then_some(Day::Weekday {
                month,
                week,
                weekday,
            })?
        } else if self.eat('J') {
            Day::Julian(self.number()?)
        } else {
            Day::Counted(self.number()?)
        };
        let seconds = if self.eat('/') {
            self.time()?
        } else {
            2 * 3600
        };
        Some(Change { day, seconds })
    }
}

impl Rule {
    fn parse(text: &str) -> Option<Self> {
        let mut text = Text(text);
        // NOTE: POSIX counts west of Greenwich, everybody else east.
        let offset = |name, west: i64, is_dst| {
            Some(Offset {
                seconds: i32::try_from(-west).ok()?,
                is_dst,
                name,
            })
        };
        let name = text.name()?;
        let west = text.time()?;
        let standard = offset(name, west, false)?;
        if text.0.is_empty() {
            return Some(Self {
                standard,
                summer: None,
            });
        }
        let name = text.name()?;
        let summer_west = if text.0.is_empty() || text.0.starts_with(',') {
            west - 3600
        } else {
            text.time()?
        };
        let summer = offset(name, summer_west, true)?;
        // Without days, those of the United States, as everywhere.
        let mut days = if text.0.is_empty() {
            Text(",M3.2.0,M11.1.0")
        } else {
            text
        };
        let start = days.eat(',').then(|| days.change())??;
        let end = days.eat(',').then(|| days.change())??;
        days.0.is_empty().then_some(Self {
            standard,
            summer: Some((summer, start, end)),
        })
    }

    fn offset_at(&self, seconds: i64) -> Offset {
        let Some((summer, start, end)) = &self.summer else {
            return self.standard.clone();
        };
        let local = seconds.saturating_add(self.standard.seconds.into());
        let (year, _, _) = super::civil_date(local.div_euclid(super::DAY));
        let starts = start.in_year(year) - i64::from(self.standard.seconds);
        let ends = end.in_year(year) - i64::from(summer.seconds);
        let is_summer = if starts < ends {
            (starts..ends).contains(&seconds)
        } else {
            !(ends..starts).contains(&seconds)
        };
        if is_summer {
            summer.clone()
        } else {
            self.standard.clone()
        }
    }
}

impl Change {
    /// Seconds from 1970 to the change in a year, in local time.
    fn in_year(self, year: i64) -> i64 {
        let january = super::days_from_civil(year, 1, 1);
        let leap = super::days_from_civil(year + 1, 1, 1) - january == 366;
        let day = match self.day {
            Day::Counted(day) => january + day,
            Day::Julian(day) => january + day - i64::from(!(leap && day >= 60)),
            Day::Weekday {
                month,
                week,
                weekday,
            } => {
                let first = super::days_from_civil(year, month, 1);
                let after = if month == 12 {
                    january + 365 + i64::from(leap)
                } else {
                    super::days_from_civil(year, month + 1, 1)
                };
                let day = first + (weekday - super::weekday(first)).rem_euclid(7) + (week - 1) * 7;
                if day < after { day } else { day - 7 }
            }
        };
        day * super::DAY + self.seconds
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_change_on_their_days() {
        let berlin = Zone::named("CET-1CEST,M3.5.0,M10.5.0/3");
        // 2026-03-29 01:00 UTC and 2026-10-25 01:00 UTC.
        for (moment, name) in [
            (1_774_745_999, "CET"),
            (1_774_746_000, "CEST"),
            (1_792_889_999, "CEST"),
            (1_792_890_000, "CET"),
        ] {
            assert_eq!(berlin.offset_at(moment).name, name, "{moment}");
        }
        let sydney = Zone::named("AEST-10AEDT,M10.1.0,M4.1.0/3");
        assert_eq!(sydney.offset_at(1_767_225_600).seconds, 11 * 3600);
        assert_eq!(Zone::named("<+0530>-5:30").offset_at(0).seconds, 19_800);
        for unreadable in [
            "",
            "../../etc/passwd",
            "No/Such",
            "AB1",
            "CET-1CEST,M13.1.0,M1.1.0",
        ] {
            assert_eq!(
                Zone::named(unreadable).offset_at(0),
                Offset::utc(),
                "{unreadable}"
            );
        }
    }

    #[test]
    fn a_damaged_file_is_no_zone() {
        let mut file = b"TZif2".to_vec();
        file.resize(44, 0xff);
        assert!(Zone::from_tzif(&file).is_none());
        assert!(Zone::from_tzif(b"TZif").is_none());
    }
}
