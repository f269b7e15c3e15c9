"""Words: what the keyword index finds, in which forms, and what it leaves out."""

from __future__ import annotations

import pytest

from noesis.store import Store
from noesis.store.filters import EVERYTHING
from noesis.text.stop_words import STOP_WORDS
from tests.store.changes import Put
from tests.store.rows import make_row

TEXT = (
    "The van key hangs by the back door. No man may die here, not even Caroline's fan. "
    "camelCase snake_case kebab-case v2.10.1 naïve Zürich 東京の住所 C vi x86_64 running"
)
FOUND = """
    van key hangs back door man die not no fan camelCase snake_case kebab-case snake naive naïve NAIVE
    zurich Zürich 東京 住所 c vi doors vans dying runs run hanging caroline 2.10.1 x86_64
"""


@pytest.fixture
async def filled(store: Store) -> Store:
    await store.submit(Put(make_row(1, text=TEXT)))
    return store


async def test_every_word_that_means_something_is_found(filled: Store) -> None:
    """In either case, with and without accents, in other forms of it, and where other languages have no use for it."""
    lost = [word for word in FOUND.split() if not (await filled.active.matching(word, EVERYTHING, 3))[0]]
    assert lost == []


async def test_function_words_find_nothing(store: Store) -> None:
    await store.submit(Put(make_row(1, text=" ".join(STOP_WORDS))))
    found = [word for word in STOP_WORDS if (await store.active.matching(word, EVERYTHING, 3))[0]]
    assert found == []


async def test_a_row_without_the_word_is_not_found(filled: Store) -> None:
    await filled.submit(Put(make_row(2, text="something else altogether")))
    rows, scores = await filled.active.matching("door else", EVERYTHING, 5)
    assert {row.id for row in rows} == {make_row(1).id, make_row(2).id}
    assert list(scores) == sorted(scores, reverse=True)
    assert (await filled.active.matching("absent", EVERYTHING, 5))[0] == []


@pytest.mark.parametrize(
    "query", ['"', '"door', "door AND", "(door", "door:", "keyword_text:door", "do?r", "*", "+"]
)
async def test_a_query_is_words_and_never_a_language(query: str, filled: Store) -> None:
    """Signs of query languages are neither obeyed nor stumbled over."""
    rows, _ = await filled.active.matching(query, EVERYTHING, 5)
    assert len(rows) == (1 if "door" in query else 0)


async def test_the_index_is_kept_in_small_parts(store: Store) -> None:
    """New rows are folded in part by part, so that it takes no more memory the more there is."""
    await store.active.append(
        [make_row(number, text=f"boat {number} by the water") for number in range(30_000)]
    )
    await store.maintain(force=True)
    folder = store.directory / f"{store.active.name}.lance" / "_indices"
    assert max(len(list(index.glob("part_*_tokens.lance"))) for index in folder.iterdir()) > 1
    assert len((await store.active.matching("19999", EVERYTHING, 3))[0]) == 1
