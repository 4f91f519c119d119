//! Clocks, sleeping, and dates.

mod format;
mod zone;

pub use zone::{Offset, Zone};

use std::time::Duration;

use crate::{Result, fd, sys};

/// Time since some fixed moment, never set back.
pub fn monotonic() -> Duration {
    sys::monotonic()
}

/// Nanoseconds since 1970-01-01 00:00 UTC.
pub fn realtime_ns() -> i64 {
    sys::realtime_ns()
}

/// Sleeps for `duration`.
///
/// # Errors
/// `EINTR` when a handled signal arrives first.
pub fn sleep(duration: Duration) -> Result<()> {
    fd::poll(&mut [], Some(duration)).map(drop)
}

/// Seconds in a day.
const DAY: i64 = 86_400;

/// A moment as a calendar and a clock on the wall show it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DateTime {
    /// The year, 0 being 1 BC.
    pub year: i64,
    /// 1 to 12.
    pub month: i64,
    /// 1 to 31.
    pub day: i64,
    /// 0 to 23.
    pub hour: i64,
    /// 0 to 59.
    pub minute: i64,
    /// 0 to 59.
    pub second: i64,
    /// 0 is Sunday.
    pub weekday: i64,
    /// 0 is 1 January.
    pub year_day: i64,
    /// The offset that this is in.
    pub offset: Offset,
}

impl DateTime {
    /// The date and time in `zone` of a moment in seconds since 1970-01-01 00:00 UTC.
    pub fn new(zone: &Zone, seconds: i64) -> Self {
        // Keeps the arithmetic below far from overflow: the years ±2 thousand million.
        let seconds = seconds.clamp(-(1 << 56), 1 << 56);
        let offset = zone.offset_at(seconds);
        let local = seconds + i64::from(offset.seconds);
        let (days, of_day) = (local.div_euclid(DAY), local.rem_euclid(DAY));
        let (year, month, day) = civil_date(days);
        Self {
            year,
            month,
            day,
            hour: of_day / 3600,
            minute: of_day / 60 % 60,
            second: of_day % 60,
            weekday: weekday(days),
            year_day: days - days_from_civil(year, 1, 1),
            offset,
        }
    }

    /// The offset as `+hhmm`.
    pub fn offset_text(&self) -> String {
        let minutes = self.offset.seconds / 60;
        let sign = if minutes < 0 { '-' } else { '+' };
        format!("{sign}{:02}{:02}", minutes.abs() / 60, minutes.abs() % 60)
    }
}

/// Seconds since 1970-01-01 00:00 UTC of a date (year, month, day) and a time (hour, minute, second) in `zone`.
///
/// A time that summer time skips or repeats is one of the two that are next to it.
pub fn seconds_of(zone: &Zone, date: [i64; 3], clock: [i64; 3]) -> i64 {
    let [year, month, day] = date.map(|part| part.clamp(-1_000_000, 1_000_000));
    let [hour, minute, second] = clock.map(|part| part.clamp(-1_000_000, 1_000_000));
    let months = year * 12 + month - 1;
    let days = days_from_civil(months.div_euclid(12), months.rem_euclid(12) + 1, 1) + day - 1;
    let local = days * DAY + hour * 3600 + minute * 60 + second;
    // The offset depends on the moment that is sought: the second guess is right except in the hour of a change.
    let guess = local - i64::from(zone.offset_at(local).seconds);
    local - i64::from(zone.offset_at(guess).seconds)
}

/// Years of 400 years each, and days in them: the Gregorian calendar's period.
const ERA_DAYS: i64 = 146_097;

/// Year, month and day of a day counted from 1970-01-01. Years are counted from March so that the leap day is the last.
fn civil_date(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468; // from 1 March of year 0
    let era = days.div_euclid(ERA_DAYS);
    let of_era = days.rem_euclid(ERA_DAYS);
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 {
        month_from_march + 3
    } else {
        month_from_march - 9
    };
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

/// The reverse of [`civil_date`].
fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let month_from_march = (month + 9) % 12;
    let of_year = (153 * month_from_march + 2) / 5 + day - 1;
    era * ERA_DAYS + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + of_year - 719_468
}

/// 0 is Sunday; 1970-01-01 was a Thursday.
fn weekday(days: i64) -> i64 {
    (days + 4).rem_euclid(7)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_go_there_and_back() {
        for days in (-1_000_000..1_000_000).step_by(997) {
            let (year, month, day) = civil_date(days);
            assert_eq!(days_from_civil(year, month, day), days);
        }
        let date = DateTime::new(&Zone::named("UTC"), 951_825_600);
        assert_eq!(
            (date.year, date.month, date.day, date.weekday, date.year_day),
            (2000, 2, 29, 2, 59)
        );
        let berlin = Zone::named("CET-1CEST,M3.5.0,M10.5.0/3");
        for seconds in (1_700_000_000..1_800_000_000).step_by(1_234_567) {
            let date = DateTime::new(&berlin, seconds);
            let clock = [date.hour, date.minute, date.second];
            let day = [date.year, date.month, date.day];
            assert_eq!(seconds_of(&berlin, day, clock), seconds);
        }
    }
}
