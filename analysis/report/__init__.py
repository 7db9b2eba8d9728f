# SPDX-License-Identifier: BSD-3-Clause
"""The report: every figure, the scorecard and the configuration of every run, as one HTML page and one PDF.

`index` reads the index of the drawn figures and `machines` collects the machines of their runs. `svg` and `fonts`
prepare figures for embedding in a page, `page` renders the HTML, `pdf` converts it to a PDF, and `build` writes both.
"""
