// SPDX-License-Identifier: BSD-3-Clause
//
// Files that are not mapped any more: two threads that need the place of one, and one that moves.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "file_test.hpp"
#include "posix_calls.hpp"
#include "thread_sleep.hpp"

struct region;
extern "C" struct region *region_use(int fd);
extern "C" void region_unuse(struct region **used);
extern "C" void contents_share(struct region *region);
extern "C" void contents_release(struct region *region);

namespace {

constexpr size_t Page = 4096, Files = 32; // as many as can be open

// A writer to stderr waits until somebody reads.
class FullStderr {
  public:
    FullStderr() {
        if (pipe2(ends, O_NONBLOCK) < 0)
            abort();
        while (::write(ends[1], "x", 1) == 1)
            ;
        fcntl(ends[1], F_SETFL, 0);
        dup2(ends[1], 2);
    }
    ~FullStderr() {
        dup2(saved, 2);
        ::close(saved);
        ::close(ends[0]);
        ::close(ends[1]);
    }
    void drain() {
        char room[4096];
        for (ssize_t bytes; (bytes = ::read(ends[0], room, sizeof(room))) > 0;)
            text.append(room, static_cast<size_t>(bytes));
    }
    // How often the drained text has this.
    size_t count(const std::string &wanted) const {
        size_t found = 0;
        for (size_t at = 0; (at = text.find(wanted, at)) != std::string::npos; at++)
            found++;
        return found;
    }

  private:
    int ends[2], saved = dup(2);
    std::string text;
};

class Idle : public FileTest {
  protected:
    void SetUp() override {
        FileTest::SetUp();
        for (size_t i = 0; i < Files; i++) {
            fds.push_back(open(name(i).c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
            ASSERT_EQ(ftruncate(fds[i], Page), 0);
            trackedStore(map(i), 7);
            ASSERT_EQ(p_munmap(memory, Page), 0);
        }
    }
    void TearDown() override {
        for (int fd : fds)
            p_close(fd);
        FileTest::TearDown();
    }
    std::string name(size_t i) const { return path + "-" + std::to_string(i); }
    uint8_t *map(size_t i) {
        memory = p_mmap(nullptr, Page, PROT_READ | PROT_WRITE, MAP_SHARED_VALIDATE | MAP_SYNC, fds[i], 0);
        return static_cast<uint8_t *>(memory);
    }

    std::vector<int> fds;
    void *memory = nullptr;
};

// The first says that it discards a file, and waits; the second must not take the same file.
TEST_F(Idle, FilesMakeRoomForOneThreadEach) {
    std::optional<TrackedFile> files[2];
    {
        FullStderr full;
        std::vector<std::thread> threads;
        std::atomic<bool> done[2] = {};
        for (size_t i = 0; i < 2; i++) {
            std::atomic<pid_t> tid{0};
            threads.emplace_back([&, i] {
                tid = static_cast<pid_t>(syscall(SYS_gettid));
                files[i].emplace(path + "-new" + std::to_string(i), Page);
                done[i] = true;
            });
            EXPECT_TRUE(awaitSleep(tid));
        }
        while (!done[0] || !done[1])
            full.drain();
        for (std::thread &thread : threads)
            thread.join();
        full.drain();
        for (size_t i = 0; i < 2; i++)
            EXPECT_EQ(full.count(name(i) + ": is not mapped"), 1u) << "file " << i << " makes room for one thread";
    }
    ASSERT_EQ(files[0]->error(), 0);
    ASSERT_EQ(files[1]->error(), 0);
    EXPECT_NE(files[0]->working(), files[1]->working()) << "a thread has closed the other's file";
    for (size_t i = 2; i < Files; i++) {
        EXPECT_EQ(word(map(i)), 7u) << "file " << i << " need not have made room";
        p_munmap(memory, Page);
    }
}

class Moving : public FileTest {
  protected:
    void *map(int fd) { return p_mmap(nullptr, Page, PROT_READ | PROT_WRITE, MAP_SHARED_VALIDATE | MAP_SYNC, fd, 0); }
    int made(const std::string &name) {
        int fd = open(name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
        EXPECT_EQ(ftruncate(fd, Page), 0);
        return fd;
    }

    static constexpr off_t Large = off_t{1} << 31; // behind the addresses that the file has

    // `move` gives the file other addresses, while another call reads the file.
    void keepsNoOtherWaiting(const std::function<void(int fd)> &move) {
        int fd = made(path), other = made(path + "-other");
        void *memory = map(fd);
        trackedStore(static_cast<uint8_t *>(memory), 7);
        ASSERT_EQ(p_munmap(memory, Page), 0);
        struct region *used = region_use(fd);
        contents_share(used);
        std::atomic<bool> moved = false;
        std::thread mover([&] {
            move(fd);
            moved = true;
        });
        usleep(20000);
        void *others = map(other);
        EXPECT_NE(others, MAP_FAILED);
        EXPECT_FALSE(moved);
        contents_release(used);
        region_unuse(&used);
        mover.join();
        EXPECT_EQ(p_munmap(others, Page), 0);
        uint64_t found = 0;
        EXPECT_EQ(p_pread(fd, &found, sizeof(found), 0), 8);
        EXPECT_EQ(found, 7u);
        p_close(fd);
        p_close(other);
    }
};

// It waits for a call that uses it. Others can be mapped meanwhile, by that call's thread, too.
TEST_F(Moving, OfAFileThatGrowsKeepsNoOtherWaiting) {
    keepsNoOtherWaiting([](int fd) { EXPECT_EQ(p_ftruncate(fd, Large), 0); });
}

TEST_F(Moving, OfAFileThatIsMappedAgainKeepsNoOtherWaiting) {
    keepsNoOtherWaiting([](int fd) {
        void *memory = p_mmap(nullptr, Large, PROT_READ | PROT_WRITE, MAP_SHARED_VALIDATE | MAP_SYNC, fd, 0);
        EXPECT_NE(memory, MAP_FAILED);
        EXPECT_EQ(p_munmap(memory, Large), 0);
    });
}

} // namespace
