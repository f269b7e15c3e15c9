"""Export and import again: whole, once, from one instant, and nobody else's."""

from __future__ import annotations

import asyncio
import gzip
import io
import json
import subprocess
import tarfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from noesis.editing import Edit
from noesis.errors import Forbidden, InvalidInput
from noesis.exporting.values import Shape, Stage, Wanted
from noesis.importing.values import Imported, Recipients, What
from noesis.memory import (
    EXPIRED,
    NEVER,
    EmbeddingState,
    Memory,
    MemoryFilter,
    MemoryType,
    NewMemory,
    Role,
    Scope,
)
from noesis.rows import by_memory, to_memory
from noesis.runtime import Noesis
from noesis.store.filters import EVERYTHING
from tests.operations.expire import archive_all
from tests.support import NOW, Clock, Product, WordEmbedder, running

DAY = 86_400_000
ADMIN = Scope(None, Role.ADMIN, actor="test")
ALPHA = Scope("alpha", actor="test")
BETA = Scope("beta", actor="test")
AS_GIVEN = Recipients(as_given=True)
SMALL_CHUNKS = {"NOESIS_CHUNK_SIZE": "32", "NOESIS_CHUNK_OVERLAP": "8"}
ENDINGS = {Shape.NDJSON: "ndjson", Shape.JSON: "json", Shape.MARKDOWN: "tar.gz"}


@pytest.fixture
async def product(tmp_path: Path, embedder: WordEmbedder, clock: Clock) -> AsyncIterator[Product]:
    async with running(tmp_path / "from", embedder=embedder, clock=clock, environ=SMALL_CHUNKS) as opened:
        yield opened


@pytest.fixture
def noesis(product: Product) -> Noesis:
    return product.noesis


@pytest.fixture
async def other(tmp_path: Path, clock: Clock) -> AsyncIterator[Noesis]:
    """An empty product, with an embedder of its own that tells what it was asked."""
    async with running(tmp_path / "to", embedder=WordEmbedder(), clock=clock, environ=SMALL_CHUNKS) as opened:
        yield opened.noesis


async def exported(noesis: Noesis, scope: Scope = ADMIN, shape: Shape = Shape.NDJSON, **wanted: Any) -> bytes:
    async with noesis.exporting.open(scope, Wanted(**wanted), shape) as export:
        return b"".join([portion.data async for portion in export.portions])


async def lines(noesis: Noesis, scope: Scope = ADMIN, **wanted: Any) -> list[dict[str, Any]]:
    """The memories of an export as NDJSON; the header has to promise as many."""
    header, *memories = map(json.loads, (await exported(noesis, scope, **wanted)).splitlines())
    assert header["memories"] == len(memories)
    return memories


async def imported(
    noesis: Noesis, data: bytes, folder: Path, to: Recipients = AS_GIVEN, ending: str = "ndjson"
) -> Imported:
    file = folder / f"export.{ending}"
    file.write_bytes(data)
    what = What(path=str(file), trusted=True)
    return await noesis.inflow.importing.run(what, to, lambda _done, _total: None, lambda: False)


async def everything(noesis: Noesis) -> dict[str, Memory]:
    """All memories of both tables by id."""
    rows = [
        row for table in (noesis.store.active, noesis.store.archive) for row in await table.rows(EVERYTHING)
    ]
    return {memory_id: to_memory(chunks) for memory_id, chunks in by_memory(rows).items()}


def told(memory: Memory) -> Memory:
    """A memory without what an import may not restore: how its vector came about."""
    return msgspec.structs.replace(memory, embedding_state=EmbeddingState.READY, embedding_reason=None)


async def fill(noesis: Noesis, clock: Clock) -> dict[str, str]:
    """Memories of every kind; their ids by what they are."""
    long = " ".join(f"word{number}" for number in range(150))
    news = {
        "plain": NewMemory(text="The heron stands in the field.", tags=("birds", "field")),
        "pinned": NewMemory(text="Never forget the tide.", ttl_days=0, memory_type=MemoryType.DECISION),
        "by hand": NewMemory(text="Ada likes rye.", memory_type=MemoryType.PREFERENCE, priority=80),
        "long": NewMemory(text=f"# A title\n\nSome: text\n---\n\n{long}", source="notes/a.md", position=3),
        "turn": NewMemory(
            text="Ben: yes, 40 loaves.", session_id="s1", position=2, author="Ben", author_role="user"
        ),
        "old": NewMemory(
            text="It moves in April.", memory_type=MemoryType.DECISION, created_at=NOW - 40 * DAY
        ),
        "new": NewMemory(text="It moves in May.", memory_type=MemoryType.DECISION),
        "short life": NewMemory(text="The pin is under the mat.", ttl_days=1.5),
        "gone": NewMemory(text="This was a mistake."),
        "archived": NewMemory(text="The badger was sold."),
    }
    ids = {name: (await noesis.indexing.index(ALPHA, new)).id for name, new in news.items()}
    ids["beta"] = (await noesis.indexing.index(BETA, NewMemory(text="Beta keeps bees."))).id
    await noesis.editing.edit(ALPHA, ids["plain"], Edit(text="The heron stands in the reeds."))
    await noesis.superseding.link(ALPHA, ids["old"], ids["new"])
    clock.advance(days=1)
    await archive_all(noesis, [ids["archived"]])
    await noesis.editing.delete(ALPHA, ids["gone"])
    clock.advance(days=1)
    return ids


@pytest.mark.parametrize("shape", Shape)
async def test_what_went_out_comes_back_once(
    shape: Shape, noesis: Noesis, other: Noesis, clock: Clock, tmp_path: Path
) -> None:
    """Ids, texts, times, tags, priorities and who set them, lives, the archive, links; again adds nothing."""
    ids = await fill(noesis, clock)
    before = await everything(noesis)
    data = await exported(noesis, shape=shape, deleted=True)
    done = await imported(other, data, tmp_path, ending=ENDINGS[shape])
    assert (done.indexed, done.archived, done.errors, done.duplicates) == (8, 3, 0, 0)
    after = await everything(other)
    # What had expired and was not moved yet lies in the archive now.
    expired = after[ids["short life"]]
    assert (expired.archive_reason, expired.archived_at) == (EXPIRED, clock())
    before[ids["short life"]] = msgspec.structs.replace(
        before[ids["short life"]], archived_at=clock(), archive_reason=EXPIRED
    )
    assert {key: told(memory) for key, memory in after.items()} == {
        key: told(memory) for key, memory in before.items()
    }
    assert await other.superseding.replaced_by(ids.values()) == {ids["old"]: ids["new"]}
    again = await imported(other, data, tmp_path, ending=ENDINGS[shape])
    assert (again.indexed, again.archived, again.errors, again.duplicates) == (0, 0, 0, 11)
    assert (await everything(other)) == after


async def test_the_second_export_is_the_first(
    noesis: Noesis, other: Noesis, clock: Clock, tmp_path: Path
) -> None:
    await fill(noesis, clock)
    first = await lines(noesis, deleted=True, archive=Stage.BOTH)
    await imported(other, await exported(noesis, deleted=True), tmp_path)
    second = await lines(other, deleted=True)
    moved = {"archived_at", "archive_reason"}

    def sorted_by_id(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
        kept = [
            {k: v for k, v in each.items() if not (k in moved and each["text"].startswith("The pin"))}
            for each in found
        ]
        return sorted(kept, key=lambda each: str(each["id"]))

    assert sorted_by_id(second) == sorted_by_id(first)


async def test_vectors_are_taken_over_when_they_are_of_the_same_model(
    noesis: Noesis, other: Noesis, clock: Clock, tmp_path: Path
) -> None:
    ids = await fill(noesis, clock)
    data = await exported(noesis, vectors=True)
    embedder = other.embedder
    assert isinstance(embedder, WordEmbedder)
    done = await imported(other, data, tmp_path)
    assert (done.indexed, done.archived, done.errors) == (8, 2, 0)
    assert embedder.seen == []
    ours = {row.id: row for row in await noesis.store.active.rows(EVERYTHING)}
    for row in await other.store.active.rows(EVERYTHING):
        assert row.vector is not None
        assert (row.vector == ours[row.id].vector).all()
    assert (await everything(other))[ids["long"]].chunks > 1


@pytest.mark.parametrize("how", ["another model", "another width", "damaged", "other chunks"])
async def test_vectors_that_do_not_fit_are_made_anew(
    how: str, noesis: Noesis, clock: Clock, tmp_path: Path
) -> None:
    await fill(noesis, clock)
    found = (await exported(noesis, ALPHA, vectors=True)).splitlines()
    header = json.loads(found[0])
    lines_ = [json.loads(line) for line in found[1:]]
    if how == "another model":
        header["embedder"]["model"] = "other"
    for line in lines_:
        for chunk in line["vectors"]:
            if how == "another width":
                chunk["vector"] = chunk["vector"][:16]
            elif how == "damaged":
                chunk["vector"] = "AAAA" * 85 + "AA=="
            elif how == "other chunks":
                chunk["length"] += 1
    data = b"\n".join(json.dumps(each).encode() for each in [header, *lines_])
    embedder = WordEmbedder()
    async with running(tmp_path / "to", embedder=embedder, clock=clock, environ=SMALL_CHUNKS) as opened:
        done = await imported(opened.noesis, data, tmp_path)
        assert (done.errors, done.indexed + done.archived) == (0, len(lines_))
        assert len(embedder.seen) >= len(lines_)
        rows = await opened.noesis.store.active.rows(EVERYTHING)
        assert all(row.vector is not None and row.embedding_state == "ready" for row in rows)


async def test_another_agent_gets_copies_and_nobody_is_overwritten(
    noesis: Noesis, clock: Clock, tmp_path: Path
) -> None:
    ids = await fill(noesis, clock)
    before = await everything(noesis)
    data = await exported(noesis, ALPHA)
    done = await imported(noesis, data, tmp_path, Recipients(agent="gamma", admitted=("gamma",)))
    assert (done.indexed, done.archived, done.errors) == (7, 2, 0)
    after = await everything(noesis)
    assert {key: after[key] for key in before} == before
    copies = {key: memory for key, memory in after.items() if key not in before}
    assert {memory.agent_id for memory in copies.values()} == {"gamma"}
    links = await noesis.superseding.replaced_by(copies)
    assert {copies[old].text: copies[new].text for old, new in links.items()} == {
        before[ids["old"]].text: before[ids["new"]].text
    }
    again = await imported(noesis, data, tmp_path, Recipients(agent="gamma", admitted=("gamma",)))
    assert (again.indexed, again.archived, again.duplicates) == (0, 0, 9)


async def test_an_agent_gets_its_own_memories_only(noesis: Noesis, clock: Clock) -> None:
    await fill(noesis, clock)
    assert {line["agent_id"] for line in await lines(noesis, BETA)} == {"beta"}
    assert {line["agent_id"] for line in await lines(noesis)} == {"alpha", "beta"}
    assert {line["agent_id"] for line in await lines(noesis, agent="beta")} == {"beta"}
    for scope in (ALPHA, Scope("alpha", may_read_across=True), Scope("alpha", Role.GATEWAY)):
        with pytest.raises(Forbidden):
            await exported(noesis, scope, agent="beta")
    with pytest.raises(InvalidInput):
        await exported(noesis, Scope(None, Role.GATEWAY))


async def test_filters_choose_and_the_deleted_stay_out(noesis: Noesis, clock: Clock) -> None:
    await fill(noesis, clock)

    async def texts(scope: Scope = ALPHA, **wanted: Any) -> set[str]:
        return {str(line["text"])[:12] for line in await lines(noesis, scope, **wanted)}

    assert await texts(archive=Stage.ONLY) == {"The badger w", "The pin is u"}
    assert "The pin is u" not in await texts(archive=Stage.NONE)
    assert await texts(archive=Stage.ONLY, deleted=True) == {"The badger w", "The pin is u", "This was a m"}
    assert await texts(filter=MemoryFilter(tags=("birds",))) == {"The heron st"}
    assert await texts(filter=MemoryFilter(memory_types=(MemoryType.PREFERENCE,))) == {"Ada likes ry"}
    assert await texts(filter=MemoryFilter(session_id="s1")) == {"Ben: yes, 40"}
    assert await texts(filter=MemoryFilter(source="notes/a.md")) == {"# A title\n\nS"}
    assert await texts(filter=MemoryFilter(before=NOW)) == {"It moves in "}
    assert len(await texts(filter=MemoryFilter(after=NOW))) == 8
    with pytest.raises(InvalidInput):
        await exported(noesis, shape=Shape.JSON, vectors=True)


async def test_what_moves_or_changes_meanwhile_is_there_once_and_as_it_was(noesis: Noesis) -> None:
    """Upkeep and every kind of change go on while an export of 1,200 memories is read."""
    news = [NewMemory(text=f"The {number}th boat lies in the bay.") for number in range(1200)]
    ids = [
        answer.id
        for answer in await noesis.indexing.index_many(ALPHA, news)
        if not isinstance(answer, Exception)
    ]
    await archive_all(noesis, ids[:300])
    found: list[bytes] = []
    async with noesis.exporting.open(ADMIN, Wanted(), Shape.NDJSON) as export:
        async for portion in export.portions:
            found.append(portion.data)
            if len(found) == 2:
                await archive_all(noesis, ids[300:600])
                await asyncio.gather(
                    *(noesis.editing.edit(ALPHA, each, Edit(ttl_days=9)) for each in ids[:40])
                )
                await asyncio.gather(*(noesis.editing.delete(ALPHA, each) for each in ids[900:940]))
                await noesis.indexing.index(ALPHA, NewMemory(text="One that came too late."))
                assert await noesis.store.maintain(force=True) == 2
    memories = [json.loads(line) for line in b"".join(found).splitlines()[1:]]
    assert len(memories) == 1200
    assert {memory["id"] for memory in memories} == set(ids)
    assert sum(memory["archived_at"] is not None for memory in memories) == 300


async def test_a_memory_that_lies_in_both_tables_goes_out_once(noesis: Noesis) -> None:
    """A move that a kill broke off leaves it so until the next start."""
    answer = await noesis.indexing.index(ALPHA, NewMemory(text="It was on its way."))
    row = (await noesis.store.active.rows(EVERYTHING))[0]
    moved = msgspec.structs.replace(row, archived_at=NOW, archive_reason=EXPIRED)
    await noesis.store.archive.upsert([moved])
    (line,) = await lines(noesis)
    assert (line["id"], line["archived_at"]) == (answer.id, None)
    assert await lines(noesis, archive=Stage.ONLY) == []


async def test_a_broken_line_is_told_of_by_its_number_and_the_rest_comes_in(
    noesis: Noesis, other: Noesis, clock: Clock, tmp_path: Path
) -> None:
    await fill(noesis, clock)
    found = (await exported(noesis)).splitlines()
    found[3] = found[3][:-20]
    done = await imported(other, b"\n".join(found), tmp_path)
    assert (done.indexed + done.archived, done.errors) == (9, 1)
    assert done.problems[0].place == "line 4"


async def test_a_file_that_ends_early_is_told_of(
    noesis: Noesis, other: Noesis, clock: Clock, tmp_path: Path
) -> None:
    await fill(noesis, clock)
    found = (await exported(noesis)).splitlines()
    done = await imported(other, b"\n".join(found[:-3]), tmp_path)
    assert done.indexed + done.archived == 7
    assert [(problem.place, "7 of the 10" in problem.reason) for problem in done.problems] == [
        ("the end", True)
    ]


@pytest.mark.parametrize("shape", Shape)
async def test_a_newer_form_is_refused_in_words(
    shape: Shape, noesis: Noesis, other: Noesis, tmp_path: Path
) -> None:
    await noesis.indexing.index(ALPHA, NewMemory(text="From the future."))
    data = await exported(noesis, shape=shape)
    if shape is Shape.MARKDOWN:
        data = gzip.compress(gzip.decompress(data).replace(b"noesis_export: 1", b"noesis_export: 2"))
    else:
        data = data.replace(b'"version":1', b'"version":2')
    if shape is Shape.NDJSON:
        with pytest.raises(InvalidInput, match="newer version"):
            await imported(other, data, tmp_path)
    else:
        done = await imported(other, data, tmp_path, ending=ENDINGS[shape])
        assert (done.indexed, done.errors) == (0, 1)
        assert "newer version" in done.problems[0].reason
    assert await everything(other) == {}


async def test_the_array_is_what_the_original_wrote(noesis: Noesis, clock: Clock) -> None:
    ids = await fill(noesis, clock)
    array = {row["id"]: row for row in json.loads(await exported(noesis, ALPHA, Shape.JSON))}
    row = array[ids["turn"]]
    assert (row["agentId"], row["sessionId"], row["content"]) == ("alpha", "s1", "Ben: yes, 40 loaves.")
    assert (row["memoryType"], row["priority"], row["createdAt"]) == ("fact", 30, NOW)
    assert (row["expiresAt"], array[ids["pinned"]]["expiresAt"]) == (NOW + 90 * DAY, 0)
    assert (row["sourcePath"], row["tags"], array[ids["long"]]["sourcePath"]) == ("", [], "notes/a.md")
    assert json.loads(await exported(noesis, BETA, Shape.JSON, archive=Stage.ONLY)) == []


async def test_the_originals_own_array_is_read_once_for_each_document(noesis: Noesis, tmp_path: Path) -> None:
    """It has a row for each chunk, with the whole text in each."""
    row = {
        "id": "0f6a4d5e-58f4-5c0e-9a6f-1f3f1c6c7a01", "agentId": "alpha", "sessionId": "", "content": "One document.",
        "chunk": "One", "memoryType": "decision", "priority": 0, "expiresAt": 0, "createdAt": NOW - DAY,
        "sourcePath": "", "checksum": "x", "tags": ["a"],
    }  # fmt: skip
    rows = [row, row | {"id": "0f6a4d5e-58f4-5c0e-9a6f-1f3f1c6c7a02", "chunk": "document."}]
    done = await imported(noesis, json.dumps(rows, indent=2).encode(), tmp_path, ending="json")
    assert (done.indexed, done.duplicates, done.errors) == (1, 1, 0)
    (memory,) = (await everything(noesis)).values()
    assert (memory.priority, memory.created_at, memory.expires_at) == (85, NOW - DAY, NEVER)


async def test_the_markdown_is_a_folder_of_files_that_people_can_read(noesis: Noesis, clock: Clock) -> None:
    ids = await fill(noesis, clock)
    with tarfile.open(fileobj=io.BytesIO(await exported(noesis, ALPHA, Shape.MARKDOWN))) as archive:
        files = {member.name: archive.extractfile(member) for member in archive.getmembers()}
        content = files[f"alpha/2026-05-28-{ids['turn']}.md"]
        assert content is not None
        text = content.read().decode()
    assert len(files) == 9
    assert text.startswith("---\nnoesis_export: 1\n")
    assert 'author: "Ben"\n' in text
    assert text.endswith("\n---\n\nBen: yes, 40 loaves.\n")


def unpack(archive: bytes, folder: Path) -> None:
    """By the command that a person has at hand."""
    folder.mkdir()
    subprocess.run(["tar", "-xz", "-f", "-", "-C", str(folder)], input=archive, check=True)


async def test_markdown_that_was_unpacked_and_touched_by_hand_is_read(
    noesis: Noesis, other: Noesis, clock: Clock, tmp_path: Path
) -> None:
    ids = await fill(noesis, clock)
    folder = tmp_path / "unpacked"
    unpack(await exported(noesis, shape=Shape.MARKDOWN), folder)
    file = next(folder.glob(f"alpha/*{ids['turn']}.md"))
    file.write_text(
        file.read_text().replace('memory_type: "fact"', "memory_type: decision").replace("40", "50")
    )
    what = What(path=str(folder), trusted=True)
    done = await other.inflow.importing.run(what, AS_GIVEN, lambda _done, _total: None, lambda: False)
    assert (done.indexed, done.archived, done.errors) == (8, 2, 0)
    memory = (await everything(other))[ids["turn"]]
    assert (memory.text, memory.memory_type) == ("Ben: yes, 50 loaves.", MemoryType.DECISION)
