"""Our own export comes back as it went out."""

from __future__ import annotations

import io
import json
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from noesis.errors import InvalidInput
from noesis.memory import LATEST_MS, NEVER, MemoryType, NewMemory, to_datetime
from noesis.sources.foreign.ndjson import MAX_LINE_BYTES, read_ndjson
from noesis.sources.foreign.records import Record, Unreadable
from tests.sources.foreign.samples import CANARY, HOSTILE, SAMPLES


def read(*lines: bytes) -> list[Record | Unreadable]:
    return list(read_ndjson(io.BytesIO(b"\n".join(lines))))


def only(line: dict[str, Any]) -> Record:
    (record,) = read(json.dumps(line).encode())
    assert isinstance(record, Record)
    return record


def test_a_sample_is_read_whole() -> None:
    with (SAMPLES / "noesis-export.ndjson").open("rb") as file:
        first, second, third = list(read_ndjson(file))
    assert first == Record(
        memory=NewMemory(
            text="We moved the bakery's website to the new host on 4 May.",
            memory_type=MemoryType.DECISION,
            priority=99,
            tags=("website", "hosting"),
            created_at=1_777_888_800_250,
        ),
        agent="main",
        id="0f6a4d5e-58f4-5c0e-9a6f-1f3f1c6c7a01",
        updated_at=1_777_969_800_000,
        expires_at=NEVER,
        raw_agent="main",
        ignored_fields=2,
    )
    assert isinstance(second, Record)
    assert (second.memory.source, second.memory.position, second.memory.author) == ("sessions/s-17", 3, "Ada")
    assert second.memory.created_at == 1_767_319_445_000
    assert (second.archived, second.archive_reason) == (True, "expired")
    assert second.archived_at == 1_775_098_800_000
    assert isinstance(third, Record)
    assert (third.agent, third.raw_agent, third.expires_at) == (None, "Büro", None)


def test_a_newer_form_is_refused_and_says_so() -> None:
    with pytest.raises(InvalidInput, match="newer version") as caught:
        read(b'{"format": "noesis", "version": 2}', b'{"text": "x"}')
    assert caught.value.field == "version"


def test_another_programs_header_is_refused() -> None:
    with pytest.raises(InvalidInput, match="another program"):
        read(b'{"format": "canary-7Qx", "version": 1}')


def test_a_header_is_one_only_in_the_first_line() -> None:
    (record, header) = read(b'\xef\xbb\xbf{"text": "x"}\r', b'{"format": "noesis", "version": 9}')
    assert isinstance(record, Record)
    assert header == Unreadable("line 2", "text is missing or blank.")


def test_unknown_fields_are_counted() -> None:
    assert only({"text": "x", "a": {"b": [1, 2]}, "c": "1,2,3"}).ignored_fields == 2
    assert only({"text": "x"}).ignored_fields == 0


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_line_fails_alone_and_is_not_repeated(name: str) -> None:
    before, bad, after = read(b'{"text": "before"}', HOSTILE[name], b'{"text": "after"}')
    assert isinstance(before, Record)
    assert isinstance(after, Record)
    assert isinstance(bad, Unreadable)
    assert bad.place == "line 2"
    assert CANARY not in bad.reason


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("priority", "high"),
        ("memory_type", CANARY),
        ("created_at", "yesterday"),
        ("created_at", "2026-05-04T10:00:00"),
        ("updated_at", "1950-01-01T00:00:00Z"),
        ("tags", {"a": 1}),
    ],
)
def test_the_reason_names_the_field(field: str, value: object) -> None:
    (bad,) = read(json.dumps({"text": "x", field: value}).encode())
    assert isinstance(bad, Unreadable)
    assert field in bad.reason
    assert CANARY not in bad.reason


def test_a_line_over_the_limit_fails_alone() -> None:
    long = b'{"text": "' + b"a" * (3 * MAX_LINE_BYTES) + b'"}'
    just = b'{"text": "' + b"a" * (MAX_LINE_BYTES - 12) + b'"}'
    assert len(just) == MAX_LINE_BYTES
    assert [type(each) for each in read(just, b"", long, b'{"text": "x"}')] == [Record, Unreadable, Record]
    assert [type(each) for each in read(long)] == [Unreadable]


times = st.integers(0, LATEST_MS - 1)
texts = st.text(st.characters(exclude_categories=["Cs"]), min_size=1).filter(lambda text: bool(text.strip()))
names = st.none() | texts


@settings(max_examples=40, deadline=None)
@given(
    memory=st.builds(
        NewMemory,
        text=texts,
        memory_type=st.sampled_from(MemoryType),
        priority=st.integers(0, 100),
        tags=st.lists(texts, max_size=3).map(tuple),
        session_id=names,
        source=names,
        position=st.none() | st.integers(0, 2**53),
        author=names,
        author_role=st.none() | st.sampled_from(["user", "tool"]),
        created_at=times,
    ),
    updated_at=times,
    expires_at=st.just(NEVER) | times,
    archived_at=st.none() | times,
)
def test_what_is_exported_comes_back(
    memory: NewMemory, updated_at: int, expires_at: int, archived_at: int | None
) -> None:
    line = msgspec.structs.asdict(memory)
    del line["ttl_days"]
    line |= {"created_at": to_datetime(memory.created_at or 0), "updated_at": to_datetime(updated_at)}
    line["expires_at"] = None if expires_at == NEVER else to_datetime(expires_at)
    line["archived_at"] = None if archived_at is None else to_datetime(archived_at)
    (record,) = read(b'{"format": "noesis", "version": 1}', msgspec.json.encode(line))
    assert record == Record(
        memory=memory,
        updated_at=updated_at,
        expires_at=expires_at,
        archived=archived_at is not None,
        archived_at=archived_at,
    )


@settings(max_examples=40, deadline=None)
@given(st.binary(max_size=300))
def test_no_bytes_break_it(data: bytes) -> None:
    try:
        found = read(data)
    except InvalidInput:
        return
    assert all(isinstance(each, Record | Unreadable) for each in found)
