"""Splits a large JSON array into its elements without reading it whole."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from typing import BinaryIO, TypeVar

import msgspec
import numpy as np
import numpy.typing as npt

from noesis.errors import InvalidInput
from noesis.sources.foreign.records import Unreadable

MAX_ELEMENT_BYTES = 8 << 20
MAX_VALUES = 1_000_000
"""Values in one element: decoded, each costs memory far beyond its bytes."""

T = TypeVar("T")
Places = npt.NDArray[np.int64]

_PIECE = 1 << 18
_LONGEST_KEY = 1024
_BOM = b"\xef\xbb\xbf"
_QUOTE, _BACKSLASH, _COMMA, _OPEN_LIST = b'"\\,['

_DELTA = np.zeros(256, dtype=np.int64)
_DELTA[list(b"{[")] = 1
_DELTA[list(b"}]")] = -1
_IS_MARK = _DELTA != 0
_IS_MARK[_COMMA] = True


class Marks(msgspec.Struct, frozen=True):
    """The brackets and commas outside strings in one piece: offsets, depth after each, and its change."""

    places: Places
    depths: Places
    deltas: Places


class Structure:
    """Finds the brackets and commas of JSON that comes in pieces of any size.

    Depth counts both kinds of bracket alike: whether they match is for the decoder to say.
    """

    def __init__(self) -> None:
        self._depth = 0
        self._in_string = False
        self._escapes_next = False

    def feed(self, piece: bytes) -> Marks:
        """The marks of the next piece; takes time linear in its length, whatever it holds."""
        codes = np.frombuffer(piece, dtype=np.uint8)
        quotes = codes == _QUOTE
        quotes[self._escaped(codes)] = False
        # Only whether the count is odd matters, which survives the overflow of a byte.
        inside = (np.cumsum(quotes, dtype=np.uint8) & 1).astype(bool) ^ self._in_string
        places = np.flatnonzero(np.take(_IS_MARK, codes) & ~inside)
        deltas = _DELTA[codes[places]]
        depths = self._depth + np.cumsum(deltas)
        if depths.size:
            self._depth = int(depths[-1])
        self._in_string = bool(inside[-1])
        return Marks(places, depths, deltas)

    def _escaped(self, codes: npt.NDArray[np.uint8]) -> Places:
        """Where a character stands after a backslash that is not itself escaped."""
        slashes = np.flatnonzero(codes == _BACKSLASH)
        carried = np.zeros(int(self._escapes_next), dtype=np.int64)
        if self._escapes_next and slashes.size and slashes[0] == 0:
            slashes = slashes[1:]
        first = np.ones(slashes.size, dtype=bool)
        first[1:] = np.diff(slashes) != 1
        run_starts = np.maximum.accumulate(np.where(first, slashes, 0)) if slashes.size else slashes
        after = slashes[(slashes - run_starts) % 2 == 0] + 1
        self._escapes_next = bool(after.size and after[-1] == codes.size)
        return np.concatenate((carried, after[after < codes.size]))


def split(
    file: BinaryIO, *, keys: Collection[str] = (), most: int = MAX_ELEMENT_BYTES
) -> Iterator[bytes | Unreadable]:
    """The elements of the array that the file is, or that its outermost object has under one of `keys`.

    Elements come as their bytes, undecoded.  One of over `most` bytes or MAX_VALUES values, and one
    that the file breaks off in, comes as Unreadable, numbered from 1.  Raises InvalidInput when there
    is no such array.
    """
    splitter = _Splitter(frozenset(keys), most)
    while not splitter.ended and (piece := file.read(_PIECE)):
        yield from splitter.feed(piece)
    yield from splitter.finish()


def read_elements(
    file: BinaryIO, read: Callable[[bytes], T], *, keys: Collection[str] = (), most: int = MAX_ELEMENT_BYTES
) -> Iterator[T | Unreadable]:
    """What `read` makes of each element of `split`; its InvalidInput becomes an Unreadable.

    Raises InvalidInput when there is no such array.
    """
    for number, element in enumerate(split(file, keys=keys, most=most), start=1):
        if isinstance(element, Unreadable):
            yield element
            continue
        try:
            made = read(element)
        except InvalidInput as error:
            yield Unreadable(f"entry {number}", error.message)
        else:
            yield made


class _Splitter:
    def __init__(self, keys: frozenset[str], most: int) -> None:
        self.ended = False
        self._keys = keys
        self._most = most
        self._structure = Structure()
        self._base: int | None = None  # the depth inside the array, once it is found
        self._held = bytearray()
        self._too_long = False
        self._values = 0
        self._number = 0

    def feed(self, piece: bytes) -> Iterator[bytes | Unreadable]:
        marks = self._structure.feed(piece)
        start = 0 if self._base is not None else self._find(piece, marks)
        if self._base is None:
            return
        commas = (marks.deltas == 0) & (marks.depths == self._base)
        closers = (marks.deltas < 0) & (marks.depths < self._base)
        begun = np.cumsum((marks.deltas >= 0) & (marks.places >= start))
        ends = np.flatnonzero((commas | closers) & (marks.places >= start))
        before = 0
        for end, values in zip(marks.places[ends].tolist(), begun[ends].tolist(), strict=True):
            yield from self._element(piece[start:end], values - before)
            start, before = end + 1, values
            if piece[end] != _COMMA:
                self.ended = True
                return
        self._hold(piece[start:], self._most)
        self._values += int(begun[-1]) - before if begun.size else 0

    def finish(self) -> Iterator[Unreadable]:
        if self._base is None:
            raise InvalidInput("The file holds no list of entries that this format has.")
        if not self.ended:
            yield Unreadable(f"entry {self._number + 1}", "The file ends before this entry does.")

    def _find(self, piece: bytes, marks: Marks) -> int:
        """Look for the array's opening bracket; returns the offset after it."""
        start = 0
        near = np.flatnonzero(marks.depths <= 2)
        for place, depth, delta in zip(
            marks.places[near].tolist(), marks.depths[near].tolist(), marks.deltas[near].tolist(), strict=True
        ):
            if delta > 0 and self._opens(piece, start, place, depth):
                self._base = depth
                self._held.clear()
                self._too_long = False
                return int(place) + 1
            if depth <= 1:
                self._held.clear()
                self._too_long = False
                start = place + 1
        self._hold(piece[start:], _LONGEST_KEY)
        return len(piece)

    def _opens(self, piece: bytes, start: int, place: int, depth: int) -> bool:
        """Whether the bracket opens the array that is looked for."""
        before = bytes(self._held) + piece[start:place]
        if depth == 1 and before.removeprefix(_BOM).strip():
            raise InvalidInput("The file is not JSON.")
        if piece[place] != _OPEN_LIST or self._too_long or len(before) > _LONGEST_KEY:
            return False
        return depth == 1 or (depth == 2 and _key(before) in self._keys)

    def _hold(self, rest: bytes, most: int) -> None:
        self._too_long = self._too_long or len(self._held) + len(rest) > most
        if self._too_long:
            self._held.clear()
        else:
            self._held += rest

    def _element(self, rest: bytes, values: int) -> Iterator[bytes | Unreadable]:
        self._hold(rest, self._most)
        element, too_long = bytes(self._held).strip(), self._too_long
        too_many = self._values + values > MAX_VALUES
        self._held.clear()
        self._too_long, self._values = False, 0
        if not element and not too_long:
            return
        self._number += 1
        if too_long:
            yield Unreadable(f"entry {self._number}", f"It has more than {self._most:,} bytes.")
        elif too_many:
            yield Unreadable(f"entry {self._number}", f"It has more than {MAX_VALUES:,} values.")
        else:
            yield element


def count_members(data: bytes) -> int:
    """How many members an object has, without decoding it."""
    marks = Structure().feed(data)
    commas = (marks.deltas == 0) & (marks.depths == 1)
    return int(np.count_nonzero(commas)) + (len(data.strip()) > len(b"{}"))


def _key(before: bytes) -> str | None:
    """The name of a member, of which `before` is what stands before its value."""
    name = before.strip().removesuffix(b":").strip()
    try:
        return msgspec.json.decode(name, type=str)
    except msgspec.DecodeError:
        return None
