"""Makes a stranger's text fit to stand in a prompt as data: nothing in it can end its block or play a role."""

from __future__ import annotations

import re2

from noesis.text.normalise import clean_text

ELLIPSIS = "…"

# As XML has it; look-alikes of the angle brackets too, since some tokenizers fold them.
_ESCAPED = str.maketrans(
    {"&": "&amp;", "<": "&lt;", ">": "&gt;", "＜": "&lt;", "＞": "&gt;", "﹤": "&lt;", "﹥": "&gt;"}
)
_ROLE = r"(?:system|developer|assistant|user|human|tool|function|model|ai)"
# A role's name as chat formats write it: at the start of a line or of a sentence, or in capitals anywhere.
_PREFIX = re2.compile(rf"(?im)(^[\s>*#\-|`'\"\[(]*|[.!?:;|\])]\s*|&[gl]t;\s*)({_ROLE})([\s*_`'\"\])]*)[:：]")
_CAPITALS = re2.compile(r"\b(SYSTEM|DEVELOPER|ASSISTANT|USER|HUMAN)(\s*)[:：]")
_BRACKETED = re2.compile(
    r"(?i)\[(\s*/?\s*(?:INST|SYS|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS)\s*)\]"
)
_HEADING = re2.compile(
    r"(?im)^(\s*)#{2,}(\s*(?:instruction|instructions|response|input|system|assistant|user|human)\b)"
)
_FENCE = re2.compile(r"`{3,}|~{3,}")


def as_data(text: str, most_chars: int) -> str:
    r"""`text` so that a model reads it and no chat format acts on it, at most about `most_chars` characters.

    Angle brackets are written as entities, so that no tag and no template token is left; a role before
    a colon loses the colon, bracketed tokens their brackets, fences become quotes; control, direction
    and invisible characters go.  What it says is never judged: a phrase that is spelled out is data
    like any other.  Line breaks stay; whoever puts lines into a block indents them.  Linear in the text.
    """
    # Cut before anything is done: a memory may hold half a million characters.
    clean = clean_text(text[: 2 * most_chars].encode("utf-8", "replace").decode()).strip()
    if len(clean) > most_chars or len(text) > 2 * most_chars:
        clean = clean[:most_chars].rstrip() + ELLIPSIS
    escaped = clean.translate(_ESCAPED)
    plain = _PREFIX.sub(r"\1\2\3 –", escaped)
    plain = _CAPITALS.sub(r"\1\2 –", plain)
    plain = _BRACKETED.sub(r"(\1)", plain)
    plain = _HEADING.sub(r"\1\2", plain)
    return str(_FENCE.sub("'''", plain))


def on_one_line(text: str, most_chars: int) -> str:
    """The same for a name or a path: blanks and line breaks become one blank each."""
    return " ".join(as_data(" ".join(text[: 2 * most_chars].split()), most_chars).split())
