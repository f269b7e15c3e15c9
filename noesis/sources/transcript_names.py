"""Tells from a file's name whether it is a transcript of OpenClaw, and which session it belongs to."""

from __future__ import annotations

import msgspec
import re2

_NAME = re2.compile(
    r"(?P<stem>.+?)\.jsonl(?P<archived>\.(?:reset|deleted)\.[^/]+?|\.imported-[0-9]+)?(?P<compressed>\.zst)?"
)

# In this order: the first that matches says why.
_LEFT_OUT = (
    (re2.compile(r"\.lock$"), "a lock of the host"),
    (re2.compile(r"\.(?:tmp|part|partial)(?:$|[.-])|~$"), "a file that is still being written"),
    (re2.compile(r"\.bak(?:$|[.-])"), "a backup copy of another transcript"),
    (re2.compile(r"\.trajectory(?:-path)?\."), "a trace of a run, which repeats the transcript"),
    (re2.compile(r"\.checkpoint(?:$|[.-])"), "a checkpoint, which repeats the transcript"),
    (re2.compile(r"(?:^|\.)sessions\.json(?:$|\.)"), "the host's list of sessions"),
)
_NOT_ONE = "not a transcript"


class TranscriptName(msgspec.Struct, frozen=True):
    """What a transcript's name says; `session` is the best guess where the file itself does not tell.

    `finished` transcripts were moved aside by the host and do not grow.
    """

    session: str
    finished: bool
    compressed: bool


def why_left_out(name: str) -> str | None:
    """Why the file `name` (without folders) is not read as a transcript; None when it is one."""
    for pattern, reason in _LEFT_OUT:
        if pattern.search(name):
            return reason
    return None if _NAME.fullmatch(name) else _NOT_ONE


def is_transcript(name: str) -> bool:
    """Tell whether the file `name` (without folders) is a transcript."""
    return why_left_out(name) is None


def transcript_name(name: str) -> TranscriptName:
    """What the name says; of one that is no transcript's, the whole name is taken for the session."""
    found = _NAME.fullmatch(name)
    if found is None:
        return TranscriptName(name, finished=False, compressed=name.endswith(".zst"))
    archived, compressed = found["archived"] or "", found["compressed"] is not None
    stem = str(found["stem"])
    # The import archive puts the session's key in front: agent_main_main.<session>.jsonl.imported-1.
    session = stem.rpartition(".")[2] or stem if archived.startswith(".imported") else stem
    return TranscriptName(session, bool(archived) or compressed, compressed)
