"""Notes of basic-memory become observations and prose."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from noesis.memory import MemoryType, NewMemory
from noesis.sources.foreign import basic_memory
from noesis.sources.foreign.basic_memory import read_basic_memory
from noesis.sources.foreign.front_matter import read_front_matter
from noesis.sources.foreign.records import Record, Unreadable
from tests.sources.foreign.samples import SAMPLES

FOLDER = SAMPLES / "basic-memory"


def read(text: str, path: str = "note.md") -> list[Record]:
    found = list(read_basic_memory([(path, text)]))
    assert all(isinstance(each, Record) for each in found)
    return [each for each in found if isinstance(each, Record)]


def test_a_note_becomes_its_prose_and_its_observations() -> None:
    prose, *observations = read((FOLDER / "Coffee Brewing.md").read_text(), "Coffee Brewing.md")
    assert prose.id == "coffee-brewing-methods"
    assert prose.updated_at == 1_769_936_400_000
    assert prose.memory.created_at == 1_768_435_200_000
    assert prose.memory.tags == ("coffee", "brewing")
    assert prose.memory.position == 0
    assert observations[1].memory == NewMemory(
        text="Coffee Brewing Methods: Ada likes Ethiopian beans #beans #light-roast (from the tasting)",
        memory_type=MemoryType.PREFERENCE,
        tags=("preference", "beans", "light-roast", "coffee", "brewing"),
        source="Coffee Brewing.md",
        position=2,
        created_at=1_768_435_200_000,
    )
    assert [each.memory.memory_type for each in observations] == [
        MemoryType.FACT,
        MemoryType.PREFERENCE,
        MemoryType.DECISION,
    ]


def test_tasks_time_codes_links_and_code_stay_prose() -> None:
    text = read((FOLDER / "Coffee Brewing.md").read_text())[0].memory.text
    for kept in (
        "- [ ] an open",
        "- [x] a done",
        "- [00:12:30]",
        "- [a link]",
        "- [code] is not",
        "- requires [[",
    ):
        assert kept in text
    assert "[method]" not in text
    assert "# and no heading" in text
    assert "Empty section" not in text
    assert "permalink" not in text


def test_a_note_of_observations_only_has_no_prose() -> None:
    path = "projects/bare.md"
    (record,) = read((FOLDER / path).read_text(), path)
    assert record.memory.text == "bare: The mill runs on Tuesdays #mill"
    assert record.memory.tags == ("fact", "mill")
    assert read("---\ntitle: T\n---\n# T\n\n## Observations\n\n- [fact] a") == read(
        "---\ntitle: T\n---\n- [fact] a"
    )


@pytest.mark.parametrize(
    ("front", "tags"),
    [
        ("tags: a, b", ["a", "b"]),
        ("tags:\n  - a\n- 'b'", ["a", "b"]),
        ('tags: ["a", b]\ntype: note', ["a", "b"]),
        ("type: note", []),
        ("tags: []", []),
    ],
)
def test_front_matter_tags_of_every_form(front: str, tags: list[str]) -> None:
    assert read_front_matter(f"---\n{front}\n---\ntext").many("tags") == tags


def test_front_matter_needs_its_end() -> None:
    assert read_front_matter("---\ntitle: x\ntext").lines == 0
    assert read_front_matter("text\n---\ntitle: x\n---\n").lines == 0


def test_hostile_front_matter_is_only_words() -> None:
    bomb = "a: &a [x, x]\n" + "\n".join(f"{chr(98 + i)}: &{chr(98 + i)} [*a, *a]" for i in range(20))
    deep = "d: " + "[" * 3_000 + "]" * 3_000
    (record,) = read(f"---\n{bomb}\n{deep}\n---\nsome prose")
    assert record.memory.text == "some prose"


def test_a_note_that_is_too_much_fails_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(basic_memory, "MAX_NOTE_CHARS", 100)
    monkeypatch.setattr(basic_memory, "MAX_OBSERVATIONS", 2)
    notes = [
        ("long.md", "a" * 101),
        ("many.md", "- [a2] x\n" * 3),
        ("half.md", "half a pair \ud800"),
        ("bad \udcff.md", "a name that is not UTF-8"),
        ("good.md", "good"),
    ]
    *bad, good = read_basic_memory(notes)
    assert all(isinstance(each, Unreadable) for each in bad)
    assert [each.place for each in bad if isinstance(each, Unreadable)] == [
        "long.md",
        "many.md",
        "half.md",
        "bad ?.md",
    ]
    assert isinstance(good, Record)


@settings(max_examples=40, deadline=None)
@given(st.text(st.sampled_from("-[]() #x:\n`~\t1"), max_size=200))
def test_nothing_that_can_be_seen_is_lost(text: str) -> None:
    found = list(read_basic_memory([("n.md", text)]))
    kept = "".join(each.memory.text for each in found if isinstance(each, Record))
    assert kept.count("1") + sum("1" in tag for each in found for tag in tags_of(each)) >= bool(
        "1" in body(text)
    )


def tags_of(each: Record | Unreadable) -> tuple[str, ...]:
    return each.memory.tags if isinstance(each, Record) else ()


def body(text: str) -> str:
    lines = text.splitlines()[read_front_matter(text).lines :]
    return "\n".join(line for line in lines if not line.lstrip().startswith("#"))
