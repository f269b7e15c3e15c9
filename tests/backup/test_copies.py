"""Backups in a bucket: copied when they are verified, read back and compared, kept by rule, fetched on an empty machine."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import pytest

from noesis.backup.encryption import new_key
from noesis.backup.health import BackupHealth
from noesis.backup.values import Backup
from noesis.errors import BucketFailed, Conflict, InvalidInput, NotFound, SettingsError
from noesis.shown_settings import HIDDEN, shown_settings, without_secrets
from tests.backup.machine import Machine, machine, names
from tests.fakes.s3 import BUCKET, KEY_ID, REGION, SECRET, FakeS3, serving


@pytest.fixture
def server() -> Iterator[FakeS3]:
    with serving() as fake:
        yield fake


def settings_of(server: FakeS3, **more: str) -> dict[str, str]:
    values = {"BUCKET": BUCKET, "ENDPOINT": server.url, "REGION": REGION, "KEY_ID": KEY_ID, "SECRET": SECRET}
    return {f"NOESIS_BACKUP_S3_{name}": value for name, value in values.items()} | more


@asynccontextmanager
async def copying(directory: Path, server: FakeS3, **more: str) -> AsyncIterator[Machine]:
    async with machine(directory, settings=settings_of(server, **more)) as here:
        here.backups.copies.pauses_s = ()
        here.backups.copies.timeout_s = 2.0
        yield here


def held(server: FakeS3) -> set[str]:
    return {key.removeprefix("noesis/") for key in server.objects if not key.endswith(".json")}


async def health(here: Machine) -> tuple[str, str]:
    part = await BackupHealth(here.backups, here.store, here.settings, here.clock).check()
    return part.state, part.summary


async def test_a_backup_is_copied_and_found_in_both_places(tmp_path: Path, server: FakeS3) -> None:
    async with copying(tmp_path / "m", server) as here:
        await here.write(1)
        made = await here.backups.create()
        assert made.copy_error is None
        assert server.objects[f"noesis/{made.name}"] == here.backups.shelf.path(made.name).read_bytes()
        [listed] = await here.backups.everywhere()
        assert listed.places == ("here", f"s3://{BUCKET}/noesis/{made.name}")
        assert server.refused == []
        state, summary = await health(here)
        assert state == "ok"
        assert f"The newest in s3://{BUCKET}/noesis is of 2026-05-28" in summary
        asked = [each for each in server.seen if each.startswith("GET") and f"/{made.name}" in each]
        assert any(each.endswith(made.name) for each in asked), "it was never read back"


FAULTS = [
    ({"status": 403, "code": "InvalidAccessKeyId"}, "does not know this access key"),
    ({"status": 404, "code": "NoSuchBucket"}, "There is no bucket"),
    ({"status": 507, "only": "PUT"}, "no more room"),
    ({"status": 503, "code": "SlowDown"}, "overloaded"),
    ({"wrong": True}, "gave other bytes back"),
    ({"cut": 9}, "broke off"),
    ({"stall_s": 9.0}, "too slow"),
]


@pytest.mark.parametrize(("faults", "words"), FAULTS)
async def test_a_failure_is_told_keeps_the_backup_and_the_next_one_takes_it_along(
    faults: dict[str, object], words: str, tmp_path: Path, server: FakeS3
) -> None:
    async with copying(tmp_path / "m", server) as here:
        here.backups.copies.timeout_s = 0.5
        await here.write(1)
        for name, value in faults.items():
            setattr(server.faults, name, value)
        made = await here.backups.create()
        assert made.copy_error is not None
        assert words in made.copy_error
        assert (await here.backups.verify(made.name)).ok
        assert [each.places for each in await here.backups.everywhere()] == [("here",)]
        state, summary = await health(here)
        assert state == "degraded"
        assert words in summary
        assert SECRET not in summary
        server.faults.__init__()  # type: ignore[misc]
        here.clock.advance(seconds=60)
        second = await here.backups.create()
        assert second.copy_error is None
        assert held(server) == {made.name, second.name}
        assert (await health(here))[0] == "ok"


async def test_wrong_bytes_are_not_left_as_a_copy(tmp_path: Path, server: FakeS3) -> None:
    async with copying(tmp_path / "m", server) as here:
        await here.write(1)
        server.faults.wrong = True
        await here.backups.create()
        assert server.objects == {}
        server.faults.wrong = False
        assert await here.backups.copies.held() == []


async def test_what_rotted_here_since_it_was_verified_is_not_copied(tmp_path: Path, server: FakeS3) -> None:
    async with machine(tmp_path / "m") as here:
        await here.write(1)
        path = await here.backup()
        content = bytearray(path.read_bytes())
        content[700] ^= 1
        path.write_bytes(content)
    async with copying(tmp_path / "m", server) as here:
        error = await here.backups.copy()
        assert error is not None
        assert "changed on the disk here" in error
        assert server.objects == {}


async def test_the_rules_hold_in_the_bucket_too_and_touch_nothing_of_others(
    tmp_path: Path, server: FakeS3
) -> None:
    rules = {f"NOESIS_BACKUP_KEEP_{name}": "0" for name in ("DAILY", "WEEKLY", "MONTHLY")}
    foreign = Backup(name="other.tar.gz", created_at=1, size=1, verified_at=1, instance="another")
    server.objects |= {
        "noesis/other.tar.gz": b"x",
        "noesis/other.tar.gz.json": msgspec.json.encode(foreign),
        "noesis/photo.jpg": b"x",
    }
    async with copying(tmp_path / "m", server, NOESIS_BACKUP_KEEP_LAST="2", **rules) as here:
        await here.write(1)
        made = []
        for _ in range(4):
            made.append((await here.backups.create()).name)
            here.clock.advance(days=1)
        assert held(server) == {*made[2:], "other.tar.gz", "photo.jpg"}
        assert {each.backup.name for each in await here.backups.everywhere()} == {*made[2:], "other.tar.gz"}
        # With all that is here gone, the newest ones there stay.
        for name in made[2:]:
            here.backups.shelf.remove(name)
        assert await here.backups.copy() is None
        assert held(server) >= set(made[2:])


async def test_a_backup_that_the_rules_of_the_bucket_would_drop_is_not_sent_again(
    tmp_path: Path, server: FakeS3
) -> None:
    async with copying(tmp_path / "m", server) as here:
        await here.write(1)
        await here.backups.create()
        server.seen.clear()
        assert await here.backups.copy() is None
        assert not [each for each in server.seen if each.startswith(("PUT", "POST", "DELETE"))]


async def test_two_instances_in_one_folder_do_not_overwrite_each_other(
    tmp_path: Path, server: FakeS3
) -> None:
    async with copying(tmp_path / "a", server) as here:
        await here.write(1)
        name = (await here.backups.create()).name
        content = server.objects[f"noesis/{name}"]
    async with copying(tmp_path / "b", server) as here:
        await here.write(2)
        made = await here.backups.create()
        assert made.name == name
        assert "Another instance" in (made.copy_error or "")
        assert [each.places for each in await here.backups.everywhere()] == [("here",)]
        assert server.objects[f"noesis/{name}"] == content


async def test_an_empty_machine_fetches_and_restores(tmp_path: Path, server: FakeS3) -> None:
    async with copying(tmp_path / "old", server) as here:
        await here.write(1, 2)
        name = (await here.backups.create()).name
    async with copying(tmp_path / "new", server) as here:
        assert [each.name for each in await here.backups.copies.held()] == [name]
        told: list[tuple[int, int]] = []
        fetched = await here.backups.fetch(
            f"s3://{BUCKET}/noesis/{name}", lambda done, total: told.append((done, total))
        )
        assert told[-1] == (fetched.size, fetched.size)
        await here.backups.restore(here.backups.shelf.path(name), made_for="r")
        assert await here.texts() == names((1, 2))
        assert (await here.backups.fetch(name)).name == name


async def test_what_changed_in_the_bucket_is_not_fetched(tmp_path: Path, server: FakeS3) -> None:
    async with copying(tmp_path / "m", server) as here:
        await here.write(1)
        name = (await here.backups.create()).name
        here.backups.shelf.remove(name)
        server.faults.wrong = True
        with pytest.raises(BucketFailed, match="SHA-256"):
            await here.backups.fetch(name)
        # Without its note, the archive itself tells.
        del server.objects[f"noesis/{name}.json"]
        with pytest.raises(InvalidInput):
            await here.backups.fetch(name)
        for wrong in ("none.tar.gz", "../x.tar.gz", "x"):
            with pytest.raises(NotFound):
                await here.backups.fetch(wrong)
        assert await here.backups.list() == []


async def test_without_a_bucket_nothing_is_asked_and_nothing_fetched(tmp_path: Path) -> None:
    async with machine(tmp_path / "m") as here:
        await here.write(1)
        assert (await here.backups.create()).copy_error is None
        with pytest.raises(Conflict, match="NOESIS_BACKUP_S3_BUCKET"):
            await here.backups.fetch("a.tar.gz")


async def test_a_bucket_without_a_key_stops_the_start(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="NOESIS_BACKUP_S3_KEY_ID"):
        async with machine(tmp_path / "m", settings={"NOESIS_BACKUP_S3_BUCKET": BUCKET}):
            raise AssertionError("it started")


async def test_an_encrypted_backup_is_encrypted_in_the_bucket_too(tmp_path: Path, server: FakeS3) -> None:
    new_key(tmp_path / "key")
    async with copying(tmp_path / "m", server, NOESIS_BACKUP_KEY_FILE=str(tmp_path / "key")) as here:
        await here.write(1)
        name = (await here.backups.create()).name
        assert name.endswith(".age")
        assert server.objects[f"noesis/{name}"].startswith(b"age-encryption.org/v1")


async def test_the_secret_is_shown_nowhere_and_travels_nowhere(tmp_path: Path, server: FakeS3) -> None:
    async with copying(tmp_path / "m", server) as here:
        await here.write(1)
        await here.backups.create()
        shown = {each.name: each.value for each in shown_settings(here.settings)}
        assert shown["NOESIS_BACKUP_S3_SECRET"] == shown["NOESIS_BACKUP_S3_KEY_ID"] == HIDDEN
        assert SECRET not in without_secrets(f"it is {SECRET}", here.settings)
        assert not [each for each in server.seen if SECRET in each]
        assert SECRET.encode() not in b"".join(server.objects.values())
        await asyncio.to_thread(here.control.close)
        for path in (tmp_path / "m").rglob("*"):
            assert not path.is_file() or SECRET.encode() not in path.read_bytes()
