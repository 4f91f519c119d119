/* A time zone as tzfile.c and posix_tz.c give it and timezone.c uses it. */
#ifndef SANDBAR_ZONE_H
#define SANDBAR_ZONE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ZONE_NAME = 16 };

/* One offset that a zone uses at some time. */
typedef struct {
    int32_t offset; /* seconds east of UTC */
    bool summer;
    char name[ZONE_NAME];
} zone_type;

/* When a rule's half of the year begins. */
typedef struct {
    char kind;              /* 'M' month.week.day, 'J' day 1–365 without 29 February, 'D' day 0–365; 0 is no rule */
    int month, week, day;
    int32_t seconds;        /* local time of day */
} zone_date;

/* POSIX's TZ: standard time, and summer time between two dates of every year. */
typedef struct {
    zone_type standard, summer;
    bool has_summer;
    zone_date start, end;
} zone_rule;

/* Parses `std offset [dst [offset] [,start[/time],end[/time]]]`; false when it is no such text. */
bool sandbar_parse_rule(const char *text, zone_rule *rule);

/* The offset that a rule gives at `seconds` since 1970, UTC. */
const zone_type *sandbar_rule_at(const zone_rule *rule, int64_t seconds);

/* A compiled zone file (RFC 9636), kept as it was read. */
typedef struct {
    const uint8_t *times;   /* transition_count big-endian 64-bit times */
    const uint8_t *indices; /* the type after each transition */
    size_t transition_count;
    zone_type *types;
    size_t type_count;
    bool has_rule;          /* the footer, for times after the last transition */
    zone_rule rule;
} zone_file;

/* Reads a zone file's content, which must stay; false when it is damaged. */
bool sandbar_parse_zone(const uint8_t *content, size_t size, zone_file *zone);

const zone_type *sandbar_zone_at(const zone_file *zone, int64_t seconds);

#endif
