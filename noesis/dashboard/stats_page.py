"""The page of figures: what is remembered, how it grows, what is used, how fast search answers, how it lies."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

import msgspec
from litestar import Response, get

from noesis.api.access import PAGE, Wired
from noesis.dashboard import charts
from noesis.dashboard.presenters import Row, row
from noesis.dashboard.rendering import PageRequest, page
from noesis.dashboard.translation import _, gettext_noop, ngettext, number
from noesis.latencies import HourOfSearches
from noesis.memory import Scope
from noesis.runtime import Noesis
from noesis.stats import Disk

HERE = "stats"
_WEEKS = 26
_HOURS = 7 * 24
_SHOWN = 8
_UNITS = (
    (1 << 30, gettext_noop("%(amount)s GB")),
    (1 << 20, gettext_noop("%(amount)s MB")),
    (1 << 10, gettext_noop("%(amount)s kB")),
)


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
        agents=_shares(sorted(stats.active.by_agent.items(), key=lambda item: (-item[1], item[0]))),
        priorities=_shares(reversed(stats.active.by_priority.items())),
        latency=charts.line([(_hour(each.hour_ms), each.p95_ms) for each in hours], "ms"),
        searches=_told(hours),
        uses=await _uses(scope, noesis),
        embedder=stats.embedder,
        redacted=[f"{kind} {number(count)}" for kind, count in sorted(stats.redacted.items())],
        disk=None if stats.disk is None else _disk(stats.disk),
    )


def _numbers(active: int, archived: int, agents: int, pending: int, failed: int) -> list[Number]:
    if failed:
        concern = _("%(count)s could not be embedded", count=number(failed))
        waiting = Number(_("have no vector"), number(pending + failed), None, concern)
    else:
        concern = _("found by words until then")
        waiting = Number(_("wait for their vector"), number(pending), None, concern if pending else None)
    return [
        Number(_("memories"), number(active), "/"),
        Number(_("in the archive"), number(archived), "/archive"),
        Number(_("agents"), number(agents), "/agents"),
        waiting,
    ]


async def _uses(scope: Scope, noesis: Noesis) -> Uses:
    now = noesis.now_ms()
    most = await noesis.usage.most(scope, _SHOWN)
    never = await noesis.usage.never(scope, _SHOWN)
    return Uses(
        most=tuple(
            Used(row(each.memory, "", now), _used(each.use.search, each.use.recall, each.use.assemble))
            for each in most
        ),
        never=tuple(row(memory, "", now) for memory in never.oldest),
        never_count=never.count,
    )


def _used(found: int, recalled: int, in_prompts: int) -> str:
    count = found + recalled + in_prompts
    return ngettext(
        "once: found %(found)s, recalled %(recalled)s, in prompts %(in_prompts)s",
        "%(count)s times: found %(found)s, recalled %(recalled)s, in prompts %(in_prompts)s",
        count,
        count=number(count),
        found=number(found),
        recalled=number(recalled),
        in_prompts=number(in_prompts),
    )


def _shares(counts: Iterable[tuple[str, int]]) -> list[tuple[str, str, int]]:
    """Names with their count in words and as a share of the largest, in the order they come."""
    counted = [(name, count) for name, count in counts if count]
    most = max((count for _name, count in counted), default=0)
    return [(name, number(count), round(100 * count / most)) for name, count in counted]


def _told(hours: Sequence[HourOfSearches]) -> str | None:
    if not hours:
        return None
    searches = sum(hour.searches for hour in hours)
    last = hours[-1]
    return ngettext(
        "%(count)s search in the last seven days. In the latest hour of them half answered within %(half)s ms, 95 %% within %(most)s ms.",
        "%(count)s searches in the last seven days. In the latest hour of them half answered within %(half)s ms, 95 %% within %(most)s ms.",
        searches,
        count=number(searches),
        half=number(last.p50_ms),
        most=number(last.p95_ms),
    )


def _disk(disk: Disk) -> list[tuple[str, str]]:
    rows = ngettext(
        "%(rows)s in %(count)s piece",
        "%(rows)s in %(count)s pieces",
        disk.fragments,
        rows=number(disk.rows),
        count=number(disk.fragments),
    )
    not_indexed = _(
        "%(vectors)s vectors, %(texts)s texts: found all the same",
        vectors=number(disk.unindexed_vectors),
        texts=number(disk.unindexed_words),
    )
    return [
        (_("On the disk"), size(disk.bytes)),
        (_("Rows"), rows),
        (_("Vector index"), _index_words(disk)),
        (_("Not indexed yet"), not_indexed),
    ]


def _index_words(disk: Disk) -> str:
    if disk.vector_index is None:
        return _("none: search is exact")
    return _("%(kind)s, %(count)s vectors", kind=disk.vector_index, count=number(disk.indexed_vectors))


def size(count: int) -> str:
    """Bytes in the unit people use: `12.3 MB`."""
    for least, unit in _UNITS:
        if count >= least:
            return _(unit, amount=number(count / least, 1))
    return ngettext("%(count)s byte", "%(count)s bytes", count, count=number(count))


def _day(at_ms: int) -> str:
    return f"{datetime.fromtimestamp(at_ms / 1000, UTC):%Y-%m-%d}"


def _hour(at_ms: int) -> str:
    return f"{datetime.fromtimestamp(at_ms / 1000, UTC):%m-%d %H:00}"


HANDLERS = [show_stats]
