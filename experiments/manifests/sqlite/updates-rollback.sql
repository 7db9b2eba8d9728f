-- SPDX-License-Identifier: BSD-3-Clause
-- Before each update the page is saved in a rollback journal, which is deleted after it.
PRAGMA journal_mode = DELETE;
.read updates.sql
