"""The copy of the control database: by SQLite itself or row by row, and never with what opens doors."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from noesis.backup.control_copy import Way, copy_to, copy_with_memories, is_sound, take_back
from noesis.control import Control, instance, metadata, sqlite_url
from noesis.runtime import Noesis

assert Noesis.__module__ == "noesis.runtime", "with it, every table is known"

KEYS = {
    *("instance_id", "theme"),
    *("session_key", "session_epoch", "setup_link_hash", "worker_seen_at"),
    *("admin_password_hash", "context_key"),
}
VALUES: dict[type[sa.types.TypeEngine[Any]], Any] = {
    sa.String: lambda name, number: f"{name[:8]}{number}",
    sa.Integer: lambda _, number: number,
    sa.Float: lambda _, number: number / 4,
    sa.Boolean: lambda _, number: number % 2 == 1,
    sa.LargeBinary: lambda _, number: bytes([0, number, 255]),
}
Rows = dict[str, list[tuple[Any, ...]]]


@pytest.fixture
def control(tmp_path: Path) -> Iterator[Control]:
    """Each table with two rows, and all keys of the instance."""
    opened = Control.open(sqlite_url(tmp_path / "control.sqlite"))
    opened.run_sync(fill)
    yield opened
    opened.close()


def fill(connection: sa.Connection) -> None:
    for table in metadata.sorted_tables:
        rows = [{"key": key, "value": f"of {key}"} for key in sorted(KEYS)]
        if table is not instance:
            rows = [{column.name: value(column, number) for column in table.columns} for number in (1, 2)]
        connection.execute(sa.insert(table), rows)


def value(column: sa.Column[Any], number: int) -> Any:
    """Something that the column takes; what may be null is, in the first row."""
    if number == 1 and column.nullable:
        return None
    kind = next(kind for kind in VALUES if isinstance(column.type, kind))
    return VALUES[kind](column.name, number)


def rows_of(connection: sa.Connection) -> Rows:
    return {
        table.name: sorted(map(tuple, connection.execute(sa.select(table))), key=str)
        for table in metadata.sorted_tables
    }


def copied(path: Path) -> Rows:
    assert is_sound(path)
    opened = Control.open(sqlite_url(path))
    try:
        return opened.read_sync(rows_of)
    finally:
        opened.close()


@pytest.fixture(params=["by SQLite", "row by row"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both ways: a database that is no file is read row by row."""
    if request.param == "row by row":
        monkeypatch.setattr(Control, "file", None)


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("for_others", [False, True])
def test_everything_is_copied_but_what_opens_doors(
    for_others: bool, control: Control, tmp_path: Path
) -> None:
    path = tmp_path / "copy.sqlite"
    copy_to(control, path, for_others=for_others)
    assert path.stat().st_mode & 0o777 == 0o600
    expected, found = control.read_sync(rows_of), copied(path)
    for name in {"jobs", "cron_slots"} | ({"tokens", "audit"} if for_others else set()):
        assert len(expected.pop(name)) == 2, name
        assert found.pop(name) == [], name
    keys = {key for key, _ in found.pop("instance")}
    kept = {"instance_id", "theme"} | (set() if for_others else {"admin_password_hash", "context_key"})
    assert keys == kept
    del expected["instance"]
    assert found == expected


@pytest.mark.usefixtures("way")
def test_what_belongs_to_memories_is_copied_alone_and_taken_back(control: Control, tmp_path: Path) -> None:
    path = tmp_path / "copy.sqlite"
    copy_with_memories(control, path)
    before, found = control.read_sync(rows_of), copied(path)
    with_memories = {name for name, rows in found.items() if rows}
    assert with_memories == {
        *("captured_turns", "source_files", "source_sections", "superseding", "memory_uses")
    }
    control.run_sync(
        lambda connection: [connection.execute(sa.delete(metadata.tables[name])) for name in with_memories]
    )
    take_back(control, path, Way.RESTORE)
    assert control.read_sync(rows_of) == before


def test_a_copy_is_of_one_moment(control: Control, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What another connection commits while tables are copied is in none of them."""
    before = control.read_sync(rows_of)

    def write(connection: sa.Connection) -> None:
        for name in ("tokens", "agents"):
            connection.execute(sa.delete(metadata.tables[name]))

    copies: list[str] = []

    @sa.event.listens_for(sa.Engine, "before_cursor_execute")
    def between(_c: Any, _cursor: Any, statement: str, *_rest: Any) -> None:
        if statement.startswith("INSERT INTO") and "FROM source." in statement:
            copies.append(statement)
            if len(copies) == 2:
                control.run_sync(write)

    try:
        copy_to(control, tmp_path / "copy.sqlite")
    finally:
        sa.event.remove(sa.Engine, "before_cursor_execute", between)
    found = copied(tmp_path / "copy.sqlite")
    assert len(copies) > 2
    assert (found["tokens"], found["agents"]) == (before["tokens"], before["agents"])
    assert control.read_sync(rows_of)["tokens"] == []
