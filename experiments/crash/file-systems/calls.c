/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * All sequences of so many system calls, each in a folder of its own, as CrashMonkey's ACE makes them:
 *
 *     calls make FOLDER LENGTH CALL...             the folders as they are before
 *     calls run FOLDER LENGTH sync|fsync CALL...   all sequences; each ends with a sync(), or an fsync() of the
 *                                                  files it touched
 *     calls check FOLDER MARK LENGTH CALL...       the sequence before the mark must be there whole, and of that after
 *                                                  it the first calls, or none
 *
 * Mark n is passed before the n-th sequence, and one more at the end.
 * Runs of the calls in /tmp, which never sees a power cut, show their effect.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "testbed_roi.h"

enum { LENGTH_MAX = 3, BYTES = 6000, MORE_BYTES = 3000 };

/* The calls, on the files of a folder: a, b, d/c, and an empty folder e. One that finds no file does nothing. */

static void filled(const char *path, int flags, char byte, size_t count) {
    char bytes[BYTES];
    int fd = open(path, O_WRONLY | O_APPEND | flags, 0644);

    memset(bytes, byte, sizeof(bytes));
    if (fd >= 0 && write(fd, bytes, count) != (ssize_t)count)
        perror("calls: write");
    if (fd >= 0)
        close(fd);
}

static void at_a(void (*change)(int fd)) {
    int fd = open("a", O_RDWR);

    if (fd < 0)
        return;
    change(fd);
    close(fd);
}

static void write_word(int fd) { (void)!pwrite(fd, "newbytes", 8, 64); }
static void write_lines(int fd) { (void)!pwrite(fd, "in the line of b, in the line of", 32, 128 - 16); }
static void extend(int fd) { (void)!fallocate(fd, 0, 0, 4 * BYTES); }
static void reserve(int fd) { (void)!fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, 4 * BYTES); }
static void punch(int fd) { (void)!fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 4096); }

static void create(void) { filled("n", O_CREAT | O_EXCL, 0, 0); }
static void make_folder(void) { (void)!mkdir("n", 0755); }
static void make_symlink(void) { (void)!symlink("a", "n"); }
static void make_link(void) { (void)!link("a", "d/l"); }
static void remove_file(void) { (void)!unlink("a"); }
static void remove_folder(void) { (void)!rmdir("e"); }
static void move(void) { (void)!rename("a", "d/m"); }
static void replace(void) { (void)!rename("b", "a"); }
static void move_folder(void) { (void)!rename("d", "e"); }
static void append(void) { filled("a", 0, 'm', MORE_BYTES); }
static void overwrite_word(void) { at_a(write_word); }
static void overwrite_lines(void) { at_a(write_lines); }
static void shorten(void) { (void)!truncate("a", 1000); }
static void lengthen(void) { (void)!truncate("a", 3L * BYTES); }
static void preallocate(void) { at_a(extend); }
static void preallocate_behind(void) { at_a(reserve); }
static void punch_hole(void) { at_a(punch); }
static void set_attribute(void) { (void)!setxattr("a", "user.calls", "value", 5, 0); }
static void set_mode(void) { (void)!chmod("b", 0600); }

static const struct call {
    const char *name;
    void (*make)(void);
    const char *touched[2]; /* an fsync() of these paths makes the call durable */
} calls[] = {
    {"create", create, {"n", "."}},
    {"mkdir", make_folder, {"n", "."}},
    {"symlink", make_symlink, {"."}},
    {"link", make_link, {"a", "d"}},
    {"unlink", remove_file, {"."}},
    {"rmdir", remove_folder, {"."}},
    {"rename", move, {".", "d"}},
    {"rename-over", replace, {"a", "."}},
    {"rename-folder", move_folder, {"."}},
    {"append", append, {"a"}},
    {"write-word", overwrite_word, {"a"}},
    {"write-lines", overwrite_lines, {"a"}},
    {"truncate", shorten, {"a"}},
    {"extend", lengthen, {"a"}},
    {"fallocate", preallocate, {"a"}},
    {"fallocate-keep", preallocate_behind, {"a"}},
    {"punch-hole", punch_hole, {"a"}},
    {"setxattr", set_attribute, {"a"}},
    {"chmod", set_mode, {"b"}},
};

static int length, letters;
static const struct call *alphabet[sizeof(calls) / sizeof(*calls)];

static int sequences(void) {
    int count = 1;

    for (int i = 0; i < length; i++)
        count *= letters;
    return count;
}

/* The i-th call of a sequence: sequences are numbers, and calls their digits. */
static const struct call *call_of(int sequence, int i) {
    for (int after = length - 1; after > i; after--)
        sequence /= letters;
    return alphabet[sequence % letters];
}

static int enter(const char *folder, int sequence) {
    char path[PATH_MAX];

    snprintf(path, sizeof(path), "%s/%d", folder, sequence);
    return chdir(path);
}

static void make_tree(const char *folder, int sequence) {
    char path[PATH_MAX];

    snprintf(path, sizeof(path), "%s/%d", folder, sequence);
    if (mkdir(path, 0755) || chdir(path) || mkdir("d", 0755) || mkdir("e", 0755)) {
        perror(path);
        exit(2);
    }
    filled("a", O_CREAT, 'a', BYTES);
    filled("b", O_CREAT, 'b', BYTES / 2);
    filled("d/c", O_CREAT, 'c', 1);
}

static void make(const char *folder) {
    if (mkdir(folder, 0755))
        perror(folder);
    for (int sequence = 0; sequence < sequences(); sequence++)
        make_tree(folder, sequence);
}

/* A removed file has no fsync(). */
static void synchronise(const struct call *call) {
    for (int i = 0; i < 2 && call->touched[i]; i++) {
        int fd = open(call->touched[i], O_RDONLY | O_NOFOLLOW);
        if (fd >= 0 && fsync(fd))
            perror("calls: fsync");
        if (fd >= 0)
            close(fd);
    }
}

static void run(const char *folder, int with_fsync) {
    for (int sequence = 0; sequence < sequences(); sequence++) {
        if (enter(folder, sequence))
            perror(folder);
        testbed_mark((uint32_t)sequence);
        for (int i = 0; i < length; i++)
            call_of(sequence, i)->make();
        for (int i = 0; i < length && with_fsync; i++)
            synchronise(call_of(sequence, i));
        if (!with_fsync)
            sync();
    }
    testbed_mark((uint32_t)sequences());
}

/* Compares two trees; differences are added to `differences`. */

static char differences[(LENGTH_MAX + 1) * (PATH_MAX + 100)];

static int differs(const char *path, const char *what) {
    size_t so_far = strlen(differences);
    snprintf(differences + so_far, sizeof(differences) - so_far, "%s%s has %s", so_far ? " or " : "", path, what);
    return 1;
}

static int contents_differ(int a, int b, const char *path) {
    static char bytes_a[1 << 16], bytes_b[sizeof(bytes_a)];
    int fd_a = openat(a, path, O_RDONLY), fd_b = openat(b, path, O_RDONLY);
    ssize_t count_a = read(fd_a, bytes_a, sizeof(bytes_a)), count_b = read(fd_b, bytes_b, sizeof(bytes_b));

    close(fd_a);
    close(fd_b);
    if (count_a < 0)
        return differs(path, "what cannot be read");
    return count_a != count_b || memcmp(bytes_a, bytes_b, (size_t)count_a) ? differs(path, "another content") : 0;
}

static int attributes_differ(int a, int b, const char *path) {
    char name_a[PATH_MAX], name_b[PATH_MAX], value_a[64], value_b[64];
    ssize_t count_a, count_b;

    snprintf(name_a, sizeof(name_a), "/proc/self/fd/%d/%s", a, path);
    snprintf(name_b, sizeof(name_b), "/proc/self/fd/%d/%s", b, path);
    count_a = lgetxattr(name_a, "user.calls", value_a, sizeof(value_a));
    count_b = lgetxattr(name_b, "user.calls", value_b, sizeof(value_b));
    if (count_a != count_b || (count_a > 0 && memcmp(value_a, value_b, (size_t)count_a)))
        return differs(path, "another attribute");
    return 0;
}

static int targets_differ(int a, int b, const char *path) {
    char to_a[PATH_MAX], to_b[PATH_MAX];
    ssize_t count_a = readlinkat(a, path, to_a, sizeof(to_a)), count_b = readlinkat(b, path, to_b, sizeof(to_b));

    return count_a != count_b || memcmp(to_a, to_b, (size_t)count_a) ? differs(path, "another target") : 0;
}

static int trees_differ(int a, int b, const char *path);

static int entries_differ(int a, int b, const char *path) {
    struct dirent **names_a, **names_b;
    int count = scandirat(a, path, &names_a, NULL, alphasort), found = count < 0;

    if (count < 0 || count != scandirat(b, path, &names_b, NULL, alphasort))
        return differs(path, "another number of entries");
    for (int i = 0; i < count && !found; i++) {
        char below[PATH_MAX];
        const char *name = names_a[i]->d_name;
        if (strcmp(name, names_b[i]->d_name)) {
            found = differs(path, "entries with other names");
        } else if (strcmp(name, ".") && strcmp(name, "..")) {
            int written = snprintf(below, sizeof(below), "%s/%s", path, name);
            found = written < (int)sizeof(below) && trees_differ(a, b, below);
        }
    }
    return found;
}

static int trees_differ(int a, int b, const char *path) {
    struct stat of_a, of_b;

    if (fstatat(a, path, &of_a, AT_SYMLINK_NOFOLLOW) || fstatat(b, path, &of_b, AT_SYMLINK_NOFOLLOW))
        return differs(path, strerror(errno));
    if (of_a.st_mode != of_b.st_mode)
        return differs(path, "another kind or mode");
    if (of_a.st_nlink != of_b.st_nlink)
        return differs(path, "another number of links");
    if (S_ISDIR(of_a.st_mode))
        return entries_differ(a, b, path);
    if (of_a.st_size != of_b.st_size)
        return differs(path, "another size");
    if (S_ISLNK(of_a.st_mode))
        return targets_differ(a, b, path);
    return contents_differ(a, b, path) || attributes_differ(a, b, path);
}

static int folder_here(void) { return open(".", O_RDONLY | O_DIRECTORY); }

/* Whether the folder of a sequence equals the state after at least so many of its calls. */
static int is_after(const char *folder, int sequence, int least) {
    char reference[] = "/tmp/calls-XXXXXX";
    int there = enter(folder, sequence) ? -1 : folder_here(), same = 0;

    differences[0] = 0;
    if (!mkdtemp(reference))
        perror(reference);
    make_tree(reference, sequence);
    for (int done = 0; done <= length && !same; done++) {
        if (done)
            call_of(sequence, done - 1)->make();
        if (done >= least) {
            int here = folder_here();
            same = !trees_differ(there, here, ".");
            close(here);
        }
    }
    return same;
}

/* For each permitted tree, the differences of the folder from it. */
static void complain(int sequence, const char *when) {
    for (int i = 0; i < length; i++)
        fprintf(stderr, "%s%s", i ? ", " : "", call_of(sequence, i)->name);
    fprintf(stderr, "%s: %s\n", when, differences);
    exit(1);
}

static void check(const char *folder, int mark) {
    if (mark > 0 && !is_after(folder, mark - 1, length))
        complain(mark - 1, ", acknowledged");
    if (mark < sequences() && !is_after(folder, mark, 0))
        complain(mark, "");
}

static void name_calls(char **names) {
    for (; *names; names++)
        for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++)
            if (!strcmp(*names, calls[i].name))
                alphabet[letters++] = &calls[i];
}

int main(int argc, char **argv) {
    const char *verb = argc > 1 ? argv[1] : "";
    int making = !strcmp(verb, "make"), first = making ? 4 : 5; /* of the calls */

    if (argc > first)
        name_calls(argv + first);
    length = argc > first ? atoi(argv[!strcmp(verb, "check") ? 4 : 3]) : 0;
    if (letters == 0 || letters != argc - first || length < 1 || length > LENGTH_MAX) {
        fprintf(stderr, "usage: calls make FOLDER LENGTH CALL... | run FOLDER LENGTH sync|fsync CALL... | "
                        "check FOLDER MARK LENGTH CALL...\n");
        return 2;
    }
    if (making)
        make(argv[2]);
    else if (!strcmp(verb, "run"))
        run(argv[2], !strcmp(argv[4], "fsync"));
    else
        check(argv[2], atoi(argv[3]));
    return 0;
}
