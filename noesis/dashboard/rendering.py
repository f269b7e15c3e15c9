"""Templates in, responses out."""

from __future__ import annotations

import functools
from typing import Any
from urllib.parse import urlencode

import jinja2
import msgspec
from litestar import MediaType, Request, Response
from markupsafe import Markup, escape

from noesis import __version__
from noesis.dashboard import translation, words
from noesis.dashboard.forms import own_path
from noesis.dashboard.language import DEPENDS_ON, answer_in_its_language, choice_of
from noesis.dashboard.messages import message_of
from noesis.dashboard.recognising import told
from noesis.dashboard.static import WEB, static_address
from noesis.dashboard.translation import gettext_noop
from noesis.memory import Scope

PageRequest = Request[Any, Scope, Any]


class NavEntry(msgspec.Struct, frozen=True):
    """An entry of the top bar: the page's name in `page(..., here=)`, its title in English, its letter after `g`."""

    name: str
    title: str
    href: str
    letter: str


NAVIGATION = (
    NavEntry("search", gettext_noop("Search"), "/", "s"),
    NavEntry("archive", gettext_noop("Archive"), "/archive", "r"),
    NavEntry("inbox", gettext_noop("Inbox"), "/inbox", "i"),
    NavEntry("sources", gettext_noop("Sources"), "/sources", "o"),
    NavEntry("agents", gettext_noop("Agents"), "/agents", "a"),
    NavEntry("stats", gettext_noop("Stats"), "/stats", "n"),
    NavEntry("activity", gettext_noop("Activity"), "/activity", "t"),
    NavEntry("backups", gettext_noop("Backups"), "/backups", "b"),
    NavEntry("system", gettext_noop("System"), "/system", "y"),
    NavEntry("docs", gettext_noop("API docs"), "/docs", "d"),
)
"""The top bar, in order."""

COUNTS = "noesis_counts"
"""Where a request keeps how many things wait behind entries of the top bar, by the entry's name."""


@functools.cache
def environment() -> jinja2.Environment:
    """The templates with everything they use."""
    templates = jinja2.Environment(
        loader=jinja2.FileSystemLoader(WEB / "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.add_extension("jinja2.ext.i18n")
    templates.policies["ext.i18n.trimmed"] = True
    templates.install_gettext_callables(  # type: ignore[attr-defined]
        translation.raw_text,
        translation.raw_plural,
        newstyle=True,
        pgettext=lambda context, message: translation.raw_text(message, context),
        npgettext=lambda context, one, many, count: translation.raw_plural(one, many, count, context),
    )
    templates.filters.update(coded=coded, number=translation.number, listed=translation.listed, told=told)
    templates.filters.update(
        kind_words=words.kind_words,
        level_words=words.level_words,
        event_words=words.event_words,
        job_state_words=words.job_state_words,
        part_words=words.part_words,
        health_words=words.health_words,
        setting_words=words.setting_words,
        setting_meaning=words.setting_meaning,
    )
    templates.globals.update(static=static_address, navigation=NAVIGATION, version=__version__)
    return templates


def coded(text: str) -> Markup:
    """A sentence with what stands between backticks as code."""
    pieces = [str(escape(piece)) for piece in text.split("`")]
    shown = (f"<code>{piece}</code>" if number % 2 else piece for number, piece in enumerate(pieces))
    return Markup("".join(shown))  # noqa: S704 - every piece was escaped


def page(
    request: Request[Any, Any, Any], template: str, *, here: str = "", status: int = 200, **values: Any
) -> Response[str]:
    """A page; `here` is its entry in the top bar."""
    answer_in_its_language(request)
    shared = {
        "here": here,
        "signed_in": request.scope.get("auth") is not None,
        "said": message_of(request.query_params.get("said")),
        "concerns": request.scope.get("noesis_concerns", ()),
        "counts": request.scope.get(COUNTS, {}),
        "language": translation.spoken(),
        "chosen_language": choice_of(request),
        "languages": [(code, translation.name_of(code)) for code in translation.languages()],
        "again": _again(request, here),
    }
    html = environment().get_template(template).render(**shared, **values)
    headers = {"Vary": DEPENDS_ON, "Content-Language": translation.spoken()}
    return Response(html, status_code=status, media_type=MediaType.HTML, headers=headers)


def _again(request: Request[Any, Any, Any], here: str) -> str:
    """Where this page is found again: its address, or for the answer to a form its entry in the top bar."""
    if request.method != "GET":
        return next((entry.href for entry in NAVIGATION if entry.name == here), "/")
    asked = [(name, value) for name, value in request.query_params.multi_items() if name != "said"]
    return own_path(f"{request.url.path}?{urlencode(asked)}" if asked else request.url.path)


def see(address: str) -> Response[str]:
    """The answer to a form: look at this page (303)."""
    return Response("", status_code=303, headers={"Location": address}, media_type=MediaType.HTML)


def base_url(request: Request[Any, Any, Any], *, https: bool) -> str:
    """How this server is reached, as far as the browser's own request tells; the perimeter checked the host."""
    scheme = "https" if https else request.scope["scheme"]
    return f"{scheme}://{request.headers['host']}"
