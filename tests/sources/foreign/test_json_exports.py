"""The JSON exports of mem0 and mcp-memory-service."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from noesis.errors import InvalidInput
from noesis.memory import MAX_TAG_CHARS, MAX_TAGS, MemoryType, NewMemory, check_tags
from noesis.sources.foreign.mcp_memory_service import read_mcp_memory_service
from noesis.sources.foreign.mem0 import read_mem0
from noesis.sources.foreign.records import Record, Unreadable
from tests.sources.foreign.samples import CANARY, HOSTILE, SAMPLES

Reader = Callable[[BinaryIO], Iterator[Record | Unreadable]]
READERS: dict[str, Reader] = {"memory": read_mem0, "content": read_mcp_memory_service}


def test_a_mem0_export_is_read() -> None:
    with (SAMPLES / "mem0.json").open("rb") as file:
        first, second, third = list(read_mem0(file))
    assert first == Record(
        memory=NewMemory(
            text="Prefers oat milk in coffee",
            memory_type=MemoryType.PREFERENCE,
            tags=("food", "user_preferences", "preference"),
            session_id="run-1",
            source="mem0",
            author="dev",
            created_at=1_738_829_069_524,
        ),
        agent="barista",
        id="892db2ae-06d9-49e5-8b3e-585ef9b85b8e",
        updated_at=1_738_886_400_000,
        raw_agent="Barista",
    )
    assert isinstance(second, Record)
    assert second.memory.text == 'Lives in Ghent [since 2019], "near the canal" \\'
    assert (second.memory.author, second.memory.author_role) == ("ada", "user")
    assert second.memory.created_at == 1_751_360_400_000  # a time without a zone is UTC
    assert second.expires_at == 1_893_456_000_000
    assert third == Unreadable("entry 3", "memory is missing or blank.")


def test_a_mem0_export_may_be_a_bare_list() -> None:
    (record,) = read_mem0(io.BytesIO(b'[{"memory": "x"}]'))
    assert isinstance(record, Record)
    assert record.memory == NewMemory(text="x", source="mem0")


def test_an_export_of_mcp_memory_service_is_read() -> None:
    with (SAMPLES / "mcp-memory-service.json").open("rb") as file:
        first, second, third = list(read_mcp_memory_service(file))
    assert first == Record(
        memory=NewMemory(
            text="The staging database lives on port 5433.",
            memory_type=MemoryType.FACT,
            tags=("db", "staging", "source:laptop", "note"),
            source="mcp-memory-service",
            created_at=1_767_225_600_250,
        ),
        agent="coder",
        id="a1b2",
        updated_at=1_767_225_601_000,
        raw_agent="coder",
    )
    assert isinstance(second, Record)
    assert (second.memory.memory_type, second.memory.tags) == (MemoryType.DECISION, ("edge", "sqlite"))
    assert second.memory.created_at == 1_769_904_000_000
    assert isinstance(third, Record)
    assert (third.memory.memory_type, third.memory.tags) == (MemoryType.CONTEXT, ("pattern",))


@pytest.mark.parametrize("field", READERS)
@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_entry_fails_alone(field: str, name: str) -> None:
    good = json.dumps({field: "good"}).encode()
    data = b'{"memories": [' + b",".join((good, HOSTILE[name], good)) + b"]}"
    before, bad, after = READERS[field](io.BytesIO(data))
    assert isinstance(before, Record)
    assert isinstance(after, Record)
    assert isinstance(bad, Unreadable)
    assert bad.place == "entry 2"
    assert CANARY not in bad.reason


@pytest.mark.parametrize("field", READERS)
@pytest.mark.parametrize("data", [b"", b"not JSON", b'{"hello": []}', b'{"memories": {}}'])
def test_another_file_is_refused_as_a_whole(field: str, data: bytes) -> None:
    with pytest.raises(InvalidInput):
        list(READERS[field](io.BytesIO(data)))


@pytest.mark.parametrize("field", READERS)
@pytest.mark.parametrize("time", [1e300, -5, "yesterday", "9999-12-31T23:59:59-23:00", True, 10**18])
def test_an_odd_time_does_not_cost_the_memory(field: str, time: object) -> None:
    data = json.dumps([{field: "x", "created_at": time}]).encode()
    for record in READERS[field](io.BytesIO(data)):
        # A truth value is no time at all: then the entry is not what it seems.
        if isinstance(record, Record):
            assert record.memory.created_at is None
        else:
            assert time is True


def test_odd_tags_do_not_cost_the_memory() -> None:
    tags = ["", " a ", "a", "b" * 500, "two\nlines", "\u0000", *map(str, range(100))]
    for record in (
        *read_mem0(io.BytesIO(json.dumps([{"memory": "x", "categories": tags}]).encode())),
        *read_mcp_memory_service(
            io.BytesIO(json.dumps({"memories": [{"content": "x", "tags": tags}]}).encode())
        ),
    ):
        assert isinstance(record, Record)
        assert record.memory.tags[:3] == ("a", "b" * MAX_TAG_CHARS, "two lines")
        assert len(record.memory.tags) == MAX_TAGS
        assert check_tags(record.memory.tags) == record.memory.tags


keys = st.sampled_from(
    ["memory", "content", "text", "tags", "categories", "metadata", "agent_id", "created_at", "type", "id"]
)
entries = st.dictionaries(
    keys,
    st.recursive(
        st.none() | st.integers() | st.floats() | st.text(max_size=5),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3),
        max_leaves=5,
    ),
)


@settings(max_examples=40, deadline=None)
@given(st.lists(entries, max_size=4), st.sampled_from(list(READERS)))
def test_every_entry_comes_out_as_something(values: list[dict[str, Any]], field: str) -> None:
    found = list(READERS[field](io.BytesIO(json.dumps({"memories": values}).encode())))
    assert len(found) == len(values)
