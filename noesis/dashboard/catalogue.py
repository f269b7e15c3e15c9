"""A translation as a file: as much of gettext's .po format as a catalogue needs, read and written."""

from __future__ import annotations

import gettext
import json
from collections.abc import Callable, Iterable

import msgspec

from noesis.errors import NoesisError

Key = tuple[str, str]
"""What names a message: its context, empty for none, and its English text."""

_FIELDS = ("msgctxt", "msgid", "msgid_plural", "msgstr")


class CatalogueBroken(NoesisError):
    """A file is no catalogue, or not one that can be relied on."""


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """One message: its texts are one, or one for each form of the plural; `notes` are its comment lines."""

    id: str
    context: str = ""
    plural: str | None = None
    texts: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def key(self) -> Key:
        """What names it."""
        return self.context, self.id

    @property
    def is_done(self) -> bool:
        """Whether it has all its texts, and nobody marked them as doubtful."""
        is_doubtful = any(note.startswith("#,") and "fuzzy" in note for note in self.notes)
        return bool(self.texts) and all(self.texts) and not is_doubtful


class Catalogue(msgspec.Struct, frozen=True):
    """A file's header as it stands there, and its messages in order."""

    header: str
    entries: tuple[Entry, ...]

    @property
    def forms(self) -> int:
        """How many forms a plural has.  Raises CatalogueBroken."""
        return int(self._plural_forms()[0])

    def form(self) -> Callable[[int], int]:
        """Which form a count takes, as gettext reads the header's formula.  Raises CatalogueBroken."""
        return gettext.c2py(self._plural_forms()[1])

    def _plural_forms(self) -> tuple[str, str]:
        for line in self.header.splitlines():
            if line.startswith("Plural-Forms:"):
                parts = [part.strip().partition("=") for part in line.partition(":")[2].split(";")]
                told = {name: value for name, _, value in parts}
                if told.get("nplurals", "").isdigit() and told.get("plural"):
                    return told["nplurals"], told["plural"]
        raise CatalogueBroken("A catalogue's header has a line Plural-Forms: nplurals=…; plural=…;")


def read(text: str) -> Catalogue:
    """The catalogue that a file's text holds.  Raises CatalogueBroken naming the line."""
    header, entries = "", []
    number = 1
    for block in text.split("\n\n"):
        entry = _entry(block.splitlines(), number)
        number += block.count("\n") + 2
        if entry is None:
            continue
        if entry.key == ("", ""):
            header = entry.texts[0]
        else:
            entries.append(entry)
    return Catalogue(header, tuple(entries))


def write(catalogue: Catalogue) -> str:
    """The file's text: entries in their order, each text on one line, a blank line between."""
    head = Entry(id="", texts=(catalogue.header,))
    return "\n".join(_written(entry) for entry in (head, *catalogue.entries))


def _entry(lines: Iterable[str], number: int) -> Entry | None:
    """One block of lines; None when it holds comments alone, such as messages that are no longer used."""
    notes: list[str] = []
    told: dict[str, str] = {}
    name = ""
    for at, raw in enumerate(lines, number):
        line = raw.strip()
        if line.startswith("#"):
            notes.append(line)
        elif line:
            word, _, rest = line.partition(" ") if not line.startswith('"') else (name, "", line)
            name = word
            if name.partition("[")[0] not in _FIELDS:
                raise CatalogueBroken(f"Line {at} of the catalogue begins with no word of the format.")
            told[name] = told.get(name, "") + _unquoted(rest, at)
    if "msgid" not in told:
        return None
    return Entry(
        id=told["msgid"],
        context=told.get("msgctxt", ""),
        plural=told.get("msgid_plural"),
        texts=tuple(text for field, text in told.items() if field.startswith("msgstr")),
        notes=tuple(notes),
    )


def _unquoted(raw: str, at: int) -> str:
    # The escapes of the format are those of JSON.
    try:
        return msgspec.json.decode(raw.encode(), type=str)
    except msgspec.DecodeError as error:
        raise CatalogueBroken(f"Line {at} of the catalogue holds no text between quotes.") from error


def _written(entry: Entry) -> str:
    lines = list(entry.notes)
    if entry.context:
        lines.append(f"msgctxt {_quoted(entry.context)}")
    if entry.key == ("", ""):
        pieces = "\n".join(_quoted(line) for line in entry.texts[0].splitlines(keepends=True))
        return f'msgid ""\nmsgstr ""\n{pieces}\n'
    lines.append(f"msgid {_quoted(entry.id)}")
    if entry.plural is None:
        lines.append(f"msgstr {_quoted(''.join(entry.texts))}")
    else:
        lines.append(f"msgid_plural {_quoted(entry.plural)}")
        lines += [f"msgstr[{form}] {_quoted(text)}" for form, text in enumerate(entry.texts)]
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
