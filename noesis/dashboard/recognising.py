"""What operations say in English, said in the language of the page: known sentences are recognised by their form."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

import re2
from markupsafe import Markup, escape

from noesis.dashboard.sentences import COUNTED, LEADS, SENTENCES
from noesis.dashboard.translation import ENGLISH, _, ngettext, number, pgettext, raw_text, spoken
from noesis.errors import NoesisError

_PLACE = re2.compile(r"%\((\w+)\)s")
_BETWEEN = re2.compile(r"(\S[.!?…]) ")
_GROUPED = re2.compile(r"\d{1,3}(,\d{3})+")
_DECIMAL = re2.compile(r"\d+\.\d+")
_MEASURED = ("last", "size", "value")
"""The places that hold a measure; elsewhere digits with a point may be a version."""

_REASON = "reason"
"""The place that holds a sentence of its own."""


def said(text: str) -> Markup:
    """Marks a text that is in the page's language already."""
    return escape(text)


def told(what: NoesisError | str) -> Markup:
    """A sentence of an operation, or an error, for a page.

    What is not known stays English, marked as such; an error then gets a lead of its kind.
    """
    text = what.message if isinstance(what, NoesisError) else what
    if isinstance(text, Markup) or spoken() == ENGLISH:
        return escape(text)
    parts = [(each, _recognised(each)) for each in _sentences(text)]
    words = escape(pgettext("between sentences", " ")).join(
        escape(known) if known else _in_english(english) for english, known in parts
    )
    if isinstance(what, NoesisError) and not any(known for _english, known in parts):
        return Markup("{} {}").format(_lead(what), words)
    return words


def _in_english(text: str) -> Markup:
    return Markup('<span lang="en">{}</span>').format(text)


def _lead(error: NoesisError) -> str:
    for kind, lead in LEADS:
        if isinstance(error, kind):
            return _(lead)
    return _("This did not succeed:")


def _sentences(text: str) -> list[str]:
    return [each for each in _BETWEEN.sub("\\1\n", text).split("\n") if each]


def _recognised(text: str) -> str | None:
    """The text in the page's language; None when it is no sentence that is known."""
    if (same := raw_text(text.replace("%", "%%"))) != text.replace("%", "%%"):
        return same % {}
    for sentence, pattern in _patterns().items():
        if found := pattern.fullmatch(text):
            return _filled(sentence, found.groupdict())
    return None


def _filled(sentence: str, values: Mapping[str, str]) -> str:
    shown = {name: _value(name, value) for name, value in values.items()}
    for one, many in COUNTED:
        if sentence in (one, many):
            return ngettext(one, many, int(values["count"].replace(",", "")), **shown)
    return _(sentence, **shown)


def _value(name: str, value: str) -> str:
    if name == _REASON:
        return _recognised(value) or value
    if _GROUPED.fullmatch(value):
        return number(int(value.replace(",", "")))
    if name in _MEASURED and _DECIMAL.fullmatch(value):
        return number(float(value), len(value.partition(".")[2]))
    return value


@functools.cache
def _patterns() -> Mapping[str, Any]:
    """What each known sentence with places looks like."""
    known = [*SENTENCES, *(form for pair in COUNTED for form in pair)]
    return {sentence: re2.compile(_form(sentence)) for sentence in known if "%(" in sentence}


def _form(sentence: str) -> str:
    pieces = _PLACE.split(sentence)
    return "".join(
        _place(piece) if number_of % 2 else re2.escape(piece.replace("%%", "%"))
        for number_of, piece in enumerate(pieces)
    )


def _place(name: str) -> str:
    return f"(?P<{name}>[0-9,]+)" if name == "count" else f"(?P<{name}>.+)"
