"""Hostile archives are refused whole, by their first bad entry, and write nothing outside their folder."""

from __future__ import annotations

import gzip
import io
import stat
import tarfile
import tracemalloc
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from noesis.errors import TooLarge
from noesis.sources.archives import ArchiveLimits, BadArchive, archive_kind, unpack

LIMITS = ArchiveLimits(bytes=4 << 20, entries=50)
TEXT = b"# Herons\n\nThey stand in the north field.\n"


def is_text(name: str) -> bool:
    return name.endswith((".md", ".json"))


def member(name: str, **values: object) -> tarfile.TarInfo:
    made = tarfile.TarInfo(name)
    for field, value in values.items():
        setattr(made, field, value)
    return made


def tar(*entries: tuple[tarfile.TarInfo, bytes]) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz", format=tarfile.PAX_FORMAT) as archive:
        for info, data in entries:
            if info.isreg():
                info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return out.getvalue()


def zipped(*entries: tuple[str | zipfile.ZipInfo, bytes], kind: int = zipfile.ZIP_DEFLATED) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", kind) as archive:
        for name, data in entries:
            archive.writestr(name, data)
    return out.getvalue()


def zip_entry(name: str, mode: int) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name)
    info.external_attr = mode << 16
    return info


def unpacked(data: bytes, folder: Path, name: str = "notes.zip", limits: ArchiveLimits = LIMITS) -> list[str]:
    file = io.BytesIO(data)
    kind = archive_kind(file)
    assert kind is not None
    return unpack(file, kind, name, folder, is_text, limits)


def good(name: str) -> tuple[tarfile.TarInfo, bytes]:
    return member(name), TEXT


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "staging" / "here"
    made.mkdir(parents=True)
    return made


@pytest.mark.parametrize(
    "data",
    [
        zipped(("a.md", TEXT), ("deep/er/b.json", b"{}"), ("c.png", b"x"), ("__MACOSX/._a.md", b"x")),
        tar(
            good("./a.md"),
            (member("deep", type=tarfile.DIRTYPE), b""),
            (member("deep/er/b.json"), b"{}"),
            good("c.png"),
        ),
    ],
    ids=["zip", "tar"],
)
def test_notes_and_exports_are_unpacked_and_nothing_else(data: bytes, folder: Path) -> None:
    assert unpacked(data, folder) == ["a.md", "deep/er/b.json"]
    assert (folder / "a.md").read_bytes() == TEXT
    assert stat.S_IMODE((folder / "a.md").stat().st_mode) == 0o600
    assert sorted(path.name for path in folder.rglob("*") if path.is_file()) == ["a.md", "b.json"]


def test_a_gzip_becomes_the_file_that_it_is_of(folder: Path) -> None:
    assert unpacked(gzip.compress(TEXT), folder, "export.ndjson.gz") == ["export.ndjson"]
    assert (folder / "export.ndjson").read_bytes() == TEXT


@pytest.mark.parametrize("data", [b"", b"{}", b"PK", TEXT], ids=["empty", "json", "short", "text"])
def test_what_is_no_archive_is_none(data: bytes) -> None:
    file = io.BytesIO(data)
    assert archive_kind(file) is None
    assert file.tell() == 0


LONG = "n" * 300 + ".md"
NAMES = ["../e.md", "/abs.md", "a/../../e.md", "a//b.md", "a\\b.md", "C:e.md", "a/./b.md", "a\nb.md", LONG]
HOSTILE: dict[str, tuple[bytes, str]] = {
    **{
        f"tar {name[:9]!r}": (tar(good("ok.md"), good(name)), name[:20].replace("\n", "\\n"))
        for name in NAMES
    },
    **{
        f"zip {name[:9]!r}": (zipped(("ok.md", TEXT), (name, TEXT)), name[:20].replace("\n", "\\n"))
        for name in NAMES
    },
    "symlink, then through it": (
        tar((member("dir", type=tarfile.SYMTYPE, linkname="/tmp"), b""), good("dir/e.md")),
        "dir",
    ),
    "hard link": (
        tar(good("ok.md"), (member("e.md", type=tarfile.LNKTYPE, linkname="/etc/passwd"), b"")),
        "e.md",
    ),
    "pipe": (tar((member("e.md", type=tarfile.FIFOTYPE), b"")), "e.md"),
    "device": (tar((member("e.md", type=tarfile.CHRTYPE), b"")), "e.md"),
    "setuid": (tar((member("e.md", mode=0o4755), TEXT)), "e.md"),
    "twice": (tar(good("e.md"), good("e.md")), "e.md"),
    "twins": (tar(good("E.md"), good("e.md")), "e.md"),
    "file and folder": (tar(good("e.md"), good("e.md/f.md")), "e.md/f.md"),
    "zip symlink": (zipped((zip_entry("e.md", stat.S_IFLNK | 0o777), b"/etc/passwd")), "e.md"),
    "zip setuid": (zipped((zip_entry("e.md", stat.S_IFREG | 0o4755), TEXT)), "e.md"),
    "zip twins": (zipped(("E.md", TEXT), ("e.md", TEXT)), "e.md"),
    "zip of a kind that wants much memory": (zipped(("e.md", TEXT), kind=zipfile.ZIP_LZMA), "e.md"),
}


@pytest.mark.parametrize(("data", "named"), HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_archive_is_refused_by_its_first_bad_entry(data: bytes, named: str, folder: Path) -> None:
    outside = folder.parent.parent
    before = sorted(path for path in outside.rglob("*") if not path.is_relative_to(folder))
    with pytest.raises(BadArchive) as refused:
        unpacked(data, folder)
    assert refused.value.message.startswith(named)
    assert sorted(path for path in outside.rglob("*") if not path.is_relative_to(folder)) == before
    assert all(not path.is_symlink() for path in folder.rglob("*"))


ZEROS = bytes(64 << 20)
BOMBS: dict[str, Callable[[], bytes]] = {
    "gzip": lambda: gzip.compress(ZEROS),
    "tar": lambda: tar((member("e.md"), ZEROS)),
    "tar of what is passed over": lambda: tar((member("e.png"), ZEROS)),
    "zip": lambda: zipped(("e.md", ZEROS)),
    "many entries, tar": lambda: tar(*(good(f"{number}.md") for number in range(60))),
    "many entries, zip": lambda: zipped(*((f"{number}.md", b"") for number in range(60))),
    "many more entries, zip": lambda: zipped(*((f"{number}.png", b"") for number in range(5000))),
}


@pytest.mark.parametrize("make", BOMBS.values(), ids=BOMBS)
def test_what_would_become_too_much_is_refused_while_it_streams(
    make: Callable[[], bytes], folder: Path
) -> None:
    data = make()
    tracemalloc.start()
    with pytest.raises(TooLarge):
        unpacked(data, folder)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 << 20
    assert sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) <= LIMITS.bytes


def test_little_that_inflates_beyond_reason_is_refused_below_the_limit(folder: Path) -> None:
    limits = ArchiveLimits(bytes=1 << 40)
    with pytest.raises(TooLarge):
        unpacked(gzip.compress(ZEROS), folder, limits=limits)


def test_a_long_name_is_not_read_into_memory(folder: Path) -> None:
    """A header may say that a name of megabytes follows."""
    header = member("././@LongLink", type=tarfile.GNUTYPE_LONGNAME, size=3 << 20)
    data = gzip.compress(header.tobuf(tarfile.GNU_FORMAT) + b"a" * (3 << 20) + bytes(1024))
    with pytest.raises(BadArchive):
        unpacked(data, folder)


@pytest.mark.parametrize(
    "data",
    [
        zipped(("a.md", TEXT))[:-30],
        tar(good("a.md"))[:-20],
        gzip.compress(TEXT)[:-6],
        gzip.compress(b"".join(member("a", type=tarfile.XHDTYPE).tobuf() for _ in range(3000)) + bytes(1024)),
        zipped(("a.md", TEXT), kind=zipfile.ZIP_STORED).replace(b"Herons", b"herons"),
    ],
    ids=["zip", "tar", "gzip", "headers of headers", "other bytes"],
)
def test_a_damaged_archive_is_refused(data: bytes, folder: Path) -> None:
    with pytest.raises(BadArchive):
        unpacked(data, folder)


def test_an_encrypted_zip_is_refused(folder: Path) -> None:
    data = bytearray(zipped(("a.md", TEXT)))
    data[6] |= 1
    data[data.rfind(b"PK\x01\x02") + 8] |= 1
    with pytest.raises(BadArchive, match="encrypted"):
        unpacked(bytes(data), folder)
