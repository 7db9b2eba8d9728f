-- SPDX-License-Identifier: BSD-3-Clause
-- A table of @rows rows of about 120 bytes, keyed by their number.
CREATE TABLE kv (key INTEGER PRIMARY KEY, value TEXT NOT NULL);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < @rows)
INSERT INTO kv SELECT i, printf('%0100d', i) FROM n;
