"""Why a captured text should be looked at by a person before it may reach a prompt.

Safety does not hang on these rules: what is assembled for a prompt is fenced and escaped whatever it
says.  They only keep the plainest attempts, secrets and junk out of sight until somebody looked.
"""

from __future__ import annotations

import math
import unicodedata
from collections import Counter
from collections.abc import Mapping

import re2

INSTRUCTION = "instruction"
SECRET = "secret"  # noqa: S105 - a reason's name
JUNK = "junk"
HIDDEN = "hidden characters"

_ORDERS = re2.compile(
    r"(?i)"
    r"\b(?:ignore|disregard|forget|override)\s+(?:all\s+|any\s+|the\s+|your\s+|my\s+)*"
    r"(?:previous|prior|earlier|above|preceding|system|foregoing)\b"
    r"|\b(?:new|updated|real)\s+(?:system\s+)?(?:prompt|instructions?)\s*:"
    r"|\byou\s+are\s+now\s+(?:\p{L}+\s+){0,3}(?:assistant|ai|bot|agent|model|developer\s+mode|jailbroken|dan)\b"
    r"|\bfrom\s+now\s+on\b.{0,80}\b(?:run|execute|post|fetch|download|obey)\b"
    r"|\b(?:do\s+not|don't|never)\s+(?:tell|inform|mention\s+(?:this|it)\s+to|show)\s+(?:the\s+)?user\b"
    r"|\bbefore\s+each\s+(?:answer|reply|response)\b"
    r"|\b(?:ignoriere|vergiss)\s+(?:alle\s+|die\s+|deine\s+)*(?:vorherigen|bisherigen|obigen)\b"
)
_COMMAND = re2.compile(
    r"(?i)\b(?:curl|wget)\b[^\n|]{0,300}\|\s*(?:sudo\s+)?(?:ba|z|da)?sh\b"
    r"|\brm\s+-[a-z]*r[a-z]*f?[a-z]*\s+[/~]"
    r"|\bbase64\s+(?:-d|--decode)\b"
)
_TEMPLATE = re2.compile(
    r"(?i)<\|[a-z_]{2,24}\|>|\[/?INST\]|<</?SYS>>|^\s*(?:system|developer)\s*:|</?(?:system|assistant|tool)>"
)
_SPACED = re2.compile(r"(?:\b\p{L}[ .\-_]+){5,}\p{L}\b")
_SQUEEZED = re2.compile(
    r"(?:ignore|disregard|forget|override)(?:all|any|the|your|my)*(?:previous|prior|earlier|above|preceding|system)"
)
_TAGS = re2.compile(r"[\x{E0000}-\x{E007F}]|[\x{202A}-\x{202E}\x{2066}-\x{2069}]")

_JUNK_FROM = 40
_LEAST_LETTERS = 0.35
_LEAST_ENTROPY = 2.0


def reasons_to_look(text: str, secrets: Mapping[str, int]) -> tuple[str, ...]:
    """Why a person should look at a text, empty when nothing speaks against it.

    `secrets` are the counts that redaction gave for it.  Takes time linear in the text.
    """
    found = []
    plain = unicodedata.normalize("NFKC", text)
    if is_instruction(plain):
        found.append(INSTRUCTION)
    if _TAGS.search(text):
        found.append(HIDDEN)
    if secrets:
        found.append(SECRET)
    if is_junk(plain):
        found.append(JUNK)
    return tuple(found)


def speaks_to_model(text: str) -> bool:
    """Whether a text is instruction-like or hides characters from who reads it.  Takes linear time."""
    return _TAGS.search(text) is not None or is_instruction(unicodedata.normalize("NFKC", text))


def is_instruction(text: str) -> bool:
    """Whether a text speaks to the model instead of telling something."""
    if any(pattern.search(text) for pattern in (_ORDERS, _COMMAND, _TEMPLATE)):
        return True
    # Spelled out, words cannot be told apart any more: look at the letters alone.
    letters = "".join(filter(str.isalpha, text)).lower() if _SPACED.search(text) else ""
    return _SQUEEZED.search(letters) is not None


def is_junk(text: str) -> bool:
    """Whether a longer text holds hardly any words, or the same again and again."""
    visible = [character for character in text if not character.isspace()]
    if len(visible) < _JUNK_FROM:
        return False
    letters = sum(character.isalpha() for character in visible)
    return letters / len(visible) < _LEAST_LETTERS or _entropy(visible) < _LEAST_ENTROPY


def _entropy(characters: list[str]) -> float:
    """Shannon entropy in bits per character."""
    total = len(characters)
    return -sum(n / total * math.log2(n / total) for n in Counter(characters).values())
