"""What stands beside a memory that fits comes in too, and nothing that the question leaves out."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import httpx
import pytest

from noesis.memory import Role, Scope, SearchQuery
from noesis.store import Condition
from noesis.store.places import place_number
from noesis.store.schema import PACKED
from tests.operations.expire import archive
from tests.operations.samples import bulk, index, search, texts, words
from tests.support import Clock, Product, WordEmbedder, running

ASKED = "heron harbour"
MATCH = "does the heron sleep in the harbour"
ANSWER = "under copper lanterns"
"""Shares nothing with the question: no leg brings it while more than sixty others fit better."""

CROWD = 70


async def crowd(client: httpx.AsyncClient, **values: Any) -> None:
    """More memories that hold a word of the question than a leg brings."""
    await bulk(client, [{"text": f"heron tale{number}", **values} for number in range(CROWD)])


async def talk(client: httpx.AsyncClient, *turns: tuple[int, str], **values: Any) -> list[str]:
    """A session of these turns; their ids."""
    stored = [
        await index(client, text, **({"session_id": "s", "position": place} | values))
        for place, text in turns
    ]
    return [each["id"] for each in stored]


async def explained(client: httpx.AsyncClient, **values: Any) -> dict[str, dict[str, Any]]:
    """The explanation of every hit, by its text."""
    answer = await search(client, ASKED, explain=True, limit=200, **values)
    return {hit["text"]: hit["explanation"] for hit in answer["hits"]}


def rows_read(product: Product, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many rows each look for neighbours brings from now on."""
    table, read = product.noesis.store.active, list[int]()
    select = table.select

    async def counted(columns: Sequence[str], condition: Condition, limit: int | None = None) -> Any:
        found = await select(columns, condition, limit)
        if PACKED in columns:
            read.append(found.num_rows)
        return found

    monkeypatch.setattr(table, "select", counted)
    return read


async def test_the_turn_after_a_question_comes_in_though_it_shares_nothing(alpha: httpx.AsyncClient) -> None:
    await talk(alpha, (1, MATCH), (2, ANSWER))
    await crowd(alpha)
    hits = await explained(alpha)
    answer, match = hits[ANSWER], hits[MATCH]
    assert (answer["neighbour"], answer["vector_rank"], answer["keyword_rank"]) == (True, None, None)
    assert answer["keyword_score"] == 0
    assert answer["vector_score"] != 0
    assert (match["neighbour"], match["keyword_rank"]) == (False, 1)
    assert answer["contributions"]["neighbours"] > hits["heron tale7"]["contributions"]["neighbours"]


async def test_alone_it_would_not_have_come_in(alpha: httpx.AsyncClient) -> None:
    await talk(alpha, (1, MATCH))
    await index(alpha, ANSWER)
    await crowd(alpha)
    assert ANSWER not in await explained(alpha)


async def test_two_turns_before_and_after_come_in_however_the_numbers_are_spaced(
    alpha: httpx.AsyncClient,
) -> None:
    turns = {place: f"turn{place} {ANSWER}" for place in (2, 3, 5, 7, 8)}
    await talk(alpha, (5, MATCH), *((place, text) for place, text in turns.items() if place != 5))
    await crowd(alpha)
    hits = await explained(alpha)
    assert {place for place, text in turns.items() if text in hits} == {3, 7}


async def test_of_a_long_session_only_what_stands_beside_is_read(
    alpha: httpx.AsyncClient, product: Product, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where another session has candidates at other places."""
    await bulk(alpha, [{"text": f"tale{at}", "session_id": "s", "position": at} for at in range(100, 300)])
    await bulk(alpha, [{"text": f"saga{at}", "session_id": "t", "position": at} for at in range(100, 300)])
    await talk(alpha, (150, MATCH))
    await talk(alpha, (250, MATCH + " now"), session_id="t")
    await crowd(alpha)
    read = rows_read(product, monkeypatch)
    scope, query = Scope("alpha", Role.AGENT), SearchQuery(text=ASKED)
    found = await product.noesis.search.pool(scope, query)
    beside = {each.row.text for each in found.candidates if not each.came_by_leg}
    assert {"tale148", "tale149", "tale151", "tale152", "saga248", "saga252"} <= beside
    assert not {"tale250", "saga150"} & beside
    near = [each for each in found.candidates if each.row.session_id]
    assert read == [len(near)]


async def test_a_turn_whose_place_has_the_same_number_is_no_neighbour(alpha: httpx.AsyncClient) -> None:
    far = 2 + 2**23
    assert place_number("s", None, 2) == place_number("s", None, far)
    await talk(alpha, (1, MATCH), (2, ANSWER), (far, "stranger"))
    await crowd(alpha)
    hits = await explained(alpha)
    assert ANSWER in hits
    assert "stranger" not in hits


async def test_the_lines_of_a_source_are_neighbours_too(alpha: httpx.AsyncClient) -> None:
    await talk(alpha, (1, MATCH), (2, ANSWER), session_id=None, source="notes/birds.md")
    await talk(alpha, (2, "elsewhere"), session_id=None, source="notes/other.md")
    await crowd(alpha)
    hits = await explained(alpha)
    assert hits[ANSWER]["neighbour"]
    assert "elsewhere" not in hits


LEFT_OUT: list[tuple[dict[str, Any], dict[str, Any], dict[str, Any]]] = [
    ({"memory_type": "decision"}, {"memory_type": "fact"}, {"memory_types": ["decision"]}),
    ({"tags": ["x"]}, {"tags": ["y"]}, {"tags": ["x"]}),
    (
        {"created_at": "2026-02-01T00:00:00Z"},
        {"created_at": "2026-02-02T00:00:00Z"},
        {"before": "2026-02-02T00:00:00Z"},
    ),
    (
        {"created_at": "2026-02-02T00:00:00Z"},
        {"created_at": "2026-02-01T00:00:00Z"},
        {"after": "2026-02-02T00:00:00Z"},
    ),
]


@pytest.mark.parametrize(("kept", "dropped", "wanted"), LEFT_OUT)
async def test_a_neighbour_that_does_not_fit_the_filter_stays_out(
    alpha: httpx.AsyncClient, kept: dict[str, Any], dropped: dict[str, Any], wanted: dict[str, Any]
) -> None:
    await talk(alpha, (1, MATCH), **kept)
    await talk(alpha, (2, ANSWER), **dropped)
    assert set(await explained(alpha)) == {MATCH, ANSWER}
    assert set(await explained(alpha, **wanted)) == {MATCH}


async def test_a_neighbour_that_has_expired_or_left_the_table_stays_out(
    alpha: httpx.AsyncClient, product: Product, clock: Clock
) -> None:
    await talk(alpha, (1, MATCH))
    _, old, gone = await talk(alpha, (0, "brief"), (2, "archived"), (3, "deleted"), ttl_days=1)
    await archive(product, old)
    assert (await alpha.delete(f"/api/v1/memories/{gone}")).status_code == 200
    await crowd(alpha)
    assert {"brief"} == set(await explained(alpha)) & {"brief", "archived", "deleted"}
    clock.advance(days=1)
    hits = set(await explained(alpha))
    assert not hits & {"brief", "archived", "deleted"}
    assert MATCH in hits


async def test_another_agents_turn_in_a_session_of_the_same_name_is_no_neighbour(
    alpha: httpx.AsyncClient, beta: httpx.AsyncClient, admin: httpx.AsyncClient
) -> None:
    """Neither for the agent, who may not see it, nor for who sees both."""
    await talk(alpha, (1, MATCH), (2, ANSWER))
    await talk(beta, (2, "secret locker"))
    await crowd(alpha)
    for client in (alpha, admin):
        hits = await explained(client, cross_agent=client is admin)
        assert hits[ANSWER]["neighbour"]
        assert "secret locker" not in hits


async def test_only_the_mode_of_both_legs_takes_neighbours_in(alpha: httpx.AsyncClient) -> None:
    await talk(alpha, (1, MATCH), (2, ANSWER))
    await crowd(alpha)
    found = await explained(alpha, mode="keyword")
    assert all({"heron", "harbour"} & set(text.split()) for text in found)
    assert MATCH in found
    assert ANSWER not in await explained(alpha, mode="vector")


async def test_without_the_embedder_neighbours_come_in_by_words(
    alpha: httpx.AsyncClient, embedder: WordEmbedder
) -> None:
    await talk(alpha, (1, MATCH), (2, ANSWER))
    embedder.down = True
    answer = await search(alpha, ASKED, explain=True)
    assert (answer["degraded"], texts(answer)) == (True, [MATCH, ANSWER])
    assert answer["hits"][1]["explanation"]["neighbour"]


async def test_a_neighbour_in_the_archive_comes_in_when_the_archive_is_asked(
    alpha: httpx.AsyncClient, product: Product
) -> None:
    for memory_id in await talk(alpha, (1, MATCH), (2, ANSWER)):
        await archive(product, memory_id)
    assert set(await explained(alpha, mode="hybrid", archive="only")) == {MATCH, ANSWER}
    assert await explained(alpha, archive="never") == {}


@pytest.fixture
async def in_pieces(tmp_path: Path, embedder: WordEmbedder, clock: Clock) -> AsyncIterator[Product]:
    """The product with chunks of 32 words."""
    environ = {"NOESIS_CHUNK_SIZE": "32", "NOESIS_CHUNK_OVERLAP": "0"}
    async with running(tmp_path / "pieces", embedder=embedder, clock=clock, environ=environ) as opened:
        yield opened


async def test_of_a_long_text_the_chunks_beside_the_one_that_fits_come_in_and_no_others(
    in_pieces: Product, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also when a chunk of another long text fits at another place."""
    client = await in_pieces.agent("alpha")
    pieces = [words(32, 32 * number) for number in range(12)]
    early, late = list(pieces), list(reversed(pieces))
    early[1] = late[9] = f"{ASKED} {words(30, 900)}"
    ids = [(await index(client, " ".join(text)))["id"] for text in (early, late)]
    await crowd(client)
    read, query = rows_read(in_pieces, monkeypatch), SearchQuery(text=ASKED)
    found = await in_pieces.noesis.search.pool(Scope("alpha", Role.AGENT), query)
    chunks = {
        memory_id: sorted(each.row.chunk for each in found.candidates if each.row.parent_id == memory_id)
        for memory_id in ids
    }
    assert chunks == {ids[0]: [0, 1, 2], ids[1]: [8, 9, 10]}
    beside = [each for each in found.candidates if not each.came_by_leg]
    assert len(beside) == 4
    assert read == [6]


async def test_a_hits_place_counts_memories_and_not_their_chunks(in_pieces: Product) -> None:
    client = await in_pieces.agent("alpha")
    await index(client, " ".join(f"{ASKED} {words(30, 32 * number)}" for number in range(5)))
    await index(client, "heron")
    hits = (await search(client, ASKED, explain=True))["hits"]
    assert sorted(hit["explanation"]["rank"] for hit in hits) == [1, 2]


@pytest.fixture
async def by_shares(tmp_path: Path, embedder: WordEmbedder, clock: Clock) -> AsyncIterator[Product]:
    """The product with NOESIS_FUSION=weighted."""
    environ = {"NOESIS_FUSION": "weighted"}
    async with running(tmp_path / "shares", embedder=embedder, clock=clock, environ=environ) as opened:
        yield opened


async def test_with_fixed_shares_meaning_has_sixty_parts_and_words_forty_and_they_add_up(
    by_shares: Product,
) -> None:
    client = await by_shares.agent("alpha")
    await talk(client, (1, MATCH), (2, ANSWER))
    await index(client, ASKED, memory_type="decision", priority=100)
    await crowd(client)
    hits = (await search(client, ASKED, explain=True, limit=200))["hits"]
    for hit in hits:
        parts = hit["explanation"]["contributions"]
        assert set(parts) == {"meaning", "words", "priority"}
        assert sum(parts.values()) == pytest.approx(hit["score"], abs=0.0002)
    best = hits[0]["explanation"]["contributions"]
    assert hits[0]["text"] == ASKED
    assert best == pytest.approx({"meaning": 0.95 * 0.6, "words": 0.95 * 0.4, "priority": 0.05}, abs=0.001)
    assert ANSWER in [hit["text"] for hit in hits]
