/* SPDX-License-Identifier: BSD-3-Clause */
/* A library that nobody recompiled: its writes escape the pass. */
void write_escaping(char *to);
void write_escaping(char *to) { *to = 1; }
