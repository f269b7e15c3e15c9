"""Read text as a local model does: token ids, in windows where there are too many."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

import numpy as np
import numpy.typing as npt
from tokenizers import Tokenizer

from noesis.embedding.model_files import ModelFiles
from noesis.embedding.windows import clean_text, window_spans
from noesis.errors import SettingsError

Tokens = npt.NDArray[np.int32]

OVERLAP_TOKENS = 32
DEFAULT_MAX_TOKENS = 512

# One encoding costs about 150 bytes a character, so a long text is encoded slice by slice.
SLICE_CHARACTERS = 50_000

_SHORT_CHARACTERS = 4_000
_REMEMBERED = 256


class TokenReader:
    """A model's tokenizer with its limit and special tokens.  Any thread may call it."""

    def __init__(self, files: ModelFiles) -> None:
        """Load the tokenizer (about 0.1 s); raises SettingsError when the file is none."""
        try:
            self._tokenizer = Tokenizer.from_file(str(files.tokenizer))
        except Exception as error:  # the library raises no nearer class
            raise SettingsError(f"{files.tokenizer} is not a tokenizer: {error}") from error
        stated = self._tokenizer.truncation
        self.max_tokens = files.config.max_tokens or (stated["max_length"] if stated else DEFAULT_MAX_TOKENS)
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()
        # Whoever counts a text's tokens has it embedded next.
        self._remembered = lru_cache(_REMEMBERED)(self._encoded)
        self._head, self._tail = self._special_tokens()

    def count(self, text: str, prefix: str) -> int:
        """How many tokens `prefix` + `text` is, special tokens included."""
        own = sum(len(ids) for ids in self._slices(prefix + clean_text(text)))
        return own + len(self._head) + len(self._tail)

    def windows(self, text: str, prefix: str) -> list[Tokens]:
        """The ids of `prefix` + `text` with special tokens, each window short enough to be read whole."""
        text = clean_text(text)
        whole = np.concatenate(list(self._slices(prefix + text)))
        if len(whole) + len(self._head) + len(self._tail) <= self.max_tokens:
            return [self._framed(whole)]
        lead = self._ids(prefix.rstrip()) if prefix else np.empty(0, dtype=np.int32)
        room = self.max_tokens - len(self._head) - len(lead) - len(self._tail)
        body = np.concatenate(list(self._slices(text))) if prefix else whole
        return [
            self._framed(np.concatenate((lead, body[start:end])))
            for start, end in window_spans(len(body), room, min(OVERLAP_TOKENS, room // 4))
        ]

    def _framed(self, ids: Tokens) -> Tokens:
        return np.concatenate((self._head, ids, self._tail))

    def _slices(self, text: str) -> Iterator[Tokens]:
        start = 0
        while len(text) - start > SLICE_CHARACTERS:
            end = start + SLICE_CHARACTERS
            end = max(text.rfind(" ", start + 1, end), text.rfind("\n", start + 1, end)) + 1 or end
            yield self._ids(text[start:end])
            start = end
        yield self._ids(text[start:])

    def _ids(self, text: str) -> Tokens:
        return self._remembered(text) if len(text) <= _SHORT_CHARACTERS else self._encoded(text)

    def _encoded(self, text: str) -> Tokens:
        ids = np.array(self._tokenizer.encode(text, add_special_tokens=False).ids, dtype=np.int32)
        ids.flags.writeable = False
        return ids

    def _special_tokens(self) -> tuple[Tokens, Tokens]:
        """What the tokenizer puts before and after a text, seen on a text of one letter."""
        shown = self._tokenizer.encode("a")
        own = [at for at, special in enumerate(shown.special_tokens_mask) if not special]
        ids = np.array(shown.ids, dtype=np.int32)
        return ids[: own[0]], ids[own[-1] + 1 :]
