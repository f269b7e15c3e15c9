"""Import: every format once, what is there is passed over, and nothing is read that may not be."""

from __future__ import annotations

import json
import os
import shutil
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from noesis.agents import Policy
from noesis.embedding import EmbeddingFailure
from noesis.errors import Forbidden, InvalidInput, NotFound
from noesis.following import Following
from noesis.importing.operation import from_args, to_args
from noesis.importing.values import Imported, Recipients, What
from noesis.memory import NEVER, NewMemory, Role, Scope, chunk_id, to_datetime
from noesis.runtime import Noesis
from noesis.sources.foreign import Format
from noesis.store import Row
from noesis.store.filters import EVERYTHING, Column, equals
from tests.operations.samples import words
from tests.sources.foreign import test_memory_core as core
from tests.sources.foreign import test_original as original
from tests.sources.foreign.samples import SAMPLES
from tests.sources.writing import DATA, header, jsonl, message
from tests.support import NOW, Clock, Product, WordEmbedder, running

ALPHA = Recipients(agent="alpha", admitted=("alpha",))
ANYONE = Recipients(as_given=True)
DAY = 86_400_000


@pytest.fixture
def noesis(product: Product) -> Noesis:
    return product.noesis


async def run(noesis: Noesis, path: Path, to: Recipients = ALPHA, **values: Any) -> Imported:
    what = What(path=str(path), trusted=True, **values)
    return await noesis.inflow.importing.run(what, to, lambda _done, _total: None, lambda: False)


async def versions(noesis: Noesis) -> tuple[int, int]:
    return await noesis.store.active.version(), await noesis.store.archive.version()


async def rows(noesis: Noesis) -> dict[str, Row]:
    """The first row of every memory, by id."""
    tables = (noesis.store.active, noesis.store.archive)
    found = [row for table in tables for row in await table.rows(equals(Column.CHUNK, 0), vectors=False)]
    assert len(found) == len({row.id for row in found})
    return {row.id: row for row in found}


def line(number: int, **values: Any) -> dict[str, Any]:
    """One memory as an export has it."""
    return {
        "id": str(uuid.uuid5(uuid.NAMESPACE_OID, str(number))),
        "agent_id": "alpha",
        "text": f"The {number}th heron stands in field {number % 7}.",
        "memory_type": "fact",
        "priority": 30,
        "created_at": to_datetime(NOW - number * 1000).isoformat(),
        "updated_at": to_datetime(NOW - number * 500).isoformat(),
        "expires_at": None,
        "archived_at": None,
    } | values


def export(path: Path, lines: list[dict[str, Any]]) -> Path:
    path.write_text("\n".join(json.dumps(each) for each in lines) + "\n")
    return path


def whole_export() -> list[dict[str, Any]]:
    """2,500 active memories of two agents and 500 archived ones."""
    expired = {
        "archived_at": to_datetime(NOW - DAY).isoformat(),
        "archive_reason": "expired",
        "expires_at": to_datetime(NOW - 2 * DAY).isoformat(),
    }
    active = [
        line(
            number,
            agent_id=("alpha", "beta")[number % 2],
            tags=[f"tag{number % 5}"],
            priority=number % 101,
            memory_type=("fact", "decision")[number % 2],
            expires_at=to_datetime(NOW + number * DAY).isoformat() if number % 3 == 1 else None,
        )
        for number in range(2500)
    ]
    return active + [line(number, **expired) for number in range(2500, 3000)]


async def test_an_export_comes_back_whole_and_only_once(
    noesis: Noesis, embedder: WordEmbedder, tmp_path: Path
) -> None:
    """Ids, times, tags, priorities, lives and the archive: count in is count out, and again adds nothing."""
    embedder.down = True
    lines = whole_export()
    file = export(tmp_path / "all.ndjson", lines)
    planned = await noesis.inflow.importing.plan(What(path=str(file), trusted=True), ANYONE)
    assert (planned.entries, planned.new, planned.archived, planned.already) == (3000, 3000, 500, 0)
    assert planned.by_agent == {"alpha": 1750, "beta": 1250}
    assert planned.by_type == {"fact": 1750, "decision": 1250}
    commits = noesis.store.writer.commits
    done = await run(noesis, file, ANYONE)
    assert (done.indexed, done.archived, done.duplicates, done.errors) == (2500, 500, 0, 0)
    assert noesis.store.writer.commits - commits <= 3000 / 64
    stored = await rows(noesis)
    assert set(stored) == {each["id"] for each in lines}
    for each in lines:
        row = stored[each["id"]]
        assert (row.agent_id, row.text, row.tags) == (each["agent_id"], each["text"], each.get("tags", []))
        assert (row.priority, row.memory_type) == (each["priority"], each["memory_type"])
        assert to_datetime(row.created_at).isoformat() == each["created_at"]
        assert to_datetime(row.updated_at).isoformat() == each["updated_at"]
        told = None if row.expires_at == NEVER else to_datetime(row.expires_at).isoformat()
        assert told == each["expires_at"]
        assert (row.archived_at is not None) == (each["archived_at"] is not None)
        assert row.archive_reason == each.get("archive_reason")
    assert await noesis.store.archive.count(EVERYTHING) == 500
    before = await versions(noesis)
    again = await run(noesis, file, ANYONE)
    assert (again.indexed, again.archived, again.duplicates) == (0, 0, 3000)
    assert await versions(noesis) == before


async def test_an_import_that_was_stopped_goes_on_when_it_is_run_again(
    noesis: Noesis, tmp_path: Path
) -> None:
    file = export(tmp_path / "some.ndjson", [line(number) for number in range(600)])
    told: list[int] = []
    what = What(path=str(file), trusted=True)
    first = await noesis.inflow.importing.run(
        what, ALPHA, lambda done, _total: told.append(done), lambda: len(told) >= 2
    )
    assert not first.whole
    assert 0 < first.indexed < 600
    second = await run(noesis, file)
    assert second.whole
    assert (second.indexed, second.duplicates) == (600 - first.indexed, first.indexed)
    assert len(await rows(noesis)) == 600


async def of_original(folder: Path) -> Path:
    return await original.make(
        folder / "lancedb",
        memories=[original.row(1, "The heron lies at the south pier.", agentId="alpha")],
        memories_archive=[original.row(2, "The badger was sold.", agentId="alpha")],
    )


async def of_memory_core(folder: Path) -> Path:
    chunks = core.cut(core.LINES, 10, 2)
    return core.database(folder / "index.sqlite", core.OLD, {"memory/2026-03-02.md": chunks})


async def of_transcripts(folder: Path) -> Path:
    sessions = folder / "sessions"
    sessions.mkdir()
    shutil.copy(DATA / "session-v4.jsonl", sessions)
    said = [header("s9"), message(1, "user", "We decided to moor the heron at the south pier from May on.")]
    (sessions / "s9.jsonl").write_bytes(jsonl(said))
    return sessions


async def of_notes(folder: Path) -> Path:
    notes = folder / "notes"
    notes.mkdir()
    (notes / "herons.md").write_text(f"# Herons\n\n{words(30)}\n")
    return notes


def sample(name: str) -> Callable[[Path], Any]:
    async def copied(folder: Path) -> Path:
        source = SAMPLES / name
        target = folder / name
        shutil.copytree(source, target) if source.is_dir() else shutil.copy(source, target)
        return target

    return copied


async def of_database(folder: Path) -> Path:
    return Path(shutil.copy(DATA / "openclaw-agent.sqlite", folder))


MADE: dict[Format | str, Callable[[Path], Any]] = {
    Format.NOESIS: sample("noesis-export.ndjson"),
    Format.MEM0: sample("mem0.json"),
    Format.MCP_MEMORY_SERVICE: sample("mcp-memory-service.json"),
    Format.BASIC_MEMORY: sample("basic-memory"),
    Format.CHATGPT: sample("chatgpt-conversations.json"),
    Format.CLAUDE: sample("claude-conversations.json"),
    Format.ORIGINAL: of_original,
    Format.MEMORY_CORE: of_memory_core,
    Format.MARKDOWN: of_notes,
    Format.OPENCLAW: of_transcripts,
    "openclaw database": of_database,
}


@pytest.mark.parametrize("kind", MADE)
async def test_every_format_is_planned_imported_and_passed_over_the_second_time(
    kind: Format | str, noesis: Noesis, tmp_path: Path
) -> None:
    folder = tmp_path / "from"
    folder.mkdir()
    path = await MADE[kind](folder)
    before = await versions(noesis)
    planned = await noesis.inflow.importing.plan(What(path=str(path), trusted=True), ALPHA)
    assert await versions(noesis) == before
    done = await run(noesis, path)
    assert kind.split()[0] in done.formats
    assert (planned.new, planned.errors) == (done.indexed + done.archived + done.held, done.errors)
    stored = await rows(noesis)
    assert len(stored) == done.indexed + done.archived > 0
    assert {row.agent_id for row in stored.values()} == {"alpha"}
    again = await run(noesis, path)
    assert (again.indexed, again.archived, again.changed, again.removed) == (0, 0, 0, 0)
    assert (await rows(noesis)).keys() == stored.keys()
    later = await noesis.inflow.importing.plan(What(path=str(path), trusted=True), ALPHA)
    assert (later.new, later.changed) == (0, 0)


MEMORY_FILE = (
    f"# Boats\n\n{words(60)}\n\n# Long\n\n"
    + "\n\n".join(words(60, 1000 + 60 * part) + "." for part in range(50))
    + f"\n\n# Keys\n\n{words(60, 5000)}\n"
)
DAILY = f"# Monday\n\n{words(40, 9000)}\n"


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    folder = tmp_path / "workspace"
    folder.mkdir()
    (folder / "MEMORY.md").write_text(MEMORY_FILE)
    (folder / "2026-03-02.md").write_text(DAILY)
    return folder


async def test_notes_are_imported_once_and_a_persons_word_outlives_the_next_import(
    noesis: Noesis, product: Product, notes: Path
) -> None:
    before = await versions(noesis)
    planned = await noesis.inflow.importing.plan(What(path=str(notes), trusted=True), ALPHA)
    assert await versions(noesis) == before
    done = await run(noesis, notes)
    assert (done.indexed, done.errors) == (planned.new, 0)
    again = await run(noesis, notes)
    assert (again.indexed, again.changed, again.duplicates) == (0, 0, done.indexed)
    stored = await noesis.store.active.rows(EVERYTHING)
    text = " ".join(row.text for row in stored)
    assert all(f"word{number}" in text for number in (1000, 2500, 3999))
    assert max(row.chunks for row in stored) >= 6
    daily = next(row for row in stored if row.source and row.source.endswith("2026-03-02.md"))
    assert to_datetime(daily.created_at).isoformat() == "2026-03-02T00:00:00+00:00"

    client = await product.agent("alpha")
    keys = next(row for row in stored if "word5000" in row.text)
    reply = await client.patch(f"/api/v1/memories/{keys.parent_id}", json={"priority": 99, "ttl_days": 0})
    assert reply.status_code == 200
    (notes / "MEMORY.md").touch()
    touched = await run(noesis, notes)
    assert (touched.indexed, touched.changed) == (0, 0)

    (notes / "MEMORY.md").write_text(MEMORY_FILE.replace("word5003", "wordnew"))
    changed = await run(noesis, notes)
    assert (changed.indexed, changed.changed, changed.removed) == (0, 1, 0)
    now = {row.id: row for row in await noesis.store.active.rows(EVERYTHING)}
    assert now.keys() == {row.id for row in stored}
    edited = now[keys.id]
    assert "wordnew" in edited.text
    assert (edited.priority, edited.expires_at, edited.created_at) == (99, NEVER, keys.created_at)


async def test_what_the_embedder_failed_on_is_there_and_gets_its_vector_later(
    noesis: Noesis, embedder: WordEmbedder, notes: Path
) -> None:
    embedder.broken["word9000"] = EmbeddingFailure("no", permanent=False, outage=True)
    await run(noesis, notes)
    assert await noesis.filling.pending() == 1
    embedder.broken.clear()
    await noesis.filling.fill(lambda _done, _total: None)
    assert await noesis.filling.pending() == 0


async def test_a_note_that_could_not_be_read_is_read_the_next_time(noesis: Noesis, notes: Path) -> None:
    hidden = notes / "2026-03-02.md"
    hidden.chmod(0)
    if hidden.stat().st_uid == 0:
        hidden.unlink()
        hidden.symlink_to("/nowhere")
    first = await run(noesis, notes)
    assert first.errors == 1
    hidden.unlink()
    hidden.write_text(DAILY)
    assert (await run(noesis, notes)).indexed == 1


async def test_notes_that_are_followed_later_are_not_stored_twice(noesis: Noesis, notes: Path) -> None:
    done = await run(noesis, notes)
    root = await noesis.inflow.following.add("alpha", str(notes))
    scanned = await noesis.inflow.scanning.scan(root.key, lambda _done, _total: None, lambda: False)
    assert scanned.memories.get("added", 0) == 0
    assert len(await rows(noesis)) == done.indexed


async def test_a_file_of_a_followed_folder_is_imported_as_that_folders(noesis: Noesis, notes: Path) -> None:
    await noesis.inflow.following.add("alpha", str(notes))
    await run(noesis, notes / "2026-03-02.md")
    (row,) = (await rows(noesis)).values()
    assert row.source == "workspace/2026-03-02.md"


async def test_a_memory_that_has_expired_goes_to_the_archive(noesis: Noesis, tmp_path: Path) -> None:
    old = line(1, expires_at=to_datetime(NOW - 1).isoformat())
    done = await run(noesis, export(tmp_path / "old.ndjson", [old]))
    assert (done.indexed, done.archived) == (0, 1)
    (row,) = (await rows(noesis)).values()
    assert (row.archive_reason, row.archived_at) == ("expired", NOW)


async def test_what_a_person_deleted_or_edited_stays_so(
    noesis: Noesis, product: Product, tmp_path: Path
) -> None:
    file = export(tmp_path / "two.ndjson", [line(1), line(2)])
    await run(noesis, file)
    client = await product.agent("alpha")
    await client.delete(f"/api/v1/memories/{line(1)['id']}")
    await client.patch(f"/api/v1/memories/{line(2)['id']}", json={"text": "Another text."})
    again = await run(noesis, file)
    assert (again.indexed, again.duplicates) == (0, 2)
    stored = await rows(noesis)
    assert stored[line(1)["id"]].archive_reason == "deleted"
    assert stored[line(2)["id"]].text == "Another text."


async def test_nobody_can_touch_anothers_memory_by_its_id(noesis: Noesis, tmp_path: Path) -> None:
    """Neither a memory's id nor that of one of its chunks; the import gets ids of its own."""
    theirs = await noesis.indexing.index(Scope("beta", Role.AGENT), NewMemory(text=words(2000)))
    before = {row.id: row for row in await noesis.store.active.rows(EVERYTHING, vectors=False)}
    assert len(before) > 1
    lines = [line(1, id=theirs.id), line(2, id=chunk_id(theirs.id, 1))]
    file = export(tmp_path / "forged.ndjson", lines)
    done = await run(noesis, file)
    assert done.indexed == 2
    after = {row.id: row for row in await noesis.store.active.rows(EVERYTHING, vectors=False)}
    assert {row_id: after[row_id] for row_id in before} == before
    assert len(after) == len(before) + 2
    again = await run(noesis, file)
    assert (again.indexed, again.duplicates) == (0, 2)


async def test_entries_of_other_agents_become_the_named_ones_unless_they_are_to_go_as_given(
    noesis: Noesis, tmp_path: Path
) -> None:
    file = export(tmp_path / "two.ndjson", [line(1), line(2, agent_id="beta"), line(3, agent_id=None)])
    await run(noesis, file)
    stored = await rows(noesis)
    assert {row.agent_id for row in stored.values()} == {"alpha"}
    assert {line(1)["id"], line(3)["id"]} < set(stored)
    assert line(2)["id"] not in stored
    partly = Recipients(as_given=True, admitted=("beta", "gamma"), agent="gamma")
    done = await run(noesis, file, partly)
    assert (done.by_agent, done.errors) == ({"beta": 1, "gamma": 1}, 1)
    assert "may not act" in done.problems[0].reason


async def test_an_agent_is_needed_and_must_be_admitted(noesis: Noesis, tmp_path: Path) -> None:
    file = export(tmp_path / "one.ndjson", [line(1)])
    with pytest.raises(InvalidInput):
        await run(noesis, file, Recipients())
    with pytest.raises(Forbidden):
        await run(noesis, file, Recipients(agent="beta", admitted=("alpha",)))
    assert await rows(noesis) == {}


async def test_secrets_are_taken_out_and_a_policy_can_refuse_them(noesis: Noesis, tmp_path: Path) -> None:
    secret = "sk-test-ABCDEF0123456789abcdef"
    file = export(tmp_path / "one.ndjson", [line(1, text=f"my API key is {secret}"), line(2)])
    await noesis.agents.set_policy(Policy("alpha", redaction="block"))
    refused = await run(noesis, file)
    assert (refused.indexed, refused.errors) == (1, 1)
    assert secret not in repr(refused)
    await noesis.agents.set_policy(Policy("alpha"))
    assert (await run(noesis, file)).indexed == 1
    assert "<redacted:" in (await rows(noesis))[line(1)["id"]].text
    assert await noesis.redacting.totals("alpha") != {}


async def test_lines_that_cannot_be_read_are_told_of_and_cost_nothing_else(
    noesis: Noesis, tmp_path: Path
) -> None:
    file = export(tmp_path / "some.ndjson", [line(1), line(2, priority=900), line(3)])
    file.write_text(file.read_text() + '{"text": "canary-7Qx", "priority": "high"}\n{"tex\n')
    done = await run(noesis, file)
    assert (done.indexed, done.errors) == (2, 3)
    assert {each.place for each in done.problems} >= {"line 4", "line 5"}
    assert "canary" not in repr(done)


@pytest.fixture
async def rooted(tmp_path: Path) -> Any:
    """A product that may import from one folder."""
    (tmp_path / "inbox").mkdir()
    environ = {"NOESIS_IMPORT_ROOTS": str(tmp_path / "inbox")}
    async with running(tmp_path / "data", clock=Clock(), environ=environ) as opened:
        yield opened.noesis


async def planned_at(noesis: Noesis, path: Path | str, to: Recipients = ALPHA) -> int:
    return (await noesis.inflow.importing.plan(What(path=str(path)), to)).new


async def test_only_allowed_folders_are_read(rooted: Noesis, tmp_path: Path) -> None:
    inside, outside = tmp_path / "inbox" / "a.ndjson", tmp_path / "b.ndjson"
    export(inside, [line(1)])
    export(outside, [line(2)])
    (tmp_path / "inbox" / "link.ndjson").symlink_to(outside)
    (tmp_path / "inbox" / "up").symlink_to(tmp_path)
    assert await planned_at(rooted, inside) == 1
    for path in (
        outside,
        tmp_path / "inbox" / ".." / "b.ndjson",
        tmp_path / "inbox" / "link.ndjson",
        tmp_path / "inbox" / "up" / "b.ndjson",
        tmp_path,
        tmp_path / "data",
        tmp_path / "data" / "control.sqlite",
        "/etc/passwd",
        "/no/such/file",
    ):
        with pytest.raises(Forbidden):
            await planned_at(rooted, path)
    with pytest.raises(NotFound):
        await planned_at(rooted, tmp_path / "inbox" / "none")
    with pytest.raises(InvalidInput):
        await planned_at(rooted, "../b.ndjson")


async def test_links_and_pipes_in_an_allowed_folder_are_not_read(rooted: Noesis, tmp_path: Path) -> None:
    folder = tmp_path / "inbox" / "notes"
    folder.mkdir()
    (folder / "a.md").write_text(f"# A\n\n{words(30)}\n")
    secret = tmp_path / "secret.md"
    secret.write_text(f"# S\n\n{words(30, 500)}\n")
    (folder / "b.md").symlink_to(secret)
    os.link(secret, folder / "c.md")
    os.mkfifo(folder / "d.md")
    done = await rooted.inflow.importing.run(
        What(path=str(folder)), ALPHA, lambda _done, _total: None, lambda: False
    )
    assert (done.indexed, done.errors) == (1, 3)


async def test_a_followed_folder_is_readable_for_its_own_agent_alone(rooted: Noesis, tmp_path: Path) -> None:
    folder = tmp_path / "theirs"
    folder.mkdir()
    (folder / "a.md").write_text(f"# A\n\n{words(30)}\n")
    await rooted.inflow.following.add("beta", str(folder))
    with pytest.raises(Forbidden):
        await planned_at(rooted, folder)
    assert await planned_at(rooted, folder, Recipients(agent="beta")) == 1


async def test_openclaws_places_are_scanned_for_one_agent_or_all(tmp_path: Path) -> None:
    state = tmp_path / "openclaw"
    for agent in ("main", "other"):
        sessions = state / "agents" / agent / "sessions"
        sessions.mkdir(parents=True)
        said = message(1, "user", f"We decided to moor the heron of {agent} at the south pier.")
        (sessions / "s1.jsonl").write_bytes(jsonl([header(f"s-{agent}"), said]))
    environ = {"NOESIS_OPENCLAW_HOME": str(state)}
    async with running(tmp_path / "data", clock=Clock(), environ=environ) as opened:
        noesis = opened.noesis
        assert isinstance(noesis.inflow.following, Following)
        what, one = What(openclaw=True), Recipients(agent="main")
        before = await versions(noesis)
        planned = await noesis.inflow.importing.plan(what, one)
        assert sum(each.waiting for each in planned.places) == 1
        assert (planned.entries, planned.whole) == (1, True)
        assert await versions(noesis) == before
        quiet: Any = (lambda _done, _total: None, lambda: False)
        done = await noesis.inflow.importing.run(what, one, *quiet)
        assert done.by_agent == planned.by_agent == {"main": planned.new}
        assert done.indexed == planned.new > 0
        again = await noesis.inflow.importing.plan(what, one)
        assert (again.entries, again.new, again.places[0].waiting) == (0, 0, 0)
        everyone = await noesis.inflow.importing.run(what, Recipients(), *quiet)
        assert everyone.by_agent["main"] == 0
        assert everyone.by_agent["other"] == done.indexed
        with pytest.raises(Forbidden):
            await noesis.inflow.importing.run(what, Recipients(agent="main", admitted=("other",)), *quiet)


async def test_a_plan_counts_what_openclaws_notes_and_talks_would_give(tmp_path: Path) -> None:
    """Of very much only the beginning: the files are counted all the same."""
    state = tmp_path / "openclaw"
    notes, sessions = state / "workspace" / "memory", state / "agents" / "main" / "sessions"
    for folder in (notes, sessions):
        folder.mkdir(parents=True)
    (state / "openclaw.json").write_text("{}")
    for number in range(3):
        sections = "".join(
            f"## Heron {number} {part}\n\n{words(40, number * 10 + part)}\n\n" for part in range(2)
        )
        (notes / f"2026-05-0{number + 1}.md").write_text(sections)
    said = [
        message(each, "user", f"We decided to moor heron {each} at the south pier.") for each in range(1, 4)
    ]
    (sessions / "s1.jsonl").write_bytes(jsonl([header("s-main"), *said]))
    async with running(
        tmp_path / "data", clock=Clock(), environ={"NOESIS_OPENCLAW_HOME": str(state)}
    ) as opened:
        importing = opened.noesis.inflow.importing
        what, to = What(openclaw=True), Recipients(agent="main")
        planned = await importing.plan(what, to)
        assert {(each.kind, each.files, each.waiting) for each in planned.places} >= {
            ("markdown", 3, 3),
            ("transcripts", 1, 1),
        }
        part = await importing.plan(what, to, most=2)
        assert (part.whole, part.places) == (False, planned.places)
        assert 2 <= part.entries < planned.entries == 9
        done = await importing.run(what, to, lambda _done, _total: None, lambda: False)
        assert (done.indexed, done.by_agent) == (planned.new, planned.by_agent)
        (notes / "2026-05-01.md").write_text(f"## Heron new\n\n{words(40, 99)}\n")
        after = await importing.plan(what, to)
        assert (after.entries, after.new + after.changed) == (1, 1)


def test_a_job_keeps_plain_values_and_never_that_a_path_is_trusted() -> None:
    what = What(path="/a", format=Format.MEM0, trusted=True)
    to = Recipients(agent="alpha", as_given=True, admitted=("alpha", "beta"))
    args = to_args(what, to)
    assert from_args(json.loads(json.dumps(args))) == (msgspec.structs.replace(what, trusted=False), to)
