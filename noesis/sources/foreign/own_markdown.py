"""Reads the Markdown of our own export: a file a memory, its values in the front matter, its text below."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from noesis.errors import InvalidInput
from noesis.sources.foreign.ndjson import Line, check_version, record_of
from noesis.sources.foreign.records import Record, Unreadable
from noesis.sources.foreign.values import decode
from noesis.text.normalise import refuse_surrogates

MARK = "noesis_export"
"""The first field of the front matter; its value is the version of the form."""

_FENCE = "---"


class _Mark(msgspec.Struct, frozen=True):
    version: int = msgspec.field(name=MARK)


def read_own_markdown(notes: Iterable[tuple[str, str]]) -> Iterator[Record | Unreadable]:
    """One memory for each file of an export; `notes` gives relative paths and whole texts."""
    for path, text in notes:
        try:
            yield _record(text)
        except InvalidInput as error:
            yield Unreadable(path.encode(errors="replace").decode(), error.message)


def _record(note: str) -> Record:
    refuse_surrogates(note)
    front, text = _parts(note)
    values = b",".join(
        msgspec.json.encode(name) + b":" + (_json(value)) for name, value in front if name != "text"
    )
    members = b"{" + values + b"}"
    check_version(decode(members, _Mark).version)
    line = msgspec.structs.replace(decode(members, Line), text=text)
    return record_of(line, len(front))


def _parts(note: str) -> tuple[list[tuple[str, str]], str]:
    """The fields and the text.  Raises InvalidInput when there is no front matter of ours."""
    lines = note.removeprefix("\ufeff").split("\n")
    end = next((number for number, line in enumerate(lines) if number and line.rstrip() == _FENCE), 0)
    if lines[0].rstrip() != _FENCE or not end:
        raise InvalidInput("It is no file of an export of Noesis.")
    fields = [
        (name.strip(), value.strip()) for name, _, value in (line.partition(":") for line in lines[1:end])
    ]
    if MARK not in dict(fields):
        raise InvalidInput("It is no file of an export of Noesis.")
    return [field for field in fields if field[0]], "\n".join(lines[end + 1 :])


def _json(value: str) -> bytes:
    """The value as it was written, or as a text where somebody wrote it as plain YAML."""
    try:
        msgspec.json.decode(value, type=msgspec.Raw)
    except (msgspec.DecodeError, RecursionError):
        return msgspec.json.encode(value)
    return value.encode()
