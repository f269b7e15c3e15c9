"""The pages of the inbox: look at what waits, let it in or throw it away."""

from __future__ import annotations

from urllib.parse import urlencode

from litestar import Response, get, post
from litestar.params import FromPath

from noesis.api.access import PAGE, Wired
from noesis.dashboard.forms import MAX_FORM_BYTES, read_form
from noesis.dashboard.inbox_cards import card
from noesis.dashboard.rendering import COUNTS, PageRequest, page, see
from noesis.dashboard.translation import gettext_noop
from noesis.errors import Conflict, InvalidInput, NoesisError, StoreError
from noesis.inbox import Waiting
from noesis.memory import Indexed
from noesis.runtime import Noesis

HERE = "inbox"

_ON_A_PAGE = 25
_LONGEST_CURSOR = 200


@get("/inbox", opt=PAGE, include_in_schema=False)
async def show_inbox(request: PageRequest, noesis: Wired) -> Response[str]:
    """What waits, newest first."""
    cursor = request.query_params.get("cursor") or None
    found = await noesis.inflow.inbox.page(request.auth, limit=_ON_A_PAGE, cursor=cursor)
    now = noesis.now_ms()
    return page(
        request,
        "inbox.html",
        here=HERE,
        cards=[card(waiting, now) for waiting in found.waiting],
        total=request.scope[COUNTS]["captured"],  # type: ignore[literal-required]
        cursor=cursor or "",
        older=_address(found.cursor) if found.cursor else None,
    )


@post("/inbox/{waiting_id:str}/approve", opt=PAGE, include_in_schema=False, status_code=200)
async def approve(request: PageRequest, noesis: Wired, waiting_id: FromPath[str]) -> Response[str]:
    """Let a text in as it is; one that cannot be stored comes back with the reason."""
    cursor = (await read_form(request)).get("cursor", "")
    try:
        waiting = await noesis.inflow.inbox.get(request.auth, waiting_id)
        indexed = await _let_in(request, noesis, waiting_id)
    except Conflict:
        return see(_address(cursor, "decided-before"))
    except (InvalidInput, StoreError) as error:
        return _edit_page(request, noesis, waiting, waiting.memory.text, error)
    return see(_address(cursor, _said(indexed)))


@post("/inbox/{waiting_id:str}/reject", opt=PAGE, include_in_schema=False, status_code=200)
async def reject(request: PageRequest, noesis: Wired, waiting_id: FromPath[str]) -> Response[str]:
    """Throw a text away."""
    cursor = (await read_form(request)).get("cursor", "")
    try:
        await noesis.inflow.inbox.reject(request.auth, waiting_id)
    except Conflict:
        return see(_address(cursor, "decided-before"))
    await noesis.audit.record(request.auth.actor, "inbox rejected", waiting_id)
    return see(_address(cursor, "thrown-away"))


@get("/inbox/{waiting_id:str}/edit", opt=PAGE, include_in_schema=False)
async def show_edit(request: PageRequest, noesis: Wired, waiting_id: FromPath[str]) -> Response[str]:
    """The form that corrects a text before it is let in."""
    waiting = await noesis.inflow.inbox.get(request.auth, waiting_id)
    return _edit_page(request, noesis, waiting, waiting.memory.text, None)


@post(
    "/inbox/{waiting_id:str}/edit",
    opt=PAGE,
    include_in_schema=False,
    status_code=200,
    request_max_body_size=MAX_FORM_BYTES,
)
async def approve_edited(request: PageRequest, noesis: Wired, waiting_id: FromPath[str]) -> Response[str]:
    """Let a corrected text in; a mistake brings the form back as it was typed."""
    text = (await read_form(request)).get("text", "").replace("\r\n", "\n")
    waiting = await noesis.inflow.inbox.get(request.auth, waiting_id)
    try:
        indexed = await _let_in(request, noesis, waiting_id, text=text)
    except (InvalidInput, StoreError) as error:
        return _edit_page(request, noesis, waiting, text, error)
    return see(_address("", _said(indexed)))


@get("/inbox/{waiting_id:str}/always", opt=PAGE, include_in_schema=False)
async def ask_always(request: PageRequest, noesis: Wired, waiting_id: FromPath[str]) -> Response[str]:
    """Ask before trusting where a text comes from."""
    waiting = await noesis.inflow.inbox.get(request.auth, waiting_id)
    return _always_page(request, noesis, waiting, None)


@post("/inbox/{waiting_id:str}/always", opt=PAGE, include_in_schema=False, status_code=200)
async def approve_always(request: PageRequest, noesis: Wired, waiting_id: FromPath[str]) -> Response[str]:
    """Let a text in and trust its origin from now on, if the box is ticked."""
    fields = await read_form(request)
    waiting = await noesis.inflow.inbox.get(request.auth, waiting_id)
    try:
        if fields.get("always") != "yes":
            raise InvalidInput(gettext_noop("Tick the box if you mean it."), field="always")
        await _let_in(request, noesis, waiting_id, always=True)
    except (InvalidInput, StoreError) as error:
        return _always_page(request, noesis, waiting, error)
    return see(_address("", "let-in-always"))


async def _let_in(
    request: PageRequest, noesis: Noesis, waiting_id: str, *, text: str | None = None, always: bool = False
) -> Indexed:
    indexed = await noesis.inflow.inbox.approve(request.auth, waiting_id, text=text, always=always)
    await noesis.audit.record(request.auth.actor, "inbox approved", waiting_id)
    return indexed


def _said(indexed: Indexed) -> str:
    return "let-in-known" if indexed.duplicate else "let-in"


def _address(cursor: str, said: str = "") -> str:
    """The inbox from a cursor on; one of no sensible length is dropped, the page itself judges the rest."""
    asked = {"cursor": cursor if len(cursor) <= _LONGEST_CURSOR else "", "said": said}
    query = urlencode({name: value for name, value in asked.items() if value})
    return f"/inbox?{query}" if query else "/inbox"


def _edit_page(
    request: PageRequest, noesis: Noesis, waiting: Waiting, text: str, error: NoesisError | None
) -> Response[str]:
    shown = card(waiting, noesis.now_ms())
    status = 200 if error is None else error.status_code
    return page(request, "inbox_edit.html", here=HERE, status=status, card=shown, text=text, error=error)


def _always_page(
    request: PageRequest, noesis: Noesis, waiting: Waiting, error: NoesisError | None
) -> Response[str]:
    shown = card(waiting, noesis.now_ms())
    status = 200 if error is None else error.status_code
    return page(request, "inbox_always.html", here=HERE, status=status, card=shown, error=error)


HANDLERS = [show_inbox, approve, reject, show_edit, approve_edited, ask_always, approve_always]
