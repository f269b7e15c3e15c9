"""The event log's rules."""

from __future__ import annotations

import pytest

from noesis.activity import ActivityLog, EventFilter
from noesis.control import Control
from noesis.errors import InvalidInput
from tests.worker.conftest import Clock


@pytest.fixture
def activity(control: Control, clock: Clock) -> ActivityLog:
    return ActivityLog(control, clock)


async def test_events_come_back_newest_first_by_filter(activity: ActivityLog, clock: Clock) -> None:
    await activity.record("backup", "Backup made.", job_id="j1", data={"bytes": 12, "name": "b1"})
    clock.now += 10
    await activity.record("cleanup", "Cleanup failed.", agent="anna", level="error")
    both = (await activity.list()).events
    assert [event.kind for event in both] == ["cleanup", "backup"]
    assert both[1].data == {"bytes": 12, "name": "b1"}
    for which, kind in [
        (EventFilter(kinds=("backup",)), "backup"),
        (EventFilter(levels=("error",)), "cleanup"),
        (EventFilter(agent="anna"), "cleanup"),
        (EventFilter(job_id="j1"), "backup"),
        (EventFilter(after_ms=clock.now), "cleanup"),
        (EventFilter(before_ms=clock.now), "backup"),
    ]:
        assert [event.kind for event in (await activity.list(which)).events] == [kind]


async def test_pages_do_not_repeat(activity: ActivityLog) -> None:
    for number in range(5):
        await activity.record("note", str(number))
    first = await activity.list(limit=3)
    second = await activity.list(limit=3, cursor=first.next_cursor)
    assert [event.summary for event in first.events + second.events] == ["4", "3", "2", "1", "0"]
    assert second.next_cursor is None
    with pytest.raises(InvalidInput):
        await activity.list(cursor="x")


async def test_the_log_is_bounded(activity: ActivityLog, clock: Clock) -> None:
    await activity.record("note", "x" * 1000)
    assert len((await activity.list()).events[0].summary) == 300
    with pytest.raises(InvalidInput):
        await activity.record("note", "big", data={"x": "y" * 5000})
    with pytest.raises(InvalidInput):
        await activity.record("note", "nested", data={"x": ["y"]})  # type: ignore[dict-item]
    clock.now += 1000
    for number in range(5):
        await activity.record("note", str(number))
    assert await activity.prune(max_age_ms=500, keep=100) == 1
    assert await activity.prune(max_age_ms=500, keep=2) == 3
    assert [event.summary for event in (await activity.list()).events] == ["4", "3"]
