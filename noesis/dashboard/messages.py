"""What a page says after a redirect: the address carries a code, never the sentence."""

from __future__ import annotations

import msgspec


class Message(msgspec.Struct, frozen=True):
    """A sentence for the top of a page."""

    text: str
    is_error: bool = False


MESSAGES = {
    "welcome": Message("The password is set and you are logged in."),
    "logged-out": Message("You are logged out, on every device."),
    "edited": Message("Saved."),
    "unchanged": Message("Nothing was changed."),
    "deleted": Message("Deleted."),
    "restored": Message("It is back."),
    "retried": Message("Its vector will be tried again in a moment."),
}


def message_of(code: str | None) -> Message | None:
    """The message with this code; None for a code that nobody gave out."""
    return None if code is None else MESSAGES.get(code)
