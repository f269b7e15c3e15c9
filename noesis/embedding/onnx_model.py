"""Run a sentence-embedding model with ONNX Runtime: token windows to pooled vectors."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import onnxruntime as ort

from noesis.embedding.model_files import ModelFiles
from noesis.embedding.tokens import Tokens
from noesis.errors import EmbedderUnavailable
from noesis.heap import release_free_memory

Hidden = npt.NDArray[np.float32]


class OnnxModel:
    """A loaded model.  `run` blocks; one call at a time keeps its memory bounded."""

    def __init__(self, files: ModelFiles, threads: int) -> None:
        """Load from disk (about half a second); raises EmbedderUnavailable when that fails."""
        try:
            self._session = _open_session(files, threads)
        except Exception as error:  # the library's errors share no nearer base
            raise EmbedderUnavailable(f"The model {files.config.name} cannot be loaded: {error}") from error
        self._pooling = files.config.pooling
        self._inputs = {node.name for node in self._session.get_inputs()}
        self._output = self._session.get_outputs()[0].name
        release_free_memory()

    def run(self, batch: Sequence[Tokens]) -> Hidden:
        """One pooled vector for each window, shape (len(batch), dimension); not normalised."""
        longest = max(len(window) for window in batch)
        ids = np.zeros((len(batch), longest), dtype=np.int64)
        mask = np.zeros_like(ids)
        for row, window in enumerate(batch):
            ids[row, : len(window)] = window
            mask[row, : len(window)] = 1
        feeds = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        feeds = {name: value for name, value in feeds.items() if name in self._inputs}
        hidden = np.asarray(self._session.run([self._output], feeds)[0], dtype=np.float32)
        return hidden if self._pooling == "none" else _POOLINGS[self._pooling](hidden, mask)


def _open_session(files: ModelFiles, threads: int) -> ort.InferenceSession:
    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    # Idle threads sleep instead of spinning, and memory goes back after each run: this process
    # also serves requests, and a server that waits should cost nothing.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.enable_cpu_mem_arena = False
    return ort.InferenceSession(str(files.model), options, providers=["CPUExecutionProvider"])


def _mean(hidden: Hidden, mask: npt.NDArray[np.int64]) -> Hidden:
    weights = mask[:, :, None].astype(np.float32)
    return np.asarray((hidden * weights).sum(axis=1) / weights.sum(axis=1), dtype=np.float32)


def _first(hidden: Hidden, _mask: npt.NDArray[np.int64]) -> Hidden:
    return np.asarray(hidden[:, 0])


def _last(hidden: Hidden, mask: npt.NDArray[np.int64]) -> Hidden:
    return np.asarray(hidden[np.arange(len(hidden)), mask.sum(axis=1) - 1])


_POOLINGS = {"mean": _mean, "cls": _first, "last": _last}
