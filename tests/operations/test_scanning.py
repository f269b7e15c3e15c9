"""Followed places: what changes on the disk changes in memory, and memory says when it is behind."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from noesis.memory import Role, Scope
from noesis.scanning import Freshness, Scanned
from noesis.sources.roots import Root
from tests.support import Clock, Product, WordEmbedder

EVERYBODY = Scope(None, Role.ADMIN)


def note(subject: str) -> str:
    """A section of about thirty words."""
    return (
        f"# About {subject}\n\nThe {subject} lies where it was left last autumn, behind the long shed by the water,"
        f" and somebody has to look after the {subject} before the first storm of the winter comes.\n"
    )


def quiet(_done: int, _total: int | None) -> None:
    """Progress that nobody follows."""


class Place:
    """A followed folder and what a person does with it."""

    def __init__(self, product: Product, folder: Path, root: Root) -> None:
        self.product = product
        self.folder = folder
        self.root = root

    def write(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    async def scan(self, **options: Any) -> Scanned:
        scanning = self.product.noesis.inflow.scanning
        return await scanning.scan(self.root.key, quiet, lambda: False, **options)

    async def fresh(self) -> Freshness:
        found = await self.product.noesis.inflow.scanning.freshness(EVERYBODY)
        return next(each for each in found if each.root.key == self.root.key)


@pytest.fixture
async def place(product: Product, tmp_path: Path) -> Place:
    folder = tmp_path / "notes"
    folder.mkdir()
    root = await product.noesis.inflow.following.add("alpha", str(folder))
    return Place(product, folder, root)


async def memories(client: httpx.AsyncClient) -> dict[str, Any]:
    """The agent's memories by id."""
    answer = (await client.get("/api/v1/memories?limit=200")).json()
    return {memory["id"]: memory for memory in answer["memories"]}


async def by_source(client: httpx.AsyncClient) -> dict[str, str]:
    """The id of the memory of each file."""
    return {memory["source"]: memory["id"] for memory in (await memories(client)).values()}


async def test_without_a_single_event_a_scan_finds_what_changed(
    place: Place, alpha: httpx.AsyncClient
) -> None:
    """A deaf watcher: memory says that it is behind, and the next look at the disk catches up."""
    for name in "abc":
        place.write(f"{name}.md", note(f"{name} boat"))
    await place.scan()
    before = await by_source(alpha)
    assert (await place.fresh()).is_clean
    place.write("d.md", note("d boat"))
    place.write("a.md", note("other anchor"))
    fresh = await place.fresh()
    assert (fresh.on_disk, fresh.indexed, fresh.waiting, fresh.is_clean) == (4, 2, 2, False)
    assert fresh.waits_since is not None
    await place.scan()
    after = await by_source(alpha)
    assert {name: after[f"notes/{name}.md"] for name in "bc"} == {
        name: before[f"notes/{name}.md"] for name in "bc"
    }
    assert set(after) == {f"notes/{name}.md" for name in "abcd"}
    fresh = await place.fresh()
    assert (fresh.on_disk, fresh.indexed, fresh.is_clean) == (4, 4, True)


async def test_a_file_that_was_only_touched_is_not_read_into_memory_again(
    place: Place, alpha: httpx.AsyncClient, embedder: WordEmbedder
) -> None:
    path = place.write("a.md", note("boat"))
    await place.scan()
    before = await memories(alpha)
    embedder.seen.clear()
    os.utime(path, (1_000_000_000, 1_000_000_000))
    assert (await place.scan()).unchanged == 1
    assert (await memories(alpha), embedder.seen) == (before, [])
    assert (await place.scan()).unchanged == 0


async def test_memories_of_deleted_files_leave_also_when_the_last_file_goes(
    place: Place, alpha: httpx.AsyncClient
) -> None:
    place.write("x.md", note("x boat"))
    place.write("y.md", note("y boat"))
    await place.scan()
    ids = list(await memories(alpha))
    (place.folder / "x.md").unlink()
    assert (await place.scan()).gone == 1
    assert set(await by_source(alpha)) == {"notes/y.md"}
    (place.folder / "y.md").unlink()
    scanned = await place.scan()
    assert (scanned.on_disk, scanned.gone) == (0, 1)
    assert await memories(alpha) == {}
    for memory_id in ids:
        memory = (await alpha.get(f"/api/v1/memories/{memory_id}")).json()
        assert (memory["archived"], memory["archive_reason"]) == (True, "source gone")


async def test_when_the_place_itself_is_gone_nothing_is_removed(
    place: Place, alpha: httpx.AsyncClient
) -> None:
    place.write("x.md", note("boat"))
    await place.scan()
    place.folder.rename(place.folder.with_name("elsewhere"))
    scanned = await place.scan()
    assert scanned.note is not None
    fresh = await place.fresh()
    assert (fresh.available, fresh.is_clean) == (False, False)
    assert len(await memories(alpha)) == 1
    health = await place.product.noesis.health.report()
    part = next(part for part in health.parts if part.name == "sources")
    assert part.state == "degraded"
    assert "notes cannot be reached; nothing of it was removed." in part.summary
    place.folder.with_name("elsewhere").rename(place.folder)
    await place.scan()
    assert (await place.fresh()).is_clean


async def test_many_files_that_vanish_at_once_wait_for_a_persons_word(
    place: Place, alpha: httpx.AsyncClient
) -> None:
    for number in range(30):
        place.write(f"{number}.md", note(f"boat{number}"))
    await place.scan()
    for number in range(25):
        (place.folder / f"{number}.md").unlink()
    scanned = await place.scan()
    assert (scanned.held, scanned.gone) == (25, 0)
    assert len(await memories(alpha)) == 30
    fresh = await place.fresh()
    assert (fresh.is_clean, fresh.root.held) == (False, 25)
    scanned = await place.scan(confirmed=True)
    assert (scanned.held, scanned.gone) == (0, 25)
    assert len(await memories(alpha)) == 5
    assert (await place.fresh()).is_clean


async def test_a_few_files_of_a_small_folder_go_without_a_question(
    place: Place, alpha: httpx.AsyncClient
) -> None:
    for number in range(20):
        place.write(f"{number}.md", note(f"boat{number}"))
    await place.scan()
    shutil.rmtree(place.folder)
    place.folder.mkdir()
    assert (await place.scan()).gone == 20
    assert await memories(alpha) == {}


async def test_a_renamed_file_keeps_its_memories(
    place: Place, alpha: httpx.AsyncClient, embedder: WordEmbedder
) -> None:
    path = place.write("old.md", note("boat"))
    await place.scan()
    (old,) = await memories(alpha)
    embedder.seen.clear()
    path.rename(place.folder / "new.md")
    scanned = await place.scan()
    assert (scanned.renamed, scanned.gone, scanned.read) == (1, 0, 0)
    found = await memories(alpha)
    assert {each: found[each]["source"] for each in found} == {old: "notes/new.md"}
    assert embedder.seen == []
    path = (place.folder / "new.md").rename(place.folder / "third.md")
    path.write_text(note("boat").replace("autumn", "spring"), encoding="utf-8")
    await place.scan()
    found = await memories(alpha)
    assert {each: found[each]["source"] for each in found} == {old: "notes/third.md"}
    assert "last spring" in found[old]["text"]


async def test_a_file_whose_editor_saves_by_renaming_a_new_one_over_it_keeps_its_memories(
    place: Place, alpha: httpx.AsyncClient
) -> None:
    place.write("a.md", note("boat"))
    await place.scan()
    (before,) = await memories(alpha)
    fresh = place.write(".a.md.swp", note("boat").replace("autumn", "spring"))
    fresh.rename(place.folder / "a.md")
    await place.scan()
    (after,) = await memories(alpha)
    assert after == before


async def test_what_cannot_be_read_is_told_and_does_not_stop_the_rest(
    place: Place, alpha: httpx.AsyncClient
) -> None:
    place.write("good.md", note("boat"))
    (place.folder / "packed.md").write_bytes(b"\x1f\x8b" + os.urandom(300))
    (place.folder / "link.md").symlink_to("/etc/hostname")
    os.mkfifo(place.folder / "pipe.md")
    with (place.folder / "huge.md").open("wb") as huge:
        huge.truncate(200 << 20)
    scanned = await place.scan()
    assert (scanned.read, scanned.failed) == (1, 1)
    assert len(await memories(alpha)) == 1
    fresh = await place.fresh()
    reasons = dict(fresh.problems)
    assert set(reasons) == {"packed.md", "link.md", "pipe.md", "huge.md"}
    assert "larger" in reasons["huge.md"]


async def test_files_in_a_folder_that_cannot_be_entered_now_are_not_taken_for_gone(
    place: Place, alpha: httpx.AsyncClient
) -> None:
    place.write("deep/a.md", note("boat"))
    await place.scan()
    (place.folder / "deep").rename(place.folder.with_name("aside"))
    (place.folder / "deep").symlink_to(place.folder.with_name("aside"))
    scanned = await place.scan()
    assert scanned.gone == 0
    assert len(await memories(alpha)) == 1
    assert "symbolic link" in dict((await place.fresh()).problems)["deep"]


async def test_a_file_that_failed_is_tried_again_though_it_does_not_change(
    place: Place, alpha: httpx.AsyncClient, clock: Clock
) -> None:
    path = place.write("a.md", note("boat"))
    path.chmod(0)
    if os.access(path, os.R_OK):
        os.truncate(path, 0)
        path.write_bytes(b"\x1f\x8b" + os.urandom(100))
    assert (await place.scan()).failed == 1
    assert (await place.fresh()).failed == 1
    assert (await place.scan()).failed == 0
    clock.advance(seconds=60)
    assert (await place.scan()).failed == 1
    path.chmod(0o600)
    path.write_text(note("boat"), encoding="utf-8")
    assert (await place.scan()).read == 1
    assert (await place.fresh()).is_clean


async def test_a_daily_note_that_met_an_absent_embedder_is_found_by_meaning_later(
    place: Place, alpha: httpx.AsyncClient, embedder: WordEmbedder
) -> None:
    embedder.down = True
    place.write("2026-03-02.md", note("boat"))
    await place.scan()
    embedder.down = False
    await place.product.noesis.vectors.look()
    await place.product.noesis.filling.fill(quiet)
    (memory,) = (await memories(alpha)).values()
    assert (memory["embedding_state"], memory["created_at"][:10]) == ("ready", "2026-03-02")


async def test_a_scan_that_is_stopped_goes_on_where_it_was(
    place: Place, alpha: httpx.AsyncClient, embedder: WordEmbedder
) -> None:
    for number in range(120):
        place.write(f"{number:03}.md", note(f"boat{number}"))
    done = 0

    def progress(count: int, _total: int | None) -> None:
        nonlocal done
        done = count

    scanning = place.product.noesis.inflow.scanning
    await scanning.scan(place.root.key, progress, lambda: done >= 10)
    part = len(await memories(alpha))
    assert 10 <= part < 120
    embedder.seen.clear()
    await place.scan()
    assert len(await memories(alpha)) == 120
    assert len(embedder.seen) == 120 - part


async def test_a_forgotten_place_is_left_alone_and_its_memories_stay_or_go_as_told(
    place: Place, alpha: httpx.AsyncClient
) -> None:
    place.write("a.md", note("boat"))
    await place.scan()
    following = place.product.noesis.inflow.following
    assert await following.forget(place.root.key, archive=False) == 0
    assert len(await memories(alpha)) == 1
    assert await following.followed() == []
    await following.add("alpha", str(place.folder))
    await place.scan()
    assert len(await memories(alpha)) == 1
    assert await following.forget(place.root.key, archive=True) == 1
    assert await memories(alpha) == {}


LINES: list[tuple[str, str]] = [
    ("assistant", "HEARTBEAT_OK"),
    ("assistant", "NO_REPLY"),
    ("user", "we decided to host the wiki on port 8085"),
    ("user", "ugh why does this never work"),
    ("assistant", "Sure! I'll look at the file now."),
    ("toolResult", "\n".join(f"tool line {number}" for number in range(400))),
    ("assistant", "HEARTBEAT_OK"),
]


def entry(role: str, text: str, number: int) -> str:
    """A line of a transcript."""
    message = {"role": role, "content": [{"type": "text", "text": text}]}
    stamp = f"2026-05-0{1 + number // 60}T10:{number % 60:02}:00Z"
    return json.dumps({"type": "message", "id": f"e{number}", "timestamp": stamp, "message": message}) + "\n"


HEAD = json.dumps({"type": "session", "version": 3, "id": "talk", "timestamp": "2026-05-01T09:00:00Z"}) + "\n"


@pytest.fixture
async def talks(product: Product, tmp_path: Path) -> Place:
    folder = tmp_path / "sessions"
    folder.mkdir()
    root = await product.noesis.inflow.following.add("alpha", str(folder), kind="transcripts")
    return Place(product, folder, root)


async def test_chatter_is_not_memory_and_the_decision_between_it_is(
    talks: Place, alpha: httpx.AsyncClient
) -> None:
    talks.write("talk.jsonl", HEAD + "".join(entry(role, text, n) for n, (role, text) in enumerate(LINES)))
    await talks.scan()
    found = list((await memories(alpha)).values())
    decisions = [
        (memory["text"], memory["priority"]) for memory in found if memory["memory_type"] == "decision"
    ]
    assert decisions == [("we decided to host the wiki on port 8085", 85)]
    assert {memory["memory_type"] for memory in found} <= {"decision", "session"}
    texts = " ".join(memory["text"] for memory in found)
    for noise in ("HEARTBEAT", "NO_REPLY", "tool line", "look at the file"):
        assert noise not in texts
    assert {memory["session_id"] for memory in found} == {"talk"}


async def test_a_growing_transcript_is_read_on_and_a_torn_line_waits(
    talks: Place, alpha: httpx.AsyncClient
) -> None:
    path = talks.write("talk.jsonl", HEAD + entry("user", "We use the blue van for the market runs.", 1))
    await talks.scan()
    torn = entry("user", "We decided to sell the blue van in the autumn.", 2)
    with path.open("a") as file:
        file.write(torn[:40])
    await talks.scan()
    before = set(await memories(alpha))
    with path.open("a") as file:
        file.write(torn[40:])
    await talks.scan()
    after = await memories(alpha)
    new = [after[each]["text"] for each in after if each not in before]
    assert new == ["We decided to sell the blue van in the autumn."]
    assert (await talks.scan()).read == 0
    assert (await talks.fresh()).is_clean


async def test_a_transcript_that_the_host_moved_aside_is_not_captured_twice(
    talks: Place, alpha: httpx.AsyncClient
) -> None:
    text = HEAD + entry("user", "We decided to sell the blue van in the autumn.", 1)
    path = talks.write("talk.jsonl", text)
    await talks.scan()
    before = await memories(alpha)
    path.rename(talks.folder / "talk.jsonl.reset.2026-05-02T10-00-00.000Z")
    talks.write("copy.jsonl", text)
    await talks.scan()
    assert await memories(alpha) == before
    (talks.folder / "copy.jsonl").unlink()
    await talks.scan()
    assert await memories(alpha) == before


async def test_secrets_in_a_talk_wait_in_the_inbox_without_the_secret(
    talks: Place, alpha: httpx.AsyncClient
) -> None:
    said = "I prefer the new build server, my API key is sk-test-ABCDEF0123456789abcdef, ask me for more"
    talks.write("talk.jsonl", HEAD + entry("user", said, 1))
    await talks.scan()
    assert await memories(alpha) == {}
    waiting = (await alpha.get("/api/v1/inbox")).json()["waiting"]
    assert waiting
    assert all("secret" in each["reasons"] for each in waiting)
    assert "sk-test" not in json.dumps(waiting)
    assert "<redacted:" in json.dumps(waiting)


async def test_a_file_that_cannot_be_read_is_told_of_without_an_alarm(place: Place) -> None:
    (place.folder / "packed.md").write_bytes(b"\x1f\x8b" + os.urandom(100))
    await place.product.noesis.inflow.signs.write("events", None)
    await place.scan()
    health = await place.product.noesis.health.report()
    part = next(part for part in health.parts if part.name == "sources")
    assert part.state == "ok"
    assert part.summary == (
        "0 of 1 files in one followed place are in memory as they are. 1 could not be read."
    )


@pytest.mark.parametrize("kind", ["markdown", "transcripts"])
async def test_an_empty_place_is_clean(product: Product, tmp_path: Path, kind: Any) -> None:
    (tmp_path / "empty").mkdir()
    root = await product.noesis.inflow.following.add("alpha", str(tmp_path / "empty"), kind=kind)
    place = Place(product, tmp_path / "empty", root)
    assert (await place.scan()).on_disk == 0
    assert (await place.fresh()).is_clean


REFUSED: list[tuple[str, Callable[[Path], str]]] = [
    ("relative", lambda _: "notes"),
    ("missing", lambda folder: str(folder / "nowhere")),
    ("a name too long", lambda folder: str(folder / ("x" * 300))),
    ("a name with a NUL", lambda folder: f"{folder}/a\0b"),
    ("a file", lambda folder: str(folder / "file.md")),
    ("the server's own", lambda folder: str(folder)),
]


@pytest.mark.parametrize(("what", "path_of"), REFUSED, ids=[what for what, _ in REFUSED])
async def test_a_folder_that_cannot_be_followed_is_refused(
    product: Product, tmp_path: Path, admin: httpx.AsyncClient, what: str, path_of: Callable[[Path], str]
) -> None:
    (tmp_path / "file.md").write_text("x")
    body = {"agent_id": "alpha", "path": path_of(tmp_path)}
    answer = await admin.post("/api/v1/sources", json=body)
    assert (answer.status_code, answer.json()["field"]) == (400, "path"), what
    assert (await admin.get("/api/v1/sources")).json()["sources"] == []
