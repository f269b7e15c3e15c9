"""Rendered Markdown: useful tags in, nothing live, nothing fetched."""

from __future__ import annotations

import time
from html.parser import HTMLParser

import pytest

from noesis.dashboard.markdown import MAX_RENDERED_CHARS, render


class Found(HTMLParser):
    """What a browser would see in the HTML."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        self.links += [value or "" for name, value in attrs if name == "href"]


def test_everyday_markdown_is_rendered() -> None:
    html = render("# Title\n\n**b** *e* `c` ~~d~~\n\n- one\n\n| a |\n|---|\n| 1 |\n").html
    for tag in ("<h3>", "<strong>", "<em>", "<code>", "<s>", "<li>", "<td>"):
        assert tag in html


def test_links_leave_without_telling_where_from() -> None:
    assert render("[x](https://example.com)").html == (
        '<p><a href="https://example.com" rel="noopener nofollow">x</a></p>\n'
    )


@pytest.mark.parametrize(
    "text",
    [
        "<script>alert(1)</script>",
        "<img src=x onerror=alert(1)>",
        "![x](https://evil.example/pixel.png)",
        "[x](javascript:alert(1))",
        "[x](data:text/html;base64,PHNjcmlwdD4=)",
        "[x](/logout)",
        "[x](//evil.example)",
        "<a href='x' hx-get='/'>y</a>",
        '[x](https://a.example "t\\" onclick=alert(1) x=\\"")',
        '```x" onload=alert(1)\ny\n```',
        "<svg/onload=alert(1)>",
    ],
)
def test_nothing_live_comes_out(text: str) -> None:
    found = Found()
    found.feed(render(text).html)
    assert found.tags <= {"p", "a", "pre", "code"}
    assert found.attributes <= {"href", "rel"}
    assert all(link.startswith("https://") for link in found.links)


def test_headings_follow_the_page_without_a_gap() -> None:
    html = render("### deep\n\n# top\n\n#### far").html
    assert html == "<h3>deep</h3>\n<h3>top</h3>\n<h4>far</h4>\n"


def test_a_long_text_is_cut_and_says_so() -> None:
    rendered = render("word " * MAX_RENDERED_CHARS)
    assert rendered.cut
    assert len(rendered.html) < MAX_RENDERED_CHARS * 2
    assert not render("short").cut


@pytest.mark.parametrize("piece", ["[", "*", "> ", "`", "![", "_a ", "<", "- " * 50, "|a|\n|-|\n", "[a]("])
def test_no_text_takes_long(piece: str) -> None:
    began = time.process_time()
    render(piece * (MAX_RENDERED_CHARS // len(piece)))
    assert time.process_time() - began < 5
