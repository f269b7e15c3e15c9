"""The benchmark's operations: labelled questions asked, weights fitted anew, a store measured as it lies."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from noesis.benchmark import asking
from noesis.benchmark.asking import Stored, ask_all, index_all
from noesis.benchmark.figures import rows_of, times_of
from noesis.benchmark.labelled import Conversation, LabelledMemory, LabelledQuestion
from noesis.benchmark.own_store import measure_store
from noesis.benchmark.refitting import (
    HYBRID_FEATURES,
    KEYWORD_FEATURES,
    compare,
    folds,
    fusion_of,
    sheets_of,
    without_vectors,
)
from noesis.errors import EmbedderUnavailable, InvalidInput
from noesis.memory import EmbeddingState, Mode, Scope, SearchQuery, Timings
from noesis.ranking.features import FEATURES, features
from noesis.ranking.fusion import Fusion, decode, file_name, shipped
from noesis.runtime import Noesis
from noesis.search import Search
from noesis.store.filters import EVERYTHING
from noesis.word_statistics import WordCounts
from tests.support import Product, WordEmbedder

BIRDS = ("heron", "badger", "otter", "raven", "weasel", "curlew")
PLACES = ("harbour", "orchard", "quarry", "meadow", "tower", "ditch")


def talk(name: str, shift: int) -> Conversation:
    """Six turns that name an animal and a place each; a question for every one, and one without an answer."""
    start = datetime(2025, 3, 3, 9, tzinfo=UTC)
    pairs = [(BIRDS[n], PLACES[(n + shift) % len(PLACES)]) for n in range(len(BIRDS))]
    return Conversation(
        name,
        tuple(
            LabelledMemory(
                id=f"m{n}",
                text=f"We saw the {bird} near the {place} today.",
                created_at=start + timedelta(minutes=n),
                session="walk",
                position=n,
                author="Ben",
            )
            for n, (bird, place) in enumerate(pairs)
        ),
        (
            *(
                LabelledQuestion(f"Where was the {bird}?", (f"m{n}",), "single" if n % 2 else "other")
                for n, (bird, _) in enumerate(pairs)
            ),
            LabelledQuestion("Who paid for lunch?", ()),
        ),
    )


def quiet(_line: str) -> None:
    """Progress that nobody watches."""


async def stored_in(noesis: Noesis, talks: Sequence[Conversation]) -> list[Stored]:
    return await index_all(talks, noesis.indexing, noesis.filling, quiet)


async def test_each_conversation_is_asked_of_its_own_memories_only(product: Product) -> None:
    stored = await stored_in(product.noesis, [talk("one", 0), talk("two", 1)])
    asked = await ask_all(product.noesis.search, stored, quiet)
    assert len(asked) == 12, "the question that nothing answers is not asked"
    ids = [set(each.ids.values()) for each in stored]
    assert ids[0].isdisjoint(ids[1])
    assert all(set(item.ranked) <= ids[index // 6] for index, item in enumerate(asked))
    rows = rows_of(asked)
    assert [(row.name, row.questions) for row in rows] == [("all", 12), ("other", 6), ("single", 6)]
    assert rows[0].measures["R@10"] == (1, 1, 1)


async def test_a_vector_that_was_missed_is_filled_in_before_anything_is_asked(
    product: Product, embedder: WordEmbedder
) -> None:
    embedder.down = True
    lines: list[str] = []

    def say(line: str) -> None:
        # Whoever says that it begins to fill in finds the embedder back.
        lines.append(line)
        embedder.down = "fill in" not in line

    await index_all([talk("one", 0)], product.noesis.indexing, product.noesis.filling, say)
    assert "6 vectors to fill in" in lines
    ready = {row.embedding_state for row in await product.noesis.store.active.rows(EVERYTHING)}
    assert ready == {EmbeddingState.READY.value}


class Halting:
    """Fills in so many at a time and then fails, as with an embedder that a busy machine lets wait."""

    def __init__(self, waiting: int, at_once: int) -> None:
        self.waiting, self.at_once, self.tries = waiting, at_once, 0

    async def pending(self) -> int:
        return self.waiting

    async def fill(self, _tell: object) -> None:
        self.tries += 1
        self.waiting = max(0, self.waiting - self.at_once)
        if self.waiting:
            raise EmbedderUnavailable("too slow")


async def test_filling_in_goes_on_for_as_long_as_it_gets_on(
    product: Product, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(asking, "_BETWEEN_TRIES_S", 0.0)
    slow, stuck = Halting(9, 1), Halting(9, 0)
    await index_all([talk("one", 0)], product.noesis.indexing, slow, quiet)  # type: ignore[arg-type]
    assert (slow.waiting, slow.tries) == (0, 9)
    with pytest.raises(EmbedderUnavailable, match="9 memories got no vector"):
        await index_all([talk("two", 1)], product.noesis.indexing, stuck, quiet)  # type: ignore[arg-type]
    assert stuck.tries == 3


async def test_a_memory_that_cannot_be_stored_is_named_without_its_text(product: Product) -> None:
    conversation = talk("one", 0)
    long = msgspec.structs.replace(conversation.memories[2], text="gravel " * 100_000)
    broken = msgspec.structs.replace(conversation, memories=(*conversation.memories[:2], long))
    with pytest.raises(InvalidInput, match="one: memory 'm2': text must have at most") as error:
        await stored_in(product.noesis, [broken])
    assert "gravel" not in error.value.message


async def test_a_search_that_went_by_words_is_not_measured(product: Product, embedder: WordEmbedder) -> None:
    stored = await stored_in(product.noesis, [talk("one", 0)])
    embedder.down = True
    with pytest.raises(EmbedderUnavailable):
        await ask_all(product.noesis.search, stored, quiet)
    with pytest.raises(EmbedderUnavailable):
        await sheets_of(product.noesis.search, stored, quiet)
    assert len(await ask_all(product.noesis.search, stored, quiet, mode=Mode.KEYWORD)) == 6


async def test_fitted_weights_are_compared_on_conversations_they_never_saw(product: Product) -> None:
    noesis = product.noesis
    stored = await stored_in(noesis, [talk("one", 0), talk("two", 1)])
    sheets = await sheets_of(noesis.search, stored, quiet)
    assert len(sheets) == 14, "questions that nothing answers teach what a low score is"
    asked = await ask_all(noesis.search, stored, quiet)
    keyword = await ask_all(noesis.search, stored, quiet, mode=Mode.KEYWORD)
    words, used = WordCounts(noesis.now_ms), list[Fusion]()

    def new_search(fusion: Fusion) -> Search:
        used.append(fusion)
        return Search(noesis.store, noesis.vectors, words, noesis.settings, noesis.now_ms, fusion)

    found = await compare(new_search, sheets, stored, (asked, keyword), quiet)
    await words.close()
    assert (found.questions, found.folds) == (12, 2)
    assert [row.questions for row in found.rows] == [12] * 4
    assert used[1] == fusion_of([sheet for sheet in sheets if sheet.conversation != 1])
    whole = fusion_of(sheets, "a note")
    assert whole not in used
    assert decode(msgspec.json.encode(whole)) == whole


async def test_without_vectors_the_features_left_out_repeat_others(product: Product) -> None:
    stored = await stored_in(product.noesis, [talk("one", 0)])
    found = await product.noesis.search.pool(stored[0].scope, SearchQuery(text="Where was the otter?"))
    pool = without_vectors(found.pool)
    values = dict(zip(FEATURES, features(pool).T.tolist(), strict=True))
    kept = [values[name] for name in KEYWORD_FEATURES]
    assert set(HYBRID_FEATURES) - set(KEYWORD_FEATURES)
    assert all(values[name] in kept for name in set(HYBRID_FEATURES) - set(KEYWORD_FEATURES))


def test_the_parts_hold_every_conversation_once() -> None:
    for count in (2, 5, 13):
        parts = folds(count)
        assert len(parts) == min(count, 5)
        assert sorted(index for part in parts for index in part) == list(range(count))
    with pytest.raises(InvalidInput, match="at least two"):
        folds(1)


async def test_nothing_can_be_fitted_where_no_answer_is_found(product: Product) -> None:
    lost = msgspec.structs.replace(talk("one", 0), questions=(LabelledQuestion("Who paid?", ()),))
    sheets = await sheets_of(product.noesis.search, await stored_in(product.noesis, [lost]), quiet)
    with pytest.raises(InvalidInput, match="nothing to fit on"):
        fusion_of(sheets)


async def test_a_store_is_measured_and_stays_as_it_is(product: Product) -> None:
    noesis = product.noesis
    await stored_in(noesis, [talk("one", 0), talk("two", 1)])
    before = [await table.version() for table in (noesis.store.active, noesis.store.archive)]
    found = await measure_store(noesis.store, noesis.search, noesis.now_ms)
    assert [await table.version() for table in (noesis.store.active, noesis.store.archive)] == before
    assert (found.rows, found.archived_rows, found.vectors, found.vector_index) == (12, 0, 12, None)
    assert (found.vectors_asked, found.questions, found.recall, found.note) == (12, 12, 1, None)
    assert all(0 <= low <= high for low, high in found.times_ms.values())
    shown = msgspec.json.encode(found).decode()
    assert not any(word in shown for word in BIRDS)


async def test_a_store_without_vectors_is_measured_by_words_and_stays_open_to_any_embedder(
    product: Product, embedder: WordEmbedder
) -> None:
    noesis = product.noesis
    embedder.down = True
    await noesis.indexing.index_many(Scope("ben"), [memory.new() for memory in talk("one", 0).memories])
    embedder.down = False
    found = await measure_store(noesis.store, noesis.search, noesis.now_ms)
    assert (found.vectors, found.vectors_asked, found.recall, found.questions) == (0, 0, None, 6)
    assert found.note is not None
    assert noesis.store.embedder is None


async def test_an_empty_store_has_nothing_to_measure(product: Product) -> None:
    noesis = product.noesis
    found = await measure_store(noesis.store, noesis.search, noesis.now_ms)
    assert (found.rows, found.vectors, found.recall, found.questions) == (0, 0, None, 0)
    assert noesis.store.embedder is None


def test_what_is_neither_embedding_nor_store_is_ranking() -> None:
    times = times_of([Timings(embedding=2.0, store=3.0, total=10.0)])
    assert times["ranking and the rest"] == (5, 5)


def test_a_model_without_weights_of_its_own_gets_the_default_ones() -> None:
    assert shipped("a model nobody fitted") == shipped() == shipped(None)
    assert file_name("Some/Model:7b Q4") == "some-model-7b-q4"
    assert "/" not in file_name("../../etc/passwd")
