-- SPDX-License-Identifier: BSD-3-Clause
-- Prints @operations updates of scattered rows, each a transaction of its own.
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < @operations)
SELECT printf('UPDATE kv SET value = printf(''%%0100d'', %d) WHERE key = %d;', i, 1 + (i * 2654435761) % @rows) FROM n;
