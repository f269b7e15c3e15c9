"""The health of what is followed: is memory behind its files, and does anybody notice when they change."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from noesis.health import Part
from noesis.memory import Role, Scope
from noesis.scanning import Freshness, Scanning
from noesis.watch_signs import Watch, WatchSigns

_LATE_AFTER_MS = 15 * 60_000
"""A file that waits longer than this is no longer just about to be read."""

_EVERYBODY = Scope(None, Role.ADMIN)


class SourceHealth:
    """Looks at the followed places."""

    def __init__(self, scanning: Scanning, signs: WatchSigns, now_ms: Callable[[], int]) -> None:
        self._scanning = scanning
        self._signs = signs
        self._now_ms = now_ms

    async def check(self) -> Part:
        """The followed places as one part of the system."""
        found = await self._scanning.freshness(_EVERYBODY)
        return part_of(found, await self._signs.read(), self._now_ms())


def part_of(found: Sequence[Freshness], watch: Watch, now_ms: int) -> Part:
    """The sentence for people, and whether they have to do anything."""
    if not found:
        return Part(name="sources", state="ok", summary="No folder is followed.")
    on_disk, indexed = (sum(values) for values in zip(*((f.on_disk, f.indexed) for f in found), strict=True))
    behind = sum(each.waiting + each.gone for each in found)
    places = "one followed place" if len(found) == 1 else f"{len(found):,} followed places"
    summary = f"{indexed:,} of {on_disk:,} files in {places} are in memory as they are."
    # Not a fault of the system: the page Sources names them and says why.
    failed = sum(each.failed for each in found)
    if failed:
        summary += f" {failed:,} could not be read."
    if behind:
        summary += f" {behind:,} changed or vanished and will be looked at."
    trouble = _trouble(found, watch, now_ms)
    if trouble is None:
        return Part(name="sources", state="ok", summary=summary)
    return Part(
        name="sources",
        state="degraded",
        summary=f"{trouble[0]} {summary}",
        still_works="What was read is remembered; searching and everything else goes on.",
        what_to_do=trouble[1],
    )


def _trouble(found: Sequence[Freshness], watch: Watch, now_ms: int) -> tuple[str, str] | None:
    """What is wrong and what to do about it, the gravest first."""
    gone = [each.root.label for each in found if not each.available]
    if gone:
        return (
            f"{_listed(gone)} cannot be reached; nothing of it was removed.",
            "Mount it again, or stop following it on the page Sources.",
        )
    held = sum(each.root.held for each in found)
    if held:
        return (
            f"{held:,} files vanished at once; their memories were kept.",
            "Say on the page Sources whether they are meant to be gone.",
        )
    waits = [each.waits_since for each in found if each.waits_since is not None]
    if watch.mode == "off":
        return (
            f"Changes are not noticed. {watch.reason or ''}".strip(),
            "Start the worker: `noesis worker`, or `noesis up` for everything in one process.",
        )
    if waits and now_ms - min(waits) > _LATE_AFTER_MS:
        return ("Memory is behind its files for a while.", "Look at the jobs: a scan may be failing.")
    return None


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
