"""Put what is superseded below what replaces it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence


def below_successors(ids: Sequence[str], successors: Mapping[str, Sequence[str]]) -> list[int]:
    """The places of `ids` in the order to show: a memory stands below each of its successors among them.

    `successors` names what replaces a memory, nearest first.  One that stood above is put directly
    below the nearest of them that is there; everything else keeps its place.
    """
    there = set(ids)
    held: dict[str, list[int]] = {}
    order: list[int] = []
    placed: set[str] = set()

    def place(index: int) -> None:
        pending = [index]
        while pending:
            following = pending.pop(0)
            order.append(following)
            placed.add(ids[following])
            pending[:0] = held.pop(ids[following], [])

    for index, memory_id in enumerate(ids):
        above = next((new for new in successors.get(memory_id, ()) if new in there), None)
        if above is None or above in placed:
            place(index)
        else:
            held.setdefault(above, []).append(index)
    return order + sorted(index for waiting in held.values() for index in waiting)
