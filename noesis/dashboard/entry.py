"""The way in and out: set-up, log-in, log-out."""

from __future__ import annotations

from typing import Any

from litestar import Request, Response, get, post
from litestar.datastructures import Cookie
from litestar.params import FromQuery

from noesis.admin import MIN_PASSWORD, SESSION_S, check_password
from noesis.api.access import PAGE, PUBLIC, SESSION_COOKIE, Wired, has_session
from noesis.dashboard.forms import read_form, safe_next
from noesis.dashboard.rendering import PageRequest, page, see
from noesis.dashboard.translation import gettext_noop
from noesis.errors import InvalidInput, NoesisError, TooManyRequests, Unauthorized
from noesis.runtime import Noesis

PublicRequest = Request[Any, Any, Any]

_ACTOR = "administrator"


@get("/setup", opt=PUBLIC, include_in_schema=False)
async def show_setup(request: PublicRequest, noesis: Wired, key: FromQuery[str] = "") -> Response[str]:
    """The page behind the one-time link."""
    if await noesis.admin.is_set_up():
        return see("/login")
    if not await noesis.admin.setup_secret_is_valid(key):
        return page(request, "setup.html", status=403, valid=False, key="", error=None, least=MIN_PASSWORD)
    return page(request, "setup.html", valid=True, key=key, error=None, least=MIN_PASSWORD)


@post("/setup", opt=PUBLIC, include_in_schema=False, status_code=200)
async def set_up(request: PublicRequest, noesis: Wired) -> Response[str]:
    """Set the first password and log in with it."""
    fields = await read_form(request)
    key, password = fields.get("key", ""), fields.get("password", "")
    if not await noesis.admin.setup_secret_is_valid(key):
        return await show_setup.fn(request, noesis, key)  # type: ignore[no-any-return]
    try:
        check_password(password)
        if fields.get("again", "") != password:
            raise InvalidInput(gettext_noop("The two passwords are not the same."), field="again")
        await noesis.admin.set_up(key, password)
    except InvalidInput as error:
        return page(request, "setup.html", status=400, valid=True, key=key, error=error, least=MIN_PASSWORD)
    await noesis.audit.record(_ACTOR, "password set")
    return _logged_in(await noesis.admin.new_session(), "/start?said=welcome", noesis)


@get("/login", opt=PUBLIC, include_in_schema=False)
async def show_login(request: PublicRequest, noesis: Wired) -> Response[str]:
    """The log-in page, or the page wanted when somebody is logged in already."""
    wanted = safe_next(request.query_params.get("next"))
    if await has_session(request, noesis):
        return see(wanted)
    return await _login_page(request, noesis, wanted, None, 200)


@post("/login", opt=PUBLIC, include_in_schema=False, status_code=200)
async def log_in(request: PublicRequest, noesis: Wired) -> Response[str]:
    """Check the password; a wrong one counts against the address it came from."""
    fields = await read_form(request)
    wanted = safe_next(fields.get("next"))
    address = request.client.host if request.client else "unknown"
    try:
        cookie = await noesis.admin.log_in(fields.get("password", ""), address)
    except (Unauthorized, TooManyRequests) as error:
        await noesis.audit.record(_ACTOR, "log-in", address, outcome="refused")
        return await _login_page(request, noesis, wanted, error, error.status_code)
    await noesis.audit.record(_ACTOR, "log-in", address)
    return _logged_in(cookie, wanted, noesis)


@post("/logout", opt=PAGE, include_in_schema=False, status_code=200)
async def log_out(request: PageRequest, noesis: Wired) -> Response[str]:
    """End every session: there is one administrator, and a cookie that was copied dies as well."""
    await noesis.admin.end_sessions()
    await noesis.audit.record(request.auth.actor, "log-out")
    answer = see("/login?said=logged-out")
    answer.set_cookie(_cookie("", 0, noesis))
    return answer


async def _login_page(
    request: PublicRequest, noesis: Noesis, wanted: str, error: NoesisError | None, status: int
) -> Response[str]:
    is_set_up = await noesis.admin.is_set_up()
    answer = page(request, "login.html", status=status, wanted=wanted, error=error, is_set_up=is_set_up)
    if status == TooManyRequests.status_code:
        answer.headers["Retry-After"] = "60"
    return answer


def _logged_in(cookie: str, address: str, noesis: Noesis) -> Response[str]:
    answer = see(address)
    answer.set_cookie(_cookie(cookie, SESSION_S, noesis))
    return answer


def _cookie(value: str, max_age: int, noesis: Noesis) -> Cookie:
    return Cookie(
        SESSION_COOKIE,
        value=value,
        max_age=max_age,
        httponly=True,
        samesite="strict",
        secure=noesis.settings.secure_cookies,
    )


HANDLERS = [show_setup, set_up, show_login, log_in, log_out]
