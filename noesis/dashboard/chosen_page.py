"""What is done with memories that were chosen in a list: looked at with their count, done, and undone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from urllib.parse import urlencode

import msgspec
from litestar import Response, get, post
from litestar.params import FromPath

from noesis.api.access import PAGE, Wired
from noesis.browsing import load_memories
from noesis.choosing import ARCHIVE, CHANGE, DELETE
from noesis.dashboard.chosen_form import ChosenForm, read, to_edit
from noesis.dashboard.forms import read_fields, read_form, safe_next
from noesis.dashboard.presenters import row
from noesis.dashboard.rendering import PageRequest, page, see
from noesis.dashboard.translation import gettext_noop, ngettext, ngettext_noop, number
from noesis.errors import Conflict, InvalidInput, NoesisError, NotFound, StoreError
from noesis.memory import MAX_LIMIT, MemoryType
from noesis.runtime import Noesis

DONE = {
    CHANGE: ngettext_noop("One memory was changed", "%(count)s memories were changed"),
    ARCHIVE: ngettext_noop(
        "One memory was moved to the archive", "%(count)s memories were moved to the archive"
    ),
    DELETE: ngettext_noop("One memory was deleted", "%(count)s memories were deleted"),
}
"""What was done, by the act's name."""

_SHOWN = 8
_MOST_FIELDS = MAX_LIMIT + 8


@post("/chosen", opt=PAGE, include_in_schema=False, status_code=200)
async def show_chosen(request: PageRequest, noesis: Wired) -> Response[str]:
    """The chosen memories, or all that the list showed, and what can be done with them."""
    fields = await read_fields(request, most=_MOST_FIELDS)
    told = dict(fields)
    ids = [value for name, value in fields if name == "id"]
    if told.get("which") == "shown":
        ids = told.get("shown", "").split()
    back = safe_next(told.get("back"))
    if not ids:
        return see(_with(back, said="none-chosen"))
    return await _page(request, noesis, ChosenForm(ids=" ".join(ids), back=back), None)


@post("/chosen/act", opt=PAGE, include_in_schema=False, status_code=200)
async def act(request: PageRequest, noesis: Wired) -> Response[str]:
    """Do it to exactly as many as were shown; a mistake brings the page back with what was typed."""
    form = read(await read_form(request))
    try:
        edit = to_edit(form) if form.act == CHANGE else None
        if form.act not in DONE:
            raise InvalidInput(gettext_noop("Choose what is to be done."))
        act_id = await noesis.oversight.choosing.act(
            request.auth, form.act, form.ids.split(), form.counted, edit
        )
    except (InvalidInput, Conflict, StoreError) as error:
        return await _page(request, noesis, form, error)
    return see(_with(f"/chosen/{act_id}", back=form.back))


@get("/chosen/{act_id:str}", opt=PAGE, include_in_schema=False)
async def show_done(request: PageRequest, noesis: Wired, act_id: FromPath[str]) -> Response[str]:
    """What was done, and the button that undoes it."""
    back = safe_next(request.query_params.get("back"))
    done = await noesis.oversight.choosing.get(request.auth, act_id)
    return page(
        request,
        "chosen_done.html",
        here="search",
        act=done,
        words=ngettext(*DONE[done.act], len(done.before), count=number(len(done.before))),
        back=back,
        rows=await _rows(noesis, [each.id for each in done.before[:_SHOWN]]),
        more=max(0, len(done.before) - _SHOWN),
    )


@post("/chosen/{act_id:str}/undo", opt=PAGE, include_in_schema=False, status_code=200)
async def undo(request: PageRequest, noesis: Wired, act_id: FromPath[str]) -> Response[str]:
    """Put them back as they were."""
    back = safe_next((await read_form(request)).get("back"))
    try:
        undone = await noesis.oversight.choosing.undo(request.auth, act_id)
    except NotFound:
        return see(_with(back, said="undone-before"))
    return see(_with(back, said="undone-partly" if undone.left_out else "undone"))


async def _page(
    request: PageRequest, noesis: Noesis, form: ChosenForm, error: NoesisError | None
) -> Response[str]:
    standing = await noesis.oversight.choosing.standing(request.auth, form.ids.split())
    ids = [each.id for each in standing]
    active = sum(each.archived_at is None for each in standing)
    return page(
        request,
        "chosen.html",
        here="search",
        status=200 if error is None else error.status_code,
        form=msgspec.structs.replace(form, ids=" ".join(ids)),
        count=len(ids),
        active=active,
        rows=await _rows(noesis, ids[:_SHOWN]),
        more=max(0, len(ids) - _SHOWN),
        types=[kind.value for kind in MemoryType],
        error=error,
    )


async def _rows(noesis: Noesis, ids: Sequence[str]) -> list[object]:
    """The memories for a list, as they are now, wherever they lie."""
    now = noesis.now_ms()
    found = {
        memory.id: memory
        for table in (noesis.store.archive, noesis.store.active)
        for memory in await load_memories(table, ids)
    }
    return [row(found[memory_id], "", now) for memory_id in ids if memory_id in found]


def _with(address: str, **more: str) -> str:
    """The address with more parameters."""
    told: Mapping[str, str] = {name: value for name, value in more.items() if value}
    return f"{address}{'&' if '?' in address else '?'}{urlencode(told)}" if told else address


HANDLERS = [show_chosen, act, show_done, undo]
