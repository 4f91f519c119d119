/* The user database: one user and one group (kernel: 65532), the same that /etc/passwd and /etc/group of the image name. */
#include "internal.h"

#include <grp.h>
#include <pwd.h>
#include <unistd.h>

#define NAME "sandbox"

static struct passwd user = {
    .pw_name = NAME, .pw_passwd = "x", .pw_gecos = "", .pw_dir = "/data/home", .pw_shell = "/bin/bash"};
static char *members[] = {NULL};
static struct group group = {.gr_name = NAME, .gr_passwd = "x", .gr_mem = members};
static int user_position, group_position;

static struct passwd *the_user(void) {
    user.pw_uid = getuid();
    user.pw_gid = getgid();
    return &user;
}

static struct group *the_group(void) {
    group.gr_gid = getgid();
    return &group;
}

struct passwd *getpwuid(uid_t uid) { return uid == getuid() ? the_user() : NULL; }
struct passwd *getpwnam(const char *name) { return strcmp(name, NAME) == 0 ? the_user() : NULL; }
struct group *getgrgid(gid_t gid) { return gid == getgid() ? the_group() : NULL; }
struct group *getgrnam(const char *name) { return strcmp(name, NAME) == 0 ? the_group() : NULL; }

/* The strings are constants, so the caller's buffer is not needed. */

static int copy_user(const struct passwd *from, struct passwd *to, struct passwd **result) {
    *result = from != NULL ? to : NULL;
    if (from != NULL) *to = *from;
    return 0;
}

static int copy_group(const struct group *from, struct group *to, struct group **result) {
    *result = from != NULL ? to : NULL;
    if (from != NULL) *to = *from;
    return 0;
}

int getpwuid_r(uid_t uid, struct passwd *to, char *buffer, size_t size, struct passwd **result) {
    (void)buffer;
    (void)size;
    return copy_user(getpwuid(uid), to, result);
}

int getpwnam_r(const char *name, struct passwd *to, char *buffer, size_t size, struct passwd **result) {
    (void)buffer;
    (void)size;
    return copy_user(getpwnam(name), to, result);
}

int getgrgid_r(gid_t gid, struct group *to, char *buffer, size_t size, struct group **result) {
    (void)buffer;
    (void)size;
    return copy_group(getgrgid(gid), to, result);
}

int getgrnam_r(const char *name, struct group *to, char *buffer, size_t size, struct group **result) {
    (void)buffer;
    (void)size;
    return copy_group(getgrnam(name), to, result);
}

struct passwd *getpwent(void) { return user_position++ == 0 ? the_user() : NULL; }
void setpwent(void) { user_position = 0; }
void endpwent(void) { user_position = 0; }
struct group *getgrent(void) { return group_position++ == 0 ? the_group() : NULL; }
void setgrent(void) { group_position = 0; }
void endgrent(void) { group_position = 0; }

int setgroups(size_t size, const gid_t *list) {
    return size == 0 || (size == 1 && list[0] == getgid()) ? 0 : (errno = EPERM, -1);
}

int initgroups(const char *name, gid_t gid) {
    return strcmp(name, NAME) == 0 && gid == getgid() ? 0 : (errno = EPERM, -1);
}

char *getlogin(void) { return NAME; }

int getlogin_r(char *buffer, size_t size) {
    if (size < sizeof NAME) return ERANGE;
    memcpy(buffer, NAME, sizeof NAME);
    return 0;
}
