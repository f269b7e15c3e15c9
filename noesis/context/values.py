"""What a host asks of the context engine, and what it is given."""

from __future__ import annotations

import msgspec

from noesis.memory import Memory

PRIORITY = "priority"
RECALLED = "recalled"
"""Why a memory is in a prompt: it is in every one for its priority, or this one recalls it."""

DEFAULT_BUDGET = 2_000
LARGEST_BUDGET = 100_000
"""Tokens of a block when the host names no budget, and the most it may name."""

LONGEST_DEADLINE_MS = 10_000
SHORTEST_DEADLINE_MS = 50
"""The bounds of how long a host may wait; what it names beyond them is taken as the bound."""


class Occasion(msgspec.Struct, frozen=True, kw_only=True):
    """The prompt that memories are wanted for; `token_budget` bounds the block, `deadline_ms` the wait."""

    prompt: str = ""
    session_id: str | None = None
    token_budget: int = DEFAULT_BUDGET
    deadline_ms: int | None = None


class Included(msgspec.Struct, frozen=True, kw_only=True):
    """One memory of a block: why it is there, the tokens it takes, and its score if the prompt recalled it."""

    memory: Memory
    why: tuple[str, ...]
    token_count: int
    score: float | None = None


class Assembled(msgspec.Struct, frozen=True, kw_only=True):
    """What goes into a prompt: the block (empty when there is nothing to say), and what it is made of.

    `left_out` counts by reason what would have been in it; `degraded` says that the prompt recalled
    less than it might have, and `reason` why.
    """

    text: str
    token_count: int
    included: tuple[Included, ...]
    left_out: dict[str, int]
    took_ms: float
    degraded: bool = False
    reason: str | None = None
