-- SPDX-License-Identifier: BSD-3-Clause
-- Each update is appended to a write-ahead log.
PRAGMA journal_mode = WAL;
.read updates.sql
