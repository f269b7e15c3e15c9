"""What a switch to another embedder says before, while and after it is made."""

from __future__ import annotations

from typing import Literal

import msgspec

from noesis.embedding.base import EmbedderIdentity


class Standing(msgspec.Struct, frozen=True, kw_only=True):
    """Whether a switch is needed.

    `stored` is whose vectors the store holds, `embedder` what the settings name (None: not known now);
    `rows` is how many there are to embed, `ready` how many of their vectors an unfinished switch has made.
    """

    needed: bool
    sentence: str
    stored: EmbedderIdentity | None
    embedder: EmbedderIdentity | None
    rows: int
    ready: int


class Compared(msgspec.Struct, frozen=True, kw_only=True):
    """How the answers of the new generation and those of the old one are alike, as shares (0 to 1).

    `same_answers` is the mean share of the first ten that both gave to the `questions` asked: the last
    ones that came (recent), or first sentences of memories; `answered_by` is how the old one answered.
    `same_neighbours` is that of the ten memories nearest to each of `neighbours_of` memories, by both
    models' vectors.  None where nothing could be asked.
    """

    questions: int
    asked: Literal["recent", "memories"]
    answered_by: Literal["meaning and words", "words"]
    same_answers: float | None
    neighbours_of: int
    same_neighbours: float | None


class Reembedded(msgspec.Struct, frozen=True, kw_only=True):
    """What a switch did.

    `embedded` texts were embedded by this run; `kept` had been by an earlier one that was cut short.
    `caught_up` rows were written while it ran, `waiting` ones still lack their vector, `failed` ones
    the embedder refuses.  `took_ms` is the time of this run.
    """

    generation: str
    previous: str | None
    model: str
    dimension: int
    rows: int
    embedded: int = 0
    kept: int = 0
    caught_up: int = 0
    waiting: int = 0
    failed: int = 0
    compared: Compared | None = None
    took_ms: int = 0
