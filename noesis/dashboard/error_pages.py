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
from noesis.dashboard.rendering import page, see
from noesis.errors import NoesisError


class Advice(msgspec.Struct, frozen=True):
    """What an error means to a reader, and what to do."""

    title: str
    what_to_do: str


_ADVICE = {
    400: Advice("That cannot be read", "Go back and try again, or start from the search."),
    403: Advice("Not allowed", "Open the page from the dashboard itself and try again."),
    404: Advice("Nothing here", "It may have been deleted for good, or the address is not complete."),
    405: Advice("Not that way", "This address is not a page. Start from the search."),
    409: Advice("Not possible now", "Go back and look at the present state."),
    413: Advice("Too large", "Send less at once."),
    422: Advice("Cannot be embedded", "Change the text and try again."),
    429: Advice("Too many requests", "Wait a moment and try again."),
    500: Advice("Noesis made a mistake", "Nothing was lost. Try again; the server's log says more."),
    503: Advice("Not available right now", "Try again in a moment. What is stored is safe."),
    507: Advice("No room to write", "Make room on the data directory's disk, then try again."),
}


def answer_error(request: Request[Any, Any, Any], error: Exception) -> Response[Any]:
    """The page of an error for a browser, the problem document for anybody else."""
    answer = answer_problem(request, error)
    if not wants_page(request):
        return answer
    problem = problem_of(error)
    status = int(problem["status"])
    html = page(
        request,
        "error.html",
        status=status,
        advice=_ADVICE.get(status, _ADVICE[500 if status >= 500 else 400]),
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
