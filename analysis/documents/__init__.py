# SPDX-License-Identifier: BSD-3-Clause
"""Tables, counts and pictures for the documents, made from the numbers of the figures."""
