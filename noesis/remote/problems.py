"""Problems that the API answers, as the product's own errors."""

from __future__ import annotations

from typing import Any

import httpx
import msgspec

from noesis.errors import NoesisError, QueueUnavailable


class RemoteError(NoesisError):
    """The server answered with a problem that this version has no class for; `code` names it."""


class Unreachable(QueueUnavailable):
    """The server does not answer; whether it did what was asked is not known."""

    title = "The server does not answer"


def _known() -> dict[str, type[NoesisError]]:
    classes: list[type[NoesisError]] = [NoesisError]
    for known in classes:
        classes += known.__subclasses__()
    # The first class of a code is the one nearest to the root, which is the one the server means.
    return {kind.code: kind for kind in reversed(classes) if kind is not RemoteError}


def unreachable(url: httpx.URL, error: Exception) -> NoesisError:
    """The error for a server that does not answer."""
    return Unreachable(f"{url.host} does not answer ({type(error).__name__}); is Noesis running there?")


def raise_for_problem(status: int, content: bytes) -> None:
    """Raise the problem of an answer as the error that it was on the server, if it is one."""
    if status < 400:
        return
    try:
        document = msgspec.json.decode(content, type=dict[str, Any])
    except msgspec.DecodeError:
        document = {"detail": f"The server answered {status}; is this the address of a Noesis?"}
    error = problem(document)
    error.status_code = status
    raise error


def problem(document: dict[str, Any]) -> NoesisError:
    """The error that a problem document tells of."""
    message = str(document.get("detail") or document.get("title") or "The server gave no reason.")
    code, field = str(document.get("code", NoesisError.code)), document.get("field")
    kind = _known().get(code, RemoteError)
    error = kind(message, field=field if isinstance(field, str) else None)
    error.code = code
    return error
