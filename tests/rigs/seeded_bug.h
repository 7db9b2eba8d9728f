/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-or-later */
/*
 * Rules of a product that a test can break by name, to prove that it detects the violation. Product sources contain no
 * seeded bugs: a patch inserts them into a copy (tests/seeded_bugs.sh), and the compiler reads this header before each
 * file of the copy.
 */
#ifndef SEEDED_BUG_H
#define SEEDED_BUG_H

#ifdef SEEDED_BUG_CHOSEN /* a string: the program has this bug, and no other */
#define SEEDED_BUG(name) (__builtin_strcmp(SEEDED_BUG_CHOSEN, #name) == 0)
#else
#define SEEDED_BUG(name) (__builtin_strcmp(seeded_bug, #name) == 0)
#ifdef __cplusplus
extern "C" {
#endif
extern const char *seeded_bug; /* the test defines it; "": no bug */
#ifdef __cplusplus
}
#endif
#endif

#endif
