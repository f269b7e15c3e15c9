"""The pages of sources: how far memory is behind its files, in words, and what a person does about it."""

from __future__ import annotations

import os
import re
from pathlib import Path

import httpx
import pytest

from noesis.ledger import Job, JobFilter
from noesis.memory import Role, Scope
from noesis.runtime import Noesis
from tests.support import Clock

ADMIN = Scope(agent=None, role=Role.ADMIN)
NOTE = (
    "# About the {0}\n\nThe {0} lies where it was left last autumn, behind the long shed by the water, and somebody"
    " has to look after the {0} before the first storm of the winter comes.\n"
)


def quiet(_done: int, _total: int | None) -> None:
    """Progress that nobody follows."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with two notes."""
    folder = tmp_path / "notes"
    folder.mkdir()
    for name in ("ladder", "boat"):
        (folder / f"{name}.md").write_text(NOTE.format(name), encoding="utf-8")
    return folder


async def follow(noesis: Noesis, folder: Path, **options: str) -> str:
    """Follow a folder for the agent `planner`; gives its key."""
    return (await noesis.inflow.following.add("planner", str(folder), **options)).key  # type: ignore[arg-type]


async def scan(noesis: Noesis, key: str, *, confirmed: bool = False) -> None:
    """Look at a place as the worker does."""
    await noesis.inflow.scanning.scan(key, quiet, lambda: False, confirmed=confirmed)


async def scans(noesis: Noesis) -> list[Job]:
    """The scans that were asked for."""
    return list((await noesis.jobs.ledger.page(JobFilter(names=("scan_source",)), limit=50)).jobs)


async def shown(admin: httpx.AsyncClient, address: str = "/sources") -> str:
    """A page without its tags, blanks run together."""
    page = (await admin.get(address)).text
    main = page.split("<main", 1)[1].split("</main>")[0]
    return " ".join(re.sub(r"<[^>]+>", " ", main).split()).replace(" .", ".")


async def test_the_empty_page_says_how_to_begin(admin: httpx.AsyncClient) -> None:
    page = await shown(admin)
    assert "No place is followed yet" in page
    assert "~/.openclaw" in page
    assert "Add a folder" in page
    assert "Changes are not noticed. No worker has watched yet." in page


async def test_a_folder_is_added_and_becomes_clean(
    admin: httpx.AsyncClient, noesis: Noesis, folder: Path
) -> None:
    fields = {"agent": "Planner", "path": f" {folder} ", "label": "", "kind": "markdown", "vanished": "keep"}
    answer = await admin.post("/sources/new", data=fields)
    assert (answer.status_code, answer.headers["location"]) == (303, "/sources?said=followed")
    (root,) = await noesis.inflow.roots.all()
    assert (root.agent, root.path, root.label, root.vanished) == ("planner", str(folder), "notes", "keep")
    (job,) = await scans(noesis)
    assert (job.key, job.args) == (f"scan:{root.key}", {"root": root.key})
    entry = (await noesis.audit.newest(1))[0]
    assert (entry.action, entry.target) == ("source added", root.key)

    page = await shown(admin, answer.headers["location"])
    assert "its files are being read" in page
    assert "notes planner · notes not read yet 2 0 2 0 0 never" in page
    await scan(noesis, root.key)
    page = await shown(admin)
    assert "notes planner · notes clean 2 2 0 0 0 just now" in page
    assert "2 of 2 files in memory as they are." in page
    assert str(folder) in page


async def test_a_folder_that_is_followed_is_not_added_again(
    admin: httpx.AsyncClient, noesis: Noesis, folder: Path
) -> None:
    await follow(noesis, folder)
    fields = {"agent": "planner", "path": str(folder), "kind": "markdown", "vanished": "archive"}
    answer = await admin.post("/sources/new", data=fields)
    assert answer.headers["location"] == "/sources?said=followed-already"
    assert await noesis.audit.newest(10) == []
    assert await scans(noesis) == []


async def test_a_mistake_is_named_at_its_field_and_everything_typed_is_kept(
    admin: httpx.AsyncClient, noesis: Noesis, folder: Path
) -> None:
    good = {
        "agent": "planner",
        "path": str(folder),
        "label": "typed <before>",
        "kind": "markdown",
        "vanished": "delete",
    }
    mistakes = [
        ("path", "notes", "must be absolute"),
        ("path", str(folder / "nowhere"), "no folder that the server can see"),
        ("path", str(noesis.settings.data_dir), "own data"),
        ("path", "", "must be absolute"),
        ("agent", "no one", "An agent&#39;s name has"),
        ("label", "x" * 65, "at most 64 characters"),
        ("kind", "database", "Choose what the folder holds"),
        ("vanished", "burn", "Choose what becomes"),
    ]
    for field, value, message in mistakes:
        answer = await admin.post("/sources/new", data=good | {field: value})
        assert answer.status_code == 400, field
        assert message in answer.text
        assert f'aria-describedby="{field}-mistake"' in answer.text
        assert ("typed &lt;before&gt;" in answer.text) == (field != "label")
        assert (str(folder) in answer.text) or field == "path"
        assert ('value="delete" selected' in answer.text) == (field != "vanished")
    assert await noesis.inflow.roots.all() == []


async def test_a_place_that_is_behind_says_since_when(
    admin: httpx.AsyncClient, noesis: Noesis, folder: Path, clock: Clock
) -> None:
    key = await follow(noesis, folder)
    await scan(noesis, key)
    (folder / "ladder.md").write_text(NOTE.format("heron"), encoding="utf-8")
    changed = clock.now / 1000 - 3 * 3600
    os.utime(folder / "ladder.md", (changed, changed))
    assert "behind since 3 hours ago 2 1 1 0 0" in await shown(admin)
    (folder / "ladder.md").write_text(NOTE.format("ladder"), encoding="utf-8")
    await scan(noesis, key)
    (folder / "boat.md").unlink()
    assert "1 file gone Not looked at yet. 1 1 0 0 0" in await shown(admin)


async def test_files_that_cannot_be_read_are_listed_with_reasons(
    admin: httpx.AsyncClient, noesis: Noesis, folder: Path
) -> None:
    (folder / "elsewhere.md").symlink_to("/etc/hostname")
    (folder / "<b>bold.md").symlink_to("/etc/hostname")
    key = await follow(noesis, folder)
    await scan(noesis, key)
    page = (await admin.get("/sources")).text
    assert "2 cannot be read" in page
    assert "elsewhere.md" in page
    assert "a symbolic link, which is not followed" in page
    assert "&lt;b&gt;bold.md" in page
    assert "<b>bold.md" not in page


async def test_a_name_that_is_no_text_does_not_break_the_page(
    admin: httpx.AsyncClient, noesis: Noesis, folder: Path
) -> None:
    (folder / os.fsdecode(b"\xff\xfe.md")).write_text(NOTE.format("name"), encoding="utf-8")
    key = await follow(noesis, folder)
    await scan(noesis, key)
    assert (await admin.get("/sources")).status_code == 200


async def test_a_place_that_went_away_says_so(admin: httpx.AsyncClient, noesis: Noesis, folder: Path) -> None:
    key = await follow(noesis, folder)
    await scan(noesis, key)
    folder.rename(folder.with_name("moved"))
    assert "cannot be reached Nothing of it was removed. – – – – –" in await shown(admin)
    await scan(noesis, key)
    assert "is not there. Nothing of it was removed." in await shown(admin)


@pytest.fixture
async def held(noesis: Noesis, folder: Path) -> str:
    """A place from which 25 files vanished at once."""
    for number in range(25):
        (folder / f"{number}.md").write_text(NOTE.format(f"oar {number}"), encoding="utf-8")
    key = await follow(noesis, folder)
    await scan(noesis, key)
    for number in range(25):
        (folder / f"{number}.md").unlink()
    await scan(noesis, key)
    return key


async def test_vanished_files_are_asked_about(admin: httpx.AsyncClient, noesis: Noesis, held: str) -> None:
    page = await admin.get("/sources")
    assert "25 files vanished at once" in page.text
    assert f'href="/sources/{held}/gone"' in page.text
    asked = await shown(admin, f"/sources/{held}/gone")
    assert "25 files vanished from there at once" in asked
    assert "go to the archive" in asked
    assert await scans(noesis) == []


async def test_vanished_files_may_be_meant_to_be_gone(
    admin: httpx.AsyncClient, noesis: Noesis, held: str
) -> None:
    answer = await admin.post(f"/sources/{held}/gone", data={"answer": "gone"})
    assert answer.headers["location"] == "/sources?said=gone-confirmed"
    (job,) = await scans(noesis)
    assert (job.key, job.args) == (f"scan:{held}:confirmed", {"root": held, "confirmed": True})
    assert (await noesis.audit.newest(1))[0].action == "vanished files confirmed"
    await scan(noesis, held, confirmed=True)
    assert "clean 2 2 0 0 0" in await shown(admin)
    for answer in (
        await admin.get(f"/sources/{held}/gone"),
        await admin.post(f"/sources/{held}/gone", data={"answer": "gone"}),
    ):
        assert answer.headers["location"] == "/sources?said=none-held"
    assert len(await scans(noesis)) == 1


async def test_anything_but_a_clear_yes_keeps_waiting(
    admin: httpx.AsyncClient, noesis: Noesis, held: str
) -> None:
    for said in ({"answer": "wait"}, {"answer": "Gone"}, {}):
        answer = await admin.post(f"/sources/{held}/gone", data={"x": "", **said})
        assert answer.headers["location"] == "/sources?said=kept-waiting"
    (job,) = await scans(noesis)
    assert job.args == {"root": held}
    assert await noesis.audit.newest(10) == []


async def test_what_becomes_of_vanished_files_can_be_changed(
    admin: httpx.AsyncClient, noesis: Noesis, folder: Path
) -> None:
    key = await follow(noesis, folder)
    answer = await admin.post(f"/sources/{key}/vanished", data={"vanished": "delete"})
    assert answer.headers["location"] == "/sources?said=edited"
    assert (await noesis.inflow.roots.get(key)).vanished == "delete"
    assert 'value="delete" selected' in (await admin.get("/sources")).text
    same = await admin.post(f"/sources/{key}/vanished", data={"vanished": "delete"})
    assert same.headers["location"] == "/sources?said=unchanged"
    assert (await admin.post(f"/sources/{key}/vanished", data={"vanished": "burn"})).status_code == 400
    assert [entry.action for entry in await noesis.audit.newest(10)] == ["source changed"]


async def test_transcripts_offer_no_choice(admin: httpx.AsyncClient, noesis: Noesis, folder: Path) -> None:
    key = await follow(noesis, folder, kind="transcripts")
    page = (await admin.get("/sources")).text
    assert "When a file is gone, its memories stay" in page
    assert "<select" not in page
    assert 'name="archive"' not in (await admin.get(f"/sources/{key}/forget")).text


async def test_looking_now_queues_one_scan(admin: httpx.AsyncClient, noesis: Noesis, folder: Path) -> None:
    key = await follow(noesis, folder)
    for _ in range(2):
        answer = await admin.post(f"/sources/{key}/scan")
        assert answer.headers["location"] == "/sources?said=looking"
    assert len(await scans(noesis)) == 1


@pytest.mark.parametrize("archive", [True, False])
async def test_stopping_asks_first_and_may_archive(
    admin: httpx.AsyncClient, noesis: Noesis, folder: Path, archive: bool
) -> None:
    key = await follow(noesis, folder)
    await scan(noesis, key)
    asked = (await admin.get(f"/sources/{key}/forget")).text
    assert "Stop following this place?" in asked
    assert 'name="archive"' in asked
    assert len(await noesis.inflow.roots.all()) == 1

    answer = await admin.post(
        f"/sources/{key}/forget", data={"archive": "yes"} if archive else {"unused": ""}
    )
    said = "forgotten-archived" if archive else "forgotten"
    assert answer.headers["location"] == f"/sources?said={said}"
    assert await noesis.inflow.roots.all() == []
    assert (await noesis.audit.newest(1))[0].action == "source forgotten"
    stats = await noesis.statistics.stats(ADMIN)
    assert (stats.active.memories, stats.archive.memories) == ((0, 2) if archive else (2, 0))


async def test_an_unknown_place_is_a_404_page(admin: httpx.AsyncClient) -> None:
    for path in ("gone", "forget"):
        assert (await admin.get(f"/sources/{'0' * 32}/{path}")).status_code == 404
    for path, fields in (
        ("scan", {}),
        ("vanished", {"vanished": "keep"}),
        ("gone", {"answer": "gone"}),
        ("forget", {"archive": "yes"}),
    ):
        answer = await admin.post(f"/sources/{'0' * 32}/{path}", data=fields)
        assert answer.status_code == 404
        assert "Nothing here" in answer.text


async def test_another_site_cannot_act(admin: httpx.AsyncClient, noesis: Noesis, folder: Path) -> None:
    key = await follow(noesis, folder)
    admin.headers["sec-fetch-site"] = "cross-site"
    for path in ("new", f"{key}/scan", f"{key}/forget", f"{key}/vanished", f"{key}/gone"):
        assert (await admin.post(f"/sources/{path}", data={"vanished": "delete"})).status_code == 403
    assert [(root.key, root.vanished) for root in await noesis.inflow.roots.all()] == [(key, "archive")]
    assert await scans(noesis) == []


async def test_the_watcher_tells_how_it_works(admin: httpx.AsyncClient, noesis: Noesis, clock: Clock) -> None:
    await noesis.inflow.signs.write("events", None)
    assert "Changes are noticed as they happen. Last sign of life just now." in await shown(admin)
    await noesis.inflow.signs.write("polling", "the system has no file events.")
    assert "by looking again and again: the system has no file events." in await shown(admin)
    clock.advance(seconds=600)
    page = await shown(admin)
    assert "Changes are not noticed. The worker that watched gives no sign of life." in page
    assert "Last sign of life 10 minutes ago." in page


class TestUnwatched:
    """OpenClaw's places are shown also when the settings say not to follow them."""

    @pytest.fixture
    def environ(self) -> dict[str, str]:
        return {"NOESIS_WATCH_MEMORY_DIRS": "0"}

    async def test_they_say_which_setting_is_off(
        self, admin: httpx.AsyncClient, noesis: Noesis, tmp_path: Path
    ) -> None:
        memory = tmp_path.with_name(f"{tmp_path.name}-home") / ".openclaw" / "workspace" / "memory"
        memory.mkdir(parents=True)
        (memory / "2026-05-28.md").write_text(NOTE.format("heron"), encoding="utf-8")
        page = await shown(admin)
        assert "not followed NOESIS_WATCH_MEMORY_DIRS is off. 1 0 1" in page
