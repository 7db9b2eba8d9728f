# SPDX-License-Identifier: BSD-3-Clause
"""The job of a guest: programs of this host, files and Debian packages."""
