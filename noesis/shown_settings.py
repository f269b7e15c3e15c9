"""Settings as people may see them: names, values and defaults as text, secrets never."""

from __future__ import annotations

from datetime import time
from typing import Any

import msgspec
import re2

from noesis.settings import Settings, describe

HIDDEN = "set, not shown"
NOT_SET = "not set"

_LEAST_SECRET = 4
_IN_ADDRESS = re2.compile(r"://[^/@\s]+@")


class ShownSetting(msgspec.Struct, frozen=True, kw_only=True):
    """One setting: its variable, its value and default in words, and what it means."""

    name: str
    value: str
    default: str
    text: str
    is_default: bool


def shown_settings(settings: Settings) -> list[ShownSetting]:
    """Every setting, in the order of the struct."""
    defaults = Settings()
    return [
        ShownSetting(
            name=name,
            value=_secret_words(value) if about.secret else words_of(value),
            default=NOT_SET if about.secret else words_of(default),
            text=about.text,
            is_default=value == default,
        )
        for (name, (about, _)), value, default in zip(
            describe().items(), _values(settings), _values(defaults), strict=True
        )
    ]


def words_of(value: Any) -> str:
    """A value as it would stand in the environment, a password in an address left out."""
    if value is None or value in ("", (), {}):
        return NOT_SET
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return ",".join(str(part) for part in value)
    if isinstance(value, dict):
        return ",".join(f"{name}={part:g}" for name, part in value.items())
    if isinstance(value, time):
        return f"{value:%H:%M}"
    return without_passwords(f"{value:g}" if isinstance(value, float) else str(value))


def without_passwords(text: str) -> str:
    """The text with names and passwords taken out of its addresses."""
    return str(_IN_ADDRESS.sub("://***@", text))


def without_secrets(text: str, settings: Settings) -> str:
    """The text with the values of secret settings taken out as well, wherever they came in."""
    about = [about for about, _ in describe().values()]
    for described, value in zip(about, _values(settings), strict=True):
        if described.secret and value is not None and len(str(value)) >= _LEAST_SECRET:
            text = text.replace(str(value), "***")
    return without_passwords(text)


def _secret_words(value: Any) -> str:
    return NOT_SET if value is None else HIDDEN


def _values(settings: Settings) -> list[Any]:
    return [getattr(settings, name) for name in Settings.__struct_fields__]
