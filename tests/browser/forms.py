"""The forms of the templates by what they send, so that tests can say which of them somebody has sent."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import urlsplit

from playwright.sync_api import Request

TEMPLATES = Path(__file__).resolve().parents[2] / "web" / "templates"
_FORM = re.compile(r"<form\b(?:[^>\"]|\"[^\"]*\")*>")
_VALUE = re.compile(r"\{\{.*?\}\}")


def _forms() -> dict[str, re.Pattern[str]]:
    found = {}
    for template in sorted(TEMPLATES.glob("*.html")):
        for form in _FORM.findall(template.read_text(encoding="utf-8")):
            action = re.search(r'\baction="([^"#]*)', form)
            if action is None:  # a dialog's, which sends nothing
                continue
            method = "POST" if 'method="post"' in form else "GET"
            name = f"{method} {_VALUE.sub('*', action.group(1))}"
            found[name] = re.compile(re.escape(name).replace(r"\*", "[^/]+"))
    return found


FORMS = _forms()
"""Every form of the templates: its method and address, with `*` where an id stands, and what fits that."""


def forms_sent(request: Request) -> set[str]:
    """Which form a request was sent by: none, one, or several that send the same."""
    address = urlsplit(request.url)
    if request.method == "GET" and not address.query:
        return set()
    line = f"{request.method} {address.path}"
    fitting = {name for name, pattern in FORMS.items() if pattern.fullmatch(line)}
    plain = fitting & {line}
    return plain or fitting
