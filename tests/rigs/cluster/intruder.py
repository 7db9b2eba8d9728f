# SPDX-License-Identifier: BSD-3-Clause
"""Tries to run a function in each Dask process that listens at a tcp:// or tls:// address, and prints the results.

`intruder.py FOLDER ADDRESS...` presents the certificate of that folder ("-": none). A line per address: "ran as process
N" or "refused".
"""

import asyncio
import os
import sys
from pathlib import Path

from distributed import Security
from distributed.core import rpc
from distributed.protocol.pickle import dumps

PATIENCE_S = 20  # long enough for a loaded host
OPERATIONS = ("run", "run_function")  # for a worker and its nanny; for a scheduler


async def answers(address: str) -> bool:
    """Tell whether a process listens there; Dask would retry a closed port until its timeout."""
    host, _, port = address.partition("://")[2].rpartition(":")
    try:
        _, writer = await asyncio.wait_for(asyncio.open_connection(host, int(port)), PATIENCE_S)
    except (OSError, TimeoutError):
        return False
    writer.close()
    return True


async def attempt(address: str, security: Security, operation: str) -> str:
    there = rpc(address, connection_args=security.get_connection_args("client"), timeout=PATIENCE_S)
    try:
        call = getattr(there, operation)(function=dumps(os.getpid), args=(), kwargs={}, wait=True)
        answer = await asyncio.wait_for(call, PATIENCE_S)
    except (OSError, TypeError, AttributeError, TimeoutError):  # unknown operation, no connection, or no TLS here
        return ""
    finally:
        await there.close_rpc()
    return f"ran as process {answer['result']}" if isinstance(answer, dict) and answer.get("status") == "OK" else ""


async def intrude(address: str, security: Security) -> str:
    tries = [await attempt(address, security, operation) for operation in OPERATIONS if await answers(address)]
    return next(filter(None, tries), "refused")


async def main() -> None:
    folder, *addresses = sys.argv[1:]
    security = Security()
    if folder != "-":
        cert, key = (str(Path(folder, f"host.{kind}")) for kind in ("crt", "key"))
        paths = {"tls_ca_file": str(Path(folder, "ca.crt")), "tls_client_cert": cert, "tls_client_key": key}
        security = Security(require_encryption=False, **paths)
    for came in await asyncio.gather(*(intrude(address, security) for address in addresses)):
        print(came)


if __name__ == "__main__":
    asyncio.run(main())
