"""Reading an agent's database: while the host writes it, without leaving a trace, whatever is in it."""

import hashlib
import json
import os
import shutil
import sqlite3
import threading
from pathlib import Path

import msgspec
import pytest

from noesis.errors import InvalidInput
from noesis.sources import database_file
from noesis.sources.agent_database import DatabaseProgress, DatabaseReading, read_database
from noesis.sources.database_file import TranscriptBusy, UnknownTranscript
from noesis.sources.lines import Skipped
from noesis.sources.transcripts import Limits, read_file
from noesis.turns import Turn
from tests.sources.writing import DATA, add, header, make_database, message, text

SAMPLE = DATA / "openclaw-agent.sqlite"


def texts(reading: DatabaseReading) -> list[str]:
    return [item.text for item in reading if isinstance(item, Turn)]


def hashes(folder: Path) -> dict[str, str]:
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir()}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "openclaw-agent.sqlite"


def test_the_hosts_own_database_is_read() -> None:
    reading = read_database(SAMPLE)
    turns = list(reading)
    assert all(isinstance(turn, Turn) for turn in turns)
    assert [turn.number for turn in turns] == [4, 5, 6, 7, 8, 10, 12, 13, 14, 15, 4, 5, 9, 10, 11, 12]
    assert [turn.number for turn in turns if isinstance(turn, Turn) and turn.internal] == [14, 15]
    assert len({turn.session_id for turn in turns}) == 2
    assert texts(read_database(SAMPLE, reading.progress)) == []


def test_the_database_and_the_file_of_a_session_give_the_same_turns() -> None:
    name = DATA / "session-v4.jsonl"
    with name.open("rb") as file:
        of_file = list(read_file(file, os.fstat(file.fileno()), name.name))
    assert [turn for turn in read_database(SAMPLE) if turn.session_id == of_file[0].session_id] == of_file


def test_events_since_the_last_pass_are_given_by_session(path: Path) -> None:
    host = make_database(path)
    for session in ("b", "a"):
        add(host, session, 0, header(session))
        add(host, session, 1, message(1, "user", f"first of {session}"))
    first = read_database(path)
    assert texts(first) == ["first of a", "first of b"]
    add(host, "b", 2, message(2, "assistant", text("second of b")), packed=True)
    add(host, "c", 5, message(1, "user", "first of c"))
    kept = msgspec.json.decode(msgspec.json.encode(first.progress), type=DatabaseProgress)
    second = read_database(path, kept)
    assert texts(second) == ["second of b", "first of c"]
    assert {key: place.seq for key, place in second.progress.sessions.items()} == {"a": 1, "b": 2, "c": 5}
    assert second.restarted == set()
    host.close()


def test_a_pass_that_was_stopped_goes_on_where_it_was(path: Path) -> None:
    host = make_database(path)
    for session in ("a", "b"):
        for seq in range(4):
            add(host, session, seq, message(seq, "user", f"{session}{seq}"))
    stopped = read_database(path)
    pass_ = iter(stopped)
    found = [next(pass_) for _ in range(5)]
    rest = read_database(path, stopped.progress)
    assert [item.text for item in found if isinstance(item, Turn)] + texts(rest) == [
        f"{session}{seq}" for session in "ab" for seq in range(4)
    ]
    host.close()


def test_an_answer_to_a_heartbeat_is_internal_though_another_pass_reads_it(path: Path) -> None:
    host = make_database(path)
    add(host, "a", 0, message(0, "user", "[OpenClaw heartbeat poll]"))
    reading = read_database(path)
    assert len(list(reading)) == 1
    add(host, "a", 1, message(1, "assistant", text("All is well.")))
    (answer,) = read_database(path, reading.progress)
    assert isinstance(answer, Turn)
    assert answer.internal
    host.close()


@pytest.mark.parametrize("change", ["shrunk", "changed", "gone"])
def test_a_session_that_was_rewritten_is_read_from_its_start(path: Path, change: str) -> None:
    host = make_database(path)
    for seq in range(3):
        add(host, "a", seq, message(seq, "user", f"a{seq}"))
        add(host, "b", seq, message(seq, "user", f"b{seq}"))
    reading = read_database(path)
    assert len(list(reading)) == 6
    host.execute(
        "DELETE FROM transcript_events WHERE session_id = 'a' AND (seq = 2 OR ?)", (change == "gone",)
    )
    if change == "changed":
        add(host, "a", 2, message(2, "user", "another"))
    again = read_database(path, reading.progress)
    expected = {"shrunk": ["a0", "a1"], "changed": ["a0", "a1", "another"], "gone": []}[change]
    assert texts(again) == expected
    assert again.restarted == (set() if change == "gone" else {"a"})
    assert ("a" in again.progress.sessions) == (change != "gone")
    host.close()


def test_an_event_the_host_compresses_later_is_still_the_same(path: Path) -> None:
    host = make_database(path)
    add(host, "a", 0, message(0, "user", "hello"))
    reading = read_database(path)
    assert texts(reading) == ["hello"]
    host.execute("DELETE FROM transcript_events")
    add(host, "a", 0, message(0, "user", "hello"), packed=True)
    again = read_database(path, reading.progress)
    assert (texts(again), again.restarted) == ([], set())
    host.close()


def test_a_live_database_is_read_and_not_a_byte_of_it_changes(path: Path) -> None:
    host = make_database(path)
    for seq in range(50):
        add(host, "a", seq, message(seq, "user", f"w{seq}"), packed=seq % 2 == 0)
    before = hashes(path.parent)
    assert set(before) == {path.name, f"{path.name}-wal", f"{path.name}-shm"}
    assert len(texts(read_database(path))) == 50
    after = hashes(path.parent)
    # The index of the log is shared memory in a file: readers note there what they look at.
    assert {name: after[name] for name in after if not name.endswith("-shm")} == {
        name: before[name] for name in before if not name.endswith("-shm")
    }
    assert set(after) == set(before)
    host.close()


def test_a_database_at_rest_is_read_without_a_file_of_ours_beside_it(path: Path) -> None:
    """SQLite would leave a log and its index there, which the host might not be allowed to write."""
    host = make_database(path)
    add(host, "a", 0, message(0, "user", "hello"))
    host.close()
    before = hashes(path.parent)
    assert set(before) == {path.name}
    assert texts(read_database(path)) == ["hello"]
    assert hashes(path.parent) == before


def test_a_host_that_comes_while_its_database_is_read_is_noticed(path: Path) -> None:
    host = make_database(path)
    for seq in range(3):
        add(host, "a", seq, message(seq, "user", f"a{seq}"))
    host.close()
    found = []
    for count, item in enumerate(read_database(path)):
        assert isinstance(item, Turn)
        found.append(item.text)
        if count == 0:
            host = sqlite3.connect(path, isolation_level=None)
            add(host, "b", 0, message(0, "user", "came later"))
    assert found == ["a0", "a1", "a2", "came later"]
    host.close()


def test_a_database_with_a_rollback_journal_is_read_too(path: Path) -> None:
    host = make_database(path, wal=False)
    add(host, "a", 0, message(0, "user", "hello"))
    assert texts(read_database(path)) == ["hello"]
    host.close()


def test_a_host_that_writes_all_the_time_is_neither_held_up_nor_missed(path: Path) -> None:
    make_database(path).close()
    stop = threading.Event()
    written: list[int] = []

    def write() -> None:
        host = sqlite3.connect(path, isolation_level=None, timeout=0)
        host.execute("PRAGMA wal_autocheckpoint = 5")
        while not stop.is_set() and len(written) < 2_000:
            add(
                host,
                "a",
                len(written),
                message(len(written), "user", "w" * 500),
                packed=len(written) % 3 == 0,
            )
            written.append(len(written))
        host.close()

    writer = threading.Thread(target=write)
    writer.start()
    progress = None
    numbers: list[int] = []
    try:
        while len(numbers) < 300 and writer.is_alive():
            reading = read_database(path, progress)
            numbers += [item.number for item in reading if isinstance(item, Turn)]
            progress = reading.progress
    finally:
        stop.set()
        writer.join()
    numbers += [item.number for item in read_database(path, progress)]
    assert numbers == written


def test_events_over_the_cap_are_skipped_and_counted(path: Path) -> None:
    host = make_database(path)
    add(host, "a", 0, message(0, "user", "é" * 3000))
    add(host, "a", 1, message(1, "user", "x" * 5000), packed=True)
    host.execute("INSERT INTO transcript_events VALUES ('a', 2, NULL, 1, ?, 1, NULL)", (os.urandom(6000),))
    host.execute("INSERT INTO transcript_events VALUES ('a', 3, ?, 1, NULL, 1, NULL)", ("x" * 70_000_000,))
    add(host, "a", 4, message(4, "user", "hello"))
    reading = read_database(path, limits=Limits(line_bytes=4096))
    *skipped, hello = reading
    assert isinstance(hello, Turn)
    assert [(item.number, item.session_id) for item in skipped] == [(seq, "a") for seq in range(4)]
    assert {item.reason for item in skipped if isinstance(item, Skipped)} == {"the line is too long"}
    assert texts(read_database(path, reading.progress, limits=Limits(line_bytes=4096))) == []
    host.close()


def test_after_an_event_that_was_not_read_the_next_pass_goes_on(path: Path) -> None:
    host = make_database(path)
    add(host, "a", 0, message(0, "user", "x" * 5000))
    limits = Limits(line_bytes=1000)
    reading = read_database(path, limits=limits)
    assert [type(item) for item in reading] == [Skipped]
    add(host, "a", 1, message(1, "user", "hello"))
    again = read_database(path, reading.progress, limits=limits)
    assert (texts(again), again.restarted) == (["hello"], set())
    host.close()


def test_hostile_events_are_skipped_and_the_others_read(path: Path) -> None:
    table = (
        "CREATE TABLE transcript_events (session_id, seq INTEGER, event_json, event_zstd, created_at, more)"
    )
    host = make_database(path, table)
    for seq, event in enumerate(['{"x":' + "[" * 200_000, "NaN", "", '{"message":{"content":"\\ud800"}}']):
        add(host, "a", seq, event, raw=True)
    insert = "INSERT INTO transcript_events VALUES ('a', ?, ?, ?, 1, 1)"
    host.execute(insert, (4, None, b"no archive"))
    host.execute(insert, (5, None, None))
    host.execute(insert, (6, 5, 5))
    host.execute(insert, (7, b'{"message":{"role":"user","content":"caf\xe9"}}', None))
    host.execute(
        "INSERT INTO transcript_events VALUES (x'ff00', 0, ?, NULL, 1, 1)", (json.dumps(header("z")),)
    )
    *skipped, turn = read_database(path)
    assert [item.number for item in skipped if isinstance(item, Skipped)] == list(range(7))
    assert isinstance(turn, Turn)
    assert turn.text == "caf\ufffd"
    host.close()


def test_the_row_says_which_session_an_event_is_in(path: Path) -> None:
    host = make_database(path)
    add(host, "fork", 0, header("origin"))
    add(host, "fork", 1, message(1, "user", "hello"))
    assert [item.session_id for item in read_database(path)] == ["fork"]
    host.close()


def test_a_newer_schema_is_read_as_long_as_the_columns_are_there(path: Path) -> None:
    host = make_database(
        path, "CREATE TABLE transcript_events (new, session_id TEXT, seq INT, event_json TEXT, created_at)"
    )
    host.execute("PRAGMA user_version = 999")
    host.execute(
        "INSERT INTO transcript_events VALUES (1, 'a', 0, ?, 1)", (json.dumps(message(0, "user", "hello")),)
    )
    assert texts(read_database(path)) == ["hello"]
    host.close()


@pytest.mark.parametrize(
    "table",
    [
        "CREATE TABLE other (x)",
        "CREATE TABLE transcript_events (session_id TEXT, seq INTEGER, body TEXT)",
        "CREATE VIEW transcript_events AS SELECT 'a' session_id, 0 seq, '{}' event_json, NULL event_zstd",
    ],
)
def test_a_database_of_another_shape_is_refused_clearly(path: Path, table: str) -> None:
    make_database(path, table).close()
    with pytest.raises(UnknownTranscript, match="no transcript events"):
        list(read_database(path))


def test_rows_numbered_by_something_else_are_refused(path: Path) -> None:
    host = make_database(path, "CREATE TABLE transcript_events (session_id, seq, event_json)")
    host.execute("INSERT INTO transcript_events VALUES ('a', 'first', '{}')")
    with pytest.raises(UnknownTranscript, match="numbers"):
        list(read_database(path))
    host.close()


@pytest.mark.parametrize("kind", ["text", "empty", "absent", "folder", "pipe", "link", "cut"])
def test_what_is_no_database_is_refused(path: Path, kind: str) -> None:
    if kind == "text":
        path.write_text("not a database, whatever its name says " * 100)
    elif kind == "empty":
        path.touch()
    elif kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind == "link":
        path.symlink_to(SAMPLE)
    elif kind == "cut":
        path.write_bytes(SAMPLE.read_bytes()[:6000])
    with pytest.raises(UnknownTranscript):
        list(read_database(path))
    assert issubclass(UnknownTranscript, InvalidInput)


def test_a_database_that_is_damaged_inside_is_refused_and_progress_kept(path: Path) -> None:
    shutil.copy(SAMPLE, path)
    data = bytearray(path.read_bytes())
    data[8192:] = os.urandom(len(data) - 8192)
    path.write_bytes(data)
    reading = read_database(path)
    with pytest.raises(UnknownTranscript):
        list(reading)
    assert isinstance(reading.progress, DatabaseProgress)


def test_a_database_that_stays_locked_is_tried_again_later(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database_file, "_WAIT_S", 0.1)
    host = make_database(path, wal=False)
    host.execute("BEGIN EXCLUSIVE")
    with pytest.raises(TranscriptBusy) as caught:
        list(read_database(path))
    assert caught.value.retryable
    host.execute("COMMIT")
    host.close()
