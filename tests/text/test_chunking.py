"""Chunks cover the text, fit, cut where it hurts least, and stay put when something else changes."""

import itertools
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from noesis.text.chunking import Chunk, Fits, chunk_text

PATIENCE_SECONDS = 20.0  # ten times what is allowed, for busy machines
LETTERS = "abcdefghijklmnopqrstuvwxyz"
NUMBERED = [f"{a}{b}{c}" for a, b, c in itertools.product(LETTERS, repeat=3)]

MARKDOWN = st.sampled_from(
    [
        *(
            "# Title\n",
            "## Part\n",
            "text follows here. ",
            "And more; ",
            "word ",
            "\n",
            "\n\n",
            "- item\n",
            "1. one\n",
        ),
        *(
            "```py\n",
            "```\n",
            "x = 1\n",
            "| a | b |\n",
            "|---|---|\n",
            "---\n",
            "  deeper\n",
            "~~~\n",
            "> said\n",
        ),
        *("漢字。", "👨‍👩‍👧", "e\u0301", "🇩🇪", "${{ a.b:c }}=", "x" * 40, "\r\n", "\u200d", " \t"),
    ]
)
CLUSTERS = st.sampled_from(
    [
        *("e\u0301", "👨‍👩‍👧", "🇩🇪", "👍🏽", "\u1112\u1161\u11ab", "हि", "\r\n", "1\ufe0f\u20e3"),
        *("a", "漢", " ", ".", "-", "\n"),
    ]
)
TEXTS = st.one_of(st.text(), st.lists(MARKDOWN, max_size=80).map("".join))


def shorter_than(length: int) -> Fits:
    return lambda text: len(text) <= length


def check(text: str, chunks: list[Chunk]) -> None:
    """The chunks are what they say and leave nothing out."""
    covered = 0
    for number, chunk in enumerate(chunks):
        assert chunk.text == text[chunk.start : chunk.end]
        assert chunk.start <= covered < chunk.end
        assert number == 0 or chunk.start > chunks[number - 1].start
        covered = chunk.end
    assert covered == len(text)


def prose(count: int, start: int = 0) -> str:
    """`count` different words in sentences of eight and paragraphs of forty."""
    parts = []
    for place, word in enumerate(NUMBERED[start : start + count], 1):
        parts.append(word + (".\n\n" if place % 40 == 0 else ". " if place % 8 == 0 else " "))
    return "".join(parts)


@settings(deadline=None)
@given(TEXTS, st.integers(1, 40), st.integers(0, 20))
def test_chunks_cover_the_text_within_the_word_limit(text: str, max_words: int, overlap: int) -> None:
    chunks = chunk_text(text, max_words, overlap)
    check(text, chunks)
    assert all(len(chunk.text.split()) <= max_words for chunk in chunks)


@settings(deadline=None)
@given(TEXTS, st.integers(40, 200))
def test_every_chunk_fits_the_embedder(text: str, length: int) -> None:
    fits = shorter_than(length)
    chunks = chunk_text(text, 30, 5, fits)
    check(text, chunks)
    assert all(fits(chunk.text) for chunk in chunks)


@settings(deadline=None)
@given(TEXTS, st.integers(1, 5))
def test_a_tiny_limit_still_covers_everything(text: str, length: int) -> None:
    check(text, chunk_text(text, 30, 5, shorter_than(length)))


@settings(deadline=None)
@given(TEXTS)
def test_a_limit_nothing_meets_ends_in_single_clusters(text: str) -> None:
    check(text, chunk_text(text, 30, 5, lambda _: False))


@settings(deadline=None)
@given(st.lists(CLUSTERS, max_size=60), st.integers(1, 20), st.integers(8, 60))
def test_no_cut_falls_inside_what_a_reader_sees_as_one(
    clusters: list[str], max_words: int, length: int
) -> None:
    joints = set(itertools.accumulate(map(len, clusters), initial=0))
    for chunk in chunk_text("".join(clusters), max_words, 3, shorter_than(length)):
        assert {chunk.start, chunk.end} <= joints


@settings(deadline=None)
@given(TEXTS, st.integers(1, 30))
def test_the_same_text_gives_the_same_chunks(text: str, max_words: int) -> None:
    assert chunk_text(text, max_words, 4) == chunk_text(text, max_words, 4)


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 1999), st.sampled_from(["zzzz", "z", "some words more"]))
def test_a_changed_word_leaves_the_chunks_before_it(place: int, new: str) -> None:
    words = prose(2000).split(" ")
    changed = words.copy()
    changed[min(place, len(words) - 1)] = new
    before, after = chunk_text(" ".join(words), 100, 15), chunk_text(" ".join(changed), 100, 15)
    until = len(" ".join(words[:place]))
    # A chunk looks as far as it could have reached: one hundred words, here 450 characters at most.
    same = [chunk for chunk in before if chunk.start + 450 < until]
    assert after[: len(same)] == same


def test_a_changed_word_leaves_the_chunks_after_it() -> None:
    text = prose(2000)
    word = text.split()[900]
    before = chunk_text(text, 100, 15)
    after = {chunk.text for chunk in chunk_text(text.replace(word, "zz", 1), 100, 15)}
    assert len([chunk for chunk in before if chunk.text not in after]) <= 2


def test_a_paragraph_put_in_shifts_only_its_neighbours() -> None:
    sections = [f"## Section {number}\n\n{prose(90, number * 90)}" for number in range(20)]
    before = {chunk.text for chunk in chunk_text("".join(sections), 120, 15)}
    sections[10] += "A fresh paragraph stands here now.\n\n"
    after = [chunk.text for chunk in chunk_text("".join(sections), 120, 15)]
    assert len([text for text in after if text not in before]) <= 3


def test_a_short_text_is_one_chunk() -> None:
    text = prose(512)
    assert chunk_text(text) == [Chunk(text, 0, len(text))]


@pytest.mark.parametrize(
    "line", ["2026", "1.", "1", "0123456789", "12345678901. x", "-", "*", "#", "`", "|", "=", "```"]
)
def test_a_line_that_only_begins_like_markdown_is_text(line: str) -> None:
    for text in (line, f"{line}\n", f"a\n{line}\nb"):
        assert chunk_text(text) == [Chunk(text, 0, len(text))]


def test_no_text_has_no_chunk() -> None:
    assert chunk_text("") == []


def test_chunks_overlap_by_about_the_words_asked_for() -> None:
    text = prose(4000)
    chunks = chunk_text(text)
    assert len(chunks) > 5
    for one, following in itertools.pairwise(chunks):
        shared = text[following.start : one.end].split()
        assert 32 <= len(shared) <= 80
        assert text[: following.start].rstrip().endswith(".")


def test_no_overlap_when_none_is_asked_for() -> None:
    chunks = chunk_text(prose(2000), 100, 0)
    assert all(one.end == following.start for one, following in itertools.pairwise(chunks))


def test_cuts_fall_before_headings() -> None:
    text = "".join(f"# Part {number}\n\n{prose(80, number * 80)}" for number in range(6))
    starts = [text[chunk.end :][:6] for chunk in chunk_text(text, 100, 0)[:-1]]
    assert starts == ["# Part"] * 5


def test_a_heading_is_never_the_last_line_of_a_chunk() -> None:
    text = "".join(f"{prose(23, number * 23)}\n\n## Part {number}\n\n" for number in range(40))
    chunks = chunk_text(text, 60, 8)
    last_lines = [chunk.text.strip().splitlines()[-1] for chunk in chunks[:-1]]
    assert not [line for line in last_lines if line.startswith("#")]


BLOCKS = {
    "fence": "```py\n" + "".join(f"row_{number} = {number}\n\n" for number in range(15)) + "```\n",
    "table": "| a | b |\n|---|---|\n" + "".join(f"| {number} | x |\n" for number in range(12)),
    "list": "".join(f"- point {number} is here\n" for number in range(15)),
    "nested list": "".join(f"- point {number}\n  - deeper\n\n    more\n" for number in range(10)),
}


@pytest.mark.parametrize("kind", BLOCKS)
@pytest.mark.parametrize("before", range(20, 100, 7))
def test_a_block_that_fits_stays_whole(kind: str, before: int) -> None:
    """Wherever the limit falls: the block is cut off before, and the chunk that has it has all of it."""
    block = BLOCKS[kind]
    text = f"{prose(before)}\n\n{block}\n\n{prose(120, 200)}"
    chunks = chunk_text(text, 100, 10)
    assert any(block.strip() in chunk.text for chunk in chunks)
    start = text.index(block)
    cuts = {place for chunk in chunks for place in (chunk.start, chunk.end)}
    torn = [place for place in cuts if start < place < start + len(block)]
    assert torn == [] if "list" not in kind else all(text[place - 1] == "\n" for place in torn)


def test_a_fence_too_long_for_a_chunk_is_cut_between_lines() -> None:
    text = "```\n" + "".join(f"row_{number} = {number}\n" for number in range(300)) + "```\n"
    chunks = chunk_text(text, 100, 10)
    assert len(chunks) > 5
    assert all(
        text[chunk.end - 1] == "\n" and text[chunk.start - 1 : chunk.start] in ("", "\n") for chunk in chunks
    )


def test_a_hash_within_a_fence_is_no_heading() -> None:
    fence = "```sh\n" + "# not a heading\nrun it\n" * 12 + "```\n"
    text = f"{prose(40)}\n{fence}\n{prose(60, 100)}"
    assert any(fence in chunk.text for chunk in chunk_text(text, 80, 0))


@pytest.mark.parametrize(
    "dense", ["${{ a.b:c }}=" * 700, "漢字仮名交" * 1800, "x" * 9000, "👨‍👩‍👧" * 500, "\n" * 5000]
)
def test_text_without_spaces_is_covered_within_the_embedders_limit(dense: str) -> None:
    fits = shorter_than(200)
    chunks = chunk_text(dense, fits=fits)
    check(dense, chunks)
    assert all(fits(chunk.text) for chunk in chunks)
    assert len(chunks) < 3 * len(dense) / 100


def test_the_embedders_limit_is_asked_few_times_per_chunk() -> None:
    calls = 0

    def fits(text: str) -> bool:
        nonlocal calls
        calls += 1
        return len(text) <= 900

    chunks = chunk_text(prose(6000), fits=fits)
    assert calls / len(chunks) <= 14


@pytest.mark.parametrize(
    "part",
    ["word and more. ", "# a\n", "- a\n", "```\n", "| a |\n", "\n", "x", "字", "\u0301", "${{ a.b:c }}="],
)
def test_a_long_text_is_cut_in_no_time(part: str) -> None:
    text = (part * (300_000 // len(part) + 1))[:300_000]
    started = time.perf_counter()
    check(text, chunk_text(text, fits=shorter_than(1000)))
    assert time.perf_counter() - started < PATIENCE_SECONDS
