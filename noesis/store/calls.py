"""The one way to LanceDB: whatever it raises, a panic of its own too, becomes an error that says what to do.

Of damaged bytes the library makes anything: five kinds of exceptions were seen, and panics, of which one
kind (pyo3's PanicException) passes every `except Exception` on its way.
"""

from __future__ import annotations

import asyncio
import random
import re
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

import pyarrow as pa

from noesis.errors import StoreBusy, StoreError, StoreFull, StoreReadOnly

T = TypeVar("T")

_TRIES = 8
_CONFLICTS = ("commit conflict", "too many concurrent writers")
FAULTS = (RuntimeError, ValueError, OSError, LookupError, TypeError, pa.ArrowException)
_PANICS = ("PanicException", "RustPanic")
"""Their classes cannot be imported: each is made in the library when it first panics."""

_FILE = re.compile(
    r"memories(?:_archive)?\.lance/(?:data|_indices|_versions|_deletions|_transactions)/[\w./-]+"
)
MENDING = "`noesis verify` looks at all of the store; to mend it, restore the latest backup."


def is_fault(error: BaseException) -> bool:
    """Whether a call failed, rather than that its task was cancelled or refused with an error of ours."""
    return isinstance(error, FAULTS) or is_panic(error)


def is_panic(error: BaseException) -> bool:
    """Whether Rust code behind a call gave up."""
    return type(error).__name__ in _PANICS


class Panicked(RuntimeError):
    """Rust code behind a call gave up."""


@contextmanager
def panics_caught() -> Iterator[None]:
    """Raises Panicked for a panic inside, which else would pass every `except Exception`."""
    try:
        yield
    except BaseException as error:
        if not is_panic(error):
            raise
        raise Panicked("the library panicked") from error


@contextmanager
def told(table: str) -> Iterator[None]:
    """What fails inside while a table is read is raised as the StoreError that says so."""
    try:
        yield
    except BaseException as error:
        if not is_fault(error):
            raise
        raise unreadable(table, error) from error


async def reading(call: Callable[[], Awaitable[T]], table: str) -> T:
    """Run a read of a table; once more when an optimisation removed the version under it.  Raises StoreError."""
    with told(table):
        try:
            return await call()
        except RuntimeError as error:
            if "not found" not in str(error).lower():
                raise
        return await call()


def unreadable(table: str, error: BaseException) -> StoreError:
    """The error for a table that cannot be read, with its file where the library names one."""
    named = _FILE.search(str(error))
    where = f"its file {named.group()}" if named else "one of its files"
    reason = "the library panicked" if is_panic(error) else _first_line(error)
    return StoreError(
        f"The table {table} cannot be read: {where} is damaged or missing ({reason}). {MENDING}"
    )


def not_as_written(table: str, ids: list[str]) -> StoreError:
    """The error for rows whose hashes do not fit: a bit of them is another than was stored."""
    some = ", ".join(each[:36] for each in ids[:3])
    more = f" and {len(ids) - 3:,} more" if len(ids) > 3 else ""
    return StoreError(f"The table {table} is damaged: {some}{more} is not what was stored. {MENDING}")


async def writing(call: Callable[[], Awaitable[T]]) -> T:
    """Run a write; again with jitter when it lost against another commit.

    Raises StoreFull, StoreReadOnly, StoreBusy or StoreError.
    """
    for attempt in range(_TRIES):
        try:
            with panics_caught():
                return await call()
        except FAULTS as error:
            text = str(error).lower()
            if not any(conflict in text for conflict in _CONFLICTS):
                raise write_error(error) from error
            await asyncio.sleep(random.uniform(0.05, min(2.0, 0.05 * 2**attempt)))  # noqa: S311
    raise StoreBusy(f"{_TRIES} tries to commit lost against other writers; nothing was written.")


def write_error(error: BaseException) -> StoreError:
    """The product's error for what the store or the disk said."""
    text = str(error).lower()
    code = getattr(error, "errno", None)
    if code == 28 or "os error 28" in text or "no space left" in text:
        return StoreFull("There is no room left on the disk: nothing was written, reading goes on.")
    if code == 30 or "os error 30" in text or "read-only file system" in text:
        return StoreReadOnly("The data directory is read-only: nothing was written, reading goes on.")
    return StoreError(f"The store could not be written: {_first_line(error)}")


def _first_line(error: BaseException) -> str:
    # The rest of LanceDB's text may quote the query and with it what somebody searched for.
    return str(error).split("\n", 1)[0].split(":", 1)[0][:120]
