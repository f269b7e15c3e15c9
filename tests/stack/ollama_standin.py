"""The fake Ollama as a container: one that starts without a model, and that other containers can reach.

The fake listens on the loopback address and, like the real one there, refuses foreign host names. So it is told
that its service name is its own, and a plain relay carries connections from outside to it.
"""

import asyncio
from contextlib import suppress

from tests.fakes import ollama

PORT = 11434


async def copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Carry one direction to its end."""
    with suppress(ConnectionError):
        while data := await reader.read(1 << 16):
            writer.write(data)
            await writer.drain()
    writer.close()


async def serve(port: int) -> None:
    """Relay every connection to the fake at `port`, for ever."""

    async def relay(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        inner_reader, inner_writer = await asyncio.open_connection("127.0.0.1", port)
        await asyncio.gather(copy(reader, inner_writer), copy(inner_reader, writer))

    # Every address is meant: the container's own network is its only one.
    server = await asyncio.start_server(relay, "0.0.0.0", PORT)
    async with server:
        await server.serve_forever()


def main() -> None:
    """Serve until the container is stopped."""
    ollama.LOCAL_HOSTS = (*ollama.LOCAL_HOSTS[:2], "ollama")
    with ollama.FakeOllama(models=[]) as fake:
        asyncio.run(serve(fake.port))


if __name__ == "__main__":
    main()
