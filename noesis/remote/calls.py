"""Each call of the API once: where it goes, what it sends, and what the answer is."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, Generic, Literal, TypedDict, TypeVar
from urllib.parse import quote

import msgspec

from noesis.errors import InvalidInput, NoesisError
from noesis.memory import MemoryType, Mode
from noesis.remote.problems import problem
from noesis.remote.values import (
    Accepted,
    Assembled,
    Found,
    Indexed,
    Memory,
    Message,
    New,
    Page,
    Stats,
)

T = TypeVar("T")

PAGE = 200
"""Memories that are fetched at a time where all are wanted."""


class Call(msgspec.Struct, Generic[T], frozen=True):
    """A request and the type of its answer; `body` is JSON, `empty` what an answer without a body means."""

    method: str
    path: str
    answer: type[T]
    body: bytes | None = None
    params: dict[str, str] = {}
    empty: T | None = None
    media_type: str = "application/json"

    @property
    def headers(self) -> dict[str, str]:
        """What the request says of its body."""
        return {} if self.body is None else {"content-type": self.media_type}

    def decode(self, content: bytes) -> T:
        """The answer as a value."""
        if not content and self.empty is not None:
            return self.empty
        return msgspec.json.decode(content, type=self.answer)


class NewFields(TypedDict, total=False):
    """What a new memory may have besides its text."""

    memory_type: MemoryType | str
    priority: int
    tags: Sequence[str]
    ttl_days: float
    session_id: str
    source: str
    position: int
    author: str
    author_role: str
    created_at: datetime


class Filters(TypedDict, total=False):
    """Which memories a question means; `after` and `before` need a time zone.

    `agent_id` names another agent, which takes `cross_agent` and the permission for it.
    """

    memory_types: Sequence[MemoryType | str]
    tags: Sequence[str]
    session_id: str
    after: datetime
    before: datetime
    agent_id: str
    cross_agent: bool


class SearchFields(Filters, total=False):
    """What a search may have besides its question; `archive` says when to look into the archive."""

    limit: int
    mode: Mode | str
    archive: Literal["auto", "never", "only", "always"]


class Changes(TypedDict, total=False):
    """What to change of a memory; a priority of None goes back to that of the type."""

    text: str
    memory_type: MemoryType | str
    priority: int | None
    tags: Sequence[str]
    ttl_days: float
    pinned: bool


class TurnOptions(TypedDict, total=False):
    """What a host may say of a turn besides its messages."""

    is_heartbeat: bool


# What a server whose context engine is switched off answers.
_NOTHING = Assembled(text="", token_count=0, memories=[])
_NONE = Accepted(accepted=0)


def index(text: str, fields: NewFields) -> Call[Indexed]:
    """Store one memory."""
    return Call("POST", "/api/v1/memories", Indexed, _json({"text": text, **fields}))


def bulk(news: Iterable[New]) -> Call[bytes]:
    """Store many memories; the answer is NDJSON."""
    lines = b"".join(msgspec.json.encode(new) + b"\n" for new in news)
    return Call("POST", "/api/v1/memories/bulk", bytes, lines, media_type="application/x-ndjson")


def bulk_answers(content: bytes) -> list[Indexed | NoesisError]:
    """What became of each memory, in order."""
    return [_bulk_answer(line) for line in content.splitlines() if line.strip()]


def _bulk_answer(line: bytes) -> Indexed | NoesisError:
    answer = msgspec.json.decode(line, type=dict[str, Any])
    return msgspec.convert(answer, Indexed) if "id" in answer else problem(answer)


def search(query: str, fields: SearchFields) -> Call[Found]:
    """Search by meaning and words."""
    return Call("POST", "/api/v1/search", Found, _json({"query": query, **fields}))


def search_archive(query: str, fields: SearchFields) -> Call[Found]:
    """Search the archive."""
    return Call("POST", "/api/v1/archive/search", Found, _json({"query": query, **fields}))


def recall(session_id: str | None, limit: int) -> Call[Page]:
    """The newest memories."""
    return Call("POST", "/api/v1/recall", Page, _json({"session_id": session_id, "limit": limit}))


def page(cursor: str | None, limit: int, filters: Filters) -> Call[Page]:
    """One page of a list.  Raises InvalidInput for several types or tags, which a list takes one of."""
    params = {"limit": str(limit)}
    for name, value in {"cursor": cursor, **filters}.items():
        if value is not None:
            params[_SINGULAR.get(name, name)] = _param(name, value)
    return Call("GET", "/api/v1/memories", Page, params=params)


_SINGULAR = {"memory_types": "memory_type", "tags": "tag"}


def _param(name: str, value: Any) -> str:
    if name in _SINGULAR:
        if len(value) != 1:
            raise InvalidInput(f"A list is filtered by one of {name}.", field=name)
        return str(value[0])
    if isinstance(value, datetime):
        return value.isoformat()
    return str(value).lower() if isinstance(value, bool) else str(value)


def get(memory_id: str) -> Call[Memory]:
    """One memory."""
    return Call("GET", _of(memory_id), Memory)


def update(memory_id: str, changes: Changes) -> Call[Memory]:
    """Correct a memory."""
    return Call("PATCH", _of(memory_id), Memory, msgspec.json.encode(changes))


def delete(memory_id: str) -> Call[Memory]:
    """Take a memory out of every answer."""
    return Call("DELETE", _of(memory_id), Memory)


def undelete(memory_id: str) -> Call[Memory]:
    """Bring a deleted memory back."""
    return Call("POST", f"{_of(memory_id)}/undelete", Memory)


def stats() -> Call[Stats]:
    """Counts."""
    return Call("GET", "/api/v1/stats", Stats)


def assemble(
    prompt: str, session_id: str | None, token_budget: int | None, deadline_ms: int | None
) -> Call[Assembled]:
    """What goes into a prompt."""
    body = {
        "prompt": prompt,
        "session_id": session_id,
        "token_budget": token_budget,
        "deadline_ms": deadline_ms,
    }
    return Call("POST", "/api/v1/context/assemble", Assembled, _json(body), empty=_NOTHING)


def commit_turn(
    session_id: str, advancement_key: str, messages: Sequence[Message], options: TurnOptions
) -> Call[Accepted]:
    """Hand over a turn."""
    body = {
        "session_id": session_id,
        "advancement_key": advancement_key,
        "messages": messages,
        **options,
    }
    return Call("POST", "/api/v1/context/turns", Accepted, _json(body), empty=_NONE)


def _of(memory_id: str) -> str:
    """The path of a memory.  Raises InvalidInput for what could be no step of a path or several."""
    if not memory_id or "/" in memory_id:
        raise InvalidInput("This is not an id.", field="id")
    return f"/api/v1/memories/{quote(memory_id, safe='').replace('.', '%2E')}"


def _json(body: dict[str, Any]) -> bytes:
    """Without what was not given: the server's own default holds."""
    return msgspec.json.encode({name: value for name, value in body.items() if value is not None})
