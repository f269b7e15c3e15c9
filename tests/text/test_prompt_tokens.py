"""The count of tokens is never below what real tokenizers make of real text."""

from __future__ import annotations

import json
from itertools import islice
from pathlib import Path

from tokenizers import Tokenizer

from noesis.benchmark.labelled import SHIPPED
from noesis.text.prompt_tokens import count_tokens

MINILM = Path(__file__).parents[2] / "noesis/embedding/data/all-minilm-l6-v2/tokenizer.json"

CODE = [
    "def f(x: int) -> list[int]:\n    return [y ** 2 for y in range(x) if y % 3 == 0]\n" * 5,
    "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "2026-05-04T10:00:00Z 127.0.0.1:8787 /api/v1/memories/5f1f3cf0-62a5-5a5e-9a5d-0e4f4d0c8a11",
    "{{{}}}[[[]]]((()))!!!???;;;:::,,,...$$$%%%^^^&&&***",
    "私たちはウィキをポート8085で運用することに決めました。",
    "Мы решили разместить вики на порту 8085.",
    "👩‍👩‍👧 🎉🎉🎉",
]


def test_a_block_of_texts_counts_no_less_than_the_tokenizer_of_the_local_model() -> None:
    """WordPiece of 30,522 tokens, made for English: of German and Spanish it makes more than others do."""
    tokenizer = _tokenizer()
    for texts in (*_talks(), CODE):
        real = sum(len(tokenizer.encode(text, add_special_tokens=False).ids) for text in texts)
        assert sum(map(count_tokens, texts)) >= real, texts[0][:60]


def test_it_is_not_so_cautious_that_a_budget_stays_half_empty() -> None:
    tokenizer = _tokenizer()
    texts = [text for talk in _talks() for text in talk]
    real = sum(len(tokenizer.encode(text, add_special_tokens=False).ids) for text in texts)
    assert sum(map(count_tokens, texts)) < 2 * real


def test_nothing_takes_nothing() -> None:
    assert count_tokens("") == 0
    assert count_tokens("word") == 2
    assert count_tokens("a b") == 2


def _tokenizer() -> Tokenizer:
    tokenizer = Tokenizer.from_file(str(MINILM))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer


def _talks() -> list[list[str]]:
    """The first texts of each shipped conversation."""
    files = sorted(SHIPPED.glob("*.json"))
    read = (json.loads(file.read_text())["memories"] for file in files)
    return [[memory["text"] for memory in islice(memories, 40)] for memories in read]
