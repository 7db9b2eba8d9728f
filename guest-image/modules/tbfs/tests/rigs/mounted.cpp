// SPDX-License-Identifier: BSD-3-Clause
#include "mounted.hpp"

#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <utility>

static constexpr size_t BlockBytes = TBFS_BLOCK_BYTES;

struct tbfs_name nameOf(const std::string &name) { return {name.data(), name.size()}; }

// Separate aligned memory, so that a sanitizer detects accesses beyond its ends.
static uint8_t *allocate(size_t bytes) {
    void *memory = aligned_alloc(BlockBytes, (bytes + BlockBytes - 1) / BlockBytes * BlockBytes);
    if (!memory)
        throw std::bad_alloc();
    return static_cast<uint8_t *>(memory);
}

Medium makeMedium(uint64_t blocks, uint64_t inodes) {
    uint64_t bytes = blocks * BlockBytes;
    std::unique_ptr<uint8_t, void (*)(void *)> base(allocate(bytes), free);
    memset(base.get(), 0xa5, bytes);
    struct tbfs_layout layout = {.journal_bytes = 0, .inode_count = inodes, .label = "test"};
    if (tbfs_make({base.get(), bytes}, &layout, 1000) < 0)
        throw std::runtime_error("no file system could be made");
    return Medium(base.get(), base.get() + bytes);
}

Mounted::Mounted(Medium &medium, const struct tbfs_options &options)
    : base(allocate(medium.size())), bytes(medium.size()) {
    memcpy(base, medium.data(), bytes);
    if (recorder)
        recorder->base = base;
    int64_t needed = tbfs_memory_bytes({base, bytes});
    mount_status = static_cast<int>(needed);
    if (needed < 0)
        return;
    memory.resize(static_cast<size_t>(needed) / sizeof(uint64_t));
    mount_status = tbfs_mount(&mounted, {base, bytes}, &options, memory.data());
}

Mounted::~Mounted() { free(base); }

Medium Mounted::medium() const { return Medium(base, base + bytes); }

Node Mounted::read(uint64_t ino) {
    struct tbfs_inode inode;
    if (tbfs_inode_get(&mounted, ino, &inode) < 0)
        throw std::runtime_error("an inode cannot be read");
    Node node{ino, inode.mode, inode.links, inode.uid, inode.gid, inode.rdev, inode.ctime, inode.mtime, {}};
    if (!S_ISREG(inode.mode) && !S_ISLNK(inode.mode))
        return node;
    if (inode.size > 64 * bytes)
        throw std::runtime_error("a file is too large to be compared");
    node.content.resize(inode.size);
    if (tbfs_read(&mounted, ino, 0, node.content.data(), inode.size) != static_cast<int64_t>(inode.size))
        throw std::runtime_error("a file cannot be read");
    return node;
}

void Mounted::addTo(Tree &tree, const std::string &path, uint64_t ino) {
    Node node = read(ino);
    tree[path] = node;
    if (!S_ISDIR(node.mode))
        return;
    if (path.size() > 4096 || tree.size() > 10000)
        throw std::runtime_error("directories have no end");
    struct tbfs_listed listed;
    int status;
    for (uint64_t position = 0; (status = tbfs_readdir(&mounted, ino, &position, &listed)) > 0;)
        addTo(tree, (path == "/" ? path : path + "/") + std::string(listed.name.text, listed.name.bytes), listed.ino);
    if (status < 0)
        throw std::runtime_error("a directory cannot be read");
}

Tree Mounted::tree() {
    Tree tree;
    uint64_t threshold = std::exchange(mounted.options.hybrid.gc_read_bytes, TBFS_GC_NEVER);
    addTo(tree, "/", TBFS_ROOT_INODE);
    mounted.options.hybrid.gc_read_bytes = threshold;
    return tree;
}

Tree withoutNumbers(Tree tree) {
    for (auto &[path, node] : tree)
        node.ino = 0;
    return tree;
}

std::vector<std::string> Mounted::faults() {
    std::vector<std::string> found;
    std::vector<uint64_t> room(tbfs_check_memory_bytes(&mounted) / 8 + 1);
    auto tell = [](void *context, const struct tbfs_fault *fault) {
        static_cast<std::vector<std::string> *>(context)->push_back(
            std::string(fault->what) + ": " + std::to_string(fault->ino) + ", " + std::to_string(fault->number));
    };
    tbfs_check(&mounted, room.data(), tell, &found);
    return found;
}

static std::string wordsOf(const Node &node) {
    std::string text = "inode " + std::to_string(node.ino) + " mode " + std::to_string(node.mode) + " links " +
                       std::to_string(node.links) + " size " + std::to_string(node.content.size()) + " ctime " +
                       std::to_string(node.ctime) + " mtime " + std::to_string(node.mtime);
    return text + " content " + std::to_string(std::hash<std::string>()(node.content));
}

std::string describe(const Tree &tree, const Tree &other) {
    for (const auto &[path, node] : tree) {
        auto found = other.find(path);
        if (found == other.end())
            return path + " is there";
        if (!(found->second == node))
            return path + ": " + wordsOf(node) + " instead of " + wordsOf(found->second);
    }
    for (const auto &[path, node] : other)
        if (!tree.contains(path))
            return path + " is not there";
    return "no difference";
}
