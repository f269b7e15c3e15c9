"""Imports conversations and transcripts: what their turns leave behind is captured."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import aclosing

import sqlalchemy as sa

from noesis.capturing import TOO_LITTLE, Capturing, entry_of, says_too_little, turns_table
from noesis.control import Control
from noesis.erasing import FORGOTTEN
from noesis.importing.entries import turns
from noesis.importing.places import Part
from noesis.importing.values import Course, Recipients
from noesis.memory import MemoryType
from noesis.sources.foreign import Unreadable
from noesis.text.capture import captured
from noesis.text.turn_text import noise_of, turn_text
from noesis.turns import Turn


class TurnImport:
    """Captures turns of foreign conversations."""

    def __init__(self, control: Control, capturing: Capturing) -> None:
        self._control = control
        self._capturing = capturing

    async def read(self, part: Part, to: Recipients, course: Course) -> None:
        """Capture a part's turns, each once, or count what would be.  Raises InvalidInput or a StoreError."""
        agent = to.one()
        async with aclosing(turns(part)) as batches:
            async for batch in batches:
                said = [item for item in batch if isinstance(item, Turn)]
                for item in batch:
                    if isinstance(item, Unreadable):
                        course.tally.fail(item)
                course.tally.entries += len(said)
                if course.dry:
                    await self.look(agent, said, course)
                elif said:
                    await self._capture(agent, said, part.place.label, course)
                if not course.goes_on():
                    break

    async def _capture(self, agent: str, said: Sequence[Turn], label: str, course: Course) -> None:
        found = await self._capturing.capture(agent, said, label)
        stored = sum(found.stored.values())
        course.tally.new += stored
        course.tally.by_agent[agent] += stored
        course.tally.already += found.known
        course.tally.held += found.held
        course.tally.left_out.update(found.left_out)

    async def look(self, agent: str, said: Sequence[Turn], course: Course) -> None:
        """Count what capturing turns would do."""
        away = await self._capturing.away(agent)
        if forgotten := sum(turn.session_id in away for turn in said):
            course.tally.left_out[FORGOTTEN] += forgotten
            said = [turn for turn in said if turn.session_id not in away]
        known = await self._known(agent, said)
        course.tally.already += len(known)
        for turn in said:
            if (turn.session_id, entry_of(turn)) in known:
                continue
            types = types_of(turn)
            if isinstance(types, str):
                course.tally.left_out[types] += 1
                continue
            course.tally.new += len(types)
            course.tally.by_agent[agent] += len(types)
            course.tally.by_type.update(kind.value for kind in types)

    async def _known(self, agent: str, said: Sequence[Turn]) -> set[tuple[str, str]]:
        keys = {(turn.session_id, entry_of(turn)) for turn in said}
        columns = turns_table.c
        query = sa.select(columns.session, columns.entry).where(
            columns.agent == agent,
            columns.session.in_({session for session, _ in keys}),
            columns.entry.in_({entry for _, entry in keys}),
        )
        rows = await self._control.read(lambda connection: connection.execute(query).all())
        return keys & {(row.session, row.entry) for row in rows}


def types_of(turn: Turn) -> list[MemoryType] | str:
    """The types of the memories that a turn would leave, or why it leaves none; secrets may change that."""
    noise = noise_of(turn)
    if noise is not None:
        return noise
    pieces = captured(turn).pieces
    whole = turn_text(turn.text).strip()
    if not pieces and says_too_little(whole):
        return TOO_LITTLE
    kinds = [piece.memory_type for piece in pieces]
    return kinds if any(piece.text.strip() == whole for piece in pieces) else [MemoryType.SESSION, *kinds]
