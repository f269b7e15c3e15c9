"""The form that chooses the language of the pages."""

from __future__ import annotations

from typing import Any

from litestar import Request, Response, post
from litestar.datastructures import Cookie

from noesis.api.access import PUBLIC, Wired
from noesis.dashboard.forms import own_path, read_form
from noesis.dashboard.language import AUTO, COOKIE
from noesis.dashboard.rendering import see
from noesis.dashboard.translation import gettext_noop, languages
from noesis.errors import InvalidInput

_A_YEAR_S = 365 * 86_400


@post("/language", opt=PUBLIC, include_in_schema=False, status_code=200)
async def choose_language(request: Request[Any, Any, Any], noesis: Wired) -> Response[str]:
    """Keep the choice in this browser, and go back to the page it was made on.  Raises InvalidInput."""
    fields = await read_form(request)
    code = fields.get("language", "")
    if code != AUTO and code not in languages():
        raise InvalidInput(gettext_noop("Choose a language of the list."), field="language")
    answer = see(own_path(fields.get("back")))
    answer.set_cookie(
        Cookie(
            COOKIE,
            value="" if code == AUTO else code,
            max_age=0 if code == AUTO else _A_YEAR_S,
            httponly=True,
            # No secret: a page that is opened from a link elsewhere speaks the chosen language as well.
            samesite="lax",
            secure=noesis.settings.secure_cookies,
        )
    )
    return answer


HANDLERS = [choose_language]
