"""The pages of backups: what is told, made, fetched, brought in, restored and undone."""

from __future__ import annotations

import html
import re
from collections.abc import AsyncIterator

import httpx
import msgspec
import pytest

from noesis.bucket.place import place_of
from noesis.errors import StoreError
from noesis.memory import MemoryFilter, Role, Scope
from noesis.runtime import Noesis
from noesis.worker.handlers import Handler, JobContext
from noesis.worker.tasks import HANDLERS
from tests.dashboard.conftest import remember
from tests.fakes.s3 import BUCKET, KEY_ID, REGION, SECRET, serving
from tests.support import Clock, Product

ADMIN = Scope(agent=None, role=Role.ADMIN)


async def shown(admin: httpx.AsyncClient, address: str = "/backups") -> str:
    """A page without its tags, blanks run together."""
    main = (await admin.get(address)).text.split("<main", 1)[1].split("</main>")[0]
    return " ".join(re.sub(r"<[^>]+>", " ", main).split())


async def do(noesis: Noesis, name: str) -> None:
    """Carry out the waiting job of this name, as a worker does."""
    handler: Handler = HANDLERS[name]
    job = await noesis.jobs.ledger.claim({name: 1}, noesis.now_ms())
    assert job is not None
    result = await handler.run(JobContext(noesis, job), **job.args)
    await noesis.jobs.ledger.finish(job, result, noesis.now_ms())


async def looked_at(admin: httpx.AsyncClient, noesis: Noesis, address: str) -> str:
    """The address of a page about a backup once the look that it begins with has ended."""
    answer = await admin.get(address)
    assert answer.status_code == 303
    page = await admin.get(answer.headers["location"])
    assert "Looking at this backup" in page.text
    assert f'hx-get="{html.escape(answer.headers["location"])}"' in page.text
    await do(noesis, "preview")
    return str(answer.headers["location"])


async def texts(noesis: Noesis) -> set[str]:
    return {memory.text for memory in (await noesis.browsing.page(ADMIN, MemoryFilter())).memories}


async def test_the_empty_page_says_how_to_begin(admin: httpx.AsyncClient) -> None:
    page = await shown(admin)
    assert "There is no backup yet." in page
    assert "The next one is made in" in page
    assert "They are off." in page
    assert "NOESIS_GIT_LFS_ENABLED=true" in page


async def test_a_backup_is_made_listed_verified_and_proven(
    admin: httpx.AsyncClient, noesis: Noesis, clock: Clock
) -> None:
    await remember(noesis, "The heron comes in the morning.")
    answer = await admin.post("/backups/make")
    assert (answer.status_code, answer.headers["location"]) == (303, "/backups?said=backup-started")
    assert "Under way Make a backup" in await shown(admin)
    await do(noesis, "backup")
    (backup,) = await noesis.backups.list()
    clock.advance(days=1)
    assert "1 day ago made by hand" in (page := await shown(admin))
    assert "The only one: verified." in page
    answer = await admin.post(f"/backups/{backup.name}/verify")
    assert answer.headers["location"] == "/backups?said=verify-started"
    await do(noesis, "verify")
    await admin.post("/backups/prove")
    await do(noesis, "drill")
    page = await shown(admin)
    assert "verified just now restored in a drill just now" in page
    assert "The last proven restore was just now" in page
    assert [entry.action for entry in await noesis.audit.newest(2)] == ["drill started", "backup started"]


async def test_what_failed_is_told_with_its_reason(
    admin: httpx.AsyncClient, noesis: Noesis, clock: Clock
) -> None:
    backup = await noesis.backups.create()
    clock.advance(seconds=60)
    job = await noesis.jobs.enqueue("backup")
    await noesis.jobs.ledger.claim({"backup": 1}, clock())
    await noesis.jobs.ledger.fail(
        await noesis.jobs.get(job.id), StoreError("There is no room left.").message, clock()
    )
    path = noesis.backups.shelf.path(backup.name)
    path.write_bytes(path.read_bytes()[:-40] + b"\0" * 40)
    await admin.post(f"/backups/{backup.name}/verify")
    await do(noesis, "verify")
    page = await shown(admin)
    assert "There is no room left." in page
    assert "The last 2, oldest first: 2 failed." in page
    assert "damaged" in page
    assert 'class="tick-bad"' in (await admin.get("/backups")).text


async def test_an_archive_is_fetched_and_brought_in_again(admin: httpx.AsyncClient, noesis: Noesis) -> None:
    await remember(noesis, "The heron comes in the morning.")
    backup = await noesis.backups.create()
    answer = await admin.get(f"/backups/{backup.name}/download")
    assert answer.content == noesis.backups.shelf.path(backup.name).read_bytes()
    assert f'filename="{backup.name}"' in answer.headers["content-disposition"]
    sent = await admin.post("/backups/upload", files={"file": (f"C:\\old\\{backup.name}", answer.content)})
    assert sent.status_code == 409
    assert "There is a backup of this name already." in sent.text
    sent = await admin.post("/backups/upload", files={"file": ("other.tar.gz", answer.content)})
    assert (sent.status_code, sent.headers["location"]) == (303, "/backups?said=brought-in")
    assert {each.name: each.kind for each in await noesis.backups.list()}["other.tar.gz"] == "uploaded"


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ({"file": ("notes.txt", b"x")}, "A backup&#39;s name is"),
        ({"file": ("mine.tar.gz", b"no archive at all")}, "mistake"),
        ({"other": ("mine.tar.gz", b"x")}, "Choose a file."),
        ({"file": ("../../etc/x.tar.gz\0", b"x")}, "A backup&#39;s name is"),
    ],
)
async def test_what_is_no_backup_is_refused_and_leaves_nothing(
    admin: httpx.AsyncClient, noesis: Noesis, files: dict[str, tuple[str, bytes]], words: str
) -> None:
    answer = await admin.post("/backups/upload", files=files)
    assert 400 <= answer.status_code < 500
    assert words in answer.text
    assert await noesis.backups.list() == []


async def test_a_form_that_breaks_off_is_refused(admin: httpx.AsyncClient, noesis: Noesis) -> None:
    async def pieces() -> AsyncIterator[bytes]:
        yield b'--b\r\nContent-Disposition: form-data; name="file"; filename="a.tar.gz"\r\n\r\nstart'

    kind = {"content-type": "multipart/form-data; boundary=b"}
    answer = await admin.post("/backups/upload", content=pieces(), headers=kind)
    assert answer.status_code == 400
    assert "The file did not arrive whole." in answer.text
    assert await noesis.backups.list() == []
    assert (await admin.post("/backups/upload", data={"file": "x"})).status_code == 400


async def test_a_file_for_which_there_is_no_room_is_refused(
    admin: httpx.AsyncClient, noesis: Noesis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("noesis.dashboard.backups_page._room", lambda _: 1000)
    answer = await admin.post("/backups/upload", files={"file": ("a.tar.gz", b"x" * 1001)})
    assert answer.status_code == 413
    assert "There is no room for a file of this size" in answer.text
    assert await noesis.backups.list() == []


async def test_a_restore_is_shown_beforehand_and_done_once_the_name_is_typed(
    admin: httpx.AsyncClient, noesis: Noesis
) -> None:
    await noesis.tokens.create(Role.AGENT, ["planner"], "x")
    await remember(noesis, "The heron comes in the morning.")
    backup = await noesis.backups.create()
    await remember(noesis, "The boat lies in the shed.")
    address = f"/backups/{backup.name}/restore"
    page = await shown(admin, look := await looked_at(admin, noesis, address))
    assert "1 are lost they are here and not in the backup 1 stay the same" in page
    assert "As they are now stay:" in page
    assert "tokens" in page
    for typed in ("", "noesis", backup.name.upper()):
        kept = {"look": look.partition("look=")[2]}
        answer = await admin.post(address, data={"confirm": typed, "safety": "yes", **kept})
        assert answer.status_code == 400
        assert "are lost" in answer.text
        assert "This is not the backup&#39;s name." in answer.text
    answer = await admin.post(address, data={"confirm": backup.name, "safety": "yes"})
    assert (answer.status_code, answer.headers["location"]) == (303, "/backups?said=restore-started")
    again = await admin.post(address, data={"confirm": backup.name})
    assert again.status_code == 409
    assert "Another restore is under way" in again.text
    await do(noesis, "restore")
    assert await texts(noesis) == {"The heron comes in the morning."}
    assert {each.kind for each in await noesis.backups.list()} == {"manual", "safety"}


async def test_a_restore_is_undone_after_a_question(admin: httpx.AsyncClient, noesis: Noesis) -> None:
    await noesis.tokens.create(Role.AGENT, ["planner"], "x")
    backup = await noesis.backups.create()
    await remember(noesis, "The boat lies in the shed.")
    assert (await admin.get("/backups/undo")).status_code == 409
    assert (await admin.post("/backups/undo")).status_code == 409
    await admin.post(f"/backups/{backup.name}/restore", data={"confirm": backup.name})
    await do(noesis, "restore")
    assert await texts(noesis) == set()
    assert "A backup was restored just now" in await shown(admin)
    assert "Undo the last restore?" in await shown(admin, "/backups/undo")
    answer = await admin.post("/backups/undo")
    assert answer.headers["location"] == "/backups?said=undo-started"
    await do(noesis, "restore")
    assert await texts(noesis) == {"The boat lies in the shed."}


async def test_a_damaged_archive_is_told_of_instead_of_a_form(
    admin: httpx.AsyncClient, noesis: Noesis
) -> None:
    backup = await noesis.backups.create()
    noesis.backups.shelf.path(backup.name).write_bytes(b"nothing")
    answer = await admin.get(await looked_at(admin, noesis, f"/backups/{backup.name}/restore"))
    assert answer.status_code >= 400
    assert "Nothing was changed." in answer.text
    assert "Restore it" not in answer.text


async def test_names_that_are_none_lead_nowhere(admin: httpx.AsyncClient) -> None:
    for name in ("nothing.tar.gz", "..%2Fcontrol.sqlite", "control.sqlite"):
        for what in ("download", "restore"):
            assert (await admin.get(f"/backups/{name}/{what}")).status_code == 404
        assert (await admin.post(f"/backups/{name}/verify")).status_code == 404
        assert (await admin.post(f"/backups/{name}/restore", data={"confirm": name})).status_code == 404


async def test_only_who_is_logged_in_sees_and_does_anything(
    visitor: httpx.AsyncClient, product: Product, noesis: Noesis
) -> None:
    backup = await noesis.backups.create()
    agent = await product.agent("planner")
    for address in ("/backups", f"/backups/{backup.name}/download", f"/backups/{backup.name}/restore"):
        assert (await visitor.get(address)).headers["location"].startswith("/login")
        assert (await agent.get(address)).status_code == 401
    for address in ("/backups/make", "/backups/upload", "/backups/undo", f"/backups/{backup.name}/restore"):
        assert (await visitor.post(address)).headers["location"] == "/login"
    assert (await noesis.jobs.list()).jobs == []


async def test_a_form_of_another_site_is_refused(admin: httpx.AsyncClient, noesis: Noesis) -> None:
    answer = await admin.post("/backups/make", headers={"sec-fetch-site": "cross-site"})
    assert answer.status_code == 403
    assert (await noesis.jobs.list()).jobs == []


async def test_the_page_tells_where_a_copy_lies_why_it_does_not_and_fetches_it(
    admin: httpx.AsyncClient, noesis: Noesis
) -> None:
    with serving() as bucket:
        settings = msgspec.structs.replace(
            noesis.settings,
            backup_s3_bucket=BUCKET,
            backup_s3_endpoint=bucket.url,
            backup_s3_region=REGION,
            backup_s3_key_id=KEY_ID,
            backup_s3_secret=SECRET,
        )
        noesis.backups.copies.place = place_of(settings)
        noesis.backups.copies.pauses_s = ()
        await remember(noesis, "The heron comes in the morning.")
        bucket.faults.status, bucket.faults.code = 403, "SignatureDoesNotMatch"
        await admin.post("/backups/make")
        await do(noesis, "backup")
        page = await shown(admin)
        assert "Failing since just now" in page
        assert "NOESIS_BACKUP_S3_SECRET" in page
        assert SECRET not in (await admin.get("/backups")).text
        bucket.faults.status = 0
        assert await noesis.backups.copy() is None
        (backup,) = await noesis.backups.list()
        assert "copied to the bucket" in await shown(admin)
        noesis.backups.shelf.remove(backup.name)
        assert "only in the bucket" in (page := await shown(admin))
        assert "Restore…" not in page
        answer = await admin.post(f"/backups/{backup.name}/fetch")
        assert answer.headers["location"] == "/backups?said=fetch-started"
        await do(noesis, "fetch_backup")
        assert "copied to the bucket" in (page := await shown(admin))
        assert "Restore…" in page


async def test_a_look_that_is_old_or_anothers_is_made_anew(
    admin: httpx.AsyncClient, noesis: Noesis, clock: Clock
) -> None:
    backup = await noesis.backups.create()
    clock.advance(seconds=60)
    other = await noesis.backups.create()
    address = await looked_at(admin, noesis, f"/backups/{backup.name}/restore")
    assert (await admin.get(address)).status_code == 200
    assert (await admin.get(address.replace(backup.name, other.name))).status_code == 303
    clock.advance(seconds=900)
    assert (await admin.get(address)).status_code == 303
    assert (await admin.get(f"/backups/{backup.name}/restore?look=none")).status_code == 303
