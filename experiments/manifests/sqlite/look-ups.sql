-- SPDX-License-Identifier: BSD-3-Clause
-- @operations rows by their keys, scattered by Knuth's multiplicative hash; the sum shows that they were found.
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < @operations)
SELECT sum(length(value)) FROM n JOIN kv ON key = 1 + (i * 2654435761) % @rows;
