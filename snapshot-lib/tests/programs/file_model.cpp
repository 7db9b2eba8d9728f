// SPDX-License-Identifier: BSD-3-Clause
#include "file_model.hpp"

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <stdexcept>

namespace programs {

FileModel *file_model;

template <class T> static void addVersion(std::vector<T> &versions, T value) {
    if (versions.empty() || versions.back() != value)
        versions.push_back(value);
}

template <class T> static void makeDurable(std::vector<T> &versions) {
    versions.erase(versions.begin(), versions.end() - 1);
}

FileModel::FileModel(std::vector<std::string> paths, Names names, std::function<void()> crash_point)
    : names(names), crash_point(std::move(crash_point)) {
    for (std::string &path : paths) {
        File file;
        file.path = std::move(path);
        file.exists.push_back(access(file.path.c_str(), F_OK) == 0);
        sampleFile(file);
        for (std::vector<PagePtr> &versions : file.pages)
            makeDurable(versions);
        files.push_back(file);
    }
    file_model = this;
}

FileModel::~FileModel() { file_model = nullptr; }

void FileModel::sampleFile(File &file) {
    std::ifstream stream(file.path, std::ios::binary);
    std::string bytes{std::istreambuf_iterator<char>(stream), {}};
    bool is_there = stream.is_open();
    addVersion(file.exists, is_there);
    if (!is_there && !file.sizes.empty())
        return; // its old content may come back
    addVersion(file.sizes, static_cast<uint64_t>(bytes.size()));
    size_t count = std::max(file.pages.size(), (bytes.size() + PageBytes - 1) / PageBytes);
    bytes.resize(count * PageBytes);
    while (file.pages.size() < count)
        file.pages.push_back({std::make_shared<Page>(Page{})});
    for (size_t i = 0; i < count; i++) {
        const char *now = bytes.data() + i * PageBytes;
        std::vector<PagePtr> &versions = file.pages[i];
        if (memcmp(versions.back()->data(), now, PageBytes) == 0)
            continue;
        versions.push_back(std::make_shared<Page>());
        memcpy(versions.back()->data(), now, PageBytes);
    }
}

void FileModel::sample() {
    for (File &file : files)
        sampleFile(file);
}

int FileModel::find(const std::string &path) const {
    for (size_t i = 0; i < files.size(); i++)
        if (files[i].path == path)
            return static_cast<int>(i);
    return -1;
}

int FileModel::find(int fd) const {
    char path[4096], link[64];
    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof(path));
    return length > 0 ? find(std::string(path, static_cast<size_t>(length))) : -1;
}

void FileModel::before() {
    if (busy)
        return;
    busy = true;
    sample();
    crash_point();
    busy = false;
}

void FileModel::after(int index, Call call) {
    if (busy)
        return;
    sample();
    File &file = files[static_cast<size_t>(index)];
    if (call == Call::Msync || call == Call::Fsync)
        for (std::vector<PagePtr> &versions : file.pages)
            makeDurable(versions);
    if (call == Call::Fsync) {
        makeDurable(file.sizes);
        if (names == Names::WithFile)
            makeDurable(file.exists);
    }
}

// How many versions each thing has: every page, the size, the name; file after file.
std::vector<size_t> FileModel::choices() const {
    std::vector<size_t> counts;
    for (const File &file : files) {
        for (const std::vector<PagePtr> &versions : file.pages)
            counts.push_back(versions.size());
        counts.push_back(file.sizes.size());
        counts.push_back(file.exists.size());
    }
    return counts;
}

FileModel::State FileModel::stateOf(const std::vector<size_t> &chosen) const {
    State state;
    auto next = chosen.begin();
    for (const File &file : files) {
        Content content;
        for (const std::vector<PagePtr> &versions : file.pages)
            content.bytes.append(versions[*next++]->data(), PageBytes);
        content.bytes.resize(file.sizes[*next++]);
        content.exists = file.exists[*next++];
        state.push_back(std::move(content));
    }
    return state;
}

void FileModel::forEachState(size_t exhaustive, size_t samples, const Visit &visit) {
    std::vector<size_t> counts = choices(), chosen(counts.size(), 0);
    size_t total = 1;
    for (size_t count : counts)
        total = std::min(total * count, exhaustive + 1);
    if (total <= exhaustive) {
        for (size_t ordinal = 0; ordinal < total; ordinal++) {
            size_t rest = ordinal;
            for (size_t i = 0; i < counts.size(); rest /= counts[i], i++)
                chosen[i] = rest % counts[i];
            visit(stateOf(chosen));
        }
        return;
    }
    visit(stateOf(chosen));
    for (size_t sample = 0; sample < samples; sample++) {
        for (size_t i = 0; i < counts.size(); i++)
            chosen[i] = sample == 0 ? counts[i] - 1 : random() % counts[i];
        visit(stateOf(chosen));
    }
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
