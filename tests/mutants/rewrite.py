# SPDX-License-Identifier: BSD-3-Clause
"""Mutant schemata: one source with every mutant in it; a global variable chooses one mutant at run time."""

from mutants.sites import Range, Site

PREAMBLE = "extern int mutant(int);\n#line 1\n"


def runs(swaps: list[Site]) -> list[list[Site]]:
    """Swaps that share a statement, in order: A with B, B with C."""
    groups: list[list[Site]] = []
    for site in sorted(swaps, key=lambda s: s.ranges[0].begin):
        if groups and groups[-1][-1].ranges[1].begin == site.ranges[0].begin:
            groups[-1].append(site)
        else:
            groups.append([site])
    return groups


class Rewriter:
    def __init__(self, text: str, sites: list[Site]) -> None:
        self.text = text
        self.edits: list[tuple[int, int, list[Site]]] = []
        for site in sites:
            if site.kind != "swap":
                self.edits += [(r.begin, r.end, [site]) for r in site.ranges]
        for group in runs([s for s in sites if s.kind == "swap"]):
            self.edits.append((group[0].ranges[0].begin, group[-1].ranges[1].end, group))
        self.edits.sort(key=lambda e: (e[0], -e[1], e[2][0].kind != "swap"))

    def render(self, begin: int, end: int, inside: int = -1) -> str:
        """Text of a range with its edits, except edits up to number `inside`, which are already rendered."""
        out, at = [], begin
        for i, (first, last, sites) in enumerate(self.edits):
            if i <= inside or first < at or last > end:
                continue
            out += [self.text[at:first], self.swap(sites, i) if sites[0].kind == "swap" else self.drop(sites[0], i)]
            at = last
        return "".join(out) + self.text[at:end]

    def drop(self, site: Site, index: int) -> str:
        first, last, _ = self.edits[index]
        kept = self.render(first, last, index)
        value = next((r.value for r in site.ranges if r.begin == first), "") or site.value
        if not value:
            return f"if (!mutant({site.number})) {kept}"
        return f"(mutant({site.number}) ? {value} : {kept})"

    def swap(self, group: list[Site], index: int) -> str:
        statements: list[Range] = [group[0].ranges[0], *(site.ranges[1] for site in group)]
        raw = [self.text[r.begin : r.end] for r in statements]
        out = "{ "
        for i, site in enumerate(group):
            order = [*raw[:i], raw[i + 1], raw[i], *raw[i + 2 :]]
            out += f"if (mutant({site.number})) {{ {' '.join(order)} }} else "
        return out + "{ " + " ".join(self.render(r.begin, r.end, index) for r in statements) + " } }"

    def whole(self) -> str:
        return PREAMBLE + self.render(0, len(self.text))
