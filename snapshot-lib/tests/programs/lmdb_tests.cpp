// SPDX-License-Identifier: BSD-3-Clause
//
// LMDB with one writer and readers beside it, on msync() and on Snapshot: a reader sees whole transactions, and so does
// a process that opens the file after a kill.
#include <gtest/gtest.h>
#include <lmdb.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "killed.hpp"

using programs::Acknowledged;
using programs::killedAfter;

namespace {

constexpr int Keys = 40; // several pages with values of this size
constexpr size_t ValueWords = 64;
using Progress = Acknowledged<1>;

void check(int status, const char *call) {
    if (status != 0)
        throw std::runtime_error(std::string(call) + ": " + mdb_strerror(status));
}

class Database {
  public:
    explicit Database(const std::string &path) {
        setenv("SNAPSHOT_DIR", path.c_str(), 1); // LMDB's lock file is no data
        check(mdb_env_create(&env), "mdb_env_create");
        check(mdb_env_set_mapsize(env, 64 << 20), "mdb_env_set_mapsize"); // a reader that does not run keeps old pages
        check(mdb_env_open(env, path.c_str(), MDB_NOSUBDIR | MDB_WRITEMAP, 0644), "mdb_env_open");
        MDB_txn *transaction = begin(0);
        check(mdb_dbi_open(transaction, nullptr, 0, &db), "mdb_dbi_open");
        check(mdb_txn_commit(transaction), "mdb_txn_commit");
    }
    ~Database() { mdb_env_close(env); }
    Database(const Database &) = delete;
    Database &operator=(const Database &) = delete;

    // All keys get the number of the transaction, in each word of their values.
    void write(uint64_t number) {
        MDB_txn *transaction = begin(0);
        std::vector<uint64_t> value(ValueWords, number);
        int status = 0;
        for (int i = 0; i < Keys && status == 0; i++) {
            std::string name = "key" + std::to_string(i);
            MDB_val key{name.size(), name.data()}, data{value.size() * sizeof(value[0]), value.data()};
            status = mdb_put(transaction, db, &key, &data, 0);
        }
        if (status != 0)
            mdb_txn_abort(transaction); // its lock would outlive the mapping that it lies in
        check(status, "mdb_put");
        check(mdb_txn_commit(transaction), "mdb_txn_commit");
    }

    // The number of the transaction that a reader sees; an error if it sees parts of two.
    uint64_t read() {
        MDB_txn *transaction = begin(MDB_RDONLY);
        MDB_cursor *cursor = nullptr;
        check(mdb_cursor_open(transaction, db, &cursor), "mdb_cursor_open");
        MDB_val key, data;
        uint64_t number = 0, words = 0, wrong = 0;
        while (mdb_cursor_get(cursor, &key, &data, MDB_NEXT) == 0)
            for (size_t at = 0; at < data.mv_size; at += sizeof(number), words++) {
                uint64_t word = 0;
                memcpy(&word, static_cast<char *>(data.mv_data) + at, sizeof(word));
                number = words ? number : word;
                wrong += word != number;
            }
        mdb_cursor_close(cursor);
        mdb_txn_abort(transaction);
        if (wrong || (words && words != Keys * ValueWords))
            throw std::runtime_error(std::to_string(wrong) + " of " + std::to_string(words) + " words are not of " +
                                     "transaction " + std::to_string(number));
        return number;
    }

  private:
    MDB_txn *begin(unsigned flags) {
        MDB_txn *transaction = nullptr;
        check(mdb_txn_begin(env, nullptr, flags, &transaction), "mdb_txn_begin");
        return transaction;
    }

    MDB_env *env = nullptr;
    MDB_dbi db = 0;
};

// Until the writer is done; no transaction that was acknowledged before a read is missing from it. Two reads may see
// the second transaction and then the first: a reader of LMDB that is held up between looking up the last number and
// following its meta page, while the writer goes two transactions on, sees the second before its commit has ended.
void readAll(Database &database, const Progress &progress, const std::atomic<bool> &done, std::string &problem) try {
    while (!done) {
        uint64_t acknowledged = progress.rounds[0], found = database.read();
        if (found < acknowledged)
            throw std::runtime_error("transaction " + std::to_string(found) + " though " +
                                     std::to_string(acknowledged) + " had been acknowledged");
    }
} catch (const std::exception &error) {
    problem = error.what();
}

std::string writeBesideReaders(Database &database, uint64_t transactions, Progress &progress) {
    std::atomic<bool> done = false;
    std::string problems[3];
    std::thread first([&] { readAll(database, progress, done, problems[0]); });
    std::thread second([&] { readAll(database, progress, done, problems[1]); });
    try {
        for (uint64_t number = 1; number <= transactions; number++) {
            database.write(number);
            progress.rounds[0] = number;
        }
    } catch (const std::exception &error) {
        problems[2] = error.what();
    }
    done = true;
    first.join();
    second.join();
    return problems[0] + problems[1] + problems[2];
}

class Lmdb : public testing::Test {
  protected:
    Lmdb() : directory(testing::TempDir() + "lmdb-" LMDB_ENGINE "-" + std::to_string(getpid())) {
        std::filesystem::create_directories(directory);
    }
    ~Lmdb() override { std::filesystem::remove_all(directory); }

    std::string directory, path = directory + "/db";
};

} // namespace

TEST_F(Lmdb, ReadersSeeWholeTransactionsBesideAWriter) {
    Progress *progress = Progress::make();
    {
        Database database(path);
        EXPECT_EQ(writeBesideReaders(database, 500, *progress), "");
    }
    EXPECT_EQ(Database(path).read(), 500u);
}

TEST_F(Lmdb, AWriterThatIsKilledBesideReadersLeavesAWholeTransaction) {
    for (uint64_t least : {1, 30, 200}) {
        Progress *progress = Progress::make();
        std::filesystem::remove_all(directory);
        std::filesystem::create_directories(directory);
        int status = killedAfter(least, *progress, [&] {
            Database database(path);
            fprintf(stderr, "%s\n", writeBesideReaders(database, 1 << 20, *progress).c_str());
        });
        ASSERT_EQ(status, -SIGKILL);
        uint64_t found = Database(path).read();
        EXPECT_GE(found, progress->rounds[0]);
        EXPECT_LE(found, progress->rounds[0] + 1);
    }
}
