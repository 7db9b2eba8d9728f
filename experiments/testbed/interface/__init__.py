# SPDX-License-Identifier: BSD-3-Clause
"""The Python interface: run, results, exec and crash as functions.

The functions take the options of the commands, and use the same steps. `import testbed` offers them as `testbed.run`,
`testbed.results`, `testbed.exec` and `testbed.crash`. Type checkers understand `from testbed.interface import run`.
All errors are exceptions of `testbed.errors`, each with a message of one sentence that names the input and the fix.
"""

from .functions import Ended, crash, exec, results, run

__all__ = ["Ended", "crash", "exec", "results", "run"]
