/*
 * What a C program sees of POSIX, one fact a line. The same source is run natively and in a sandbox, and both must print the
 * same (tests/all/guests.rs). It starts in an empty directory of its own and prints nothing that differs between machines.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

static void fact(const char *what, long value) { printf("%s: %ld\n", what, value); }

/* The numbers and the texts of errors differ between C libraries; their names do not. */
static const char *error_name(int error) {
    switch (error) {
    case EBADF: return "EBADF";
    case ECHILD: return "ECHILD";
    case EINTR: return "EINTR";
    case ENOENT: return "ENOENT";
    case EPIPE: return "EPIPE";
    default: return strerror(error);
    }
}

static void outcome(const char *what, long result) {
    printf("%s: %s\n", what, result < 0 ? error_name(errno) : "done");
}

static long mode_of(const char *path) {
    struct stat file;
    return lstat(path, &file) == 0 ? (long)file.st_mode : -1;
}

static void modes(void) {
    umask(022);
    close(open("file", O_CREAT | O_WRONLY, 0666));
    close(open("tool", O_CREAT | O_WRONLY, 0755));
    mkdir("dir", 0750);
    mkfifo("pipe", 0600);
    symlink("file", "link");
    fact("file", mode_of("file"));
    fact("tool", mode_of("tool"));
    fact("dir", mode_of("dir"));
    fact("pipe", mode_of("pipe"));
    fact("link is a link", S_ISLNK(mode_of("link")));
    chmod("file", 0640);
    fact("after chmod", mode_of("file"));
    int fd = open("file", O_RDONLY);
    fchmod(fd, 0600);
    close(fd);
    fact("after fchmod", mode_of("file"));
    fchmodat(AT_FDCWD, "tool", 0711, 0);
    fact("after fchmodat", mode_of("tool"));
    fact("umask", umask(077));
    close(open("private", O_CREAT | O_WRONLY, 0666));
    fact("private", mode_of("private"));
    umask(022);
    fact("x of file", access("file", X_OK));
    fact("x of tool", access("tool", X_OK));
    FILE *stream = fopen("stream", "w");
    fclose(stream);
    fact("fopen's mode", mode_of("stream"));
}

static void spellings(void) {
    char here[4096], again[4096], text[16] = "";
    getcwd(here, sizeof here);
    mkdir("sub", 0755);
    mkdir("sub/data", 0755);
    outcome("chdir", chdir("sub"));
    FILE *file = fopen("data/x", "w");
    fputs("relative", file);
    fclose(file);
    getcwd(again, sizeof again);
    fact("cwd has moved", strcmp(again + strlen(here), "/sub") == 0);
    strcat(again, "/data/x");
    file = fopen(again, "r");
    fgets(text, sizeof text, file);
    fclose(file);
    printf("by the absolute path: %s\n", text);
    fact("./data/x", access("./data/x", F_OK));
    fact("../sub/data/x", access("../sub/data/x", F_OK));
    int dir = open("data", O_RDONLY | O_DIRECTORY);
    fact("openat", openat(dir, "x", O_RDONLY) >= 0);
    fact("openat above", openat(dir, "../data/x", O_RDONLY) >= 0);
    outcome("fchdir", fchdir(dir));
    fact("x", access("x", F_OK));
    char *real = realpath("x", NULL);
    fact("realpath", real != NULL && strcmp(real, again) == 0);
    free(real);
    DIR *listing = opendir(".");
    int names = 0;
    while (readdir(listing) != NULL) names++;
    closedir(listing);
    fact("names in .", names);
    outcome("chdir to nothing", chdir("nothing"));
    chdir(here);
}

static void descriptors(void) {
    int fd = open("shared", O_CREAT | O_RDWR | O_TRUNC, 0644), low = dup(fd);
    fact("dup is the next one", low == fd + 1);
    write(fd, "abcdef", 6);
    fact("dup shares the offset", lseek(low, 0, SEEK_CUR));
    fact("F_GETFL", (fcntl(fd, F_GETFL) & O_ACCMODE) == O_RDWR);
    fcntl(fd, F_SETFL, O_APPEND);
    lseek(fd, 0, SEEK_SET);
    write(fd, "g", 1);
    fact("append", lseek(low, 0, SEEK_END));
    fact("F_DUPFD", fcntl(fd, F_DUPFD, 20));
    fact("F_GETFD", fcntl(20, F_GETFD));
    fact("F_DUPFD_CLOEXEC", fcntl(fd, F_DUPFD_CLOEXEC, 30));
    fact("its F_GETFD", fcntl(30, F_GETFD));
    fact("O_CLOEXEC", fcntl(open("shared", O_RDONLY | O_CLOEXEC), F_GETFD));
    fact("dup2", dup2(fd, 40));
    outcome("dup2 of nothing", dup2(99, 41));
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 2, .l_len = 3};
    outcome("record lock", fcntl(fd, F_SETLK, &lock));
    outcome("flock", flock(fd, LOCK_EX | LOCK_NB));
    int ends[2];
    pipe(ends);
    struct pollfd poller = {.fd = ends[0], .events = POLLIN};
    fact("empty pipe", poll(&poller, 1, 0));
    write(ends[1], "x", 1);
    fact("full pipe", poll(&poller, 1, 1000));
    fact("revents", poller.revents == POLLIN);
    char byte;
    fact("read", read(ends[0], &byte, 1));
    close(ends[1]);
    fact("end of file", read(ends[0], &byte, 1));
    fact("terminal", isatty(ends[0]));
    close(ends[0]);
    outcome("rename", rename("shared", "renamed"));
    outcome("unlink", unlink("renamed"));
    struct stat file;
    fstat(fd, &file);
    fact("links of an unlinked file", file.st_nlink);
    fact("its size", file.st_size);
    char name[] = "temporary.XXXXXX";
    fact("mkstemp", mkstemp(name) >= 0 && strcmp(name, "temporary.XXXXXX") != 0);
    fact("its mode", mode_of(name));
    FILE *nameless = tmpfile();
    fact("tmpfile", nameless != NULL);
}

static volatile int caught;
static void handler(int signal) { caught = signal; }

static void signals(void) {
    struct sigaction action = {.sa_handler = handler}, old;
    sigaction(SIGUSR1, &action, NULL);
    raise(SIGUSR1);
    fact("raised", caught == SIGUSR1);
    sigset_t set, previous;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigprocmask(SIG_BLOCK, &set, &previous);
    caught = 0;
    kill(getpid(), SIGUSR1);
    fact("while blocked", caught);
    sigprocmask(SIG_SETMASK, &previous, NULL);
    fact("unblocked", caught == SIGUSR1);
    signal(SIGUSR1, SIG_IGN);
    sigaction(SIGUSR1, NULL, &old);
    fact("ignored", old.sa_handler == SIG_IGN);
    action.sa_handler = handler;
    sigaction(SIGALRM, &action, NULL);
    caught = 0;
    alarm(1);
    outcome("pause", pause());
    fact("alarm", caught == SIGALRM);
    signal(SIGPIPE, SIG_IGN);
    int ends[2];
    pipe(ends);
    close(ends[0]);
    outcome("write to nobody", write(ends[1], "x", 1));
    close(ends[1]);
}

static int run(char *const argv[], const posix_spawn_file_actions_t *actions) {
    pid_t pid;
    int status = -1, error = posix_spawnp(&pid, argv[0], actions, NULL, argv, environ);
    if (error != 0) {
        printf("%s: %s\n", argv[0], error_name(error));
        return -1;
    }
    waitpid(pid, &status, 0);
    return status;
}

static void processes(void) {
    fflush(stdout);
    int status = run((char *[]){"sh", "-c", "exit 7", NULL}, NULL);
    fact("exit", WIFEXITED(status) ? WEXITSTATUS(status) : -1);
    status = run((char *[]){"sh", "-c", "kill -TERM $$", NULL}, NULL);
    fact("signal", WIFSIGNALED(status) ? WTERMSIG(status) : -1);
    run((char *[]){"no-such-program", NULL}, NULL);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 1, "out", O_CREAT | O_WRONLY | O_TRUNC, 0644);
    posix_spawn_file_actions_adddup2(&actions, 1, 2);
    posix_spawn_file_actions_addclose(&actions, 0);
    run((char *[]){"sh", "-c", "echo one; echo two >&2; read line || echo closed", NULL}, &actions);
    posix_spawn_file_actions_destroy(&actions);
    char line[64];
    FILE *out = fopen("out", "r");
    while (fgets(line, sizeof line, out) != NULL)
        if (strchr("otc", line[0]) != NULL) printf("spawned: %s", line);
    fclose(out);
    FILE *stream = popen("echo from popen; exit 3", "r");
    fgets(line, sizeof line, stream);
    printf("popen: %s", line);
    fact("pclose", WEXITSTATUS(pclose(stream)));
    stream = popen("cat", "w");
    fputs("through cat\n", stream);
    pclose(stream);
    fact("system", WEXITSTATUS(system("exit 4")));
    outcome("wait without children", wait(NULL));
    fact("parent of a child", WEXITSTATUS(system("test $PPID -gt 0")));
    setenv("SEEN", "yes", 1);
    fact("environment", WEXITSTATUS(system("test \"$SEEN\" = yes")));
    fact("own group", getpgid(0) == getpgrp());
}

static void times_and_limits(void) {
    static const char *const zones[] = {"UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata", "AAA-3BBB,M3.5.0,M10.5.0/3"};
    static const time_t moments[] = {0, 1700000000, 1720000000, 4000000000};
    for (size_t zone = 0; zone < sizeof zones / sizeof *zones; zone++) {
        setenv("TZ", zones[zone], 1);
        tzset();
        for (size_t i = 0; i < sizeof moments / sizeof *moments; i++) {
            char text[64];
            struct tm *local = localtime(&moments[i]);
            strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S %Z", local);
            printf("%s %lld: %s, back: %lld\n", zones[zone], (long long)moments[i], text, (long long)mktime(local));
        }
    }
    struct rlimit limit;
    fact("getrlimit", getrlimit(RLIMIT_NOFILE, &limit));
    fact("soft is not above hard", limit.rlim_cur <= limit.rlim_max);
    struct rusage usage;
    fact("getrusage", getrusage(RUSAGE_SELF, &usage));
    struct statvfs system;
    fact("statvfs", statvfs(".", &system));
    struct timespec nap = {.tv_nsec = 1000000};
    fact("nanosleep", nanosleep(&nap, NULL));
}

int main(void) {
    setvbuf(stdout, NULL, _IOLBF, 0); /* in order with what children print */
    modes();
    spellings();
    descriptors();
    signals();
    processes();
    times_and_limits();
    execlp("sh", "sh", "-c", "echo executed; exit 5", (char *)NULL);
    return 1;
}
