/* SPDX-License-Identifier: BSD-3-Clause */
/* Smaller results of the system: signals, terminals, processes, attributes, directories, memory. */
#define _GNU_SOURCE
#undef _FORTIFY_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <execinfo.h>
#include <fcntl.h>
#include <glob.h>
#include <ifaddrs.h>
#include <limits.h>
#include <mntent.h>
#include <mqueue.h>
#include <net/if.h>
#include <netinet/ether.h>
#include <pty.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/klog.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <termios.h>
#include <unistd.h>
#include <utmp.h>
#include <utmpx.h>
#include <wordexp.h>

#include "bounce.h"

#pragma clang diagnostic ignored "-Wdeprecated-declarations"

/* The number of bytes that a command writes to its argument. */
static size_t fcntl_bytes(int command) {
    return command == F_GETLK || command == F_OFD_GETLK                ? sizeof(struct flock)
           : command == F_GETOWN_EX                                    ? sizeof(struct f_owner_ex)
           : command == F_GET_RW_HINT || command == F_GET_FILE_RW_HINT ? sizeof(uint64_t)
                                                                       : 0;
}

#define FCNTL(name)                                                                                                    \
    int WRAP(name)(int fd, int command, void *argument);                                                               \
    int WRAP(name)(int fd, int command, void *argument) {                                                              \
        writes(argument, fcntl_bytes(command));                                                                        \
        return name(fd, command, argument);                                                                            \
    }
FCNTL(fcntl)
FCNTL(fcntl64)

/* The number of a modern request includes the size; old requests of terminals and sockets write at most 256 bytes. */
int WRAP(ioctl)(int fd, unsigned long request, void *argument);
int WRAP(ioctl)(int fd, unsigned long request, void *argument) {
    writes(argument, _IOC_DIR(request) == _IOC_NONE ? 256 : _IOC_SIZE(request));
    return ioctl(fd, request, argument);
}

/* The longest result is a name of 16 bytes, except for PR_GET_AUXV. */
int WRAP(prctl)(int option, void *argument, unsigned long a, unsigned long b, unsigned long c);
int WRAP(prctl)(int option, void *argument, unsigned long a, unsigned long b, unsigned long c) {
    writes(argument, option == 0x41555856 ? a : 16);
    return prctl(option, argument, a, b, c);
}

WRAPPER_VOID(arc4random_buf, (void *buf, size_t size), (buf, size), writes(buf, size))
WRAPPER(int, backtrace, (void **array, int size), (array, size),
        writes(array, size > 0 ? (size_t)size * sizeof(void *) : 0))
WRAPPER_VOID(cfmakeraw, (struct termios * termios_p), (termios_p), OUT(termios_p))
WRAPPER(int, cfsetispeed, (struct termios * termios_p, speed_t speed), (termios_p, speed), OUT(termios_p))
WRAPPER(int, cfsetospeed, (struct termios * termios_p, speed_t speed), (termios_p, speed), OUT(termios_p))
WRAPPER(int, cfsetspeed, (struct termios * termios_p, speed_t speed), (termios_p, speed), OUT(termios_p))

/* Calls with offsets in memory. With O_SYNC they commit, possibly the file that has the offset. */
WRAPPER(ssize_t, copy_file_range,
        (int infd, __off64_t *pinoff, int outfd, __off64_t *poutoff, size_t length, unsigned int flags),
        (infd, pinoff, outfd, poutoff, length, flags), ASIDE(pinoff);
        ASIDE(poutoff))
WRAPPER(ssize_t, sendfile, (int out_fd, int in_fd, off_t *offset, size_t count), (out_fd, in_fd, offset, count),
        ASIDE(offset))
WRAPPER(ssize_t, sendfile64, (int out_fd, int in_fd, __off64_t *offset, size_t count), (out_fd, in_fd, offset, count),
        ASIDE(offset))
WRAPPER(__ssize_t, splice, (int fdin, __off64_t *offin, int fdout, __off64_t *offout, size_t len, unsigned int flags),
        (fdin, offin, fdout, offout, len, flags), ASIDE(offin);
        ASIDE(offout))

WRAPPER(char *, ctermid, (char *s), (s), writes(s, L_ctermid))
WRAPPER(char *, cuserid, (char *s), (s), writes(s, L_ctermid))
WRAPPER(int, dladdr, (const void *address, Dl_info *info), (address, info), OUT(info))
WRAPPER(int, dladdr1, (const void *address, Dl_info *info, void **extra_info, int flags),
        (address, info, extra_info, flags), OUT(info);
        OUT(extra_info))
WRAPPER(struct ether_addr *, ether_aton_r, (const char *asc, struct ether_addr *addr), (asc, addr), OUT(addr))
WRAPPER(char *, ether_ntoa_r, (const struct ether_addr *addr, char *buf), (addr, buf), writes(buf, 18))
WRAPPER(int, eventfd_read, (int fd, eventfd_t *value), (fd, value), ASIDE(value))
WRAPPER(int, fgetpos, (FILE * stream, fpos_t *pos), (stream, pos), OUT(pos))
WRAPPER(int, fgetpos64, (FILE * stream, fpos64_t *pos), (stream, pos), OUT(pos))
WRAPPER(ssize_t, flistxattr, (int fd, char *list, size_t size), (fd, list, size), writes(list, size))
WRAPPER(int, fstatfs64, (int fildes, struct statfs64 *buf), (fildes, buf), OUT(buf))
WRAPPER(int, fstatvfs64, (int fildes, struct statvfs64 *buf), (fildes, buf), OUT(buf))
WRAPPER(int, getcpu, (unsigned int *p0, unsigned int *p1), (p0, p1), OUT(p0); OUT(p1))
WRAPPER(__ssize_t, getdents64, (int fd, void *buffer, size_t length), (fd, buffer, length), writes(buffer, length))
WRAPPER(__ssize_t, getdirentries, (int fd, char *buf, size_t nbytes, __off_t *basep), (fd, buf, nbytes, basep),
        writes(buf, nbytes);
        OUT(basep))
WRAPPER(__ssize_t, getdirentries64, (int fd, char *buf, size_t nbytes, __off64_t *basep), (fd, buf, nbytes, basep),
        writes(buf, nbytes);
        OUT(basep))
WRAPPER(int, getdomainname, (char *buf, size_t buflen), (buf, buflen), writes(buf, buflen))
WRAPPER(int, getgroups, (int size, __gid_t *list), (size, list),
        writes(list, size > 0 ? (size_t)size * sizeof(*list) : 0))
WRAPPER(int, getifaddrs, (struct ifaddrs * *ifap), (ifap), OUT(ifap))
WRAPPER(int, getlogin_r, (char *buf, size_t buflen), (buf, buflen), writes(buf, buflen))
WRAPPER(struct mntent *, getmntent_r, (FILE * stream, struct mntent *result, char *buffer, int bufsize),
        (stream, result, buffer, bufsize), OUT(result);
        writes(buffer, bufsize > 0 ? (size_t)bufsize : 0))
WRAPPER(int, getresgid, (__gid_t * rgid, __gid_t *egid, __gid_t *sgid), (rgid, egid, sgid), OUT(rgid); OUT(egid);
        OUT(sgid))
WRAPPER(int, getresuid, (__uid_t * ruid, __uid_t *euid, __uid_t *suid), (ruid, euid, suid), OUT(ruid); OUT(euid);
        OUT(suid))
WRAPPER(int, getutent_r, (struct utmp * buffer, struct utmp **result), (buffer, result), OUT(buffer); OUT(result))
WRAPPER(int, getutid_r, (const struct utmp *id, struct utmp *buffer, struct utmp **result), (id, buffer, result),
        OUT(buffer);
        OUT(result))
WRAPPER(int, getutline_r, (const struct utmp *line, struct utmp *buffer, struct utmp **result), (line, buffer, result),
        OUT(buffer);
        OUT(result))
WRAPPER_VOID(getutmp, (const struct utmpx *utmpx, struct utmp *utmp), (utmpx, utmp), OUT(utmp))
WRAPPER_VOID(getutmpx, (const struct utmp *utmp, struct utmpx *utmpx), (utmp, utmpx), OUT(utmpx))
WRAPPER(int, glob64, (const char *pattern, int flags, int (*errfunc)(const char *, int), glob64_t *pglob),
        (pattern, flags, errfunc, pglob), ASIDE(pglob))
WRAPPER_VOID(globfree, (glob_t * pglob), (pglob), OUT(pglob))
WRAPPER_VOID(globfree64, (glob64_t * pglob), (pglob), OUT(pglob))
WRAPPER(char *, if_indextoname, (unsigned int ifindex, char *ifname), (ifindex, ifname), writes(ifname, IF_NAMESIZE))
WRAPPER(int, klogctl, (int type, char *bufp, int len), (type, bufp, len), writes(bufp, len > 0 ? (size_t)len : 0))
WRAPPER(ssize_t, lgetxattr, (const char *path, const char *name, void *value, size_t size), (path, name, value, size),
        writes(value, size))
WRAPPER(ssize_t, listxattr, (const char *path, char *list, size_t size), (path, list, size), writes(list, size))
WRAPPER(ssize_t, llistxattr, (const char *path, char *list, size_t size), (path, list, size), writes(list, size))
WRAPPER(int, mincore, (void *start, size_t len, unsigned char *vec), (start, len, vec),
        writes(vec, (len + 4095) / 4096))
WRAPPER(int, mkostemp, (char *template, int flags), (template, flags),
        if (tracked(template)) writes(template, strlen(template)))
WRAPPER(int, mkostemp64, (char *template, int flags), (template, flags),
        if (tracked(template)) writes(template, strlen(template)))
WRAPPER(int, mkostemps, (char *template, int suffixlen, int flags), (template, suffixlen, flags),
        if (tracked(template)) writes(template, strlen(template)))
WRAPPER(int, mkostemps64, (char *template, int suffixlen, int flags), (template, suffixlen, flags),
        if (tracked(template)) writes(template, strlen(template)))
WRAPPER(int, mkstemp64, (char *template), (template), if (tracked(template)) writes(template, strlen(template)))
WRAPPER(int, mkstemps, (char *template, int suffixlen), (template, suffixlen),
        if (tracked(template)) writes(template, strlen(template)))
WRAPPER(int, mkstemps64, (char *template, int suffixlen), (template, suffixlen),
        if (tracked(template)) writes(template, strlen(template)))
WRAPPER(int, mq_getattr, (mqd_t mqdes, struct mq_attr *mqstat), (mqdes, mqstat), OUT(mqstat))
WRAPPER(int, mq_setattr, (mqd_t mqdes, const struct mq_attr *mqstat, struct mq_attr *omqstat), (mqdes, mqstat, omqstat),
        OUT(omqstat))
WRAPPER(int, msgctl, (int msqid, int cmd, struct msqid_ds *buf), (msqid, cmd, buf), OUT(buf))
WRAPPER(int, name_to_handle_at, (int dfd, const char *name, struct file_handle *handle, int *mnt_id, int flags),
        (dfd, name, handle, mnt_id, flags), OUT(mnt_id);
        if (tracked(handle)) writes(handle, sizeof(*handle) + handle->handle_bytes))
WRAPPER(int, openpty, (int *amaster, int *aslave, char *name, const struct termios *termp, const struct winsize *winp),
        (amaster, aslave, name, termp, winp), OUT(amaster);
        OUT(aslave); writes(name, PATH_MAX))
WRAPPER(int, posix_memalign, (void **memptr, size_t alignment, size_t size), (memptr, alignment, size), OUT(memptr))
WRAPPER(int, posix_spawn,
        (pid_t * pid, const char *path, const posix_spawn_file_actions_t *file_actions, const posix_spawnattr_t *attrp,
         char *const *argv, char *const *envp),
        (pid, path, file_actions, attrp, argv, envp), OUT(pid))
WRAPPER(int, posix_spawn_file_actions_addchdir_np, (posix_spawn_file_actions_t * actions, const char *path),
        (actions, path), OUT(actions))
WRAPPER(int, posix_spawn_file_actions_addclose, (posix_spawn_file_actions_t * file_actions, int fd), (file_actions, fd),
        OUT(file_actions))
WRAPPER(int, posix_spawn_file_actions_addclosefrom_np, (posix_spawn_file_actions_t * p0, int from), (p0, from), OUT(p0))
WRAPPER(int, posix_spawn_file_actions_adddup2, (posix_spawn_file_actions_t * file_actions, int fd, int newfd),
        (file_actions, fd, newfd), OUT(file_actions))
WRAPPER(int, posix_spawn_file_actions_addfchdir_np, (posix_spawn_file_actions_t * p0, int fd), (p0, fd), OUT(p0))
WRAPPER(int, posix_spawn_file_actions_addopen,
        (posix_spawn_file_actions_t * file_actions, int fd, const char *path, int oflag, mode_t mode),
        (file_actions, fd, path, oflag, mode), OUT(file_actions))
WRAPPER(int, posix_spawn_file_actions_addtcsetpgrp_np, (posix_spawn_file_actions_t * p0, int tcfd), (p0, tcfd), OUT(p0))
WRAPPER(int, posix_spawn_file_actions_destroy, (posix_spawn_file_actions_t * file_actions), (file_actions),
        OUT(file_actions))
WRAPPER(int, posix_spawn_file_actions_init, (posix_spawn_file_actions_t * file_actions), (file_actions),
        OUT(file_actions))
WRAPPER(int, posix_spawnattr_destroy, (posix_spawnattr_t * attr), (attr), OUT(attr))
WRAPPER(int, posix_spawnattr_getflags, (const posix_spawnattr_t *attr, short *flags), (attr, flags), OUT(flags))
WRAPPER(int, posix_spawnattr_getpgroup, (const posix_spawnattr_t *attr, pid_t *pgroup), (attr, pgroup), OUT(pgroup))
WRAPPER(int, posix_spawnattr_getschedparam, (const posix_spawnattr_t *attr, struct sched_param *schedparam),
        (attr, schedparam), OUT(schedparam))
WRAPPER(int, posix_spawnattr_getschedpolicy, (const posix_spawnattr_t *attr, int *schedpolicy), (attr, schedpolicy),
        OUT(schedpolicy))
WRAPPER(int, posix_spawnattr_getsigdefault, (const posix_spawnattr_t *attr, sigset_t *sigdefault), (attr, sigdefault),
        OUT(sigdefault))
WRAPPER(int, posix_spawnattr_getsigmask, (const posix_spawnattr_t *attr, sigset_t *sigmask), (attr, sigmask),
        OUT(sigmask))
WRAPPER(int, posix_spawnattr_init, (posix_spawnattr_t * attr), (attr), OUT(attr))
WRAPPER(int, posix_spawnattr_setflags, (posix_spawnattr_t * attr, short flags), (attr, flags), OUT(attr))
WRAPPER(int, posix_spawnattr_setpgroup, (posix_spawnattr_t * attr, pid_t pgroup), (attr, pgroup), OUT(attr))
WRAPPER(int, posix_spawnattr_setschedparam, (posix_spawnattr_t * attr, const struct sched_param *schedparam),
        (attr, schedparam), OUT(attr))
WRAPPER(int, posix_spawnattr_setschedpolicy, (posix_spawnattr_t * attr, int schedpolicy), (attr, schedpolicy),
        OUT(attr))
WRAPPER(int, posix_spawnattr_setsigdefault, (posix_spawnattr_t * attr, const sigset_t *sigdefault), (attr, sigdefault),
        OUT(attr))
WRAPPER(int, posix_spawnattr_setsigmask, (posix_spawnattr_t * attr, const sigset_t *sigmask), (attr, sigmask),
        OUT(attr))
WRAPPER(int, posix_spawnp,
        (pid_t * pid, const char *file, const posix_spawn_file_actions_t *file_actions, const posix_spawnattr_t *attrp,
         char *const *argv, char *const *envp),
        (pid, file, file_actions, attrp, argv, envp), OUT(pid))
WRAPPER(int, ptsname_r, (int fd, char *buf, size_t buflen), (fd, buf, buflen), writes(buf, buflen))
WRAPPER(int, readdir64_r, (DIR * dirp, struct dirent64 *entry, struct dirent64 **result), (dirp, entry, result),
        OUT(entry);
        OUT(result))
WRAPPER(int, readdir_r, (DIR * dirp, struct dirent *entry, struct dirent **result), (dirp, entry, result), OUT(entry);
        OUT(result))
WRAPPER(int, scandir64,
        (const char *dir, struct dirent64 ***namelist, int (*selector)(const struct dirent64 *),
         int (*cmp)(const struct dirent64 **, const struct dirent64 **)),
        (dir, namelist, selector, cmp), ASIDE(namelist))
WRAPPER(int, scandirat64,
        (int dfd, const char *dir, struct dirent64 ***namelist, int (*selector)(const struct dirent64 *),
         int (*cmp)(const struct dirent64 **, const struct dirent64 **)),
        (dfd, dir, namelist, selector, cmp), ASIDE(namelist))
WRAPPER(int, sched_getaffinity, (__pid_t pid, size_t cpusetsize, cpu_set_t *cpuset), (pid, cpusetsize, cpuset),
        writes(cpuset, cpusetsize))
WRAPPER(int, sched_getparam, (__pid_t pid, struct sched_param *param), (pid, param), OUT(param))
WRAPPER(int, sched_rr_get_interval, (__pid_t pid, struct timespec *t), (pid, t), OUT(t))
WRAPPER(int, sendmmsg, (int fd, struct mmsghdr *vmessages, unsigned int vlen, int flags), (fd, vmessages, vlen, flags),
        writes(vmessages, vlen * sizeof(*vmessages)))
WRAPPER(int, shmctl, (int shmid, int cmd, struct shmid_ds *buf), (shmid, cmd, buf), OUT(buf))
WRAPPER(int, sigaction, (int sig, const struct sigaction *act, struct sigaction *oact), (sig, act, oact), OUT(oact))
WRAPPER(int, sigaddset, (sigset_t * set, int signo), (set, signo), OUT(set))
WRAPPER(int, sigaltstack, (const stack_t *ss, stack_t *oss), (ss, oss), OUT(oss))
WRAPPER(int, sigandset, (sigset_t * set, const sigset_t *left, const sigset_t *right), (set, left, right), OUT(set))
WRAPPER(int, sigdelset, (sigset_t * set, int signo), (set, signo), OUT(set))
WRAPPER(int, sigemptyset, (sigset_t * set), (set), OUT(set))
WRAPPER(int, sigfillset, (sigset_t * set), (set), OUT(set))
WRAPPER(int, sigorset, (sigset_t * set, const sigset_t *left, const sigset_t *right), (set, left, right), OUT(set))
WRAPPER(int, sigpending, (sigset_t * set), (set), OUT(set))
WRAPPER(int, sigprocmask, (int how, const sigset_t *set, sigset_t *oset), (how, set, oset), OUT(oset))
WRAPPER(int, statfs64, (const char *file, struct statfs64 *buf), (file, buf), OUT(buf))
WRAPPER(int, statvfs64, (const char *file, struct statvfs64 *buf), (file, buf), OUT(buf))
WRAPPER(int, tcgetattr, (int fd, struct termios *termios_p), (fd, termios_p), OUT(termios_p))
WRAPPER(int, ttyname_r, (int fd, char *buf, size_t buflen), (fd, buf, buflen), writes(buf, buflen))
WRAPPER(int, wordexp, (const char *words, wordexp_t *pwordexp, int flags), (words, pwordexp, flags), OUT(pwordexp))
WRAPPER_VOID(wordfree, (wordexp_t * wordexp), (wordexp), OUT(wordexp))

WRAPPER_CHECKED(int, getdomainname, (char *to, size_t n, size_t room), (to, n), n)
WRAPPER_CHECKED(int, getgroups, (int count, gid_t *to, size_t room), (count, to), (size_t)count * sizeof(*to))
WRAPPER_CHECKED(int, getlogin_r, (char *to, size_t n, size_t room), (to, n), n)
WRAPPER_CHECKED(int, ptsname_r, (int fd, char *to, size_t n, size_t room), (fd, to, n), n)
WRAPPER_CHECKED(int, ttyname_r, (int fd, char *to, size_t n, size_t room), (fd, to, n), n)
