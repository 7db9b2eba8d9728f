/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Calls on a tbfs, one after the other, each judged separately:
 *
 *     tbfs_steps DEVICE FOLDER FIRST_MARK     mounts the file system of DEVICE on FOLDER with each policy of data
 *
 * After each step all attributes and the free room are compared with the same numbers after a new mount, because the
 * kernel's inodes must equal the inodes on the medium. A step passes its mark when its calls have returned. Everything
 * that the step has stored must be durable at the mark.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "testbed_roi.h"

enum { PAGE = 4096, PAGES = 5, BYTES = PAGES * PAGE, NOBODY = 65534, LOGS = 24 };

static const char *const policies[] = {"inplace", "cow", "hybrid,log_block=1024,gc_read=off"};
static const char *const names[] = {"", "folder", "folder/inner", "file", "other", "symlink", "fifo"};
enum { NAMES = sizeof(names) / sizeof(*names) };

static const char *device, *folder, *policy, *under_way = "start";
static int failures;
static unsigned mark_of_step;
static uint8_t bytes[BYTES];
static __thread sigjmp_buf after_fault;
static __thread volatile sig_atomic_t may_fault;

static void fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void fail(const char *format, ...) {
    va_list arguments;

    if (++failures > 5)
        return;
    printf("data=%s, %s: ", policy, under_way);
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    puts("");
}

static void expect(int holds, const char *call) {
    if (!holds)
        fail("%s: %s", call, strerror(errno));
}

/* ---- Files, mounts and the clock ---- */

static const char *at(const char *name) {
    static char paths[4][300];
    static unsigned turn;
    char *path = paths[turn++ % 4];

    snprintf(path, sizeof(paths[0]), "%s/%s", folder, name);
    return path;
}

static int opened(const char *name, int flags) {
    int fd = open(at(name), flags, 0644);

    expect(fd >= 0, name);
    return fd;
}

static uint8_t *mapped(int fd, size_t size, int flags) {
    uint8_t *map = mmap(NULL, size, PROT_READ | PROT_WRITE, flags, fd, 0);

    if (map == MAP_FAILED) {
        perror("tbfs_steps: mmap");
        exit(2);
    }
    return map;
}

/* Times on the medium are in seconds. Calls after a tick get another time than calls before it. */
static time_t tick(void) {
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    now.tv_sec += 10;
    expect(clock_settime(CLOCK_REALTIME, &now) == 0, "clock_settime");
    return now.tv_sec;
}

static void mount_with(const char *more, unsigned long flags) {
    char options[200];

    snprintf(options, sizeof(options), "barrier=on,data=%s%s", policy, more);
    if (mount(device, folder, "tbfs", flags, options)) {
        fail("mount: %s", strerror(errno));
        exit(1);
    }
}

static void unmount(void) {
    if (umount(folder)) {
        fail("umount: %s", strerror(errno));
        exit(1);
    }
}

static void mount_again(const char *more, unsigned long flags) {
    unmount();
    mount_with(more, flags);
}

static int is_hybrid(void) { return policy[0] == 'h'; }

/* Make a file by writes, without a mapping. */
static void make_file(const char *name, int pages) {
    int fd = opened(name, O_RDWR | O_CREAT | O_TRUNC);

    memset(bytes, 'a', sizeof(bytes));
    expect(pwrite(fd, bytes, (size_t)pages * PAGE, 0) == pages * PAGE, "write");
    close(fd);
}

static struct stat status_of(const char *name) {
    struct stat status = {0};

    expect(lstat(at(name), &status) == 0, "lstat");
    return status;
}

static void check_byte(int is, int expected, const char *where) {
    if (is != expected)
        fail("%s: %02x is there, not %02x", where, is, expected);
}

static int byte_of(int fd, off_t offset) {
    uint8_t byte = 0;

    expect(pread(fd, &byte, 1, offset) == 1, "read");
    return byte;
}

/* ---- Attributes before and after a mount ---- */

struct view {
    struct stat status[NAMES];
    struct statvfs room;
    unsigned listed;
    char target[64];
};

static unsigned names_in(const char *name) {
    DIR *dir = opendir(at(name));
    unsigned sum = 0;

    for (struct dirent *entry; dir && (entry = readdir(dir));)
        sum = sum * 31 + (unsigned)entry->d_ino + (unsigned)strlen(entry->d_name) + entry->d_type;
    if (dir)
        closedir(dir);
    return sum;
}

static void look(struct view *view) {
    memset(view, 0, sizeof(*view));
    for (int i = 0; i < NAMES; i++)
        if (lstat(at(names[i]), &view->status[i]) && errno != ENOENT)
            fail("%s: %s", names[i], strerror(errno));
    expect(statvfs(folder, &view->room) == 0, "statvfs");
    view->listed = names_in("") + names_in("folder");
    if (readlink(at("symlink"), view->target, sizeof(view->target) - 1) < 0)
        view->target[0] = 0;
}

static void compare_number(const char *name, const char *what, long before, long after) {
    if (before != after)
        fail("%s of '%s' is %ld, and %ld after a mount", what, name, before, after);
}

static void compare(const struct view *before, const struct view *after) {
    for (int i = 0; i < NAMES; i++) {
        const struct stat *one = &before->status[i], *other = &after->status[i];

        compare_number(names[i], "number", (long)one->st_ino, (long)other->st_ino);
        compare_number(names[i], "mode", one->st_mode, other->st_mode);
        compare_number(names[i], "links", (long)one->st_nlink, (long)other->st_nlink);
        compare_number(names[i], "owner", one->st_uid, other->st_uid);
        compare_number(names[i], "group", one->st_gid, other->st_gid);
        compare_number(names[i], "size", one->st_size, other->st_size);
        compare_number(names[i], "blocks", one->st_blocks, other->st_blocks);
        compare_number(names[i], "atime", one->st_atime, other->st_atime);
        compare_number(names[i], "mtime", one->st_mtime, other->st_mtime);
        compare_number(names[i], "ctime", one->st_ctime, other->st_ctime);
    }
    compare_number("", "free blocks", (long)before->room.f_bfree, (long)after->room.f_bfree);
    compare_number("", "free inodes", (long)before->room.f_ffree, (long)after->room.f_ffree);
    compare_number("", "entries", before->listed, after->listed);
    if (strcmp(before->target, after->target))
        fail("the link's target is '%s', and '%s' after a mount", before->target, after->target);
}

/* ---- Steps: names ---- */

static void create(void) { close(opened("file", O_CREAT | O_EXCL | O_RDWR)); }
static void make_folder(void) { expect(mkdir(at("folder"), 0750) == 0, "mkdir"); }
static void make_symlink(void) { expect(symlink("elsewhere", at("symlink")) == 0, "symlink"); }
static void make_fifo(void) { expect(mkfifo(at("fifo"), 0600) == 0, "mkfifo"); }

static void make_link(void) {
    create();
    tick();
    expect(link(at("file"), at("other")) == 0, "link");
}

static void unlink_one_name(void) {
    make_link();
    tick();
    expect(unlink(at("other")) == 0, "unlink");
}

static void unlink_last_name(void) {
    make_file("file", 2);
    tick();
    expect(unlink(at("file")) == 0, "unlink");
}

static void remove_folder(void) {
    make_folder();
    tick();
    expect(rmdir(at("folder")) == 0, "rmdir");
}

static void rename_to(const char *name, unsigned flags) {
    tick();
    expect(syscall(SYS_renameat2, AT_FDCWD, at("file"), AT_FDCWD, at(name), flags) == 0, "rename");
}

static void rename_into_folder(void) {
    make_folder();
    create();
    rename_to("folder/inner", 0);
}

static void rename_over(void) {
    make_file("file", 1);
    make_file("other", 2);
    rename_to("other", 0);
}

static void exchange(void) {
    make_folder();
    create();
    make_file("folder/inner", 1);
    rename_to("folder/inner", RENAME_EXCHANGE);
}

/* ---- Steps: content and attributes ---- */

static int file_of(int pages) {
    make_file("file", pages);
    tick();
    return opened("file", O_RDWR);
}

static void overwrite(void) {
    int fd = file_of(3);

    expect(pwrite(fd, "part", 4, PAGE + 10) == 4, "write");
    check_byte(byte_of(fd, PAGE + 9), 'a', "a byte before the write");
    check_byte(byte_of(fd, PAGE + 13), 't', "a written byte");
    expect(pread(fd, bytes, 3 * PAGE, 0) == 3 * PAGE, "read"); /* pages with a log and without one */
    close(fd);
}

static void append(void) {
    int fd = file_of(1);

    expect(pwrite(fd, "more", 4, PAGE + 100) == 4, "write");
    close(fd);
}

static void cut_to(off_t size) {
    int fd = file_of(3);

    expect(ftruncate(fd, size) == 0, "ftruncate");
    expect(status_of("file").st_size == size, "size");
    close(fd);
}

static void cut_off(void) { cut_to(PAGE + 7); }
static void extend(void) { cut_to(BYTES); }

static void allocate(int mode, off_t offset, off_t size) {
    int fd = file_of(2);

    expect(fallocate(fd, mode, offset, size) == 0, "fallocate");
    close(fd);
}

static void allocate_more(void) { allocate(0, 0, BYTES); }
static void allocate_behind(void) { allocate(FALLOC_FL_KEEP_SIZE, 4 * PAGE, PAGE); }
static void punch(void) { allocate(FALLOC_FL_KEEP_SIZE | FALLOC_FL_PUNCH_HOLE, 0, PAGE); }

static void change_mode(void) {
    close(file_of(1));
    expect(chmod(at("file"), 0751) == 0 && (status_of("file").st_mode & 07777) == 0751, "chmod");
}

static void change_owner(void) {
    close(file_of(1));
    expect(chown(at("file"), 5, 6) == 0 && status_of("file").st_uid == 5, "chown");
}

static void change_times(void) {
    struct timespec times[2] = {{1000, 0}, {2000, 0}};

    close(file_of(1));
    expect(utimensat(AT_FDCWD, at("file"), times, 0) == 0 && status_of("file").st_mtime == 2000, "utimensat");
}

static void set_as(uid_t user) { syscall(SYS_setresuid, -1, user, -1); } /* of this thread alone */

/* A write by a user without CAP_FSETID clears the setuid bit. */
static void clear_setuid(int allocates) {
    int fd = file_of(1);

    expect(fchmod(fd, 04777) == 0, "fchmod");
    set_as(NOBODY);
    expect(allocates ? fallocate(fd, 0, 0, 2 * PAGE) == 0 : pwrite(fd, "x", 1, 0) == 1, "a write by nobody");
    set_as(0);
    if (status_of("file").st_mode & S_ISUID)
        fail("the setuid bit is still there");
    close(fd);
}

static void write_clears_setuid(void) { clear_setuid(0); }
static void allocation_clears_setuid(void) { clear_setuid(1); }

/* tbfs cannot be frozen: page faults would wait for a thaw. */
static void freeze(void) {
    int fd = open(folder, O_RDONLY);

    expect(ioctl(fd, FIFREEZE, 0) < 0 && errno == EOPNOTSUPP, "FIFREEZE is refused");
    close(fd);
}

/* ---- Steps: mapped pages ---- */

static void sync_by_fsync(int fd, uint8_t *map) {
    (void)map;
    expect(fsync(fd) == 0, "fsync");
}

static void sync_by_msync(int fd, uint8_t *map) {
    (void)fd;
    expect(msync(map, BYTES, MS_SYNC) == 0, "msync");
}

static void sync_by_syncfs(int fd, uint8_t *map) {
    (void)map;
    expect(syncfs(fd) == 0, "syncfs");
}

/* Store to a page with a block, or to a hole, which gets a block. The store changes the times. */
static void store_and(void (*sync_by)(int fd, uint8_t *map), int page) {
    int fd = file_of(1);
    uint8_t *map = mapped(fd, BYTES, MAP_SHARED);
    time_t then;

    expect(ftruncate(fd, BYTES) == 0, "ftruncate");
    then = tick();
    map[page * PAGE + 10] = 'm';
    if (status_of("file").st_mtime < then)
        fail("a store to a mapped page leaves the mtime as it is");
    sync_by(fd, map);
    munmap(map, BYTES);
    close(fd);
}

static void store_and_fsync(void) { store_and(sync_by_fsync, 0); }
static void store_and_msync(void) { store_and(sync_by_msync, 0); }
static void store_and_syncfs(void) { store_and(sync_by_syncfs, 0); }
static void store_to_hole_and_fsync(void) { store_and(sync_by_fsync, 3); }

/* Each store must be visible in the map and to a read, and durable after the last fsync(). */
static void store_beside_writes(void) {
    int fd = file_of(2);
    uint8_t *map = mapped(fd, 2 * PAGE, MAP_SHARED);

    map[100] = 'm';
    expect(pwrite(fd, "w", 1, 200) == 1, "write");
    check_byte(map[100], 'm', "a stored byte beside a written one");
    check_byte(map[200], 'w', "a written byte in the map");
    sync_by_fsync(fd, map);
    testbed_mark(mark_of_step); /* all must be durable here, as at the end of the step */
    map[300] = 'n';
    check_byte(byte_of(fd, 300), 'n', "a read of a stored byte");
    sync_by_fsync(fd, map);
    munmap(map, 2 * PAGE);
    close(fd);
}

/* A map of the hole shows zeros, even if another file takes the freed block. */
static void punch_mapped_page(void) {
    int fd = file_of(2);
    uint8_t *map = mapped(fd, 2 * PAGE, MAP_SHARED);

    map[0] = 'm';
    expect(fallocate(fd, FALLOC_FL_KEEP_SIZE | FALLOC_FL_PUNCH_HOLE, 0, PAGE) == 0, "punch");
    make_file("other", 2);
    check_byte(map[0], 0, "a mapped hole");
    map[1] = 'n';
    sync_by_fsync(fd, map);
    check_byte(byte_of(fd, 1), 'n', "a store to a mapped hole");
    munmap(map, 2 * PAGE);
    close(fd);
}

static void on_bus_error(int number) {
    if (!may_fault)
        _exit(128 + number);
    may_fault = 0;
    siglongjmp(after_fault, 1);
}

/* A cut also drops the private copy of a page. */
static void cut_private_copy(void) {
    int fd = file_of(1);
    uint8_t *map = mapped(fd, PAGE, MAP_PRIVATE);

    *(volatile uint8_t *)map = 'p';
    expect(ftruncate(fd, 0) == 0, "ftruncate");
    if (!sigsetjmp(after_fault, 1)) {
        may_fault = 1;
        (void)*(volatile uint8_t *)map;
        fail("a private copy behind the end of the file is still there");
    }
    munmap(map, PAGE);
    close(fd);
}

/* The buffers of a read and a write are pages of the same file, and are not mapped yet when the core needs them. */
static void copy_within_file(void) {
    int fd = file_of(4);
    uint8_t *map = mapped(fd, 4 * PAGE, MAP_SHARED);

    expect(pwrite(fd, "part", 4, 10) == 4, "write");
    expect(pread(fd, map + PAGE, PAGE, 0) == PAGE, "a read into the map");
    check_byte(map[PAGE + 10], 'p', "a byte that was read into the map");
    expect(pwrite(fd, map + 2 * PAGE, PAGE, 2 * PAGE + 5) == PAGE, "a write from the map");
    sync_by_fsync(fd, map);
    munmap(map, 4 * PAGE);
    close(fd);
}

/* ---- Steps: a page that a pipe holds, as a device does for DMA ---- */

static int held_fd;
static volatile int is_done;

static void *punch_held(void *context) {
    expect(fallocate(held_fd, FALLOC_FL_KEEP_SIZE | FALLOC_FL_PUNCH_HOLE, 0, PAGE) == 0, "punch");
    is_done = 1;
    return context;
}

static void *write_held(void *context) {
    expect(pwrite(held_fd, "w", 1, 0) == 1, "write");
    is_done = 1;
    return context;
}

static void *cut_held(void *context) {
    expect(ftruncate(held_fd, 0) == 0, "ftruncate");
    is_done = 1;
    return context;
}

/* The call waits until the pipe is read. A fault of another page does not wait for the call. */
static void change_held_page(void *(*change)(void *context)) {
    pthread_t thread;
    int ends[2];
    struct iovec page;
    uint8_t *map;

    held_fd = file_of(4);
    is_done = 0;
    map = mapped(held_fd, 4 * PAGE, MAP_SHARED);
    page = (struct iovec){map, PAGE};
    expect(pipe(ends) == 0 && vmsplice(ends[1], &page, 1, 0) == PAGE, "vmsplice");
    pthread_create(&thread, NULL, change, NULL);
    usleep(20000);
    if (is_done)
        fail("a page that a pipe holds is changed");
    check_byte(map[2 * PAGE], 'a', "another page of the file");
    expect(read(ends[0], bytes, PAGE) == PAGE, "read of the pipe");
    pthread_join(thread, NULL);
    check_byte(bytes[0], 'a', "a page that a pipe held");
    munmap(map, 4 * PAGE);
    close(ends[0]);
    close(ends[1]);
    close(held_fd);
}

static void punch_held_page(void) { change_held_page(punch_held); }
static void write_held_page(void) { change_held_page(write_held); }
static void cut_held_page(void) { change_held_page(cut_held); }

/* ---- Steps: two threads ---- */

/* Page 0 is written last, and all pages are punched at once. So the first hole is always at 0 or behind all pages. */
static void *come_and_go(void *context) {
    memset(bytes, 'a', PAGE);
    for (int i = 0; i < 20; i++) {
        for (int page = PAGES - 1; page >= 0; page--)
            expect(pwrite(held_fd, bytes, PAGE, page * PAGE) == PAGE, "write");
        expect(fallocate(held_fd, FALLOC_FL_KEEP_SIZE | FALLOC_FL_PUNCH_HOLE, 0, BYTES) == 0, "punch");
    }
    is_done = 1;
    return context;
}

static void seek_beside_punch(void) {
    pthread_t thread;

    held_fd = file_of(PAGES);
    is_done = 0;
    pthread_create(&thread, NULL, come_and_go, NULL);
    while (!is_done) {
        off_t hole = lseek(held_fd, 0, SEEK_HOLE);

        if (hole != 0 && hole != BYTES)
            fail("the first hole is at %ld", hole);
    }
    pthread_join(thread, NULL);
    close(held_fd);
}

/* A read returns all of a write or nothing of it. */
static void *write_uniformly(void *context) {
    for (int i = 0; i < 20; i++) {
        memset(bytes, 'a' + i, 3 * PAGE);
        expect(pwrite(held_fd, bytes, 3 * PAGE, 0) == 3 * PAGE, "write");
    }
    is_done = 1;
    return context;
}

static void read_beside_writes(void) {
    static uint8_t seen[3 * PAGE];
    pthread_t thread;

    held_fd = file_of(3);
    is_done = 0;
    pthread_create(&thread, NULL, write_uniformly, NULL);
    while (!is_done) {
        expect(pread(held_fd, seen, sizeof(seen), 0) == sizeof(seen), "read");
        for (size_t i = 0; i < sizeof(seen); i += 64)
            check_byte(seen[i], seen[0], "a part of a read");
    }
    pthread_join(thread, NULL);
    close(held_fd);
}

/* A fault that has waited for the cut finds the new size. */
static void *store_behind_end(void *map) {
    while (!is_done) {
        if (sigsetjmp(after_fault, 1))
            continue;
        may_fault = 1;
        *(volatile uint8_t *)map = 'm';
        may_fault = 0;
    }
    return NULL;
}

static int is_mapped(const volatile uint8_t *map) {
    if (sigsetjmp(after_fault, 1))
        return 0;
    may_fault = 1;
    (void)*map;
    may_fault = 0;
    return 1;
}

static void cut_beside_stores(void) {
    int fd = file_of(1);
    uint8_t *map = mapped(fd, BYTES, MAP_SHARED);
    pthread_t thread;

    is_done = 0;
    pthread_create(&thread, NULL, store_behind_end, map + 3 * PAGE);
    for (int i = 0; i < 20; i++) {
        expect(ftruncate(fd, BYTES) == 0 && ftruncate(fd, PAGE) == 0, "ftruncate");
        usleep(300); /* a fault that was under way has ended by then */
        if (is_mapped(map + 3 * PAGE))
            fail("a page behind the end of the file is mapped");
    }
    is_done = 1;
    pthread_join(thread, NULL);
    munmap(map, BYTES);
    close(fd);
}

/* ---- Steps: logs ---- */

/* Make a log for each page. The content stays the same when the logs are merged. */
static void make_logs(int pages) {
    int fd = opened("file", O_RDWR | O_CREAT | O_TRUNC);

    for (int page = 0; page < pages; page++) {
        expect(pwrite(fd, bytes, PAGE, page * PAGE) == PAGE, "write");
        expect(pwrite(fd, "log", 3, page * PAGE + 7) == 3, "write");
    }
    close(fd);
}

static void check_logs(int pages) {
    int fd = opened("file", O_RDONLY);

    for (int page = 0; page < pages; page++)
        check_byte(byte_of(fd, page * PAGE + 8), 'o', "a byte of a log");
    close(fd);
}

/* Read and map a page with a log. A read-only mount must make a copy for the map. */
static void map_logs(void) {
    int fd;
    uint8_t *map;

    if (!is_hybrid())
        return;
    make_logs(2);
    mount_again("", MS_RDONLY);
    check_logs(2);
    fd = opened("file", O_RDONLY);
    map = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, 0);
    expect(map != MAP_FAILED, "mmap");
    check_byte(map[8], 'o', "a mapped byte of a log");
    munmap(map, PAGE);
    close(fd);
    mount_again("", 0);
}

/* Remount at three moments, one of them during the merges: the call waits for the merge that is under way. */
static void become_read_only_beside_merges(void) {
    for (unsigned us = 8200; is_hybrid() && us < 20000; us += 4200) {
        make_logs(LOGS);
        mount_again(",gc_low=100,gc_idle_us=1000", 0);
        check_logs(1);
        usleep(us);
        expect(mount(NULL, folder, NULL, MS_REMOUNT | MS_RDONLY, NULL) == 0, "remount");
        check_logs(LOGS);
        mount_again("", 0);
    }
}

static void merge_in_background(void) {
    if (!is_hybrid())
        return;
    make_logs(LOGS);
    mount_again(",gc_low=100,gc_idle_us=1000", 0);
    check_logs(1);
    usleep(40000);
    check_logs(LOGS);
}

/* An unmount cancels the merges that are due later. */
static void unmount_before_merges(void) {
    if (!is_hybrid())
        return;
    make_logs(LOGS);
    mount_again(",gc_low=100,gc_idle_us=50000", 0);
    check_logs(1);
    unmount();
    usleep(200000);
    mount_with("", 0);
    check_logs(LOGS);
}

/* ---- All steps ---- */

static const struct step {
    const char *name;
    void (*run)(void);
} steps[] = {
    {"create", create},
    {"mkdir", make_folder},
    {"symlink", make_symlink},
    {"mkfifo", make_fifo},
    {"link", make_link},
    {"unlink of one name", unlink_one_name},
    {"unlink of the last name", unlink_last_name},
    {"rmdir", remove_folder},
    {"rename", rename_into_folder},
    {"rename over a file", rename_over},
    {"exchange", exchange},
    {"overwrite", overwrite},
    {"append", append},
    {"cut", cut_off},
    {"extend", extend},
    {"fallocate", allocate_more},
    {"fallocate behind the end", allocate_behind},
    {"punch", punch},
    {"chmod", change_mode},
    {"chown", change_owner},
    {"utimensat", change_times},
    {"write to a setuid file", write_clears_setuid},
    {"fallocate of a setuid file", allocation_clears_setuid},
    {"freeze", freeze},
    {"mapped store, fsync", store_and_fsync},
    {"mapped store, msync", store_and_msync},
    {"mapped store, syncfs", store_and_syncfs},
    {"mapped store to a hole, fsync", store_to_hole_and_fsync},
    {"mapped stores beside writes", store_beside_writes},
    {"punch of a mapped page", punch_mapped_page},
    {"cut of a private copy", cut_private_copy},
    {"copies within a file", copy_within_file},
    {"punch of a held page", punch_held_page},
    {"write to a held page", write_held_page},
    {"cut of a held page", cut_held_page},
    {"seek beside punch", seek_beside_punch},
    {"read beside writes", read_beside_writes},
    {"cut beside stores", cut_beside_stores},
    {"mapped logs", map_logs},
    {"read-only beside merges", become_read_only_beside_merges},
    {"merges in the background", merge_in_background},
    {"umount before merges", unmount_before_merges},
};
enum { STEPS = sizeof(steps) / sizeof(*steps) };

static void clean(void) {
    for (int i = NAMES - 1; i > 0; i--)
        if (unlink(at(names[i])) && errno != ENOENT && errno != ENOTDIR && rmdir(at(names[i])))
            fail("%s is not removed: %s", names[i], strerror(errno));
}

static void take(const struct step *step, unsigned mark) {
    struct view before, after;

    under_way = step->name;
    mark_of_step = mark;
    clean();
    tick();
    step->run();
    look(&before);
    testbed_mark(mark);
    mount_again("", 0);
    look(&after);
    compare(&before, &after);
}

int main(int argc, char **argv) {
    struct sigaction action = {.sa_handler = on_bus_error, .sa_flags = SA_NODEFER};
    unsigned mark;

    if (argc != 4)
        return fputs("usage: tbfs_steps DEVICE FOLDER FIRST_MARK\n", stderr), 2;
    setvbuf(stdout, NULL, _IOLBF, 0);
    umask(0);
    sigaction(SIGBUS, &action, NULL);
    device = argv[1];
    folder = argv[2];
    mark = (unsigned)atoi(argv[3]);
    testbed_mark(mark++);
    for (size_t i = 0; i < sizeof(policies) / sizeof(*policies) && !failures; i++) {
        policy = policies[i];
        mount_with("", 0);
        for (int step = 0; step < STEPS && !failures; step++)
            take(&steps[step], mark++);
        clean();
        unmount();
    }
    return failures != 0;
}
