"""Strict reading of request bodies: the declared struct, nothing else, never coerced."""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec
from litestar import Request
from litestar.connection.base import AuthT, StateT, UserT

from noesis.errors import InvalidInput

T = TypeVar("T")

_MAX_SHOWN = 64


class StrictRequest(Request[UserT, AuthT, StateT]):
    """A request whose JSON is decoded straight into what its handler declares as `data`."""

    async def json(self) -> Any:
        """The body as the handler's type.  Raises InvalidInput naming the field."""
        field = getattr(self.route_handler, "parsed_data_field", None)
        kind = Any if field is None else field.annotation
        return decode(await self.body(), kind)


def decode(raw: bytes | str, kind: type[T]) -> T:
    """Decode JSON into a type.  Raises InvalidInput; its text never repeats a value that was sent."""
    try:
        return msgspec.json.decode(raw, type=kind)
    except msgspec.ValidationError as error:
        problem, field = explain_validation(str(error))
        raise InvalidInput(problem, field=field) from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise InvalidInput("The body is not valid JSON in UTF-8.") from error
    except RecursionError as error:
        raise InvalidInput("The body is nested too deeply.") from error


def explain_validation(message: str) -> tuple[str, str | None]:
    """What is wrong and where, from msgspec's message `Expected ... - at `$.field``."""
    problem, _, place = message.partition(" - at `")
    field = place.rstrip("`").removeprefix("$").removeprefix(".") or None
    if problem.startswith("Object contains unknown field"):
        name = problem.split("`")[1]
        field = f"{field}.{name}" if field else name
        problem = "There is no such field"
    elif problem.startswith("Object missing required field"):
        name = problem.split("`")[1]
        field = f"{field}.{name}" if field else name
        problem = "This field is required"
    elif problem.startswith("Invalid enum value"):
        problem = "This is not one of the allowed values"
    elif problem.startswith("Invalid"):
        problem = "This value does not have the right form"
    shown = field[:_MAX_SHOWN] if field else None
    return f"{f'{shown}: ' if shown else ''}{problem}.", shown
