/* SPDX-License-Identifier: BSD-3-Clause */
/* No seeded bug is chosen, in tests that break one rule at most. */
const char *seeded_bug = "";
