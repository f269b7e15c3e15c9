"""Opens files of a folder that others write to, and never one that lies outside of it.

Every path is walked one name at a time from the root's own descriptor, and no link is ever followed:
whatever is renamed or swapped meanwhile, what was opened lies where it was looked for.
"""

from __future__ import annotations

import errno
import os
import stat
from bisect import insort
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import BinaryIO

import msgspec

from noesis.errors import Forbidden, InvalidInput, NotFound, StoreError, TooLarge

SYMLINK = "a symbolic link, which is not followed"
HARD_LINK = "a hard link, which may belong to another folder"
NOT_A_FILE = "not a regular file"
OTHER_FILE_SYSTEM = "on another file system"
TOO_DEEP = "nested too deep"
TOO_LARGE = "larger than the limit"
TOO_MANY = "more entries than the limit; the rest was not looked at"
BAD_NAME = "a name that is not plain UTF-8 text"
UNREADABLE = "cannot be read"
REPLACED = "replaced while it was looked at"
"""Why an entry was refused (`Refused.reason`)."""

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
# O_NONBLOCK: a fifo that took the file's place must not keep us waiting for a writer.
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """What a walk looks at; `file_bytes` None is any size, `skipped_folders` are names never entered."""

    depth: int = 16
    entries: int = 500_000
    file_bytes: int | None = 8 * 1024 * 1024
    hard_links: bool = False
    other_file_systems: bool = False
    skipped_folders: frozenset[str] = frozenset({"node_modules"})


ANY_SIZE = Limits(file_bytes=None)


class Found(msgspec.Struct, frozen=True):
    """A regular file: its path below the root, size in bytes, change times in ns, and identity.

    `changed_ns` moves with whatever happens to the file, and nobody can set it back.
    """

    relative: str
    size: int
    modified_ns: int
    device: int
    inode: int
    changed_ns: int


class Refused(msgspec.Struct, frozen=True):
    """An entry that is not looked into and why; of a `folder` it is not known what lies in it."""

    relative: str
    reason: str
    folder: bool = False


class RootHandle:
    """An open root folder: `path`, and its identity when it was opened.  Close it, or use it in a `with`."""

    def __init__(self, path: Path, descriptor: int) -> None:
        self.path = path
        self.descriptor = descriptor
        status = os.fstat(descriptor)
        self.device = status.st_dev
        self.inode = status.st_ino

    def check(self) -> None:
        """Raises NotFound when the path no longer leads to this folder: removed, renamed, (un)mounted over."""
        try:
            status = self.path.stat()
        except OSError:
            raise _root_gone(self.path) from None
        if (status.st_dev, status.st_ino) != (self.device, self.inode):
            raise _root_gone(self.path)

    def close(self) -> None:
        """Give the descriptor back; what was opened through it stays open."""
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1

    def __enter__(self) -> RootHandle:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def open_root(path: Path) -> RootHandle:
    """The folder at `path`; the root itself, which an administrator named, may be a link.

    Raises NotFound when there is none, Forbidden when it may not be read, StoreError when the disk fails.
    """
    try:
        return RootHandle(path, os.open(path, _FOLDER))
    except (FileNotFoundError, NotADirectoryError):
        raise _root_gone(path) from None
    except PermissionError:
        raise Forbidden(f"The folder {path} may not be read.") from None
    except OSError as error:
        raise StoreError(f"The folder {path} cannot be opened: {_told(error)}.") from None


def walk(
    root: RootHandle, wanted: Callable[[str], bool], limits: Limits | None = None
) -> Iterator[Found | Refused]:
    """The files below the root whose path (with /) is `wanted`, and what was refused, in order of paths.

    The order is that of the paths' characters, and so of their bytes, whatever folders they lead through.

    Hidden folders are passed over; links and folders that cannot be entered are always told of unless
    they are hidden, other odd entries when they are wanted.  A walk that ends has seen everything but what it refused: raises
    NotFound when the root vanished or was replaced meanwhile, so that a folder which is gone is never
    taken for an empty one.
    """
    yield from (
        entry
        for entry in _Walk(root, limits or Limits()).entries()
        if not isinstance(entry, str) and (_always_told(entry) or wanted(entry.relative))
    )


def walk_folders(root: RootHandle, limits: Limits | None = None) -> Iterator[str]:
    """The paths of all folders that `walk` enters, the root itself (an empty path) first.  Raises as it does."""
    return (entry for entry in _Walk(root, limits or Limits()).entries() if isinstance(entry, str))


def open_file(
    root: RootHandle, relative: str, limits: Limits | None = None
) -> tuple[BinaryIO, os.stat_result]:
    """The regular file at `relative` below the root, for reading, with its status before anything is read.

    Raises NotFound when it is gone, TooLarge when it is over `limits.file_bytes`, InvalidInput for a path
    that leads out of the root, and Forbidden for all that `walk` refuses.
    """
    *folders, name = _names_of(relative)
    with ExitStack() as opened:
        try:
            folder = root.descriptor
            for each in folders:
                folder = _enter(folder, each)
                opened.callback(os.close, folder)
            descriptor, status = _open_regular(folder, name, relative)
        except OSError as error:
            raise _refusal(relative, error) from None
    try:
        _refuse_unfit(relative, status, root, limits or Limits())
    except BaseException:
        os.close(descriptor)
        raise
    return os.fdopen(descriptor, "rb"), status


class _Walk:
    """One walk: yields each folder as the string of its path, and files and refusals as they are."""

    def __init__(self, root: RootHandle, limits: Limits) -> None:
        self._root = root
        self._limits = limits
        self._left = limits.entries

    def entries(self) -> Iterator[Found | Refused | str]:
        self._root.check()
        yield ""
        yield from self._below(self._root.descriptor, "", self._limits.depth)
        self._root.check()

    def _below(self, folder: int, prefix: str, depth: int) -> Iterator[Found | Refused | str]:
        keys = self._keys(folder)
        for key in keys:
            name = key.removesuffix("/")
            if self._left <= 0:
                yield Refused(prefix.rstrip("/"), TOO_MANY, folder=True)
                return
            self._left -= 1
            if not _is_plain(name):
                yield Refused(prefix + _shown(name), BAD_NAME, folder=True)
                continue
            try:
                status = os.stat(name, dir_fd=folder, follow_symlinks=False)
            except FileNotFoundError:
                continue
            except OSError:
                yield Refused(prefix + name, UNREADABLE, folder=True)
                continue
            if stat.S_ISDIR(status.st_mode):
                if key == name:
                    # It was a file when it was listed; as a folder its turn is later.
                    insort(keys, f"{name}/")
                    continue
                yield from self._folder(folder, prefix, name, status, depth)
            elif key != name:
                yield Refused(prefix + name, REPLACED, folder=True)
            else:
                yield _judged(prefix + name, status, self._root, self._limits)

    def _folder(
        self, parent: int, prefix: str, name: str, status: os.stat_result, depth: int
    ) -> Iterator[Found | Refused | str]:
        relative = prefix + name
        if name.startswith(".") or name in self._limits.skipped_folders:
            return
        if status.st_dev != self._root.device and not self._limits.other_file_systems:
            yield Refused(relative, OTHER_FILE_SYSTEM, folder=True)
        elif depth <= 0:
            yield Refused(relative, TOO_DEEP, folder=True)
        else:
            yield from self._entered(parent, relative, name, depth)

    def _entered(self, parent: int, relative: str, name: str, depth: int) -> Iterator[Found | Refused | str]:
        try:
            folder = _enter(parent, name)
        except FileNotFoundError:
            return
        except OSError as error:
            swapped = error.errno in (errno.ELOOP, errno.ENOTDIR)
            yield Refused(relative, SYMLINK if swapped else UNREADABLE, folder=True)
            return
        try:
            yield relative
            yield from self._below(folder, relative + "/", depth - 1)
        except _ListingFailed:
            yield Refused(relative, UNREADABLE, folder=True)
        finally:
            os.close(folder)

    def _keys(self, folder: int) -> list[str]:
        """The names in a folder, those of folders with a / behind them: so sorted, whole paths are in order."""
        try:
            with os.scandir(folder) as entries:
                return sorted({f"{entry.name}/" if _is_folder(entry) else entry.name for entry in entries})
        except OSError as error:
            if folder == self._root.descriptor:
                raise StoreError(f"The folder {self._root.path} cannot be listed: {_told(error)}.") from None
            raise _ListingFailed from None


class _ListingFailed(Exception):
    """A folder could be opened but not listed."""


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir(follow_symlinks=False)
    except OSError:
        return False


def _enter(parent: int, name: str) -> int:
    return os.open(name, _FOLDER | os.O_NOFOLLOW, dir_fd=parent)


def _open_regular(folder: int, name: str, relative: str) -> tuple[int, os.stat_result]:
    """A descriptor of the regular file `name`, checked before it is opened and again once it is."""
    # Opening can already do something to a device, so anything else is not even opened.
    _refuse_odd(relative, before := os.stat(name, dir_fd=folder, follow_symlinks=False))
    descriptor = os.open(name, _FILE, dir_fd=folder)
    try:
        status = os.fstat(descriptor)
        _refuse_odd(relative, status)
        if (status.st_dev, status.st_ino) != (before.st_dev, before.st_ino):
            raise NotFound(f"{relative} was replaced while it was opened.")
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor, status


def _refuse_odd(relative: str, status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        reason = SYMLINK if stat.S_ISLNK(status.st_mode) else NOT_A_FILE
        raise Forbidden(f"{relative} is {reason}.")


def _refuse_unfit(relative: str, status: os.stat_result, root: RootHandle, limits: Limits) -> None:
    judged = _judged(relative, status, root, limits)
    if isinstance(judged, Refused):
        kind = TooLarge if judged.reason == TOO_LARGE else Forbidden
        raise kind(f"{relative} is {judged.reason}.")


def _judged(relative: str, status: os.stat_result, root: RootHandle, limits: Limits) -> Found | Refused:
    if stat.S_ISLNK(status.st_mode):
        return Refused(relative, SYMLINK)
    if not stat.S_ISREG(status.st_mode):
        return Refused(relative, NOT_A_FILE)
    if status.st_dev != root.device and not limits.other_file_systems:
        return Refused(relative, OTHER_FILE_SYSTEM)
    if status.st_nlink > 1 and not limits.hard_links:
        return Refused(relative, HARD_LINK)
    if limits.file_bytes is not None and status.st_size > limits.file_bytes:
        return Refused(relative, TOO_LARGE)
    return Found(
        relative, status.st_size, status.st_mtime_ns, status.st_dev, status.st_ino, status.st_ctime_ns
    )


def _always_told(entry: Found | Refused) -> bool:
    if not isinstance(entry, Refused):
        return False
    hidden = entry.relative.rpartition("/")[2].startswith(".")
    return entry.folder or (entry.reason == SYMLINK and not hidden)


def _names_of(relative: str) -> list[str]:
    names = relative.split("/")
    if not all(_is_plain(name) and name not in ("", ".", "..") for name in names):
        raise InvalidInput("The path must lead from the root downwards, with plain names.", field="path")
    return names


def _is_plain(name: str) -> bool:
    """Whether a name is text that can be shown and stored: UTF-8, without control characters."""
    return name.isprintable() or not any(_is_control(char) for char in name)


def _is_control(char: str) -> bool:
    code = ord(char)
    return code < 0x20 or 0x7F <= code < 0xA0 or 0xD800 <= code < 0xE000


def _shown(name: str) -> str:
    """A name of any bytes as text that can be logged: what is not plain is written as escapes."""
    text = os.fsencode(name).decode("utf-8", "backslashreplace")
    return "".join(ascii(char)[1:-1] if _is_control(char) else char for char in text)


def _refusal(relative: str, error: OSError) -> Forbidden | NotFound | StoreError:
    if isinstance(error, FileNotFoundError):
        return NotFound(f"{relative} is gone.")
    if error.errno in (errno.ELOOP, errno.ENOTDIR):
        return Forbidden(f"{relative} is reached through {SYMLINK}.")
    if isinstance(error, PermissionError):
        return Forbidden(f"{relative} {UNREADABLE}.")
    return StoreError(f"{relative} {UNREADABLE}: {_told(error)}.")


def _root_gone(path: Path) -> NotFound:
    return NotFound(f"The folder {path} is not there.")


def _told(error: OSError) -> str:
    return error.strerror or type(error).__name__
