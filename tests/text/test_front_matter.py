"""The block at the start of a file is read within narrow limits, and what is wrong in it costs nothing."""

import time
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noesis.memory import MAX_TAGS, MemoryType
from noesis.text.front_matter import MAX_BLOCK_CHARS, FrontMatter, read_day, split_front_matter

SECRET = "kookaburra"
PATIENCE_SECONDS = 2.0


def block(*lines: str) -> str:
    return "\n".join(("---", *lines, "---", "body"))


def test_all_honoured_keys_are_read() -> None:
    text = block("tags: [home, garden]", "type: Decision", "priority: 90", "ttl: 30d", "date: 2026-03-02")
    front, body = split_front_matter(text)
    assert front == FrontMatter(
        tags=("home", "garden"),
        memory_type=MemoryType.DECISION,
        priority=90,
        ttl_days=30.0,
        day=date(2026, 3, 2),
    )
    assert text[body:] == "body"


@pytest.mark.parametrize(
    ("line", "tags"),
    [
        ("tags: home, garden", ("home", "garden")),
        ("tags: '#home, #garden'", ("home", "garden")),
        ("Tags:\n  - home\n  - two words\n  - home", ("home", "two words")),
        ("tags: [2026, true]", ("2026", "true")),
        ("tags:", ()),
        ("tags: null", ()),
        ("tags: {home: garden}", ()),
    ],
)
def test_tags_are_a_list_or_a_text_with_commas(line: str, tags: tuple[str, ...]) -> None:
    assert split_front_matter(block(line))[0].tags == tags


@pytest.mark.parametrize(
    ("line", "days"),
    [
        ("ttl: 30", 30.0),
        ("ttl: 30d", 30.0),
        ("ttl: '7 days'", 7.0),
        ("ttl_days: 0.5", 0.5),
        ("ttl_days: 0", 0.0),
        ("ttl_days: 3\nttl: 9", 3.0),
        ("ttl_days: soon\nttl: 9", 9.0),
    ],
)
def test_a_ttl_is_a_number_of_days(line: str, days: float) -> None:
    assert split_front_matter(block(line))[0].ttl_days == days


@pytest.mark.parametrize(
    "line",
    [
        "priority: 101",
        "priority: -1",
        "priority: high",
        "priority: [5]",
        "ttl: -3",
        "ttl: .nan",
        "ttl: 1e999",
        "ttl: 999999",
        "type: kookaburra",
        "date: 2026-02-30",
        "date: 1969-12-31",
        "date: 2100-01-01",
        "tags: [" + "x" * 65 + "]",
        'tags: ["a\\nb"]',
        "tags: [[home]]",
    ],
)
def test_a_value_out_of_its_limits_is_ignored_with_one_warning(line: str) -> None:
    front, body = split_front_matter(block(line, "unknown: kept quiet"))
    assert front == FrontMatter(warnings=front.warnings)
    assert len(front.warnings) == 1
    assert front.warnings[0].startswith(line.partition(":")[0])
    assert body > 0


def test_good_values_survive_beside_bad_ones() -> None:
    front, _ = split_front_matter(block("tags: [home, '']", "priority: 500", "ttl: 5"))
    assert (front.tags, front.priority, front.ttl_days, len(front.warnings)) == (("home",), None, 5.0, 2)


def test_more_tags_than_a_memory_may_have_are_cut() -> None:
    front, _ = split_front_matter(block(f"tags: [{', '.join(map(str, range(MAX_TAGS + 9)))}]"))
    assert front.tags == tuple(map(str, range(MAX_TAGS)))
    assert len(front.warnings) == 1


@pytest.mark.parametrize(
    "lines",
    [
        ("a: &x [1, 2]", "b: [*x, *x]"),
        ("a: &x b",),
        ("a: !!python/object:os.system x",),
        ("a: ! x",),
        ("- a", "- b"),
        ("only prose",),
        ("a: [b",),
        ("a: b", "--- {c: d}"),
        ("a: \0",),
        ("a: \ud800",),
        ("a: {b: {c: {d: {e: f}}}}",),
        tuple(f"k{number}: v" for number in range(101)),
        ("a: " + "[" * 3000,),
        tuple(" " * depth + "a:" for depth in range(120)),
        ("x: " + "y" * MAX_BLOCK_CHARS,),
    ],
)
def test_a_broken_or_hostile_block_is_left_as_text_with_a_warning(lines: tuple[str, ...]) -> None:
    front, body = split_front_matter(block("tags: [home]", *lines))
    assert body == 0
    assert front == FrontMatter(warnings=front.warnings)
    assert len(front.warnings) == 1


def test_a_hostile_block_costs_next_to_nothing() -> None:
    bombs = [
        "a: " + "[" * 8000,
        "- " * 4000,
        "{a: " * 2000,
        "a: &a [x]\n" + "b: [*a,*a,*a]\n" * 500,
        "? " * 4000,
    ]
    started = time.perf_counter()
    for bomb in bombs:
        assert split_front_matter(block(bomb))[1] == 0
    assert split_front_matter("---\n" + "x" * 50_000_000)[1] == 0
    assert time.perf_counter() - started < PATIENCE_SECONDS


@pytest.mark.parametrize(
    "text",
    [
        "",
        "---",
        "---\n",
        "--- \n",
        "plain",
        "# heading\n---\n",
        "----\na: b\n---\n",
        " ---\na: b\n---\n",
        "---a: b\n---",
    ],
)
def test_a_text_without_a_block_is_all_body(text: str) -> None:
    front, body = split_front_matter(text)
    assert body == 0
    assert front == FrontMatter(warnings=front.warnings)


@pytest.mark.parametrize(
    "text", ["---\n---\nbody", "---\n# only a comment\n---\nbody", "---\r\n\r\n---\r\nbody"]
)
def test_an_empty_block_is_no_part_of_the_body(text: str) -> None:
    front, body = split_front_matter(text)
    assert front == FrontMatter()
    assert text[body:] == "body"


def test_warnings_quote_nothing_of_the_file() -> None:
    for lines in (
        [
            f"type: {SECRET}",
            f"priority: {SECRET}",
            f"ttl: {SECRET}",
            f"date: {SECRET}",
            f"tags: [{SECRET * 9}]",
        ],
        [f"{SECRET}: [{SECRET}"],
        [f"{SECRET}: &{SECRET} {SECRET}"],
        [f"{SECRET}: !{SECRET} {SECRET}"],
        [f"{SECRET}: \0"],
    ):
        warnings = split_front_matter(block(*lines))[0].warnings
        assert warnings
        assert SECRET not in "".join(warnings)


def test_a_day_is_a_real_one() -> None:
    assert read_day("2024-02-29") == date(2024, 2, 29)
    assert read_day(" 2026-03-02T10:00:00Z ") == date(2026, 3, 2)
    for wrong in ("2025-02-29", "2026-3-2", "20260302", "2026-W10-1", "2026-03-02x", "٢٠٢٦-03-02", ""):
        assert read_day(wrong) is None


YAML_LIKE = st.text(st.sampled_from("abk:-[]{},&*!?|>#'\"% \n\t\\0123é😀\x00"), max_size=120)


@given(YAML_LIKE)
def test_any_block_is_read_or_left_whole(content: str) -> None:
    text = block(content)
    front, body = split_front_matter(text)
    assert body == 0 or text[:body].rstrip().endswith("---")
    assert body == 0 or text[body:].endswith("body")
    assert body > 0 or front == FrontMatter(warnings=front.warnings)
