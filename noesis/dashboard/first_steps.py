"""The first steps with a new Noesis: which are done, by a look at what is here."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import msgspec

from noesis.dashboard.job_rows import JobRow, job_row
from noesis.dashboard.source_rows import place_words
from noesis.dashboard.translation import _, listed
from noesis.ledger import LIVE, JobFilter
from noesis.memory import MemoryFilter, Scope
from noesis.runtime import Noesis
from noesis.sources.roots import Root
from noesis.tokens import Token

_STATE = "first_steps"
_OVER = "over"

REQUIRED = ("model", "token", "host", "memory")
"""The steps without which nothing works; following a folder is nobody's duty."""


class Steps(msgspec.Struct, frozen=True, kw_only=True):
    """How far the first steps are; `done` holds their names, `download` the model's if one is under way."""

    done: frozenset[str]
    model: str
    advice: str
    download: JobRow | None
    found: str
    trouble: tuple[tuple[str, str], ...]
    home: str

    @property
    def are_done(self) -> bool:
        """Whether all that is needed was done."""
        return self.done.issuperset(REQUIRED)

    @property
    def left(self) -> int:
        """How many that are needed are still to be done."""
        return sum(name not in self.done for name in REQUIRED)


async def look(noesis: Noesis, scope: Scope) -> Steps:
    """Look at the model, the places, the tokens and the memories."""
    report = await noesis.health.report()
    embedder = next(part for part in report.parts if part.name == "embedder")
    roots = await noesis.inflow.following.followed(also_unwatched=True)
    tokens = await noesis.tokens.list()
    live = await noesis.jobs.list(JobFilter(states=LIVE, names=("prepare_model",)), limit=1)
    done = {
        "model": embedder.state == "ok",
        "places": bool(roots),
        "token": bool(tokens),
        "host": any(token.last_used_at for token in tokens),
        "memory": await _has_memory(noesis, scope),
    }
    home = noesis.settings.openclaw_home
    return Steps(
        done=frozenset(name for name, is_done in done.items() if is_done),
        model=embedder.summary,
        advice=embedder.what_to_do,
        download=job_row(live.jobs[0], noesis.now_ms()) if live.jobs else None,
        found=found_words(roots),
        trouble=tuple((str(each.path), each.reason) for each in noesis.inflow.following.problems),
        home="" if home is None else str(home),
    )


async def are_over(noesis: Noesis) -> bool:
    """Whether the steps were done once, or somebody said that they are not needed."""
    return await noesis.control.value(_STATE) == _OVER


async def end(noesis: Noesis) -> None:
    """Speak of them no longer."""
    await noesis.control.set_value(_STATE, _OVER)


def found_words(roots: Sequence[Root]) -> str:
    """What is followed: `OpenClaw's 2 notes and 1 transcripts, of main and ops`; empty for nothing."""
    if not roots:
        return ""
    kinds = Counter(place_words(root.kind) for root in roots)
    places = listed(f"{count} × {kind}" for kind, count in kinds.items())
    agents = listed(sorted({root.agent for root in roots}))
    if any(root.found_by == "openclaw" for root in roots):
        return _("OpenClaw's places were found: %(places)s, of %(agents)s.", places=places, agents=agents)
    return _("Followed: %(places)s, of %(agents)s.", places=places, agents=agents)


async def _has_memory(noesis: Noesis, scope: Scope) -> bool:
    newest = await noesis.browsing.page(scope, MemoryFilter(), limit=1)
    return bool(newest.memories)


def first_agent(tokens: Sequence[Token]) -> str:
    """The agent that a first memory is proposed for."""
    named = (name for token in tokens for name in token.agents if name != "*")
    return next(named, "main")
