"""Generated memories: texts of real words as often as in real text, vectors in clusters, all from a seed."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
from tokenizers import Tokenizer

from noesis.embedding.model_files import bundled_minilm
from noesis.memory import MemoryType, NewMemory

AUTHORS = ("Alice", "Bob", "Charlie", "Dana", "Erin", "Frank", "Grace", "Heidi")

_WORDS = 8000
_COMMON = 200
"""So many of the first words say little: a question asks for the others."""

_BEGINNING_MS = 1_735_689_600_000
_STEP_MS = 600_000
_SESSION_LENGTH = 20
_NOISE = 0.8
"""Length of the noise beside a cluster's unit centre: cosines of about 0.6 inside one, as real texts have."""

Matrix = npt.NDArray[np.float32]


class Sample:
    """As many memories as asked for; the same for the same seed."""

    def __init__(self, count: int, seed: int = 7) -> None:
        self.count = count
        self._rng = np.random.default_rng(seed)
        self._words = np.array(vocabulary())
        weights = 1 / (np.arange(len(self._words)) + 2.7)
        lengths = np.clip(self._rng.lognormal(2.9, 0.5, count), 4, 120).astype(int)
        picked = self._rng.choice(len(self._words), int(lengths.sum()), p=weights / weights.sum())
        self._texts = np.split(picked.astype(np.uint16), np.cumsum(lengths)[:-1])

    def text(self, index: int) -> str:
        """The text of a memory."""
        return " ".join(self._words[self._texts[index]])

    def memory(self, index: int) -> NewMemory:
        """A memory that never expires, a turn of a session."""
        kinds = list(MemoryType)
        return NewMemory(
            text=self.text(index),
            memory_type=kinds[index % len(kinds)],
            ttl_days=0,
            session_id=f"session-{index // _SESSION_LENGTH}",
            position=index % _SESSION_LENGTH,
            author=AUTHORS[index % len(AUTHORS)],
            created_at=_BEGINNING_MS + index * _STEP_MS,
        )

    def vectors(self, dimension: int, batch: int) -> Iterator[Matrix]:
        """The memories' unit vectors in order, at most `batch` at a time."""
        centres = _unit(self._normal(max(8, self.count // 500), dimension))
        for start in range(0, self.count, batch):
            count = min(batch, self.count - start)
            of = self._rng.integers(len(centres), size=count)
            yield _unit(centres[of] + _NOISE / np.sqrt(dimension) * self._normal(count, dimension))

    def questions(self, count: int) -> list[str]:
        """So many different questions, each in words of one memory."""
        asked: dict[str, None] = {}
        while len(asked) < count:
            index = int(self._rng.integers(self.count))
            telling = np.unique(self._texts[index][self._texts[index] > _COMMON])
            words = self._rng.permutation(self._words[telling])[:5]
            if len(words) > 1:
                asked[f"What did {AUTHORS[index % len(AUTHORS)]} say about {' '.join(words)}?"] = None
        return list(asked)

    def _normal(self, count: int, dimension: int) -> Matrix:
        return self._rng.standard_normal((count, dimension), dtype=np.float32)


def vocabulary() -> list[str]:
    """English words, the frequent ones first: the built-in model's tokenizer lists them in this order."""
    ids = Tokenizer.from_file(str(bundled_minilm().tokenizer)).get_vocab()
    words = [word for word in ids if word.isascii() and word.isalpha() and len(word) > 1]
    return sorted(words, key=ids.__getitem__)[:_WORDS]


def _unit(rows: Matrix) -> Matrix:
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), dtype=np.float32)
