"""The local embedder: an ONNX model in this process, all-MiniLM-L6-v2 unless told otherwise."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from noesis.embedding.in_process import InProcessEmbedder, default_threads
from noesis.embedding.model_files import ModelFiles, bundled_minilm, checked_digest, model_in_directory
from noesis.embedding.onnx_model import Hidden, OnnxModel
from noesis.embedding.tokens import TokenReader, Tokens

# Padded tokens in one run of the model: about 80 ms on two cores, the longest that a query waits.
RUN_TOKENS = 256


class LocalEmbedder(InProcessEmbedder[Tokens]):
    """all-MiniLM-L6-v2, or the ONNX model of `files`.

    `threads` is how many cores one run may use, by default min(4, cores).
    """

    def __init__(self, files: ModelFiles | None = None, *, threads: int | None = None) -> None:
        super().__init__("local", _OnnxText(files or bundled_minilm(), threads or default_threads()))

    @classmethod
    def from_directory(cls, directory: Path, *, threads: int | None = None) -> LocalEmbedder:
        """Another model, laid out as `model_files` says.  Raises SettingsError when it is not."""
        return cls(model_in_directory(directory), threads=threads)


class _OnnxText:
    """A tokenizer, read at once, and the ONNX model behind it, loaded when it is wanted."""

    run_tokens = RUN_TOKENS

    def __init__(self, files: ModelFiles, threads: int) -> None:
        self.files = files
        self._threads = threads
        self._reader = TokenReader(files)
        self.max_tokens: int = self._reader.max_tokens
        self._loaded: tuple[OnnxModel, str, int] | None = None

    def count(self, text: str) -> int:
        return self._reader.count(text, self.files.config.document_prefix)

    def windows(self, text: str, *, question: bool) -> list[Tokens]:
        config = self.files.config
        return self._reader.windows(text, config.query_prefix if question else config.document_prefix)

    def load(self) -> tuple[str, int]:
        if self._loaded is None:
            digest = checked_digest(self.files)
            model = OnnxModel(self.files, self._threads)
            width = model.run(self._reader.windows("width", "")).shape[1]
            self._loaded = (model, digest, width)
        _, digest, width = self._loaded
        return digest, width

    def run(self, windows: Sequence[Tokens]) -> Hidden:
        assert self._loaded is not None
        return self._loaded[0].run(windows)

    def unload(self) -> None:
        self._loaded = None
