/*
 * The TZ variable's own language.
 * Source: POSIX, "Environment Variables", TZ, with RFC 9636's extension of times to ±167 hours.
 */
#include "zone.h"

#include <ctype.h>
#include <string.h>

enum { DAY = 86400 };

/* ---- parsing: each function moves *text behind what it read ---- */

static bool number(const char **text, int highest, int *result) {
    if (!isdigit((unsigned char)**text)) return false;
    int value = 0;
    while (isdigit((unsigned char)**text)) {
        value = value * 10 + (*(*text)++ - '0');
        if (value > highest) return false;
    }
    *result = value;
    return true;
}

static bool name(const char **text, char result[ZONE_NAME]) {
    size_t length = 0;
    bool quoted = **text == '<';
    if (quoted) ++*text;
    while (quoted ? **text != 0 && **text != '>' : isalpha((unsigned char)**text)) {
        if (length + 1 == ZONE_NAME) return false;
        result[length++] = *(*text)++;
    }
    result[length] = 0;
    if (quoted && *(*text)++ != '>') return false;
    return length >= 3;
}

/* [+-]hh[:mm[:ss]] in seconds. */
static bool time_of_day(const char **text, int32_t *result) {
    int sign = 1, hours = 0, minutes = 0, seconds = 0;
    if (**text == '-' || **text == '+') sign = *(*text)++ == '-' ? -1 : 1;
    if (!number(text, 167, &hours)) return false;
    if (**text == ':') {
        ++*text;
        if (!number(text, 59, &minutes)) return false;
        if (**text == ':') {
            ++*text;
            if (!number(text, 59, &seconds)) return false;
        }
    }
    *result = sign * (hours * 3600 + minutes * 60 + seconds);
    return true;
}

static bool date(const char **text, zone_date *result) {
    *result = (zone_date){.seconds = 2 * 3600};
    if (**text == 'M') {
        ++*text;
        result->kind = 'M';
        if (!number(text, 12, &result->month) || result->month < 1 || *(*text)++ != '.') return false;
        if (!number(text, 5, &result->week) || result->week < 1 || *(*text)++ != '.') return false;
        if (!number(text, 6, &result->day)) return false;
    } else {
        result->kind = 'D';
        if (**text == 'J') {
            ++*text;
            result->kind = 'J';
        }
        if (!number(text, 365, &result->day) || (result->kind == 'J' && result->day < 1)) return false;
    }
    if (**text != '/') return true;
    ++*text;
    return time_of_day(text, &result->seconds);
}

bool sandbar_parse_rule(const char *text, zone_rule *rule) {
    int32_t west = 0;
    *rule = (zone_rule){0};
    if (!name(&text, rule->standard.name) || !time_of_day(&text, &west)) return false;
    rule->standard.offset = -west; /* POSIX counts west of Greenwich */
    if (*text == 0) return true;
    rule->has_summer = true;
    rule->summer.summer = true;
    if (!name(&text, rule->summer.name)) return false;
    rule->summer.offset = rule->standard.offset + 3600;
    if (*text != 0 && *text != ',') {
        if (!time_of_day(&text, &west)) return false;
        rule->summer.offset = -west;
    }
    /* Without dates: those of the United States, as everywhere. */
    const char *dates = *text == ',' ? text + 1 : "M3.2.0,M11.1.0";
    if (!date(&dates, &rule->start) || *dates++ != ',') return false;
    return date(&dates, &rule->end) && *dates == 0;
}

/* ---- the calendar ---- */

static bool is_leap(int64_t year) { return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0); }

/* Days from 1970-01-01 to the first of January. */
static int64_t days_to_year(int64_t year) {
    int64_t before = year - 1;
    int64_t leaps = (before >= 0 ? before / 4 - before / 100 + before / 400
                                 : -((3 - before) / 4) + (99 - before) / 100 - (399 - before) / 400);
    return 365 * (year - 1970) + leaps - 477;
}

static int64_t year_of(int64_t seconds) {
    int64_t days = seconds / DAY - (seconds % DAY < 0);
    int64_t year = 1970 + days * 400 / 146097;
    while (days_to_year(year) > days) year--;
    while (days_to_year(year + 1) <= days) year++;
    return year;
}

/* The day of the year, from 0, on which a date falls. */
static int64_t day_in_year(const zone_date *date, int64_t year) {
    static const int before_month[] = {0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334, 365};
    bool leap = is_leap(year);
    if (date->kind == 'D') return date->day;
    if (date->kind == 'J') return date->day - 1 + (leap && date->day >= 60);
    int64_t first = before_month[date->month - 1] + (leap && date->month > 2);
    int64_t length = before_month[date->month] - before_month[date->month - 1] + (leap && date->month == 2);
    int64_t weekday = ((days_to_year(year) + first + 4) % 7 + 7) % 7; /* 1970-01-01 was a Thursday */
    int64_t day = (date->day - weekday + 7) % 7 + (date->week - 1) * 7;
    while (day >= length) day -= 7; /* week 5 is the last one */
    return first + day;
}

static int64_t begins(const zone_date *date, int64_t year, int32_t offset_before) {
    return (days_to_year(year) + day_in_year(date, year)) * DAY + date->seconds - offset_before;
}

const zone_type *sandbar_rule_at(const zone_rule *rule, int64_t seconds) {
    if (!rule->has_summer) return &rule->standard;
    int64_t year = year_of(seconds + rule->standard.offset);
    int64_t start = begins(&rule->start, year, rule->standard.offset);
    int64_t end = begins(&rule->end, year, rule->summer.offset);
    /* South of the equator summer spans the new year. */
    bool summer = start < end ? seconds >= start && seconds < end : seconds >= start || seconds < end;
    return summer ? &rule->summer : &rule->standard;
}
