// SPDX-License-Identifier: BSD-3-Clause
#include "model.hpp"

#include <algorithm>
#include <utility>

Model::Model() {
    File &root = files[1];
    root.node = {.mode = S_IFDIR | 0755, .links = 2, .ctime = 1000, .mtime = 1000, .content = {}};
    root.parent = 1;
}

int64_t Model::resolve(const std::string &path) const {
    uint64_t ino = 1;
    if (path.starts_with('@'))
        return open.contains(path) ? static_cast<int64_t>(open.at(path)) : -ENOENT;
    for (size_t at = 1; at < path.size();) {
        size_t end = std::min(path.find('/', at), path.size());
        if (!isDirectory(ino))
            return -ENOTDIR;
        const auto &entries = files.at(ino).entries;
        auto found = entries.find(path.substr(at, end - at));
        if (found == entries.end())
            return -ENOENT;
        ino = found->second;
        at = end + 1;
    }
    return static_cast<int64_t>(ino);
}

Model::Place Model::place(const std::string &path) const {
    size_t slash = path.rfind('/');
    Place place{resolve(path.substr(0, slash)), path.substr(slash + 1), 0};
    if (place.dir > 0 && !isDirectory(static_cast<uint64_t>(place.dir)))
        place.dir = -ENOTDIR;
    if (place.dir < 0)
        return place;
    const auto &entries = files.at(static_cast<uint64_t>(place.dir)).entries;
    if (auto found = entries.find(place.name); found != entries.end())
        place.ino = found->second;
    return place;
}

bool Model::isBelow(uint64_t dir, uint64_t above) const {
    while (dir != above && dir != 1)
        dir = files.at(dir).parent;
    return dir == above;
}

void Model::touch(uint64_t ino, uint32_t now) { files.at(ino).node.ctime = files.at(ino).node.mtime = now; }

void Model::drop(uint64_t ino, const Operation &operation, const std::string &path) {
    Node &node = files.at(ino).node;
    node.ctime = operation.now;
    if (!S_ISDIR(node.mode) && --node.links > 0)
        return;
    if (operation.stays_open)
        open["@" + path] = ino;
    else
        files.erase(ino);
}

int64_t Model::close(const Operation &operation) {
    int64_t ino = resolve(operation.path);
    if (ino < 0)
        return ino;
    files.erase(static_cast<uint64_t>(ino));
    open.erase(operation.path);
    return 0;
}

std::map<std::string, std::string> Model::orphans() const {
    std::map<std::string, std::string> contents;
    for (const auto &[path, ino] : open)
        if (S_ISREG(files.at(ino).node.mode))
            contents[path] = files.at(ino).node.content;
    return contents;
}

void Model::attach(const Place &to, uint64_t ino) {
    File &dir = files.at(static_cast<uint64_t>(to.dir)), &file = files.at(ino);
    dir.entries[to.name] = ino;
    if (S_ISDIR(file.node.mode) && file.parent != static_cast<uint64_t>(to.dir)) {
        if (file.parent)
            files.at(file.parent).node.links--;
        dir.node.links++;
        file.parent = static_cast<uint64_t>(to.dir);
    }
}

int Model::create(const Operation &operation, const Place &at) {
    static constexpr uint32_t modes[] = {S_IFREG | 0644, S_IFDIR | 0755, S_IFLNK | 0777};
    if (at.ino)
        return -EEXIST;
    Node &node = files[++last].node;
    node = {.mode = modes[operation.kind], .links = 1, .uid = 1, .gid = 2, .content = operation.other};
    if (S_ISDIR(node.mode))
        node.links = 2;
    touch(last, operation.now);
    attach(at, last);
    touch(static_cast<uint64_t>(at.dir), operation.now);
    return 0;
}

int Model::link(const Operation &operation) {
    int64_t found = resolve(operation.path);
    if (found < 0)
        return static_cast<int>(found);
    uint64_t ino = static_cast<uint64_t>(found);
    Place to = place(operation.other);
    if (to.dir < 0 || to.ino)
        return to.dir < 0 ? static_cast<int>(to.dir) : -EEXIST;
    if (isDirectory(ino))
        return -EPERM;
    attach(to, ino);
    files.at(ino).node.links++;
    files.at(ino).node.ctime = operation.now;
    touch(static_cast<uint64_t>(to.dir), operation.now);
    return 0;
}

int Model::removable(uint64_t ino) const {
    if (!isDirectory(ino))
        return -ENOTDIR;
    return files.at(ino).entries.empty() ? 0 : -ENOTEMPTY;
}

int Model::remove(const Operation &operation, const Place &at) {
    if (!at.ino)
        return -ENOENT;
    bool removes_file = operation.kind == Operation::Unlink;
    int error = removes_file ? (isDirectory(at.ino) ? -EISDIR : 0) : removable(at.ino);
    if (error)
        return error;
    File &dir = files.at(static_cast<uint64_t>(at.dir));
    dir.entries.erase(at.name);
    dir.node.links -= !removes_file;
    drop(at.ino, operation, operation.path);
    touch(static_cast<uint64_t>(at.dir), operation.now);
    return 0;
}

int Model::renameError(const Operation &operation, const Place &from, const Place &to) const {
    bool exchanges = operation.flags & TBFS_RENAME_EXCHANGE, refuses = operation.flags & TBFS_RENAME_NOREPLACE;
    if (exchanges && refuses)
        return -EINVAL;
    if (refuses && to.ino)
        return -EEXIST;
    if (isDirectory(from.ino) && isBelow(static_cast<uint64_t>(to.dir), from.ino) && to.dir != from.dir)
        return -EINVAL;
    if (exchanges) {
        bool loops =
            to.ino && isDirectory(to.ino) && from.dir != to.dir && isBelow(static_cast<uint64_t>(from.dir), to.ino);
        return !to.ino ? -ENOENT : loops ? -EINVAL : 0;
    }
    if (!to.ino)
        return 0;
    return isDirectory(from.ino) ? removable(to.ino) : isDirectory(to.ino) ? -EISDIR : 0;
}

int Model::rename(const Operation &operation, const Place &from) {
    Place to = place(operation.other);
    if (to.dir < 0 || !from.ino)
        return to.dir < 0 ? static_cast<int>(to.dir) : -ENOENT;
    int error = renameError(operation, from, to);
    if (error || from.ino == to.ino)
        return error;
    File &dir = files.at(static_cast<uint64_t>(from.dir));
    if (operation.flags & TBFS_RENAME_EXCHANGE) {
        attach(from, to.ino);
        files.at(to.ino).node.ctime = operation.now;
    } else {
        dir.entries.erase(from.name);
        if (to.ino) {
            files.at(static_cast<uint64_t>(to.dir)).node.links -= isDirectory(to.ino);
            drop(to.ino, operation, operation.other);
        }
    }
    attach(to, from.ino);
    files.at(from.ino).node.ctime = operation.now;
    touch(static_cast<uint64_t>(from.dir), operation.now);
    touch(static_cast<uint64_t>(to.dir), operation.now);
    return 0;
}

int64_t Model::change(const Operation &operation, Node &node) {
    bool on_content = operation.kind != Operation::SetMode && operation.kind != Operation::Touch;
    if (on_content && !S_ISREG(node.mode))
        return S_ISDIR(node.mode) ? -EISDIR : -EINVAL;
    uint64_t end = operation.offset + operation.bytes;
    int64_t result = 0;
    node.ctime = operation.now;
    if (operation.kind == Operation::SetMode)
        node.mode = (node.mode & S_IFMT) | operation.flags;
    else
        node.mtime = operation.now;
    if (operation.kind == Operation::Truncate)
        node.content.resize(operation.offset);
    if (operation.kind == Operation::Write || (operation.kind == Operation::Fallocate && operation.flags == 0))
        node.content.resize(std::max<size_t>(node.content.size(), end));
    if (operation.kind == Operation::Write) {
        node.content.replace(operation.offset, operation.bytes, contentOf(operation));
        result = static_cast<int64_t>(operation.bytes);
    }
    if (operation.flags & TBFS_PUNCH_HOLE && operation.kind == Operation::Fallocate)
        for (uint64_t i = operation.offset; i < std::min<uint64_t>(end, node.content.size()); i++)
            node.content[i] = 0;
    return result;
}

int64_t Model::read(const Operation &operation, const Node &node) {
    if (!S_ISREG(node.mode) && !S_ISLNK(node.mode))
        return S_ISDIR(node.mode) ? -EISDIR : -EINVAL;
    size_t begin = std::min<size_t>(operation.offset, node.content.size());
    return sumOf(node.content.substr(begin, operation.bytes));
}

int64_t Model::run(const Operation &operation) {
    if (operation.kind == Operation::MergeSome)
        return 0;
    if (operation.kind == Operation::Close)
        return close(operation);
    if (operation.kind == Operation::Link)
        return link(operation);
    if (operation.kind > Operation::Rename) {
        int64_t found = resolve(operation.path);
        if (found < 0)
            return found;
        Node &node = files.at(static_cast<uint64_t>(found)).node;
        return operation.kind == Operation::Read ? read(operation, node) : change(operation, node);
    }
    Place at = place(operation.path);
    if (at.dir < 0)
        return at.dir;
    if (operation.kind <= Operation::Symlink)
        return create(operation, at);
    return operation.kind == Operation::Rename ? rename(operation, at) : remove(operation, at);
}

void Model::addTo(Tree &tree, const std::string &path, uint64_t ino) const {
    tree[path] = files.at(ino).node;
    for (const auto &[name, below] : files.at(ino).entries)
        addTo(tree, (path == "/" ? path : path + "/") + name, below);
}

Tree Model::tree() const {
    Tree tree;
    addTo(tree, "/", 1);
    return tree;
}
