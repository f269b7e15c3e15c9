"""The page of figures: what is remembered, how it grows, what is used, how fast search answers, how it lies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

import msgspec
from litestar import Response, get

from noesis.api.access import PAGE, Wired
from noesis.dashboard import charts
from noesis.dashboard.presenters import Row, row
from noesis.dashboard.rendering import PageRequest, page
from noesis.latencies import HourOfSearches
from noesis.memory import Scope
from noesis.runtime import Noesis
from noesis.stats import Disk

HERE = "stats"
_WEEKS = 26
_HOURS = 7 * 24
_SHOWN = 8
_UNITS = ((1 << 30, "GB"), (1 << 20, "MB"), (1 << 10, "kB"))


class Number(msgspec.Struct, frozen=True):
    """One of the large numbers, where it leads, and what it means where that is no good news."""

    name: str
    value: str
    href: str | None = None
    concern: str | None = None


class Used(msgspec.Struct, frozen=True):
    """A memory with how often it was used."""

    row: Row
    words: str


class Uses(msgspec.Struct, frozen=True, kw_only=True):
    """What is used most, and the oldest of what never was."""

    most: tuple[Used, ...]
    never: tuple[Row, ...]
    never_count: int


@get("/stats", opt=PAGE, include_in_schema=False)
async def show_stats(request: PageRequest, noesis: Wired) -> Response[str]:
    """The figures of all agents together."""
    scope = request.auth
    stats = await noesis.statistics.stats(scope)
    pending = stats.active.by_embedding_state.get("pending", 0)
    failed = stats.active.by_embedding_state.get("failed", 0)
    hours = await noesis.latencies.hours(_HOURS)
    return page(
        request,
        "stats.html",
        here=HERE,
        numbers=_numbers(
            stats.active.memories, stats.archive.memories, len(stats.active.by_agent), pending, failed
        ),
        growth=charts.bars([(_day(at), count) for at, count in await noesis.growth.weeks(scope, _WEEKS)]),
        types=charts.strip(list(stats.active.by_type.items())),
        agents=_shares(stats.active.by_agent),
        priorities=_shares(stats.active.by_priority),
        latency=charts.line([(_hour(each.hour_ms), each.p95_ms) for each in hours], "ms"),
        searches=_told(hours),
        uses=await _uses(scope, noesis),
        embedder=stats.embedder,
        redacted=sorted(stats.redacted.items()),
        disk=None if stats.disk is None else _disk(stats.disk),
    )


def _numbers(active: int, archived: int, agents: int, pending: int, failed: int) -> list[Number]:
    waiting = Number(
        "wait for their vector", f"{pending:,}", None, "found by words until then" if pending else None
    )
    if failed:
        waiting = Number("have no vector", f"{pending + failed:,}", None, f"{failed:,} could not be embedded")
    return [
        Number("memories", f"{active:,}", "/"),
        Number("in the archive", f"{archived:,}", "/archive"),
        Number("agents", f"{agents:,}", "/agents"),
        waiting,
    ]


async def _uses(scope: Scope, noesis: Noesis) -> Uses:
    now = noesis.now_ms()
    most = await noesis.usage.most(scope, _SHOWN)
    never = await noesis.usage.never(scope, _SHOWN)
    return Uses(
        most=tuple(
            Used(
                row(each.memory, "", now),
                f"{_times(each.use.search + each.use.recall + each.use.assemble)}: found {each.use.search:,},"
                f" recalled {each.use.recall:,}, in prompts {each.use.assemble:,}",
            )
            for each in most
        ),
        never=tuple(row(memory, "", now) for memory in never.oldest),
        never_count=never.count,
    )


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count:,} times"


def _shares(counts: Mapping[str, int]) -> list[tuple[str, str, int]]:
    """Names with their count in words and as a share of the largest, largest first."""
    most = max(counts.values(), default=0)
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return [(name, f"{count:,}", round(100 * count / most)) for name, count in ordered if count]


def _told(hours: Sequence[HourOfSearches]) -> str | None:
    if not hours:
        return None
    searches = sum(hour.searches for hour in hours)
    last = hours[-1]
    return (
        f"{searches:,} search{'' if searches == 1 else 'es'} in the last seven days. In the latest hour of them half"
        f" answered within {last.p50_ms:,.0f} ms, 95 % within {last.p95_ms:,.0f} ms."
    )


def _disk(disk: Disk) -> list[tuple[str, str]]:
    index = (
        "none: search is exact"
        if disk.vector_index is None
        else f"{disk.vector_index}, {disk.indexed_vectors:,} vectors"
    )
    return [
        ("On the disk", size(disk.bytes)),
        ("Rows", f"{disk.rows:,} in {disk.fragments:,} piece{'' if disk.fragments == 1 else 's'}"),
        ("Vector index", index),
        (
            "Not indexed yet",
            f"{disk.unindexed_vectors:,} vectors, {disk.unindexed_words:,} texts: found all the same",
        ),
    ]


def size(count: int) -> str:
    """Bytes in the unit people use: `12.3 MB`."""
    for least, unit in _UNITS:
        if count >= least:
            return f"{count / least:.1f} {unit}"
    return f"{count:,} bytes"


def _day(at_ms: int) -> str:
    return f"{datetime.fromtimestamp(at_ms / 1000, UTC):%Y-%m-%d}"


def _hour(at_ms: int) -> str:
    return f"{datetime.fromtimestamp(at_ms / 1000, UTC):%m-%d %H:00}"


HANDLERS = [show_stats]
