/* SPDX-License-Identifier: BSD-3-Clause */
/* The seeded bug of a runtime that has them, for tests that break one rule at most. */
extern const char *snapshot_seeded_bug;
const char *snapshot_seeded_bug = "";
