"""The form that changes chosen memories: its fields as text, and the change they mean."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from noesis.bulk_editing import BulkEdit
from noesis.dashboard.edit_form import days_of, memory_type_of, priority_of, tags_of
from noesis.dashboard.forms import safe_next
from noesis.dashboard.translation import gettext_noop
from noesis.errors import InvalidInput


class ChosenForm(msgspec.Struct, frozen=True, kw_only=True):
    """The fields as they were typed; an empty one leaves a value as it is.

    `ids` have blanks between them; `count` is how many the page showed, `back` the list they are from.
    """

    ids: str
    count: str = ""
    act: str = ""
    memory_type: str = ""
    priority: str = ""
    ttl_days: str = ""
    add_tags: str = ""
    remove_tags: str = ""
    back: str = "/"

    @property
    def counted(self) -> int:
        """The count as a number; -1, which fits nothing, when it is none."""
        return int(self.count) if self.count.isascii() and self.count.isdigit() else -1


def read(fields: Mapping[str, str]) -> ChosenForm:
    """The form as it was sent."""
    values = {name: fields.get(name, "").strip() for name in ChosenForm.__struct_fields__}
    return ChosenForm(**values | {"back": safe_next(values["back"])})


def to_edit(form: ChosenForm) -> BulkEdit:
    """What the form changes.  Raises InvalidInput naming the field, also when nothing is to change."""
    changes: dict[str, Any] = {}
    if form.memory_type:
        changes["memory_type"] = memory_type_of(form.memory_type)
    if form.priority:
        changes["priority"] = priority_of(form.priority)
    if form.ttl_days:
        changes["ttl_days"] = days_of(form.ttl_days, "ttl_days")
    for name in ("add_tags", "remove_tags"):
        if tags := tags_of(getattr(form, name)):
            changes[name] = tags
    if not changes:
        raise InvalidInput(gettext_noop("Say what is to change."))
    return BulkEdit(**changes)
