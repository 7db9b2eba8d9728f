/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-or-later */
/*
 * Rules of the file system that a test can break by name, to prove that it detects the violation. In other builds every
 * TBFS_BUG() is the constant false.
 */
#ifndef TBFS_SEEDED_BUG_H
#define TBFS_SEEDED_BUG_H

#ifdef TBFS_SEEDED_BUGS
extern const char *tbfs_seeded_bug;
#define TBFS_BUG(name) (strcmp(tbfs_seeded_bug, #name) == 0)
#else
#define TBFS_BUG(name) false
#endif

#endif
