# SPDX-License-Identifier: BSD-3-Clause
"""The report: every figure, the scorecard and the configuration of every run, as one HTML page and one PDF.

index -> what was drawn; machines -> what it was run on; svg and fonts -> figures that live inside a page;
page -> the HTML; pdf -> the same on paper; build -> all of it.
"""
