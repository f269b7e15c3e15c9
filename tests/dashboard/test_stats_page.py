"""The page of figures, and the latencies behind its line."""

from __future__ import annotations

import re

import httpx
import pytest

from noesis.dashboard import charts
from noesis.dashboard.stats_page import size
from noesis.latencies import HOUR_MS, Latencies
from noesis.memory import MemoryType
from noesis.runtime import Noesis
from tests.dashboard.conftest import remember
from tests.support import Clock


async def shown(admin: httpx.AsyncClient) -> str:
    """The page without its tags, blanks run together."""
    main = (await admin.get("/stats")).text.split("<main", 1)[1].split("</main>")[0]
    return " ".join(re.sub(r"<[^>]+>", " ", main).split())


async def test_the_empty_page_says_how_to_begin(admin: httpx.AsyncClient) -> None:
    page = await shown(admin)
    assert "Nothing is remembered yet" in page
    assert "Nobody has searched" in page


async def test_it_counts_what_there_is(admin: httpx.AsyncClient, noesis: Noesis) -> None:
    first = await remember(noesis, "The heron comes in the morning.", memory_type=MemoryType.DECISION)
    await remember(noesis, "The boat lies in the shed.")
    await remember(noesis, "Mira writes short reports.", agent="writer")
    noesis.uses.note([first], "search")
    await noesis.uses.flush()
    noesis.latencies.note(42.0)
    page = await shown(admin)
    assert "memories 3 in the archive 0 agents 2" in page
    assert "decision 1 33%" in page
    assert "fact 2 67%" in page
    assert "planner 2" in page
    assert "Used most The heron comes in the morning." in page
    assert "once: found 1, recalled 0, in prompts 0" in page
    assert "Never used (2)" in page
    assert "1 search in the last seven days." in page


async def test_latencies_of_two_processes_add_up(noesis: Noesis, clock: Clock) -> None:
    first, second = Latencies(noesis.control, clock), Latencies(noesis.control, clock)
    for _ in range(95):
        first.note(20.0)
    for _ in range(5):
        second.note(900.0)
    await first.close()
    await second.close()
    (hour,) = await Latencies(noesis.control, clock).hours(24)
    assert (hour.searches, hour.hour_ms) == (100, clock() // HOUR_MS * HOUR_MS)
    assert hour.p50_ms == pytest.approx(20, rel=0.1)
    assert hour.p95_ms == pytest.approx(20, rel=0.1)
    third = Latencies(noesis.control, clock)
    third.note(900.0)
    assert (await third.hours(24))[0].p95_ms == pytest.approx(900, rel=0.1)
    clock.advance(days=2)
    assert await third.hours(24) == []
    await third.close()


async def test_what_is_five_weeks_old_is_forgotten(noesis: Noesis, clock: Clock) -> None:
    latencies = Latencies(noesis.control, clock)
    latencies.note(20.0)
    await latencies.flush()
    clock.advance(days=36)
    latencies.note(20.0)
    await latencies.close()
    assert len(await latencies.hours(24 * 100)) == 1


def test_bars_stand_in_their_places() -> None:
    drawn = charts.bars([("a", 0), ("b", 1), ("c", 1000)], width=300, height=100)
    assert drawn is not None
    assert [(bar.x, bar.y, bar.height) for bar in drawn.bars] == [
        (0.0, 100.0, 0.0),
        (100.0, 98.5, 1.5),
        (200.0, 0.0, 100.0),
    ]
    assert charts.bars([("a", 0)]) is None


def test_a_strip_is_the_whole_of_its_parts() -> None:
    drawn = charts.strip([("fact", 1), ("decision", 0), ("session", 3)], width=100)
    assert drawn is not None
    assert [(part.name, part.x, part.width, part.share) for part in drawn.parts] == [
        ("fact", 0.0, 25.0, "25%"),
        ("session", 25.0, 75.0, "75%"),
    ]
    assert charts.strip([("fact", 0)]) is None


def test_a_line_needs_two_points() -> None:
    assert charts.line([("a", 5.0)], "ms") is None
    drawn = charts.line([("a", 5.0), ("b", 10.0)], "ms", width=100, height=50)
    assert drawn is not None
    assert drawn.points == "0.0,25.0 100.0,0.0"


@pytest.mark.parametrize(
    ("count", "words"), [(0, "0 bytes"), (2048, "2.0 kB"), (5 << 20, "5.0 MB"), (3 << 30, "3.0 GB")]
)
def test_sizes_are_in_the_unit_people_use(count: int, words: str) -> None:
    assert size(count) == words
