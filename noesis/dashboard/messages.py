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
    "followed": Message("The folder is followed from now on, and its files are being read."),
    "followed-already": Message("This folder was followed already."),
    "looking": Message("It is being looked at. Reload this page to see what was found."),
    "forgotten": Message("It is followed no longer. What was read of it stays in memory."),
    "forgotten-archived": Message(
        "It is followed no longer, and the memories of its documents are in the archive."
    ),
    "gone-confirmed": Message("The vanished files count as gone from now on."),
    "kept-waiting": Message("Their memories stay. The place is looked at again, in case the files are back."),
    "none-held": Message("No vanished files wait there any more."),
    "let-in": Message("It is a memory now."),
    "let-in-known": Message("It was in memory already."),
    "let-in-always": Message("It is a memory now, and what comes from there is let in from now on."),
    "thrown-away": Message("Thrown away. The same text is not asked about again."),
    "decided-before": Message("Somebody had decided on this before.", is_error=True),
    "started": Message("It was started; if it was waiting or running already, it goes on as it was."),
    "stopping": Message("It is being stopped."),
    "stopped": Message("It was taken off the list."),
    "again": Message("It will be tried again."),
    "seen": Message("It is counted no longer."),
    "ended-before": Message("It had ended before.", is_error=True),
    "runs-already": Message("The same work is waiting or running already.", is_error=True),
    "revoked": Message("The token is worthless from now on."),
    "backup-started": Message("A backup is being made. It is listed below once it was verified."),
    "fetch-started": Message("It is being fetched from the bucket, and compared before it can be restored."),
    "verify-started": Message("It is being verified; the list tells what was found."),
    "drill-started": Message("The newest backup is being restored beside the store and compared."),
    "restore-started": Message("It is being restored. Everything works until the moment of the change."),
    "part-started": Message("The part is being brought back."),
    "undo-started": Message("The last restore is being undone; what was written since comes along."),
    "brought-in": Message("The backup was looked at and is listed below."),
    "snapshot-started": Message("A snapshot is being taken."),
    "looking-for-duplicates": Message("The memories are being compared; what is found will stand here."),
    "stored": Message("It is a memory now."),
    "decided": Message("Done."),
    "snapshot-fetched": Message("It is being fetched. Once it was compared it is listed below as a backup."),
    "none-chosen": Message("Choose memories first: tick the box before each.", is_error=True),
    "undone": Message("Undone: they are as they were."),
    "undone-partly": Message("Undone, but for those that changed since, are gone or have no room any more."),
    "undone-before": Message("This cannot be undone any more.", is_error=True),
    "retried": Message("Its vector will be tried again in a moment."),
}


def message_of(code: str | None) -> Message | None:
    """The message with this code; None for a code that nobody gave out."""
    return None if code is None else MESSAGES.get(code)
