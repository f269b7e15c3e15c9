"""Text of strangers stays text: on every page that shows it, in every field that takes it."""

from __future__ import annotations

from urllib.parse import quote, urlsplit

from playwright.sync_api import Page, expect

from tests.browser.conftest import Opener, Window, remember
from tests.browser.server import Served

# Each would ask for /evil, open a dialog or leave a live attribute if anything took it for markup.
PAYLOADS = (
    "<script>fetch('/evil')</script>",
    "<img src=/evil onerror=alert(1)>",
    "<svg/onload=alert(1)>",
    "<svg><script href='/evil'/></svg>",
    "<svg><image href=/evil /></svg>",
    '<div hx-get="/evil" hx-trigger="load">x</div>',
    '<div data-hx-post="/evil" data-hx-trigger="load">x</div>',
    '<div hx-on::load="alert(1)">x</div>',
    '<b hx-get="javascript:alert(1)" hx-trigger="load">x</b>',
    "<hx-partial hx-target='body'><img src=/evil></hx-partial>",
    "<template hx type=partial hx-target=body><img src=/evil></template>",
    "<p hx-swap-oob='true' id=results>gone</p>",
    "[click](javascript:alert(1))",
    "[click](data:text/html;base64,PHNjcmlwdD5hbGVydCgxKTwvc2NyaXB0Pg==)",
    "![pixel](/evil)",
    "![pixel](//evil.example/evil)",
    "<a href=javascript:alert(1)>click</a>",
    "</textarea><script>alert(1)</script>",
    "</pre></code></main><script>alert(1)</script>",
    "</title><script>alert(1)</script>",
    "--><script>alert(1)</script><!--",
    "{{ 7*7 }} {% include 'layout.html' %} ${7*7} #{7*7}",
    "'\"><iframe src=/evil></iframe>",
    '" autofocus onfocus=alert(1) x="',
    "' onmouseover='alert(1)",
    "<style>@import '/evil';body{display:none}</style>",
    "<link rel=stylesheet href=/evil><base href='//evil.example/'>",
    "<meta http-equiv=refresh content='0;url=/evil'>",
    "<form action=/evil><input name=q><button>x</button></form>",
    "<math><mtext><img src=/evil onerror=alert(1)></mtext></math>",
    "<details open ontoggle=alert(1)>x</details>",
    "<object data=/evil></object><embed src=/evil>",
)

FOURS = [PAYLOADS[start : start + 4] for start in range(0, len(PAYLOADS), 4)]
"""A page takes a while to load, and shows four payloads as well as one."""

_LIVE = """() => {
  const own = new Set(["hx-get", "hx-target", "hx-select", "hx-swap", "hx-replace-url", "hx-sync", "hx-trigger"]);
  const found = [];
  for (const element of document.querySelectorAll("*")) {
    const foreign = element.parentElement?.closest("[hx-ignore]");
    if (foreign && element._htmx) found.push(`htmx took ${element.outerHTML.slice(0, 80)}`);
    if (/^(iframe|object|embed|style|base|math)$/i.test(element.tagName)) found.push(element.tagName);
    if (foreign && /^(img|svg|script|form|input|template|link|meta)$/i.test(element.tagName)) found.push(element.tagName);
    for (const { name, value } of element.attributes) {
      const isOwn = name === "hx-ignore" || (element.id === "search" && own.has(name));
      if (/^(on|hx-|data-hx-)/.test(name) && !isOwn) found.push(`${element.tagName} ${name}`);
      if (name === "style") found.push("style");
      if (/^(href|src|action)$/.test(name) && /^\\s*(javascript|data|vbscript):/i.test(value)) found.push(value);
    }
  }
  return found;
}"""


def assert_inert(window: Window, page: Page) -> None:
    assert page.evaluate(_LIVE) == []
    assert [url for url in window.requests if urlsplit(url).path.startswith("/evil")] == []
    assert window.faults == []


def store(served: Served) -> list[str]:
    """Four payloads to a memory, all of them in every field that takes free text."""
    ids = []
    for few in FOURS:
        text, tags = " ".join(few), tuple(each[:64] for each in few)
        ids.append(remember(served, f"payload {text}", tags=tags, source=text, session_id=text, author=text))
    return ids


def test_stored_payloads_are_text_everywhere(window: Opener, served: Served) -> None:
    ids = store(served)
    together = remember(served, "\n\n".join(PAYLOADS), ttl_days=0)
    with window() as visitor:
        page = visitor.goto("/?limit=100")
        expect(page.locator(".hit")).to_have_count(len(ids) + 1)
        assert_inert(visitor, page)
        page.locator("#q").fill("payload")
        expect(page.locator(".summary")).to_contain_text("memories in")
        expect(page.locator("mark").first).to_be_visible()
        assert_inert(visitor, page)
        for memory_id in ids:
            page = visitor.goto(f"/memories/{memory_id}?view=rendered")
            expect(page.locator(".prose")).to_contain_text("payload")
            assert_inert(visitor, page)
        for path in ("", "?view=rendered", "/edit", "/delete"):
            page = visitor.goto(f"/memories/{together}{path}")
            assert_inert(visitor, page)
        visitor.goto(f"/memories/{together}/edit")
        assert page.locator("#text").input_value() == "\n\n".join(PAYLOADS)
        page.locator("#priority").fill(PAYLOADS[0])
        page.get_by_role("button", name="Save").click()
        expect(page.locator("#priority-mistake")).to_be_visible()
        assert page.locator("#text").input_value() == "\n\n".join(PAYLOADS)
        assert_inert(visitor, page)


def test_payloads_in_addresses_are_text_too(window: Opener, served: Served) -> None:
    with window() as visitor:
        for text in map(" ".join, FOURS):
            page = visitor.goto(f"/?q={quote(text)}&said={quote(text)}")
            assert page.locator("#q").input_value() == text
            assert_inert(visitor, page)
        for name in ("agent", "tag", "mode", "archive", "type", "limit", "cursor", "after"):
            page = visitor.goto("/?" + "&".join(f"{name}={quote(text)}" for text in PAYLOADS[:8]))
            assert_inert(visitor, page)
        for text in PAYLOADS[:8]:
            page = visitor.goto(f"/memories/{quote(text, safe='')}")
            assert_inert(visitor, page)


def test_payloads_as_the_way_back_lead_nowhere(window: Opener, served: Served) -> None:
    with window(logged_in=False) as visitor:
        for text in (
            "//evil.example",
            "javascript:alert(1)",
            '"><script>alert(1)</script>',
            "/\\evil.example",
        ):
            page = visitor.goto(f"/login?next={quote(text)}")
            assert page.locator("input[name=next]").get_attribute("value") == "/"
            assert_inert(visitor, page)
