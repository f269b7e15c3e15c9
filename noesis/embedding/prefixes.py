"""The words that known models want before a document or a query; Ollama adds none itself.

From the models' cards, by the beginning of the model's name in Ollama's library.  A model that is
not listed gets none.  The prefixes are part of an embedder's identity.
"""

from __future__ import annotations

_PASSAGES = "Represent this sentence for searching relevant passages: "
_QWEN3 = "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery:"

# The longer beginning comes first where one begins with another.
_KNOWN: tuple[tuple[str, str, str], ...] = (
    ("nomic-embed-text", "search_document: ", "search_query: "),
    ("mxbai-embed-large", "", _PASSAGES),
    ("multilingual-e5", "passage: ", "query: "),
    ("e5-", "passage: ", "query: "),
    ("bge-m3", "", ""),
    ("bge-", "", _PASSAGES),
    ("snowflake-arctic-embed2", "", "query: "),
    ("snowflake-arctic-embed", "", _PASSAGES),
    ("embeddinggemma", "title: none | text: ", "task: search result | query: "),
    ("qwen3-embedding", "", _QWEN3),
)


def task_prefixes(model: str) -> tuple[str, str]:
    """The (document, query) prefixes of a model by its name; a user's namespace and tag do not matter."""
    name = model.rsplit("/", 1)[-1].lower()
    for beginning, document, query in _KNOWN:
        if name.startswith(beginning):
            return document, query
    return "", ""
