// SPDX-License-Identifier: BSD-3-Clause
// A button in each column's head sorts its table; without this script the tables are as they were written.
"use strict";

const compare = (a, b) => {
  const [x, y] = [a, b].map((cell) => cell?.dataset.sort);
  if (x !== undefined && y !== undefined) return Number(x) - Number(y);
  if (x !== undefined || y !== undefined) return x === undefined ? 1 : -1;
  return (a?.textContent ?? "").localeCompare(b?.textContent ?? "", "en");
};

const sort = (head, column) => {
  const body = head.closest("table").tBodies[0];
  const sign = head.ariaSort === "ascending" ? -1 : 1;
  for (const other of head.parentElement.cells) other.removeAttribute("aria-sort");
  head.ariaSort = sign > 0 ? "ascending" : "descending";
  body.append(...[...body.rows].sort((a, b) => sign * compare(a.cells[column], b.cells[column])));
};

for (const table of document.querySelectorAll("table.sortable")) {
  if (table.tBodies[0].rows.length < 2) continue;
  [...table.tHead.rows[0].cells].forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    button.addEventListener("click", () => sort(head, column));
    head.append(button);
  });
}

// A link to what is folded away unfolds it; so does the table of contents.
const unfold = () => {
  const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (target instanceof HTMLDetailsElement) target.open = true;
};
addEventListener("hashchange", unfold);
unfold();
