"""Inflating archives from strangers."""

import io

import pytest
import zstandard

from noesis.sources.inflating import ArchiveTooLarge, DamagedArchive, Inflated, inflate


def test_what_was_compressed_comes_back() -> None:
    data = bytes(range(256)) * 1000
    assert inflate(zstandard.compress(data), len(data)) == data


def test_frames_that_follow_each_other_are_one_text() -> None:
    assert inflate(zstandard.compress(b"one ") + zstandard.compress(b"two"), 100) == b"one two"


def test_a_bomb_is_stopped_at_the_limit() -> None:
    bomb = zstandard.compress(bytes(200_000_000))
    assert len(bomb) < 20_000
    with pytest.raises(ArchiveTooLarge):
        inflate(bomb, 1_000_000)


def test_a_read_gives_no_more_than_was_asked_for() -> None:
    source = Inflated(io.BytesIO(zstandard.compress(bytes(10_000_000))))
    assert len(source.read(1000)) == 1000


def test_a_window_larger_than_we_hold_is_refused() -> None:
    settings = zstandard.ZstdCompressionParameters(window_log=27, write_content_size=False)
    stream = zstandard.ZstdCompressor(compression_params=settings).compressobj()
    packed = stream.compress(bytes(1000)) + stream.flush()
    with pytest.raises(DamagedArchive):
        inflate(packed, 10_000)


WHOLE = zstandard.compress(bytes(range(256)) * 10)


@pytest.mark.parametrize(
    "damaged", [WHOLE[:-20], b"no" + WHOLE, b"", WHOLE[:7] + b"\xff\xff\xff" + WHOLE[10:]]
)
def test_a_damaged_archive_is_refused(damaged: bytes) -> None:
    with pytest.raises(DamagedArchive):
        inflate(damaged, 10_000)
