"""Finds secrets by the name before them: `DB_PASSWORD=…`, `"apiKey": "…"`, `the password is …`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial

import re2

from noesis.text.secret_patterns import Secret
from noesis.text.secret_values import (
    is_number,
    is_quoted_password,
    is_set_password,
    is_set_secret,
    is_strong,
    is_token,
)

_PHRASE = (
    r"password|passwd|passphrase|passwort|kennwort|contraseña|senha|mot de passe|пароль|密码|密碼|"
    r"パスワード|비밀번호|(?:\b|_|-)(?:pwd|pass|pw)"
)
_KEY = r"(?:api|access|secret|private|encryption|signing|auth|account|master|service|client)[_ -]?key"
_NAME = rf"([\w.-]*(?:{_PHRASE}|{_KEY}|secret|token))"
_QUOTE = r"\\*[\"'`]"
_SIGN = rf"(?:{_QUOTE})?\]?[ \t]*(?:=>|:=|==?|:|：|＝)[ \t]*"
_QUOTED = (
    r"(?:[bfru]?(?:\"((?:[^\"\\\n]|\\[^\n])+)\"|'((?:[^'\\\n]|\\[^\n])+)')|`([^`\n]+)`"
    r"|\\+\"((?:[^\"\\\n]|\\+[^\"\\\n])+)\\+\"|“([^”\n]+)”)"
)
_BARE = r"([^\s\"'`,;“”]+)"
_IS = (
    r"(?:[ \t]+(?:for|of|to|on|in)(?:[ \t]+[\w.@/-]+){1,4})?[ \t]*"
    r"(?:\b(?:is|was|are|ist|lautet|es|est)\b|是|は|->|→|:|=)"
    r"(?:[ \t]+(?:now|still|currently|just|set to|changed to|called))?:?[ \t]*"
)
_CHANGED = r"\b(?:changed|set|reset|rotated|updated|switched)\b(?:[ \t]+[\w.-]+){0,4}?[ \t]+"

_QUOTED_BY_SIGN = re2.compile(rf"(?i){_NAME}{_SIGN}{_QUOTED}")
_QUOTED_BY_WORD = re2.compile(rf"(?i){_NAME}s?{_IS}{_QUOTED}")
_BARE_BY_SIGN = re2.compile(rf"(?i){_NAME}({_SIGN}){_BARE}")
_BARE_BY_WORD = re2.compile(rf"(?i){_NAME}s?{_IS}{_BARE}")
_BARE_BY_CHANGE = re2.compile(rf"(?i){_CHANGED}{_NAME}[ \t]+to[ \t]+[\"'`]?{_BARE}")
_BARE_BY_OPTION = re2.compile(rf"(?i)(?:^|\s)--?{_NAME}[ \t]+[\"'`]?{_BARE}")
_IN_ELEMENT = re2.compile(rf"(?i)<{_NAME}>([^<\n]+)</")
_ANY_KEY = re2.compile(r"\b([A-Z0-9_]+_KEY)=[\"']?([A-Za-z0-9_/+=.-]{16,})")

# Keys that lock nothing.
_OPEN_KEY = re2.compile(r"(?i)(?:public|cache|primary|foreign|sort|partition|index|group|hash|dedup)")
# Where a bare value ends although no space follows: an escaped line end or quote, the next field
# of a query, a closing tag.
_VALUE_END = re2.compile(r"\\+(?:[nrt\"']|$)|&[A-Za-z_.-]+=|</")
_UNIT = re2.compile(r"^\s+(?:char|letter|digit|bit|byte|symbol|word|day|hour|min|sec|time|year)")
_LINE_START = re2.compile(r"(?:^|\n)[ \t]*(?:- )?$")


def kind_of(name: str) -> str:
    """Which kind of secret a name such as `DB_PASSWORD` or `client secret` stands for."""
    plain = name.lower().replace("_", "-").replace(" ", "-")
    for ending in ("token", "api-key", "private-key", "secret"):
        if plain.endswith(ending):
            return ending
    return "secret-key" if plain.endswith("key") else "password"


def _in_quotes(data: bytes, pattern: re2._Regexp) -> Iterator[Secret]:
    for match in pattern.finditer(data):
        group = next(number for number in range(2, 7) if match.group(number) is not None)
        value = match.group(group).decode()
        name = match.group(1).decode()
        kind = kind_of(name)
        if is_quoted_password(value, name) if kind == "password" else is_token(value):
            yield Secret(match.start(group), match.end(group), kind)


def _by_sign(data: bytes) -> Iterator[Secret]:
    for match in _BARE_BY_SIGN.finditer(data):
        name, value = match.group(1).decode(), _trimmed(match.group(3).decode())
        end = match.start(3) + len(value.encode())
        if _is_said(data, end, name, value) or _is_set(data, match, end, value):
            yield Secret(match.start(3), end, kind_of(name))


def _by_word(data: bytes, pattern: re2._Regexp) -> Iterator[Secret]:
    for match in pattern.finditer(data):
        name, value = match.group(1).decode(), _trimmed(match.group(2).decode())
        end = match.start(2) + len(value.encode())
        if _is_said(data, end, name, value):
            yield Secret(match.start(2), end, kind_of(name))


def _by_option(data: bytes) -> Iterator[Secret]:
    for match in _BARE_BY_OPTION.finditer(data):
        value = _trimmed(match.group(2).decode())
        if is_strong(value) or is_number(value):
            yield Secret(
                match.start(2), match.start(2) + len(value.encode()), kind_of(match.group(1).decode())
            )


def _in_element(data: bytes) -> Iterator[Secret]:
    for match in _IN_ELEMENT.finditer(data):
        kind = kind_of(match.group(1).decode())
        value = match.group(2).decode().strip()
        if is_set_password(value) if kind == "password" else is_strong(value):
            yield Secret(match.start(2), match.end(2), kind)


def _by_any_key(data: bytes) -> Iterator[Secret]:
    for match in _ANY_KEY.finditer(data):
        if not _OPEN_KEY.search(match.group(1)) and is_token(match.group(2).decode()):
            yield Secret(match.start(2), match.end(2), "secret-key")


def _is_said(data: bytes, end: int, name: str, value: str) -> bool:
    """Whether a sentence gives a secret: here only what looks like one counts."""
    if kind_of(name) != "password":
        return is_token(value)
    return is_strong(value) or (is_number(value) and not _UNIT.match(data[end : end + 12]))


def _is_set(data: bytes, match: re2._Match, end: int, value: str) -> bool:
    """Whether a shell, a URL or a configuration file sets a secret: here a plain word may be one."""
    name, sign = match.group(1).decode(), match.group(2)
    is_variable = sign == b"=" and name == name.upper()
    if kind_of(name) != "password":
        return (is_variable and is_set_secret(value)) or (sign == b"=" and is_strong(value))
    if not is_set_password(value):
        return False
    following = data[end : end + 1]
    if sign == b"=":
        return is_variable or following not in (b")", b",", b"(", b".", b"]")
    # Alone on its line it is a setting, unless it reads like the name of a variable.
    is_name = "=" in sign.decode() and ("_" in value or value != value.lower())
    before = data[max(0, match.start() - 80) : match.start()]
    return following in (b"", b"\n", b"\r") and not is_name and _LINE_START.search(before) is not None


def _trimmed(value: str) -> str:
    """A bare value without what belongs to the sentence or the file around it."""
    ending = _VALUE_END.search(value)
    if ending:
        value = value[: ending.start()]
    return value.rstrip(".)]}:>")


Finder = Callable[[bytes], Iterable[Secret]]

# From the surest to the vaguest; each one sees what those before it left.
FINDERS: tuple[Finder, ...] = (
    partial(_in_quotes, pattern=_QUOTED_BY_SIGN),
    partial(_in_quotes, pattern=_QUOTED_BY_WORD),
    _in_element,
    _by_sign,
    partial(_by_word, pattern=_BARE_BY_WORD),
    partial(_by_word, pattern=_BARE_BY_CHANGE),
    _by_option,
    _by_any_key,
)
