"""What the blocks of a session held before, so that the next one begins with the same words."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence

_SESSIONS = 4096
_IDS = 500

Key = tuple[str, str]


class Shown:
    """Remembers the order in which a session's memories were shown, for the sessions that were active last.

    It is kept in the process: after a restart, and where several processes share the sessions, a
    block is in the order of its memories' age, which is the same everywhere.
    """

    def __init__(self) -> None:
        self._ids: OrderedDict[Key, tuple[str, ...]] = OrderedDict()

    def before(self, agent: str, session: str | None) -> tuple[str, ...]:
        """The ids that the blocks of this session held, in the order in which they came up."""
        return () if session is None else self._ids.get((agent, session), ())

    def note(self, agent: str, session: str | None, ids: Sequence[str]) -> None:
        """Remember what a block of this session holds."""
        if session is None:
            return
        earlier = self._ids.get((agent, session), ())
        self._ids[agent, session] = tuple(dict.fromkeys((*earlier, *ids)))[-_IDS:]
        self._ids.move_to_end((agent, session))
        if len(self._ids) > _SESSIONS:
            self._ids.popitem(last=False)
