"""The form that corrects a memory: its fields as text, and the change they mean."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from noesis.dashboard.translation import gettext_noop
from noesis.editing import Edit
from noesis.errors import Conflict, InvalidInput
from noesis.memory import MAX_TTL_DAYS, Memory, MemoryType

CHANGED_SINCE = gettext_noop(
    "The text was changed by somebody else since this page was opened. Compare before saving again."
)
NO_TYPE = gettext_noop("The type must be one of %(names)s.")
NO_DAYS = gettext_noop("The days must lie between 0 (never) and %(most)s.")


class EditForm(msgspec.Struct, frozen=True, kw_only=True):
    """The fields as they were typed; `seen` is the content hash of the text that was shown.

    An empty priority is that of the type, an empty TTL leaves the expiry as it is.
    """

    text: str
    memory_type: str
    priority: str
    tags: str
    ttl_days: str = ""
    seen: str = ""


def form_of(memory: Memory) -> EditForm:
    """The form filled with what is stored."""
    return EditForm(
        text=memory.text,
        memory_type=memory.memory_type.value,
        priority="" if memory.priority_set_by == "type" else str(memory.priority),
        tags=", ".join(memory.tags),
        seen=memory.content_hash,
    )


def read(fields: Mapping[str, str]) -> EditForm:
    """The form as it was sent; browsers end lines with CR LF."""
    values = {name: fields.get(name, "").strip() for name in EditForm.__struct_fields__}
    return EditForm(**values | {"text": fields.get("text", "").replace("\r\n", "\n")})


def to_edit(form: EditForm, memory: Memory) -> Edit:
    """Only what the form changes, so that fields nobody touched stay as somebody else left them.

    Raises InvalidInput naming the field, or Conflict when the text changed since it was shown.
    """
    shown = form_of(memory)
    changes: dict[str, Any] = {}
    if form.text != shown.text:
        if form.seen != shown.seen:
            raise Conflict(CHANGED_SINCE, field="text")
        changes["text"] = form.text
    if form.memory_type != shown.memory_type:
        changes["memory_type"] = memory_type_of(form.memory_type)
    if form.priority != shown.priority:
        changes["priority"] = priority_of(form.priority) if form.priority else None
    if (tags := tags_of(form.tags)) != memory.tags:
        changes["tags"] = tags
    if form.ttl_days:
        changes["ttl_days"] = days_of(form.ttl_days, "ttl_days")
    return Edit(**changes)


def tags_of(raw: str) -> tuple[str, ...]:
    """Tags from a list with commas."""
    return tuple(tag.strip() for tag in raw.split(",") if tag.strip())


def memory_type_of(raw: str) -> MemoryType:
    """The type of this name.  Raises InvalidInput."""
    try:
        return MemoryType(raw)
    except ValueError as error:
        names = ", ".join(kind.value for kind in MemoryType)
        raise InvalidInput(NO_TYPE % {"names": names}, field="memory_type") from error


def priority_of(raw: str) -> int:
    """A priority as somebody typed it.  Raises InvalidInput."""
    if not (raw.isascii() and raw.isdigit() and len(raw) <= 3 and int(raw) <= 100):
        raise InvalidInput(
            gettext_noop("The priority must be a whole number from 0 to 100."), field="priority"
        )
    return int(raw)


def days_of(raw: str, field: str) -> float:
    """A life in days as somebody typed it; 0 is for ever.  Raises InvalidInput."""
    try:
        days = float(raw.replace(",", "."))
    except ValueError as error:
        raise InvalidInput(gettext_noop("The days must be a number, 0 for never."), field=field) from error
    if not 0 <= days <= MAX_TTL_DAYS:
        raise InvalidInput(NO_DAYS % {"most": f"{MAX_TTL_DAYS:.0f}"}, field=field)
    return days
