/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * LMDB's own test programs ask for MDB_FIXEDMAP and, most of them, MDB_NOSYNC. Put between them and the library by the
 * linker (--wrap): they get MDB_WRITEMAP instead, and every commit is durable.
 */
#include <lmdb.h>

int __real_mdb_env_open(MDB_env *env, const char *path, unsigned int flags, mdb_mode_t mode);
int __wrap_mdb_env_open(MDB_env *env, const char *path, unsigned int flags, mdb_mode_t mode);

int __wrap_mdb_env_open(MDB_env *env, const char *path, unsigned int flags, mdb_mode_t mode) {
    const unsigned int replaced = MDB_FIXEDMAP | MDB_NOSYNC;
    return __real_mdb_env_open(env, path, (flags & ~replaced) | MDB_WRITEMAP, mode);
}
