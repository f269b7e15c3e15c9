"""Slots of recurring jobs."""

from __future__ import annotations

from datetime import UTC, datetime, time
from zoneinfo import ZoneInfo

import pytest

from noesis.errors import InvalidInput
from noesis.worker.crons import Cron, slot_ms


def ms(*parts: int, zone: ZoneInfo | None = None) -> int:
    year, month, day, hour, minute = parts
    return int(datetime(year, month, day, hour, minute, tzinfo=zone or UTC).timestamp() * 1000)


def test_periods_are_counted_from_the_epoch() -> None:
    cron = Cron(name="c", job="cleanup", every_ms=60_000)
    assert [slot_ms(cron, now) for now in (60_000, 119_999, 120_000)] == [60_000, 60_000, 120_000]


def test_a_daily_slot_is_today_or_yesterday() -> None:
    cron = Cron(name="c", job="backup", daily_at=time(3, 30))
    assert slot_ms(cron, ms(2026, 5, 2, 3, 29)) == ms(2026, 5, 1, 3, 30)
    assert slot_ms(cron, ms(2026, 5, 2, 3, 30)) == ms(2026, 5, 2, 3, 30)


def test_a_daily_slot_follows_its_zone_through_the_change_of_the_clocks() -> None:
    berlin = ZoneInfo("Europe/Berlin")
    cron = Cron(name="c", job="backup", daily_at=time(3, 30), zone=berlin)
    before = slot_ms(cron, ms(2026, 3, 28, 12, 0, zone=berlin))
    after = slot_ms(cron, ms(2026, 3, 29, 12, 0, zone=berlin))
    assert after - before == 23 * 3_600_000


@pytest.mark.parametrize("timing", [{}, {"every_ms": 0}, {"every_ms": 5, "daily_at": time(1)}])
def test_a_cron_has_exactly_one_timing(timing: dict[str, int]) -> None:
    with pytest.raises(InvalidInput):
        Cron(name="c", job="backup", **timing)  # type: ignore[arg-type]
