"""A look compares the disk with the book side by side: in one order, and without holding either."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec
import pytest
import sqlalchemy as sa
from hypothesis import given
from hypothesis import strategies as st

from noesis.control import Control, sqlite_url
from noesis.freshness import PROBLEMS_SHOWN, Difference, compare
from noesis.scanning import fresh
from noesis.sources.book import Book, Known, Stamp, State, files
from noesis.sources.looking import SeenFile, Unseen, look, open_root
from noesis.sources.packed import Packed
from noesis.sources.roots import Root

NOW = 1_000_000
KEY = "root"
HARD_TO_ORDER = (
    "a.md",
    "a/z.md",
    "a b/c.md",
    "a-b/c.md",
    "a-b.md",
    "a/b/c.md",
    "a/b.md",
    "A.md",
    "ab.md",
    "ä.md",
    "a\uffee.md",
    "a\U0001f600/x.md",
    "z.md",
    "0.md",
)
"""Names that are ordered otherwise folder by folder, in UTF-16, or in the alphabet of a language."""


def stamp(number: int, *, size: int = 10) -> Stamp:
    """A version of the file with this inode."""
    return Stamp(7, number, size, 1_780_000_000_000_000_000, 1_780_000_000_000_000_000)


def note(path: str, number: int, state: State = "indexed", **values: object) -> Known:
    return Known(path, stamp(number), state, **values)  # type: ignore[arg-type]


@pytest.fixture
def control(tmp_path: Path) -> Iterator[Control]:
    opened = Control.open(sqlite_url(tmp_path / "control.sqlite"))
    yield opened
    opened.close()


def write(control: Control, notes: Iterable[Known]) -> None:
    """Put notes into the book, all at once."""
    empty = {"digest": "0" * 64, "progress": None, "skipped": 0, "tries": 0, "read_at": 0}
    rows = [
        {
            "root": KEY,
            "path": each.path,
            "state": each.state,
            "reason": each.reason,
            "retry_at": each.retry_at,
            **msgspec.structs.asdict(each.stamp),
            **empty,
        }
        for each in notes
    ]
    control.run_sync(lambda connection: connection.execute(sa.insert(files), rows) and None)


def test_the_disk_and_the_book_are_in_the_same_order(tmp_path: Path, control: Control) -> None:
    folder = tmp_path / "notes"
    for name in HARD_TO_ORDER:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x")
    with open_root(
        Root(key=KEY, kind="markdown", agent="a", path=str(folder), label="n", added_at=0)
    ) as opened:
        seen = [each for each in look(opened, 1000) if isinstance(each, SeenFile)]
    write(control, (Known(each.path, each.stamp, "indexed") for each in reversed(seen)))
    known = list(Book(control).in_order(KEY))
    assert [each.path for each in known] == [each.path for each in seen] == sorted(HARD_TO_ORDER)
    found = compare(seen, known, NOW)
    assert (found.on_disk, found.known, found.indexed) == (len(seen), len(seen), len(seen))
    assert (len(found.changed), len(found.gone)) == (0, 0)
    assert not found.renamed


def test_all_notes_come_however_many_pages_they_fill(control: Control) -> None:
    paths = [f"{number:05}.md" for number in range(2000)]
    write(control, (note(path, number) for number, path in enumerate(paths)))
    assert [each.path for each in Book(control).in_order(KEY)] == paths
    assert list(Book(control).in_order("another")) == []


def flood(count: int) -> Iterator[SeenFile]:
    """A look at very many files."""
    return (SeenFile(f"{number // 500:04}/{number:06}.md", stamp(number)) for number in range(count))


def peak_of_look(control: Control, count: int) -> int:
    """The most bytes that a look at so many files held at once, all of them as they were read."""
    write(control, (Known(each.path, each.stamp, "indexed") for each in flood(count)))
    book = Book(control)
    list(zip(range(10), book.in_order(KEY), strict=False))
    tracemalloc.start()
    try:
        found = compare(flood(count), book.in_order(KEY), NOW)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert (found.on_disk, found.indexed, len(found.changed), len(found.gone)) == (count, count, 0, 0)
    return peak


def test_a_look_at_very_many_files_holds_a_page_of_them(tmp_path: Path) -> None:
    peaks = []
    for count in (5_000, 20_000):
        control = Control.open(sqlite_url(tmp_path / f"{count}.sqlite"))
        peaks.append(peak_of_look(control, count))
        control.close()
    assert peaks[1] < 1.2 * peaks[0]
    assert peaks[1] < 4 << 20


@pytest.mark.parametrize(("on_disk", "known"), [(20_000, 0), (0, 20_000)], ids=["new", "gone"])
def test_what_is_new_or_gone_is_held_in_few_bytes(on_disk: int, known: int) -> None:
    notes = (Known(each.path, each.stamp, "indexed") for each in flood(known))
    tracemalloc.start()
    try:
        found = compare(flood(on_disk), notes, NOW)
        held, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert (len(found.changed), len(found.gone)) == (on_disk, known)
    assert held < 100 * 20_000
    assert peak < 200 * 20_000


def test_a_packed_list_gives_back_what_was_put_in_again_and_again() -> None:
    for count in (0, 1, 511, 512, 513, 2000):
        packed = Packed(str, map(str, range(count)))
        assert len(packed) == count
        assert bool(packed) == (count > 0)
        assert list(packed) == list(packed) == [str(number) for number in range(count)]


@given(
    disk=st.dictionaries(st.sampled_from(HARD_TO_ORDER), st.tuples(st.integers(0, 5), st.booleans())),
    book=st.dictionaries(st.sampled_from(HARD_TO_ORDER), st.integers(0, 5), max_size=6),
    closed=st.sets(st.sampled_from(["a", "a/b", "z.md", "a-b"])),
)
def test_it_says_what_two_whole_lists_say(
    disk: dict[str, tuple[int, bool]], book: dict[str, int], closed: set[str]
) -> None:
    """The same by sets and dictionaries; inodes may be the same by chance, as one that is used again."""
    now = {path: stamp(inode, size=11 if edited else 10) for path, (inode, edited) in disk.items()}
    then = {path: stamp(inode) for path, inode in book.items()}
    unseen = [Unseen(path, "closed", f"{path}/") for path in sorted(closed)]
    found = compare(
        [*(SeenFile(path, now[path]) for path in sorted(now)), *unseen],
        [Known(path, then[path], "indexed") for path in sorted(then)],
        NOW,
    )
    missing = {
        path
        for path in then.keys() - now.keys()
        if path not in closed and not any(path.startswith(f"{folder}/") for folder in closed)
    }
    olds = {then[path].inode: path for path in sorted(missing)}
    renamed = {
        path: old
        for path in sorted(now.keys() - then.keys())
        if (old := olds.pop(now[path].inode, None)) is not None
    }
    read = {path for path in now if path not in renamed and now[path] != then.get(path)}
    edited = {path for path in renamed if now[path].size == 11}
    assert {each.path: each.old for each in found.renamed} == renamed
    assert [each.path for each in found.changed] == sorted(read | edited)
    assert {each.path: each.stamp for each in found.changed} == {path: now[path] for path in read | edited}
    assert list(found.gone) == sorted(missing - set(renamed.values()))


def test_the_first_problems_are_told_and_all_are_counted() -> None:
    paths = [f"{number:03}.md" for number in range(60)]
    seen: list[SeenFile | Unseen] = [SeenFile(path, stamp(number)) for number, path in enumerate(paths[:40])]
    seen += [Unseen(path, "a link") for path in paths[40:]]
    known = [
        note(path, number, "failed", reason="torn", retry_at=NOW + 1)
        for number, path in enumerate(paths[:40])
    ]
    found: Difference = compare(seen, known, NOW)
    assert (found.failed, found.refused, len(found.changed)) == (40, 20, 0)
    assert found.problems == tuple((path, "torn") for path in paths[:PROBLEMS_SHOWN])
    assert len(compare(seen, known, NOW + 1).changed) == 40


def test_a_file_that_is_tried_again_failed_and_does_not_wait() -> None:
    root = Root(key="r", kind="markdown", agent="alpha", path="/notes", label="notes", scanned_at=1)
    failed = note("torn.md", 1, "failed", reason="torn", retry_at=NOW)
    again = compare([SeenFile("torn.md", stamp(1))], [failed], NOW)
    assert [(each.path, each.is_again) for each in again.changed] == [("torn.md", True)]
    told = fresh(root, again)
    assert (told.failed, told.waiting, told.waits_since) == (1, 0, None)
    edited = fresh(root, compare([SeenFile("torn.md", stamp(1, size=11))], [failed], NOW))
    assert (edited.failed, edited.waiting) == (1, 1)
    assert edited.waits_since is not None


def test_a_folder_that_was_replaced_by_a_file_during_the_look_is_not_taken_for_gone(tmp_path: Path) -> None:
    folder = tmp_path / "notes"
    for name in ("a/b.md", "c.md", "d.md"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("x")
    (folder / "z.md").mkdir()
    (folder / "z.md" / "in.md").write_text("x")
    with open_root(
        Root(key=KEY, kind="markdown", agent="a", path=str(folder), label="n", added_at=0)
    ) as opened:
        looking = look(opened, 1000)
        first = next(looking)
        (folder / "z.md").rename(folder / "aside")
        (folder / "z.md").write_text("x")
        (folder / "d.md").unlink()
        (folder / "d.md").mkdir()
        (folder / "d.md" / "now.md").write_text("x")
        seen = [first, *looking]
    assert [each.path for each in seen] == ["a/b.md", "c.md", "d.md/now.md", "z.md"]
    assert isinstance(seen[-1], Unseen)
    found = compare(seen, [note("a/b.md", 1), note("z.md/in.md", 2)], NOW)
    assert list(found.gone) == []
