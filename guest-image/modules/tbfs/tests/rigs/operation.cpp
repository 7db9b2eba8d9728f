// SPDX-License-Identifier: BSD-3-Clause
#include "operation.hpp"

#include <algorithm>

static const char *const Names[] = {"create",   "mkdir",  "symlink", "link",       "unlink",
                                    "rmdir",    "rename", "write",   "truncate",   "fallocate",
                                    "set-mode", "touch",  "read",    "merge-some", "close"};

std::string describe(const Operation &operation) {
    std::string text = std::string(Names[operation.kind]) + " " + operation.path;
    if (!operation.other.empty())
        text += " " + operation.other;
    if (operation.flags)
        text += " flags " + std::to_string(operation.flags);
    if (operation.offset || operation.bytes)
        text += " at " + std::to_string(operation.offset) + " bytes " + std::to_string(operation.bytes);
    if (operation.stays_open)
        text += " while open";
    return text;
}

std::string contentOf(const Operation &operation) {
    std::string text(operation.bytes, operation.fill);
    for (size_t i = 0; i < text.size(); i++)
        text[i] = static_cast<char>(text[i] + i % 7);
    return text;
}

int64_t sumOf(const std::string &content) {
    uint64_t sum = content.size();
    for (char byte : content)
        sum = sum * 31 + static_cast<uint8_t>(byte);
    return static_cast<int64_t>(sum >> 1);
}

int64_t resolve(struct tbfs *fs, const std::string &path, const OpenOrphans *orphans) {
    uint64_t ino = TBFS_ROOT_INODE;
    if (path.starts_with('@')) {
        auto found = orphans ? orphans->find(path) : OpenOrphans::const_iterator();
        return orphans && found != orphans->end() ? static_cast<int64_t>(found->second) : -ENOENT;
    }
    for (size_t at = 1; at < path.size();) {
        size_t end = std::min(path.find('/', at), path.size());
        int status = tbfs_lookup(fs, ino, nameOf(path.substr(at, end - at)), &ino);
        if (status < 0)
            return status;
        at = end + 1;
    }
    return static_cast<int64_t>(ino);
}

namespace {
struct Place {
    int64_t dir;
    std::string name;
    struct tbfs_place in() const { return {static_cast<uint64_t>(dir), nameOf(name)}; }
};
} // namespace

static Place placeOf(struct tbfs *fs, const std::string &path) {
    size_t slash = path.rfind('/');
    int64_t dir = resolve(fs, path.substr(0, slash));
    struct tbfs_inode inode;
    if (dir > 0 && tbfs_inode_get(fs, static_cast<uint64_t>(dir), &inode) == 0 && !S_ISDIR(inode.mode))
        dir = -ENOTDIR;
    return {dir, path.substr(slash + 1)};
}

// Handles an orphan, if the file at `path` has lost its last name: keeps it open or evicts it.
static int64_t drop(struct tbfs *fs, const Operation &operation, const std::string &path, uint64_t orphan,
                    OpenOrphans *orphans) {
    if (orphan && operation.stays_open && orphans)
        (*orphans)["@" + path] = orphan;
    else if (orphan)
        return tbfs_evict(fs, orphan, operation.now);
    return 0;
}

static int64_t close(struct tbfs *fs, const Operation &operation, OpenOrphans *orphans) {
    int64_t ino = resolve(fs, operation.path, orphans);
    if (ino < 0)
        return ino;
    orphans->erase(operation.path);
    return tbfs_evict(fs, static_cast<uint64_t>(ino), operation.now);
}

static int64_t create(struct tbfs *fs, const Operation &operation, const Place &place) {
    static const uint16_t types[] = {S_IFREG | 0644, S_IFDIR | 0755, S_IFLNK | 0777};
    struct tbfs_new what = {types[operation.kind], 0, nameOf(operation.other)};
    struct tbfs_caller caller = {1, 2, operation.now};
    uint64_t ino;
    return tbfs_create(fs, place.in().dir, place.in().name, &what, &caller, &ino);
}

static int64_t remove(struct tbfs *fs, const Operation &operation, const Place &place, OpenOrphans *orphans) {
    auto *call = operation.kind == Operation::Unlink ? tbfs_unlink : tbfs_rmdir;
    uint64_t orphan;
    int status = call(fs, place.in().dir, place.in().name, operation.now, &orphan);
    if (status == 0 && orphan && operation.flags)
        tbfs_truncate(fs, orphan, operation.offset, operation.now);
    return status < 0 ? status : drop(fs, operation, operation.path, orphan, orphans);
}

static int64_t move(struct tbfs *fs, const Operation &operation, const Place &place, OpenOrphans *orphans) {
    Place to = placeOf(fs, operation.other);
    uint64_t orphan;
    if (to.dir < 0)
        return to.dir;
    int status = tbfs_rename(fs, place.in(), to.in(), operation.flags, operation.now, &orphan);
    return status < 0 ? status : drop(fs, operation, operation.other, orphan, orphans);
}

static int64_t change(struct tbfs *fs, const Operation &operation, uint64_t ino) {
    struct tbfs_change change = {};
    change.which = operation.kind == Operation::Touch ? TBFS_SET_MTIME : TBFS_SET_MODE;
    change.mode = static_cast<uint16_t>(operation.flags);
    change.mtime = operation.now;
    return tbfs_inode_set(fs, ino, &change, operation.now);
}

static int64_t read(struct tbfs *fs, const Operation &operation, uint64_t ino) {
    std::string content(operation.bytes, 'u');
    int64_t done = tbfs_read(fs, ino, operation.offset, content.data(), content.size());
    content.resize(static_cast<size_t>(std::max<int64_t>(done, 0)));
    return done < 0 ? done : sumOf(content);
}

static int64_t runOnInode(struct tbfs *fs, const Operation &operation, const OpenOrphans *orphans) {
    int64_t found = resolve(fs, operation.path, orphans);
    uint64_t ino = static_cast<uint64_t>(found);
    if (found < 0)
        return found;
    switch (operation.kind) {
    case Operation::Link: {
        Place to = placeOf(fs, operation.other);
        return to.dir < 0 ? to.dir : tbfs_link(fs, ino, to.in().dir, to.in().name, operation.now);
    }
    case Operation::Write:
        return tbfs_write(fs, ino, operation.offset, contentOf(operation).data(), operation.bytes, operation.now);
    case Operation::Truncate:
        return tbfs_truncate(fs, ino, operation.offset, operation.now);
    case Operation::Fallocate:
        return tbfs_fallocate(fs, ino, operation.flags, operation.offset, operation.bytes, operation.now);
    case Operation::Read:
        return read(fs, operation, ino);
    default:
        return change(fs, operation, ino);
    }
}

static int64_t mergeSome(struct tbfs *fs, uint64_t steps) {
    while (steps > 0 && tbfs_merge_some(fs))
        steps--;
    return 0;
}

int64_t run(struct tbfs *fs, const Operation &operation, OpenOrphans *orphans) {
    if (operation.kind == Operation::MergeSome)
        return mergeSome(fs, operation.bytes);
    if (operation.kind == Operation::Close)
        return close(fs, operation, orphans);
    bool by_name = operation.kind != Operation::Link && operation.kind <= Operation::Rename;
    if (!by_name)
        return runOnInode(fs, operation, orphans);
    Place place = placeOf(fs, operation.path);
    if (place.dir < 0)
        return place.dir;
    if (operation.kind <= Operation::Symlink)
        return create(fs, operation, place);
    return operation.kind == Operation::Rename ? move(fs, operation, place, orphans)
                                               : remove(fs, operation, place, orphans);
}
