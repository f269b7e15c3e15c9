"""The vector index: which one a store gets and when, and that search loses nothing by any of them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import numpy as np
import numpy.typing as npt
import pytest
from lancedb.index import IvfRq

from noesis.embedding import Vector
from noesis.runtime import index_policy
from noesis.settings import load
from noesis.store import Column, Condition, IndexPolicy, Row, Store
from noesis.store.filters import EVERYTHING, equals
from noesis.store.generations import ACTIVE, ARCHIVE
from noesis.store.locks import StoreLocks
from noesis.store.vector_index import (
    Design,
    Kind,
    VectorIndex,
    design_for,
    has_outgrown,
    is_too_few,
    sub_vectors_for,
)
from tests.store.rows import make_row
from tests.support import NOW

WIDTH = 64
KINDS: tuple[Kind, ...] = ("rq", "pq", "hnsw")
SMALL = IndexPolicy(min_rows=256)


def clustered(count: int, seed: int = 0, width: int = WIDTH) -> npt.NDArray[np.float32]:
    """Unit vectors about one centre for every 40 of them, as texts lie about their topics."""
    centres = np.random.default_rng(1).normal(size=(150, width))
    random = np.random.default_rng(seed + 2)
    near = centres[random.integers(len(centres), size=count)]
    return unit(near + 0.5 * random.normal(size=(count, width)))


def unit(vectors: npt.NDArray[np.float64]) -> npt.NDArray[np.float32]:
    """The same directions with length 1."""
    normed: npt.NDArray[np.float64] = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return normed.astype(np.float32)


def policy_of(kind: Kind, min_rows: int) -> IndexPolicy:
    """Eight dimensions a sub-vector, as 96 are for a width of 768."""
    return IndexPolicy(kind=kind, min_rows=min_rows, sub_vectors=WIDTH // 8)


def made(numbers: Sequence[int], vectors: Sequence[Vector | None], **values: object) -> list[Row]:
    """A row for each number; its priority is the number's last two digits."""
    return [
        make_row(number, vector=vector, priority=number % 100, **values)
        for number, vector in zip(numbers, vectors, strict=True)
    ]


@asynccontextmanager
async def opened(directory: Path, policy: IndexPolicy, width: int = WIDTH) -> AsyncIterator[Store]:
    store = await Store.open(directory / "store", now_ms=lambda: NOW, policy=policy)
    if await store.active.dimension() is None:
        await store.active.add_vectors(width)
        await store.archive.add_vectors(width)
    yield store
    await store.close()


async def kind_of(store: Store) -> str | None:
    return (await store.states())[0].vector_index


def by_hand(rows: Iterable[Row], question: Vector, count: int) -> list[str]:
    listed = [(row.id, row.vector) for row in rows if row.vector is not None]
    scores = np.stack([vector for _, vector in listed]) @ question
    return [listed[place][0] for place in np.argsort(-scores)[:count]]


async def recall(store: Store, rows: Iterable[Row], questions: npt.NDArray[np.float32]) -> float:
    """The share of the ten nearest rows (by hand) that a search without a filter finds."""
    listed, found = list(rows), 0
    for question in questions:
        near, _ = await store.active.nearest(question, EVERYTHING, 10)
        found += len({row.id for row in near} & set(by_hand(listed, question, 10)))
    return found / (10 * len(questions))


async def assert_filters_lose_nothing(store: Store, rows: Iterable[Row]) -> None:
    """Under filters of every width, all rows with a vector that fit are found, each once."""
    listed = [row for row in rows if row.vector is not None]
    filters: dict[str, tuple[Condition, Callable[[Row], bool]]] = {
        "one row": (equals(Column.ID, listed[-1].id), lambda row: row.id == listed[-1].id),
        "a rare agent": (equals(Column.AGENT_ID, "rare"), lambda row: row.agent_id == "rare"),
        "one in a hundred": (equals(Column.PRIORITY, 7), lambda row: row.priority == 7),
        "one in ten": (Condition("priority < 10"), lambda row: row.priority < 10),
        "a half": (Condition("priority < 50"), lambda row: row.priority < 50),
    }
    for name, (condition, fits) in filters.items():
        fitting = {row.id for row in listed if fits(row)}
        for question in clustered(2, seed=50):
            for limit in (len(fitting), len(fitting) + 30):
                found, _ = await store.active.nearest(question, condition, limit)
                assert sorted(row.id for row in found) == sorted(fitting), (name, limit)
            found, _ = await store.active.nearest(question, condition, 10)
            assert len(found) == min(10, len(fitting)), name


@pytest.mark.parametrize("kind", KINDS)
async def test_a_filter_loses_no_row_whatever_happened_since_the_build(tmp_path: Path, kind: Kind) -> None:
    """Indexed, unindexed, deleted, updated and still pending rows, before and after the next upkeep."""
    vectors = clustered(1600)
    rows = {row.id: row for row in made(range(1100), list(vectors[:1100]))}
    for number in (17, 503, 1019):
        row = made([number], [vectors[number]], agent_id="rare")[0]
        rows[row.id] = row
    async with opened(tmp_path, policy_of(kind, min_rows=1000)) as store:
        await store.active.upsert(list(rows.values()))
        assert await store.maintain() >= 1
        assert await kind_of(store) == kind
        await assert_filters_lose_nothing(store, rows.values())

        changed = [
            *made(range(1100, 1350), list(vectors[1100:1350])),
            *made(range(1350, 1450), [None] * 100),
            *made([1450], [vectors[1450]], agent_id="rare"),
            *made(range(200, 400), list(vectors[1400:1600])),
        ]
        gone = [make_row(number).id for number in range(600, 700)]
        await store.active.upsert(changed)
        await store.active.delete(gone)
        rows |= {row.id: row for row in changed}
        rows = {row_id: row for row_id, row in rows.items() if row_id not in gone}
        assert (await store.states())[0].unindexed_vectors == len(changed)
        await assert_filters_lose_nothing(store, rows.values())

        assert await store.maintain(force=True) == 2
        state = (await store.states())[0]
        assert (state.unindexed_vectors, state.vector_index, state.index_step) == (0, kind, None)
        assert state.indexed_vectors == len(rows)
        await assert_filters_lose_nothing(store, rows.values())


@pytest.mark.parametrize("kind", KINDS)
async def test_search_finds_99_of_100_nearest_by_every_kind(tmp_path: Path, kind: Kind) -> None:
    rows = made(range(6000), list(clustered(6000)))
    async with opened(tmp_path, policy_of(kind, min_rows=5000)) as store:
        await store.active.upsert(rows[:5600])
        await store.maintain()
        assert await kind_of(store) == kind
        questions = clustered(30, seed=9)
        assert await recall(store, rows[:5600], questions) >= 0.99
        await store.active.upsert(rows[5600:])
        assert await recall(store, rows, questions) >= 0.99
        await store.maintain(force=True)
        assert await recall(store, rows, questions) >= 0.99


async def test_a_short_list_is_right_where_topics_are_shorter_still(tmp_path: Path) -> None:
    """Of seven near rows a topic, the ten nearest lie in several, which a bit a dimension hardly tells."""
    async with opened(tmp_path, SMALL) as store:
        rows = made(range(1000), list(clustered(1000)))
        await store.active.upsert(rows)
        await store.maintain()
        assert await recall(store, rows, clustered(30, seed=8)) >= 0.99


async def test_an_exact_search_passes_the_index_by(tmp_path: Path) -> None:
    """A coarse index with no exact scoring would err on random directions; the exact search never does."""
    vectors = unit(np.random.default_rng(3).normal(size=(700, WIDTH)))
    rows = made(range(600), list(vectors[:600]))
    async with opened(tmp_path, SMALL) as store:
        await store.active.upsert(rows)
        await store.maintain()
        assert await kind_of(store) == "rq"
        for question in vectors[600:620]:
            found, scores = await store.active.nearest(question, EVERYTHING, 20, exact=True)
            assert [row.id for row in found] == by_hand(rows, question, 20)
            assert scores.tolist() == sorted(scores.tolist(), reverse=True)
        found, _ = await store.active.nearest(vectors[600], equals(Column.PRIORITY, 7), 20, exact=True)
        assert [row.id for row in found] == by_hand(rows[7::100], vectors[600], 20)


async def test_more_partitions_than_lancedb_reads_by_default_can_be_asked_for(tmp_path: Path) -> None:
    async with opened(tmp_path, msgspec.structs.replace(SMALL, nprobes=64)) as store:
        await store.active.upsert(made(range(300), list(clustered(300))))
        await store.maintain()
        found, _ = await store.active.nearest(clustered(1, seed=4)[0], EVERYTHING, 5)
        assert len(found) == 5


async def test_only_vectors_count_towards_the_threshold_in_either_table(tmp_path: Path) -> None:
    async with opened(tmp_path, SMALL) as store:
        vectors: list[Vector | None] = [*clustered(255), *[None] * 200]
        for table in (store.active, store.archive):
            await table.upsert(made(range(455), vectors))
        assert [state.index_step for state in await store.states()] == [None, None]
        await store.maintain(force=True)
        assert [state.vector_index for state in await store.states()] == [None, None]
        for table in (store.active, store.archive):
            await table.upsert(made([500], list(clustered(1, seed=5))))
        states = await store.states()
        assert [state.index_step for state in states] == ["build", "build"]
        assert all(state.due for state in states)
        assert await store.maintain() == 2
        states = await store.states()
        assert [(state.vector_index, state.indexed_vectors) for state in states] == [("rq", 456)] * 2
        assert not any(state.due for state in states)


Grown = Callable[[Store], Awaitable[None]]


async def _by_folds(store: Store) -> None:
    for first, end in ((300, 550), (550, 1050), (1050, 1199)):
        await store.active.upsert(made(range(first, end), list(clustered(end - first, seed=end))))
        await store.maintain(force=True)
    assert (await store.states())[0].index_step is None
    await store.active.upsert(made([1199], list(clustered(1, seed=7))))


async def _at_once(store: Store) -> None:
    await store.active.upsert(made(range(300, 601), list(clustered(301, seed=6))))


@pytest.mark.parametrize("grown", [_by_folds, _at_once])
async def test_an_outgrown_index_learns_again(tmp_path: Path, grown: Grown) -> None:
    """At four times what it learnt from, or at twice if it does not cover half of the rows."""
    async with opened(tmp_path, SMALL) as store:
        await store.active.upsert(made(range(300), list(clustered(300))))
        await store.maintain()
        assert (await store.states())[0].index_step is None
        await grown(store)
        state = (await store.states())[0]
        assert (state.index_step, state.due) == ("build", True)
        await store.maintain()
        state = (await store.states())[0]
        assert (state.index_step, state.unindexed_vectors, state.indexed_vectors) == (None, 0, state.rows)


async def test_rows_that_wait_for_vectors_do_not_make_an_index_learn_again(tmp_path: Path) -> None:
    async with opened(tmp_path, SMALL) as store:
        await store.active.upsert(made(range(300), list(clustered(300))))
        await store.maintain()
        await store.active.upsert(made(range(300, 1600), [None] * 1300))
        assert (await store.states())[0].index_step is None


async def test_upkeep_goes_on_when_all_new_rows_wait_for_vectors(tmp_path: Path) -> None:
    """LanceDB cannot merge partitions with nothing to fold in; the keyword index would be stuck too."""
    async with opened(tmp_path, SMALL) as store:
        await store.active.upsert(made(range(1000), list(clustered(1000))))
        await store.active.handle.create_index(
            "vector", config=IvfRq(distance_type="cosine", num_partitions=4)
        )
        waiting = made(range(1000, 1100), [None] * 100)
        await store.active.upsert(waiting)
        with pytest.raises(RuntimeError, match="ivf_"):
            await store.active.handle.optimize()
        assert await store.maintain(force=True) == 2
        state = (await store.states())[0]
        assert (state.unindexed_words, state.unindexed_vectors, state.vector_index) == (0, 0, "rq")
        assert await recall(store, made(range(1000), list(clustered(1000))), clustered(5, seed=8)) >= 0.98


async def test_every_fold_leaves_a_segment_until_there_are_too_many(tmp_path: Path) -> None:
    vectors = clustered(700)
    async with opened(tmp_path, SMALL) as store:
        await store.active.upsert(made(range(300), list(vectors[:300])))
        await store.maintain()
        steps = []
        for number in range(300, 318):
            await store.active.upsert(made([number], [vectors[number]]))
            await store.active.handle.optimize()
            steps.append((await store.states())[0].index_step)
        assert steps == [None] * 15 + ["build"] * 3
        await store.maintain()
        assert (await store.states())[0].index_step is None


async def test_another_kind_or_number_of_sub_vectors_replaces_the_index(tmp_path: Path) -> None:
    policies = [
        SMALL,
        IndexPolicy(kind="pq", min_rows=256, sub_vectors=16),
        IndexPolicy(kind="pq", min_rows=256, sub_vectors=8),
        IndexPolicy(kind="hnsw", min_rows=256),
    ]
    rows = made(range(300), list(clustered(300)))
    for policy in policies:
        async with opened(tmp_path, policy) as store:
            await store.active.upsert(rows)
            assert (await store.states())[0].index_step == "build"
            await store.maintain()
            assert (await kind_of(store), (await store.states())[0].index_step) == (policy.kind, None)
            assert await recall(store, rows, clustered(5, seed=8)) == 1


async def test_an_index_of_other_bits_is_replaced(tmp_path: Path) -> None:
    async with opened(tmp_path, SMALL) as store:
        await store.active.upsert(made(range(300), list(clustered(300))))
        await store.active.handle.create_index("vector", config=IvfRq(distance_type="cosine", num_bits=1))
        assert (await store.states())[0].index_step == "build"
        await store.maintain()
        assert (await store.states())[0].index_step is None


async def test_an_index_goes_when_half_of_the_threshold_is_left(tmp_path: Path) -> None:
    async with opened(tmp_path, SMALL) as store:
        rows = made(range(300), list(clustered(300)))
        await store.active.upsert(rows)
        await store.maintain()
        await store.active.delete([row.id for row in rows[128:]])
        assert (await store.states())[0].index_step is None
        await store.active.delete([rows[127].id])
        assert (await store.states())[0].index_step == "drop"
        await store.maintain()
        assert await kind_of(store) is None
        assert await recall(store, rows[:127], clustered(5, seed=8)) == 1


async def test_an_index_is_built_while_another_holds_the_right_to_write(tmp_path: Path) -> None:
    async with opened(tmp_path, SMALL) as store:
        await store.active.upsert(made(range(300), list(clustered(300))))
        async with StoreLocks(tmp_path / "store" / "locks").writing():
            assert await store.maintain() == 1
        assert await kind_of(store) == "rq"


async def test_a_lost_record_is_no_reason_to_build(tmp_path: Path) -> None:
    async with opened(tmp_path, SMALL) as store:
        for table in (store.active, store.archive):
            await table.upsert(made(range(300), list(clustered(300))))
        await store.maintain()
        record = store.directory / "vector_index.json"
        assert msgspec.json.decode(record.read_bytes()) == {ACTIVE: 300, ARCHIVE: 300}
        for content in (b"{", None):
            record.unlink() if content is None else record.write_bytes(content)
            assert [state.index_step for state in await store.states()] == [None, None]


@pytest.mark.parametrize(
    ("width", "wanted", "parts"),
    [
        (384, 96, 96),
        (768, 96, 96),
        (1024, 96, 128),
        (512, 96, 128),
        (64, 96, 32),
        (300, 96, 100),
        (768, 12, 12),
        (384, 100, 96),
        (101, 96, None),
    ],
)
def test_sub_vectors_divide_the_width(width: int, wanted: int, parts: int | None) -> None:
    assert sub_vectors_for(width, wanted) == parts


@pytest.mark.parametrize(
    ("kind", "width", "design"),
    [
        ("rq", 384, Design("rq", bits=3)),
        ("rq", 100, Design("hnsw")),
        ("pq", 384, Design("pq", 96)),
        ("pq", 100, Design("pq", 50)),
        ("pq", 101, Design("hnsw")),
        ("hnsw", 384, Design("hnsw")),
    ],
)
def test_a_width_that_a_kind_cannot_do_gets_hnsw(kind: Kind, width: int, design: Design) -> None:
    assert design_for(IndexPolicy(kind=kind), width) == design


async def test_odd_widths_are_indexed_too(tmp_path: Path) -> None:
    async with opened(tmp_path, SMALL, width=27) as store:
        rows = made(range(300), list(clustered(300, width=27)))
        await store.active.upsert(rows)
        await store.maintain()
        state = (await store.states())[0]
        assert (state.vector_index, state.index_step) == ("hnsw", None)
        assert await recall(store, rows, clustered(5, seed=8, width=27)) == 1


def test_growth_counts_vectors() -> None:
    covered = VectorIndex(kind="rq", sub_vectors=None, bits=3, covered=900, uncovered=100, segments=2)
    behind = msgspec.structs.replace(covered, covered=100, uncovered=900)
    assert [has_outgrown(covered, 250, vectors) for vectors in (999, 1000)] == [False, True]
    assert [has_outgrown(behind, 250, vectors) for vectors in (499, 500)] == [False, True]
    assert [is_too_few(SMALL, vectors) for vectors in (127, 128)] == [True, False]


def test_the_settings_are_the_policy() -> None:
    assert index_policy(load({})) == IndexPolicy()
    environ = {"INDEX": "pq", "MIN_ROWS": "256", "SUB_VECTORS": "48", "NPROBE": "32"}
    settings = load({f"NOESIS_ANN_{name}": value for name, value in environ.items()})
    assert index_policy(settings) == IndexPolicy(kind="pq", min_rows=256, sub_vectors=48, nprobes=32)
