"""The client library for asyncio."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Sequence
from types import TracebackType
from typing import TypeVar, Unpack

import httpx

from noesis.errors import NoesisError
from noesis.remote import calls
from noesis.remote.calls import Call, Changes, Filters, NewFields, SearchFields, TurnOptions
from noesis.remote.connecting import TIMEOUT_S, address, headers, timeout
from noesis.remote.problems import raise_for_problem, unreachable
from noesis.remote.values import Accepted, Assembled, Found, Indexed, Memory, Message, New, Page, Stats

T = TypeVar("T")


class AsyncNoesisClient:
    """Calls a running Noesis; every method is one request, safe to use from many tasks.

    `token` is one of the server's; a gateway's names the agent it acts for in `agent`, an agent's may
    leave it out.  Close it, or use it in `async with`.  Problems are raised as the classes of
    `noesis.errors`; a server that does not answer is an Unreachable.
    """

    def __init__(
        self, url: str, token: str, *, agent: str | None = None, timeout_s: float = TIMEOUT_S
    ) -> None:
        self._http = httpx.AsyncClient(
            base_url=address(url), headers=headers(token, agent), timeout=timeout(timeout_s), trust_env=False
        )

    @classmethod
    def over(cls, http: httpx.AsyncClient) -> AsyncNoesisClient:
        """A client that speaks through `http`, which knows the address and the token; its owner closes it."""
        client = cls.__new__(cls)
        client._http = http
        return client

    async def aclose(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def __aenter__(self) -> AsyncNoesisClient:
        """The client itself."""
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close it."""
        await self.aclose()

    async def index(self, text: str, **fields: Unpack[NewFields]) -> Indexed:
        """Store a memory; a repeat is answered with the id of the one that is there."""
        return await self._send(calls.index(text, fields))

    async def index_many(self, news: Iterable[New]) -> list[Indexed | NoesisError]:
        """Store many memories in one request; one that cannot be stored fails alone.  Answers are in order."""
        answer = await self._request(calls.bulk(news))
        return calls.bulk_answers(answer)

    async def search(self, query: str, **fields: Unpack[SearchFields]) -> Found:
        """The memories that answer a question, by meaning and words, best first."""
        return await self._send(calls.search(query, fields))

    async def search_archive(self, query: str, **fields: Unpack[SearchFields]) -> Found:
        """The archived memories that answer a question, best first."""
        return await self._send(calls.search_archive(query, fields))

    async def recall(self, *, session_id: str | None = None, limit: int = 20) -> list[Memory]:
        """The newest memories, newest first."""
        return (await self._send(calls.recall(session_id, limit))).memories

    async def page(self, *, cursor: str | None = None, limit: int = 50, **filters: Unpack[Filters]) -> Page:
        """One page of the memories that fit, newest first; a list takes one memory type and one tag."""
        return await self._send(calls.page(cursor, limit, filters))

    async def memories(self, **filters: Unpack[Filters]) -> AsyncIterator[Memory]:
        """Every memory that fits, newest first, fetched page by page."""
        cursor: str | None = None
        while True:
            page = await self._send(calls.page(cursor, calls.PAGE, filters))
            for memory in page.memories:
                yield memory
            cursor = page.cursor
            if cursor is None:
                return

    async def get(self, memory_id: str) -> Memory:
        """One memory, whole, from the active table or the archive.  Raises NotFound."""
        return await self._send(calls.get(memory_id))

    async def update(self, memory_id: str, **changes: Unpack[Changes]) -> Memory:
        """Correct a memory; its id and time of creation stay.  Raises NotFound."""
        return await self._send(calls.update(memory_id, changes))

    async def delete(self, memory_id: str) -> Memory:
        """Take a memory out of every answer; `undelete` brings it back.  Raises NotFound."""
        return await self._send(calls.delete(memory_id))

    async def undelete(self, memory_id: str) -> Memory:
        """Bring a deleted memory back.  Raises NotFound or Conflict."""
        return await self._send(calls.undelete(memory_id))

    async def stats(self) -> Stats:
        """Counts of what is remembered, as the API gives them."""
        return await self._send(calls.stats())

    async def assemble(
        self,
        prompt: str = "",
        *,
        session_id: str | None = None,
        token_budget: int | None = None,
        deadline_ms: int | None = None,
    ) -> Assembled:
        """The block of memories for a prompt; empty also when the server's context engine is switched off."""
        return await self._send(calls.assemble(prompt, session_id, token_budget, deadline_ms))

    async def commit_turn(
        self,
        session_id: str,
        advancement_key: str,
        messages: Sequence[Message],
        **options: Unpack[TurnOptions],
    ) -> Accepted:
        """Hand over what was said in a turn; it is safe when this returns, and captured soon after."""
        return await self._send(calls.commit_turn(session_id, advancement_key, messages, options))

    async def _send(self, call: Call[T]) -> T:
        return call.decode(await self._request(call))

    async def _request(self, call: Call[T]) -> bytes:
        try:
            response = await self._http.request(
                call.method, call.path, content=call.body, params=call.params, headers=call.headers
            )
        except httpx.HTTPError as error:
            raise unreachable(self._http.base_url, error) from error
        raise_for_problem(response.status_code, response.content)
        return response.content
