"""Charts as SVG: where each mark stands is computed here, in units of the drawing; the templates only write it down."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from noesis.dashboard.translation import _, number, percent

_GAP = 0.25
"""The part of a bar's place that is left free beside it."""


class Bar(msgspec.Struct, frozen=True):
    """One bar: its place in the drawing, its name and its value in words."""

    x: float
    y: float
    width: float
    height: float
    label: str
    words: str


class Bars(msgspec.Struct, frozen=True, kw_only=True):
    """A row of bars over time; `most` is what the highest one stands for, in words."""

    width: int
    height: int
    bars: tuple[Bar, ...]
    most: str
    first: str
    last: str


class Part(msgspec.Struct, frozen=True):
    """A part of a whole: its place in a strip, its name, its count and its share in words."""

    x: float
    width: float
    name: str
    words: str
    share: str


class Strip(msgspec.Struct, frozen=True):
    """One strip that is cut into parts."""

    width: int
    parts: tuple[Part, ...]


class Line(msgspec.Struct, frozen=True, kw_only=True):
    """A line over time: its points as SVG takes them, and each value in words."""

    width: int
    height: int
    points: str
    values: tuple[tuple[str, str], ...]
    most: str


def bars(values: Sequence[tuple[str, int]], *, width: int = 720, height: int = 120) -> Bars | None:
    """Bars from the oldest to the newest; None when there is nothing to show."""
    most = max((value for _, value in values), default=0)
    if most == 0:
        return None
    place = width / len(values)
    drawn = []
    for index, (label, value) in enumerate(values):
        # A bar that stands for something is seen, however small it is.
        high = 0 if value == 0 else max(1.5, value / most * height)
        drawn.append(
            Bar(
                round(index * place, 1),
                round(height - high, 1),
                round(place * (1 - _GAP), 1),
                round(high, 1),
                label,
                number(value),
            )
        )
    return Bars(
        width=width,
        height=height,
        bars=tuple(drawn),
        most=number(most),
        first=values[0][0],
        last=values[-1][0],
    )


def strip(counts: Sequence[tuple[str, int]], *, width: int = 720) -> Strip | None:
    """The parts of a whole, those of nothing left out; None when all are nothing."""
    total = sum(count for _, count in counts)
    if total == 0:
        return None
    parts, x = [], 0.0
    for name, count in counts:
        if count:
            share = count / total
            parts.append(Part(round(x, 1), round(share * width, 1), name, number(count), _percent(share)))
            x += share * width
    return Strip(width, tuple(parts))


def line(
    values: Sequence[tuple[str, float]], unit: str, *, width: int = 720, height: int = 90
) -> Line | None:
    """A line from the oldest to the newest value; None below two of them."""
    if len(values) < 2:
        return None
    most = max(value for _, value in values) or 1.0
    step = width / (len(values) - 1)
    points = " ".join(
        f"{index * step:.1f},{height - value / most * height:.1f}" for index, (_, value) in enumerate(values)
    )
    return Line(
        width=width,
        height=height,
        points=points,
        values=tuple((label, f"{number(value)} {unit}") for label, value in values),
        most=f"{number(most)} {unit}",
    )


def _percent(share: float) -> str:
    return percent(share) if share >= 0.01 else _("under 1%%")


class Tick(msgspec.Struct, frozen=True):
    """One tick of a strip: its place, how it is (good, fair, doubtful or bad), and what it stands for."""

    x: int
    y: int
    height: int
    state: str
    words: str


class Ticks(msgspec.Struct, frozen=True):
    """Ticks side by side, the oldest first."""

    width: int
    height: int
    ticks: tuple[Tick, ...]


_PLACE = 10
# A tick's height tells the same as its colour, for who cannot tell the colours apart.
_HEIGHTS = {"good": 22, "fair": 22, "doubtful": 15, "bad": 9}


def ticks(states: Sequence[tuple[str, str]]) -> Ticks | None:
    """One tick for each state and its words; None when there is none."""
    if not states:
        return None
    drawn = tuple(
        Tick(index * _PLACE, 22 - _HEIGHTS[state], _HEIGHTS[state], state, words)
        for index, (state, words) in enumerate(states)
    )
    return Ticks(len(drawn) * _PLACE, 22, drawn)
