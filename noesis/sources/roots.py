"""The places that are watched, and how each was last found: kept in the control database."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Any, Literal

import msgspec
import sqlalchemy as sa

from noesis.control import Control, metadata
from noesis.errors import NotFound

Kind = Literal["markdown", "transcripts", "database"]
Vanished = Literal["archive", "keep", "delete"]

KEY_CHARS = 32
_NAMESPACE = uuid.UUID("0f3a4d0e-6a0b-5d0c-8d1e-2c5b7a9e4f60")

table = sa.Table(
    "source_roots",
    metadata,
    sa.Column("key", sa.String(KEY_CHARS), primary_key=True),
    sa.Column("kind", sa.String(16), nullable=False),
    sa.Column("agent", sa.String(64), nullable=False),
    sa.Column("path", sa.Text, nullable=False),
    sa.Column("label", sa.String(128), nullable=False),
    sa.Column("names", sa.Text, nullable=False),
    sa.Column("deep", sa.Boolean, nullable=False),
    sa.Column("found_by", sa.String(16), nullable=False),
    sa.Column("vanished", sa.String(16), nullable=False),
    sa.Column("available", sa.Boolean, nullable=False),
    sa.Column("device", sa.BigInteger),
    sa.Column("scanned_at", sa.BigInteger),
    sa.Column("note", sa.Text),
    sa.Column("held", sa.Integer, nullable=False),
    sa.Column("forgotten", sa.Boolean, nullable=False),
    sa.Column("added_at", sa.BigInteger, nullable=False),
)


class Root(msgspec.Struct, frozen=True, kw_only=True):
    """One place that is watched: a folder of Markdown, a folder of transcripts, or an agent's database.

    `label` begins the source of its memories and stays when the folder moves.  `names` limits a folder to
    these files, `deep` says that folders below it count.  `found_by` is "openclaw" or "person".  `vanished` is what becomes of memories whose file is gone.  `held` counts files that
    vanished all at once and wait for a person's word.  `device` is the file system it was last read on.
    Times are ms since 1970.
    """

    key: str
    kind: Kind
    agent: str
    path: str
    label: str
    names: tuple[str, ...] = ()
    deep: bool = True
    found_by: str = "person"
    vanished: Vanished = "archive"
    available: bool = True
    device: int | None = None
    scanned_at: int | None = None
    note: str | None = None
    held: int = 0
    added_at: int = 0


def key_of(kind: str, agent: str, path: str) -> str:
    """The key of a root: the same place of the same agent has the same one."""
    return uuid.uuid5(_NAMESPACE, "\x1f".join((kind, agent, path))).hex


class Roots:
    """Remembers the watched places."""

    def __init__(self, control: Control) -> None:
        self._control = control

    async def all(self) -> list[Root]:
        """The roots by agent and path, without forgotten ones."""
        query = sa.select(table).where(~table.c.forgotten).order_by(table.c.agent, table.c.path)
        rows = await self._control.read(lambda connection: connection.execute(query).mappings().all())
        return [_root(row) for row in rows]

    async def get(self, key: str) -> Root:
        """One root.  Raises NotFound."""
        query = sa.select(table).where(table.c.key == key, ~table.c.forgotten)
        row = await self._control.read(lambda connection: connection.execute(query).mappings().first())
        if row is None:
            raise NotFound("There is no source with this key.")
        return _root(row)

    async def add(self, root: Root, *, revive: bool) -> Root:
        """Remember a root; one that is known stays as it is.

        A forgotten one comes back only with `revive`: what a person forgot is not found again by itself.
        """

        def put(connection: sa.Connection) -> None:
            known = connection.execute(sa.select(table.c.forgotten).where(table.c.key == root.key)).scalar()
            if known is None:
                connection.execute(sa.insert(table).values(**_values(root), forgotten=False))
            elif known and revive:
                connection.execute(
                    sa.update(table).where(table.c.key == root.key).values(**_values(root), forgotten=False)
                )

        await self._control.run(put)
        return root

    async def change(self, key: str, **values: Any) -> None:
        """Note how a root was found: available, scanned_at, note, held, vanished."""
        change = sa.update(table).where(table.c.key == key).values(**values)
        await self._control.run(lambda connection: connection.execute(change))

    async def forget(self, key: str) -> None:
        """Leave a root alone from now on.  Raises NotFound."""
        await self.get(key)
        await self.change(key, forgotten=True)


def labelled(root: Root, taken: Sequence[Root]) -> Root:
    """The root with a label no other root of its agent has."""
    labels = {other.label for other in taken if other.agent == root.agent and other.key != root.key}
    label, number = root.label, 2
    while label in labels:
        label, number = f"{root.label}-{number}", number + 1
    return msgspec.structs.replace(root, label=label)


def _values(root: Root) -> dict[str, Any]:
    return msgspec.structs.asdict(root) | {"names": "\n".join(root.names)}


def _root(row: Any) -> Root:
    values = {name: row[name] for name in Root.__struct_fields__}
    return Root(**values | {"names": tuple(filter(None, row["names"].split("\n")))})
