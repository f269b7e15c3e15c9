"""The page of the archive: what expired or left its source, brought back by one or many, and what goes for good."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from urllib.parse import urlencode

import msgspec
from litestar import Response, get, post

from noesis.api.access import PAGE, Wired
from noesis.archiving import Restored
from noesis.dashboard.edit_form import days_of
from noesis.dashboard.forms import read_fields
from noesis.dashboard.presenters import Moment, Row, moment, row
from noesis.dashboard.recognising import said
from noesis.dashboard.rendering import PageRequest, page, see
from noesis.dashboard.translation import _, gettext_noop, listed
from noesis.errors import InvalidInput
from noesis.memory import BY_HAND, EXPIRED, MERGED, SOURCE_GONE, MemoryType
from noesis.runtime import Noesis
from noesis.text.normalise import agent_name

HERE = "archive"
REASONS = {
    EXPIRED: gettext_noop("expired"),
    SOURCE_GONE: gettext_noop("its source is gone"),
    MERGED: gettext_noop("merged into another"),
    BY_HAND: gettext_noop("archived by hand"),
}
"""Why a memory lies in the archive, in words."""

ARCHIVED = gettext_noop("archived")

_ON_A_PAGE = 40
_NEXT = 20
_LONGEST = 200


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """What the address asks for; an empty text means all."""

    agent: str = ""
    type: str = ""
    month: str = ""
    reason: str = ""
    cursor: str = ""

    @property
    def is_filtered(self) -> bool:
        """Whether anything but a page further back is asked for."""
        return bool(self.agent or self.type or self.month or self.reason)

    def address(self, **changes: str) -> str:
        """The page with these fields changed."""
        fields = {**msgspec.structs.asdict(self), **changes}
        told = urlencode({name: value for name, value in fields.items() if value})
        return f"/archive?{told}" if told else "/archive"


class ArchivedRow(msgspec.Struct, frozen=True):
    """A memory of the archive, why it lies there and since when."""

    row: Row
    reason: str
    at: Moment | None


@get("/archive", opt=PAGE, include_in_schema=False)
async def show_archive(request: PageRequest, noesis: Wired) -> Response[str]:
    """The archive by agent, type, month and reason, newest first."""
    return await _page(request, noesis, _wanted(request.query_params), None)


@post("/archive/restore", opt=PAGE, include_in_schema=False, status_code=200)
async def bring_back(request: PageRequest, noesis: Wired) -> Response[str]:
    """Bring the chosen memories back; a mistake brings the page back as it was."""
    fields = await read_fields(request)
    wanted = _wanted({name: value for name, value in fields if name != "id"})
    ids = [value for name, value in fields if name == "id"]
    raw = dict(fields).get("ttl_days", "").strip()
    try:
        if not ids:
            raise InvalidInput(gettext_noop("Choose the memories that are to come back."), field="id")
        restored = await noesis.retention.archiving.restore(
            request.auth, ids, days_of(raw, "ttl_days") if raw else None
        )
    except InvalidInput as error:
        return await _page(request, noesis, wanted, error, frozenset(ids), raw)
    if all(each.outcome in ("restored", "active") for each in restored):
        return see(wanted.address(said="restored", cursor=""))
    return await _page(request, noesis, wanted, InvalidInput(said(_told(restored))))


@get("/archive/next", opt=PAGE, include_in_schema=False)
async def show_next(request: PageRequest, noesis: Wired) -> Response[str]:
    """What is deleted for good next."""
    now = noesis.now_ms()
    found = await noesis.retention.purging.expiring(request.auth, limit=_NEXT)
    return page(
        request,
        "archive_next.html",
        here=HERE,
        rows=[(row(each.memory, "", now), moment(each.purge_at, now), each.memory.deleted) for each in found],
        archive_days=noesis.settings.archive_ttl_days,
        deleted_days=noesis.settings.deleted_keep_days,
    )


async def _page(
    request: PageRequest,
    noesis: Noesis,
    wanted: Wanted,
    error: InvalidInput | None,
    chosen: frozenset[str] = frozenset(),
    ttl_days: str = "",
) -> Response[str]:
    shelf = await noesis.retention.archiving.browse(
        request.auth,
        memory_type=_type(wanted.type),
        month=wanted.month or None,
        reason=wanted.reason if wanted.reason in REASONS else None,
        limit=_ON_A_PAGE,
        cursor=wanted.cursor or None,
        agent=agent_name(wanted.agent) if wanted.agent else None,
    )
    now = noesis.now_ms()
    archived = await noesis.statistics.archived(request.auth)
    return page(
        request,
        "archive.html",
        here=HERE,
        status=200 if error is None else error.status_code,
        rows=[
            ArchivedRow(
                row(memory, "", now),
                _(REASONS.get(memory.archive_reason or "", ARCHIVED)),
                None if memory.archived_at is None else moment(memory.archived_at, now),
            )
            for memory in shelf.page.memories
        ],
        total=archived.memories,
        agents=sorted(archived.by_agent),
        months=shelf.months,
        types=shelf.types,
        reasons={reason: _(words) for reason, words in REASONS.items()},
        wanted=wanted,
        older=wanted.address(cursor=shelf.page.cursor) if shelf.page.cursor else None,
        everything=Wanted().address(),
        chosen=chosen,
        ttl_days=ttl_days,
        error=error,
    )


def _told(restored: list[Restored]) -> str:
    counts: Counter[str] = Counter(each.outcome for each in restored)
    words = {
        "no_room": _("%(count)s found no room: the agent's quota is used up", count=counts["no_room"]),
        "not_found": _("%(count)s are gone for good", count=counts["not_found"]),
        "deleted": _(
            "%(count)s were deleted by hand: bring them back on their own page", count=counts["deleted"]
        ),
    }
    rest = listed(told for outcome, told in words.items() if counts[outcome])
    came = counts["restored"] + counts["active"]
    return _("%(count)s came back; %(rest)s.", count=came, rest=rest)


def _wanted(parameters: Mapping[str, str]) -> Wanted:
    return Wanted(**{name: (parameters.get(name) or "")[:_LONGEST] for name in Wanted.__struct_fields__})


def _type(raw: str) -> MemoryType | None:
    try:
        return MemoryType(raw)
    except ValueError:
        return None


HANDLERS = [show_archive, bring_back, show_next]
