"""Rows are counted by their values a piece at a time, and the pieces add up."""

from __future__ import annotations

from collections import Counter

import pytest

from noesis.store import Column, Store, tables
from noesis.store.filters import EVERYTHING, equals
from tests.store.rows import make_row


async def test_pieces_are_added_up(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "_COUNTED_AT_ONCE", 3)
    kinds = ("fact", "decision", "session")
    rows = [
        make_row(number, agent_id="alpha" if number % 5 else "beta", memory_type=kinds[number % 3])
        for number in range(20)
    ]
    await store.active.append(rows)
    counted = await store.active.tally([Column.AGENT_ID, Column.MEMORY_TYPE], EVERYTHING)
    found = {(agent, kind): count for agent, kind, count in counted}
    assert found == Counter((row.agent_id, row.memory_type) for row in rows)
    assert len(counted) == 6
    assert await store.active.tally([Column.MEMORY_TYPE], equals(Column.AGENT_ID, "nobody")) == []
