"""The fault drill: NOESIS_CRASH_AT names the point at which the process kills itself, as a power cut would."""

from __future__ import annotations

import os
import signal


def crash_point(name: str) -> None:
    """End the process here and now if the drill asks for it."""
    if os.environ.get("NOESIS_CRASH_AT") == name:
        os.kill(os.getpid(), signal.SIGKILL)
