"""Memory text as HTML: Markdown in, a few harmless tags out."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import nh3
from markdown_it import MarkdownIt
from markdown_it.token import Token

MAX_RENDERED_CHARS = 20_000
"""Longer texts are rendered up to here; the raw view shows all of them."""

_TAGS = {
    *(
        "a",
        "blockquote",
        "br",
        "code",
        "del",
        "em",
        "h3",
        "h4",
        "h5",
        "h6",
        "hr",
        "li",
        "ol",
        "p",
        "pre",
        "s",
    ),
    *("strong", "table", "tbody", "td", "th", "thead", "tr", "ul"),
}
_FIRST_LEVEL = 3

# Without the rule for images their Markdown stays readable text; nothing is ever fetched.
_PARSER = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"]).disable("image")


class Rendered(msgspec.Struct, frozen=True):
    """Safe HTML, and whether the text was longer than what it shows."""

    html: str
    cut: bool


def render(text: str) -> Rendered:
    """Render Markdown.

    Two gates: the parser escapes HTML, and what it makes is cleaned again, so that a mistake in one
    is no hole.  Links leave by http, https and mailto only.
    """
    tokens = _PARSER.parse(text[:MAX_RENDERED_CHARS])
    _fit_headings(tokens)
    html = nh3.clean(
        _PARSER.renderer.render(tokens, _PARSER.options, {}),
        tags=_TAGS,
        attributes={"*": set(), "a": {"href"}, "ol": {"start"}},
        link_rel="noopener nofollow",
        url_schemes={"http", "https", "mailto"},
        url_relative="deny",
    )
    return Rendered(html, len(text) > MAX_RENDERED_CHARS)


def _fit_headings(tokens: Sequence[Token]) -> None:
    """Put the text's headings below the page's own, without leaving a level out."""
    level = _FIRST_LEVEL - 1
    for token in tokens:
        if token.type == "heading_open":
            level = min(int(token.tag[1]) + _FIRST_LEVEL - 1, level + 1, 6)
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{level}"
