"""The page that brings a part of a backup back: an agent's memories, a source's, or those that are chosen."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from urllib.parse import urlencode

import msgspec
from litestar import Response, get, post
from litestar.params import FromPath

from noesis.api.access import PAGE, Wired
from noesis.backup.values import Beside, Wanted
from noesis.dashboard.backup_look import begun, look_of, under_way
from noesis.dashboard.backups_page import HERE, start_restore
from noesis.dashboard.duplicate_cards import marked
from noesis.dashboard.forms import read_fields
from noesis.dashboard.inbox_cards import cut
from noesis.dashboard.rendering import PageRequest, page, see
from noesis.dashboard.translation import _, gettext_noop
from noesis.errors import Conflict, InvalidInput, NoesisError
from noesis.ledger import JobArgs
from noesis.runtime import Noesis
from noesis.text.normalise import agent_name

STATES = {
    "missing": gettext_noop("no longer here"),
    "changed": gettext_noop("different now"),
    "forgotten": gettext_noop("forgotten since: it stays away"),
}
"""How a memory of a backup stands to that of now."""

_SHOWN = 40
_LONGEST = 1000


class BesideRow(msgspec.Struct, frozen=True, kw_only=True):
    """A memory as it was and as it is; `now` is empty where it is not there."""

    id: str
    agent: str
    state: str
    can_come: bool
    then: tuple[tuple[str, bool], ...]
    now: tuple[tuple[str, bool], ...]


@get("/backups/{name:str}/part", opt=PAGE, include_in_schema=False)
async def show_part(request: PageRequest, noesis: Wired, name: FromPath[str]) -> Response[str]:
    """A part of a backup beside what is there now, by a look at all of the backup."""
    return await _page(request, noesis, name, dict(request.query_params), None)


@post("/backups/{name:str}/part", opt=PAGE, include_in_schema=False, status_code=200)
async def bring_back(request: PageRequest, noesis: Wired, name: FromPath[str]) -> Response[str]:
    """Start bringing the chosen memories back, or all of the part."""
    fields = await read_fields(request)
    typed, ids = dict(fields), [value for name, value in fields if name == "id"]
    noesis.backups.shelf.path(name)
    try:
        wanted = _wanted(typed) if typed.get("which") == "all" else Wanted(ids=tuple(ids))
        if wanted.whole:
            raise InvalidInput(gettext_noop("Choose the memories that are to come back."), field="id")
        args: JobArgs = {
            "name": name,
            "actor": request.auth.actor,
            "agent": wanted.agent,
            "source": wanted.source,
            "ids": list(wanted.ids) or None,
        }
        await start_restore(noesis, args)
    except (InvalidInput, Conflict) as error:
        return await _page(request, noesis, name, typed, error)
    await noesis.audit.record(request.auth.actor, "restore of a part started", name)
    return see("/backups?said=part-started")


async def _page(
    request: PageRequest, noesis: Noesis, name: str, typed: Mapping[str, str], error: NoesisError | None
) -> Response[str]:
    noesis.backups.shelf.path(name)
    rows: list[BesideRow] | None = None
    same = 0
    try:
        wanted = _wanted(typed)
        job = await look_of(noesis, name, wanted, typed.get("look"))
        if job is None and not wanted.whole and error is None:
            asked = {"agent": typed.get("agent", ""), "source": typed.get("source", "")}
            return await begun(noesis, name, wanted, f"/backups/{name}/part?{urlencode(asked)}")
        if job is not None:
            looked = await asyncio.to_thread(noesis.backups.looks.of, job)
            if looked is None:
                return under_way(request, noesis, HERE, name, job)
            found = looked.memories or []
            rows = [_row(each) for each in found[:_SHOWN] if each.state != "same"]
            same = sum(each.state == "same" for each in found[:_SHOWN])
    except NoesisError as refused:
        found, error = [], error or refused
    stats = await noesis.statistics.stats(request.auth)
    return page(
        request,
        "backup_part.html",
        here=HERE,
        status=200 if error is None else error.status_code,
        name=name,
        agents=sorted({*stats.active.by_agent, *stats.archive.by_agent}),
        agent=typed.get("agent", ""),
        source=typed.get("source", ""),
        look=typed.get("look", ""),
        rows=rows,
        same=same,
        is_cut=rows is not None and len(found) > _SHOWN,
        error=error,
    )


def _row(beside: Beside) -> BesideRow:
    now = beside.now or ""
    return BesideRow(
        id=beside.id,
        agent=beside.agent_id,
        state=_(STATES[beside.state]),
        can_come=beside.state != "forgotten",
        then=marked(beside.then[: cut(beside.then)], [now])
        if now
        else ((beside.then[: cut(beside.then)], False),),
        now=marked(now[: cut(now)], [beside.then]) if now else (),
    )


def _wanted(typed: Mapping[str, str]) -> Wanted:
    agent, source = (typed.get(field, "").strip()[:_LONGEST] for field in ("agent", "source"))
    try:
        return Wanted(agent=agent_name(agent) if agent else None, source=source or None)
    except InvalidInput as error:
        raise InvalidInput(error.message, field="agent") from error


HANDLERS = [show_part, bring_back]
