"""An archive that is hostile, damaged, foreign, newer or encrypted to another key is refused, and nothing is touched."""

from __future__ import annotations

import hashlib
import io
import shutil
import tarfile
import zlib
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from noesis import __version__
from noesis.backup import tar
from noesis.backup.archive import CONTROL, MANIFEST, extract, write_archive
from noesis.backup.encryption import decrypt, encrypt, new_key
from noesis.backup.sealed import SealedReader, SealedWriter
from noesis.backup.values import FORMAT, Manifest
from noesis.errors import (
    BackupRefused,
    Cancelled,
    Conflict,
    NoesisError,
    SettingsError,
    StoreFull,
    StoreIncompatible,
)
from noesis.store.checksums import FileSum
from noesis.store.schema import SCHEMA_VERSION
from noesis.store.whole import TableSum
from tests.backup.machine import machine, names
from tests.store.rows import content

GENERATION = "store/generation.json"
DATA = "store/memories.lance/data/a.lance"


def summed(path: str, data: bytes) -> FileSum:
    return FileSum(path, len(data), hashlib.sha256(data).hexdigest())


def manifest(*files: tuple[str, bytes], **values: object) -> Manifest:
    listed = tuple(summed(path, data) for path, data in ((CONTROL, b"c"), (GENERATION, b"g"), *files))
    whole = Manifest(
        format=FORMAT,
        schema_version=SCHEMA_VERSION,
        product_version=__version__,
        instance="i",
        created_at=0,
        embedder=None,
        tables={"memories": TableSum(0, ""), "memories_archive": TableSum(0, "")},
        memories=0,
        files=listed,
    )
    return msgspec.structs.replace(whole, **values)


def sealed(path: Path, *pieces: bytes) -> Path:
    """An archive of these bytes with a seal that fits: an attacker can make that too."""
    with path.open("wb") as file:
        writer = SealedWriter(file)
        for piece in pieces:
            writer.write(piece)
        writer.finish()
    return path


def entry(name: str, data: bytes) -> bytes:
    return tar.header(name, len(data)) + data + tar.padding(len(data))


def special(name: str, kind: bytes, target: str = "", mode: int = 0o600) -> bytes:
    info = tarfile.TarInfo(name)
    info.type, info.linkname, info.mode = kind, target, mode
    return info.tobuf(tarfile.PAX_FORMAT)


def begun(listed: Manifest) -> bytes:
    return entry(MANIFEST, msgspec.json.encode(listed)) + entry(CONTROL, b"c") + entry(GENERATION, b"g")


def listing(path: str) -> bytes:
    return begun(manifest((path, b"x"))) + entry("x", b"x") + tar.END


WHOLE = begun(manifest((DATA, b"x")))
HOSTILE: dict[str, bytes] = {
    "a path that climbs out, listed": listing("../e"),
    "one that climbs out of a table": listing("store/memories.lance/../../e"),
    "an absolute path": listing("/abs"),
    "a name longer than a path may be": listing("store/memories.lance/" + "a/" * 3000 + "x"),
    "a backslash": listing("store/memories.lance/data\\..\\e"),
    "a file that no backup has": listing("store/memories.lance.py"),
    "a pickle": listing("store/evil.pickle"),
    "a hidden folder": listing("store/memories.lance/./x"),
    "the same file twice": begun(manifest((DATA, b"x"), (DATA, b"x"))),
    "two names that differ by case": begun(
        manifest((DATA, b"x"), (DATA.upper().replace("STORE/MEMORIES.LANCE", "store/memories.lance"), b"x"))
    ),
    "a path that climbs out, not listed": WHOLE + special("../e", tarfile.REGTYPE) + tar.END,
    "a link": WHOLE + special(DATA, tarfile.SYMTYPE, "/etc/passwd") + tar.END,
    "a hard link": WHOLE + special(DATA, tarfile.LNKTYPE, "/etc/passwd") + tar.END,
    "a device": WHOLE + special(DATA, tarfile.CHRTYPE) + tar.END,
    "a pipe": WHOLE + special(DATA, tarfile.FIFOTYPE) + tar.END,
    "a folder": WHOLE + special(DATA, tarfile.DIRTYPE) + tar.END,
    "a setuid file": WHOLE + special(DATA, tarfile.REGTYPE, mode=0o4755) + tar.END,
    "a long name in an extended header": WHOLE + special("a" * 300, tarfile.REGTYPE) + tar.END,
    "another file than the next": WHOLE + entry("store/memories.lance/data/b.lance", b"x") + tar.END,
    "another size": WHOLE + entry(DATA, b"xy") + tar.END,
    "other bytes": WHOLE + entry(DATA, b"y") + tar.END,
    "one file more": WHOLE + entry(DATA, b"x") + entry("store/memories.lance/data/b.lance", b"x") + tar.END,
    "one file less": WHOLE + tar.END,
    "no end": WHOLE + entry(DATA, b"x"),
    "something after the end": WHOLE + entry(DATA, b"x") + tar.END + b"more",
    "no manifest": entry(CONTROL, b"c") + tar.END,
    "a manifest that is a link": special(MANIFEST, tarfile.SYMTYPE, "/etc/passwd"),
    "a manifest that is no JSON": entry(MANIFEST, b"{") + tar.END,
    "a manifest of another form": entry(MANIFEST, b'{"format": 1}') + tar.END,
    "200,000 brackets": entry(MANIFEST, b"[" * 200_000) + tar.END,
    "no control database": entry(MANIFEST, msgspec.json.encode(manifest(files=()))) + tar.END,
    "a negative size": entry(
        MANIFEST, msgspec.json.encode(manifest(files=(*manifest().files, FileSum(DATA, -1, ""))))
    ),
    "nothing": b"",
    "not tar": b"x" * 5000,
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_hostile_archive_writes_nothing_but_listed_files_below_its_folder(
    kind: str, tmp_path: Path
) -> None:
    (tmp_path / "in").mkdir()
    path = sealed(tmp_path / "x.tar.gz", HOSTILE[kind])
    with pytest.raises(BackupRefused):
        extract(path, tmp_path / "in" / "folder", lambda _: None, lambda: False)
    assert sorted(each.name for each in tmp_path.iterdir()) == ["in", "x.tar.gz"]
    written = {
        each.relative_to(tmp_path / "in" / "folder").as_posix()
        for each in (tmp_path / "in" / "folder").rglob("*")
        if each.is_file()
    }
    assert written <= {CONTROL, GENERATION, DATA}
    assert not any(each.is_symlink() for each in (tmp_path / "in").rglob("*"))


def test_the_reader_takes_what_the_writer_writes(tmp_path: Path) -> None:
    """So that what the tests above refuse is refused for its one fault."""
    path = sealed(tmp_path / "x.tar.gz", WHOLE, entry(DATA, b"x"), tar.END)
    assert extract(path, tmp_path / "in", lambda _: None, lambda: False) == manifest((DATA, b"x"))
    assert (tmp_path / "in" / DATA).read_bytes() == b"x"
    assert (tmp_path / "in" / DATA).stat().st_mode & 0o777 in (0o644, 0o600)


def test_the_first_bad_entry_is_named(tmp_path: Path) -> None:
    path = sealed(tmp_path / "x.tar.gz", HOSTILE["a link"])
    with pytest.raises(BackupRefused, match=r"a link 'store/memories\.lance/data/a\.lance'"):
        extract(path, tmp_path / "in", lambda _: None, lambda: False)


def test_ten_gigabytes_of_zeros_are_refused_by_their_announcement(tmp_path: Path) -> None:
    huge = FileSum(DATA, 10 << 30, "0" * 64)
    listed = manifest(files=(*manifest().files, huge))
    path = sealed(tmp_path / "x.tar.gz", begun(listed), tar.header(DATA, 8 << 20), bytes(8 << 20))
    with pytest.raises(BackupRefused, match="no backup shrinks so far"):
        extract(path, tmp_path / "in", lambda _: None, lambda: False)
    assert not (tmp_path / "in").exists()


def test_a_million_files_are_refused_by_their_announcement(tmp_path: Path) -> None:
    many = tuple(FileSum(f"store/memories.lance/data/{number}", 0, "") for number in range(500_001))
    path = sealed(tmp_path / "x.tar.gz", entry(MANIFEST, msgspec.json.encode(manifest(files=many))))
    with pytest.raises(BackupRefused, match="more than 500,000"):
        extract(path, tmp_path / "in", lambda _: None, lambda: False)


def test_there_must_be_room_before_anything_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    full = type("Usage", (), {"free": 1000})
    monkeypatch.setattr(shutil, "disk_usage", lambda _: full)
    path = sealed(tmp_path / "x.tar.gz", WHOLE, entry(DATA, b"x"), tar.END)
    with pytest.raises(StoreFull, match="nothing was written"):
        extract(path, tmp_path / "in", lambda _: None, lambda: False)
    assert not (tmp_path / "in").exists()


@pytest.mark.parametrize("values", [{"format": FORMAT + 1}, {"schema_version": SCHEMA_VERSION + 1}])
def test_a_newer_archive_is_refused_in_words(values: dict[str, int], tmp_path: Path) -> None:
    listed = manifest(product_version="99.0", **values)
    path = sealed(tmp_path / "x.tar.gz", begun(listed), tar.END)
    with pytest.raises(StoreIncompatible, match=r"99\.0, which is newer"):
        extract(path, tmp_path / "in", lambda _: None, lambda: False)


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("good")
    files = {CONTROL: b"c" * 3000, GENERATION: b"g", DATA: bytes(range(256)) * 500}
    for name, data in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    listed = manifest(files=tuple(summed(name, data) for name, data in files.items()))
    write_archive(folder, listed, folder / "x.tar.gz", lambda _: None, lambda: False)
    return folder / "x.tar.gz"


def refused(path: Path, folder: Path) -> None:
    with pytest.raises(BackupRefused):
        extract(path, folder, lambda _: None, lambda: False)
    assert not folder.exists()


@pytest.mark.parametrize("percent", [0, 1, 10, 50, 90, 99])
def test_a_truncated_archive_is_refused(percent: int, good: Path, tmp_path: Path) -> None:
    data = good.read_bytes()
    (tmp_path / "x.tar.gz").write_bytes(data[: len(data) * percent // 100])
    refused(tmp_path / "x.tar.gz", tmp_path / "in")


def test_what_is_put_behind_an_archive_is_seen(good: Path, tmp_path: Path) -> None:
    (tmp_path / "x.tar.gz").write_bytes(good.read_bytes() + b"\0")
    refused(tmp_path / "x.tar.gz", tmp_path / "in")


def bits(data: bytes, step: int) -> Iterator[bytes]:
    for bit in range(0, len(data) * 8, step):
        flipped = bytearray(data)
        flipped[bit // 8] ^= 1 << bit % 8
        yield bytes(flipped)


def test_every_flipped_bit_of_an_archive_is_found(good: Path, tmp_path: Path) -> None:
    """Its first and last kilobit one by one, the rest in steps that are prime."""
    data = good.read_bytes()
    ends = [*bits(data[:64], 1)], [*bits(data[-110:], 1)]
    cases = [head + data[64:] for head in ends[0]] + [data[:-110] + tail for tail in ends[1]]
    cases += bits(data, 149)
    for case in cases:
        (tmp_path / "x.tar.gz").write_bytes(case)
        refused(tmp_path / "x.tar.gz", tmp_path / "in")
    assert len(cases) > 1000


def test_a_cancelled_archive_is_not_finished(good: Path, tmp_path: Path) -> None:
    with pytest.raises(Cancelled):
        extract(good, tmp_path / "in", lambda _: None, lambda: True)


def test_an_encrypted_archive_opens_with_its_key_alone(good: Path, tmp_path: Path) -> None:
    key, other = tmp_path / "key", tmp_path / "other"
    public = new_key(key)
    new_key(other)
    assert key.stat().st_mode & 0o777 == 0o600
    with pytest.raises(Conflict):
        new_key(key)
    encrypt(good, tmp_path / "x.tar.gz.age", key)
    encrypted = (tmp_path / "x.tar.gz.age").read_bytes()
    secret = key.read_text().splitlines()[-1]
    assert public in key.read_text()
    assert secret.encode() not in encrypted
    decrypt(tmp_path / "x.tar.gz.age", tmp_path / "back", key)
    assert (tmp_path / "back").read_bytes() == good.read_bytes()
    with pytest.raises(BackupRefused, match="another key"):
        decrypt(tmp_path / "x.tar.gz.age", tmp_path / "back", other)
    with pytest.raises(BackupRefused, match="NOESIS_BACKUP_KEY_FILE"):
        decrypt(tmp_path / "x.tar.gz.age", tmp_path / "back", None)
    with pytest.raises(SettingsError, match="cannot be read"):
        decrypt(tmp_path / "x.tar.gz.age", tmp_path / "back", tmp_path / "none")
    damages = [encrypted[:-1], encrypted + b"\0", encrypted[: len(encrypted) // 2], *bits(encrypted, 9973)]
    for damaged in damages:
        (tmp_path / "y.tar.gz.age").write_bytes(damaged)
        with pytest.raises(BackupRefused):
            decrypt(tmp_path / "y.tar.gz.age", tmp_path / "back", key)


async def test_what_is_refused_touches_nothing(good: Path, tmp_path: Path) -> None:
    """Through the operation itself: hostile, empty inside, another instance's."""
    async with machine(tmp_path / "m") as here, machine(tmp_path / "other") as other:
        await here.write(1, 2)
        await other.write(7)
        foreign = await other.backup()
        before = await content(here.store)
        hostile = sealed(tmp_path / "hostile.tar.gz", HOSTILE["a link"])
        for path in (hostile, good, foreign):
            with pytest.raises(NoesisError):
                await here.backups.restore(path, made_for="x", safety_backup=False)
        assert await content(here.store) == before
        assert here.store.current == "0001"
        assert [each.name for each in (tmp_path / "m" / "generations").iterdir()] == ["0001"]
        assert not list((tmp_path / "m" / "scratch").iterdir())
        await here.backups.restore(foreign, made_for="meant", foreign=True)
        assert await here.texts() == names((7,))


def test_a_reader_never_holds_more_than_it_is_asked_for() -> None:
    """A bomb costs time, not memory."""
    file = io.BytesIO()
    packed = zlib.compressobj(9, zlib.DEFLATED, 31)
    data = packed.compress(bytes(64 << 20)) + packed.flush()
    file.write(data)
    file.seek(0)
    reader = SealedReader(file, len(data))
    assert max(len(reader.read(1000)) for _ in range(100)) <= 1000
