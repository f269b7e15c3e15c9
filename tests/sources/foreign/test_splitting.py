"""A large array is cut exactly where the decoder would cut it."""

from __future__ import annotations

import io
import json
import tracemalloc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from noesis.errors import InvalidInput
from noesis.sources.foreign import splitting
from noesis.sources.foreign.records import Unreadable
from noesis.sources.foreign.splitting import Structure, count_members, split

json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-1000, 1000)
    | st.text(st.sampled_from('a"\\[]{},: \n\u20ac'), max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text('k\\"[,', max_size=3), inner, max_size=3)
    ),
    max_leaves=8,
)


class Dripping(io.RawIOBase):
    """A file that gives a few bytes at a time, so that every token is cut somewhere."""

    def __init__(self, data: bytes, size: int) -> None:
        super().__init__()
        self._data = io.BytesIO(data)
        self._size = size

    def read(self, size: int = -1) -> bytes:
        return self._data.read(self._size)


def pieces(data: bytes, size: int, **options: object) -> list[object]:
    found = split(Dripping(data, size), **options)  # type: ignore[arg-type]
    return [each if isinstance(each, Unreadable) else json.loads(each) for each in found]


@settings(max_examples=40, deadline=None)
@given(st.lists(json_values, max_size=5), st.integers(1, 7), st.sampled_from([None, 1]), st.booleans())
def test_an_array_splits_into_its_elements(
    values: list[object], size: int, indent: int | None, escaped: bool
) -> None:
    data = json.dumps(values, indent=indent, ensure_ascii=escaped).encode()
    assert pieces(data, size) == values


@settings(max_examples=40, deadline=None)
@given(st.lists(json_values, max_size=4), json_values, st.integers(1, 7))
def test_an_array_in_an_object_is_found_by_its_key(values: list[object], other: object, size: int) -> None:
    data = json.dumps(
        {"x": other, "results [": other, "deep": {"results": [other]}, "results": values}
    ).encode()
    assert pieces(data, size, keys=("results",)) == values


@settings(max_examples=40, deadline=None)
@given(st.dictionaries(st.text(max_size=3), json_values, max_size=4), st.sampled_from([None, 2]))
def test_members_are_counted(value: dict[str, object], indent: int | None) -> None:
    if value:
        assert count_members(json.dumps(value, indent=indent).encode()) == len(value)


@settings(max_examples=40, deadline=None)
@given(st.binary(max_size=200), st.integers(1, 5))
def test_pieces_of_any_size_give_the_same_marks(data: bytes, size: int) -> None:
    whole, parts = Structure(), Structure()
    expected = list(zip(*[each.tolist() for each in _fields(whole, data)], strict=True)) if data else []
    found = []
    for start in range(0, len(data), size):
        places, depths, deltas = _fields(parts, data[start : start + size])
        found += list(zip((places + start).tolist(), depths.tolist(), deltas.tolist(), strict=True))
    assert found == expected


def _fields(structure: Structure, data: bytes) -> tuple[splitting.Places, splitting.Places, splitting.Places]:
    marks = structure.feed(data)
    return marks.places, marks.depths, marks.deltas


@pytest.mark.parametrize(
    "data", [b"", b"   ", b"17", b'"text"', b"{}", b'{"other": [1]}', b"key: [1]", b"\x00\xff["]
)
def test_a_file_without_the_array_is_refused(data: bytes) -> None:
    with pytest.raises(InvalidInput):
        pieces(data, 3, keys=("results",))


def test_a_file_that_breaks_off_says_where() -> None:
    assert pieces(b'[{"a": 1}, {"b": [2', 4) == [
        {"a": 1},
        Unreadable("entry 2", "The file ends before this entry does."),
    ]


def test_an_element_over_the_limit_fails_alone() -> None:
    data = json.dumps(["a" * 10, "b" * 100, {"c": 1}]).encode()
    first, second, third = pieces(data, 5, most=50)
    assert (first, third) == ("a" * 10, {"c": 1})
    assert second == Unreadable("entry 2", "It has more than 50 bytes.")


def test_an_element_of_too_many_values_fails_alone() -> None:
    many = b"[" + b"1," * (splitting.MAX_VALUES + 1) + b"1]"
    first, second = split(io.BytesIO(b"[" + many + b",7]"))
    assert first == Unreadable("entry 1", "It has more than 1,000,000 values.")
    assert second == b"7"


def test_a_large_file_is_never_held() -> None:
    class Long(io.RawIOBase):
        left = 200

        def read(self, size: int = -1) -> bytes:
            self.left -= 1
            if self.left == 199:
                return b"["
            return (b'{"text": "' + b'abc\\"]' * 500 + b'"},') * 50 if self.left > 0 else b""

    tracemalloc.start()
    try:
        count = len([None for _ in split(Long())])  # type: ignore[arg-type]
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert count == 198 * 50 + 1
    assert peak < 20 << 20
