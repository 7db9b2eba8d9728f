/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Calls that wait for a descriptor, a process, a signal or the time: they write to private memory (bounce.h). `pread`
 * and similar calls are not here: a file with offsets does not wait.
 */
#define _GNU_SOURCE
#undef _FORTIFY_SOURCE
#include <fcntl.h>
#include <limits.h>
#include <mqueue.h>
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/msg.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "bounce.h"

WRAPPER_READS(ssize_t, read, (int fd, void *to, size_t n), (fd, to, n), n, 1)
WRAPPER_CHECKED(ssize_t, read, (int fd, void *to, size_t n, size_t room), (fd, to, n), n)
WRAPPER_READS(ssize_t, recv, (int fd, void *to, size_t n, int flags), (fd, to, n, flags), n, 1)
WRAPPER_CHECKED(ssize_t, recv, (int fd, void *to, size_t n, size_t room, int flags), (fd, to, n, flags), n)
WRAPPER_READS(ssize_t, getrandom, (void *to, size_t n, unsigned flags), (to, n, flags), n, 1)
WRAPPER(int, getentropy, (void *to, size_t n), (to, n), ASIDE_BYTES(to, n))

/* Parts of a message: those that are tracked are received together in private memory. */
struct vectors {
    struct iovec *given, *used; /* NULL: no part is tracked */
    size_t count, mapped_bytes, written;
};

static size_t tracked_bytes(const struct iovec *parts, size_t count) {
    size_t bytes = 0;
    for (size_t i = 0; i < count; i++)
        bytes += tracked(parts[i].iov_base) ? parts[i].iov_len : 0;
    return bytes;
}

static void vectors_announce(const struct iovec *parts, size_t count) {
    for (size_t i = 0; i < count; i++)
        writes(parts[i].iov_base, parts[i].iov_len);
}

static struct iovec *vectors_begin(struct vectors *vectors, const struct iovec *parts, size_t count) {
    size_t bytes = count <= IOV_MAX ? tracked_bytes(parts, count) : 0; /* a larger count is an error */
    *vectors = (struct vectors){.count = count, .mapped_bytes = 2 * count * sizeof(*parts) + bytes};
    if (bytes > 0)
        vectors->given = aside_map(vectors->mapped_bytes);
    if (!vectors->given) {
        vectors_announce(parts, bytes > 0 ? count : 0);
        return (struct iovec *)parts;
    }
    vectors->used = vectors->given + count;
    uint8_t *room = (uint8_t *)(vectors->used + count);
    for (size_t i = 0; i < count; i++) {
        vectors->given[i] = vectors->used[i] = parts[i];
        if (!tracked(parts[i].iov_base))
            continue;
        vectors->used[i].iov_base = room;
        room += parts[i].iov_len;
    }
    return vectors->used;
}

static void vectors_end(struct vectors *vectors) {
    if (!vectors->given)
        return;
    size_t left = vectors->written;
    for (size_t i = 0; i < vectors->count; i++) {
        const struct iovec *given = &vectors->given[i];
        size_t part = given->iov_len < left ? given->iov_len : left;
        if (part > 0 && tracked(given->iov_base))
            store_tracked(given->iov_base, vectors->used[i].iov_base, part);
        left -= part;
    }
    aside_unmap(vectors->given, vectors->mapped_bytes);
}

#define VECTORS(name) __attribute__((cleanup(vectors_end))) struct vectors name

ssize_t WRAP(readv)(int fd, const struct iovec *to, int count);
ssize_t WRAP(readv)(int fd, const struct iovec *to, int count) {
    thread_waits();
    VECTORS(vectors);
    ssize_t got = readv(fd, vectors_begin(&vectors, to, count > 0 ? (size_t)count : 0), count);
    vectors.written = got > 0 ? (size_t)got : 0;
    return got;
}

/* vmsplice() writes to memory if the descriptor is the reading end of a pipe; with the writing end it only reads
 * memory. */
ssize_t WRAP(vmsplice)(int fd, const struct iovec *to, size_t count, unsigned flags);
ssize_t WRAP(vmsplice)(int fd, const struct iovec *to, size_t count, unsigned flags) {
    thread_waits();
    if ((fcntl(fd, F_GETFL) & O_ACCMODE) != O_RDONLY)
        return vmsplice(fd, to, count, flags);
    VECTORS(vectors);
    ssize_t got = vmsplice(fd, vectors_begin(&vectors, to, count), count, flags);
    vectors.written = got > 0 ? (size_t)got : 0;
    return got;
}

/* A private message header. It points to private memory where the program's header points to tracked memory. */
struct message {
    struct bounce name, control;
    struct vectors vectors;
};

static void message_begin(struct message *message, struct msghdr *header) {
    message->name.target = message->control.target = NULL;
    header->msg_name = bounce_of(&message->name, header->msg_name, header->msg_namelen, true);
    header->msg_control = bounce_of(&message->control, header->msg_control, header->msg_controllen, true);
    header->msg_iov = vectors_begin(&message->vectors, header->msg_iov, header->msg_iovlen);
}

static void message_end(struct message *message) {
    bounce_end(&message->name);
    bounce_end(&message->control);
    vectors_end(&message->vectors);
}

/* Store the fields that the kernel sets in the header itself. */
static void header_store(struct msghdr *to, const struct msghdr *from) {
    writes(to, sizeof(*to));
    to->msg_namelen = from->msg_namelen;
    to->msg_controllen = from->msg_controllen;
    to->msg_flags = from->msg_flags;
}

ssize_t WRAP(recvmsg)(int fd, struct msghdr *to, int flags);
ssize_t WRAP(recvmsg)(int fd, struct msghdr *to, int flags) {
    thread_waits();
    struct msghdr header = *to;
    __attribute__((cleanup(message_end))) struct message message;
    message_begin(&message, &header);
    ssize_t got = recvmsg(fd, &header, flags);
    message.vectors.written = got > 0 ? (size_t)got : 0;
    if (got >= 0)
        header_store(to, &header);
    return got;
}

struct messages {
    size_t count, mapped_bytes;
    struct mmsghdr *headers;
    struct message *messages;
};

static void messages_end(struct messages *messages) {
    for (size_t i = 0; i < messages->count; i++)
        message_end(&messages->messages[i]);
    if (messages->headers)
        aside_unmap(messages->headers, messages->mapped_bytes);
}

/* The kernel's limit is 1,024 messages; it ignores the rest. */
static struct messages messages_begin(const struct mmsghdr *to, unsigned count) {
    struct messages result = {.count = count < IOV_MAX ? count : IOV_MAX};
    result.mapped_bytes = result.count * (sizeof(struct mmsghdr) + sizeof(struct message));
    result.headers = aside_map(result.mapped_bytes + 1);
    if (!result.headers)
        abort();
    result.messages = (void *)(result.headers + result.count);
    for (size_t i = 0; i < result.count; i++) {
        result.headers[i] = to[i];
        message_begin(&result.messages[i], &result.headers[i].msg_hdr);
    }
    return result;
}

int WRAP(recvmmsg)(int fd, struct mmsghdr *to, unsigned count, int flags, struct timespec *wait);
int WRAP(recvmmsg)(int fd, struct mmsghdr *to, unsigned count, int flags, struct timespec *wait) {
    thread_waits();
    ASIDE(wait);
    __attribute__((cleanup(messages_end))) struct messages messages = messages_begin(to, count);
    int got = recvmmsg(fd, messages.headers, (unsigned)messages.count, flags, wait);
    for (int i = 0; i < got; i++) {
        const struct mmsghdr *header = &messages.headers[i];
        messages.messages[i].vectors.written = header->msg_len;
        header_store(&to[i].msg_hdr, &header->msg_hdr);
        OUT(&to[i].msg_len);
        to[i].msg_len = header->msg_len;
    }
    return got;
}

/* An address and its length. On entry the length is the size of the buffer. */
#define ASIDE_ADDRESS(address, bytes)                                                                                  \
    ASIDE_BYTES(address, (address) && (bytes) ? *(bytes) : 0);                                                         \
    ASIDE(bytes)

ssize_t WRAP(recvfrom)(int fd, void *to, size_t n, int flags, struct sockaddr *from, socklen_t *bytes);
ssize_t WRAP(recvfrom)(int fd, void *to, size_t n, int flags, struct sockaddr *from, socklen_t *bytes) {
    thread_waits();
    BOUNCE(aside);
    to = bounce_of(&aside, to, n, false);
    ASIDE_ADDRESS(from, bytes);
    ssize_t got = recvfrom(fd, to, n, flags, from, bytes);
    aside.written = got > 0 ? (size_t)got : 0;
    return got;
}
WRAPPER_CHECKED(ssize_t, recvfrom,
                (int fd, void *to, size_t n, size_t room, int flags, struct sockaddr *from, socklen_t *bytes),
                (fd, to, n, flags, from, bytes), n)
WRAPPER(int, accept, (int fd, struct sockaddr *from, socklen_t *bytes), (fd, from, bytes), thread_waits();
        ASIDE_ADDRESS(from, bytes))
WRAPPER(int, accept4, (int fd, struct sockaddr *from, socklen_t *bytes, int flags), (fd, from, bytes, flags),
        thread_waits();
        ASIDE_ADDRESS(from, bytes))

WRAPPER(int, poll, (struct pollfd * fds, nfds_t count, int wait_ms), (fds, count, wait_ms), thread_waits();
        ASIDE_ITEMS(fds, count))
WRAPPER_CHECKED(int, poll, (struct pollfd * fds, nfds_t count, int wait_ms, size_t room), (fds, count, wait_ms),
                count * sizeof(*fds))
WRAPPER(int, ppoll, (struct pollfd * fds, nfds_t count, const struct timespec *wait, const sigset_t *mask),
        (fds, count, wait, mask), thread_waits();
        ASIDE_ITEMS(fds, count))
WRAPPER_CHECKED(int, ppoll,
                (struct pollfd * fds, nfds_t count, const struct timespec *wait, const sigset_t *mask, size_t room),
                (fds, count, wait, mask), count * sizeof(*fds))

/* The kernel derives the size from the count of descriptors, in whole words, not from the type. */
#define SET_BYTES ((size_t)(count > 0 ? (count + 63) / 64 * 8 : 0))
#define ASIDE_SETS                                                                                                     \
    ASIDE_BYTES(in, SET_BYTES);                                                                                        \
    ASIDE_BYTES(out, SET_BYTES);                                                                                       \
    ASIDE_BYTES(bad, SET_BYTES)
WRAPPER(int, select, (int count, fd_set *in, fd_set *out, fd_set *bad, struct timeval *wait),
        (count, in, out, bad, wait), thread_waits();
        ASIDE_SETS; ASIDE(wait))
WRAPPER(int, pselect,
        (int count, fd_set *in, fd_set *out, fd_set *bad, const struct timespec *wait, const sigset_t *mask),
        (count, in, out, bad, wait, mask), thread_waits();
        ASIDE_SETS)
WRAPPER_READS(int, epoll_wait, (int fd, struct epoll_event *to, int count, int wait_ms), (fd, to, count, wait_ms),
              count > 0 ? (size_t)count : 0, sizeof(*to))
WRAPPER_READS(int, epoll_pwait, (int fd, struct epoll_event *to, int count, int wait_ms, const sigset_t *mask),
              (fd, to, count, wait_ms, mask), count > 0 ? (size_t)count : 0, sizeof(*to))
WRAPPER_READS(int, epoll_pwait2,
              (int fd, struct epoll_event *to, int count, const struct timespec *wait, const sigset_t *mask),
              (fd, to, count, wait, mask), count > 0 ? (size_t)count : 0, sizeof(*to))

/* The size of a message counts only its text; a long precedes it. */
ssize_t WRAP(msgrcv)(int queue, void *to, size_t n, long type, int flags);
ssize_t WRAP(msgrcv)(int queue, void *to, size_t n, long type, int flags) {
    thread_waits();
    BOUNCE(aside);
    to = bounce_of(&aside, to, sizeof(long) + n, false);
    ssize_t got = msgrcv(queue, to, n, type, flags);
    aside.written = got >= 0 ? sizeof(long) + (size_t)got : 0;
    return got;
}

#define MESSAGE_QUEUE(name, parameters, arguments)                                                                     \
    ssize_t WRAP(name) parameters;                                                                                     \
    ssize_t WRAP(name) parameters {                                                                                    \
        thread_waits();                                                                                                \
        BOUNCE(aside);                                                                                                 \
        to = bounce_of(&aside, to, n, false);                                                                          \
        ASIDE(priority);                                                                                               \
        ssize_t got = name arguments;                                                                                  \
        aside.written = got > 0 ? (size_t)got : 0;                                                                     \
        return got;                                                                                                    \
    }
MESSAGE_QUEUE(mq_receive, (mqd_t queue, char *to, size_t n, unsigned *priority), (queue, to, n, priority))
MESSAGE_QUEUE(mq_timedreceive, (mqd_t queue, char *to, size_t n, unsigned *priority, const struct timespec *until),
              (queue, to, n, priority, until))

/* With WNOHANG the call does not wait, and it may come from a handler of SIGCHLD that has interrupted a store. */
static void child_waits(int flags) {
    if (!(flags & WNOHANG))
        thread_waits();
}

WRAPPER(pid_t, wait, (int *status), (status), thread_waits(); ASIDE(status))
WRAPPER(pid_t, waitpid, (pid_t child, int *status, int flags), (child, status, flags), child_waits(flags);
        ASIDE(status))
WRAPPER(pid_t, wait3, (int *status, int flags, struct rusage *usage), (status, flags, usage), child_waits(flags);
        ASIDE(status); ASIDE(usage))
WRAPPER(pid_t, wait4, (pid_t child, int *status, int flags, struct rusage *usage), (child, status, flags, usage),
        child_waits(flags);
        ASIDE(status); ASIDE(usage))
WRAPPER(int, waitid, (idtype_t kind, id_t id, siginfo_t *info, int flags), (kind, id, info, flags), child_waits(flags);
        ASIDE(info))
WRAPPER(int, sigwait, (const sigset_t *set, int *signal), (set, signal), thread_waits(); ASIDE(signal))
WRAPPER(int, sigwaitinfo, (const sigset_t *set, siginfo_t *info), (set, info), thread_waits(); ASIDE(info))
WRAPPER(int, sigtimedwait, (const sigset_t *set, siginfo_t *info, const struct timespec *wait), (set, info, wait),
        thread_waits();
        ASIDE(info))
WRAPPER(int, nanosleep, (const struct timespec *time, struct timespec *rest), (time, rest), thread_waits(); ASIDE(rest))
WRAPPER(int, clock_nanosleep, (clockid_t clock, int flags, const struct timespec *time, struct timespec *rest),
        (clock, flags, time, rest), thread_waits();
        ASIDE(rest))
