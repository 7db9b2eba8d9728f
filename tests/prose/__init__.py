# SPDX-License-Identifier: BSD-3-Clause
"""The language of documents, comments and messages: their texts, and the rules that `tests/lint.sh` checks on them."""
