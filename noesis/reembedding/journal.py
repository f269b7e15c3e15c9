"""The vectors a switch has made so far, on the disk: what a kill does not make twice.

One record a text: its key (16 bytes), the vector (float32) and a CRC-32 over both.  Records are only
appended, so that a torn end is cut off and all before it counts.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import struct
import zlib
from collections.abc import Mapping
from pathlib import Path

import msgspec
import numpy as np

from noesis.embedding.base import EmbedderIdentity, Vector
from noesis.store.calls import write_error
from noesis.store.generations import write_file

_KEY_BYTES = 16
_CRC = struct.Struct("<I")
_RECORDS = "vectors"
_IDENTITY = "embedder.json"


def key_of(text: str) -> bytes:
    """What a text is known by: the same text has the same vector."""
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=_KEY_BYTES).digest()


class Journal:
    """Vectors of one embedder by the key of their text.  Blocks: call it in a thread."""

    def __init__(self, folder: Path, identity: EmbedderIdentity) -> None:
        """Open it; what another embedder left in the folder goes.  Raises a StoreError."""
        self._folder = folder
        self._width = 4 * identity.dimension
        self._size = _KEY_BYTES + self._width + _CRC.size
        self._offsets: dict[bytes, int] = {}
        try:
            if made_for(folder) != identity:
                shutil.rmtree(folder, ignore_errors=True)
                folder.mkdir(parents=True, mode=0o700)
                write_file(folder / _IDENTITY, msgspec.json.encode(identity))
            self._file = os.open(folder / _RECORDS, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            self._end = self._read()
            os.ftruncate(self._file, self._end)
        except OSError as error:
            raise write_error(error) from error

    def __contains__(self, key: bytes) -> bool:
        return key in self._offsets

    def __len__(self) -> int:
        return len(self._offsets)

    @property
    def size(self) -> int:
        """The bytes of one record."""
        return self._size

    def get(self, key: bytes) -> Vector | None:
        """The vector of a text, or None."""
        offset = self._offsets.get(key)
        if offset is None:
            return None
        return np.frombuffer(os.pread(self._file, self._width, offset + _KEY_BYTES), dtype="<f4")

    def add(self, vectors: Mapping[bytes, Vector]) -> None:
        """Append vectors and have them on the disk.  Raises a StoreError; then none of them counts."""
        records = b"".join(self._record(key, vector) for key, vector in vectors.items())
        try:
            written = os.pwrite(self._file, records, self._end)
            if written != len(records):
                raise OSError(28, "No space left on device")
            os.fdatasync(self._file)
        except OSError as error:
            raise write_error(error) from error
        for key in vectors:
            self._offsets[key] = self._end
            self._end += self._size

    def close(self) -> None:
        """Close the file; what it holds stays."""
        os.close(self._file)

    def _record(self, key: bytes, vector: Vector) -> bytes:
        body = key + vector.astype("<f4").tobytes()
        return body + _CRC.pack(zlib.crc32(body))

    def _read(self) -> int:
        """Take in every whole record; the offset behind the last one."""
        end = 0
        with (self._folder / _RECORDS).open("rb") as file:
            while len(record := file.read(self._size)) == self._size:
                if _CRC.unpack(record[-_CRC.size :])[0] != zlib.crc32(record[: -_CRC.size]):
                    break
                self._offsets[record[:_KEY_BYTES]] = end
                end += self._size
        return end


def made_for(folder: Path) -> EmbedderIdentity | None:
    """Whose vectors an unfinished switch has made, or None."""
    try:
        return msgspec.json.decode((folder / _IDENTITY).read_bytes(), type=EmbedderIdentity)
    except (OSError, msgspec.DecodeError):
        return None


def made_so_far(folder: Path, identity: EmbedderIdentity | None) -> int:
    """How many vectors of this embedder an unfinished switch has made."""
    if identity is None or made_for(folder) != identity:
        return 0
    size = _KEY_BYTES + 4 * identity.dimension + _CRC.size
    records = folder / _RECORDS
    return records.stat().st_size // size if records.is_file() else 0


def remove(folder: Path) -> None:
    """Throw the vectors away, once the generation that holds them is live."""
    shutil.rmtree(folder, ignore_errors=True)
