"""Filters: whatever the values are, the store finds what plain Python finds."""

from __future__ import annotations

import asyncio
import operator
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from noesis.errors import InvalidInput
from noesis.store import Column, Condition, Row, Store, filters
from noesis.store.filters import EVERYTHING
from tests.store import reference
from tests.store.changes import Put
from tests.store.reference import Test
from tests.store.rows import make_row
from tests.support import NOW

ATTACKS = [
    "x' OR '1'='1",
    "a\\' OR 1=1 --",
    "'; DROP TABLE memories",
    "%",
    "_",
    "`",
    '"',
    "a) OR (true",
    "O'Brien",
    "O''Brien",
    "\\",
    "\\\\",
    "'",
    "''",
    "\\'",
    "--",
    "/* */",
    "x'y\"z`w",
    "NULL",
    "true",
    "1",
    "new\nline",
    "tab\t",
    "ünïcode",
    "日本語",
    "👩‍💻",
    "\u202eabc",
    "{{7*7}}",
    "$1",
    "?",
    ":name",
    "E'\\x27'",
    "U&'\\0027'",
    "]) OR true OR array_has_all(tags, ['x",
    "x" * 10_000,
]
Loop = asyncio.AbstractEventLoop


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Loop, Store, list[Row]]]:
    """A store whose rows carry the attack strings as values, on a loop for the whole module."""
    loop = asyncio.new_event_loop()
    directory = tmp_path_factory.mktemp("filters") / "store"
    store = loop.run_until_complete(Store.open(directory, now_ms=lambda: NOW))
    values = [*ATTACKS, "plain", "alpha"]
    rows = [
        make_row(
            number,
            agent_id=value,
            session_id=value if number % 2 else None,
            source=None if number % 3 == 0 else value,
            memory_type=value,
            tags=[value, values[number - 1]][: number % 3],
            position=number if number % 4 else None,
            priority=number,
        )
        for number, value in enumerate(values)
    ]
    loop.run_until_complete(_put(store, rows))
    yield loop, store, rows
    loop.run_until_complete(store.close())
    loop.close()


async def _put(store: Store, rows: list[Row]) -> None:
    await asyncio.gather(*(store.submit(Put(row)) for row in rows))


def same(kept: tuple[Loop, Store, list[Row]], condition: Condition, test: Test) -> bool:
    loop, store, rows = kept
    found = loop.run_until_complete(store.active.values([Column.ID], condition))
    return sorted(row_id for (row_id,) in found) == sorted(row.id for row in rows if test(row))


STRINGS = [Column.AGENT_ID, Column.SESSION_ID, Column.SOURCE, Column.MEMORY_TYPE]


@pytest.mark.parametrize("column", STRINGS)
def test_no_attack_is_ever_taken_as_sql(column: Column, kept: tuple[Loop, Store, list[Row]]) -> None:
    for value in ATTACKS:
        assert same(kept, filters.equals(column, value), reference.equals(column.value, value)), value
        assert same(kept, filters.differs(column, value), reference.differs(column.value, value)), value
        pair = [value, "plain"]
        assert same(kept, filters.one_of(column, pair), reference.one_of(column.value, pair)), value


def test_no_tag_is_ever_taken_as_sql(kept: tuple[Loop, Store, list[Row]]) -> None:
    for value in ATTACKS:
        assert same(kept, filters.has_all(Column.TAGS, [value]), reference.has_all([value])), value
        pair = [value, "plain"]
        assert same(kept, filters.has_all(Column.TAGS, pair), reference.has_all(pair)), value


TEXTS = st.one_of(
    st.sampled_from(ATTACKS),
    st.text(alphabet=st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=40),
    st.text(alphabet="'\\\"`%_;-()[] OR=1", max_size=20),
)
NUMBERS = st.integers(-(2**31), 2**31)
COMPARISONS = [
    (filters.at_least, operator.ge),
    (filters.below, operator.lt),
    (filters.at_most, operator.le),
    (filters.above, operator.gt),
]


@st.composite
def conditions(draw: st.DrawFn) -> tuple[Condition, Test]:
    """One condition with its twin in plain Python."""
    column = draw(st.sampled_from(STRINGS))
    number = draw(st.sampled_from([Column.PRIORITY, Column.POSITION]))
    kind = draw(st.integers(0, 5))
    if kind == 0:
        value = draw(TEXTS)
        return filters.equals(column, value), reference.equals(column.value, value)
    if kind == 1:
        value = draw(TEXTS)
        return filters.differs(column, value), reference.differs(column.value, value)
    if kind == 2:
        values = draw(st.lists(TEXTS, max_size=3))
        return filters.one_of(column, values), reference.one_of(column.value, values)
    if kind == 3:
        values = draw(st.lists(TEXTS, max_size=3))
        return filters.has_all(Column.TAGS, values), reference.has_all(values)
    if kind == 4:
        build, test = draw(st.sampled_from(COMPARISONS))
        bound = draw(st.one_of(st.integers(-2, 45), st.integers(-30_000, 30_000)))
        return build(number, bound), reference.compares(number.value, bound, test)
    return filters.is_set(column), reference.is_set(column.value)


@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
@given(parts=st.lists(conditions(), min_size=1, max_size=3))
def test_any_mixture_of_conditions_finds_what_plain_python_finds(
    parts: list[tuple[Condition, Test]], kept: tuple[Loop, Store, list[Row]]
) -> None:
    whole = EVERYTHING
    for condition, _ in parts:
        whole &= condition
    assert same(kept, whole, lambda row: all(test(row) for _, test in parts))


def test_a_nul_is_refused_before_it_reaches_the_store() -> None:
    """It would end the text of the query in a library that counts by it."""
    for build in (filters.equals, filters.differs):
        with pytest.raises(InvalidInput):
            build(Column.SOURCE, "a\x00b")
    with pytest.raises(InvalidInput):
        filters.one_of(Column.SOURCE, ["a", "\x00"])
    with pytest.raises(InvalidInput):
        filters.has_all(Column.TAGS, ["\x00"])


def test_no_value_at_all_fits_nothing_in_a_choice_and_everything_in_a_list(
    kept: tuple[Loop, Store, list[Row]],
) -> None:
    assert same(kept, filters.one_of(Column.SOURCE, []), lambda row: False)
    assert same(kept, filters.has_all(Column.TAGS, []), lambda row: True)
    assert same(kept, EVERYTHING, lambda row: True)


def test_a_truth_value_is_a_number() -> None:
    """Python's True would be another type of SQL."""
    assert filters.equals(Column.PRIORITY, True).sql == filters.equals(Column.PRIORITY, 1).sql


async def test_a_deletion_takes_the_named_rows_and_no_others(store: Store) -> None:
    """Both kinds of quoting that are live against this version of the library."""
    rows = [make_row(number, id=value, parent_id=value) for number, value in enumerate(ATTACKS[:12])]
    await _put(store, rows)
    for gone, row in enumerate(rows, 1):
        await store.active.delete([row.id])
        left = await store.active.values([Column.ID], EVERYTHING)
        assert sorted(row_id for (row_id,) in left) == sorted(row.id for row in rows[gone:])
