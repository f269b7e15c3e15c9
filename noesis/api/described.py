"""What the OpenAPI document says of errors: on every route they are problem documents."""

from __future__ import annotations

import dataclasses

import msgspec
from litestar.handlers import HTTPRouteHandler
from litestar.openapi import ResponseSpec
from litestar.openapi.spec import OpenAPIResponse, Operation
from litestar.plugins import ReceiveRoutePlugin
from litestar.routes import BaseRoute

_MEDIA_TYPE = "application/problem+json"
_INVALID = 400


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """Any error (RFC 9457): what happened and what to do, for people, and a `code` for programs."""

    type: str
    title: str
    status: int
    detail: str
    code: str
    request_id: str
    field: str | None = None


class Described(ReceiveRoutePlugin):
    """Replaces the framework's own error answers in the description of each route."""

    __slots__ = ()

    def receive_route(self, route: BaseRoute) -> None:
        """Note the problem document with every handler of the route."""
        for handler in getattr(route, "route_handlers", ()):
            if isinstance(handler, HTTPRouteHandler):
                problem = _problem("A value is wrong; `field` names it.")
                handler.responses = {**(handler.responses or {}), _INVALID: problem}
                handler.operation_class = _Operation


def also(model: type[msgspec.Struct], description: str) -> ResponseSpec:
    """An answer with another status than the usual one, for the description of a route."""
    return ResponseSpec(model, description=description, generate_examples=False)


def _problem(description: str) -> ResponseSpec:
    return ResponseSpec(Problem, description=description, media_type=_MEDIA_TYPE, generate_examples=False)


@dataclasses.dataclass
class _Operation(Operation):
    """An operation whose other errors have the same form as that for a wrong value."""

    def __post_init__(self) -> None:
        responses = self.responses or {}
        invalid = responses.get(str(_INVALID))
        if isinstance(invalid, OpenAPIResponse):
            other = dataclasses.replace(invalid, description="Any other error.")
            self.responses = {**responses, "default": other}
