/*
 * Local time. wasi-libc knows only UTC, through two functions that localtime, mktime and strftime ask; these replace them.
 * TZ is a POSIX rule, or a name under /usr/share/zoneinfo; without it /etc/localtime counts.
 */
#include "internal.h"
#include "zone.h"

#include <stdlib.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

enum { LARGEST_FILE = 1 << 20 };

static const zone_rule utc = {.standard = {.name = "UTC"}};

static char *current; /* the TZ that was read, or NULL before the first time */
static bool is_file;
static zone_file file;
static uint8_t *file_content;
static zone_rule rule;

char *tzname[2] = {"UTC", "UTC"};
long timezone;
int daylight;

static bool load(const char *directory, const char *name) {
    char path[256];
    if (snprintf(path, sizeof path, "%s%s", directory, name) >= (int)sizeof path) return false;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return false;
    off_t size = lseek(fd, 0, SEEK_END);
    uint8_t *content = size > 0 && size <= LARGEST_FILE ? malloc((size_t)size) : NULL;
    bool good = content != NULL && pread(fd, content, (size_t)size, 0) == (ssize_t)size;
    close(fd);
    zone_file read;
    if (!good || !sandbar_parse_zone(content, (size_t)size, &read)) {
        free(content);
        return false;
    }
    free(file.types);
    free(file_content);
    file = read;
    file_content = content;
    return true;
}

static void set_names(const zone_type *type) {
    tzname[type->summer] = (char *)type->name;
    if (type->summer) daylight = 1;
    else timezone = -(long)type->offset;
}

static void publish(void) {
    daylight = 0;
    if (is_file) {
        for (size_t i = 0; i < file.type_count; i++) set_names(&file.types[i]);
        if (!file.has_rule) return;
    }
    const zone_rule *last = is_file ? &file.rule : &rule;
    set_names(&last->standard);
    if (last->has_summer) set_names(&last->summer);
    else tzname[1] = tzname[0];
}

void tzset(void) {
    const char *wanted = getenv("TZ");
    const char *name = wanted != NULL ? wanted : "/etc/localtime";
    if (current != NULL && strcmp(current, name) == 0) return;
    char *copy = strdup(name);
    if (copy == NULL) return;
    free(current);
    current = copy;
    if (*name == ':') name++;
    rule = utc;
    is_file = false;
    if (*name == '/') is_file = load("", name);
    else if (*name != 0 && !sandbar_parse_rule(name, &rule)) {
        rule = utc;
        /* A name may not climb out of the folder. */
        if (strstr(name, "..") == NULL) is_file = load("/usr/share/zoneinfo/", name);
    }
    publish();
}

static const zone_type *type_at(int64_t seconds) {
    return is_file ? sandbar_zone_at(&file, seconds) : sandbar_rule_at(&rule, seconds);
}

/* The other one of standard and summer time around `seconds`, or the same where there is only one. */
static const zone_type *opposite(const zone_type *type, int64_t seconds) {
    const int64_t season = 86400LL * 365 / 4;
    for (int quarter = 1; quarter <= 3; quarter++) {
        const zone_type *later = type_at(seconds + quarter * season);
        if (later->summer != type->summer) return later;
    }
    return type;
}

/*
 * wasi-libc's (musl's) question: which offset is in force at `time`, which is local when `local` is set, and which one would
 * be in the other half of the year.
 */
void __secs_to_zone(long long time, int local, int *is_summer, long *offset, long *other_offset, const char **name) {
    tzset();
    const zone_type *type = type_at(time);
    if (local) {
        /* The offset depends on the UTC time and the UTC time on the offset: guess, then look again. A local time that
         * summer time skips is read by the offset before it. */
        const zone_type *guess = type_at(time - type->offset);
        const zone_type *again = type_at(time - guess->offset);
        type = again == guess ? guess : type_at(time - (guess->offset > again->offset ? guess : again)->offset);
    }
    *is_summer = type->summer;
    *offset = type->offset;
    if (other_offset != NULL) *other_offset = opposite(type, local ? time - type->offset : time)->offset;
    *name = type->name;
}

const char *__tm_to_tzname(const struct tm *time) { return time->__tm_zone != NULL ? time->__tm_zone : ""; }
