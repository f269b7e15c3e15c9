"""Templates in, responses out."""

from __future__ import annotations

import functools
from typing import Any

import jinja2
import msgspec
from litestar import MediaType, Request, Response
from markupsafe import Markup, escape

from noesis import __version__
from noesis.dashboard.messages import message_of
from noesis.dashboard.static import WEB, static_address
from noesis.memory import Scope

PageRequest = Request[Any, Scope, Any]


class NavEntry(msgspec.Struct, frozen=True):
    """An entry of the top bar: the page's name in `page(..., here=)`, its letter after `g`, and what its count counts."""

    name: str
    title: str
    href: str
    letter: str
    counted: str = "waiting"


NAVIGATION = (
    NavEntry("search", "Search", "/", "s"),
    NavEntry("archive", "Archive", "/archive", "r"),
    NavEntry("inbox", "Inbox", "/inbox", "i"),
    NavEntry("sources", "Sources", "/sources", "o"),
    NavEntry("agents", "Agents", "/agents", "a"),
    NavEntry("stats", "Stats", "/stats", "n"),
    NavEntry("activity", "Activity", "/activity", "t", "failed"),
    NavEntry("backups", "Backups", "/backups", "b"),
    NavEntry("system", "System", "/system", "y"),
    NavEntry("docs", "API docs", "/docs", "d"),
)
"""The top bar, in order."""

COUNTS = "noesis_counts"
"""Where a request keeps how many things wait behind entries of the top bar, by the entry's name."""


@functools.cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(WEB / "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["coded"] = coded
    environment.globals.update(static=static_address, navigation=NAVIGATION, version=__version__)
    return environment


def coded(text: str) -> Markup:
    """A sentence with what stands between backticks as code."""
    pieces = [str(escape(piece)) for piece in text.split("`")]
    told = (f"<code>{piece}</code>" if number % 2 else piece for number, piece in enumerate(pieces))
    return Markup("".join(told))  # noqa: S704 - every piece was escaped


def page(
    request: Request[Any, Any, Any], template: str, *, here: str = "", status: int = 200, **values: Any
) -> Response[str]:
    """A page; `here` is its entry in the top bar."""
    signed_in = request.scope.get("auth") is not None
    said = message_of(request.query_params.get("said"))
    shared = {"here": here, "signed_in": signed_in, "said": said}
    concerns = request.scope.get("noesis_concerns", ())
    counts = request.scope.get(COUNTS, {})
    html = _environment().get_template(template).render(**shared, concerns=concerns, counts=counts, **values)
    return Response(html, status_code=status, media_type=MediaType.HTML)


def see(address: str) -> Response[str]:
    """The answer to a form: look at this page (303)."""
    return Response("", status_code=303, headers={"Location": address}, media_type=MediaType.HTML)


def base_url(request: Request[Any, Any, Any], *, https: bool) -> str:
    """How this server is reached, as far as the browser's own request tells; the perimeter checked the host."""
    scheme = "https" if https else request.scope["scheme"]
    return f"{scheme}://{request.headers['host']}"
