/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rules of the protocols that a test can break by name, to show that it detects the violation. In the library itself
 * every SEEDED_BUG() is the constant false.
 */
#ifndef SNAPSHOT_SEEDED_BUG_H
#define SNAPSHOT_SEEDED_BUG_H

#include <stdbool.h>
#include <string.h>

#ifdef SNAPSHOT_SEEDED_BUG /* a string, or the name of a variable that holds one */
extern const char *snapshot_seeded_bug;
#define SEEDED_BUG(name) (strcmp(SNAPSHOT_SEEDED_BUG, #name) == 0)
#else
#define SEEDED_BUG(name) false
#endif

#endif
