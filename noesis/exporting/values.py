"""What an export is asked for, and what it gives."""

from __future__ import annotations

import enum
from collections.abc import AsyncIterator

import msgspec
import numpy as np
import numpy.typing as npt

from noesis.embedding.base import EmbedderIdentity
from noesis.memory import Memory, MemoryFilter

Vector = npt.NDArray[np.float32]


class Shape(enum.StrEnum):
    """The forms an export can have."""

    NDJSON = "ndjson"
    JSON = "json"
    MARKDOWN = "markdown"


class Stage(enum.StrEnum):
    """Which memories: those that live, those in the archive, or all."""

    NONE = "none"
    ONLY = "only"
    BOTH = "both"


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """Which memories, and whether their vectors too.

    `archive` says whether those in the archive are meant, the ones that expired and were not moved yet
    among them; `deleted` whether also those that were deleted and can still be brought back.
    """

    agent: str | None = None
    filter: MemoryFilter = MemoryFilter()
    archive: Stage = Stage.BOTH
    deleted: bool = False
    vectors: bool = False


class Piece(msgspec.Struct, frozen=True):
    """One chunk of a memory: offset and length (characters) in the whole text, and its vector if it has one."""

    start: int
    length: int
    vector: Vector | None


class Exported(msgspec.Struct, frozen=True):
    """One memory of an export; `pieces` are empty unless vectors are wanted."""

    memory: Memory
    superseded_by: str | None = None
    pieces: tuple[Piece, ...] = ()


class Outline(msgspec.Struct, frozen=True, kw_only=True):
    """What is known before the first memory: when (ms), how many, and whose vectors (None: none are given)."""

    at: int
    memories: int
    wanted: Wanted
    embedder: EmbedderIdentity | None = None


class Portion(msgspec.Struct, frozen=True):
    """Some bytes of an export, with which so many memories are out."""

    data: bytes
    memories: int


class Export(msgspec.Struct, frozen=True):
    """An export that goes out portion by portion; `file_name` and `media_type` say what it is."""

    outline: Outline
    file_name: str
    media_type: str
    portions: AsyncIterator[Portion]
