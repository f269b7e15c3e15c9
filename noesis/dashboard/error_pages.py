"""Errors as pages for people; machines get the problem document."""

from __future__ import annotations

from typing import Any

import msgspec
from litestar import Request, Response
from litestar.exceptions import HTTPException
from litestar.types import ExceptionHandlersMap

from noesis.api.access import LoginNeeded
from noesis.api.problems import answer_problem, problem_of
from noesis.dashboard.forms import login_address
from noesis.dashboard.language import answer_in_its_language
from noesis.dashboard.rendering import page, see
from noesis.dashboard.translation import _, gettext_noop
from noesis.errors import NoesisError


class Advice(msgspec.Struct, frozen=True):
    """What an error means to a reader, and what to do."""

    title: str
    what_to_do: str


_ADVICE = {
    400: Advice(
        gettext_noop("That cannot be read"), gettext_noop("Go back and try again, or start from the search.")
    ),
    403: Advice(
        gettext_noop("Not allowed"), gettext_noop("Open the page from the dashboard itself and try again.")
    ),
    404: Advice(
        gettext_noop("Nothing here"),
        gettext_noop("It may have been deleted for good, or the address is not complete."),
    ),
    405: Advice(
        gettext_noop("Not that way"), gettext_noop("This address is not a page. Start from the search.")
    ),
    409: Advice(gettext_noop("Not possible now"), gettext_noop("Go back and look at the present state.")),
    413: Advice(gettext_noop("Too large"), gettext_noop("Send less at once.")),
    422: Advice(gettext_noop("Cannot be embedded"), gettext_noop("Change the text and try again.")),
    429: Advice(gettext_noop("Too many requests"), gettext_noop("Wait a moment and try again.")),
    500: Advice(
        gettext_noop("Noesis made a mistake"),
        gettext_noop("Nothing was lost. Try again; the server's log says more."),
    ),
    503: Advice(
        gettext_noop("Not available right now"),
        gettext_noop("Try again in a moment. What is stored is safe."),
    ),
    507: Advice(
        gettext_noop("No room to write"),
        gettext_noop("Make room on the data directory's disk, then try again."),
    ),
}


def _translated(advice: Advice) -> Advice:
    return Advice(_(advice.title), _(advice.what_to_do))


def answer_error(request: Request[Any, Any, Any], error: Exception) -> Response[Any]:
    """The page of an error for a browser, the problem document for anybody else."""
    answer = answer_problem(request, error)
    if not wants_page(request):
        return answer
    problem = problem_of(error)
    status = int(problem["status"])
    answer_in_its_language(request)
    html = page(
        request,
        "error.html",
        status=status,
        advice=_translated(_ADVICE.get(status, _ADVICE[500 if status >= 500 else 400])),
        detail=problem["detail"],
        request_id=request.scope.get("noesis_request_id", ""),
    )
    if "Retry-After" in answer.headers:
        html.headers["Retry-After"] = answer.headers["Retry-After"]
    return html


def answer_login_needed(request: Request[Any, Any, Any], error: LoginNeeded) -> Response[Any]:
    """A browser is sent to the log-in page and from there back; the address of a form leads to the start."""
    if not wants_page(request):
        return answer_problem(request, error)
    if request.method != "GET":
        return see("/login")
    return see(login_address(request.scope["path"], request.scope["query_string"].decode("latin-1")))


def wants_page(request: Request[Any, Any, Any]) -> bool:
    """Whether a person looks at the answer."""
    is_machine = request.scope["path"].startswith("/api/")
    return not is_machine and "text/html" in request.headers.get("accept", "")


ERROR_HANDLERS: ExceptionHandlersMap = {
    Exception: answer_error,
    HTTPException: answer_error,
    NoesisError: answer_error,
    RecursionError: answer_error,
    LoginNeeded: answer_login_needed,
}
