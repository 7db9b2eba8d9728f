// SPDX-License-Identifier: BSD-3-Clause
//
// Commits in the middle of libc's calls. One thread waits in a call that will write to the tracked file; another stores
// beside it, commits, and then lets the call continue. Or the call runs a function of the program, which commits. The
// interleaving is exact: the kernel says when the thread sleeps. Afterwards one more commit must have the call's write;
// and after any power cut, at every point, recovery must find one of the states committed.
//
//     explore_waits DIRECTORY PROTOCOL [BUG]
//
// With the name of a seeded bug it succeeds if every call that the bug concerns shows it.
#include <arpa/inet.h>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dirent.h>
#include <filesystem>
#include <fstream>
#include <functional>
#include <glob.h>
#include <istream>
#include <netdb.h>
#include <poll.h>
#include <printf.h>
#include <search.h>
#include <streambuf>
#include <string>
#include <sys/epoll.h>
#include <sys/msg.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <thread>
#include <threads.h>
#include <unistd.h>
#include <vector>

#include "runtime_under_test.hpp"

using State = std::vector<uint8_t>;

static constexpr size_t DataBytes = 8192;

const char *seeded_bug = "";

// As the pass names them.
#define WRAPPED(name) extern "C" __typeof__(name) __snapshot_libc_##name
WRAPPED(read);
WRAPPED(readv);
WRAPPED(recv);
WRAPPED(recvfrom);
WRAPPED(recvmsg);
WRAPPED(recvmmsg);
WRAPPED(fread);
WRAPPED(fgets);
WRAPPED(fgetws);
WRAPPED(getline);
WRAPPED(getdelim);
WRAPPED(fscanf);
WRAPPED(poll);
WRAPPED(ppoll);
WRAPPED(select);
WRAPPED(pselect);
WRAPPED(epoll_wait);
WRAPPED(accept);
WRAPPED(waitpid);
WRAPPED(wait4);
WRAPPED(sigwait);
WRAPPED(sigwaitinfo);
WRAPPED(nanosleep);
WRAPPED(msgrcv);
WRAPPED(pthread_join);
WRAPPED(qsort);
WRAPPED(qsort_r);
WRAPPED(lsearch);
WRAPPED(tsearch);
WRAPPED(scandir);
WRAPPED(glob);
WRAPPED(pthread_once);
WRAPPED(call_once);
WRAPPED(snprintf);
extern "C" int __snapshot_libc_waitid(idtype_t kind, id_t id, siginfo_t *info, int flags);
std::istream &extractInt(std::istream &stream, int &to) asm("__snapshot_libc__ZNSirsERi");
std::istream &readText(std::istream &stream, char *to, long n) asm("__snapshot_libc__ZNSi4readEPcl");
std::istream &getLine(std::istream &stream, char *to, long n) asm("__snapshot_libc__ZNSi7getlineEPcl");

static struct {
    uint64_t interleavings, images, violations;
} totals;

struct Bounds {
    size_t position, oldest, youngest;
};

static const std::string &removed(const std::string &path) {
    std::filesystem::remove(path);
    std::filesystem::remove(path + ".snapshot-log");
    return path;
}

// One run of one call, in a file of its own.
struct Run {
    const char *name;
    TrackedFile file;
    Image start;
    Mapping mapping;
    Recorder trace;
    std::vector<State> states;
    std::vector<Bounds> bounds{{0, 0, 0}};
    bool failed = false;

    Run(const char *name, const std::string &path, const Protocol &protocol)
        : name(name), file(removed(path), DataBytes, protocol.flag), start(file.image()), mapping(file.mapping()),
          states{state()} {
        recorder = &trace;
    }

    State state() const { return {file.working(), file.working() + DataBytes}; }
    template <class T = char> T *at(size_t offset) const { return reinterpret_cast<T *>(file.working() + offset); }

    void commit(bool declared = false) {
        size_t next = states.size();
        states.push_back(state());
        bounds.push_back({trace.events.size(), bounds.back().oldest, next});
        if ((declared ? file.declare() : file.commit()) != 0)
            violation("a commit fails");
        if (!declared)
            bounds.push_back({trace.events.size(), next, next});
    }

    void violation(const char *what) {
        if (!failed && !*seeded_bug)
            printf("violation: %s: %s\n", name, what);
        totals.violations += !failed;
        failed = true;
    }

    const Bounds &boundsAt(size_t position) const {
        size_t i = bounds.size();
        while (bounds[--i].position > position)
            ;
        return bounds[i];
    }

    void check(const Crash &crash, Image &image) {
        struct recovery result{};
        struct log_view log = {image.logBytes(), image.logSize()};
        totals.images++;
        if (recover(log, image.dataBytes(), image.dataSize(), protocol_by_name("line"), &result) != 0)
            return violation("recovery refuses the image");
        const Bounds &allowed = boundsAt(crash.position);
        for (size_t i = allowed.oldest; i <= allowed.youngest; i++)
            if (memcmp(image.dataBytes(), states[i].data(), DataBytes) == 0)
                return;
        violation("the file is in none of the states it may be in");
    }

    void explore() {
        recorder = nullptr;
        totals.interleavings++;
        exploreCrashes(start, mapping, trace.events, 6, 16, 1,
                       [this](const Crash &crash, Image &image) { check(crash, image); });
    }
};

// With a bug: until it shows.
static bool goesOn(const Run &run) { return !(*seeded_bug && run.failed); }

// The data that both sides of a waiting call share: pipes, sockets, streams, the waiting thread.
struct Ends {
    int in = -1, out = -1;
    FILE *stream = nullptr;
    pid_t child = 0;
    pthread_t thread{};

    void close() const {
        if (stream)
            fclose(stream);
        else if (in >= 0)
            ::close(in);
        if (out >= 0)
            ::close(out);
    }
    void send(const std::string &text) const {
        if (write(out, text.data(), text.size()) != static_cast<ssize_t>(text.size()))
            abort();
    }
};

static Ends makePipe() {
    int fds[2];
    return pipe(fds) ? abort(), Ends{} : Ends{fds[0], fds[1]};
}

static Ends makeSocket() {
    int fds[2];
    return socketpair(AF_UNIX, SOCK_STREAM, 0, fds) ? abort(), Ends{} : Ends{fds[0], fds[1]};
}

static Ends makeStream() {
    Ends ends = makePipe();
    ends.stream = fdopen(ends.in, "r");
    return ends;
}

static Ends makeChild() {
    Ends ends = makePipe();
    ends.child = fork();
    if (ends.child == 0) {
        char byte;
        _exit(read(ends.in, &byte, 1) == 1 ? 7 : 1);
    }
    return ends;
}

static Ends makeListener() {
    Ends ends;
    struct sockaddr_in address{};
    socklen_t bytes = sizeof(address);
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ends.in = socket(AF_INET, SOCK_STREAM, 0);
    ends.out = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(ends.in, reinterpret_cast<sockaddr *>(&address), bytes) || listen(ends.in, 1))
        abort();
    return ends;
}

static void connectTo(const Ends &ends) {
    struct sockaddr_in address{};
    socklen_t bytes = sizeof(address);
    getsockname(ends.in, reinterpret_cast<sockaddr *>(&address), &bytes);
    if (connect(ends.out, reinterpret_cast<sockaddr *>(&address), bytes))
        abort();
}

// A stream that gets its characters from a pipe, one by one.
class PipeBuffer : public std::streambuf {
  public:
    explicit PipeBuffer(int fd) : fd(fd) {}

  protected:
    int underflow() override {
        if (read(fd, &next, 1) != 1)
            return traits_type::eof();
        setg(&next, &next, &next + 1);
        return traits_type::to_int_type(next);
    }

  private:
    int fd;
    char next = 0;
};

struct Wait {
    const char *name;
    Ends (*make)();
    std::function<void(Run &, const Ends &)> call;
    std::function<void(const Ends &)> release;
};

static void sendText(const Ends &ends) { ends.send("some 77 words\n"); }
static void endChild(const Ends &ends) { ends.send("x"); }
static void signalThread(const Ends &ends) { pthread_kill(ends.thread, SIGUSR1); }

static struct iovec part(char *at, size_t bytes) { return {at, bytes}; }

static void waitReadv(Run &run, const Ends &ends) {
    char private_part[3];
    struct iovec parts[] = {part(run.at(100), 5), part(private_part, 3), part(run.at(700), 50)};
    __snapshot_libc_readv(ends.in, parts, 3);
}

static void waitRecvmsg(Run &run, const Ends &ends) {
    auto *parts = run.at<struct iovec>(1024);
    auto *header = run.at<struct msghdr>(2048);
    snapshot_log_range(parts, sizeof(*parts));
    snapshot_log_range(header, sizeof(*header));
    *parts = part(run.at(100), 50);
    *header = {};
    header->msg_iov = parts;
    header->msg_iovlen = 1;
    header->msg_flags = 99;
    __snapshot_libc_recvmsg(ends.in, header, 0);
}

static void waitRecvmmsg(Run &run, const Ends &ends) {
    struct iovec parts = part(run.at(100), 50);
    auto *header = run.at<struct mmsghdr>(2048);
    snapshot_log_range(header, sizeof(*header));
    *header = {};
    header->msg_hdr.msg_iov = &parts;
    header->msg_hdr.msg_iovlen = 1;
    __snapshot_libc_recvmmsg(ends.in, header, 1, 0, nullptr);
}

static void waitLine(Run &run, const Ends &ends, bool with_buffer) {
    auto *line = run.at<char *>(64);
    auto *room = run.at<size_t>(128);
    snapshot_log_range(line, sizeof(*line));
    snapshot_log_range(room, sizeof(*room));
    *line = with_buffer ? run.at(1000) : nullptr;
    *room = with_buffer ? 100 : 0;
    if (with_buffer)
        __snapshot_libc_getline(line, room, ends.stream);
    else
        __snapshot_libc_getdelim(line, room, 'w', ends.stream);
    if (!with_buffer)
        free(*line);
}

static void waitPoll(Run &run, const Ends &ends, bool is_ppoll) {
    auto *fds = run.at<struct pollfd>(320);
    snapshot_log_range(fds, sizeof(*fds));
    *fds = {ends.in, POLLIN, 0};
    is_ppoll ? __snapshot_libc_ppoll(fds, 1, nullptr, nullptr) : __snapshot_libc_poll(fds, 1, -1);
}

// Two descriptors, of which one stays silent: select() takes its bit away.
static void waitSelect(Run &run, const Ends &ends, bool is_pselect) {
    auto *set = run.at<fd_set>(512);
    snapshot_log_range(set, sizeof(*set));
    FD_ZERO(set);
    FD_SET(ends.in, set);
    FD_SET(ends.in + 100, set);
    dup2(0, ends.in + 100);
    Ends silent = makePipe();
    dup2(silent.in, ends.in + 100);
    is_pselect ? __snapshot_libc_pselect(ends.in + 101, set, nullptr, nullptr, nullptr, nullptr)
               : __snapshot_libc_select(ends.in + 101, set, nullptr, nullptr, nullptr);
    ::close(ends.in + 100);
    silent.close();
}

static void waitEpoll(Run &run, const Ends &ends) {
    int fd = epoll_create1(0);
    struct epoll_event event = {.events = EPOLLIN, .data = {.u64 = 77}};
    epoll_ctl(fd, EPOLL_CTL_ADD, ends.in, &event);
    __snapshot_libc_epoll_wait(fd, run.at<struct epoll_event>(640), 1, -1);
    ::close(fd);
}

static void waitAccept(Run &run, const Ends &ends) {
    auto *bytes = run.at<socklen_t>(900);
    snapshot_log_range(bytes, sizeof(*bytes));
    *bytes = 100;
    ::close(__snapshot_libc_accept(ends.in, run.at<struct sockaddr>(960), bytes));
}

static void waitSignal(Run &run, bool with_info) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &set, nullptr);
    with_info ? __snapshot_libc_sigwaitinfo(&set, run.at<siginfo_t>(256))
              : __snapshot_libc_sigwait(&set, run.at<int>(256));
}

static void waitSleep(Run &run) {
    struct sigaction action{};
    action.sa_handler = [](int) {};
    sigaction(SIGUSR1, &action, nullptr);
    struct timespec time = {1000, 0};
    __snapshot_libc_nanosleep(&time, run.at<struct timespec>(256));
}

static Ends makeQueue() {
    Ends ends;
    ends.child = msgget(IPC_PRIVATE, 0600);
    return ends;
}

static void sendMessage(const Ends &ends) {
    struct {
        long type = 5;
        char text[8] = "message";
    } message;
    if (msgsnd(ends.child, &message, sizeof(message.text), 0))
        abort();
}

static void waitMessage(Run &run, const Ends &ends) {
    __snapshot_libc_msgrcv(ends.child, run.at(200), 100, 0, 0);
    msgctl(ends.child, IPC_RMID, nullptr);
}

static void waitJoin(Run &run, const Ends &ends) {
    pthread_t other;
    pthread_create(
        &other, nullptr,
        [](void *fd) -> void * {
            char byte;
            return reinterpret_cast<void *>(read(static_cast<int>(reinterpret_cast<intptr_t>(fd)), &byte, 1) + 40);
        },
        reinterpret_cast<void *>(static_cast<intptr_t>(ends.in)));
    __snapshot_libc_pthread_join(other, run.at<void *>(72));
}

template <class Extract> static void waitStream(const Ends &ends, Extract extract) {
    PipeBuffer buffer(ends.in);
    std::istream stream(&buffer);
    extract(stream);
}

#define CALL(...) [](Run &run, const Ends &ends) { (void)ends, __VA_ARGS__; }

static const Wait Waits[] = {
    {"read", makePipe, CALL(__snapshot_libc_read(ends.in, run.at(50), 4000)), sendText},
    {"readv", makePipe, waitReadv, sendText},
    {"recv", makeSocket, CALL(__snapshot_libc_recv(ends.in, run.at(50), 100, 0)), sendText},
    {"recvfrom", makeSocket, CALL(__snapshot_libc_recvfrom(ends.in, run.at(50), 100, 0, nullptr, nullptr)), sendText},
    {"recvmsg", makeSocket, waitRecvmsg, sendText},
    {"recvmmsg", makeSocket, waitRecvmmsg, sendText},
    {"fread", makeStream, CALL(__snapshot_libc_fread(run.at(50), 7, 2, ends.stream)), sendText},
    {"fgets", makeStream, CALL(__snapshot_libc_fgets(run.at(50), 4000, ends.stream)), sendText},
    {"fgetws", makeStream, CALL(__snapshot_libc_fgetws(run.at<wchar_t>(60), 90, ends.stream)), sendText},
    {"getline", makeStream, CALL(waitLine(run, ends, true)), sendText},
    {"getdelim", makeStream, CALL(waitLine(run, ends, false)), sendText},
    {"fscanf", makeStream,
     CALL(__snapshot_libc_fscanf(ends.stream, "%s %d %3[a-z]%n", run.at(50), run.at<int>(100), run.at(500),
                                 run.at<int>(600))),
     sendText},
    {"poll", makePipe, CALL(waitPoll(run, ends, false)), sendText},
    {"ppoll", makePipe, CALL(waitPoll(run, ends, true)), sendText},
    {"select", makePipe, CALL(waitSelect(run, ends, false)), sendText},
    {"pselect", makePipe, CALL(waitSelect(run, ends, true)), sendText},
    {"epoll_wait", makePipe, waitEpoll, sendText},
    {"accept", makeListener, waitAccept, connectTo},
    {"waitpid", makeChild, CALL(__snapshot_libc_waitpid(ends.child, run.at<int>(80), 0)), endChild},
    {"wait4", makeChild, CALL(__snapshot_libc_wait4(ends.child, run.at<int>(80), 0, run.at<struct rusage>(128))),
     endChild},
    {"waitid", makeChild,
     CALL(__snapshot_libc_waitid(P_PID, static_cast<id_t>(ends.child), run.at<siginfo_t>(128), WEXITED)), endChild},
    {"sigwait", [] { return Ends{}; }, CALL(waitSignal(run, false)), signalThread},
    {"sigwaitinfo", [] { return Ends{}; }, CALL(waitSignal(run, true)), signalThread},
    {"nanosleep", [] { return Ends{}; }, CALL(waitSleep(run)), signalThread},
    {"msgrcv", makeQueue, waitMessage, sendMessage},
    {"pthread_join", makePipe, waitJoin, endChild},
    {"istream >> int", makePipe, CALL(waitStream(ends, [&](auto &in) { extractInt(in, *run.at<int>(88)); })),
     [](const Ends &ends) { ends.send("1234 "); }},
    {"istream::read", makePipe, CALL(waitStream(ends, [&](auto &in) { readText(in, run.at(88), 9); })), sendText},
    {"istream::getline", makePipe, CALL(waitStream(ends, [&](auto &in) { getLine(in, run.at(88), 900); })), sendText},
};

static bool sleeps(pid_t thread) {
    std::ifstream stat("/proc/self/task/" + std::to_string(thread) + "/stat");
    std::string text;
    std::getline(stat, text);
    size_t end = text.rfind(')');
    return end != std::string::npos && text[end + 2] == 'S';
}

// The work of the other thread meanwhile: stores and commits, in this order.
static constexpr const char *Meanwhile[] = {"", "c", "sc", "csc", "cs", "d", "scd", "dsd"};

static void meanwhile(Run &run, const char *steps) {
    uint64_t word = 3;
    for (const char *step = steps; *step; step++)
        if (*step == 's')
            trackedStore(run.file.working() + 8 * word, word * 0x0101010101010101), word++;
        else
            run.commit(*step == 'd');
}

// Returns whether there is a next run to be made.
static bool runWait(const Wait &wait, const char *steps, const std::string &path, const Protocol &protocol) {
    Run run(wait.name, path, protocol);
    Ends ends = wait.make();
    std::atomic<pid_t> tid{0};
    std::thread waiting([&] {
        trackedStore(run.file.working() + 4096, 5);
        tid = gettid();
        wait.call(run, ends);
    });
    ends.thread = waiting.native_handle();
    while (!tid || !sleeps(tid))
        usleep(20);
    meanwhile(run, steps);
    wait.release(ends);
    waiting.join();
    run.commit();
    run.explore();
    ends.close();
    return goesOn(run);
}

// Calls of the program's functions: the k-th of them commits.
static Run *running;
static unsigned callbacks_left;

static void callback() {
    if (running && callbacks_left > 0 && --callbacks_left == 0) {
        trackedStore(running->file.working() + 7000, 7);
        running->commit();
    }
}

static int compareInts(const void *a, const void *b) {
    callback();
    int one = *static_cast<const int *>(a), other = *static_cast<const int *>(b);
    return (one > other) - (one < other);
}

static int compareWith(const void *a, const void *b, void *) { return compareInts(a, b); }

static int *fillInts(Run &run, size_t count) {
    auto *ints = run.at<int>(200);
    snapshot_log_range(ints, count * sizeof(int));
    for (size_t i = 0; i < count; i++)
        ints[i] = static_cast<int>(count - i) * 1000003;
    run.commit();
    return ints;
}

static void callLsearch(Run &run) {
    int *ints = fillInts(run, 6), key = 5;
    auto *count = run.at<size_t>(2000);
    snapshot_log_range(count, sizeof(*count));
    *count = 6;
    __snapshot_libc_lsearch(&key, ints, count, sizeof(int), compareInts);
}

static void callTsearch(Run &run) {
    static int keys[] = {3, 1, 2};
    for (int &key : keys)
        __snapshot_libc_tsearch(&key, run.at<void *>(64), compareInts);
}

static void callScandir(Run &run) {
    auto *list = run.at<struct dirent **>(64);
    auto filter = [](const struct dirent *) {
        callback();
        return 1;
    };
    for (int count = __snapshot_libc_scandir("/proc/self/task", list, filter, alphasort); count-- > 0;)
        free((*list)[count]);
    free(*list);
}

static void callGlob(Run &run) {
    auto *found = run.at<glob_t>(256);
    snapshot_log_range(found, sizeof(*found));
    found->gl_opendir = [](const char *path) -> void * {
        callback();
        return opendir(path);
    };
    found->gl_readdir = [](void *folder) { return readdir(static_cast<DIR *>(folder)); };
    found->gl_closedir = [](void *folder) { closedir(static_cast<DIR *>(folder)); };
    found->gl_stat = stat;
    found->gl_lstat = lstat;
    __snapshot_libc_glob("/proc/self/task/*", GLOB_ALTDIRFUNC, nullptr, found);
    globfree(found);
}

static int printHandler(FILE *stream, const struct printf_info *, const void *const *) {
    callback();
    return fprintf(stream, "handled");
}

static int noArguments(const struct printf_info *, size_t, int *, int *) { return 0; }

static void callPrintf(Run &run) {
    register_printf_specifier('Q', printHandler, noArguments);
    __snapshot_libc_snprintf(run.at(100), 900, "before %Q after %d", 12);
}

static ssize_t cookieRead(void *, char *to, size_t) {
    callback();
    *to = 'k';
    return 1;
}

static void callCookie(Run &run) {
    FILE *stream = fopencookie(nullptr, "r", {.read = cookieRead, .write = nullptr, .seek = nullptr, .close = nullptr});
    setvbuf(stream, nullptr, _IONBF, 0);
    __snapshot_libc_fread(run.at(100), 1, 5, stream);
    fclose(stream);
}

struct Callback {
    const char *name;
    void (*call)(Run &);
};

static const Callback Callbacks[] = {
    {"qsort", [](Run &run) { __snapshot_libc_qsort(fillInts(run, 40), 40, sizeof(int), compareInts); }},
    {"qsort_r", [](Run &run) { __snapshot_libc_qsort_r(fillInts(run, 9), 9, sizeof(int), compareWith, nullptr); }},
    {"lsearch", callLsearch},
    {"tsearch", callTsearch},
    {"scandir", callScandir},
    {"glob", callGlob},
    {"pthread_once", [](Run &run) { __snapshot_libc_pthread_once(run.at<pthread_once_t>(64), callback); }},
    {"call_once", [](Run &run) { __snapshot_libc_call_once(run.at<once_flag>(64), callback); }},
    {"printf handler", callPrintf},
    {"cookie stream", callCookie},
};

// Returns whether there was a k-th callback.
static bool runCallback(const Callback &called, unsigned commit_in, const std::string &path, const Protocol &protocol) {
    Run run(called.name, path, protocol);
    running = &run;
    callbacks_left = commit_in;
    called.call(run);
    running = nullptr;
    run.commit();
    run.explore();
    return callbacks_left == 0 && goesOn(run);
}

// How many of the calls show it.
static const struct {
    const char *name;
    unsigned calls;
} Bugs[] = {{"ANNOUNCE_AFTER_WAIT", 27}, {"ANNOUNCE_BEFORE_CALLBACKS", 6}};

static bool waitFails(const Wait &wait, const std::string &path, const Protocol &protocol) {
    uint64_t before = totals.violations;
    for (const char *steps : Meanwhile)
        if (!runWait(wait, steps, path, protocol))
            break;
    return totals.violations > before;
}

static bool callbackFails(const Callback &called, const std::string &path, const Protocol &protocol) {
    uint64_t before = totals.violations;
    for (unsigned k = 1; runCallback(called, k, path, protocol); k++)
        ;
    return totals.violations > before;
}

static unsigned exploreAll(const std::string &directory, const Protocol &protocol) {
    unsigned failed = 0;
    std::filesystem::remove_all(directory);
    std::filesystem::create_directories(directory);
    for (const Wait &wait : Waits)
        failed += waitFails(wait, directory + "/data", protocol);
    for (const Callback &called : Callbacks)
        failed += callbackFails(called, directory + "/data", protocol);
    std::filesystem::remove_all(directory);
    return failed;
}

int main(int argc, char **argv) {
    if (argc < 3)
        return 2;
    unsigned failed = 0, expected = 0;
    if (argc > 3)
        seeded_bug = argv[3];
    for (const auto &bug : Bugs)
        if (strcmp(bug.name, seeded_bug) == 0)
            expected = bug.calls;
    for (const Protocol &protocol : Protocols)
        if (strcmp(protocol.name, argv[2]) == 0)
            failed = exploreAll(argv[1], protocol);
    printf("%lu interleavings, %lu images, %lu violations in %u calls\n", totals.interleavings, totals.images,
           totals.violations, failed);
    return totals.interleavings == 0 || (*seeded_bug && expected == 0) || failed != expected;
}
