/* Names of the machine. The host name is the image's /etc/hostname, so that a sandbox can have its own. */
#include "internal.h"

#include <stdio.h>
#include <sys/utsname.h>
#include <unistd.h>

int gethostname(char *name, size_t size) {
    char line[65] = "";
    int fd = open("/etc/hostname", O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        ssize_t length = read(fd, line, sizeof line - 1);
        line[length > 0 ? length : 0] = 0;
        close(fd);
    }
    line[strcspn(line, "\n")] = 0;
    int length = snprintf(name, size, "%s", line[0] != 0 ? line : "sandbar");
    return (size_t)length < size ? 0 : (errno = ENAMETOOLONG, -1);
}

int uname(struct utsname *result) {
    memset(result, 0, sizeof *result);
    strcpy(result->sysname, "Sandbar");
    strcpy(result->release, "1");
    strcpy(result->version, "1");
    strcpy(result->machine, "wasm32");
    return gethostname(result->nodename, sizeof result->nodename);
}
