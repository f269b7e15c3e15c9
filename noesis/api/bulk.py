"""Bulk index: lines in, lines out, in order, with a bounded number under way."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence

import msgspec
from litestar.types import ASGIApp, Receive, Send
from litestar.types import Scope as ConnectionScope

from noesis.api.bodies import decode
from noesis.api.problems import problem_of
from noesis.api.views import IndexAnswer, IndexRequest, named_agent
from noesis.errors import InvalidInput, NoesisError, TooLarge
from noesis.memory import Indexed, NewMemory

MAX_LINE_BYTES = 2 << 20
MAX_LINES = 100_000
"""More lines want more requests: their answers wait here while the client still sends."""

_BATCH = 64
_UNDER_WAY = 3

Line = NewMemory | NoesisError

Write = Callable[[Sequence[NewMemory]], Awaitable[list[Indexed | NoesisError]]]
"""Stores some memories; outcomes in order."""


def stream_answers(body: AsyncIterator[bytes], write: Write) -> ASGIApp:
    """The response that answers each line of the body with a line.

    It is an ASGI application of its own because the framework's streaming response listens for the
    client's leaving by reading the very body that is still coming in.
    """

    async def respond(_scope: ConnectionScope, _receive: Receive, send: Send) -> None:
        await send(
            {
                "type": "http.response.start",
                "status": 200,
                "headers": [(b"content-type", b"application/x-ndjson")],
            }
        )
        async for line in answer_lines(body, write):
            await send({"type": "http.response.body", "body": line, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    return respond


async def answer_lines(body: AsyncIterator[bytes], write: Write) -> AsyncIterator[bytes]:
    """One JSON line for each line of the body, in order.

    Reading never waits for the client to take its answers: a client that sends everything before it
    reads anything would otherwise wait for us for ever.
    """
    answers: asyncio.Queue[bytes | None] = asyncio.Queue()
    work = asyncio.create_task(_work(body, write, answers))
    try:
        while (answer := await answers.get()) is not None:
            yield answer
        await work
    finally:
        work.cancel()


async def _work(body: AsyncIterator[bytes], write: Write, answers: asyncio.Queue[bytes | None]) -> None:
    """Index batch by batch: while one commits, the next ones are read and embedded."""
    under_way: deque[asyncio.Task[list[bytes]]] = deque()

    async def hand_out() -> None:
        for answer in await under_way.popleft():
            answers.put_nowait(answer)

    try:
        first = 1
        async for batch in _batches(_lines(body)):
            under_way.append(asyncio.create_task(_index(batch, first, write)))
            first += len(batch)
            if len(under_way) > _UNDER_WAY:
                await hand_out()
        while under_way:
            await hand_out()
    finally:
        for task in under_way:
            task.cancel()
        answers.put_nowait(None)


async def _index(batch: Sequence[Line], first: int, write: Write) -> list[bytes]:
    news = [line for line in batch if isinstance(line, NewMemory)]
    results = iter(await write(news))
    outcomes = [next(results) if isinstance(line, NewMemory) else line for line in batch]
    return [_answer(outcome, first + offset) for offset, outcome in enumerate(outcomes)]


def _answer(outcome: Indexed | NoesisError, number: int) -> bytes:
    if isinstance(outcome, NoesisError):
        return msgspec.json.encode(problem_of(outcome) | {"line": number}) + b"\n"
    answer = IndexAnswer(outcome.id, outcome.duplicate, outcome.chunks, outcome.embedding_state)
    return msgspec.json.encode(answer) + b"\n"


async def _batches(lines: AsyncIterator[bytes | NoesisError]) -> AsyncIterator[list[Line]]:
    batch: list[Line] = []
    count = 0
    async for line in lines:
        count += 1
        batch.append(
            _parse(line) if count <= MAX_LINES else TooLarge(f"At most {MAX_LINES:,} lines in one request.")
        )
        if len(batch) == _BATCH:
            yield batch
            batch = []
    if batch:
        yield batch


def _parse(line: bytes | NoesisError) -> Line:
    if isinstance(line, NoesisError):
        return line
    try:
        data = decode(line, IndexRequest)
        if named_agent(data.agent_id) is not None:
            return InvalidInput(
                "agent_id: In a bulk request the agent is named in the header.", field="agent_id"
            )
        return data.to_new()
    except NoesisError as error:
        return error


async def _lines(body: AsyncIterator[bytes]) -> AsyncIterator[bytes | NoesisError]:
    """The lines that are not blank; one over the limit comes as an error, without being held."""
    held = bytearray()
    too_long = False
    async for piece in body:
        *ended, rest = piece.split(b"\n")
        for end in ended:
            line = _whole(held, end, too_long)
            held.clear()
            too_long = False
            if line is not None:
                yield line
        too_long = too_long or len(held) + len(rest) > MAX_LINE_BYTES
        if not too_long:
            held += rest
    if (last := _whole(held, b"", too_long)) is not None:
        yield last


def _whole(held: bytearray, end: bytes, too_long: bool) -> bytes | NoesisError | None:
    if too_long or len(held) + len(end) > MAX_LINE_BYTES:
        return TooLarge(f"A line must have at most {MAX_LINE_BYTES:,} bytes.")
    line = bytes(held) + end
    return line if line.strip() else None
