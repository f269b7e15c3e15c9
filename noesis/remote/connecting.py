"""Where a client speaks to and as whom: the address, the headers, the time it waits."""

from __future__ import annotations

from collections.abc import Mapping

import httpx

from noesis.errors import SettingsError

TIMEOUT_S = 60.0
"""How long an answer is waited for; a connection, five seconds."""


def address(raw: str) -> httpx.URL:
    """The URL, or SettingsError when no request could be sent there."""
    wrong = SettingsError("NOESIS_URL must be an address like http://localhost:8787.")
    try:
        url = httpx.URL(raw)
    except httpx.InvalidURL as error:
        raise wrong from error
    if url.scheme not in ("http", "https") or not url.host or not 0 < (url.port or 80) < 65536:
        raise wrong
    return url


def headers(token: str, agent: str | None) -> Mapping[str, str]:
    """The headers that say who calls.  Raises SettingsError."""
    if not fits_header(token):
        raise SettingsError("NOESIS_TOKEN is not a token of Noesis.")
    if agent is None:
        return {"authorization": f"Bearer {token}"}
    if not fits_header(agent):
        raise SettingsError("An agent's name is of a-z, 0-9, _ and -.", field="agent")
    return {"authorization": f"Bearer {token}", "x-noesis-agent": agent}


def timeout(seconds: float) -> httpx.Timeout:
    """The time that each step of a call may take."""
    return httpx.Timeout(seconds, connect=min(seconds, 5.0))


def fits_header(value: str) -> bool:
    """Whether a header can hold it."""
    return value.isascii() and value.isprintable()
