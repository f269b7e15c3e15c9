"""The health of retention: does a cleanup wait for somebody's word?"""

from __future__ import annotations

from noesis.cleaning import Cleaning
from noesis.health import Part


class CleaningHealth:
    """Looks at how the last cleanup ended."""

    def __init__(self, cleaning: Cleaning) -> None:
        self._cleaning = cleaning

    async def check(self) -> Part:
        """The cleanup as one part of the system."""
        last = await self._cleaning.last()
        if last is None:
            return Part(name="cleanup", state="ok", summary="No cleanup has run yet.")
        done = last.cleaned
        told = f"The last cleanup archived {done.archived:,} memories and purged {done.purged:,}."
        if done.state == "needs confirmation":
            return Part(
                name="cleanup",
                state="degraded",
                summary=f"{' '.join(done.reasons)} {told}",
                still_works="What has expired is in no answer all the same; nothing is lost.",
                what_to_do="Look at it with `noesis cleanup --plan`; `noesis cleanup --confirm` does it.",
            )
        if done.failed:
            return Part(
                name="cleanup",
                state="degraded",
                summary=f"{told} {done.failed:,} could not be moved.",
                still_works="They are in no answer all the same, and the next cleanup tries again.",
                what_to_do="Look at the log: the store may be damaged.",
            )
        return Part(name="cleanup", state="ok", summary=told)
