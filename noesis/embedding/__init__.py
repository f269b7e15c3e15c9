"""Embedders: text to unit vectors."""

from noesis.embedding.base import Embedder, EmbedderIdentity, EmbeddingFailure, ModelStatus, Vector

__all__ = ["Embedder", "EmbedderIdentity", "EmbeddingFailure", "ModelStatus", "Vector"]
