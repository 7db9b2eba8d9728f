// SPDX-License-Identifier: BSD-3-Clause
//
// The processes that may open a file, by which name, and the fate of the log beside it.
#include <fcntl.h>
#include <fstream>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "file_test.hpp"
#include "posix_calls.hpp"

namespace {

constexpr size_t Page = 4096;

class Opening : public FileTest {
  protected:
    std::string log() const { return path + ".snapshot-log"; }

    // A process that commits the value to the start of the file, unless 0, keeps the file open, and is killed at the
    // end.
    class Other {
      public:
        Other(const std::string &path, size_t bytes, uint64_t value) {
            EXPECT_EQ(pipe(ready), 0);
            child = fork();
            if (child == 0) {
                TrackedFile file(path, bytes);
                if (file.error() == 0 && value)
                    trackedStore(file.working(), value);
                int status = file.error() ? file.error() : file.commit();
                (void)!write(ready[1], &status, sizeof(status));
                pause();
            }
            EXPECT_EQ(read(ready[0], &status, sizeof(status)), static_cast<ssize_t>(sizeof(status)));
        }
        ~Other() {
            kill(child, SIGKILL);
            waitpid(child, nullptr, 0);
            close(ready[0]);
            close(ready[1]);
        }
        Other(const Other &) = delete;
        Other &operator=(const Other &) = delete;
        int status = -1;

      private:
        pid_t child;
        int ready[2];
    };

    void crashWith(uint64_t value, size_t bytes = Page) { EXPECT_EQ(Other(path, bytes, value).status, 0); }

    // As `cp --sparse=always` makes it.
    static void copySparsely(const std::string &from, const std::string &to) {
        std::ifstream in(from, std::ios::binary);
        std::string bytes((std::istreambuf_iterator<char>(in)), {});
        EXPECT_EQ(bytes.find_first_not_of('\0'), std::string::npos) << "the file has what only the log should have";
        std::ofstream(to).close();
        std::filesystem::resize_file(to, bytes.size());
    }
};

TEST_F(Opening, OfAFileWhoseLogIsGoneIsBusyWhileAnotherProcessHasIt) {
    Other other(path, Page, 1);
    std::filesystem::remove(log());
    EXPECT_EQ(TrackedFile(path, 0).error(), -EBUSY);
    EXPECT_FALSE(std::filesystem::exists(log()));
}

TEST_F(Opening, OfAFileThatWasRenamedIsBusyWhileAnotherProcessHasIt) {
    Other other(path, Page, 1);
    std::filesystem::rename(path, path + "2");
    EXPECT_EQ(TrackedFile(path + "2", 0).error(), -EBUSY);
}

TEST_F(Opening, OfASuccessorLeavesTheLogToTheProcessThatHasIt) {
    Other other(path, Page, 1);
    std::filesystem::remove(path);
    EXPECT_EQ(TrackedFile(path, Page).error(), -EBUSY);
    EXPECT_EQ(TrackedFile(path, Page, SNAPSHOT_ADOPT).error(), -EBUSY);
    EXPECT_TRUE(std::filesystem::exists(log()));
}

// Even if the log says nothing yet: the other process is about to write to it.
TEST_F(Opening, OfANewFileOfTheNameLeavesTheLogToTheProcessThatHasIt) {
    Other other(path, Page, 0);
    ASSERT_EQ(other.status, 0);
    std::filesystem::rename(path, path + "2");
    EXPECT_EQ(TrackedFile(path, Page).error(), -EBUSY);
    EXPECT_TRUE(std::filesystem::exists(log()));
}

TEST_F(Opening, OfAFileWithSeveralNamesIsRefused) {
    crashWith(7);
    std::filesystem::create_hard_link(path, path + "2");
    EXPECT_EQ(TrackedFile(path + "2", 0).error(), -EMLINK); // without the log it would lack the commit
    EXPECT_EQ(TrackedFile(path, 0).error(), -EMLINK);
    std::filesystem::remove(path + "2");
    EXPECT_EQ(word(TrackedFile(path, 0), 0), 7u);
}

TEST_F(Opening, BySymbolicLinkFindsTheLogOfTheFile) {
    crashWith(7);
    std::filesystem::create_symlink(path, path + "2");
    TrackedFile file(path + "2", 0);
    EXPECT_EQ(word(file, 0), 7u);
    EXPECT_EQ(TrackedFile(path, 0).error(), -EBUSY);
    EXPECT_FALSE(std::filesystem::exists(path + "2.snapshot-log"));
}

TEST_F(Opening, OfAFileThatTheProgramHasLockedIsBusy) {
    int fd = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    ASSERT_EQ(flock(fd, LOCK_EX), 0);
    EXPECT_EQ(TrackedFile(path, Page).error(), -EBUSY);
    close(fd);
    EXPECT_EQ(TrackedFile(path, Page).error(), 0);
}

TEST_F(Opening, LockOutlivesAChildAndEndsWithTheMapping) {
    TrackedFile file(path, Page);
    pid_t child = fork();
    if (child == 0)
        _exit(0); // and closes its part of the lock
    waitpid(child, nullptr, 0);
    EXPECT_EQ(Other(path, 0, 0).status, -EBUSY);
    file.close();
    EXPECT_EQ(Other(path, 0, 0).status, 0);
}

// As a child of posix_spawn() before the other program begins: it has the descriptors, and no handler of fork() has
// run.
TEST_F(Opening, LockEndsWithTheMappingWhileAChildHasCopiesOfTheDescriptors) {
    TrackedFile file(path, Page);
    pid_t child = _Fork();
    if (child == 0)
        for (;;)
            pause();
    file.close();
    EXPECT_EQ(TrackedFile(path, 0).error(), 0);
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
}

TEST_F(Opening, ToRecoverLeavesTheProgramsOwnLock) {
    for (uint64_t value : {7, 8}) { // the second time the log is that of a closed file, until the crash
        TrackedFile(path, Page).close();
        int fd = open(path.c_str(), O_RDWR | O_CLOEXEC), copy = dup(fd), other = open(path.c_str(), O_RDWR | O_CLOEXEC);
        uint64_t found = 0;
        ASSERT_EQ(flock(fd, LOCK_EX | LOCK_NB), 0);
        EXPECT_EQ(p_pread(copy, &found, 8, 0), 8);
        EXPECT_EQ(flock(other, LOCK_EX | LOCK_NB), -1) << "of a file with nothing to recover";
        for (int one : {fd, other})
            flock(one, LOCK_UN);
        crashWith(value);
        ASSERT_EQ(flock(fd, LOCK_EX | LOCK_NB), 0);
        int late = dup(fd);
        EXPECT_EQ(p_pread(late, &found, 8, 0), 8);
        EXPECT_EQ(found, value);
        EXPECT_EQ(flock(other, LOCK_EX | LOCK_NB), -1) << "of a file that was recovered";
        for (int one : {fd, copy, other, late})
            p_close(one);
    }
}

TEST_F(Opening, ToRecoverDoesNothingWhileAnotherProcessHasTheFile) {
    Other other(path, Page, 7);
    auto content = [](const std::string &of) {
        std::ifstream in(of, std::ios::binary);
        return std::string((std::istreambuf_iterator<char>(in)), {});
    };
    std::string file_before = content(path), log_before = content(log());
    for (int flags : {O_RDWR, O_RDONLY}) {
        uint64_t found = 0;
        int fd = p_open(path.c_str(), flags | O_CLOEXEC);
        EXPECT_EQ(p_pread(fd, &found, 8, 0), 8);
        p_close(fd);
    }
    EXPECT_TRUE(content(path) == file_before && content(log()) == log_before);
    std::filesystem::remove(log());
    p_close(p_open(path.c_str(), O_RDWR | O_CLOEXEC));
    EXPECT_FALSE(std::filesystem::exists(log()));
}

TEST_F(Opening, TemporaryOfACrashIsOverwrittenAndOneInUseIsBusy) {
    std::ofstream(log() + ".new") << "what a crash left";
    EXPECT_EQ(TrackedFile(path, Page).error(), 0);
    EXPECT_FALSE(std::filesystem::exists(log() + ".new"));
    std::filesystem::remove(log());
    int fd = open((log() + ".new").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    ASSERT_EQ(flock(fd, LOCK_EX), 0);
    ASSERT_EQ(write(fd, "log", 3), 3);
    EXPECT_EQ(TrackedFile(path, Page).error(), -EBUSY);
    EXPECT_EQ(std::filesystem::file_size(log() + ".new"), 3u) << "another process was writing it";
    EXPECT_FALSE(std::filesystem::exists(log()));
    close(fd);
}

TEST_F(Opening, AdoptedSparseCopyHasTheCommitThatOnlyItsLogHas) {
    crashWith(7);
    copySparsely(path, path + "2");
    std::filesystem::copy_file(log(), path + "2.snapshot-log");
    EXPECT_EQ(TrackedFile(path + "2", 0).error(), -ESTALE) << "and the log is still there";
    TrackedFile copy(path + "2", 0, SNAPSHOT_ADOPT);
    ASSERT_EQ(copy.error(), 0);
    EXPECT_EQ(word(copy, 0), 7u);
}

TEST_F(Opening, LogWithACommitIsNotThrownAwayForANewFileOfTheName) {
    crashWith(7);
    std::filesystem::rename(path, path + "2");
    EXPECT_EQ(TrackedFile(path, Page).error(), -ESTALE);
    std::filesystem::rename(log(), path + "2.snapshot-log");
    EXPECT_EQ(word(TrackedFile(path + "2", 0), 0), 7u);
}

TEST_F(Opening, AdoptionNeverThrowsALogAway) {
    crashWith(7);
    std::ofstream(path + "2").close(); // a copy that failed
    std::filesystem::copy_file(log(), path + "2.snapshot-log");
    EXPECT_EQ(TrackedFile(path + "2", Page, SNAPSHOT_ADOPT).error(), -EINVAL);
    EXPECT_TRUE(std::filesystem::exists(path + "2.snapshot-log"));
}

} // namespace
