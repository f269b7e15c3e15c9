"""The tools: each one a call of the API, with words for the model that chooses among them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from noesis.mcp import shown
from noesis.mcp.arguments import (
    Arguments,
    IdArguments,
    IndexArguments,
    RecallArguments,
    SearchArguments,
    StatsArguments,
    UpdateArguments,
)
from noesis.remote.asynchronous import AsyncNoesisClient

Run = Callable[[AsyncNoesisClient, Any], Awaitable["Answer"]]


class Answer(msgspec.Struct, frozen=True):
    """What a tool gives: words for a model, and the same as a value for programs."""

    text: str
    value: Any


class Tool(msgspec.Struct, frozen=True, kw_only=True):
    """A tool; `reads` says that it changes nothing, `takes_away` that it can undo what was there."""

    name: str
    title: str
    description: str
    arguments: type[Arguments]
    run: Run
    reads: bool = True
    takes_away: bool = False


async def _search(client: AsyncNoesisClient, given: SearchArguments) -> Answer:
    found = await client.search(given.query, **_wanted(given))
    return Answer(shown.found(found), found)


async def _search_archive(client: AsyncNoesisClient, given: SearchArguments) -> Answer:
    found = await client.search_archive(given.query, **_wanted(given))
    return Answer(shown.found(found), found)


def _wanted(given: SearchArguments) -> Any:
    """What was given besides the question; what was not is the server's to decide."""
    fields = msgspec.structs.asdict(given)
    del fields["query"]
    return {name: value for name, value in fields.items() if value not in (None, [], False)}


async def _index(client: AsyncNoesisClient, given: IndexArguments) -> Answer:
    fields: Any = msgspec.structs.asdict(given)
    del fields["text"]
    stored = await client.index(given.text, **{k: v for k, v in fields.items() if v is not None})
    return Answer(shown.stored(stored), stored)


async def _recall(client: AsyncNoesisClient, given: RecallArguments) -> Answer:
    memories = await client.recall(session_id=given.session_id, limit=given.limit)
    return Answer(shown.recalled(memories), {"memories": memories})


async def _get(client: AsyncNoesisClient, given: IdArguments) -> Answer:
    memory = await client.get(given.id)
    return Answer(shown.whole(memory), memory)


async def _update(client: AsyncNoesisClient, given: UpdateArguments) -> Answer:
    fields: Any = {
        k: v for k, v in msgspec.structs.asdict(given).items() if v is not msgspec.UNSET and k != "id"
    }
    memory = await client.update(given.id, **fields)
    return Answer(shown.changed(memory), memory)


async def _forget(client: AsyncNoesisClient, given: IdArguments) -> Answer:
    memory = await client.delete(given.id)
    return Answer(shown.forgotten(memory), {"id": memory.id})


async def _stats(client: AsyncNoesisClient, _: StatsArguments) -> Answer:
    stats = await client.stats()
    return Answer(shown.counted(stats), stats)


TOOLS = (
    Tool(
        name="memory_search",
        title="Search memories",
        description="Search what was remembered in earlier conversations and files, by meaning and by words."
        " Use it before you answer about decisions, preferences, people, projects or anything said before."
        " Answers with ids, kinds, dates and scores; where little is found, archived memories too, marked.",
        arguments=SearchArguments,
        run=_search,
    ),
    Tool(
        name="memory_index",
        title="Remember something",
        description="Store one memory for later conversations: a decision, a preference, a fact, context or a"
        " summary of a session. Use it when the user says something worth keeping or asks you to remember it."
        " The same text is stored once; secrets are taken out.",
        arguments=IndexArguments,
        run=_index,
        reads=False,
    ),
    Tool(
        name="memory_recall",
        title="Recall the newest memories",
        description="List the newest memories, newest first, without a question. Use it to see what happened"
        " lately; to find something particular use memory_search.",
        arguments=RecallArguments,
        run=_recall,
    ),
    Tool(
        name="memory_get",
        title="Read one memory",
        description="Read one memory in full by its id, when another tool showed only its beginning.",
        arguments=IdArguments,
        run=_get,
    ),
    Tool(
        name="memory_update",
        title="Correct a memory",
        description="Change the text, kind, priority, tags or life of one memory that is wrong or out of date."
        " Its id stays. What you do not give stays as it is.",
        arguments=UpdateArguments,
        run=_update,
        reads=False,
        takes_away=True,
    ),
    Tool(
        name="memory_forget",
        title="Forget a memory",
        description="Delete one memory by its id: it is in no answer any more. A person can bring it back."
        " Use it when the user asks to forget something, or when a memory is false.",
        arguments=IdArguments,
        run=_forget,
        reads=False,
        takes_away=True,
    ),
    Tool(
        name="memory_search_archive",
        title="Search the archive",
        description="Search archived memories only: those that expired or were put away. Use it when"
        " memory_search does not find what must have been known once.",
        arguments=SearchArguments,
        run=_search_archive,
    ),
    Tool(
        name="memory_stats",
        title="Count memories",
        description="How many memories there are by kind, priority and place, and how the index is.",
        arguments=StatsArguments,
        run=_stats,
    ),
)
"""All tools, the ones most used first."""
