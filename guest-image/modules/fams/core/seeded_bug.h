/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-or-later */
/*
 * Rules of the journal that a test can break by name, to prove that it detects the violation. In other builds every
 * FAMS_BUG() is the constant false.
 */
#ifndef FAMS_SEEDED_BUG_H
#define FAMS_SEEDED_BUG_H

#ifdef FAMS_SEEDED_BUGS
extern const char *fams_seeded_bug;
#define FAMS_BUG(name) (strcmp(fams_seeded_bug, #name) == 0)
#else
#define FAMS_BUG(name) false
#endif

#endif
