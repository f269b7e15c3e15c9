"""What hypothesis draws for the model test: texts of a small vocabulary, values, questions, callers."""

from __future__ import annotations

from hypothesis import strategies as st
from msgspec import UNSET

from noesis.editing import Edit
from noesis.memory import (
    ArchiveUse,
    MemoryFilter,
    MemoryType,
    Mode,
    NewMemory,
    Role,
    Scope,
    SearchQuery,
)
from tests.operations.model import AGENTS
from tests.support import NOW

COMMON = ("heron", "badger", "wiki", "harbour", "lantern", "copper")
CROWD = "multitude"
DAY_MS = 86_400_000
NUMBERS = 24
"""So few texts that repeats are drawn often."""


def rare(number: int) -> str:
    """A word of its own, without an ending that a stemmer knows."""
    return "zo" + "".join("bdfgkmptvz"[int(digit)] for digit in f"{number:04}")


def text_of(number: int, *, long: bool) -> str:
    """A text with the number's rare word at its end; a long one fills several chunks with common words."""
    first, second = COMMON[number % 6], COMMON[number // 6 % 6]
    return " ".join([*[first, second] * (60 if long else 1), rare(number)])


def crowd(size: int, ttl_days: float) -> list[NewMemory]:
    """So many short memories, more than a search takes from a table and enough for a vector index."""
    return [
        NewMemory(
            text=f"{rare(1000 + number)} {CROWD}",
            ttl_days=ttl_days,
            tags=("crowd",) if number % 50 == 0 else (),
            created_at=NOW - number // 3,
        )
        for number in range(size)
    ]


agents = st.sampled_from(sorted(AGENTS))
numbers = st.integers(0, NUMBERS - 1)
kinds = st.sampled_from(list(MemoryType))
tags = st.lists(st.sampled_from(["x", "y", "x y", "it's"]), max_size=2, unique=True).map(tuple)
ttls = st.sampled_from([0.0, 0.001, 0.5, 1.0, 3.25])
priorities = st.integers(0, 100)
texts = st.builds(text_of, numbers, long=st.integers(0, 5).map(lambda drawn: drawn == 5))
sessions = st.sampled_from([None, None, "s", "s'1"])
sources = st.sampled_from([None, None, "notes/first.md", "notes/second.md"])
times = st.sampled_from([NOW - DAY_MS, NOW - 1, NOW, NOW + DAY_MS])
steps = st.sampled_from([0.001, 0.25, 0.5, 1.0, 2.25, 100.0])
"""In days; the TTLs above are sums of them, so that a step often ends at the very instant of an expiry."""

news = st.builds(
    NewMemory,
    text=texts,
    memory_type=kinds,
    priority=st.none() | priorities,
    tags=tags,
    ttl_days=st.none() | ttls,
    session_id=sessions,
    source=sources,
    position=st.sampled_from([None, None, 0, 7]),
    created_at=st.none() | times,
)
plain_news = st.builds(NewMemory, text=texts, ttl_days=st.none() | ttls)
"""Without a source or a place: here a repeated text is a repeat."""

edits = st.builds(
    Edit,
    text=st.just(UNSET) | texts,
    memory_type=st.just(UNSET) | kinds,
    priority=st.just(UNSET) | st.none() | priorities,
    tags=st.just(UNSET) | tags,
    ttl_days=st.just(UNSET) | ttls,
).filter(lambda edit: edit != Edit())
new_texts = st.builds(Edit, text=texts)
pins = st.builds(Edit, pinned=st.booleans(), memory_type=st.just(UNSET) | kinds)

_SINGLE = (
    st.builds(MemoryFilter, memory_types=st.lists(kinds, min_size=1, max_size=3, unique=True).map(tuple)),
    st.builds(MemoryFilter, tags=tags | st.just(("crowd",))),
    st.builds(MemoryFilter, session_id=sessions),
    st.builds(MemoryFilter, source=sources),
    st.builds(MemoryFilter, after=times),
    st.builds(MemoryFilter, before=times),
    st.builds(MemoryFilter, after=times, before=times),
)
filters = st.one_of(
    st.just(MemoryFilter()),
    *_SINGLE,
    st.builds(MemoryFilter, memory_types=st.tuples(kinds), tags=tags, session_id=sessions, source=sources),
)
callers = st.sampled_from(
    [
        Scope("alpha"),
        Scope("beta", may_read_across=True),
        Scope("gamma", Role.GATEWAY),
        Scope("gamma", Role.ADMIN),
        Scope(None, Role.ADMIN),
    ]
)
owner_or_any = st.none() | st.none() | callers
"""None stands for the memory's owner."""

words = st.sampled_from([*COMMON, CROWD, "unheard"]) | numbers.map(rare)
queries = st.builds(
    SearchQuery,
    text=st.lists(words, min_size=1, max_size=3).map(" ".join),
    limit=st.sampled_from([1, 3, 6, 60, 200]),
    mode=st.sampled_from(Mode),
    filter=filters,
    cross_agent=st.booleans(),
    archive=st.sampled_from(ArchiveUse),
    explain=st.booleans(),
    agent=st.none() | agents,
)
