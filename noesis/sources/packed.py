"""Long lists kept as bytes: of very many files there is much to remember until each had its turn."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Generic, TypeVar

import msgspec

T = TypeVar("T")

_BLOCK = 512


class Packed(Generic[T]):
    """A list that is only added to and gone through: a block of items becomes objects when it is its turn.

    As objects a path and a stamp take about 350 bytes, packed 70 (paths of 25 characters).
    """

    def __init__(self, kind: type[T], items: Iterable[T] = ()) -> None:
        self._encode = msgspec.msgpack.Encoder().encode
        self._decode = msgspec.msgpack.Decoder(list[kind]).decode  # type: ignore[valid-type]
        self._blocks: list[bytes] = []
        self._newest: list[T] = []
        for item in items:
            self.append(item)

    def append(self, item: T) -> None:
        """Add one at the end."""
        self._newest.append(item)
        if len(self._newest) == _BLOCK:
            self._blocks.append(self._encode(self._newest))
            self._newest = []

    def __len__(self) -> int:
        return len(self._blocks) * _BLOCK + len(self._newest)

    def __iter__(self) -> Iterator[T]:
        for block in self._blocks:
            yield from self._decode(block)
        yield from self._newest
