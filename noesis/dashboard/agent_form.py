"""The form of an agent's policy: its fields as text, and what they mean."""

from __future__ import annotations

from collections.abc import Mapping
from typing import get_args

import msgspec

from noesis.agents import Policy, Redaction
from noesis.dashboard.edit_form import days_of
from noesis.dashboard.translation import gettext_noop
from noesis.errors import InvalidInput
from noesis.lifetimes import DEFAULT
from noesis.memory import MemoryType

LIVES = (DEFAULT, *(kind.value for kind in MemoryType))
"""What a life can be set for: all types that are not named, and each type."""

_MOST = 1_000_000_000


class PolicyForm(msgspec.Struct, frozen=True, kw_only=True):
    """The fields as they were typed; an empty one is as the settings say."""

    may_read_across: bool = False
    redaction: str = ""
    max_memories: str = ""
    writes_per_minute: str = ""
    lives: dict[str, str] = {}


def form_of(policy: Policy) -> PolicyForm:
    """The form filled with what is set."""
    return PolicyForm(
        may_read_across=policy.may_read_across,
        redaction=policy.redaction or "",
        max_memories=_text(policy.max_memories),
        writes_per_minute=_text(policy.writes_per_minute),
        lives={name: _text(policy.ttl_days.get(name)) for name in LIVES},
    )


def read(fields: Mapping[str, str]) -> PolicyForm:
    """The form as it was sent."""
    return PolicyForm(
        may_read_across=fields.get("may_read_across") == "yes",
        redaction=fields.get("redaction", ""),
        max_memories=fields.get("max_memories", "").strip(),
        writes_per_minute=fields.get("writes_per_minute", "").strip(),
        lives={name: fields.get(f"life-{name}", "").strip() for name in LIVES},
    )


def policy_of(agent: str, form: PolicyForm) -> Policy:
    """The policy that is meant.  Raises InvalidInput naming the field."""
    return Policy(
        agent,
        form.may_read_across,
        _redaction(form.redaction),
        {name: days_of(raw, f"life-{name}") for name, raw in form.lives.items() if raw},
        _limit(form.max_memories, "max_memories"),
        _limit(form.writes_per_minute, "writes_per_minute"),
    )


def _redaction(raw: str) -> Redaction | None:
    if not raw:
        return None
    choices: tuple[Redaction, ...] = get_args(Redaction)
    for choice in choices:
        if raw == choice:
            return choice
    raise InvalidInput(gettext_noop("Choose what happens to secrets."), field="redaction")


def _limit(raw: str, field: str) -> int | None:
    if not raw:
        return None
    if not (raw.isascii() and raw.isdigit() and len(raw) <= 10 and int(raw) <= _MOST):
        raise InvalidInput(
            gettext_noop("A whole number, 0 for no limit; empty for what the settings say."), field=field
        )
    return int(raw)


def _text(value: float | None) -> str:
    return "" if value is None else f"{value:g}" if isinstance(value, float) else str(value)
