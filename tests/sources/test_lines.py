"""Reading lines of a file that grows."""

import io
import tracemalloc

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from noesis.sources.lines import Line, Place, Skipped, decode_text, read_lines

MOST = 16


def read(
    data: bytes, place: Place | None = None, *, finished: bool = False
) -> list[tuple[Place, Line | Skipped]]:
    source = io.BytesIO(data)
    source.seek(place.offset if place else 0)
    return list(read_lines(source, place, most=MOST, finished=finished))


def lines(data: bytes, *, finished: bool = False) -> list[bytes]:
    return [item.data for _, item in read(data, finished=finished) if isinstance(item, Line)]


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_every_kind_of_line_end_is_known(end: bytes) -> None:
    assert lines(end.join([b"one", b"two", b"x\n"])) == [b"one", b"two", b"x"]


def test_other_separators_belong_to_the_line() -> None:
    text = "a\u2028b\x0bc\x0cd\x85e\x1cf".encode()
    assert lines(text + b"\n") == [text]


def test_empty_lines_count_but_are_not_given() -> None:
    assert [item.number for _, item in read(b"\n\n one\n\r\n two\n")] == [2, 4]


def test_the_byte_order_mark_is_dropped_at_the_start_only() -> None:
    found = [item for _, item in read(b"\xef\xbb\xbfa\n\xef\xbb\xbfb\n")]
    assert found == [Line(0, 3, b"a"), Line(1, 5, b"\xef\xbb\xbfb")]


def test_a_torn_line_waits_for_its_end() -> None:
    (place, _), *others = read(b"one\ntw")
    assert others == []
    assert place == Place(4, 1)
    assert [item for _, item in read(b"one\ntwo\n", place)] == [Line(1, 4, b"two")]


def test_a_torn_line_of_a_finished_file_is_given_as_torn() -> None:
    assert [item for _, item in read(b"one\ntw", finished=True)] == [
        Line(0, 0, b"one"),
        Line(1, 4, b"tw", torn=True),
    ]
    assert [item for _, item in read(b"one\r", finished=True)] == [Line(0, 0, b"one")]


def test_a_torn_line_that_was_taken_is_not_given_again_when_its_end_comes() -> None:
    ((place, taken),) = read(b"one", finished=True)
    assert isinstance(taken, Line)
    assert [item for _, item in read(b"one\r\ntwo\n", place)] == [Line(1, 5, b"two")]


def test_a_line_over_the_cap_is_skipped_with_its_offset_and_number() -> None:
    (_, first), (_, skipped), (_, last) = read(b"one\n" + b"x" * 17 + b"\r\n" + b"y" * 16 + b"\n")
    assert (first, last) == (Line(0, 0, b"one"), Line(2, 23, b"y" * 16))
    assert skipped == Skipped(reason="the line is too long", number=1, offset=4)


def test_a_line_over_the_cap_is_told_of_once_though_it_goes_on_growing() -> None:
    ((place, first),) = read(b"x" * 100)
    assert first == Skipped(reason="the line is too long", number=0, offset=0)
    assert place == Place(100, 0, inside=True)
    assert read(b"x" * 100 + b"y" * 10, place) == []
    assert [item for _, item in read(b"x" * 200 + b"\nnext\n", place)] == [Line(1, 201, b"next")]


def test_a_line_without_an_end_is_never_held_beyond_the_cap() -> None:
    class Endless:
        left = 64 * 1024 * 1024

        def read(self, size: int, /) -> bytes:
            size = min(size, self.left)
            self.left -= size
            return bytes(size)

    tracemalloc.start()
    try:
        found = list(read_lines(Endless(), most=1_000_000))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert [type(item) for _, item in found] == [Skipped]
    assert peak < 5_000_000


pieces = st.lists(
    st.one_of(
        st.sampled_from(
            [b"\n", b"\r", b"\r\n", b"\xef\xbb\xbf", b"\xff", b" ", b"x" * 15, b"x" * 16, b"x" * 17]
        ),
        st.binary(max_size=6),
        st.integers(0, 60).map(lambda size: b"z" * size),
    ),
    max_size=12,
)


@given(pieces, st.booleans())
@example([b"a\r", b"\nb\n"], False)
@example([b"x" * 40, b"\r", b"\n", b"b\n"], False)
@example([b"\xef\xbb", b"\xbfa\n"], False)
def test_however_growth_is_cut_into_passes_the_lines_are_the_same(parts: list[bytes], at_once: bool) -> None:
    whole = b"".join(parts)
    place, found, data = Place(), [], b""
    for part in [whole] if at_once else parts:
        data += part
        given_now = read(data, place)
        place = given_now[-1][0] if given_now else place
        found += [item for _, item in given_now]
    assert found == [item for _, item in read(whole)]


@given(pieces)
def test_lines_are_those_of_the_whole_file(parts: list[bytes]) -> None:
    """The model: Python's own splitting, in which a last line needs an end that is certain."""
    data = b"".join(parts)
    ended = data.splitlines(keepends=True)
    if ended and not ended[-1].endswith(b"\n"):
        ended.pop()
    bodies = [line.rstrip(b"\r\n") for line in ended]
    if bodies:
        bodies[0] = bodies[0].removeprefix(b"\xef\xbb\xbf")
    assert lines(data) == [body for body in bodies if body.strip() and len(body) <= MOST]


def test_bytes_that_are_not_utf_8_become_replacement_characters() -> None:
    assert decode_text('"é'.encode() + b'\xff\xc3"') == '"é\ufffd\ufffd"'
