# SPDX-License-Identifier: BSD-3-Clause
"""A mock of a guest's monitor."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any


@asynccontextmanager
async def monitor(path: Path, answers: list[dict[str, Any]]) -> AsyncIterator[None]:
    """Serve QMP at that socket: give one of these answers to each query of the device, then close the connection."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b'{"QMP": {"version": {}, "capabilities": []}}\n')
        while chunk := await reader.read(2**16):  # the client waits for each answer, so a chunk is a message
            message = json.loads(chunk)
            if message["execute"] == "query-cxl-ssd":
                if not answers:
                    break
                reply: Any = answers.pop(0)
            else:
                reply = {}
            writer.write(json.dumps({"return": reply, "id": message.get("id")}).encode() + b"\n")
        writer.close()

    server = await asyncio.start_unix_server(serve, path)
    async with server:
        yield
