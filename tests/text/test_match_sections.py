"""Memories keep their ids while the file they were made of is edited."""

import time
from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from noesis.text.documents import Section, read_document
from noesis.text.normalise import content_hash
from noesis.text.section_matching import Known, MatchedBy, Matching, match_sections

PATIENCE_SECONDS = 20.0
FOX = "The quick brown fox jumps over the lazy dog and then sleeps in the warm barn until the morning."
PANGRAM = "Pack my box with five dozen liquor jugs before the early train leaves for the northern harbour."


def remembered(sections: Sequence[Section], with_paths: bool = True) -> list[Known]:
    return [
        Known(
            memory_id=f"id{section.number}",
            content_hash=content_hash(section.text),
            text=section.text,
            position=section.number,
            heading_path=section.heading_path if with_paths else None,
        )
        for section in sections
    ]


def sections_of(text: str) -> tuple[Section, ...]:
    return read_document("MEMORY.md", text, least_words=0).sections


def ids(matching: Matching) -> dict[int, tuple[str, MatchedBy]]:
    return {match.section.number: (match.known.memory_id, match.by) for match in matching.kept}


def edited(before: str, after: str, with_paths: bool = True) -> Matching:
    return match_sections(remembered(sections_of(before), with_paths), sections_of(after))


def test_an_untouched_file_keeps_every_id() -> None:
    text = f"# A\n{FOX}\n# B\n{PANGRAM}\n"
    assert ids(edited(text, text)) == {0: ("id0", MatchedBy.CONTENT), 1: ("id1", MatchedBy.CONTENT)}


def test_moved_sections_keep_their_ids() -> None:
    matching = edited(f"# A\n{FOX}\n# B\n{PANGRAM}\n", f"# B\n{PANGRAM}\n# A\n{FOX}\n")
    assert ids(matching) == {0: ("id1", MatchedBy.CONTENT), 1: ("id0", MatchedBy.CONTENT)}
    assert not any(match.changed for match in matching.kept)


def test_a_rewritten_section_keeps_its_id_by_its_heading() -> None:
    matching = edited(f"# A\n{FOX}\n# B\nold\n", f"# New\nfirst\n# A\n{FOX}\n# B\nwholly different\n")
    assert ids(matching) == {1: ("id0", MatchedBy.CONTENT), 2: ("id1", MatchedBy.HEADING)}
    assert [section.heading for section in matching.new] == ["New"]
    assert [match.changed for match in matching.kept] == [False, True]


def test_a_renamed_section_keeps_its_id_by_its_words() -> None:
    matching = edited(f"# A\n{FOX}\n", f"# Fox\n{FOX.replace('lazy', 'old')}\n")
    assert ids(matching) == {0: ("id0", MatchedBy.SIMILARITY)}


def test_text_without_a_heading_is_matched_too() -> None:
    assert ids(edited(FOX, f"{FOX} It snored.")) == {0: ("id0", MatchedBy.HEADING)}


def test_what_is_unlike_is_new_and_gone() -> None:
    matching = edited(f"# A\n{FOX}\n", f"# B\n{PANGRAM}\n")
    assert matching.kept == ()
    assert [section.heading for section in matching.new] == ["B"]
    assert [known.memory_id for known in matching.gone] == ["id0"]


def test_headings_below_others_are_not_mixed_up() -> None:
    before = "# Ann\nx\n## Likes\ntea\n# Bob\ny\n## Likes\nbeer\n"
    after = "# Bob\ny\n## Likes\nwine\n# Ann\nx\n## Likes\nmilk\n"
    matched = ids(edited(before, after))
    assert matched[1] == ("id3", MatchedBy.HEADING)
    assert matched[3] == ("id1", MatchedBy.HEADING)


def test_of_equal_headings_the_more_similar_is_the_same() -> None:
    before = f"# Notes\n{FOX}\n# Notes\n{PANGRAM}\n"
    assert ids(edited(before, f"# Notes\n{PANGRAM} Or not.\n")) == {0: ("id1", MatchedBy.HEADING)}


def test_equal_texts_are_matched_in_order() -> None:
    matching = edited("# A\nx\n# A\nx\n# A\nx\n", "# A\nx\n# A\nx\n")
    assert ids(matching) == {0: ("id0", MatchedBy.CONTENT), 1: ("id1", MatchedBy.CONTENT)}
    assert [known.memory_id for known in matching.gone] == ["id2"]


def test_without_paths_the_heading_alone_is_asked() -> None:
    before, after = "# Ann\nx y z\n## Likes\ntea\n", "# Bob\nx y z\n## Likes\nbeer\n"
    assert ids(edited(before, after, with_paths=False))[1] == ("id1", MatchedBy.HEADING)
    assert 1 not in ids(edited(before, after))


def test_the_hash_of_the_stored_form_is_compared() -> None:
    (section,) = sections_of("# A\nthe key is hunter2")
    stored = Known(memory_id="id0", content_hash=content_hash("# A\nthe key is <hidden>"), text="")
    matching = match_sections(
        [stored], [section], lambda text: content_hash(text.replace("hunter2", "<hidden>"))
    )
    assert ids(matching) == {0: ("id0", MatchedBy.CONTENT)}


def test_many_alike_sections_are_matched_in_time() -> None:
    before = "".join(f"## Notes\n{FOX} number {number}\n" for number in range(1500))
    after = "".join(f"## Log\n{FOX} count {number}\n" for number in range(1500))
    started = time.perf_counter()
    same = edited(before, before.replace("number", "count"))
    other = edited(before, after)
    assert time.perf_counter() - started < PATIENCE_SECONDS
    assert len(same.kept) == 1500
    assert len(other.kept) + len(other.new) == 1500


PARTS = st.sampled_from(
    [
        f"# A\n{FOX}\n",
        f"# B\n{FOX} More.\n",
        f"# A\n{PANGRAM}\n",
        "## Deep\nx\n",
        "# A\nx\n",
        f"{FOX}\n",
        "# 漢\n字\n",
    ]
)
FILES = st.lists(PARTS, max_size=12).map("".join)


@given(FILES, FILES, st.booleans())
def test_each_id_and_each_section_is_used_once(before: str, after: str, with_paths: bool) -> None:
    old, new = remembered(sections_of(before), with_paths), sections_of(after)
    matching = match_sections(old, new)
    kept = [match.known.memory_id for match in matching.kept]
    assert sorted(kept + [known.memory_id for known in matching.gone]) == sorted(
        known.memory_id for known in old
    )
    numbers = [match.section.number for match in matching.kept]
    assert sorted(numbers + [section.number for section in matching.new]) == list(range(len(new)))
    assert numbers == sorted(numbers)
    assert match_sections(old, new) == matching


@given(FILES, st.randoms(use_true_random=False))
def test_the_same_file_is_all_equal_in_whatever_order_it_is_known(text: str, random: object) -> None:
    old = remembered(sections_of(text))
    shuffled = list(old)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    matching = match_sections(shuffled, sections_of(text))
    assert [match.known for match in matching.kept] == old
    assert not any(match.changed for match in matching.kept)
    assert not matching.new
    assert not matching.gone
