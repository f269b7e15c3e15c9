"""The form that adds a folder: its fields as text, and what they mean."""

from __future__ import annotations

from collections.abc import Mapping
from typing import get_args

import msgspec

from noesis.dashboard.translation import gettext_noop
from noesis.errors import InvalidInput
from noesis.following import MAX_LABEL_CHARS
from noesis.sources.roots import Kind, Vanished

LONG_LABEL = gettext_noop("A label has at most %(most)s characters.")

ADDED_KINDS: tuple[Kind, ...] = ("markdown", "transcripts")
"""What a folder may hold; a database is no folder."""


class SourceForm(msgspec.Struct, frozen=True, kw_only=True):
    """The fields as they were typed; an empty label is the folder's name."""

    agent: str = ""
    path: str = ""
    kind: str = "markdown"
    label: str = ""
    vanished: str = "archive"


def read(fields: Mapping[str, str]) -> SourceForm:
    """The form as it was sent."""
    return SourceForm(**{name: fields.get(name, "").strip() for name in SourceForm.__struct_fields__})


def kind_of(form: SourceForm) -> Kind:
    """What the folder holds.  Raises InvalidInput."""
    for kind in ADDED_KINDS:
        if form.kind == kind:
            return kind
    raise InvalidInput(gettext_noop("Choose what the folder holds."), field="kind")


def label_of(form: SourceForm) -> str | None:
    """What its memories name as their source.  Raises InvalidInput for one that would be cut."""
    if len(form.label) > MAX_LABEL_CHARS:
        raise InvalidInput(LONG_LABEL % {"most": MAX_LABEL_CHARS}, field="label")
    return form.label or None


def vanished_of(raw: str) -> Vanished:
    """What becomes of memories whose file is gone.  Raises InvalidInput."""
    choices: tuple[Vanished, ...] = get_args(Vanished)
    for choice in choices:
        if raw == choice:
            return choice
    raise InvalidInput(gettext_noop("Choose what becomes of memories whose file is gone."), field="vanished")
