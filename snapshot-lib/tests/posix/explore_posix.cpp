// SPDX-License-Identifier: BSD-3-Clause
//
// The view of a program that opens, maps, unmaps, writes, resizes, renames and closes files in any order. Each sequence
// of calls is made twice: on tracked files, and on ordinary files by the kernel, which gives the expected return of
// every call and the expected view of the program. A model of a few lines gives the state after a crash: the content of
// the last commit, in the present size, of a file that is mapped or has uncommitted changes, and the present content of
// any other file. A crash is tried before every write, fence and resize within the calls, and after each call. A
// sequence has several lives; each ends in the middle, by a kill or by exit(), and the next continues on the files.
//
//     explore_posix DIRECTORY PROTOCOL [BUG [SEQUENCES]]
//
// With the name of a seeded bug it succeeds if the bug is caught; "-" is none. It makes 150 sequences or so many.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "posix_calls.hpp"
#include "runtime_under_test.hpp"

extern "C" {
#include "log/persist.h"
}
const char *seeded_bug = "";

static constexpr size_t Page = 4096, SizeMax = 40 * Page;
static constexpr int Shared = MAP_SHARED_VALIDATE | MAP_SYNC;
static uint8_t *const FixedPlaces = reinterpret_cast<uint8_t *>(0x200000000000); // free, and beyond the arena
static constexpr size_t FixedStride = 64 << 20;

// Shared with the processes of the lives.
struct Totals {
    uint64_t calls, images, kept, losses, violations;
};
static Totals *totals;

// The persistence layer: before each step the files are as a crash would leave them.
static std::function<void()> before_step;

void persist_copy(void *target, const void *source, size_t bytes) {
    if (before_step)
        before_step();
    memcpy(target, source, bytes);
}
void persist_fence() {
    if (before_step)
        before_step();
}
void persist_fence_all() { persist_fence(); }
int persist_resize(int fd, uint64_t bytes) {
    if (before_step)
        before_step();
    return ftruncate(fd, static_cast<off_t>(bytes)) < 0 ? -errno : 0;
}
extern "C" int __wrap_fsync(int) { return 0; } // a crash of the process leaves the kernel's state

static std::string contentOf(const std::string &path) {
    std::string bytes;
    int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    struct stat status{};
    if (fd < 0 || fstat(fd, &status) < 0)
        return bytes;
    bytes.resize(static_cast<size_t>(status.st_size));
    if (pread(fd, bytes.data(), bytes.size(), 0) != status.st_size)
        abort();
    close(fd);
    return bytes;
}

static void writeContent(const std::string &path, const std::string &bytes) {
    int fd = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (pwrite(fd, bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()) ||
        ftruncate(fd, static_cast<off_t>(bytes.size())) < 0)
        abort();
    close(fd);
}

static std::string resized(std::string bytes, size_t size) {
    bytes.resize(size, '\0');
    return bytes;
}

struct File {
    std::string name;      // empty: none any more
    std::string committed; // the state after a crash, in the present size
    bool tracked = false;  // mapped, or not mapped any more with something to lose
    bool changed = false;  // since the last commit
    bool opened = false;   // in this life
    size_t mappings = 0, descriptors = 0;
};
using FilePtr = std::shared_ptr<File>;

struct Descriptor {
    int fd, twin; // the twin is of the ordinary file
    FilePtr file;
    int flags;
};

struct Mapped {
    uint8_t *at, *twin;
    size_t offset, bytes;
    FilePtr file;
};

struct Pair {
    std::string data, log;
};

class Life {
  public:
    Life(const std::string &directory, uint64_t seed, unsigned number)
        : directory(directory), seed(seed), number(number), random(seed * 1000 + number) {
        for (const char *name : Names)
            if (std::filesystem::exists(real(name))) {
                files.push_back(std::make_shared<File>());
                files.back()->name = name;
                files.back()->committed = contentOf(left(name));
                writeContent(twin(name), files.back()->committed);
            }
    }

    void run(unsigned calls) {
        for (unsigned i = 0; i < calls; i++) {
            step = i;
            one();
            totals->calls++;
        }
        before_step = nullptr;
        for (const char *name : Names)
            std::filesystem::remove(left(name));
        for (const FilePtr &file : files)
            if (!file->name.empty())
                writeContent(left(file->name), file->committed);
    }

  private:
    static constexpr const char *Names[] = {"a", "b", "c"};

    std::string real(const std::string &name) const { return directory + "/real/" + name; }
    std::string twin(const std::string &name) const { return directory + "/twin/" + name; }
    std::string left(const std::string &name) const { return directory + "/left/" + name; }

    void violation(const std::string &what) {
        if (totals->violations++ < 3)
            printf("violation: %s: %s, seed %lu, life %u, call %u\n", call.c_str(), what.c_str(), seed, number, step);
        fflush(stdout);
        if (*seeded_bug)
            _exit(0);
    }

    // --- the permitted states after a crash

    void capture() {
        if (!subject || subject->name.empty())
            return;
        Pair image{contentOf(real(subject->name)), contentOf(real(subject->name) + ".snapshot-log")};
        if (images.empty() || image.data != images.back().data || image.log != images.back().log)
            images.push_back(std::move(image));
    }

    void checkImage(const Pair &image, const std::vector<std::string> &allowed, size_t low, size_t high) {
        totals->images++;
        std::string found = image.data, crashed = directory + "/crashed";
        if (!image.log.empty() && !image.data.empty()) {
            writeContent(crashed, image.data);
            writeContent(crashed + ".snapshot-log", image.log);
            TrackedFile file(crashed, 0, SNAPSHOT_ADOPT);
            if (file.error())
                return violation("a crash leaves what is refused: " + std::to_string(file.error()));
            found.assign(reinterpret_cast<char *>(file.working()), image.data.size());
        }
        bool is_size = found.size() >= low && found.size() <= high;
        if (!is_size || std::none_of(allowed.begin(), allowed.end(),
                                     [&](auto &state) { return resized(state, found.size()) == found; }))
            violation("a crash leaves another state, of " + std::to_string(found.size()) + " bytes");
    }

    // --- the view of the program

    std::string seenOf(const FilePtr &file) const {
        for (const Descriptor &one : descriptors)
            if (one.file == file) {
                struct stat status{};
                fstat(one.twin, &status);
                std::string bytes(static_cast<size_t>(status.st_size), '\0');
                if (pread(one.twin, bytes.data(), bytes.size(), 0) != status.st_size)
                    abort();
                return bytes;
            }
        return file->name.empty() ? "" : contentOf(twin(file->name));
    }

    void takeBack(const FilePtr &file) {
        for (const Descriptor &one : descriptors)
            if (one.file == file) {
                std::string path = "/proc/self/fd/" + std::to_string(one.twin);
                return writeContent(path, file->committed);
            }
        if (!file->name.empty())
            writeContent(twin(file->name), file->committed);
    }

    void compareSeen() {
        for (const Descriptor &one : descriptors) {
            std::string wanted = seenOf(one.file), found(wanted.size() + 1, '\0');
            ssize_t got = p_pread(one.fd, found.data(), found.size(), 0);
            if (got != static_cast<ssize_t>(wanted.size()) || found.compare(0, wanted.size(), wanted) != 0)
                violation("a descriptor sees another content");
            if (lseek(one.fd, 0, SEEK_CUR) != lseek(one.twin, 0, SEEK_CUR))
                violation("a descriptor has another position");
        }
        for (const Mapped &one : mapped) {
            size_t size = seenOf(one.file).size(), end = std::min(one.offset + one.bytes, size);
            if (end > one.offset && memcmp(one.at, one.twin, end - one.offset) != 0)
                violation("a mapping sees another content");
        }
    }

    // --- the calls

    // One call on a file, and its expected effect.
    void on(FilePtr file, const std::string &name, const std::function<void()> &body) {
        subject = file;
        call = name + " of " + file->name;
        images.clear();
        std::string committed_before = file->committed, seen_before = seenOf(file);
        before_step = [this] { capture(); };
        body();
        before_step = nullptr;
        capture();
        compareSeen();
        std::vector<std::string> allowed = {committed_before, file->committed};
        size_t low = name == "fopen w" ? 0 : std::min(seen_before.size(), file->committed.size());
        size_t high = std::max(seen_before.size(), file->committed.size());
        if (file->committed.size() < seen_before.size())
            allowed.push_back(seen_before); // a cut commits first
        for (size_t i = 0; i < images.size(); i++)
            i + 1 < images.size() ? checkImage(images[i], allowed, low, high)
                                  : checkImage(images[i], {file->committed}, high == low ? low : file->committed.size(),
                                               file->committed.size());
    }

    // The file has changed in content or size as the twin has.
    void wrote(const FilePtr &file, bool commits) {
        std::string seen = seenOf(file);
        bool cut = seen.size() < file->committed.size();
        if (!file->tracked || commits || cut) {
            file->committed = seen;
            file->changed = false;
        } else {
            file->committed = resized(file->committed, seen.size());
        }
    }

    void committed(const FilePtr &file) {
        if (file->tracked)
            wrote(file, true);
    }

    // Nothing can reach it any more, or it has nothing to lose.
    void released(const FilePtr &file) {
        if (!file->tracked || file->mappings > 0)
            return;
        if (file->changed && file->descriptors > 0) {
            totals->kept++;
            return;
        }
        if (file->changed) {
            totals->losses++;
            takeBack(file);
        }
        file->tracked = file->changed = false;
    }

    void lastClosed(const FilePtr &file) {
        if (file->descriptors > 0 || file->mappings > 0 || !file->tracked)
            return;
        if (file->changed) {
            totals->losses++;
            lost = file->name; // to be looked at next
        }
        takeBack(file);
        file->tracked = file->changed = false;
    }

    FilePtr fileOf(const std::string &name) {
        for (const FilePtr &file : files)
            if (file->name == name)
                return file;
        files.push_back(std::make_shared<File>());
        files.back()->name = name;
        return files.back();
    }

    size_t below(size_t limit) { return random() % limit; }
    bool chance(unsigned of) { return random() % of == 0; }
    Descriptor *anyDescriptor() { return descriptors.empty() ? nullptr : &descriptors[below(descriptors.size())]; }
    Mapped *anyMapping() { return mapped.empty() ? nullptr : &mapped[below(mapped.size())]; }

    std::string someBytes() {
        std::string bytes(1 + below(chance(3) ? 9000 : 200), '\0');
        for (char &byte : bytes)
            byte = static_cast<char>(1 + random() % 255);
        return bytes;
    }

    void sameResult(ssize_t found, ssize_t wanted) {
        if (found != wanted)
            violation("returns " + std::to_string(found) + " instead of " + std::to_string(wanted));
    }

    void openCall() {
        if (descriptors.size() > 4)
            return;
        std::string name = lost.empty() ? Names[below(std::size(Names))] : lost;
        lost.clear();
        if (!std::filesystem::exists(twin(name)) && files.size() >= 3)
            return;
        FilePtr file = fileOf(name);
        int flags = O_RDWR | O_CREAT | O_CLOEXEC | (chance(8) ? O_TRUNC : 0) | (chance(4) ? O_APPEND : 0) |
                    (chance(10) ? O_DSYNC : 0);
        on(file, "open", [&] {
            int fd = p_open(real(name).c_str(), flags, 0644);
            Descriptor one{fd, open(twin(name).c_str(), flags, 0644), file, flags};
            if (one.fd < 0)
                return violation("fails");
            file->opened = true;
            file->descriptors++;
            descriptors.push_back(one);
            wrote(file, false);
        });
    }

    void forget(Descriptor *one) {
        FilePtr file = one->file;
        descriptors.erase(descriptors.begin() + (one - descriptors.data()));
        file->descriptors--;
        lastClosed(file);
    }

    void closeCall() {
        if (Descriptor *one = anyDescriptor())
            on(one->file, "close", [&] {
                int result = chance(4)
                                 ? p_close_range(static_cast<unsigned>(one->fd), static_cast<unsigned>(one->fd), 0)
                                 : p_close(one->fd);
                sameResult(result, close(one->twin));
                forget(one);
            });
    }

    void dupCall() {
        Descriptor *from = anyDescriptor(), *to = anyDescriptor();
        if (!from || from == to)
            return;
        on(to->file, "dup2", [&] {
            FilePtr lost = to->file;
            if (p_dup2(from->fd, to->fd) != to->fd || dup2(from->twin, to->twin) != to->twin)
                violation("fails");
            to->file = from->file;
            to->flags = from->flags;
            to->file->descriptors++;
            lost->descriptors--;
            lastClosed(lost);
        });
    }

    // A file may be there already, or still.
    bool wasTaken(const uint8_t *place) const {
        return std::any_of(places.begin(), places.end(), [&](const uint8_t *one) {
            return std::abs(place - one) < static_cast<ptrdiff_t>(FixedStride);
        });
    }

    void mapCall() {
        Descriptor *one = anyDescriptor();
        if (!one || mapped.size() > 3 || (one->file->name.empty() && !one->file->tracked))
            return;
        size_t size = seenOf(one->file).size(), offset = below(size / Page + 1) * Page * below(2);
        size_t bytes = 1 + below(chance(2) ? size + 1 : SizeMax);
        on(one->file, "mmap", [&] {
            bool fixed = one->file->mappings == 0 && chance(4);
            uint8_t *place = fixed ? FixedPlaces + below(64) * FixedStride : nullptr;
            void *at = p_mmap(place, bytes, PROT_READ | PROT_WRITE, Shared | (fixed ? MAP_FIXED_NOREPLACE : 0), one->fd,
                              static_cast<off_t>(offset));
            if (fixed && at == MAP_FAILED && errno == EEXIST && wasTaken(place))
                return;
            if (fixed && at != place)
                return violation("is not where it was to be");
            if (at == MAP_FAILED && errno == ENOMEM && one->file->mappings > 0)
                return; // over the room beside other mappings
            if (at == MAP_FAILED)
                return violation(std::string("fails: ") + strerror(errno));
            void *twin =
                mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, one->twin, static_cast<off_t>(offset));
            bytes = (bytes + Page - 1) / Page * Page;
            mapped.push_back({static_cast<uint8_t *>(at), static_cast<uint8_t *>(twin), offset, bytes, one->file});
            one->file->tracked = true;
            one->file->mappings++;
            places.push_back(mapped.back().at);
        });
    }

    void unmapCall() {
        Mapped *one = anyMapping();
        if (!one)
            return;
        on(one->file, "munmap", [&] {
            size_t kept = one->bytes > Page && chance(4) ? Page : 0;
            sameResult(p_munmap(one->at + kept, one->bytes - kept), munmap(one->twin + kept, one->bytes - kept));
            one->bytes = kept;
            if (kept)
                return;
            FilePtr file = one->file;
            mapped.erase(mapped.begin() + (one - mapped.data()));
            file->mappings--;
            released(file);
        });
    }

    void storeCall() {
        Mapped *one = anyMapping();
        size_t end = one ? std::min(one->offset + one->bytes, seenOf(one->file).size()) : 0;
        if (!one || end < one->offset + 8)
            return;
        on(one->file, "store", [&] {
            for (size_t i = below(20); i-- > 0;) {
                size_t at = below(end - one->offset - 7);
                uint64_t value = random();
                trackedStore(one->at + at, value);
                memcpy(one->twin + at, &value, sizeof(value));
                one->file->changed = true;
            }
        });
    }

    void msyncCall() {
        if (Mapped *one = anyMapping())
            on(one->file, "msync", [&] {
                int flags = chance(4) ? MS_INVALIDATE : chance(2) ? MS_ASYNC : MS_SYNC;
                sameResult(p_msync(one->at, one->bytes, flags), 0);
                if (flags != MS_INVALIDATE)
                    return committed(one->file);
                takeBack(one->file);
            });
    }

    void fsyncCall() {
        if (Descriptor *one = anyDescriptor())
            on(one->file, "fsync", [&] {
                sameResult(chance(2) ? p_fsync(one->fd) : p_fdatasync(one->fd), 0);
                committed(one->file);
            });
    }

    // Over the room that its mappings leave it. The kernel's file must then not be written either.
    static bool outgrown(const FilePtr &file, ssize_t result) {
        return result < 0 && errno == EFBIG && file->mappings > 0;
    }

    void wroteBy(const Descriptor &one, ssize_t result, int flags) {
        one.file->changed |= one.file->tracked && result > 0;
        wrote(one.file, result > 0 && (one.flags & O_DSYNC || flags & RWF_DSYNC));
    }

    void writeCall() {
        Descriptor *one = anyDescriptor();
        if (!one)
            return;
        std::string bytes = someBytes();
        size_t size = seenOf(one->file).size();
        off_t at = static_cast<off_t>(std::min(below(size + 2 * Page), SizeMax));
        if (size > SizeMax)
            return;
        struct iovec parts[2] = {{bytes.data(), bytes.size() / 2}, {bytes.data() + bytes.size() / 2, 0}};
        parts[1].iov_len = bytes.size() - parts[0].iov_len;
        static constexpr int flags_of[] = {0, RWF_APPEND, RWF_DSYNC};
        int flags = flags_of[below(3)];
        std::function<ssize_t(bool)> ways[] = {
            [&](bool t) { return (t ? p_write : write)(t ? one->fd : one->twin, bytes.data(), bytes.size()); },
            [&](bool t) { return (t ? p_pwrite : pwrite)(t ? one->fd : one->twin, bytes.data(), bytes.size(), at); },
            [&](bool t) { return (t ? p_writev : writev)(t ? one->fd : one->twin, parts, 2); },
            [&](bool t) { return (t ? p_pwritev : pwritev)(t ? one->fd : one->twin, parts, 2, at); },
            [&](bool t) { return (t ? p_pwritev2 : pwritev2)(t ? one->fd : one->twin, parts, 2, at, flags); },
            [&](bool t) { return (t ? p_pwritev2 : pwritev2)(t ? one->fd : one->twin, parts, 2, -1, flags); },
            [&](bool t) { return (t ? p_dprintf : dprintf)(t ? one->fd : one->twin, "%0*d", 1 + int(at % 3000), 7); },
        };
        static constexpr const char *names[] = {
            "write", "pwrite", "writev", "pwritev", "pwritev2", "pwritev2 in place", "dprintf"};
        size_t way = below(std::size(ways));
        on(one->file, names[way], [&] {
            ssize_t result = ways[way](true);
            if (outgrown(one->file, result))
                return;
            sameResult(result, ways[way](false));
            wroteBy(*one, result, way == 4 || way == 5 ? flags : 0);
        });
    }

    void resizeCall() {
        Descriptor *one = anyDescriptor();
        if (!one)
            return;
        off_t bytes = static_cast<off_t>(chance(3) ? below(SizeMax) : below(4 * Page));
        const std::string &name = one->file->name;
        std::function<int(bool)> ways[] = {
            [&](bool t) { return (t ? p_ftruncate : ftruncate)(t ? one->fd : one->twin, bytes); },
            [&](bool t) { return (t ? p_truncate : truncate)((t ? real(name) : twin(name)).c_str(), bytes); },
            [&](bool t) { return (t ? p_fallocate : fallocate)(t ? one->fd : one->twin, 0, bytes / 2, bytes / 2 + 1); },
            [&](bool t) {
                int error = (t ? p_posix_fallocate : posix_fallocate)(t ? one->fd : one->twin, 0, bytes + 1);
                errno = error;
                return error ? -1 : 0;
            },
        };
        static constexpr const char *names[] = {"ftruncate", "truncate", "fallocate", "posix_fallocate"};
        size_t way = below(std::size(ways));
        if (way == 1 && name.empty())
            return;
        on(one->file, names[way], [&] {
            int result = ways[way](true);
            if (outgrown(one->file, result))
                return;
            sameResult(result, ways[way](false));
            wrote(one->file, false);
        });
    }

    void copyCall() {
        Descriptor *from = anyDescriptor(), *to = anyDescriptor();
        size_t bytes = 1 + below(6 * Page), way = below(3);
        if (!from || seenOf(to->file).size() > SizeMax || (way == 0 && from->file == to->file))
            return;
        off_t in = static_cast<off_t>(below(4 * Page)), out = static_cast<off_t>(below(8 * Page)), in2 = in, out2 = out;
        bool places = chance(2);
        int pipes[2] = {-1, -1};
        if (way == 2 && (pipe(pipes) < 0 || write(pipes[1], "through the pipe", 16) != 16))
            abort();
        static constexpr const char *names[] = {"sendfile", "copy_file_range", "splice"};
        on(to->file, names[way], [&] {
            ssize_t result = way == 0   ? p_sendfile(to->fd, from->fd, places ? &in : nullptr, bytes)
                             : way == 1 ? p_copy_file_range(from->fd, places ? &in : nullptr, to->fd,
                                                            places ? &out : nullptr, bytes, 0)
                                        : p_splice(pipes[0], nullptr, to->fd, places ? &out : nullptr, 16, 0);
            if (outgrown(to->file, result))
                return;
            if (way == 2 && write(pipes[1], "through the pipe", 16) != 16)
                abort();
            if (result > 0 && to->file->mappings > 0)
                bytes = static_cast<size_t>(result); // as far as there was room
            ssize_t wanted = way == 0   ? sendfile(to->twin, from->twin, places ? &in2 : nullptr, bytes)
                             : way == 1 ? copy_file_range(from->twin, places ? &in2 : nullptr, to->twin,
                                                          places ? &out2 : nullptr, bytes, 0)
                                        : splice(pipes[0], nullptr, to->twin, places ? &out2 : nullptr, 16, 0);
            sameResult(result, wanted);
            if (in != in2 || out != out2)
                violation("moves to another position");
            wroteBy(*to, result, 0);
        });
        for (int end : pipes)
            close(end);
    }

    void streamCall() {
        Descriptor *one = anyDescriptor();
        if (!one || one->file->name.empty() || seenOf(one->file).size() > SizeMax)
            return;
        std::string bytes = someBytes();
        const char *mode = chance(4) ? "w" : chance(2) ? "a" : "r+";
        on(one->file, std::string("fopen ") + mode, [&] {
            FILE *stream = p_fopen(real(one->file->name).c_str(), mode);
            if (one->file->tracked != !stream)
                violation("a stream that writes beside a mapping, or none where there is no mapping");
            if (!stream)
                return;
            FILE *other = fopen(twin(one->file->name).c_str(), mode);
            sameResult(static_cast<ssize_t>(fwrite(bytes.data(), 1, bytes.size(), stream)),
                       static_cast<ssize_t>(fwrite(bytes.data(), 1, bytes.size(), other)));
            sameResult(p_fclose(stream), fclose(other));
            wrote(one->file, false);
        });
    }

    // Another program, or a call that is not seen here: it has to wait until the file is closed.
    void outsideCall() {
        Descriptor *one = anyDescriptor();
        if (!one || one->file->tracked)
            return;
        std::string bytes = someBytes();
        off_t size = static_cast<off_t>(chance(3) ? below(SizeMax) : seenOf(one->file).size());
        on(one->file, "a write from outside", [&] {
            for (int fd : {one->fd, one->twin})
                if (ftruncate(fd, size) < 0 || pwrite(fd, bytes.data(), bytes.size(), size / 2) < 0)
                    abort();
            wrote(one->file, false);
        });
    }

    void renameCall() {
        Descriptor *one = anyDescriptor();
        const char *name = Names[below(std::size(Names))];
        if (!one || one->file->name.empty() || std::filesystem::exists(twin(name)))
            return;
        FilePtr file = one->file;
        on(file, "rename", [&] {
            std::string from = real(file->name), to = real(name);
            sameResult(chance(2) ? p_rename(from.c_str(), to.c_str())
                                 : p_renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE),
                       rename(twin(file->name).c_str(), twin(name).c_str()));
            file->name = name;
        });
    }

    void unlinkCall() {
        Descriptor *one = anyDescriptor();
        if (!one || one->file->name.empty() || !chance(3))
            return;
        FilePtr file = one->file;
        on(file, "unlink", [&] {
            std::string name = file->name;
            sameResult(chance(2) ? p_unlink(real(name).c_str()) : p_remove(real(name).c_str()),
                       unlink(twin(name).c_str()));
            file->name = "";
        });
        std::erase(files, file);
    }

    void one() {
        static constexpr void (Life::*calls[])() = {
            &Life::openCall,   &Life::openCall,   &Life::closeCall,  &Life::dupCall,    &Life::mapCall,
            &Life::mapCall,    &Life::mapCall,    &Life::unmapCall,  &Life::unmapCall,  &Life::unmapCall,
            &Life::storeCall,  &Life::storeCall,  &Life::storeCall,  &Life::storeCall,  &Life::msyncCall,
            &Life::msyncCall,  &Life::fsyncCall,  &Life::writeCall,  &Life::writeCall,  &Life::writeCall,
            &Life::copyCall,   &Life::resizeCall, &Life::resizeCall, &Life::streamCall, &Life::outsideCall,
            &Life::renameCall, &Life::unlinkCall};
        (this->*(lost.empty() ? calls[below(std::size(calls))] : &Life::openCall))();
    }

    std::string directory, call, lost;
    uint64_t seed;
    unsigned number, step = 0;
    std::mt19937_64 random;
    std::vector<FilePtr> files;
    std::vector<Descriptor> descriptors;
    std::vector<Mapped> mapped;
    std::vector<uint8_t *> places;
    FilePtr subject;
    std::vector<Pair> images;
};

static void exploreSequence(const std::string &directory, uint64_t seed) {
    std::filesystem::remove_all(directory);
    for (const char *folder : {"real", "twin", "left"})
        std::filesystem::create_directories(directory + "/" + folder);
    for (unsigned number = 0; number < 3; number++) {
        pid_t child = fork();
        if (child == 0) {
            dup2(open("/dev/null", O_WRONLY | O_CLOEXEC), STDERR_FILENO); // the message there states the refusal
            Life(directory, seed, number).run(30);
            number % 2 ? exit(0) : _exit(0);
        }
        int status = 0;
        if (child < 0 || waitpid(child, &status, 0) != child)
            abort();
        if (status != 0 && totals->violations++ < 3)
            printf("violation: the program is killed, status %d, seed %lu, life %u\n", status, seed, number);
        if (totals->violations > 0)
            return;
    }
}

int main(int argc, char **argv) {
    if (argc < 3)
        return 2;
    if (argc > 3 && strcmp(argv[3], "-") != 0)
        seeded_bug = argv[3];
    const uint64_t sequences = argc > 4 ? strtoul(argv[4], nullptr, 10) : 150;
    setenv("SNAPSHOT_PROTOCOL", argv[2], 1);
    totals =
        static_cast<Totals *>(mmap(nullptr, sizeof(Totals), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    for (uint64_t seed = 1; seed <= sequences && totals->violations == 0; seed++)
        exploreSequence(argv[1], seed);
    std::filesystem::remove_all(argv[1]);
    printf("%lu calls, %lu images; unmapped with something to lose %lu times, lost it %lu times; %lu violations\n",
           totals->calls, totals->images, totals->kept, totals->losses, totals->violations);
    bool caught = totals->violations > 0;
    return *seeded_bug ? !caught : caught || totals->images == 0 || totals->losses == 0;
}
