"""From pairs to groups: whom to keep, and who is a duplicate of that one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec


class Candidate(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a memory while duplicates are looked for; `digest` is equal for equal words."""

    id: str
    digest: bytes
    content_hash: str
    memory_type: str
    source: str | None
    author: str | None
    priority: int
    by_hand: bool
    created_at: int
    length: int

    @property
    def worth(self) -> tuple[int, bool, int, int, str]:
        """What makes it the one to keep: priority, set by hand, being new, and saying much."""
        return (self.priority, self.by_hand, self.created_at, self.length, self.id)


def grouped(
    candidates: Mapping[str, Candidate], pairs: Mapping[tuple[str, str], float]
) -> list[list[tuple[str, float]]]:
    """Groups of memories with their cosine to the first of each, which is the one to keep.

    `pairs` are those confirmed to be duplicates (smaller id first) and their cosines.  Sameness does not
    carry over from pair to pair: every member is a duplicate of the one that is kept.
    """
    near: dict[str, dict[str, float]] = {}
    for (one, other), cosine in pairs.items():
        near.setdefault(one, {})[other] = cosine
        near.setdefault(other, {})[one] = cosine
    taken: set[str] = set()
    groups = []
    for keep in sorted(near, key=lambda each: candidates[each].worth, reverse=True):
        if keep in taken:
            continue
        members = {each: cosine for each, cosine in near[keep].items() if each not in taken}
        if members:
            taken |= {keep, *members}
            ranked = sorted(members.items(), key=lambda member: (-member[1], member[0]))
            groups.append([(keep, 1.0), *ranked])
    return groups


def newest_of_each(
    candidates: Mapping[str, Candidate], pairs: Sequence[tuple[str, str, float]]
) -> list[tuple[str, str, float]]:
    """Of pairs (older, newer, cosine) for each older memory the nearest newer one, the latest of equals."""
    best: dict[str, tuple[str, str, float]] = {}
    for pair in pairs:
        older, newer, cosine = pair
        known = best.get(older)
        rank = (cosine, candidates[newer].created_at)
        if known is None or rank > (known[2], candidates[known[1]].created_at):
            best[older] = pair
    return sorted(best.values(), key=lambda pair: (-pair[2], pair[0]))
