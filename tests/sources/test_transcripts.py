"""Reading transcript files: samples of the real host, growth, rewriting, archives, hostile lines."""

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from noesis.sources.lines import Skipped
from noesis.sources.transcripts import Limits, Progress, Reading, read_file
from noesis.turns import Turn
from tests.sources.writing import DATA, header, jsonl, message, text

Item = Turn | Skipped


def run(path: Path, progress: Progress | None = None, **options: object) -> tuple[list[Item], Reading]:
    with path.open("rb") as file:
        reading = read_file(file, os.fstat(file.fileno()), path.name, progress, **options)  # type: ignore[arg-type]
        return list(reading), reading


def texts(items: list[Item]) -> list[str]:
    return [item.text for item in items if isinstance(item, Turn)]


def talk(count: int) -> list[dict[str, object]]:
    return [
        header(),
        *(message(n, "user" if n % 2 else "assistant", f"words {n} é") for n in range(1, count)),
    ]


@pytest.mark.parametrize(
    ("name", "numbers", "roles"),
    [
        ("session-v3.jsonl", [4, 6, 7, 8, 9], "utaua"),
        ("session-v4.jsonl", [4, 5, 6, 7, 8, 10, 12, 13, 14, 15], "uauautasua"),
        ("deleted-archive.jsonl.zst", [4, 6, 8], "uta"),
    ],
)
def test_the_hosts_own_files_are_read(name: str, numbers: list[int], roles: str) -> None:
    items, _ = run(DATA / name)
    turns = [item for item in items if isinstance(item, Turn)]
    assert turns == items
    assert [turn.number for turn in turns] == numbers
    assert "".join(turn.role[0] for turn in turns) == roles
    assert len({turn.session_id for turn in turns}) == 1
    assert all(turn.entry_id and turn.said_at for turn in turns)


def test_the_heartbeat_of_the_hosts_own_file_is_internal() -> None:
    items, _ = run(DATA / "session-v4.jsonl")
    assert [item.number for item in items if isinstance(item, Turn) and item.internal] == [14, 15]


def test_a_second_pass_over_an_unchanged_file_gives_nothing(tmp_path: Path) -> None:
    for name in ("session-v3.jsonl", "session-v4.jsonl", "deleted-archive.jsonl.zst"):
        _, first = run(DATA / name)
        items, second = run(DATA / name, first.progress)
        assert (items, second.restarted) == ([], False)
        assert second.progress.place == first.progress.place


def test_progress_survives_being_kept_as_json(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(jsonl(talk(4)))
    _, reading = run(path)
    kept = msgspec.json.decode(msgspec.json.encode(reading.progress), type=Progress)
    assert kept == reading.progress
    with path.open("ab") as file:
        file.write(jsonl([message(9, "user", "more")]))
    assert texts(run(path, kept)[0]) == ["more"]


@given(st.data())
def test_however_a_file_grows_the_turns_are_those_of_one_reading(data: st.DataObject) -> None:
    """Cuts fall anywhere: inside lines, characters and line ends; every pass may stop early, as if killed."""
    end = data.draw(st.sampled_from([b"\n", b"\r\n", b"\r"]))
    events = jsonl(
        [*talk(5), message(9, "user", "x" * 400), message(10, "user", "[OpenClaw heartbeat poll]")]
    )
    whole = b"\xef\xbb\xbf" + (
        events + b"{broken\n\n" + jsonl([message(11, "assistant", "all is well")])
    ).replace(b"\n", end)
    cuts = sorted(data.draw(st.sets(st.integers(0, len(whole)), max_size=6)) | {len(whole)})
    limits = Limits(line_bytes=300)
    items: list[Item] = []
    progress = None
    for cut in cuts:
        status = os.stat_result((0o100644, 1, 1, 1, 0, 0, cut, 0, 0, 0))
        most = data.draw(st.integers(0, 12)) if cut != len(whole) else None
        reading = read_file(io.BytesIO(whole[:cut]), status, "s.jsonl", progress, limits=limits)
        assert not reading.restarted
        for count, item in enumerate(reading):
            items.append(item)
            if count == most:
                break
        progress = reading.progress
    status = os.stat_result((0o100644, 1, 1, 1, 0, 0, len(whole), 0, 0, 0))
    assert items == list(read_file(io.BytesIO(whole), status, "s.jsonl", limits=limits))
    assert texts(items)[-1:] == (["all is well"] if end != b"\r" else ["[OpenClaw heartbeat poll]"])


@pytest.mark.parametrize("step", [1, 7, 64])
def test_a_file_that_is_appended_bit_by_bit_gives_every_turn_once(tmp_path: Path, step: int) -> None:
    path, whole = tmp_path / "s.jsonl", jsonl(talk(6))
    found: list[Item] = []
    progress = None
    path.touch()
    for start in range(0, len(whole), step):
        with path.open("ab") as file:
            file.write(whole[start : start + step])
        items, reading = run(path, progress)
        found, progress = found + items, reading.progress
    assert found == run(path)[0]
    assert len(found) == 5


def test_a_last_line_without_an_end_is_taken_when_the_file_is_finished(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(jsonl(talk(3)).removesuffix(b"\n"))
    items, early = run(path)
    assert texts(items) == ["words 1 é"]
    items, late = run(path, early.progress, finished=True)
    assert texts(items) == ["words 2 é"]
    with path.open("ab") as file:
        file.write(b"\n" + jsonl([message(3, "user", "more")]))
    items, _ = run(path, late.progress)
    assert [(item.number, item.text) for item in items if isinstance(item, Turn)] == [(3, "more")]


def test_a_torn_line_that_is_not_whole_is_told_and_tried_again(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(jsonl(talk(3))[:-5])
    items, reading = run(path, finished=True)
    assert isinstance(items[-1], Skipped)
    path.write_bytes(jsonl(talk(3)))
    items, reading = run(path, reading.progress)
    assert (texts(items), reading.restarted) == (["words 2 é"], False)


def test_a_file_that_was_renamed_goes_on_where_it_was(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(jsonl(talk(3)))
    _, reading = run(path)
    renamed = path.rename(tmp_path / "s.jsonl.reset.2026-11-29T18-20-11.523Z")
    with renamed.open("ab") as file:
        file.write(jsonl([message(3, "user", "last words")]))
    items, after = run(renamed, reading.progress)
    assert (texts(items), after.restarted) == (["last words"], False)


@pytest.mark.parametrize("change", ["shrunk", "head", "last line", "other file"])
def test_a_file_that_was_rewritten_is_read_from_its_start(tmp_path: Path, change: str) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(whole := jsonl(talk(5)))
    _, reading = run(path)
    new = {
        "shrunk": jsonl(talk(3)),
        "head": jsonl([header("s2"), *talk(8)[1:]]),
        "last line": whole.replace(b"words 4", b"wards 4") + jsonl([message(9, "user", "more")]),
        "other file": whole,
    }[change]
    if change == "other file":
        (tmp_path / "new").write_bytes(new)
        (tmp_path / "new").rename(path)
    else:
        path.write_bytes(new)
    items, again = run(path, reading.progress)
    assert again.restarted
    assert items == run(path)[0]


def test_turns_of_a_branch_that_was_left_are_kept_in_file_order(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    events = [header(), *(message(n, "user", f"w{n}") for n in (1, 2, 3))]
    events[3]["parentId"] = "e1"
    path.write_bytes(
        jsonl([*events, {"type": "reset", "id": "r", "reason": "reset"}, message(4, "user", "w4")])
    )
    assert texts(run(path)[0]) == ["w1", "w2", "w3", "w4"]


def test_without_a_header_the_files_name_is_the_session(tmp_path: Path) -> None:
    path = tmp_path / "agent_main_main.abc.jsonl.imported-1795976833892"
    path.write_bytes(jsonl([message(1, "user", "hello")]))
    items, _ = run(path)
    assert [item.session_id for item in items] == ["abc"]


def test_bad_lines_are_counted_and_the_others_read(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    good = [jsonl([message(n, "user", f"w{n}")]) for n in range(4)]
    hostile = [
        b'{"x":' + b"[" * 200_000,
        b'{"timestamp":NaN}',
        b'{"message":{"content":"\\ud800"}}',
        b"\xff\x00",
    ]
    path.write_bytes(b"".join(one + bad + b"\n" for one, bad in zip(good, hostile, strict=True)))
    items, reading = run(path)
    skipped = [item for item in items if isinstance(item, Skipped)]
    assert texts(items) == ["w0", "w1", "w2", "w3"]
    assert [item.number for item in skipped] == [1, 3, 5, 7]
    assert skipped[0].offset == len(good[0])
    assert reading.progress.place.offset == path.stat().st_size


def test_a_line_over_the_cap_is_skipped(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(
        jsonl([header(), message(1, "toolResult", text("x" * 5000)), message(2, "user", "hello")])
    )
    items, _ = run(path, limits=Limits(line_bytes=1000))
    assert isinstance(items[0], Skipped)
    assert items[0].session_id == "s1"
    assert texts(items) == ["hello"]


def test_an_archive_is_finished_and_goes_on_from_where_a_pass_was_stopped(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl.deleted.2026-11-29T18-20-11.523Z.zst"
    path.write_bytes(zstandard.compress(jsonl(talk(6)).removesuffix(b"\n")))
    with path.open("rb") as file:
        reading = read_file(file, os.fstat(file.fileno()), path.name)
        pass_ = iter(reading)
        stopped = [next(pass_), next(pass_)]
        progress = reading.progress
    items, again = run(path, progress)
    assert not again.restarted
    assert texts(stopped + items) == [f"words {n} é" for n in range(1, 6)]


@pytest.mark.parametrize(
    ("content", "inflated", "reason"),
    [
        (zstandard.compress(jsonl(talk(400)))[:-30], 10**6, "the archive is damaged"),
        (b"", 10**6, "the archive is damaged"),
        (zstandard.compress(jsonl(talk(3)) + bytes(50_000_000)), 10**6, "the archive inflates to too much"),
    ],
    ids=["cut", "empty", "bomb"],
)
def test_what_is_wrong_with_an_archive_is_told_at_its_place(
    tmp_path: Path, content: bytes, inflated: int, reason: str
) -> None:
    path = tmp_path / "s.jsonl.zst"
    path.write_bytes(content)
    items, _ = run(path, limits=Limits(inflated_bytes=inflated))
    last = items[-1]
    assert isinstance(last, Skipped)
    assert last.reason == reason


def test_an_archive_that_was_still_being_written_is_read_anew(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl.zst"
    whole = zstandard.compress(jsonl(talk(400)))
    path.write_bytes(whole[:-30])
    _, early = run(path)
    path.write_bytes(whole)
    items, late = run(path, early.progress)
    assert late.restarted
    assert len(items) == 399


def test_a_large_transcript_is_read_in_little_memory(tmp_path: Path) -> None:
    """8 MB with one line of 700 kB; the child tells how far its peak rose above what it began with."""
    path = tmp_path / "s.jsonl"
    long = message(2, "toolResult", [*text("found"), {"type": "image", "data": "A" * 700_000}])
    with path.open("wb") as file:
        file.write(jsonl([header(), long]))
        for number in range(3, 8_000):
            file.write(jsonl([message(number, "user", "word " * 190)]))
    assert path.stat().st_size > 8_000_000
    code = """
import json, os, resource, sys
from noesis.sources.transcripts import read_file
def peak(): return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
before = peak()
with open(sys.argv[1], "rb") as file:
    count = sum(1 for _ in read_file(file, os.fstat(file.fileno()), "s.jsonl"))
print(json.dumps([count, peak() - before]))
"""
    done = subprocess.run(
        [sys.executable, "-c", code, str(path)],
        capture_output=True,
        text=True,
        check=True,
        cwd=DATA.parents[2],
    )
    count, kilobytes = json.loads(done.stdout)
    assert count == 7_998
    assert kilobytes < 20_000
