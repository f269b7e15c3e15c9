"""The search page's address: what it says, what it means, and addresses like it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from urllib.parse import urlencode

import msgspec

from noesis.dashboard.translation import gettext_noop
from noesis.errors import InvalidInput
from noesis.memory import ArchiveUse, MemoryFilter, MemoryType, Mode, SearchQuery, check_tags, to_ms
from noesis.text.normalise import agent_name

FIRST_LIMIT = 20
MORE = 40
MOST = 200

NO_LIMIT = gettext_noop("limit must be a whole number from 1 to %(most)s.")
NOT_ONE_OF = gettext_noop("%(field)s must be one of %(allowed)s.")

_LONGEST_FIELD = 2000


class SearchForm(msgspec.Struct, frozen=True, kw_only=True):
    """The fields as they were typed; empty means that nothing is asked."""

    q: str = ""
    agent: str = ""
    type: str = ""
    tag: str = ""
    after: str = ""
    before: str = ""
    archive: str = ""
    mode: str = ""
    limit: str = ""
    cursor: str = ""

    @property
    def filters_set(self) -> int:
        """How many of the filters behind `More filters` are set."""
        return sum(1 for value in (self.tag, self.after, self.before, self.archive, self.mode) if value)

    @property
    def narrows(self) -> bool:
        """Whether anything but the page is asked for."""
        return bool(self.q or self.agent or self.type or self.filters_set)


def read(parameters: Mapping[str, str]) -> SearchForm:
    """The form from the address's parameters; the standard choices count as nothing asked."""
    values = {
        name: parameters.get(name, "").strip()[:_LONGEST_FIELD] for name in SearchForm.__struct_fields__
    }
    values["q"] = parameters.get("q", "").strip()
    if values["archive"] == ArchiveUse.AUTO:
        values["archive"] = ""
    if values["mode"] == Mode.HYBRID:
        values["mode"] = ""
    return SearchForm(**values)


def address(form: SearchForm, **changes: str) -> str:
    """The address of this search with some fields changed; empty ones are left out."""
    values = msgspec.structs.asdict(form) | changes
    query = urlencode({name: value for name, value in values.items() if value})
    return f"/?{query}" if query else "/"


def to_query(form: SearchForm) -> SearchQuery:
    """The question.  Raises InvalidInput naming the field."""
    return SearchQuery(
        text=form.q,
        limit=limit_of(form),
        mode=Mode(_choice(form.mode, Mode, "mode")) if form.mode else Mode.HYBRID,
        filter=to_filter(form),
        archive=archive_of(form),
        explain=True,
        agent=agent_of(form),
    )


def to_filter(form: SearchForm) -> MemoryFilter:
    """The filters.  Raises InvalidInput naming the field."""
    tags = check_tags([tag for tag in form.tag.split(",") if tag.strip()])
    kinds = (MemoryType(_choice(form.type, MemoryType, "type")),) if form.type else ()
    return MemoryFilter(
        memory_types=kinds,
        tags=tags,
        after=_start_of(form.after, "after") if form.after else None,
        before=_start_of(form.before, "before", days=1) if form.before else None,
    )


def agent_of(form: SearchForm) -> str | None:
    """The one agent whose memories are asked for.  Raises InvalidInput."""
    return agent_name(form.agent) if form.agent else None


def archive_of(form: SearchForm) -> ArchiveUse:
    """When to look into the archive.  Raises InvalidInput."""
    return ArchiveUse(_choice(form.archive, ArchiveUse, "archive")) if form.archive else ArchiveUse.AUTO


def limit_of(form: SearchForm) -> int:
    """How many hits at most.  Raises InvalidInput."""
    if not form.limit:
        return FIRST_LIMIT
    if not (form.limit.isascii() and form.limit.isdigit() and 1 <= int(form.limit[:4]) <= MOST):
        raise InvalidInput(NO_LIMIT % {"most": MOST}, field="limit")
    return int(form.limit)


def _choice(value: str, kind: type[Mode | ArchiveUse | MemoryType], field: str) -> str:
    allowed = [str(choice.value) for choice in kind]
    if value not in allowed:
        raise InvalidInput(NOT_ONE_OF % {"field": field, "allowed": ", ".join(allowed)}, field=field)
    return value


def _start_of(day: str, field: str, *, days: int = 0) -> int:
    """The first ms of a day, UTC, or of the one `days` later."""
    try:
        start = datetime.combine(date.fromisoformat(day) + timedelta(days=days), datetime.min.time(), UTC)
    except (ValueError, OverflowError) as error:
        raise InvalidInput(gettext_noop("A day looks like 2026-05-04."), field=field) from error
    return to_ms(start, field)
