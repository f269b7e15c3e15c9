"""The table of what each part of the ranking is worth: on candidates made up for it."""

from __future__ import annotations

import numpy as np

from bench.steps import NAMES, steps, table
from noesis.benchmark.refitting import Sheet
from noesis.ranking.fitting import Labelled


def sheets(conversations: int, each: int, seed: int) -> list[Sheet]:
    """Questions whose answer is the candidate with the best `words`; all else is noise."""
    rng = np.random.default_rng(seed)
    found = []
    for conversation in range(conversations):
        for _ in range(each):
            values = rng.random((40, len(NAMES)))
            answers = np.zeros(40, dtype=bool)
            answers[int(values[:, NAMES.index("words")].argmax())] = True
            sheet = Labelled(values, answers)
            found.append(Sheet(conversation, sheet, sheet))
    return found


def test_each_part_is_measured_against_the_step_before_and_against_the_whole() -> None:
    test = sheets(3, 10, seed=2)
    rows = {row.name: row for row in steps(sheets(3, 30, seed=1), test, [1] * len(test), 3)}
    assert rows["words alone"].r10 == 100
    assert rows["meaning alone"].r10 < 60
    assert rows["all without words"].gain is not None
    assert rows["all without words"].gain[0] < -30
    assert rows["all without session"].r10 > 90
    assert "| all without words |" in table(list(rows.values()))


def test_evidence_that_is_no_candidate_counts_as_not_found() -> None:
    test = sheets(2, 10, seed=3)
    rows = steps(sheets(2, 30, seed=1), test, [2] * len(test), 2)
    assert {row.name: row.r10 for row in rows}["words alone"] == 50
