/* Compiled time zones. Source: RFC 9636 (TZif), versions 2 and later. */
#include "zone.h"

#include <stdlib.h>
#include <string.h>

enum { HEADER = 44 };

typedef struct {
    uint32_t utc_count, standard_count, leap_count, time_count, type_count, letter_count;
} header;

static uint32_t big_endian_32(const uint8_t *at) {
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static int64_t big_endian_64(const uint8_t *at) {
    return (int64_t)((uint64_t)big_endian_32(at) << 32 | big_endian_32(at + 4));
}

static bool read_header(const uint8_t *at, size_t left, header *result) {
    if (left < HEADER || memcmp(at, "TZif", 4) != 0) return false;
    *result = (header){big_endian_32(at + 20), big_endian_32(at + 24), big_endian_32(at + 28),
                       big_endian_32(at + 32), big_endian_32(at + 36), big_endian_32(at + 40)};
    return true;
}

/* Counts are the file's: summed in 64 bits, where 32-bit counts can't overflow. */
static uint64_t body_size(const header *header, uint64_t time_size) {
    return header->time_count * (time_size + 1) + (uint64_t)header->type_count * 6 + header->letter_count +
           header->leap_count * (time_size + 4) + header->standard_count + (uint64_t)header->utc_count;
}

static bool read_types(const uint8_t *at, const header *header, zone_file *zone) {
    const uint8_t *letters = at + (size_t)header->type_count * 6;
    if (header->type_count == 0 || header->type_count > 256) return false;
    zone->types = calloc(header->type_count, sizeof *zone->types);
    if (zone->types == NULL) return false;
    zone->type_count = header->type_count;
    for (size_t i = 0; i < zone->type_count; i++, at += 6) {
        zone_type *type = &zone->types[i];
        type->offset = (int32_t)big_endian_32(at);
        type->summer = at[4] != 0;
        for (size_t letter = 0; letter + 1 < ZONE_NAME && at[5] + letter < header->letter_count; letter++) {
            if (letters[at[5] + letter] == 0) break;
            type->name[letter] = (char)letters[at[5] + letter];
        }
    }
    return true;
}

/* The last line: a rule for all later times. */
static void read_footer(const uint8_t *at, size_t left, zone_file *zone) {
    char text[128];
    const uint8_t *end = left > 1 && at[0] == '\n' ? memchr(at + 1, '\n', left - 1) : NULL;
    if (end == NULL || (size_t)(end - at - 1) >= sizeof text) return;
    memcpy(text, at + 1, (size_t)(end - at - 1));
    text[end - at - 1] = 0;
    zone->has_rule = sandbar_parse_rule(text, &zone->rule);
}

bool sandbar_parse_zone(const uint8_t *content, size_t size, zone_file *zone) {
    header header;
    *zone = (zone_file){0};
    if (!read_header(content, size, &header) || content[4] < '2') return false;
    /* The first block has 32-bit times, for old readers. */
    uint64_t skip = HEADER + body_size(&header, 4);
    if (skip > size || !read_header(content + skip, size - (size_t)skip, &header)) return false;
    const uint8_t *body = content + skip + HEADER;
    size_t left = size - (size_t)skip - HEADER;
    if (body_size(&header, 8) > left) return false;
    zone->times = body;
    zone->indices = body + (size_t)header.time_count * 8;
    zone->transition_count = header.time_count;
    if (!read_types(zone->indices + header.time_count, &header, zone)) return false;
    for (size_t i = 0; i < zone->transition_count; i++)
        if (zone->indices[i] >= zone->type_count) return false;
    read_footer(body + body_size(&header, 8), left - (size_t)body_size(&header, 8), zone);
    return true;
}

const zone_type *sandbar_zone_at(const zone_file *zone, int64_t seconds) {
    size_t low = 0, high = zone->transition_count; /* the first transition after `seconds` */
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (big_endian_64(zone->times + middle * 8) <= seconds) low = middle + 1;
        else high = middle;
    }
    if (low == zone->transition_count && zone->has_rule) return sandbar_rule_at(&zone->rule, seconds);
    return &zone->types[low == 0 ? 0 : zone->indices[low - 1]];
}
