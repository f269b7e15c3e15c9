"""The languages in which the product tells a decision from chatter: one packaged file of phrases each."""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Mapping
from importlib import resources
from typing import Any

import msgspec
import re2

from noesis.errors import SettingsError

# Patterns see a sentence in its matching form: typographic marks as ASCII, one blank before and after.
# Letters beyond ASCII count as inside a word, so that a class of 70 characters is all a pattern needs.
_EDGE = r"[^A-Za-z0-9_\x{80}-\x{10ffff}]"
_MACRO = re2.compile(r"\{([a-z_]+)\}")

_STATED = frozenset({"says", "starts", "unless", "unless_before", "headings", "label"})
_KEYS: Mapping[str, frozenset[str]] = {
    "words": frozenset(),
    "sentence": frozenset(
        {"asks", "requests", "replies", "turns", "leans", "abbreviations", "months", "empty"}
    ),
    "decision": _STATED | {"assistant", "assistant_starts", "assistant_unless"},
    "preference": _STATED | {"asked"},
    "fact": _STATED | {"assistant", "assistant_starts", "assistant_unless"},
    "session": frozenset({"starts", "unless"}),
    "context": frozenset({"says", "unless"}),
    "noise": frozenset({"courtesy", "filler"}),
}
_AT_START = frozenset(
    {"starts", "asked", "assistant_starts", "asks", "requests", "replies", "leans", "filler"}
)
_WHOLE = frozenset({"headings", "courtesy"})
_LITERAL = frozenset({"abbreviations", "months", "empty"})
_NEVER = re2.compile(r"[^\x{0}-\x{10ffff}]")


class Language(msgspec.Struct, frozen=True):
    """One language's file, read: compiled patterns by section and key.

    `patterns` holds one pattern per key, the union of the file's list; `words` its lists of plain words
    (lower case); `labels` what a list item under a heading such as "Decisions" is introduced with.
    """

    name: str
    patterns: dict[str, Any]
    words: dict[str, frozenset[str]]
    labels: dict[str, str]

    def pattern(self, key: str) -> Any:
        """The pattern of `section.key`; one that never matches when the file has none."""
        return self.patterns.get(key, _NEVER)

    def has(self, key: str, form: str) -> bool:
        """Whether the pattern of `section.key` is found in a sentence's matching form."""
        return self.pattern(key).search(form) is not None


@functools.cache
def languages() -> tuple[Language, ...]:
    """Every packaged language, by name; each file of the folder `languages` is one.

    Raises SettingsError, naming file and key, when one does not hold what it should.
    """
    folder = resources.files(__package__).joinpath("languages")
    files = sorted(
        (entry for entry in folder.iterdir() if entry.name.endswith(".toml")), key=lambda e: e.name
    )
    return tuple(read_language(entry.name, entry.read_text(encoding="utf-8")) for entry in files)


def read_language(file_name: str, content: str) -> Language:
    """The language that a file's content describes.

    Sections and keys are fixed, values are lists of RE2 patterns (in `words`, `{name}` of the others) or,
    for `label`, a text.  Raises SettingsError, naming file and key, for an unknown key, a value of the
    wrong kind or a pattern that RE2 refuses.
    """
    try:
        sections = tomllib.loads(content)
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(f"{file_name} is no valid TOML: {error}", field=file_name) from error
    macros = _macros_of(file_name, sections.pop("words", {}))
    reading = _Reading(file_name, macros, {}, {}, {})
    for section, values in sections.items():
        if section not in _KEYS or not isinstance(values, dict):
            raise _wrong(file_name, section, "is no section of a language file")
        for key, value in values.items():
            if key not in _KEYS[section]:
                raise _wrong(file_name, f"{section}.{key}", "is an unknown key")
            reading.add(section, key, value)
    name = file_name.removesuffix(".toml")
    return Language(name, reading.patterns, reading.words, reading.labels)


class _Reading(msgspec.Struct, frozen=True):
    """A file while it is read: its macros, and what came of the keys so far."""

    file_name: str
    macros: dict[str, str]
    patterns: dict[str, Any]
    words: dict[str, frozenset[str]]
    labels: dict[str, str]

    def add(self, section: str, key: str, value: object) -> None:
        full = f"{section}.{key}"
        if key == "label":
            if not isinstance(value, str) or not value.strip():
                raise _wrong(self.file_name, full, "must be a text")
            self.labels[section] = value.strip()
            return
        phrases = _phrases(self.file_name, full, value)
        if key in _LITERAL:
            self.words[key] = frozenset(phrase.lower() for phrase in phrases)
        elif phrases:
            self.patterns[full] = self._compiled(full, key, phrases)

    def _compiled(self, full: str, key: str, phrases: list[str]) -> Any:
        for phrase in phrases:
            if phrase.count("(") != phrase.count(")"):  # in the union, two wrongs could look right
                _compile(self.file_name, full, phrase)
        union = "|".join(self._expanded(full, phrase) for phrase in phrases)
        return _compile(self.file_name, full, _anchored(key, union, self.macros.get("openers", "")))

    def _expanded(self, full: str, phrase: str) -> str:
        return _expand(self.file_name, full, phrase, self.macros)


def _expand(file_name: str, key: str, phrase: str, macros: Mapping[str, str]) -> str:
    for name in _MACRO.findall(phrase):
        if name not in macros:
            raise _wrong(file_name, key, f"uses the unknown words {{{name}}}")
        phrase = phrase.replace(f"{{{name}}}", f"(?:{macros[name]})")
    return phrase


def _anchored(key: str, union: str, openers: str) -> str:
    skipped = rf"(?:(?:{openers})[,!.:]* )*" if openers else ""
    if key in _WHOLE:
        return rf"(?i)^ (?:{union})[ .,:!]*$"
    if key in _AT_START:
        return rf"(?i)^ {skipped}(?:{union})(?:{_EDGE}|$)"
    return rf"(?i){_EDGE}(?:{union})(?:{_EDGE}|$)"


def _macros_of(file_name: str, section: object) -> dict[str, str]:
    if not isinstance(section, dict):
        raise _wrong(file_name, "words", "is no section of a language file")
    macros: dict[str, str] = {}
    for name, value in section.items():
        key = f"words.{name}"
        union = "|".join(_phrases(file_name, key, value))
        macros[name] = _expand(file_name, key, union, macros)  # words may use those above them
        _compile(file_name, key, macros[name])
    return macros


def _phrases(file_name: str, key: str, value: object) -> list[str]:
    if not isinstance(value, list) or not all(isinstance(phrase, str) and phrase for phrase in value):
        raise _wrong(file_name, key, "must be a list of texts, none of them empty")
    return value


def _compile(file_name: str, key: str, pattern: str) -> Any:
    options = re2.Options()
    options.log_errors = False
    options.never_capture = True
    options.max_mem = 64 << 20
    try:
        return re2.compile(pattern, options)
    except re2.error as error:
        reason = error.args[0] if error.args else "unknown"
        shown = reason.decode("utf-8", "replace") if isinstance(reason, bytes) else reason
        raise _wrong(file_name, key, f"holds a pattern that RE2 refuses ({shown})") from error


def _wrong(file_name: str, key: str, what: str) -> SettingsError:
    return SettingsError(f"{file_name}: {key} {what}.", field=f"{file_name}:{key}")
