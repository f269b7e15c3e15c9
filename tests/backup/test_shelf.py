"""The list of backups, what is kept of them, and what a failure leaves."""

from __future__ import annotations

import errno
from datetime import UTC, datetime, time
from pathlib import Path

import pytest

from noesis.backup.encryption import new_key
from noesis.backup.health import BackupHealth
from noesis.backup.keeping import KeepRules, to_remove
from noesis.backup.sealed import SealedWriter
from noesis.backup.shelf import Shelf, is_name
from noesis.backup.values import Backup
from noesis.errors import BackupRefused, Cancelled, NotFound, SettingsError, StoreBusy, StoreFull
from noesis.settings import load
from noesis.store.locks import FileLock
from tests.backup.machine import machine, names

DAY = 86_400_000
MONDAY = int(datetime(2026, 6, 1, 3, tzinfo=UTC).timestamp() * 1000)


def daily(count: int, **values: object) -> list[Backup]:
    """One verified backup a day, the first of 2026-06-01, a Monday."""
    at = [MONDAY + day * DAY for day in range(count)]
    return [
        Backup(name=f"{number}", created_at=ms, size=1, verified_at=ms, **values)  # type: ignore[arg-type]
        for number, ms in enumerate(at)
    ]


def kept(backups: list[Backup], last: int, days: int = 0, weeks: int = 0, months: int = 0) -> list[int]:
    rules = KeepRules(last=last, daily=days, weekly=weeks, monthly=months)
    gone = {backup.name for backup in to_remove(backups, rules)}
    return [int(backup.name) for backup in backups if backup.name not in gone]


def test_the_last_ones_are_kept() -> None:
    assert kept(daily(10), 3) == [7, 8, 9]


def test_of_each_week_and_month_its_newest_backup_is_kept() -> None:
    assert kept(daily(30), 1, weeks=3) == [20, 27, 29]
    assert kept(daily(40), 1, months=2) == [29, 39]
    assert kept(daily(10), 1, days=4) == [6, 7, 8, 9]


def test_the_newest_verified_one_stays_whatever_the_rules_say() -> None:
    backups = daily(3)
    unverified = Backup(name="9", created_at=MONDAY + 9 * DAY, size=1)
    assert kept([*backups, unverified], 0) == [2, 9]


def test_what_somebody_put_there_is_not_taken_away() -> None:
    assert kept(daily(4, kind="uploaded"), 1) == [0, 1, 2, 3]


def test_order_is_by_the_time_noted_not_by_the_name(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path)
    for name, at in (("z.tar.gz", 1), ("a.tar.gz", 2)):
        (tmp_path / name).write_bytes(b"x")
        shelf.note(Backup(name=name, created_at=at, size=1))
    assert [backup.name for backup in shelf.list()] == ["a.tar.gz", "z.tar.gz"]


@pytest.mark.parametrize(
    "name",
    [
        "../x.tar.gz",
        "a/b.tar.gz",
        ".x.tar.gz",
        "x.tar",
        "x.tar.gz.partial",
        "é.tar.gz",
        "",
        "a" * 200 + ".tar.gz",
    ],
)
def test_a_name_leads_nowhere_else(name: str, tmp_path: Path) -> None:
    assert not is_name(name)
    with pytest.raises(NotFound):
        Shelf(tmp_path / "backups").path(name)


def test_a_link_in_the_directory_is_no_backup(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("x")
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "x.tar.gz").symlink_to(tmp_path / "secret")
    with pytest.raises(NotFound):
        Shelf(tmp_path / "b").path("x.tar.gz")


@pytest.mark.parametrize("value", ["3 o'clock", "25:00", ""])
def test_a_schedule_that_is_no_time_stops_the_start(value: str) -> None:
    if not value:
        assert load({"NOESIS_BACKUP_SCHEDULE": value}).backup_schedule == time(3)
        return
    with pytest.raises(SettingsError, match="NOESIS_BACKUP_SCHEDULE"):
        load({"NOESIS_BACKUP_SCHEDULE": value})


async def test_a_backup_that_fails_leaves_nothing_and_older_ones_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The disk is full in the middle, somebody cancels, another one is being made."""
    async with machine(tmp_path / "m") as here:
        await here.write(1)
        path = await here.backup()
        here.clock.advance(seconds=1)
        with monkeypatch.context() as patched:

            def full(self: SealedWriter, data: bytes) -> None:
                raise OSError(errno.ENOSPC, "No space left on device")

            patched.setattr(SealedWriter, "write", full)
            with pytest.raises(StoreFull):
                await here.backups.create()
        with pytest.raises(Cancelled):
            await here.backups.create(cancelled=lambda: True)
        async with FileLock(path.parent / ".lock").held(0):
            with pytest.raises(StoreBusy):
                await here.backups.create()
        assert sorted(each.name for each in path.parent.iterdir()) == [
            ".lock",
            path.name,
            f"{path.name}.json",
        ]
        await here.write(2)
        assert await here.texts() == names((1, 2))


async def test_progress_goes_up_to_its_total(tmp_path: Path) -> None:
    async with machine(tmp_path / "m") as here:
        await here.write(1)
        told: list[tuple[int, int]] = []
        await here.backups.create(tell=lambda done, total: told.append((done, total)))
        assert [done for done, _ in told] == sorted(done for done, _ in told)
        assert told[-1][0] == told[-1][1]


async def test_an_encrypted_backup_is_made_verified_drilled_and_restored_with_its_key(tmp_path: Path) -> None:
    key = tmp_path / "key"
    public = new_key(key)
    async with machine(tmp_path / "m", settings={"NOESIS_BACKUP_KEY_FILE": str(key)}) as here:
        await here.write(1)
        made = await here.backups.create()
        assert made.key == public
        path = here.backups.shelf.path(made.name)
        assert b"memory number" not in path.read_bytes()
        assert (await here.backups.drill()).proven_at is not None
        await here.write(2)
        await here.backups.restore(path, made_for="r")
        assert await here.texts() == names((1,))
        secret = key.read_text().splitlines()[-1].encode()
        held = [each for each in (tmp_path / "m").rglob("*") if each.is_file()]
        assert not [each for each in held if secret in each.read_bytes()]
    async with machine(tmp_path / "m") as here:
        with pytest.raises(BackupRefused, match="encrypted"):
            await here.backups.restore(path, made_for="s", safety_backup=False)
        assert not (await here.backups.verify(made.name)).ok


async def test_health_tells_of_the_last_proven_restore_and_of_backups_that_do_not_come(
    tmp_path: Path,
) -> None:
    async with machine(tmp_path / "m") as here:
        check = BackupHealth(here.backups, here.store, here.settings, here.clock).check
        assert (await check()).state == "ok"
        here.clock.advance(days=3)
        assert (await check()).state == "degraded"
        await here.write(1)
        await here.backups.create()
        part = await check()
        assert part.state == "ok"
        assert "None was restored" in part.summary
        await here.backups.drill()
        assert "The last proven restore was on 2026-05-31" in (await check()).summary
        for _ in range(22):
            here.clock.advance(days=1)
        await here.backups.create()
        part = await check()
        assert part.state == "degraded"
        assert "drill" in part.summary
