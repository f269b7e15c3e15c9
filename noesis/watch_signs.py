"""How changes of files are noticed, as the worker last said it: for health, people and other processes."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from noesis.control import Control

_KEY = "watch"
_SILENT_AFTER_MS = 60_000


class Watch(msgspec.Struct, frozen=True):
    """`mode` is events, polling or off; `reason` says why it is not events; `seen_at` (ms) is the watcher's
    last sign of life."""

    mode: str
    reason: str | None = None
    seen_at: int | None = None


class WatchSigns:
    """Keeps the watcher's last word."""

    def __init__(self, control: Control, now_ms: Callable[[], int]) -> None:
        self._control = control
        self._now_ms = now_ms

    async def write(self, mode: str, reason: str | None) -> None:
        """Note how the watcher works now."""
        watch = Watch(mode, reason, self._now_ms())
        await self._control.set_value(_KEY, msgspec.json.encode(watch).decode())

    async def read(self) -> Watch:
        """The last word; one that is a minute old counts as off."""
        value = await self._control.value(_KEY)
        if value is None:
            return Watch("off", "No worker has watched yet.")
        watch = msgspec.json.decode(value, type=Watch)
        if watch.seen_at is not None and self._now_ms() - watch.seen_at > _SILENT_AFTER_MS:
            return Watch("off", "The worker that watched gives no sign of life.", watch.seen_at)
        return watch
