/* <grp.h>: a sandbox has one group. */
#ifndef SANDBAR_GRP_H
#define SANDBAR_GRP_H

#include <stddef.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

struct group {
    char *gr_name;
    char *gr_passwd;
    gid_t gr_gid;
    char **gr_mem;
};

struct group *getgrgid(gid_t);
struct group *getgrnam(const char *);
int getgrgid_r(gid_t, struct group *, char *, size_t, struct group **);
int getgrnam_r(const char *, struct group *, char *, size_t, struct group **);
struct group *getgrent(void);
void setgrent(void);
void endgrent(void);
int setgroups(size_t, const gid_t *);
int initgroups(const char *, gid_t);

#ifdef __cplusplus
}
#endif
#endif
