"""Requests made up from the API's own description, sound and unsound ones: the answers are as it says."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from litestar import Litestar
from schemathesis import Case, GenerationMode
from schemathesis.checks import (
    content_type_conformance,
    not_a_server_error,
    response_schema_conformance,
    status_code_conformance,
)
from schemathesis.core.result import Ok
from schemathesis.core.transport import Response
from schemathesis.schemas import APIOperation

from noesis.memory import NewMemory, Role, Scope
from tests.api.wire import METHODS, Header, Reply, bearer, send
from tests.support import Product, application, running

Operation = APIOperation[Any, Any, Any, Any]

MARK = "zoqqd"
"""A word of the stored memory that no request holds."""

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]
PROBLEM = {"type", "title", "status", "detail", "code", "request_id"}
INSIDES = ("Traceback", "site-packages", '.py"', "noesis/", "lance", "sqlalchemy", MARK)
EXAMPLES = 5


class Attacked:
    """One product for all examples, on a loop of its own, and the headers of its callers."""

    def __init__(self, product: Product, app: Litestar, loop: asyncio.AbstractEventLoop) -> None:
        self.product = product
        self.app = app
        self.loop = loop
        self.description = app.openapi_schema.to_schema()
        found = list(schemathesis.openapi.from_dict(self.description).get_all_operations())
        self.operations = [each.ok() for each in found if isinstance(each, Ok)]
        assert len(self.operations) == len(found)
        self.callers: dict[str, list[Header]] = {}

    async def fill(self) -> None:
        """Store a memory, make the tokens."""
        noesis = self.product.noesis
        await noesis.indexing.index(Scope("alpha"), NewMemory(text=f"the {MARK} heron sings"))
        _, admin = await noesis.tokens.create(Role.ADMIN, [], "admin")
        _, agent = await noesis.tokens.create(Role.AGENT, ["alpha"], "agent")
        self.callers = {
            "administrator": [bearer(admin)],
            "administrator as an agent": [bearer(admin), ("x-noesis-agent", "alpha")],
            "agent": [bearer(agent)],
        }

    def send(self, request: requests.PreparedRequest, headers: list[Header]) -> Reply:
        """The answer to a request, with these headers added."""
        url = urlsplit(str(request.url))
        own = {"authorization", "x-noesis-agent", "host"}
        made = [(name.lower(), str(value)) for name, value in request.headers.items()]
        sent = [*[header for header in made if header[0] not in own], *headers]
        body = request.body.encode() if isinstance(request.body, str) else request.body
        pieces = [body] if isinstance(body, bytes) else []
        return self.loop.run_until_complete(
            send(
                self.app,
                str(request.method),
                unquote(url.path),
                headers=sent,
                query=url.query,
                body=pieces,
            )
        )


@pytest.fixture(scope="module")
def attacked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Attacked]:
    loop = asyncio.new_event_loop()
    opened = running(tmp_path_factory.mktemp("attacked"))
    product = loop.run_until_complete(opened.__aenter__())
    with application(product.noesis) as app:
        both = Attacked(product, app, loop)
        loop.run_until_complete(both.fill())
        yield both
    loop.run_until_complete(opened.__aexit__(None, None, None))
    loop.close()


def check_answer(case: Case[Any], request: requests.PreparedRequest, reply: Reply) -> None:
    """Raise unless the answer is one that the description has, and an error tells of nothing within."""
    if reply.status >= 400:
        check_problem(reply)
    headers = {name: [value] for name, value in reply.headers}
    response = Response(reply.status, headers, reply.body, request, elapsed=0, verify=False)
    case.validate_response(response, checks=CHECKS)


def check_problem(reply: Reply) -> None:
    assert reply.header("content-type") == "application/problem+json"
    problem = reply.json()
    assert set(problem) - {"field"} == PROBLEM
    assert problem["status"] == reply.status
    assert problem["request_id"] == reply.header("x-request-id")
    assert [word for word in INSIDES if word in reply.everything()] == []


def attack(attacked: Attacked, operation: Operation, mode: GenerationMode, caller: str) -> None:
    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        derandomize=True,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy(generation_mode=mode))
    def one(case: Case[Any]) -> None:
        kwargs = case.as_transport_kwargs(base_url="http://localhost")
        request = requests.Request(**kwargs).prepare()
        check_answer(case, request, attacked.send(request, attacked.callers[caller]))

    one()


def takes_anything(operation: Operation) -> bool:
    """Whether there is a value that could be wrong."""
    return bool(operation.body or operation.query or operation.path_parameters)


@pytest.mark.parametrize("caller", ["administrator", "administrator as an agent", "agent"])
def test_a_request_that_the_description_allows_is_answered_as_it_says(
    attacked: Attacked, caller: str
) -> None:
    for operation in attacked.operations:
        attack(attacked, operation, GenerationMode.POSITIVE, caller)


@pytest.mark.parametrize("caller", ["administrator as an agent", "agent"])
def test_a_request_that_the_description_forbids_is_a_problem_and_nothing_worse(
    attacked: Attacked, caller: str
) -> None:
    for operation in filter(takes_anything, attacked.operations):
        attack(attacked, operation, GenerationMode.NEGATIVE, caller)


def test_a_method_that_the_description_does_not_have_is_405_in_the_same_form(attacked: Attacked) -> None:
    for path, item in attacked.description["paths"].items():
        for method in set(METHODS) - {name.upper() for name in item} - {"OPTIONS"}:
            request = requests.Request(method, f"http://localhost{path.replace('{', '').replace('}', '')}")
            reply = attacked.send(request.prepare(), attacked.callers["administrator"])
            assert (method, path, reply.status) == (method, path, 405)
            check_problem(reply)


def test_the_description_has_one_form_for_every_error(attacked: Attacked) -> None:
    for path, item in attacked.description["paths"].items():
        for method, operation in item.items():
            errors = {status: entry for status, entry in operation["responses"].items() if status[0] != "2"}
            assert set(errors) == {"400", "default"}, (method, path)
            for entry in errors.values():
                schema = {"$ref": "#/components/schemas/Problem"}
                assert entry["content"] == {"application/problem+json": {"schema": schema}}
