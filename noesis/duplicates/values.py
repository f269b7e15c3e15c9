"""The values of duplicates: what is looked for, what was found, and what can be decided."""

from __future__ import annotations

import enum

import msgspec

from noesis.errors import InvalidInput
from noesis.memory import Memory, MemoryType

DEFAULT_THRESHOLD = 0.9
LEAST_THRESHOLD = 0.7
MOST_THRESHOLD = 0.99
"""Cosines from which two vectors are looked at, as the original's noesis_dedup has them.

It only picks the pairs whose words are compared; models place unrelated texts anywhere between 0 and 0.86.
"""


class Kind(enum.StrEnum):
    """What was found: memories with the same words, nearly the same, or a newer statement on a matter."""

    EXACT = "exact"
    NEAR = "near"
    NEWER = "newer"


class State(enum.StrEnum):
    """Whether a finding waits for a decision, and else which one was made, or that its memories changed first."""

    OPEN = "open"
    MERGED = "merged"
    KEPT = "kept"
    DELETED = "deleted"
    SUPERSEDED = "superseded"
    OVERTAKEN = "overtaken"


class Decision(enum.StrEnum):
    """What can be done with a finding.

    merge: one is kept, with the tags of all, the highest priority and the longest life, the others go to
    the archive; keep_both: nothing, and it is not proposed again; delete: one is kept, the others are
    deleted; supersede: the one kept replaces the others, which stay.
    """

    MERGE = "merge"
    KEEP_BOTH = "keep_both"
    DELETE = "delete"
    SUPERSEDE = "supersede"


OUTCOME = {
    Decision.MERGE: State.MERGED,
    Decision.KEEP_BOTH: State.KEPT,
    Decision.DELETE: State.DELETED,
    Decision.SUPERSEDE: State.SUPERSEDED,
}

ALLOWED = {
    Kind.EXACT: (Decision.MERGE, Decision.KEEP_BOTH, Decision.DELETE),
    Kind.NEAR: (Decision.MERGE, Decision.KEEP_BOTH, Decision.DELETE, Decision.SUPERSEDE),
    Kind.NEWER: (Decision.SUPERSEDE, Decision.KEEP_BOTH, Decision.DELETE),
}
"""What a kind of finding can be decided as; texts that say different things are not merged."""


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """What to look for; `dry_run` leaves the report that is there as it is."""

    threshold: float = DEFAULT_THRESHOLD
    memory_type: MemoryType | None = None
    dry_run: bool = False


class Member(msgspec.Struct, frozen=True):
    """A memory of a finding: its cosine to the one proposed to be kept, and the hash of the text that was compared."""

    id: str
    similarity: float
    content_hash: str


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """Memories of one agent that belong together; the first member is the one proposed to be kept."""

    id: str
    agent: str
    kind: Kind
    members: tuple[Member, ...]
    state: State = State.OPEN
    decided_at: int | None = None
    decided_by: str | None = None

    @property
    def similarity(self) -> float:
        """The least cosine among its members."""
        return min(member.similarity for member in self.members)


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """What one look through an agent's memories found, and when (ms since 1970).

    `without_vector` memories were compared by their exact words only; `left_out` are pairs that were not
    compared because too many were near.  `stored` of the findings wait for decisions.
    """

    agent: str
    at: int
    checked: int
    threshold: float
    without_vector: int = 0
    left_out: int = 0
    exact: int = 0
    near: int = 0
    newer: int = 0
    stored: int = 0


class ShownMember(msgspec.Struct, frozen=True):
    """A memory of a finding as it is now; `reason` says how its words stand to those of the one to keep."""

    memory: Memory
    similarity: float
    keep: bool
    reason: str
    words: tuple[str, ...]


class Shown(msgspec.Struct, frozen=True):
    """A finding with its memories, and what it can be decided as."""

    id: str
    agent: str
    kind: Kind
    state: State
    similarity: float
    members: tuple[ShownMember, ...]
    decisions: tuple[Decision, ...]


def check_threshold(value: float) -> float:
    """The value, or InvalidInput when it is outside 0.7 to 0.99."""
    if not LEAST_THRESHOLD <= value <= MOST_THRESHOLD:
        raise InvalidInput(
            f"threshold must lie between {LEAST_THRESHOLD} and {MOST_THRESHOLD}.", field="threshold"
        )
    return value
