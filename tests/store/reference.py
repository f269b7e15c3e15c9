"""A filter in plain Python, which the store's filters are held against."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from noesis.store import Row

Test = Callable[[Row], bool]


def equals(column: str, value: object) -> Test:
    return lambda row: getattr(row, column) is not None and getattr(row, column) == value


def differs(column: str, value: object) -> Test:
    return lambda row: getattr(row, column) is None or getattr(row, column) != value


def one_of(column: str, values: Iterable[object]) -> Test:
    wanted = list(values)
    return lambda row: getattr(row, column) in wanted if getattr(row, column) is not None else False


def compares(column: str, value: int, test: Callable[[Any, int], bool]) -> Test:
    return lambda row: getattr(row, column) is not None and test(getattr(row, column), value)


def is_set(column: str) -> Test:
    return lambda row: getattr(row, column) is not None


def has_all(values: Iterable[str]) -> Test:
    wanted = set(values)
    return lambda row: wanted <= set(row.tags)
