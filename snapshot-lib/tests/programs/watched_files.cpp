// SPDX-License-Identifier: BSD-3-Clause
#include "watched_files.hpp"

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <stdexcept>

namespace programs {

WatchedFiles *watched_files;

WatchedFiles::WatchedFiles(std::vector<std::string> paths, NameRule rule, std::function<void()> crash_point)
    : paths(std::move(paths)), rule(rule), crash_point(std::move(crash_point)), files(this->paths.size()) {
    look();
    base = folderAfter({}, events, events.size());
    events.clear();
    watched_files = this;
}

WatchedFiles::~WatchedFiles() { watched_files = nullptr; }

// A file of another inode is a new one: the old one may come back under its name.
void WatchedFiles::lookAt(const std::string &path, Seen &seen) {
    struct stat status{};
    const bool is_there = stat(path.c_str(), &status) == 0;
    if (!is_there && seen.number == 0)
        return;
    if (!is_there || seen.number == 0 || seen.inode != status.st_ino) {
        seen = {is_there ? ++last_number : 0, is_there ? status.st_ino : 0, ""};
        events.push_back({.kind = FolderEvent::Name, .file = seen.number, .name = path});
    }
    std::ifstream stream(path, std::ios::binary);
    std::string now{std::istreambuf_iterator<char>(stream), {}};
    if (now.size() != seen.bytes.size())
        events.push_back({.kind = FolderEvent::Size, .file = seen.number, .at = now.size()});
    seen.bytes.resize(now.size());
    for (size_t at = 0; at < now.size(); at += PageBytes)
        if (now.compare(at, PageBytes, seen.bytes, at, PageBytes) != 0)
            events.push_back(
                {.kind = FolderEvent::Written, .file = seen.number, .at = at, .content = now.substr(at, PageBytes)});
    seen.bytes = std::move(now);
}

void WatchedFiles::look() {
    for (size_t i = 0; i < paths.size(); i++)
        lookAt(paths[i], files[i]);
}

int WatchedFiles::find(const std::string &path) const {
    auto found = std::find(paths.begin(), paths.end(), path);
    return found == paths.end() ? -1 : static_cast<int>(found - paths.begin());
}

int WatchedFiles::find(int fd) const {
    char path[4096], link[64];
    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof(path));
    return length > 0 ? find(std::string(path, static_cast<size_t>(length))) : -1;
}

void WatchedFiles::before() {
    if (busy)
        return;
    busy = true;
    look();
    crash_point();
    busy = false;
}

void WatchedFiles::after(int file, Call call) {
    if (busy)
        return;
    look();
    unsigned number = files[static_cast<size_t>(file)].number;
    if (call == Call::Msync)
        events.push_back({.kind = FolderEvent::SyncContent, .file = number});
    if (call == Call::Fsync)
        events.push_back({.kind = FolderEvent::SyncFile, .file = number});
}

void WatchedFiles::forEachState(const FolderSampling &sampling, const Visit &visit) {
    forEachCut(base, events, events.size(), rule, sampling, [&](const Folder &folder) {
        State state;
        for (const std::string &path : paths) {
            auto name = folder.names.find(path);
            const bool exists = name != folder.names.end();
            state.push_back({exists, exists ? folder.files.at(name->second) : ""});
        }
        visit(state);
    });
}

int answerOf(const std::function<int()> &question) {
    pid_t child = fork();
    if (child < 0)
        throw std::runtime_error("cannot fork");
    if (child == 0) {
        alarm(2);
        _exit(question());
    }
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

} // namespace programs
