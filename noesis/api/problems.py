"""Every error as application/problem+json (RFC 9457), or as a page for a browser; input is never echoed."""

from __future__ import annotations

import logging
from typing import Any

import msgspec
from litestar import Request, Response
from litestar.exceptions import HTTPException, ValidationException
from litestar.types import ExceptionHandlersMap

from noesis.api.bodies import explain_validation
from noesis.errors import InvalidInput, NoesisError, TooManyRequests

logger = logging.getLogger("noesis.api")

Problem = dict[str, Any]

_STATUS = {
    401: ("unauthorized", "A valid token is needed", "Send one Authorization header: Bearer and a token."),
    404: ("not_found", "Not found", "There is nothing at this address."),
    405: ("method_not_allowed", "Method not allowed", "This address does not take that method."),
    413: ("too_large", "The request is too large", "The body is over its limit."),
    415: ("unsupported_media_type", "Not JSON", "Send JSON with the content type application/json."),
}


def problem_of(error: Exception) -> Problem:
    """The problem document of an error, without the request's id."""
    if isinstance(error, NoesisError):
        problem = _problem(error.status_code, error.code, error.title, error.message)
        return problem | ({"field": error.field} if error.field else {})
    if isinstance(error, RecursionError):
        return problem_of(InvalidInput("The body is nested too deeply."))
    if isinstance(error, ValidationException):
        return problem_of(_invalid_parameter(error))
    if isinstance(error, HTTPException) and error.status_code < 500:
        code, title, detail = _STATUS.get(
            error.status_code, ("invalid_input", "The request is not valid", "The request could not be read.")
        )
        return _problem(error.status_code, code, title, detail)
    return _problem(
        500,
        "internal_error",
        "Something went wrong",
        "The server made a mistake; its log has this request's id.",
    )


def _problem(status: int, code: str, title: str, detail: str) -> Problem:
    return {"type": f"urn:noesis:{code}", "title": title, "status": status, "detail": detail, "code": code}


def _invalid_parameter(error: ValidationException) -> InvalidInput:
    extra = error.extra[0] if isinstance(error.extra, list) and error.extra else {}
    problem, _ = explain_validation(str(extra.get("message", "This value does not have the right form")))
    field = extra.get("key")
    if field == "data":
        return InvalidInput("A JSON body is needed.")
    return InvalidInput(f"{field}: {problem}" if field else problem, field=field)


def answer_problem(request: Request[Any, Any, Any], error: Exception) -> Response[bytes]:
    """The response for any error that leaves a handler."""
    problem = problem_of(error)
    request_id = request.scope.get("noesis_request_id", "")
    if problem["status"] >= 500:
        _log(error, problem, str(request_id))
    headers = {"WWW-Authenticate": "Bearer"} if problem["status"] == 401 else {}
    if isinstance(error, HTTPException) and error.headers and "allow" in error.headers:
        headers["Allow"] = error.headers["allow"]
    if isinstance(error, TooManyRequests):
        headers["Retry-After"] = str(error.retry_after_s)
    elif problem["status"] == 503:
        headers["Retry-After"] = "5"
    return Response(
        content=msgspec.json.encode(problem | {"request_id": request_id}),
        status_code=problem["status"],
        media_type="application/problem+json",
        headers=headers,
    )


def _log(error: Exception, problem: Problem, request_id: str) -> None:
    """Only where it happened: an exception's own text may hold what somebody sent."""
    frames = []
    trace = error.__traceback__
    while trace is not None:
        frames.append(f"{trace.tb_frame.f_code.co_filename.rsplit('/', 1)[-1]}:{trace.tb_lineno}")
        trace = trace.tb_next
    logger.error(
        "request failed",
        extra={
            "request_id": request_id,
            "error": type(error).__name__,
            "code": problem["code"],
            "at": frames[-6:],
        },
    )


HANDLERS: ExceptionHandlersMap = {
    Exception: answer_problem,
    HTTPException: answer_problem,
    NoesisError: answer_problem,
    RecursionError: answer_problem,
}
