"""The vectors made so far survive whatever cuts a switch short, and nothing else counts as one."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from noesis.embedding.base import EmbedderIdentity, Vector
from noesis.reembedding.journal import Journal, key_of, made_so_far
from tests.store.rows import unit_vector

ONE = EmbedderIdentity("test", "one", "0" * 64, 16)
OTHER = EmbedderIdentity("test", "one", "1" * 64, 16)


def some(first: int, count: int) -> dict[bytes, Vector]:
    return {key_of(f"text {number}"): unit_vector(number) for number in range(first, first + count)}


def written(folder: Path, *batches: dict[bytes, Vector]) -> Path:
    journal = Journal(folder, ONE)
    for batch in batches:
        journal.add(batch)
    journal.close()
    return folder / "vectors"


def test_what_was_added_is_there_after_the_next_start(tmp_path: Path) -> None:
    written(tmp_path / "j", some(0, 3), some(3, 2))
    assert made_so_far(tmp_path / "j", ONE) == 5
    journal = Journal(tmp_path / "j", ONE)
    assert len(journal) == 5
    for key, vector in some(0, 5).items():
        assert key in journal
        found = journal.get(key)
        assert found is not None
        assert np.array_equal(found, vector)
    assert journal.get(key_of("no such text")) is None
    journal.close()


@pytest.mark.parametrize("cut", [1, 50, 83])
def test_a_torn_end_is_cut_off_and_the_rest_counts(tmp_path: Path, cut: int) -> None:
    file = written(tmp_path / "j", some(0, 4))
    whole = file.read_bytes()
    assert len(whole) == 4 * 84
    file.write_bytes(whole[:-cut])
    journal = Journal(tmp_path / "j", ONE)
    assert len(journal) == 3
    journal.add(some(3, 1))
    journal.close()
    assert file.read_bytes() == whole


def test_a_record_with_a_wrong_bit_and_all_behind_it_do_not_count(tmp_path: Path) -> None:
    file = written(tmp_path / "j", some(0, 4))
    damaged = bytearray(file.read_bytes())
    damaged[2 * 84 + 20] ^= 1
    file.write_bytes(damaged)
    journal = Journal(tmp_path / "j", ONE)
    assert [key in journal for key in some(0, 4)] == [True, True, False, False]
    journal.close()


def test_vectors_of_another_model_go(tmp_path: Path) -> None:
    written(tmp_path / "j", some(0, 2))
    assert made_so_far(tmp_path / "j", OTHER) == 0
    journal = Journal(tmp_path / "j", OTHER)
    assert len(journal) == 0
    journal.close()
