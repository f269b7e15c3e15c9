"""Bulk index: a line in, a line out, in order; a bad line fails alone."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, AsyncIterator
from typing import Any

import httpx
import pytest

from noesis.api import bulk as bulk_module
from noesis.embedding import EmbeddingFailure
from noesis.memory import Scope
from noesis.store.filters import EVERYTHING
from tests.operations.samples import MEMORIES, bulk, recall
from tests.support import Product, WordEmbedder


async def test_each_line_is_answered_in_order_and_a_bad_one_fails_alone(alpha: httpx.AsyncClient) -> None:
    lines: list[Any] = [
        {"text": "one"},
        "{not json",
        {"text": "two", "priority": 500},
        {"text": "three", "memory_type": "decision"},
        {"text": "one"},
        {"text": ""},
        {"note": "four"},
        "[]",
        {"text": "five", "agent_id": "beta"},
        {"text": "six"},
    ]
    answers = await bulk(alpha, lines)
    assert [answer.get("line") for answer in answers] == [None, 2, 3, None, None, 6, 7, 8, 9, None]
    assert [answer.get("field") for answer in answers] == [
        None, None, "priority", None, None, "text", "note", None, "agent_id", None,
    ]  # fmt: skip
    assert answers[4] == {**answers[0], "duplicate": True}
    assert all({"title", "status", "detail", "code"} <= set(answer) for answer in answers if "line" in answer)
    assert sorted(await recall(alpha)) == ["one", "six", "three"]


async def test_blank_lines_and_line_ends_of_any_kind_are_no_memories(alpha: httpx.AsyncClient) -> None:
    """Line numbers count the lines that are not blank, as the answers do."""
    content = b'\n\n{"text": "one"}\r\n  \t \n{"text": "two"}\n\n{"text": 3}\n\n{"text": "last"}'
    reply = await alpha.post(f"{MEMORIES}/bulk", content=content)
    answers = [json.loads(line) for line in reply.content.splitlines()]
    assert [answer.get("line") for answer in answers] == [None, None, 3, None]
    assert sorted(await recall(alpha)) == ["last", "one", "two"]
    assert reply.headers["content-type"] == "application/x-ndjson"


async def test_nothing_at_all_is_answered_with_nothing(alpha: httpx.AsyncClient) -> None:
    for content in (b"", b"\n", b"  \n\r\n"):
        reply = await alpha.post(f"{MEMORIES}/bulk", content=content)
        assert (reply.status_code, reply.content) == (200, b"")


async def test_lines_may_be_cut_anywhere_on_their_way(alpha: httpx.AsyncClient) -> None:
    texts = ["plain", "Zürich 東京 👩‍💻", 'with "quotes" and \\ and \n inside', "last one"]
    raw = "\n".join(json.dumps({"text": text}, ensure_ascii=False) for text in texts).encode()

    async def pieces(size: int) -> AsyncIterator[bytes]:
        for start in range(0, len(raw), size):
            yield raw[start : start + size]

    for size in (1, 2, 7, len(raw)):
        reply = await alpha.post(f"{MEMORIES}/bulk", content=pieces(size))
        answers = [json.loads(line) for line in reply.content.splitlines()]
        assert [answer["duplicate"] for answer in answers] == [size > 1] * 4
    assert sorted(await recall(alpha)) == sorted(texts)


async def test_a_line_over_the_limit_fails_alone_and_is_not_kept(
    alpha: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bulk_module, "MAX_LINE_BYTES", 200)
    long = json.dumps({"text": "x" * 300})
    lines = ['{"text": "before"}', long, '{"text": "after"}', long]
    raw = "\n".join(lines).encode()

    async def pieces(size: int) -> AsyncIterator[bytes]:
        for start in range(0, len(raw), size):
            yield raw[start : start + size]

    for size in (10, 150, len(raw)):
        reply = await alpha.post(f"{MEMORIES}/bulk", content=pieces(size))
        answers = [json.loads(line) for line in reply.content.splitlines()]
        assert [answer.get("status") for answer in answers] == [None, 413, None, 413]
        assert [answer.get("line") for answer in answers] == [None, 2, None, 4]
    assert sorted(await recall(alpha)) == ["after", "before"]


async def test_lines_over_the_most_of_one_request_are_refused_one_by_one(
    alpha: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bulk_module, "MAX_LINES", 5)
    answers = await bulk(alpha, [{"text": f"number {n}"} for n in range(8)])
    assert [answer.get("status") for answer in answers] == [None] * 5 + [413] * 3


async def test_two_thousand_lines_are_stored_in_few_commits(
    alpha: httpx.AsyncClient, product: Product
) -> None:
    """The client sends everything before it reads anything."""
    before = product.noesis.store.writer.commits
    answers = await bulk(alpha, [{"text": f"memory number {n}", "position": n} for n in range(2000)])
    assert [answer["duplicate"] for answer in answers] == [False] * 2000
    assert len({answer["id"] for answer in answers}) == 2000
    assert await product.noesis.store.active.count(EVERYTHING) == 2000
    assert product.noesis.store.writer.commits - before <= 2000 / 64 + 1


async def test_the_first_answers_come_before_the_last_lines(product: Product) -> None:
    """A client that waits for an answer before it sends on is served, and so is one that never reads."""
    scope = Scope(agent="alpha")
    sent = 0
    seen_when_first_came = None

    async def lines() -> AsyncIterator[bytes]:
        nonlocal sent
        for number in range(640):
            sent += 1
            yield json.dumps({"text": f"line {number}"}).encode() + b"\n"

    count = 0
    async for _ in bulk_module.answer_lines(
        lines(), lambda news: product.noesis.indexing.index_many(scope, news)
    ):
        if seen_when_first_came is None:
            seen_when_first_came = sent
        count += 1
    assert count == 640
    assert seen_when_first_came is not None
    assert seen_when_first_came < 640


async def test_a_client_that_leaves_in_the_middle_leaves_whole_memories(product: Product) -> None:
    answers = bulk_module.answer_lines(
        _forever(), lambda news: product.noesis.indexing.index_many(Scope(agent="alpha"), news)
    )
    async for _ in answers:
        break
    assert isinstance(answers, AsyncGenerator)
    await answers.aclose()
    await product.noesis.store.writer.close()
    rows = await product.noesis.store.active.rows(EVERYTHING)
    assert rows
    assert {row.chunks for row in rows} == {1}
    assert len({row.id for row in rows}) == len(rows)


async def _forever() -> AsyncIterator[bytes]:
    number = 0
    while True:
        number += 1
        yield json.dumps({"text": f"line {number}"}).encode() + b"\n"


async def test_a_text_that_cannot_be_embedded_does_not_hold_up_the_others(
    alpha: httpx.AsyncClient, embedder: WordEmbedder
) -> None:
    embedder.broken["poison"] = EmbeddingFailure("It gave a vector of zeros.", permanent=False)
    answers = await bulk(alpha, [{"text": text} for text in ("good one", "poison", "good two")])
    assert [answer["embedding_state"] for answer in answers] == ["ready", "pending", "ready"]


async def test_while_the_embedder_is_away_every_line_is_stored_and_waits(
    alpha: httpx.AsyncClient, embedder: WordEmbedder
) -> None:
    embedder.down = True
    answers = await bulk(alpha, [{"text": f"number {n}"} for n in range(100)])
    assert [answer["embedding_state"] for answer in answers] == ["pending"] * 100
