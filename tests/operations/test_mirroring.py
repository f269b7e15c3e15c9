"""A file's memories follow the file: ids, corrections and lives survive its edits."""

from __future__ import annotations

import httpx
import pytest

from noesis.erasing import Forgotten
from noesis.memory import MAX_TEXT_CHARS
from noesis.mirroring import FileFacts, Mirror, Mirrored
from noesis.redacting import Redacting
from noesis.sources.book import SectionNote
from noesis.text.documents import read_document
from tests.operations.expire import archive
from tests.support import NOW, Clock, Product, WordEmbedder

SECTIONS = {
    "Boats": "The heron lies in the north harbour and the badger is on land until the spring comes round again, says the harbour master, who has seen many springs come late.",
    "Keys": "The spare key hangs by the back door next to the coats, and the van key is with the neighbour in the yellow house, who is away on most weekends in summer.",
    "Garden": "The beans go in after the frost, the potatoes before it, and the compost is turned on the first Sunday of a month, as it has always been done here.",
}


def text_of(sections: dict[str, str], head: str = "") -> str:
    return head + "\n".join(f"# {title}\n\n{body}\n" for title, body in sections.items())


class File:
    """One file that is read again and again."""

    def __init__(self, product: Product, name: str = "MEMORY.md") -> None:
        noesis = product.noesis
        redacting = Redacting(noesis.control, noesis.agents, "redact")
        forgotten = Forgotten(noesis.store, noesis.oversight.tombstones)
        self.mirror = Mirror(
            noesis.store,
            noesis.vectors,
            redacting,
            noesis.quotas,
            forgotten,
            noesis.settings,
            noesis.now_ms,
        )
        self.name = name
        self.filed: tuple[SectionNote, ...] = ()

    async def read(self, text: str) -> Mirrored:
        facts = FileFacts(
            agent="alpha", source=f"workspace/{self.name}", name=self.name, modified_ms=NOW - 1000
        )
        mirrored = await self.mirror.follow(facts, read_document(self.name, text), self.filed)
        self.filed = mirrored.sections
        return mirrored

    def ids(self) -> list[str]:
        return [note.memory_id for note in self.filed]


@pytest.fixture
def file(product: Product) -> File:
    return File(product)


async def memories(client: httpx.AsyncClient) -> dict[str, dict[str, object]]:
    answer = (await client.get("/api/v1/memories?limit=200")).json()
    return {memory["id"]: memory for memory in answer["memories"]}


async def test_each_section_is_a_memory_of_the_file(file: File, alpha: httpx.AsyncClient) -> None:
    mirrored = await file.read(text_of(SECTIONS))
    assert (mirrored.added, mirrored.unchanged) == (3, 0)
    found = await memories(alpha)
    assert [found[each]["text"] for each in file.ids()] == [
        f"# {title}\n\n{body}" for title, body in SECTIONS.items()
    ]
    assert {memory["source"] for memory in found.values()} == {"workspace/MEMORY.md"}
    assert [found[each]["position"] for each in file.ids()] == [0, 1, 2]
    assert all(memory["expires_at"] is None for memory in found.values())


async def test_reading_it_again_adds_nothing_and_embeds_nothing(
    file: File, alpha: httpx.AsyncClient, embedder: WordEmbedder
) -> None:
    await file.read(text_of(SECTIONS))
    ids, before = file.ids(), await memories(alpha)
    embedder.seen.clear()
    assert (await file.read(text_of(SECTIONS))).unchanged == 3
    assert (file.ids(), await memories(alpha), embedder.seen) == (ids, before, [])


async def test_a_lost_note_of_what_was_filed_doubles_nothing(file: File, alpha: httpx.AsyncClient) -> None:
    """A kill between the store and the note."""
    await file.read(text_of(SECTIONS))
    ids, file.filed = file.ids(), ()
    await file.read(text_of(SECTIONS))
    assert file.ids() == ids
    assert len(await memories(alpha)) == 3


async def test_a_changed_section_keeps_its_id_its_time_and_what_a_person_set(
    file: File, alpha: httpx.AsyncClient, clock: Clock, embedder: WordEmbedder
) -> None:
    await file.read(text_of(SECTIONS))
    ids = file.ids()
    await alpha.patch(f"/api/v1/memories/{ids[1]}", json={"priority": 99, "ttl_days": 0})
    before = (await memories(alpha))[ids[1]]
    clock.advance(days=1)
    embedder.seen.clear()
    changed = SECTIONS | {"Keys": SECTIONS["Keys"].replace("back", "front")}
    mirrored = await file.read(text_of(changed))
    assert (mirrored.changed, mirrored.unchanged, file.ids()) == (1, 2, ids)
    after = (await memories(alpha))[ids[1]]
    assert "front door" in str(after["text"])
    for name in ("priority", "created_at", "expires_at", "memory_type"):
        assert after[name] == before[name], name
    assert len(embedder.seen) == 1


async def test_of_a_long_section_only_the_chunks_that_changed_are_embedded(
    file: File, embedder: WordEmbedder, alpha: httpx.AsyncClient
) -> None:
    paragraphs = [" ".join(f"word{number}x{each}" for each in range(120)) + "." for number in range(25)]
    await file.read("# Long\n\n" + "\n\n".join(paragraphs))
    chunks = (await memories(alpha))[file.ids()[0]]["chunks"]
    assert isinstance(chunks, int)
    assert chunks >= 6
    embedder.seen.clear()
    paragraphs[-1] = paragraphs[-1].replace("word24x60", "other")
    await file.read("# Long\n\n" + "\n\n".join(paragraphs))
    assert 1 <= len(embedder.seen) <= 2
    whole = (await memories(alpha))[file.ids()[0]]
    assert "other" in str(whole["text"])
    assert whole["chunks"] == chunks


async def test_a_persons_correction_survives_changes_elsewhere_in_the_file(
    file: File, alpha: httpx.AsyncClient
) -> None:
    await file.read(text_of(SECTIONS))
    await alpha.patch(f"/api/v1/memories/{file.ids()[0]}", json={"text": "The heron was sold."})
    await file.read(
        text_of(
            SECTIONS
            | {
                "Garden": "Nothing grows there any more, and it was paved over last week by the neighbours, who wanted room for a second car and a shed for their bikes."
            }
        )
    )
    assert (await memories(alpha))[file.ids()[0]]["text"] == "The heron was sold."


async def test_what_was_deleted_does_not_come_back_with_the_file(
    file: File, alpha: httpx.AsyncClient
) -> None:
    await file.read(text_of(SECTIONS))
    gone = file.ids()[1]
    await alpha.delete(f"/api/v1/memories/{gone}")
    await file.read(text_of(SECTIONS))
    changed = SECTIONS | {"Keys": SECTIONS["Keys"].replace("back", "front")}
    await file.read(text_of(changed))
    file.filed = ()
    await file.read(text_of(SECTIONS))
    assert gone not in await memories(alpha)
    assert all("key" not in str(memory["text"]) for memory in (await memories(alpha)).values())


async def test_a_life_that_somebody_ended_is_not_begun_again_by_a_change_elsewhere(
    file: File, product: Product, alpha: httpx.AsyncClient, clock: Clock
) -> None:
    await file.read(text_of(SECTIONS))
    keys = file.ids()[1]
    await alpha.patch(f"/api/v1/memories/{keys}", json={"ttl_days": 1})
    clock.advance(days=2)
    await file.read(text_of(dict(reversed(SECTIONS.items()))))
    assert keys not in await memories(alpha)
    await archive(product, keys)
    await file.read(text_of(SECTIONS))
    assert keys not in await memories(alpha)
    assert len(await memories(alpha)) == 2


async def test_a_section_that_is_gone_leaves_and_comes_back_as_itself(
    file: File, alpha: httpx.AsyncClient
) -> None:
    await file.read(text_of(SECTIONS))
    keys = file.ids()[1]
    without = {title: body for title, body in SECTIONS.items() if title != "Keys"}
    assert (await file.read(text_of(without))).removed == 1
    assert keys not in await memories(alpha)
    archived = (await alpha.get(f"/api/v1/memories/{keys}")).json()
    assert (archived["archived"], archived["archive_reason"]) == (True, "source gone")
    await file.read(text_of(SECTIONS))
    assert keys in await memories(alpha)


async def test_a_section_that_moved_keeps_its_id_and_gets_its_new_place(
    file: File, alpha: httpx.AsyncClient, embedder: WordEmbedder
) -> None:
    await file.read(text_of(SECTIONS))
    by_title = dict(zip(SECTIONS, file.ids(), strict=True))
    embedder.seen.clear()
    await file.read(text_of(dict(reversed(SECTIONS.items()))))
    assert file.ids() == [by_title[title] for title in reversed(SECTIONS)]
    assert embedder.seen == []
    found = await memories(alpha)
    assert [found[each]["position"] for each in file.ids()] == [0, 1, 2]


async def test_the_head_of_a_file_is_honoured_and_followed(file: File, alpha: httpx.AsyncClient) -> None:
    head = "---\ntags: [boats, home]\ntype: preference\npriority: 90\nttl: 30\n---\n"
    await file.read(text_of(SECTIONS, head))
    first = (await memories(alpha))[file.ids()[0]]
    assert (first["tags"], first["memory_type"], first["priority"]) == (["boats", "home"], "preference", 90)
    assert first["expires_at"] is not None
    ids = file.ids()
    await file.read(text_of(SECTIONS, head.replace("90", "40")))
    assert file.ids() == ids
    assert {memory["priority"] for memory in (await memories(alpha)).values()} == {40}


async def test_a_daily_note_is_of_its_day(product: Product, alpha: httpx.AsyncClient) -> None:
    note = File(product, "memory/2026-03-02.md")
    await note.read(
        "# Today\n\nWe painted the boat shed and found the old anchor below the floor boards, which was a surprise to everybody who had looked for it."
    )
    memory = (await memories(alpha))[note.ids()[0]]
    assert str(memory["created_at"]).startswith("2026-03-02")
    assert memory["memory_type"] == "context"


async def test_while_the_embedder_is_away_the_file_is_stored_all_the_same(
    file: File, alpha: httpx.AsyncClient, embedder: WordEmbedder, product: Product
) -> None:
    embedder.down = True
    await file.read(text_of(SECTIONS))
    assert {memory["embedding_state"] for memory in (await memories(alpha)).values()} == {"pending"}
    embedder.down = False
    await product.noesis.vectors.look()
    await product.noesis.filling.fill(lambda _done, _total: None)
    assert {memory["embedding_state"] for memory in (await memories(alpha)).values()} == {"ready"}


async def test_secrets_in_a_file_are_not_stored_and_are_counted(
    file: File, product: Product, alpha: httpx.AsyncClient
) -> None:
    await file.read(
        "# Access\n\nThe token of the build server is ghp_EXAMPLEexampleEXAMPLEexample1234 and it is valid until May, they say, when somebody has to make a new one for all the jobs."
    )
    memory = (await memories(alpha))[file.ids()[0]]
    assert "ghp_" not in str(memory["text"])
    assert "<redacted:" in str(memory["text"])
    assert sum((await product.noesis.redacting.totals("alpha")).values()) == 1


async def test_a_file_of_one_endless_paragraph_is_kept_whole(file: File, alpha: httpx.AsyncClient) -> None:
    text = " ".join(f"word{number}" for number in range(70_000))
    assert len(text) > MAX_TEXT_CHARS
    mirrored = await file.read(text)
    assert mirrored.left_out == 0
    found = await memories(alpha)
    assert len(found) == len(file.ids()) > 1
    held = [word for each in file.ids() for word in str(found[each]["text"]).split()]
    assert held == text.split()


async def test_the_memories_of_a_renamed_file_name_it(file: File, alpha: httpx.AsyncClient) -> None:
    await file.read(text_of(SECTIONS))
    await file.mirror.rename(file.ids(), "workspace/NOTES.md")
    assert {memory["source"] for memory in (await memories(alpha)).values()} == {"workspace/NOTES.md"}
    found = (await alpha.post("/api/v1/search", json={"query": "notes", "mode": "keyword"})).json()
    assert len(found["hits"]) == 3
