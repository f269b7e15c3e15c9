"""What a backup is made of, and what its operations answer."""

from __future__ import annotations

from typing import Literal

import msgspec

from noesis.embedding.base import EmbedderIdentity
from noesis.store.checksums import FileSum
from noesis.store.whole import TableSum

FORMAT = 1
"""The form of the archive; a program reads this one and those before it."""

Kind = Literal["manual", "scheduled", "safety", "uploaded"]


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """The first file of an archive: what it is, of whom, and every file that follows, in order.

    `created_at` is ms since 1970.
    """

    format: int
    schema_version: int
    product_version: str
    instance: str
    created_at: int
    embedder: EmbedderIdentity | None
    tables: dict[str, TableSum]
    memories: int
    files: tuple[FileSum, ...]

    @property
    def bytes(self) -> int:
        """What all files have together."""
        return sum(file.size for file in self.files)


class Backup(msgspec.Struct, frozen=True, kw_only=True):
    """A backup as it is listed; times are ms since 1970, `size` is in bytes.

    `verified_at` is when its content was last compared, `proven_at` when it was last restored whole
    in a drill; both None for an archive that was put there by hand.  `key` is the public key it is
    encrypted to, `sha256` (hex) the archive's own.  `copied_at` is set in the note that lies beside a copy.
    """

    name: str
    created_at: int
    size: int
    kind: Kind = "manual"
    rows: int | None = None
    memories: int | None = None
    instance: str | None = None
    product_version: str | None = None
    verified_at: int | None = None
    proven_at: int | None = None
    key: str | None = None
    sha256: str | None = None
    copied_at: int | None = None


class Verified(msgspec.Struct, frozen=True, kw_only=True):
    """What a verification looked at, and what it found wrong; `problems` empty means all is in order.

    `queries` says of each question that was asked whether it was answered; `took_ms` is the time.
    """

    name: str
    rows: int
    memories: int
    files: int
    bytes: int
    queries: dict[str, bool]
    problems: tuple[str, ...] = ()
    took_ms: int = 0

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problems


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """How a backup differs from the memories of now, in memories.

    `added` are only in the backup, `lost` only in the store of now, `changed` in both and different,
    `forgotten` belong to a source or session that was forgotten since and stay away.
    """

    added: int
    lost: int
    changed: int
    same: int
    forgotten: int = 0


class Preview(msgspec.Struct, frozen=True, kw_only=True):
    """What a restore would do: to the memories, and what of the rest stays as it is now."""

    name: str
    created_at: int
    difference: Difference
    foreign: bool
    other_model: bool
    kept_as_now: tuple[str, ...]


class Restored(msgspec.Struct, frozen=True, kw_only=True):
    """What a restore or an undo did; `carried` are the memories an undo took over from since the restore."""

    generation: str
    previous: str | None
    memories: int
    difference: Difference
    safety_backup: str | None = None
    carried: int = 0
    kept_as_now: tuple[str, ...] = ()


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """The part of a backup that is restored: an agent's, a source's, or single memories."""

    agent: str | None = None
    source: str | None = None
    ids: tuple[str, ...] = ()

    @property
    def whole(self) -> bool:
        """Whether it is the backup as a whole."""
        return self == Wanted()


class Beside(msgspec.Struct, frozen=True, kw_only=True):
    """One memory as it was in the backup and as it is now; a text is None where it is not there."""

    id: str
    agent_id: str
    then: str
    now: str | None
    then_archived: bool
    now_archived: bool | None
    state: Literal["missing", "changed", "same", "forgotten"]


class Brought(msgspec.Struct, frozen=True, kw_only=True):
    """What a restore of a part did, in memories."""

    restored: int
    same: int
    forgotten: int


class CopyState(msgspec.Struct, frozen=True, kw_only=True):
    """How the copies in the bucket at `place` stand; times are ms since 1970, None: never.

    `error` is why the last try failed, since `failing_since`; `held` are the backups that lay there,
    compared, when it was last asked.
    """

    place: str = ""
    tried_at: int | None = None
    copied_at: int | None = None
    error: str | None = None
    failing_since: int | None = None
    held: tuple[Backup, ...] = ()


class Listed(msgspec.Struct, frozen=True):
    """A backup and where it lies: `here`, or the address of a copy."""

    backup: Backup
    places: tuple[str, ...]


class Made(Backup, frozen=True, kw_only=True):
    """A backup that was just made; `copy_error` is why it is not in the bucket as well."""

    copy_error: str | None = None
