"""What a page says after a redirect: the address carries a code, never the sentence."""

from __future__ import annotations

import msgspec

from noesis.dashboard.translation import _, gettext_noop


class Message(msgspec.Struct, frozen=True):
    """A sentence for the top of a page."""

    text: str
    is_error: bool = False


MESSAGES = {
    "welcome": Message(gettext_noop("The password is set and you are logged in.")),
    "logged-out": Message(gettext_noop("You are logged out, on every device.")),
    "edited": Message(gettext_noop("Saved.")),
    "unchanged": Message(gettext_noop("Nothing was changed.")),
    "deleted": Message(gettext_noop("Deleted.")),
    "restored": Message(gettext_noop("It is back.")),
    "followed": Message(gettext_noop("The folder is followed from now on, and its files are being read.")),
    "followed-already": Message(gettext_noop("This folder was followed already.")),
    "looking": Message(gettext_noop("It is being looked at. Reload this page to see what was found.")),
    "forgotten": Message(gettext_noop("It is followed no longer. What was read of it stays in memory.")),
    "forgotten-archived": Message(
        gettext_noop("It is followed no longer, and the memories of its documents are in the archive.")
    ),
    "gone-confirmed": Message(gettext_noop("The vanished files count as gone from now on.")),
    "kept-waiting": Message(
        gettext_noop("Their memories stay. The place is looked at again, in case the files are back.")
    ),
    "none-held": Message(gettext_noop("No vanished files wait there any more.")),
    "let-in": Message(gettext_noop("It is a memory now.")),
    "let-in-known": Message(gettext_noop("It was in memory already.")),
    "let-in-always": Message(
        gettext_noop("It is a memory now, and what comes from there is let in from now on.")
    ),
    "thrown-away": Message(gettext_noop("Thrown away. The same text is not asked about again.")),
    "decided-before": Message(gettext_noop("Somebody had decided on this before."), is_error=True),
    "started": Message(
        gettext_noop("It was started; if it was waiting or running already, it goes on as it was.")
    ),
    "stopping": Message(gettext_noop("It is being stopped.")),
    "stopped": Message(gettext_noop("It was taken off the list.")),
    "again": Message(gettext_noop("It will be tried again.")),
    "seen": Message(gettext_noop("It is counted no longer.")),
    "ended-before": Message(gettext_noop("It had ended before."), is_error=True),
    "runs-already": Message(gettext_noop("The same work is waiting or running already."), is_error=True),
    "revoked": Message(gettext_noop("The token is worthless from now on.")),
    "backup-started": Message(
        gettext_noop("A backup is being made. It is listed below once it was verified.")
    ),
    "fetch-started": Message(
        gettext_noop("It is being fetched from the bucket, and compared before it can be restored.")
    ),
    "verify-started": Message(gettext_noop("It is being verified; the list tells what was found.")),
    "drill-started": Message(
        gettext_noop("The newest backup is being restored beside the store and compared.")
    ),
    "restore-started": Message(
        gettext_noop("It is being restored. Everything works until the moment of the change.")
    ),
    "part-started": Message(gettext_noop("The part is being brought back.")),
    "undo-started": Message(
        gettext_noop("The last restore is being undone; what was written since comes along.")
    ),
    "brought-in": Message(gettext_noop("The backup was looked at and is listed below.")),
    "snapshot-started": Message(gettext_noop("A snapshot is being taken.")),
    "looking-for-duplicates": Message(
        gettext_noop("The memories are being compared; what is found will stand here.")
    ),
    "stored": Message(gettext_noop("It is a memory now.")),
    "decided": Message(gettext_noop("Done.")),
    "snapshot-fetched": Message(
        gettext_noop("It is being fetched. Once it was compared it is listed below as a backup.")
    ),
    "none-chosen": Message(gettext_noop("Choose memories first: tick the box before each."), is_error=True),
    "undone": Message(gettext_noop("Undone: they are as they were.")),
    "undone-partly": Message(
        gettext_noop("Undone, but for those that changed since, are gone or have no room any more.")
    ),
    "undone-before": Message(gettext_noop("This cannot be undone any more."), is_error=True),
    "retried": Message(gettext_noop("Its vector will be tried again in a moment.")),
}


def message_of(code: str | None) -> Message | None:
    """The message with this code; None for a code that nobody gave out."""
    found = None if code is None else MESSAGES.get(code)
    return None if found is None else Message(_(found.text), found.is_error)
