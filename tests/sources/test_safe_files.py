"""Whatever lies in a watched folder, nothing outside of it is read and nothing makes the reader wait."""

import gzip
import hashlib
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from noesis.errors import Forbidden, InvalidInput, NoesisError, NotFound, TooLarge
from noesis.sources import safe_files
from noesis.sources.file_text import FileText, read_text
from noesis.sources.safe_files import (
    Found,
    Limits,
    Refused,
    RootHandle,
    open_file,
    open_root,
    walk,
    walk_folders,
)

CANARY = "canary-that-lies-outside"
PATIENCE_SECONDS = 10.0
SWAPS = 1000


def is_markdown(path: str) -> bool:
    return path.endswith(".md")


def everything(path: str) -> bool:
    return True


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "root"
    folder.mkdir()
    return folder


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.md").write_text(CANARY)
    return outside


@pytest.fixture
def root(folder: Path) -> Iterator[RootHandle]:
    with open_root(folder) as handle:
        yield handle


def found(
    root: RootHandle, wanted: Callable[[str], bool] = is_markdown, limits: Limits | None = None
) -> list[str]:
    return [entry.relative for entry in walk(root, wanted, limits) if isinstance(entry, Found)]


def refused(
    root: RootHandle, wanted: Callable[[str], bool] = is_markdown, limits: Limits | None = None
) -> dict[str, str]:
    return {
        entry.relative: entry.reason for entry in walk(root, wanted, limits) if isinstance(entry, Refused)
    }


def read(root: RootHandle, relative: str) -> str:
    file, _ = open_file(root, relative)
    with file:
        return read_text(file, 1_000_000).text


def descriptors() -> int:
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


def test_a_missing_root_is_not_an_empty_one(tmp_path: Path, folder: Path) -> None:
    with open_root(folder) as handle:
        assert list(walk(handle, everything)) == []
    with pytest.raises(NotFound):
        open_root(tmp_path / "nowhere")
    (tmp_path / "file").write_text("x")
    with pytest.raises(NotFound):
        open_root(tmp_path / "file")


def test_a_root_that_vanished_or_was_replaced_is_not_an_empty_one(folder: Path, root: RootHandle) -> None:
    folder.rename(folder.with_name("moved"))
    with pytest.raises(NotFound):
        list(walk(root, everything))
    folder.mkdir()
    with pytest.raises(NotFound):
        list(walk(root, everything))


def test_a_root_that_vanishes_during_a_walk_is_told_of(folder: Path, root: RootHandle) -> None:
    for name in ("a.md", "b.md"):
        (folder / name).write_text("x")
    walking = walk(root, everything)
    next(walking)
    folder.rename(folder.with_name("moved"))
    with pytest.raises(NotFound):
        list(walking)


def test_a_root_may_be_a_link(tmp_path: Path, folder: Path) -> None:
    (folder / "a.md").write_text("x")
    (tmp_path / "alias").symlink_to(folder)
    with open_root(tmp_path / "alias") as handle:
        assert found(handle) == ["a.md"]


def test_wanted_files_come_in_order_with_their_status(folder: Path, root: RootHandle) -> None:
    (folder / "memory").mkdir()
    for name in ("b.md", "a.md", "memory/c.md", "a.txt", ".hidden.md"):
        (folder / name).write_text(name)
    assert found(root) == [".hidden.md", "a.md", "b.md", "memory/c.md"]
    status = (folder / "a.md").stat()
    assert next(entry for entry in walk(root, lambda path: path == "a.md")) == Found(
        "a.md", 4, status.st_mtime_ns, status.st_dev, status.st_ino, status.st_ctime_ns
    )


def test_hidden_and_left_out_folders_are_not_entered(folder: Path, root: RootHandle) -> None:
    for name in (".git", "node_modules", "kept"):
        (folder / name).mkdir()
        (folder / name / "x.md").write_text("x")
    assert found(root) == ["kept/x.md"]
    assert refused(root) == {}
    assert list(walk_folders(root)) == ["", "kept"]


def test_links_are_never_followed(folder: Path, outside: Path, root: RootHandle) -> None:
    (folder / "file.md").symlink_to(outside / "secret.md")
    (folder / "linked").symlink_to(outside)
    (folder / "broken.md").symlink_to("nowhere")
    (folder / "loop").symlink_to(".")
    assert found(root, everything) == []
    assert set(refused(root)) == {"file.md", "linked", "broken.md", "loop"}
    assert list(walk_folders(root)) == [""]
    for path in ("file.md", "linked/secret.md", "loop/file.md"):
        with pytest.raises(Forbidden):
            open_file(root, path)


def test_odd_entries_are_refused_and_never_waited_for(folder: Path, root: RootHandle) -> None:
    os.mkfifo(folder / "fifo.md")
    (folder / "folder.md").mkdir()
    (folder / "folder.md" / "in.md").write_text("x")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(folder / "socket.md"))
    started = time.perf_counter()
    assert found(root) == ["folder.md/in.md"]
    assert refused(root) == {"fifo.md": safe_files.NOT_A_FILE, "socket.md": safe_files.NOT_A_FILE}
    for path in ("fifo.md", "socket.md", "folder.md"):
        with pytest.raises(Forbidden):
            open_file(root, path)
    assert time.perf_counter() - started < PATIENCE_SECONDS


def test_a_device_is_refused(folder: Path, root: RootHandle) -> None:
    try:
        os.mknod(folder / "device.md", 0o20600, os.makedev(1, 5))
    except PermissionError:
        pytest.skip("not-root: devices are made by root")
    assert refused(root) == {"device.md": safe_files.NOT_A_FILE}
    with pytest.raises(Forbidden):
        open_file(root, "device.md")


def test_a_hard_link_is_refused_unless_it_is_allowed(folder: Path, outside: Path, root: RootHandle) -> None:
    os.link(outside / "secret.md", folder / "hard.md")
    assert refused(root) == {"hard.md": safe_files.HARD_LINK}
    with pytest.raises(Forbidden):
        open_file(root, "hard.md")
    allowed = Limits(hard_links=True)
    assert found(root, limits=allowed) == ["hard.md"]
    open_file(root, "hard.md", allowed)[0].close()


def test_another_file_system_is_not_entered_unless_it_is_allowed(folder: Path, root: RootHandle) -> None:
    mounted = folder / "mounted"
    mounted.mkdir()
    if subprocess.run(
        ["mount", "-t", "tmpfs", "tmpfs", mounted], capture_output=True, check=False
    ).returncode:
        pytest.skip("no-mount: mount needs CAP_SYS_ADMIN")
    try:
        (mounted / "x.md").write_text("x")
        assert refused(root) == {"mounted": safe_files.OTHER_FILE_SYSTEM}
        with pytest.raises(Forbidden):
            open_file(root, "mounted/x.md")
        assert found(root, limits=Limits(other_file_systems=True)) == ["mounted/x.md"]
    finally:
        subprocess.run(["umount", mounted], check=True)


def test_what_is_too_large_or_too_deep_or_too_much_is_told_of(folder: Path, root: RootHandle) -> None:
    (folder / "sparse.md").touch()
    os.truncate(folder / "sparse.md", 1 << 30)
    (folder / "a" / "b").mkdir(parents=True)
    (folder / "a" / "x.md").write_text("x")
    assert refused(root, limits=Limits(depth=1)) == {
        "a/b": safe_files.TOO_DEEP,
        "sparse.md": safe_files.TOO_LARGE,
    }
    assert refused(root, limits=Limits(entries=2)) == {"": safe_files.TOO_MANY, "a": safe_files.TOO_MANY}
    with pytest.raises(TooLarge):
        open_file(root, "sparse.md")
    file, _ = open_file(root, "sparse.md", Limits(file_bytes=None))
    with file, pytest.raises(TooLarge):
        read_text(file, 1_000_000)


def test_a_name_that_is_no_text_is_refused_in_readable_form(folder: Path, root: RootHandle) -> None:
    for name in (b"\xff.md", b"a\nb.md", b"esc\x1b.md"):
        (Path(os.fsdecode(os.fsencode(folder) + b"/" + name))).write_text("x")
    (folder / "größe 😀.md").write_text("x")
    assert found(root) == ["größe 😀.md"]
    names = refused(root)
    assert set(names.values()) == {safe_files.BAD_NAME}
    assert all(name.isprintable() and name.encode() for name in names)


@contextmanager
def as_nobody() -> Iterator[None]:
    """Without root's rights, which open everything."""
    if os.geteuid():
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


def test_an_unreadable_folder_is_told_of_and_not_taken_for_empty() -> None:
    with TemporaryDirectory() as name:
        place = Path(name)
        place.chmod(0o755)
        (place / "closed").mkdir(mode=0o000)
        (place / "closed.md").write_text("x")
        (place / "closed.md").chmod(0o000)
        with as_nobody(), open_root(place) as root:
            assert refused(root) == {"closed": safe_files.UNREADABLE}
            for path in ("closed/x.md", "closed.md"):
                with pytest.raises(Forbidden):
                    open_file(root, path)
            with pytest.raises(Forbidden):
                open_root(place / "closed")


@pytest.mark.parametrize(
    "path", ["", "/etc/passwd", "../x", "a/../../x", "a//b", "./a", "a/", "a\0b", "a\nb", "\udcff"]
)
def test_a_path_must_lead_downwards(root: RootHandle, path: str) -> None:
    with pytest.raises(InvalidInput):
        open_file(root, path)


def test_a_file_that_is_gone_is_not_found(folder: Path, root: RootHandle) -> None:
    with pytest.raises(NotFound):
        open_file(root, "gone.md")
    with pytest.raises(NotFound):
        open_file(root, "no/folder.md")
    (folder / "a.md").write_text("x")
    with pytest.raises(Forbidden):
        open_file(root, "a.md/b.md")


def test_nothing_is_left_open(folder: Path, outside: Path, root: RootHandle) -> None:
    (folder / "deep" / "er").mkdir(parents=True)
    (folder / "deep" / "er" / "a.md").write_text("x")
    (folder / "deep" / "link.md").symlink_to(outside / "secret.md")
    os.mkfifo(folder / "deep" / "fifo.md")
    before = descriptors()
    for path in ("deep/er/a.md", "deep/link.md", "deep/fifo.md", "deep/gone.md", "deep/er"):
        with suppress(NoesisError):
            open_file(root, path)[0].close()
    walking = walk(root, everything)
    next(walking)
    del walking
    list(walk(root, everything))
    assert descriptors() == before


class Swapper:
    """Swaps two states of the disk as fast as it can, in a thread."""

    def __init__(self, *states: Callable[[], object]) -> None:
        self._states = states
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._interval = sys.getswitchinterval()
        self.rounds = 0

    def _run(self) -> None:
        while not self._stopped.is_set():
            for state in self._states:
                state()
            self.rounds += 1

    def __enter__(self) -> "Swapper":
        sys.setswitchinterval(1e-6)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopped.set()
        self._thread.join()
        sys.setswitchinterval(self._interval)


def outcomes(root: RootHandle, path: str) -> set[str]:
    """What reading the path gave, many times over."""
    seen = set()
    for _ in range(SWAPS):
        try:
            seen.add(read(root, path))
        except NoesisError as error:
            seen.add(type(error).__name__)
    return seen


def replace_by(make: Callable[[Path], object], target: Path) -> Callable[[], None]:
    """A state that puts what `make` makes in the place of `target` at once."""
    prepared = target.with_name(f"{target.name}.new")

    def put() -> None:
        make(prepared)
        prepared.replace(target)

    return put


def test_a_file_swapped_for_a_link_never_reads_outside(folder: Path, outside: Path, root: RootHandle) -> None:
    target = folder / "swap.md"
    target.write_text("inside")
    with Swapper(
        replace_by(lambda path: path.symlink_to(outside / "secret.md"), target),
        replace_by(lambda path: path.write_text("inside"), target),
    ) as swapper:
        seen = outcomes(root, "swap.md")
    assert seen <= {"inside", "", "Forbidden", "NotFound"}
    assert swapper.rounds > 1


def test_a_folder_swapped_for_a_link_never_reads_outside(
    folder: Path, outside: Path, root: RootHandle
) -> None:
    real, link, place = folder / "real", folder / "link", folder / "sub"
    real.mkdir()
    (real / "secret.md").write_text("inside")
    link.symlink_to(outside)

    def swap(state: Path) -> Callable[[], None]:
        def turn() -> None:
            state.rename(place)
            place.rename(state)

        return turn

    with Swapper(swap(real), swap(link)):
        seen = outcomes(root, "sub/secret.md")
        walked = {
            entry.relative for _ in range(50) for entry in walk(root, everything) if isinstance(entry, Found)
        }
    assert seen <= {"inside", "Forbidden", "NotFound"}
    assert walked <= {"real/secret.md", "sub/secret.md"}


def test_a_file_swapped_for_a_fifo_never_blocks(folder: Path, root: RootHandle) -> None:
    target = folder / "swap.md"
    target.write_text("inside")
    started = time.perf_counter()
    with Swapper(replace_by(os.mkfifo, target), replace_by(lambda path: path.write_text("inside"), target)):
        seen = outcomes(root, "swap.md")
    assert seen <= {"inside", "", "Forbidden", "NotFound"}
    assert time.perf_counter() - started < PATIENCE_SECONDS


@pytest.mark.parametrize("put", ["link", "fifo", "other"])
def test_a_swap_right_before_the_opening_is_noticed(
    folder: Path, outside: Path, root: RootHandle, monkeypatch: pytest.MonkeyPatch, put: str
) -> None:
    target = folder / "swap.md"
    target.write_text("inside")
    makes: dict[str, Callable[[Path], object]] = {
        "link": lambda path: path.symlink_to(outside / "secret.md"),
        "fifo": os.mkfifo,
        "other": lambda path: path.write_text("other"),
    }
    really_open = os.open

    def swap_and_open(path: str, flags: int, **more: int) -> int:
        replace_by(makes[put], target)()
        return really_open(path, flags, **more)

    monkeypatch.setattr(os, "open", swap_and_open)
    with pytest.raises(NotFound if put == "other" else Forbidden):
        open_file(root, "swap.md")


def text_of(data: bytes, limit: int = 1_000_000) -> FileText:
    return read_text(BytesIO(data), limit)


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"", ""),
        ("größe 😀\r\n".encode(), "größe 😀\r\n"),
        (b"\xef\xbb\xbfwith mark", "with mark"),
        ("größe".encode("utf-16"), "größe"),
        ("größe 😀".encode("utf-16-be").join((b"\xfe\xff", b"")), "größe 😀"),
        ("größe".encode("utf-32"), "größe"),
        (b"half \xe2\x82", "half \ufffd"),
        ("Die größte Straße".encode("latin-1"), "Die gr\ufffd\ufffdte Stra\ufffde"),
        (b"null \0 inside", "null \ufffd inside"),
        (b"\xff\xfea\x00\x00\xd8b\x00c\x00d\x00", "a\ufffdbcd"),
    ],
)
def test_text_is_read_in_any_encoding_that_marks_itself(data: bytes, text: str) -> None:
    assert text_of(data).text == text


def test_what_was_replaced_is_counted() -> None:
    assert text_of(b"one \xff two \0").replaced == 2
    assert text_of(b"whole").replaced == 0


@pytest.mark.parametrize(
    "data",
    [
        gzip.compress(b"# Title\ntext\n" * 100),
        b"PK\x03\x04rest of an archive",
        b"%PDF-1.7\nrest",
        b"SQLite format 3\x00rest",
        bytes(range(256)) * 40,
        b"\0" * 100_000,
        "no mark, no text".encode("utf-16-le"),
    ],
)
def test_what_is_no_text_is_refused(data: bytes) -> None:
    with pytest.raises(InvalidInput):
        text_of(data)


def test_the_hash_is_that_of_the_bytes() -> None:
    data = "größe".encode("utf-16") * 40_000
    assert text_of(data).content_hash == hashlib.blake2b(data, digest_size=32).hexdigest()
    assert text_of(data).size == len(data)


def test_no_more_than_the_limit_is_read() -> None:
    class Endless(BytesIO):
        given = 0

        def read(self, size: int | None = -1) -> bytes:
            assert size is not None
            assert size >= 0
            self.given += size
            return b"x" * size

    endless = Endless()
    with pytest.raises(TooLarge):
        read_text(endless, 200_000)
    assert endless.given == 200_001
    assert text_of(b"x" * 200, 200).size == 200


def test_messages_hold_no_text_of_the_file() -> None:
    with pytest.raises(InvalidInput) as error:
        text_of(b"%PDF-" + CANARY.encode())
    assert CANARY not in error.value.message
