// SPDX-License-Identifier: BSD-3-Clause
//
// Random operations on a small medium, which is often full, are compared with the model: results of calls, the tree,
// the checker's faults, and all of them again after a mount. A failure prints the seed and the operation's number.
#include <gtest/gtest.h>

#include <random>

#include "model.hpp"

namespace {

struct Kind {
    enum tbfs_data data;
    unsigned atomic_bytes;
    uint64_t blocks, inodes;
    struct tbfs_hybrid hybrid = {};
    enum tbfs_metadata metadata = TBFS_METADATA_UNDO;
};

// The name of a test: the memory of a Kind would be printed without this.
void PrintTo(const Kind &kind, std::ostream *to) {
    static const char *const data[] = {"inplace", "cow", "hybrid"};
    *to << data[kind.data] << (kind.metadata == TBFS_METADATA_LOG ? ", log, " : ", undo, ") << kind.atomic_bytes
        << " bytes, " << kind.blocks << " blocks, logs of " << kind.hybrid.log_block_bytes << ", merged below "
        << kind.hybrid.gc_low_percent << " %";
}

class Random : public testing::TestWithParam<Kind> {};

std::string randomPath(std::mt19937_64 &random) {
    std::string path;
    for (size_t depth = 1 + random() % 3; depth > 0; depth--)
        path += std::string("/") +
                std::string(random() % 9 ? 1 : 40 + random() % 200, static_cast<char>('a' + random() % 5));
    return path;
}

Operation randomOperation(std::mt19937_64 &random, uint32_t now) {
    static constexpr Operation::Kind often[] = {Operation::Create, Operation::Mkdir, Operation::Write,
                                                Operation::Write};
    static constexpr unsigned fallocate_flags[] = {0, TBFS_KEEP_SIZE, TBFS_KEEP_SIZE | TBFS_PUNCH_HOLE};
    Operation operation{.kind = random() % 3 ? static_cast<Operation::Kind>(random() % 14) : often[random() % 4],
                        .path = randomPath(random),
                        .now = now};
    if (operation.kind == Operation::Symlink || operation.kind == Operation::Link ||
        operation.kind == Operation::Rename)
        operation.other = randomPath(random);
    if (operation.kind == Operation::Rename)
        operation.flags = static_cast<unsigned>(random() % 4);
    if (operation.kind == Operation::Unlink) {
        operation.flags = static_cast<unsigned>(random() % 2);
        operation.offset = random() % 20000;
    }
    if (operation.kind == Operation::Fallocate)
        operation.flags = fallocate_flags[random() % 3];
    if (operation.kind == Operation::SetMode)
        operation.flags = static_cast<unsigned>(random() % 512);
    if ((operation.kind >= Operation::Write && operation.kind <= Operation::Fallocate) ||
        operation.kind == Operation::Read) {
        operation.offset = random() % (random() % 8 ? 12000 : 3 << 20);
        operation.bytes = 1 + random() % (random() % 2 ? 300 : 20000);
        operation.fill = static_cast<char>('A' + random() % 20);
    }
    if (operation.kind == Operation::Truncate)
        operation.bytes = 0;
    if (operation.kind == Operation::MergeSome)
        operation.bytes = 1 + random() % 4;
    return operation;
}

// True if space may be too short for this operation, with its nodes, and a directory's new block.
bool mayLackRoom(const struct tbfs *fs, const Operation &operation) {
    return fs->blocks.free < operation.bytes / TBFS_BLOCK_BYTES + 12 || fs->inodes.free == 0;
}

// Runs the operation on both. If space was too short, the model omits the operation, or does only the part that was
// done.
void runOnBoth(struct tbfs *fs, Model &model, const Operation &operation) {
    bool may_lack = mayLackRoom(fs, operation);
    int64_t done = run(fs, operation);
    Operation in_model = operation;
    bool is_short = operation.kind == Operation::Write && done > 0 && static_cast<uint64_t>(done) < operation.bytes;
    if (done == -ENOSPC || is_short) {
        ASSERT_TRUE(may_lack) << describe(operation);
    }
    if (done == -ENOSPC)
        return;
    if (is_short)
        in_model.bytes = static_cast<uint64_t>(done);
    ASSERT_EQ(done, model.run(in_model)) << describe(operation);
}

void mustBeTheSame(Mounted &mounted, const Model &model, const std::string &when) {
    Tree found = withoutNumbers(mounted.tree()), wanted = model.tree();
    ASSERT_TRUE(found == wanted) << when << ": " << describe(found, wanted);
    ASSERT_EQ(mounted.faults(), std::vector<std::string>()) << when;
}

void runRandomly(const Kind &kind, uint64_t seed, size_t operations) {
    std::mt19937_64 random(seed);
    struct tbfs_options options = optionsOf(kind.data, kind.atomic_bytes, kind.hybrid, kind.metadata);
    Medium medium = makeMedium(kind.blocks, kind.inodes);
    auto mounted = std::make_unique<Mounted>(medium, options);
    Model model;
    for (size_t i = 0; i < operations; i++) {
        Operation operation = randomOperation(random, static_cast<uint32_t>(2000 + i));
        std::string when = "seed " + std::to_string(seed) + ", " + std::to_string(i) + ": " + describe(operation);
        ASSERT_NO_FATAL_FAILURE(runOnBoth(mounted->fs(), model, operation)) << when;
        if (i % 8 == 0) {
            ASSERT_NO_FATAL_FAILURE(mustBeTheSame(*mounted, model, when));
        }
        if (i % 64 == 63) {
            uint64_t free_blocks = mounted->freeBlocks();
            medium = mounted->medium();
            mounted = std::make_unique<Mounted>(medium, options);
            ASSERT_EQ(mounted->status(), 0) << when;
            ASSERT_EQ(mounted->freeBlocks(), free_blocks) << when;
            ASSERT_NO_FATAL_FAILURE(mustBeTheSame(*mounted, model, when + ", mounted again"));
        }
    }
}

TEST_P(Random, OperationsDoWhatTheModelDoes) {
    for (uint64_t seed = 1; seed <= 6; seed++)
        ASSERT_NO_FATAL_FAILURE(runRandomly(GetParam(), seed, 600));
}

constexpr struct tbfs_hybrid SmallLogs = {512, 64, 4095, 700, TBFS_READ_FORWARD, TBFS_MULTI_PAGE, 0, 0, 0};
constexpr struct tbfs_hybrid EndlessLogs = {2048, 8, 2048, TBFS_GC_NEVER, TBFS_READ_REVERSE, TBFS_MULTI_CALL, 0, 0, 0};
constexpr struct tbfs_hybrid IdleLogs = {512, 8, 2048, TBFS_GC_NEVER, TBFS_READ_REVERSE, TBFS_MULTI_CALL, 90, 98, 0};

INSTANTIATE_TEST_SUITE_P(Policies, Random,
                         testing::Values(Kind{TBFS_DATA_INPLACE, 8, 400, 40}, Kind{TBFS_DATA_INPLACE, 16, 60, 40},
                                         Kind{TBFS_DATA_INPLACE, 64, 400, 12}, Kind{TBFS_DATA_COW, 8, 60, 40},
                                         Kind{TBFS_DATA_COW, 64, 400, 40}, Kind{TBFS_DATA_HYBRID, 8, 400, 40},
                                         Kind{TBFS_DATA_HYBRID, 8, 60, 40, SmallLogs},
                                         Kind{TBFS_DATA_HYBRID, 16, 90, 40, SmallLogs},
                                         Kind{TBFS_DATA_HYBRID, 16, 400, 40, EndlessLogs},
                                         Kind{TBFS_DATA_HYBRID, 8, 400, 40, IdleLogs},
                                         Kind{TBFS_DATA_HYBRID, 8, 90, 40, IdleLogs},
                                         Kind{TBFS_DATA_INPLACE, 8, 60, 40, {}, TBFS_METADATA_LOG},
                                         Kind{TBFS_DATA_COW, 16, 400, 40, {}, TBFS_METADATA_LOG},
                                         Kind{TBFS_DATA_HYBRID, 8, 90, 40, SmallLogs, TBFS_METADATA_LOG}));

} // namespace
