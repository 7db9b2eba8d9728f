# SPDX-License-Identifier: BSD-3-Clause
"""What a guest is sent to run: programs of this host, files and Debian packages."""
