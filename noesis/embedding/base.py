"""What an embedder is: the contract that `local` and `ollama` both keep."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, Protocol

import msgspec
import numpy as np
import numpy.typing as npt

Vector = npt.NDArray[np.float32]


class EmbedderIdentity(msgspec.Struct, frozen=True):
    """What makes vectors comparable: two embedders whose identities differ are never mixed.

    `digest` is the SHA-256 (hex) of the model's weights as the provider states them, `dimension`
    the length of its vectors, learnt from an answer and never assumed.
    """

    provider: str
    model: str
    digest: str
    dimension: int
    document_prefix: str = ""
    query_prefix: str = ""


class EmbeddingFailure(msgspec.Struct, frozen=True):
    """Why one text of a batch has no vector.

    `permanent` means that the same text will fail again; otherwise a later try may succeed.
    `outage` means that the embedder was not there at all, which says nothing about the text.
    `reason` is for people and never holds the text.
    """

    reason: str
    permanent: bool
    outage: bool = False


class ModelStatus(msgspec.Struct, frozen=True):
    """Whether the model can be used; `completed` and `total` are bytes while it is being pulled.

    `sentence` says it for people.
    """

    state: Literal["unknown", "ready", "missing", "pulling", "unreachable", "unsuitable"]
    sentence: str
    completed: int = 0
    total: int = 0


class Embedder(Protocol):
    """Turns text into unit vectors.

    Implementations validate what they give: right count and width, finite, L2 norm 1 (float32).
    They add the model's own document or query prefix; callers pass plain text.  A text longer
    than the model's limit is never cut silently: it is embedded in windows whose vectors are
    averaged and normalised again.
    """

    async def identity(self) -> EmbedderIdentity:
        """Who this is.  Cheap after the first call.

        Raises EmbedderUnavailable, or EmbedderMismatch when what is there is no usable model.
        """
        ...

    async def embed_documents(self, texts: Sequence[str]) -> list[Vector | EmbeddingFailure]:
        """One result per text, in order; a bad text fails alone.

        Raises EmbedderUnavailable when nothing could be embedded because it does not answer,
        EmbedderMismatch when its answers no longer fit its identity.
        """
        ...

    async def embed_query(self, text: str) -> Vector:
        """The vector of a question.  Raises EmbedderUnavailable, EmbedderMismatch or EmbeddingRejected."""
        ...

    def count_tokens(self, text: str) -> int:
        """How many tokens the model reads for `text` as a document, its prefix and special tokens included.

        An estimate, high for prose, where it cannot be known.  Above `max_tokens` there will be windows.
        """
        ...

    @property
    def max_tokens(self) -> int:
        """The longest input in tokens that the model reads in one piece."""
        ...

    @property
    def model_status(self) -> ModelStatus:
        """How the model was when last heard of; costs nothing."""
        ...

    async def refresh_status(self) -> ModelStatus:
        """Ask how the model is.  Raises nothing: not to be reached is a status too."""
        ...

    async def ensure_model(self, on_progress: Callable[[ModelStatus], None] | None = None) -> None:
        """Have the model ready, downloading it if that is the provider's way.  Raises EmbedderUnavailable."""
        ...

    async def close(self) -> None:
        """Give back connections and memory."""
        ...
