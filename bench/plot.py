"""Curves on two logarithmic axes as an SVG."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from xml.sax.saxutils import escape

import msgspec

WIDTH, HEIGHT = 760, 440
_LEFT, _RIGHT, _TOP, _BOTTOM = 70, 230, 20, 50
_COLOURS = ("#1b6ca8", "#c1541b", "#2f7d4f", "#8a3f8f", "#8a6d1b", "#444444")

Scale = Callable[[float], float]


class Curve(msgspec.Struct, frozen=True):
    """A name for the legend, and points with positive coordinates in the order they are joined."""

    name: str
    points: Sequence[tuple[float, float]]


def plot(curves: Sequence[Curve], *, across: str, up: str) -> str:
    """The drawing; each axis covers whole decades.  At least one point is needed."""
    xs = _decades([x for curve in curves for x, _ in curve.points])
    ys = _decades([y for curve in curves for _, y in curve.points])
    place_x = _scale(xs, _LEFT, WIDTH - _RIGHT)
    place_y = _scale(ys, HEIGHT - _BOTTOM, _TOP)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif"'
        ' font-size="12">',
        '<rect width="100%" height="100%" fill="#ffffff"/>',
        *_lines_down(xs, place_x),
        *_lines_across(ys, place_y),
        f'<text x="{(_LEFT + WIDTH - _RIGHT) / 2}" y="{HEIGHT - 10}" text-anchor="middle">{escape(across)}</text>',
        f'<text x="14" y="{HEIGHT / 2}" text-anchor="middle" transform="rotate(-90 14 {HEIGHT / 2})">'
        f"{escape(up)}</text>",
        *(part for at, curve in enumerate(curves) for part in _drawn(at, curve, place_x, place_y)),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _decades(values: Sequence[float]) -> range:
    """The powers of ten around the values; at least one decade."""
    low = math.floor(math.log10(min(values)))
    return range(low, max(math.ceil(math.log10(max(values))), low + 1) + 1)


def _scale(decades: range, start: float, end: float) -> Scale:
    span = decades[-1] - decades[0]
    return lambda value: start + (end - start) * (math.log10(value) - decades[0]) / span


def _number(power: int) -> str:
    return f"{10**power:,}" if power >= 0 else f"{10.0**power:g}"


def _lines_down(decades: range, place: Scale) -> Iterator[str]:
    for power in decades:
        x = f"{place(10.0**power):.1f}"
        yield f'<line x1="{x}" x2="{x}" y1="{_TOP}" y2="{HEIGHT - _BOTTOM}" stroke="#dddddd"/>'
        yield f'<text x="{x}" y="{HEIGHT - _BOTTOM + 18}" text-anchor="middle">{_number(power)}</text>'


def _lines_across(decades: range, place: Scale) -> Iterator[str]:
    for power in decades:
        y = place(10.0**power)
        yield f'<line x1="{_LEFT}" x2="{WIDTH - _RIGHT}" y1="{y:.1f}" y2="{y:.1f}" stroke="#dddddd"/>'
        yield f'<text x="{_LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{_number(power)}</text>'


def _drawn(at: int, curve: Curve, place_x: Scale, place_y: Scale) -> Iterator[str]:
    colour = _COLOURS[at % len(_COLOURS)]
    places = [(place_x(x), place_y(y)) for x, y in curve.points]
    joined = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    yield f'<polyline points="{joined}" fill="none" stroke="{colour}" stroke-width="2"/>'
    for x, y in places:
        yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>'
    left, top = WIDTH - _RIGHT + 16, _TOP + 20 * at
    yield f'<rect x="{left}" y="{top}" width="14" height="4" fill="{colour}"/>'
    yield f'<text x="{left + 22}" y="{top + 7}">{escape(curve.name)}</text>'
