"""What the health page says about a disk, a download and texts that wait, in words."""

from __future__ import annotations

import pytest

from noesis.health import disk_part, waiting_words

MIB = 1 << 20


@pytest.mark.parametrize(
    ("free", "read_only", "state", "summary"),
    [
        (3 << 30, False, "ok", "3.0 GB are free on the data directory's disk."),
        (499 * MIB, False, "degraded", "Only 499 MB are free on the data directory's disk."),
        (
            MIB - 1,
            False,
            "degraded",
            "The data directory's disk is full: nothing can be stored or changed.",
        ),
        (
            3 << 30,
            True,
            "degraded",
            "The data directory's disk is read-only: nothing can be stored or changed.",
        ),
    ],
)
def test_a_disk_is_told_by_what_can_still_be_done(
    free: int, read_only: bool, state: str, summary: str
) -> None:
    part = disk_part(free, read_only=read_only)
    assert (part.state, part.summary) == (state, summary)
    assert (part.state == "ok") == (part.still_works == "") == (part.what_to_do == "")


@pytest.mark.parametrize(
    ("count", "said"),
    [
        (0, ""),
        (1, " 1 text waits for its vector."),
        (2048, " 2,048 texts wait for their vectors."),
    ],
)
def test_texts_that_wait_are_counted(count: int, said: str) -> None:
    assert waiting_words(count) == said
