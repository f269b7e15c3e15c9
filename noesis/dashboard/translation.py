"""The words of pages in the language of whoever looks: looked up in the catalogues, by the English text.

The functions are gettext's.  A message is a whole sentence with named places, `%(count)s`, and a per cent
sign stands twice.  `python -m tools.messages` finds the messages by these functions' names.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping
from contextvars import ContextVar
from pathlib import Path

import msgspec

from noesis.dashboard import catalogue
from noesis.dashboard.catalogue import Key

FOLDER = Path(__file__).parent / "languages"
ENGLISH = "en"


class Language(msgspec.Struct, frozen=True):
    """A language that pages speak: its code, its texts by message, and which form a count takes."""

    code: str
    texts: Mapping[Key, tuple[str, ...]]
    form: Callable[[int], int]

    def find(self, key: Key, count: int | None = None) -> str | None:
        """The text of a message; None when this language has none."""
        texts = self.texts.get(key)
        if texts is None:
            return None
        return texts[0 if count is None else self.form(count)]


_ENGLISH = Language(ENGLISH, {}, lambda count: int(count != 1))
_CURRENT: ContextVar[Language] = ContextVar("noesis_language", default=_ENGLISH)


@functools.cache
def languages() -> Mapping[str, Language]:
    """Every language by its code: English, and each catalogue of the folder."""
    found = {ENGLISH: _ENGLISH}
    for path in sorted(FOLDER.glob("*.po")):
        read = catalogue.read(path.read_text(encoding="utf-8"))
        texts = {entry.key: entry.texts for entry in read.entries if entry.is_done}
        found[path.stem] = Language(path.stem, texts, read.form())
    return found


def speak(code: str) -> None:
    """From here on, what is said for this request is said in this language."""
    _CURRENT.set(languages()[code])


def spoken() -> str:
    """The code of the language that is spoken."""
    return _CURRENT.get().code


def name_of(code: str) -> str:
    """What a language calls itself."""
    own = pgettext_noop("name of this language", "English")
    return languages()[code].find(own) or own[1]


def raw_text(message: str, context: str = "") -> str:
    """The text of a message with its places still in it."""
    return _CURRENT.get().find((context, message)) or message


def raw_plural(one: str, many: str, count: int, context: str = "") -> str:
    """The text for a count with its places still in it."""
    return _CURRENT.get().find((context, one), count) or (one if count == 1 else many)


def _(message: str, /, **values: object) -> str:
    """A message with its places filled."""
    return raw_text(message) % values


def pgettext(context: str, message: str, /, **values: object) -> str:
    """A message whose English text means several things; the context says which."""
    return raw_text(message, context) % values


def ngettext(one: str, many: str, count: int, /, **values: object) -> str:
    """The message for a count."""
    return raw_plural(one, many, count) % values


def pgettext_noop(context: str, message: str) -> Key:
    """Marks a message with a context that is looked up later."""
    return context, message


def gettext_noop(message: str) -> str:
    """Marks a message that is looked up later."""
    return message


def ngettext_noop(one: str, many: str) -> tuple[str, str]:
    """Marks a message for counts that is looked up later."""
    return one, many


def number(value: float, digits: int = 0) -> str:
    """A number as people write it: `1,234.5`."""
    marks = {
        ord(","): pgettext("between thousands", ","),
        ord("."): pgettext("before decimals", "."),
    }
    return f"{value:,.{digits}f}".translate(marks)


def percent(share: float) -> str:
    """A share as people write it: `42%`."""
    return _("%(number)s%%", number=number(100 * share))


def listed(words: Iterable[str]) -> str:
    """Words with commas between."""
    return pgettext("between the parts of a list", ", ").join(words)


def sentences(said: Iterable[str]) -> str:
    """Sentences one after another; empty ones are left out."""
    return pgettext("between sentences", " ").join(text for text in said if text)
