"""Values of settings as they stand in the environment, read into what they mean; a ValueError says what is wrong."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, time
from pathlib import Path
from typing import Any, Literal, get_origin

import msgspec

from noesis.memory import MAX_TTL_DAYS, MemoryType


class About(msgspec.Struct, frozen=True):
    """What a setting means (for people), its bounds, and whether it is a secret."""

    text: str
    low: float | None = None
    high: float | None = None
    choices: tuple[str, ...] = ()
    secret: bool = False


def _integer(raw: str) -> int:
    try:
        return int(raw)
    except ValueError:
        raise ValueError("must be a whole number.") from None


def _number(raw: str) -> float:
    try:
        return float(raw)
    except ValueError:
        raise ValueError("must be a number.") from None


def _boolean(raw: str) -> bool:
    words = {"1": True, "true": True, "yes": True, "on": True, "0": False, "false": False, "no": False}
    words["off"] = False
    if raw.lower() not in words:
        raise ValueError("must be true or false.")
    return words[raw.lower()]


def _time_of_day(raw: str) -> time:
    try:
        return datetime.strptime(raw, "%H:%M").time()  # noqa: DTZ007 - a time of day alone
    except ValueError:
        raise ValueError("must be a time of day such as 04:30.") from None


def _time_or_off(raw: str) -> time | None:
    try:
        return None if raw.lower() == "off" else _time_of_day(raw)
    except ValueError:
        raise ValueError("must be a time of day such as 03:00, or off.") from None


def _list(raw: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in raw.split(",") if part.strip())


def _lives(raw: str) -> dict[str, float]:
    """Days by memory type."""
    lives: dict[str, float] = {}
    for part in _list(raw):
        name, is_there, days = (piece.strip() for piece in part.partition("="))
        if not is_there or name not in set(MemoryType) or name in lives:
            raise ValueError(
                f"must be a list like session=7,decision=0, with types of {', '.join(MemoryType)}."
            )
        lives[name] = _number(days)
        if not 0 <= lives[name] <= MAX_TTL_DAYS:
            raise ValueError(f"must hold days between 0 (never expires) and {MAX_TTL_DAYS:.0f}.")
    return lives


PARSERS: tuple[tuple[Any, Callable[[str], Any]], ...] = (
    (int, _integer),
    (float, _number),
    (bool, _boolean),
    (time, _time_of_day),
    (time | None, _time_or_off),
    (str, str),
    (str | None, str),
    (Path, Path),
    (Path | None, Path),
    (tuple[str, ...], _list),
    (dict[str, float], _lives),
)


def read_value(kind: Any, about: About, raw: str) -> Any:
    """What a setting of this kind means.  Raises ValueError with the end of a sentence that begins with its name."""
    convert = (
        str if get_origin(kind) is Literal else next(parser for type_, parser in PARSERS if type_ == kind)
    )
    value: Any = convert(raw)
    if about.choices and value not in about.choices:
        raise ValueError(f"must be one of {', '.join(about.choices)}.")
    if about.low is not None and about.high is not None and not about.low <= value <= about.high:
        raise ValueError(f"must lie between {about.low:g} and {about.high:g}.")
    return value
