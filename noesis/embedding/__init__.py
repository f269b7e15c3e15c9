"""Embedders: text to unit vectors."""

from noesis.embedding.base import Embedder, EmbedderIdentity, EmbeddingFailure, Vector

__all__ = ["Embedder", "EmbedderIdentity", "EmbeddingFailure", "Vector"]
