"""Takes secrets out of text before it is stored, embedded or logged, and keeps the sentence around them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Literal

import msgspec

from noesis.errors import InvalidInput
from noesis.text import assignments
from noesis.text.normalise import refuse_surrogates
from noesis.text.secret_patterns import SHAPES, Secret, find_shape, shapes_in

Policy = Literal["redact", "block", "off"]

# A replacement can set free what stood glued to the secret; real text needs one further pass at most.
_MOST_PASSES = 8


class Redaction(msgspec.Struct, frozen=True):
    """A text without its secrets, and how many of each kind it had."""

    text: str
    counts: dict[str, int]


def redact(text: str, policy: Policy) -> Redaction:
    """`text` with `<redacted:kind>` in the place of every secret; doing it twice changes nothing.

    Policy `off` gives the text back as it is; `block` raises InvalidInput (field `text`) when there
    is a secret, naming the kinds and never the secret.  A lone surrogate raises InvalidInput too.
    Takes time linear in the text.  Redact cleaned text: a zero-width character inside a secret hides it.
    """
    if policy == "off":
        return Redaction(text, {})
    refuse_surrogates(text)
    data = text.encode("utf-8")
    counts: Counter[str] = Counter()
    for _ in range(_MOST_PASSES):
        found = _redact_once(data, counts)
        if found == data:
            break
        data = found
    if counts and policy == "block":
        kinds = ", ".join(sorted(counts))
        raise InvalidInput(
            f"The text holds what looks like a secret ({kinds}) and this agent's policy is to refuse it; "
            "leave the secret out and send the text again",
            field="text",
        )
    return Redaction(data.decode("utf-8") if counts else text, dict(counts))


def _redact_once(data: bytes, counts: Counter[str]) -> bytes:
    number = 0
    # Looked for again after each replacement, which may set free what stood glued to the secret.
    while (number := next((each for each in shapes_in(data) if each >= number), -1)) >= 0:
        data = _without(find_shape(SHAPES[number], data), data, counts)
        number += 1
    for find in assignments.FINDERS:
        data = _without(find(data), data, counts)
    return data


def _without(found: Iterable[Secret], data: bytes, counts: Counter[str]) -> bytes:
    secrets = list(found)
    return b"".join(_replaced(data, secrets, counts)) if secrets else data


def _replaced(data: bytes, secrets: list[Secret], counts: Counter[str]) -> Iterator[bytes]:
    done = 0
    for secret in secrets:
        counts[secret.kind] += 1
        yield data[done : secret.start]
        yield f"<redacted:{secret.kind}>".encode()
        done = secret.end
    yield data[done:]
