"""The control database of an earlier version is brought up to date when it is opened."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import sqlalchemy as sa

from noesis.agents import Agents, Policy
from noesis.agents import agents as table
from noesis.control import Control, sqlite_url


async def test_a_column_that_came_since_is_added_and_what_was_there_stays(tmp_path: Path) -> None:
    path = tmp_path / "control.sqlite"
    with sqlite3.connect(path) as old:
        old.execute(
            "CREATE TABLE agents (name VARCHAR(64) PRIMARY KEY, may_read_across BOOLEAN, updated_at BIGINT)"
        )
        old.execute("INSERT INTO agents VALUES ('alpha', 1, 5)")
    control = Control.open(sqlite_url(path))
    agents = Agents(control, lambda: 0)
    assert await agents.policy("alpha") == Policy("alpha", may_read_across=True)
    await agents.set_policy(Policy("alpha", redaction="off"))
    assert await agents.policy("alpha") == Policy("alpha", redaction="off")
    control.close()
    again = Control.open(sqlite_url(path))
    columns = await again.read(
        lambda connection: [each["name"] for each in sa.inspect(connection).get_columns("agents")]
    )
    # Once each, however often it is opened.
    assert sorted(columns) == sorted(table.c.keys())
    again.close()
