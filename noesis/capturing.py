"""Capture: what turns of a conversation leave behind, whichever way they came."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

import msgspec
import sqlalchemy as sa

from noesis.control import Control, metadata
from noesis.erasing import FORGOTTEN, Forgotten
from noesis.errors import InvalidInput, NoesisError
from noesis.inbox import Decision, Inbox, Waiting
from noesis.indexing import Indexing
from noesis.memory import MemoryType, NewMemory, Role, Scope, memory_id, source_key
from noesis.redacting import Redacting, Redactor
from noesis.text.capture import captured
from noesis.text.normalise import content_hash
from noesis.text.suspicion import reasons_to_look
from noesis.text.terms import terms
from noesis.text.turn_text import noise_of, turn_text
from noesis.tombstones import Kind
from noesis.turns import Turn

turns_table = sa.Table(
    "captured_turns",
    metadata,
    sa.Column("agent", sa.String(64), primary_key=True),
    sa.Column("session", sa.String(512), primary_key=True),
    sa.Column("entry", sa.String(128), primary_key=True),
)

ACTOR = "capture"
"""Who stores it, for the history."""

UNFIT = "not fit to be stored"
BLOCKED = "secret, and the agent's policy is to refuse such texts"
TOO_LITTLE = "says too little"
LEAST_TERMS = 3
"""Different words, function words aside, that a turn says at least to be kept as a whole."""

_WITH_ID, _WITHOUT_ID = "with id:", "said:"

REDACTED = "<redacted:"
"""What stands in the place of a secret, as far as it is always the same."""


class Captures(msgspec.Struct, frozen=True, kw_only=True):
    """What became of some turns: memories by type, turns left out by reason, and two more counts.

    `held` wait in the inbox; `known` were captured before, perhaps by another way.
    """

    stored: dict[str, int] = {}
    left_out: dict[str, int] = {}
    held: int = 0
    known: int = 0

    def __add__(self, other: Captures) -> Captures:
        """Both together."""
        return Captures(
            stored=dict(Counter(self.stored) + Counter(other.stored)),
            left_out=dict(Counter(self.left_out) + Counter(other.left_out)),
            held=self.held + other.held,
            known=self.known + other.known,
        )


class _Kept(msgspec.Struct, frozen=True):
    """A memory that a turn gives, redacted, and why a person should look at it first."""

    memory: NewMemory
    reasons: tuple[str, ...]


class Capturing:
    """Turns turns into memories."""

    def __init__(
        self,
        control: Control,
        indexing: Indexing,
        inbox: Inbox,
        redacting: Redacting,
        forgotten: Forgotten,
        now_ms: Callable[[], int],
    ) -> None:
        self._control = control
        self._indexing = indexing
        self._inbox = inbox
        self._redacting = redacting
        self._forgotten = forgotten
        self._now_ms = now_ms

    async def capture(self, agent: str, turns: Sequence[Turn], origin: str) -> Captures:
        """Store what some turns of an agent's sessions leave behind; each turn once.

        `origin` is what a person may trust: where the turns come from.  Returns when it is all stored or
        waits in the inbox; may be run again after a kill.  Raises a StoreError.
        """
        away = await self.away(agent)
        wanted = [turn for turn in turns if turn.session_id not in away]
        new = await self._unknown(agent, wanted)
        redactor = await self._redacting.redactor(agent)
        left_out: Counter[str] = Counter({FORGOTTEN: len(turns) - len(wanted)})
        kept: list[_Kept] = []
        for turn in new:
            found = _kept_of(turn, redactor)
            if isinstance(found, str):
                left_out[found] += 1
            else:
                kept += found
        trusted = await self._inbox.is_trusted(agent, origin)
        held = [each for each in kept if each.reasons and not trusted]
        good = [each.memory for each in kept if trusted or not each.reasons]
        stored = await self._store(agent, good, left_out)
        await self._inbox.hold([self._waiting(agent, origin, each) for each in held])
        await self._redacting.record(agent, redactor.counts)
        # Last: a turn that is on this list is never looked at again.
        await self._note(agent, new)
        await self._leave(agent, new)
        return Captures(
            stored=dict(stored), left_out=dict(+left_out), held=len(held), known=len(wanted) - len(new)
        )

    async def away(self, agent: str) -> frozenset[str]:
        """The agent's sessions that were forgotten."""
        return frozenset(value for kind, value in await self._forgotten.of(agent) if kind is Kind.SESSION)

    async def forget(self, agent: str, session: str) -> None:
        """Not know which turns of a session were captured: all of them would be looked at anew."""
        mine = (turns_table.c.agent == agent) & (turns_table.c.session == session)
        await self._control.run(lambda connection: connection.execute(sa.delete(turns_table).where(mine)))

    async def _leave(self, agent: str, captured_turns: Sequence[Turn]) -> None:
        """Take back what was captured of a session that was forgotten meanwhile."""
        names = {(Kind.SESSION, turn.session_id) for turn in captured_turns}
        for _, session in await self._forgotten.after(agent, names) if names else ():
            await self._inbox.forget(agent, session_id=session)
            await self.forget(agent, session)

    async def _store(self, agent: str, memories: Sequence[NewMemory], left_out: Counter[str]) -> Counter[str]:
        stored: Counter[str] = Counter()
        # What needs a person's look waits in the inbox; the rest has none of these signs or is trusted.
        scope = Scope(agent, Role.AGENT, actor=ACTOR)
        results = await self._indexing.index_many(scope, memories, looked_at=True)
        for memory, result in zip(memories, results, strict=True):
            if isinstance(result, InvalidInput):
                left_out[UNFIT] += 1
            elif isinstance(result, NoesisError):
                raise result
            elif not result.duplicate:
                stored[memory.memory_type.value] += 1
        return stored

    def _waiting(self, agent: str, origin: str, kept: _Kept) -> Waiting:
        memory = kept.memory
        key = source_key(memory.source, memory.session_id, memory.position)
        return Waiting(
            id=memory_id(agent, key, memory.position, content_hash(memory.text)),
            agent=agent,
            origin=origin,
            memory=memory,
            reasons=kept.reasons,
            state=Decision.WAITING,
            at=self._now_ms(),
        )

    async def _unknown(self, agent: str, turns: Sequence[Turn]) -> list[Turn]:
        """The turns that were not captured before, by whichever way, each once."""
        keys = {(turn.session_id, entry_of(turn)): turn for turn in turns}

        def read(connection: sa.Connection) -> set[tuple[str, str]]:
            columns = (turns_table.c.session, turns_table.c.entry)
            found: set[tuple[str, str]] = set()
            for session in {turn.session_id for turn in turns}:
                mine = [turn for (each, _), turn in keys.items() if each == session]
                entries = [entry for turn in mine for entry in _sought_as(turn)]
                here = (turns_table.c.agent == agent) & (turns_table.c.session == session)
                query = sa.select(*columns).where(here, turns_table.c.entry.in_(entries))
                found |= {(row.session, row.entry) for row in connection.execute(query)}
            return found

        known = await self._control.read(read)
        return [
            turn
            for turn in keys.values()
            if not any((turn.session_id, entry) in known for entry in _sought_as(turn))
        ]

    async def _note(self, agent: str, turns: Sequence[Turn]) -> None:
        values = [
            {"agent": agent, "session": turn.session_id, "entry": entry}
            for turn in turns
            for entry in known_as(turn)
        ]

        def put(connection: sa.Connection) -> None:
            for each in values:
                if connection.execute(sa.select(turns_table).filter_by(**each)).first() is None:
                    connection.execute(sa.insert(turns_table).values(**each))

        if values:
            await self._control.run(put)


def entry_of(turn: Turn) -> str:
    """What tells a turn from the others of its session: the host's id, else what was said and where."""
    return turn.entry_id or content_hash(f"{turn.number}\x1f{turn.role}\x1f{turn.text}")


def known_as(turn: Turn) -> tuple[str, ...]:
    """What it is noted by: its entry, and what it has in common with the same turn from another way.

    Two turns with ids of the host's are told apart by these, and two without by their places; only
    between a turn with an id and one without it has to go by what was said.
    """
    said = said_as(turn)
    if said is None:
        return (entry_of(turn),)
    return entry_of(turn), f"{_WITH_ID if turn.entry_id else _WITHOUT_ID}{said}"


def _sought_as(turn: Turn) -> tuple[str, ...]:
    """What it is looked for by: its entry, and what was said among those that came the other way."""
    said = said_as(turn)
    if said is None:
        return (entry_of(turn),)
    return entry_of(turn), f"{_WITHOUT_ID if turn.entry_id else _WITH_ID}{said}"


def said_as(turn: Turn) -> str | None:
    """What is the same of a turn whichever way it comes; None when nobody says when it was said."""
    if turn.said_as is not None or turn.said_at is None:
        return turn.said_as
    text = turn.text.encode("utf-8", "surrogatepass").decode("utf-8", "replace")
    return content_hash(chr(0x1F).join((turn.role, str(turn.said_at), text)))


def _kept_of(turn: Turn, redactor: Redactor) -> list[_Kept] | str:
    """The memories of a turn, or why it leaves none.

    The whole turn is a `session` memory, so that a search finds the talk around what was captured.
    """
    noise = noise_of(turn)
    if noise is not None:
        return noise
    try:
        whole = _kept(turn, turn_text(turn.text), MemoryType.SESSION, redactor)
        pieces = [_kept(turn, piece.text, piece.memory_type, redactor) for piece in captured(turn).pieces]
    except InvalidInput:
        return BLOCKED
    if not pieces and says_too_little(whole.memory.text):
        return TOO_LITTLE
    # A turn that is nothing but a decision is that decision, and not two memories of the same words.
    is_piece = any(piece.memory.text == whole.memory.text for piece in pieces)
    return pieces if is_piece else [whole, *pieces]


def says_too_little(text: str) -> bool:
    """Whether a turn in which nothing was captured is not worth keeping as a whole: "What is next?"."""
    return len(set(terms(text))) < LEAST_TERMS


def _kept(turn: Turn, text: str, memory_type: MemoryType, redactor: Redactor) -> _Kept:
    before = Counter(redactor.counts)
    clean = redactor.clean(text).strip()
    memory = NewMemory(
        text=clean,
        memory_type=memory_type,
        session_id=turn.session_id,
        position=turn.number,
        author=turn.author,
        author_role=turn.role,
        created_at=turn.said_at,
    )
    secrets = Counter(redactor.counts) - before
    if turn.redacted and REDACTED in clean:
        secrets[REDACTED] += 1
    return _Kept(memory, reasons_to_look(text, secrets))
