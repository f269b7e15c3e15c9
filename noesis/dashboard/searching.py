"""The search page, which is the first page."""

from __future__ import annotations

import time
from typing import Any

import msgspec
from litestar import Response, get
from litestar.datastructures import State

from noesis.api.access import PAGE, Wired
from noesis.dashboard import search_form
from noesis.dashboard.first_steps import are_over
from noesis.dashboard.presenters import Row, hit_row, row, took
from noesis.dashboard.rendering import PageRequest, base_url, page
from noesis.dashboard.search_form import SearchForm
from noesis.dashboard.translation import _, pgettext
from noesis.errors import EmbedderError, InvalidInput, NoesisError
from noesis.memory import ArchiveUse, MemoryType, Mode, Scope
from noesis.runtime import Noesis

_NAMES_FOR_S = 15.0


class Results(msgspec.Struct, frozen=True, kw_only=True):
    """What the page shows below the form; `more` and `older` are addresses."""

    rows: tuple[Row, ...] = ()
    summary: str = ""
    degraded: str | None = None
    more: str | None = None
    older: str | None = None
    error: NoesisError | None = None


class AgentNames(msgspec.Struct, frozen=True):
    """The agents that have memories, and until when (monotonic s) this is believed."""

    names: tuple[str, ...]
    until: float


@get("/", opt=PAGE, include_in_schema=False)
async def show_search(request: PageRequest, noesis: Wired, state: State) -> Response[str]:
    """Search, or without a question the newest memories."""
    form = search_form.read(request.query_params)
    results = await _results(request.auth, noesis, form)
    status = 200 if results.error is None else results.error.status_code
    return page(
        request,
        "search.html",
        here="search",
        status=status,
        form=form,
        results=results,
        without_filters=search_form.address(SearchForm(q=form.q)),
        here_again=search_form.address(form),
        by_words=search_form.address(form, mode=Mode.KEYWORD.value),
        choices=await _choices(request.auth, noesis, state, {row.agent for row in results.rows}),
        base_url=base_url(request, https=noesis.settings.secure_cookies),
        in_first_steps=not await are_over(noesis),
    )


async def _results(scope: Scope, noesis: Noesis, form: SearchForm) -> Results:
    try:
        return await (_found if form.q else _newest)(scope, noesis, form)
    except (InvalidInput, EmbedderError) as error:
        return Results(error=error)


async def _found(scope: Scope, noesis: Noesis, form: SearchForm) -> Results:
    query = search_form.to_query(form)
    result = await noesis.search.search(scope, query)
    now = noesis.now_ms()
    is_full = len(result.hits) == query.limit < search_form.MOST
    limit = min(query.limit + search_form.MORE, search_form.MOST)
    return Results(
        rows=tuple(hit_row(hit, query.text, now) for hit in result.hits),
        summary=took(len(result.hits), result.timings.total),
        degraded=result.reason if result.degraded else None,
        more=search_form.address(form, limit=str(limit), cursor="") if is_full else None,
    )


async def _newest(scope: Scope, noesis: Noesis, form: SearchForm) -> Results:
    started = time.perf_counter()
    listed = await noesis.browsing.page(
        scope,
        search_form.to_filter(form),
        limit=search_form.limit_of(form),
        cursor=form.cursor or None,
        agent=search_form.agent_of(form),
        archived=search_form.archive_of(form) is ArchiveUse.ONLY,
    )
    now = noesis.now_ms()
    counted = took(len(listed.memories), (time.perf_counter() - started) * 1000)
    return Results(
        rows=tuple(row(memory, "", now) for memory in listed.memories),
        summary=_("%(counted)s, older", counted=counted)
        if form.cursor
        else _("%(counted)s, newest first", counted=counted),
        older=search_form.address(form, cursor=listed.cursor) if listed.cursor else None,
    )


async def _choices(scope: Scope, noesis: Noesis, state: State, seen: set[str]) -> dict[str, Any]:
    return {
        "agents": await _agent_names(scope, noesis, state, seen),
        "types": [kind.value for kind in MemoryType],
        "archive": [
            (ArchiveUse.NEVER.value, pgettext("the archive is searched", "never")),
            (ArchiveUse.ALWAYS.value, pgettext("the archive is searched", "always")),
            (ArchiveUse.ONLY.value, pgettext("the archive is searched", "only")),
        ],
        "modes": [
            (Mode.VECTOR.value, pgettext("part of a score", "meaning")),
            (Mode.KEYWORD.value, pgettext("part of a score", "words")),
        ],
    }


async def _agent_names(scope: Scope, noesis: Noesis, state: State, seen: set[str]) -> tuple[str, ...]:
    """Every agent's name.  Counting reads every row, so pages for each key stroke share an answer.

    It is taken anew when it is old or when the page shows an agent (`seen`) that it does not name.
    """
    known: AgentNames | None = state.get("dashboard_agent_names")
    if known is None or known.until < time.monotonic() or not seen.issubset(known.names):
        stats = await noesis.statistics.stats(scope)
        names = tuple(sorted({*stats.active.by_agent, *stats.archive.by_agent}))
        known = AgentNames(names, time.monotonic() + _NAMES_FOR_S)
        state["dashboard_agent_names"] = known
    return known.names


HANDLERS = [show_search]
