"""Finds the words of templates that stand outside of messages, and so can be in no catalogue."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html.parser import HTMLParser

import jinja2
from jinja2 import nodes

ALLOWED = {"Noesis"}
"""Words that are the same in every language."""

EXAMPLES = {"main", "notes/2026.md", "/home/ana/notes", "~/.openclaw"}
"""Names and paths that somebody may type."""

# Tokens of style sheets and of HTML that expressions choose between.
NO_TEXT = {
    "aria-describedby",
    "aria-invalid",
    "bad",
    "danger",
    "failed",
    "good",
    "hint",
    "main",
    "mistake",
    "none",
    "running",
    "warn",
}

_WORD = re.compile(r"[^\W\d_]{2,}")
_SHOWN_ATTRIBUTES = ("alt", "aria-label", "placeholder", "title", "data-name")
_NO_LANGUAGE = ("code", "pre", "kbd", "script", "style")
_GAP = "\x00"
"""Stands in the HTML where the template has an expression or a statement."""


class _Shown(HTMLParser):
    """Collects what a reader sees or hears of a page."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.texts: list[str] = []
        self._open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.texts += [value for name, value in attrs if name in _SHOWN_ATTRIBUTES and value]
        if tag in _NO_LANGUAGE:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag in self._open:
            self._open.remove(tag)

    def handle_data(self, data: str) -> None:
        # A macro that writes attributes stands outside of any tag.
        if not self._open and not data.strip(f"{_GAP}\n ").startswith("aria-"):
            self.texts.append(data)


def bare_texts(environment: jinja2.Environment, source: str) -> list[str]:
    """The texts of a template that are not marked, as far as they hold words."""
    shown = _Shown()
    shown.feed("".join(_html(environment, source)))
    shown.close()
    texts = [" ".join(text.replace(_GAP, " ").split()) for text in shown.texts]
    texts += _chosen(environment, source)
    return [text for text in texts if set(_WORD.findall(text)) - ALLOWED and text not in EXAMPLES]


def _html(environment: jinja2.Environment, source: str) -> Iterator[str]:
    """The template's own HTML without what stands in messages."""
    in_message, statement = False, [""]
    for _, kind, value in environment.lex(source):
        if kind == "block_begin":
            statement = []
        elif kind == "name":
            statement.append(value)
            if len(statement) == 1:
                in_message = value == "trans" or (in_message and value != "endtrans")
        elif kind == "data":
            # The block `width` names a class of the style sheet.
            yield _GAP if in_message or statement == ["block", "width"] else value
        elif kind in ("variable_begin", "block_end"):
            yield _GAP


def _chosen(environment: jinja2.Environment, source: str) -> Iterator[str]:
    """Texts that expressions put out without looking them up."""
    for output in environment.parse(source).find_all(nodes.Output):
        for expression in output.nodes:
            if not isinstance(expression, nodes.TemplateData):
                yield from _constants(expression)


def _constants(node: nodes.Node) -> Iterator[str]:
    if isinstance(node, nodes.Const) and _is_text(node.value):
        yield node.value
    if isinstance(node, nodes.CondExpr):
        for branch in (node.expr1, node.expr2):
            if branch is not None:
                yield from _constants(branch)
    if isinstance(node, nodes.Concat | nodes.Or):
        for part in node.iter_child_nodes():
            yield from _constants(part)
    if isinstance(node, nodes.Filter) and node.node is not None:
        yield from _constants(node.node)


def _is_text(value: object) -> bool:
    return isinstance(value, str) and value not in NO_TEXT and not value.startswith("aria-")
