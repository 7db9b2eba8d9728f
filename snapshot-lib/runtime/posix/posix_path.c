/* SPDX-License-Identifier: BSD-3-Clause */
/* The choice of files to track, the paths of their logs, and the message for a file that cannot be opened. */
#define _GNU_SOURCE
#include "posix.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* False if the file has no name, or no longer has one. */
bool path_of(int fd, char path[PATH_MAX]) {
    char link[64];
    struct stat status;
    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, PATH_MAX - 1);
    if (length <= 0)
        return false;
    path[length] = '\0';
    return path[0] == '/' && fstat(fd, &status) == 0 && status.st_nlink > 0;
}

/* True if the file has a log. */
bool log_path_of(const char *path, char log_path[PATH_MAX]) {
    return snprintf(log_path, PATH_MAX, "%s.snapshot-log", path) < PATH_MAX && access(log_path, F_OK) == 0;
}

/* The same without a second path on the stack. `path` is changed for a moment. */
bool has_log(char path[PATH_MAX]) {
    size_t length = strlen(path), room = PATH_MAX - length;
    bool is_there = snprintf(path + length, room, ".snapshot-log") < (int)room && access(path, F_OK) == 0;
    path[length] = '\0';
    return is_there;
}

/* True if `path` is the file `entry` or lies below the directory `entry`. */
static bool is_below(const char *path, const char *entry) {
    static char resolved[PATH_MAX];
    if (!realpath(entry, resolved))
        return false;
    size_t length = strlen(resolved);
    return strncmp(path, resolved, length) == 0 && (path[length] == '/' || path[length] == '\0');
}

/* SNAPSHOT_DIR lists directories and files, separated by colons. Called with the lock of all files, which protects the
 * static paths. They are not on the stack, because a thread may have a stack of 16 KiB. */
bool is_listed(const char *path) {
    const char *entry = getenv("SNAPSHOT_DIR");
    while (entry && *entry) {
        static char one[PATH_MAX];
        size_t length = strcspn(entry, ":");
        if (length > 0 && snprintf(one, sizeof(one), "%.*s", (int)length, entry) < (int)sizeof(one) &&
            is_below(path, one))
            return true;
        entry += length + (entry[length] == ':');
    }
    return false;
}

#define STRING_OF(text) #text
#define STRING(macro) STRING_OF(macro)

static const char *fix_for(int error) {
    switch (error) {
    case EBUSY:
        return "another process has it open, or it was locked with flock(): end that first";
    case ENOENT:
        return "its name is another file's by now: open that one";
    case EMLINK:
        return "it has several names, and a log lies beside one: remove the others";
    case EUCLEAN:
        return "its log is damaged: restore file and log from a copy, or delete the log to take the file as it is";
    case ESTALE:
        return "the log beside it belongs to another file: delete it, or set SNAPSHOT_ADOPT=1 for one run if file and "
               "log are copies that were made together";
    case EINVAL:
        return "its log is of another version, byte order or file size: restore file and log from a copy, or delete "
               "the log to take the file as it is";
    case EFBIG:
        return "more than 256 GiB: make the mapping smaller";
    case EEXIST:
        return "the address asked for is not free, or below those of tracked files: leave the choice to mmap";
    case EMFILE:
        return STRING(REGIONS_MAX) " files are tracked already: unmap one";
    case ENOSPC:
        return "there is no space for its log: free some, or raise the limit of the process (ulimit -f)";
    case EROFS:
    case EACCES:
    case EPERM:
        return "its log cannot be written: the directory must be writable";
    default:
        return "see docs/reference/snapshot-calls.md";
    }
}

/* mmap's errno can name neither the file nor the problem, so a refusal also prints one line on stderr. */
int file_open(int fd, const char *path, unsigned flags, const void *hint, uint64_t room_bytes, struct region **out) {
    const char *adopt = getenv("SNAPSHOT_ADOPT");
    if (adopt && strcmp(adopt, "1") == 0)
        flags |= SNAPSHOT_ADOPT;
    struct open_request request = {.fd = fd, .path = path, .flags = flags, .hint = hint, .room_bytes = room_bytes};
    int status = region_open_making_room(&request, out);
    if (status < 0)
        dprintf(STDERR_FILENO, "snapshot: %s: %s; %s\n", path, strerrordesc_np(-status), fix_for(-status));
    return status;
}
