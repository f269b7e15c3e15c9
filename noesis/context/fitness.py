"""Which memories may go into a prompt by themselves."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from noesis.memory import FLAGGED, Memory
from noesis.superseding import Superseding

SUPERSEDED = "superseded"
"""Why a memory is left out of a prompt, besides `flagged`: another one replaces it."""


class Fitness:
    """Leaves out what was replaced, and what was flagged as speaking to the model.

    The block is safe without the second rule; it keeps the plainest attempts from being put into
    every prompt, and whoever searches finds them all the same.
    """

    def __init__(self, superseding: Superseding) -> None:
        self._superseding = superseding

    async def fit(self, memories: Sequence[Memory], left_out: Counter[str]) -> list[Memory]:
        """Those that may, in their order; the others are counted in `left_out`.  Raises a StoreError."""
        replaced = await self._superseding.replaced_by([memory.id for memory in memories])
        fit = []
        for memory in memories:
            if memory.id in replaced:
                left_out[SUPERSEDED] += 1
            elif memory.trust == FLAGGED:
                left_out[FLAGGED] += 1
            else:
                fit.append(memory)
        return fit
