"""Rendered Markdown: useful tags in, nothing live, nothing fetched."""

from __future__ import annotations

import time

import pytest

from noesis.dashboard.markdown import MAX_RENDERED_CHARS, render


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
    html = render(text).html
    for trace in ("<script", "<img", "<svg", "hx-get='", "class=", "title=", 'onclick=alert(1) x="'):
        assert trace not in html.replace("&lt;", "[")
    for link in html.split("<a ")[1:]:
        assert not link.startswith("href=") or link.startswith('href="https://a.example"')


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
