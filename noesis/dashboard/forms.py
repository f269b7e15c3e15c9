"""What browsers send: form bodies, and where to go afterwards."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qsl, quote, urlsplit

from litestar import Request

from noesis.dashboard.translation import gettext_noop
from noesis.errors import InvalidInput

MAX_FORM_BYTES = 8 << 20
"""A text of the greatest length, each character as four percent-coded bytes."""

_MAX_FIELDS = 64
_LONGEST_ADDRESS = 4000
_NEVER_NEXT = ("/login", "/logout", "/setup", "/static/")


async def read_form(request: Request[Any, Any, Any]) -> dict[str, str]:
    """The fields of a sent form, each once.  Raises InvalidInput."""
    return dict(await read_fields(request))


async def read_fields(request: Request[Any, Any, Any], *, most: int = _MAX_FIELDS) -> list[tuple[str, str]]:
    """The fields of a sent form in order; a name may come several times.  Raises InvalidInput."""
    if (
        request.headers.get("content-type", "").partition(";")[0].strip()
        != "application/x-www-form-urlencoded"
    ):
        raise InvalidInput(gettext_noop("A form is needed."))
    try:
        return parse_qsl(
            (await request.body()).decode("ascii"),
            keep_blank_values=True,
            errors="strict",
            max_num_fields=most,
        )
    except ValueError as error:
        raise InvalidInput(gettext_noop("The form could not be read.")) from error


def safe_next(address: str | None) -> str:
    """The address when it is a path on this server that can be shown after a log-in, else the first page."""
    path = own_path(address)
    return "/" if urlsplit(path).path.startswith(_NEVER_NEXT) else path


def own_path(address: str | None) -> str:
    """The address when it is a path on this server, else the first page.

    Browsers read backslashes as slashes and drop control characters, so an address with either is
    taken for a trick.
    """
    if not address or len(address) > _LONGEST_ADDRESS or not address.startswith("/"):
        return "/"
    if address.startswith("//") or "\\" in address or not address.isprintable() or " " in address:
        return "/"
    return address


def login_address(path: str, query: str) -> str:
    """The log-in page that leads back to a path and query."""
    wanted = safe_next(f"{path}?{query}" if query else path)
    return "/login" if wanted == "/" else f"/login?next={quote(wanted, safe='/')}"
