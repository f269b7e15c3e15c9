"""Reads JSON as people write it by hand: with comments, trailing commas, bare keys and single quotes."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import msgspec
import re2

from noesis.errors import InvalidInput

MAX_DEPTH = 64
MAX_TOKENS = 50_000

_TOKEN = re2.compile(
    rb"""(?s)(?:[\s\x{a0}\x{2028}\x{2029}]+|//[^\r\n]*|/\*.*?\*/)"""
    rb"""|[{}\[\]:,]"""
    rb"""|"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'"""
    rb"""|[^\s{}\[\]:,"'/]+"""
    rb"""|."""
)
_ESCAPE = re2.compile(r"(?s)\\(?:u([0-9A-Fa-f]{4})|x([0-9A-Fa-f]{2})|(\r\n|.))")
_ESCAPED = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "0": "\0"}
_LINE_ENDS = ("\n", "\r", "\r\n", "\u2028", "\u2029")
_WORDS: dict[str, Any] = {"true": True, "false": False, "null": None}

_Token = tuple[str, str]


class BadJson(InvalidInput):
    """Text that is not JSON, not even generously; the message says why and holds nothing of it."""


def parse_json5(data: bytes) -> Any:
    """The value that `data` (UTF-8) is, in dicts, lists, str, int, float, bool and None.

    Numbers JSON does not know (Infinity, hexadecimal) are read as Python does.  Raises BadJson, also for
    more than 64 levels or 50,000 tokens.
    """
    try:
        return msgspec.json.decode(data)
    except (msgspec.DecodeError, RecursionError):
        tokens = _tokens(data)
        value = _value(next(tokens), tokens, MAX_DEPTH)
        if next(tokens)[0] != "end":
            raise BadJson("There is more after the end of the value") from None
        return value


def _tokens(data: bytes) -> Iterator[_Token]:
    text = data.decode("utf-8-sig", errors="replace")
    # Bytes, because re2 counts the characters before each match in a text.
    for count, found in enumerate(_TOKEN.finditer(text.encode())):
        token = found.group().decode()
        kind = _kind(token)
        if count >= MAX_TOKENS:
            raise BadJson("There is too much in it")
        if kind != "space":
            yield kind, token
    yield from itertools.repeat(("end", ""))


def _kind(token: str) -> str:
    first = token[0]
    if first in "{}[]:,":
        return "mark"
    if first in "\"'":
        return "string" if len(token) > 1 else "other"
    if first == "/":
        return "space" if len(token) > 1 else "other"
    return "space" if token.isspace() else "word"


def _value(token: _Token, tokens: Iterator[_Token], depth: int) -> Any:
    kind, text = token
    if depth == 0:
        raise BadJson("It is nested too deeply")
    if text == "{" and kind == "mark":
        return dict(_members(tokens, depth))
    if text == "[" and kind == "mark":
        return list(_items(tokens, depth))
    if kind == "string":
        return _string(text)
    if kind == "word":
        return _WORDS[text] if text in _WORDS else _number(text)
    raise BadJson("A value is missing or cannot be understood")


def _members(tokens: Iterator[_Token], depth: int) -> Iterator[tuple[str, Any]]:
    while (token := next(tokens)) != ("mark", "}"):
        kind, text = token
        if kind not in ("string", "word") or next(tokens) != ("mark", ":"):
            raise BadJson("A key or the colon after it is missing")
        yield _string(text) if kind == "string" else text, _value(next(tokens), tokens, depth - 1)
        if _ends(next(tokens), "}"):
            return


def _items(tokens: Iterator[_Token], depth: int) -> Iterator[Any]:
    while (token := next(tokens)) != ("mark", "]"):
        yield _value(token, tokens, depth - 1)
        if _ends(next(tokens), "]"):
            return


def _ends(token: _Token, closing: str) -> bool:
    if token not in (("mark", ","), ("mark", closing)):
        raise BadJson("A comma or a bracket is missing")
    return token[1] == closing


def _string(quoted: str) -> str:
    text = str(_ESCAPE.sub(_unescape, quoted[1:-1]))
    # Escapes spell what lies beyond U+FFFF in two halves; a half without the other becomes U+FFFD.
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _unescape(found: Any) -> str:
    code = found[1] or found[2]
    if code:
        return chr(int(code, 16))
    return "" if found[3] in _LINE_ENDS else _ESCAPED.get(found[3], found[3])


def _number(text: str) -> int | float:
    for read in (lambda written: int(written, 0), float):
        try:
            return read(text)
        except ValueError:
            continue
    raise BadJson("A word is neither a number nor true, false or null")
