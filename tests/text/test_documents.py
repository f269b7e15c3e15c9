"""A Markdown file becomes sections that begin with their heading and leave nothing out."""

import re
import time
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noesis.memory import MemoryType
from noesis.text.documents import Document, Section, day_of_name, memory_type_of, read_document
from noesis.text.front_matter import FrontMatter
from noesis.text.headings import find_headings

PATIENCE_SECONDS = 20.0  # ten times what is allowed, for busy machines


def prose(count: int, word: str = "word") -> str:
    return " ".join(f"{word}{number}" for number in range(count)) + "."


def titles(text: str) -> list[tuple[int, str]]:
    return [(heading.level, heading.title) for heading in find_headings(text)]


def cut(text: str) -> list[tuple[tuple[str, ...], str]]:
    return [(section.heading_path, section.heading) for section in read_document("MEMORY.md", text).sections]


def section(heading: str, *path: str) -> Section:
    return Section(path, heading, f"## {heading}\ntext", 0, 0)


def test_headings_are_found_in_both_styles() -> None:
    text = "# One\nx\n## Two ##\nx\n\nThree\n=====\nx\n\nFour\n---\n   ### Five\n#\n####### seven\n#hashtag\n"
    assert titles(text) == [(1, "One"), (2, "Two"), (1, "Three"), (2, "Four"), (3, "Five"), (1, "")]


@pytest.mark.parametrize(
    "text",
    [
        "```\n# comment\n```",
        "~~~sh\n# comment\n```\n# comment\n~~~~",
        "- item\n  ```\n  # comment\n  ```",
        "```\n# never closed",
        "    # indented",
        "\t# indented",
        "two lines\nof text\n---",
        "- item\n---",
        "1. item\n---",
        "> said\n---",
        "| a | b |\n---",
        "text\n\n---",
        "---\n---",
        "a | b\n--- | ---",
    ],
)
def test_what_only_looks_like_a_heading_is_none(text: str) -> None:
    assert titles(text) == []


def test_a_heading_after_a_closed_fence_is_one_again() -> None:
    assert titles("````\n```\n# no\n````\n# yes") == [(1, "yes")]


def test_a_section_begins_with_its_heading_and_keeps_the_path_apart() -> None:
    text = f"# Home\n{prose(40)}\n\n## Garden\n{prose(40)}\n\n### Roses\n{prose(40)}\n\n## Kitchen\n{prose(40)}\n"
    document = read_document("MEMORY.md", text)
    assert [(each.heading_path, each.heading) for each in document.sections] == [
        ((), "Home"),
        (("Home",), "Garden"),
        (("Home", "Garden"), "Roses"),
        (("Home",), "Kitchen"),
    ]
    assert document.sections[2].text == f"### Roses\n{prose(40)}"
    assert [each.number for each in document.sections] == [0, 1, 2, 3]


def test_a_file_without_headings_is_one_section() -> None:
    text = f"- {prose(400)}\n- {prose(400)}\n"
    assert [each.text for each in read_document("notes.md", text).sections] == [text.rstrip()]


def test_text_before_the_first_heading_is_a_section() -> None:
    assert cut(f"\n\n  Intro.\n\n# One\n{prose(30)}") == [((), ""), ((), "One")]


def test_empty_sections_and_bare_headings_are_dropped() -> None:
    assert cut("") == cut(" \n\n") == cut("# Only\n\n---\n\n## Headings\n") == []
    assert cut(f"# Top\n\n## Empty\n\n## Full\n{prose(30)}") == [(("Top",), "Full")]


def test_small_nested_sections_join_the_heading_above() -> None:
    text = f"# People\n{prose(60)}\n## Ann\nLikes tea.\n## Bob\nLikes coffee.\n# Places\n{prose(60)}"
    first, second = read_document("MEMORY.md", text).sections
    assert first.heading == "People"
    assert first.text.endswith("Likes coffee.")
    assert second.heading == "Places"


def test_small_nested_sections_stop_joining_when_they_are_many() -> None:
    text = "# People\n" + "".join(f"## Person {number}\n{prose(20, 'p')}\n" for number in range(60))
    sections = read_document("MEMORY.md", text, most_words=200).sections
    assert len(sections) > 3
    assert all(20 <= len(each.text.split()) < 300 for each in sections)


def test_a_small_introduction_takes_in_the_first_heading_below_it() -> None:
    text = f"# Deploy\nDo this:\n## Steps\n{prose(60)}\n## After\n{prose(60)}"
    assert cut(text) == [((), "Deploy"), (("Deploy",), "After")]


def test_big_neighbours_never_mix() -> None:
    text = f"# A\n{prose(30)}\n# B\nsmall\n# C\n{prose(30)}\n# D\nsmall\n# E\nsmall\n# F\n{prose(30)}"
    assert [heading for _, heading in cut(text)] == ["A", "B", "C", "D", "F"]


def test_decisions_and_preferences_do_not_join() -> None:
    text = "# Decisions\n- Use SQLite.\n# Preferences\n- Dark mode.\n# Likes\n- Tea.\n"
    assert [heading for _, heading in cut(text)] == ["Decisions", "Preferences"]


def test_sections_rarely_stay_small() -> None:
    note = "# 2026-03-02\n" + "".join(f"## {hour:02}:00\n- {prose(8, 'note')}\n" for hour in range(8, 20))
    sections = read_document("memory/2026-03-02.md", note).sections
    assert all(len(each.text.split()) >= 25 for each in sections)


def test_chinese_text_is_measured_by_its_characters() -> None:
    chinese = "我们决定把数据库放在本地的服务器上面因为这样更加安全可靠而且速度也快"
    assert len(cut(f"# 一\n{chinese}\n# 二\n{chinese}\n")) == 2


def test_front_matter_is_no_section_and_gives_the_day() -> None:
    document = read_document("2026-03-02.md", "---\ntags: home\ndate: 2025-01-01\n---\n# Day\nIt rained.\n")
    assert [each.text for each in document.sections] == ["# Day\nIt rained."]
    assert (document.front.tags, document.day) == (("home",), date(2025, 1, 1))
    assert read_document("2026-03-02.md", "x").day == date(2026, 3, 2)
    assert read_document("MEMORY.md", "x").day is None


@pytest.mark.parametrize(
    ("name", "day"),
    [
        ("2026-03-02.md", date(2026, 3, 2)),
        ("2026-03-02-slug.md", date(2026, 3, 2)),
        ("memory/2026-03-02.md", date(2026, 3, 2)),
        ("a/b\\2026-03-02 trip.MD", date(2026, 3, 2)),
        ("2026-02-30.md", None),
        ("1026-02-03.md", None),
        ("2026-03-021.md", None),
        ("x2026-03-02.md", None),
        ("2026-03-02/notes.md", None),
        ("2026-03-02-a/b.md", None),
        ("2026-03-02.txt", None),
        ("MEMORY.md", None),
    ],
)
def test_a_daily_note_is_known_by_its_name(name: str, day: date | None) -> None:
    assert day_of_name(name) == day


@pytest.mark.parametrize(
    ("heading", "guess"),
    [
        ("Decisions", MemoryType.DECISION),
        ("Key decisions (2026)", MemoryType.DECISION),
        ("Decision: we will keep everything in one small database", MemoryType.DECISION),
        ("Entscheidungen", MemoryType.DECISION),
        ("BESCHLÜSSE", MemoryType.DECISION),
        ("User preferences", MemoryType.PREFERENCE),
        ("Likes & dislikes", MemoryType.PREFERENCE),
        ("Präferenzen", MemoryType.PREFERENCE),
        ("Open decisions", MemoryType.FACT),
        ("Offene Entscheidungen", MemoryType.FACT),
        ("Undecided", MemoryType.FACT),
        ("What it looks like", MemoryType.FACT),
        ("A long talk about the likes of us and them", MemoryType.FACT),
        ("Predecisions", MemoryType.FACT),
    ],
)
def test_a_type_is_guessed_from_whole_words_of_the_heading(heading: str, guess: MemoryType) -> None:
    assert memory_type_of(section(heading), "MEMORY.md") is guess


def test_a_type_comes_from_the_nearest_heading_that_says_one() -> None:
    assert memory_type_of(section("Garden", "Decisions"), "MEMORY.md") is MemoryType.DECISION
    assert memory_type_of(section("Likes", "Decisions"), "MEMORY.md") is MemoryType.PREFERENCE
    assert memory_type_of(section("Garden"), "memory/2026-03-02.md") is MemoryType.CONTEXT
    assert memory_type_of(section("Decisions"), "memory/2026-03-02.md") is MemoryType.DECISION


def test_front_matter_wins_over_a_guess() -> None:
    front = FrontMatter(memory_type=MemoryType.SESSION)
    assert memory_type_of(section("Decisions"), "MEMORY.md", front) is MemoryType.SESSION
    assert memory_type_of(section("Decisions"), "MEMORY.md", FrontMatter()) is MemoryType.DECISION


def test_a_long_file_of_headings_is_read_in_linear_time() -> None:
    started = time.perf_counter()
    for line in (
        "# a\nb\n",
        "#" * 1000 + "\n",
        "a\n-\n",
        "```\n",
        "###### x\n# y\nz\n",
        "- - - - -\n",
        "漢\n==\n",
        "# 😀\n😀\n",
        "# a\n" + "## b\n" * 50_000,
    ):
        read_document("x.md", line * (250_000 // len(line)))
    assert time.perf_counter() - started < PATIENCE_SECONDS


LINES = st.sampled_from(
    [
        *("# Top\n", "## Part\n", "### Deep ###\n", "#\n", "Under\n===\n", "Lower\n---\n", "   ## Moved\n"),
        *("```py\n", "```\n", "~~~\n", "# in\n", "    # code\n", "> said\n", "| a | b |\n", "|---|---|\n"),
        *(
            "- item one\n",
            "* item\n",
            "1. one\n",
            "\n",
            " \t\n",
            "---\n",
            "***\n",
            "\r\n",
            "\u2028",
            "\u00a0\n",
        ),
        *(
            "## Decisions\n",
            "## Likes\n",
            "漢字。\n",
            "👨‍👩‍👧\n",
            prose(8) + "\n",
            prose(30) + "\n",
            "\x0b",
            "+\n",
        ),
    ]
)
TEXTS = st.one_of(st.text(), st.lists(LINES, max_size=60).map("".join))


def is_bare(text: str) -> bool:
    """Whether only headings, rules and blank lines are left of a text."""
    kept = list(text)
    for heading in find_headings(text):
        kept[heading.start : heading.end] = " " * (heading.end - heading.start)
    return not re.sub(r"[\s\-*_=]", "", "".join(kept))


def check(text: str, document: Document) -> None:
    """The sections are what they say, in order, and leave out bare headings only."""
    covered = 0
    for number, each in enumerate(document.sections):
        assert each.number == number
        assert each.text == text[each.start : each.start + len(each.text)]
        assert each.text.strip()
        assert each.start >= covered
        assert is_bare(text[covered : each.start])
        assert not each.heading or find_headings(each.text)[0].start == 0
        covered = each.start + len(each.text)
    assert is_bare(text[covered:])


@given(TEXTS)
def test_sections_cover_everything_but_bare_headings(text: str) -> None:
    document = read_document("MEMORY.md", "\n" + text)  # no front matter
    check("\n" + text, document)


@given(TEXTS, st.integers(0, 40), st.integers(0, 100))
def test_any_setting_covers_everything(text: str, least: int, most: int) -> None:
    check("\n" + text, read_document("MEMORY.md", "\n" + text, least, most))


@given(TEXTS)
def test_offsets_count_from_the_start_of_the_file(text: str) -> None:
    whole = f"---\ntags: home\n---\n{text}"
    document = read_document("MEMORY.md", whole)
    assert all(each.text == whole[each.start : each.start + len(each.text)] for each in document.sections)
    assert [each.text for each in document.sections] == [
        each.text for each in read_document("MEMORY.md", "\n" + text).sections
    ]
