# SPDX-License-Identifier: BSD-3-Clause
"""The report: every figure, the scorecard and the configuration of every run, as one HTML page and one PDF.

`index` reads the index of the drawn figures, `machines` collects the machines of their runs, and `runs` the details of
each run. `libraries` has the scripts that draw figures and sort tables. `page` renders the HTML, `pdf` converts it to a
PDF with the fonts of `fonts`, and `build` writes both.
"""
