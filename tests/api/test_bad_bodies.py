"""Bodies and parameters that are wrong: refused with the field's name, never echoed, nothing changed."""

from __future__ import annotations

import itertools
import json
import logging
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
import pytest
from litestar import Litestar

from noesis.api.app import MAX_BODY_BYTES
from noesis.api.context import MAX_TURN_BYTES
from noesis.store.filters import EVERYTHING
from tests.api.conftest import Secrets
from tests.api.wire import Header, Reply, bearer, filled, send
from tests.support import Product, WordEmbedder

CANARY = "canary7d1f"
Schema = Mapping[str, Any]

# JSON types by name as the schema gives them; a whole number also fits where a number is asked for.
SAMPLES: dict[str, list[Any]] = {
    "null": [None],
    "boolean": [True, False],
    "integer": [0, -1, 10**18],
    "number": [1.5, -0.25],
    "string": [CANARY, "", "1", "true"],
    "array": [[], [CANARY], [[[CANARY]]], [None]],
    "object": [{}, {CANARY: CANARY}],
}
RAW_VALUES = [
    "NaN",
    "Infinity",
    "-Infinity",
    "1e999",
    f"1{'0' * 400}",
    "01",
    "+1",
    f"'{CANARY}'",
    "undefined",
]


class JsonRoute(msgspec.Struct, frozen=True):
    """A route that takes a JSON body, and the schema of that body."""

    method: str
    path: str
    schema: Schema
    components: Schema

    @property
    def fields(self) -> Schema:
        fields: Schema = self.schema["properties"]
        return fields

    def base(self) -> dict[str, Any]:
        """A body with nothing but the required fields."""
        found: dict[str, Any] = self.sample(self.schema)
        return found

    def sample(self, schema: Schema) -> Any:
        schema = self.resolved(schema)
        if "enum" in schema:
            return schema["enum"][-1]
        if schema["type"] == "object":
            return {name: self.sample(schema["properties"][name]) for name in schema.get("required", ())}
        if schema["type"] == "array":
            return [self.sample(schema["items"])]
        return {"string": "some words", "boolean": True}[schema["type"]]

    def resolved(self, schema: Schema) -> Schema:
        reference = schema.get("$ref")
        found: Schema = schema if reference is None else self.components[reference.rsplit("/", 1)[-1]]
        return found

    def types(self, schema: Schema) -> set[str]:
        """The JSON types that fit at all."""
        schema = self.resolved(schema)
        parts = [part for word in ("oneOf", "anyOf") for part in schema.get(word, ())]
        if parts:
            return {kind for part in parts for kind in self.types(part)}
        kind = schema["type"]
        return set(kind) if isinstance(kind, list) else {kind}

    def is_free_text(self, schema: Schema) -> bool:
        """Whether any string fits."""
        schema = self.resolved(schema)
        parts = [part for word in ("oneOf", "anyOf") for part in schema.get(word, ())]
        if parts:
            return any(self.is_free_text(part) for part in parts)
        return schema["type"] == "string" and "enum" not in schema and "format" not in schema


def json_routes(app: Litestar) -> list[JsonRoute]:
    document = app.openapi_schema.to_schema()
    components = document["components"]["schemas"]
    found = []
    for path, item in document["paths"].items():
        for method, operation in item.items():
            content = operation.get("requestBody", {}).get("content", {})
            for media in content.values():
                schema = components[media["schema"]["$ref"].rsplit("/", 1)[-1]]
                found.append(JsonRoute(method.upper(), filled(path), schema, components))
    return found


def wrong_values(route: JsonRoute, field: Schema) -> Iterator[Any]:
    """Values whose JSON type does not fit, and strings that are no choice or time."""
    fitting = route.types(field)
    for kind, values in SAMPLES.items():
        if kind in fitting or (kind == "integer" and "number" in fitting):
            continue
        yield from values
    if "string" in fitting and not route.is_free_text(field):
        yield from (CANARY, "", "' OR 1=1 --")
    if "array" in fitting:
        yield from ([7], [[CANARY]], [None], [{CANARY: 1}])


class Unchanged:
    """Everything that is kept, to be compared."""

    def __init__(self, product: Product) -> None:
        self.noesis = product.noesis

    async def state(self) -> tuple[Any, ...]:
        noesis = self.noesis
        tables = [await table.rows(EVERYTHING) for table in (noesis.store.active, noesis.store.archive)]
        rows = sorted(msgspec.json.encode(_plain(row)) for table in tables for row in table)
        tokens = {token.id for token in await noesis.tokens.list()}
        jobs = [job.id for job in (await noesis.jobs.list()).jobs]
        return rows, tokens, jobs, await noesis.agents.policies(), noesis.store.writer.commits


def _plain(row: Any) -> dict[str, Any]:
    values = msgspec.structs.asdict(row)
    return values | {"vector": None if row.vector is None else row.vector.tolist()}


@pytest.fixture
async def full(product: Product) -> Product:
    """A product with a memory in it."""
    client = await product.agent("alpha")
    reply = await client.post("/api/v1/memories", json={"text": "the heron database is on port 5433"})
    assert reply.status_code == 201
    return product


def assert_refused(reply: Reply, sent: object) -> dict[str, Any]:
    """A 4xx problem document that repeats nothing of what was sent."""
    assert 400 <= reply.status < 500, (reply, sent)
    assert reply.header("content-type") == "application/problem+json"
    assert CANARY not in reply.everything()
    problem: dict[str, Any] = reply.json()
    assert {"type", "title", "status", "detail", "code", "request_id"} <= set(problem)
    assert problem["status"] == reply.status
    return problem


def sender(app: Litestar, secrets: Secrets) -> list[Header]:
    return [bearer(secrets.admin), ("x-noesis-agent", "alpha"), ("content-type", "application/json")]


async def test_a_value_of_the_wrong_type_is_refused_by_its_name(
    app: Litestar, full: Product, secrets: Secrets, caplog: pytest.LogCaptureFixture
) -> None:
    """Every field of every body, with every JSON type that it does not take: nothing is coerced."""
    caplog.set_level(logging.DEBUG)
    before = await Unchanged(full).state()
    tried = 0
    for route in json_routes(app):
        for name, schema in route.fields.items():
            for value in wrong_values(route, schema):
                body = json.dumps(route.base() | {name: value}).encode()
                reply = await send(app, route.method, route.path, headers=sender(app, secrets), body=[body])
                problem = assert_refused(reply, (route.path, name, value))
                assert problem.get("field", "").startswith(name), (route.path, name, value, problem)
                tried += 1
    assert tried > 300
    assert await Unchanged(full).state() == before
    assert CANARY not in caplog.text


async def test_a_number_that_json_does_not_have_is_refused(
    app: Litestar, full: Product, secrets: Secrets, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    before = await Unchanged(full).state()
    for route in json_routes(app):
        for name, raw in itertools.product(route.fields, RAW_VALUES):
            rest = "".join(
                f", {json.dumps(k)}: {json.dumps(v)}" for k, v in route.base().items() if k != name
            )
            body = f'{{"{name}": {raw}{rest}}}'.encode()
            reply = await send(app, route.method, route.path, headers=sender(app, secrets), body=[body])
            assert_refused(reply, body)
    assert await Unchanged(full).state() == before
    assert CANARY not in caplog.text


async def test_an_unknown_field_is_refused_by_its_name(
    app: Litestar, full: Product, secrets: Secrets
) -> None:
    before = await Unchanged(full).state()
    for route in json_routes(app):
        for name in ("text_", "__proto__", "constructor", "Text", "scope", "role_", "content_hash"):
            body = json.dumps(route.base() | {name: CANARY}).encode()
            reply = await send(app, route.method, route.path, headers=sender(app, secrets), body=[body])
            assert assert_refused(reply, body)["field"] == name
        # A route without required fields does what it is for.
        if route.base():
            reply = await send(app, route.method, route.path, headers=sender(app, secrets), body=[b"{}"])
            assert assert_refused(reply, b"{}")["field"] in route.base()
    assert await Unchanged(full).state() == before


DEEP = {
    "5,000 brackets": b"[" * 5_000,
    "200,000 brackets": b"[" * 200_000,
    "200,000 brackets that close": b"[" * 200_000 + b"]" * 200_000,
    "5,000 objects": b'{"text":' * 5_000 + b"1" + b"}" * 5_000,
    "100,000 objects": b'{"text":' * 100_000 + b"1" + b"}" * 100_000,
    "a deep unknown field": b'{"unknown":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
}
BROKEN = {
    "nothing": b"",
    "a blank": b" ",
    "half an object": b'{"text": "' + CANARY.encode(),
    "null": b"null",
    "a list": f'["{CANARY}"]'.encode(),
    "a string": f'"{CANARY}"'.encode(),
    "a number": b"1",
    "two objects": b"{}{}",
    "a byte order mark": b"\xef\xbb\xbf{}",
    "invalid UTF-8": b'{"text": "\xff\xfe", "query": "\xff", "name": "\xff", "may_read_across": "\xff"}',
    "an overlong NUL": b'{"text": "\xc0\x80", "query": "\xc0\x80", "name": "\xc0\x80"}',
    "a raw surrogate": b'{"text": "\xed\xa0\x80", "query": "\xed\xa0\x80", "name": "\xed\xa0\x80"}',
    "UTF-16": '{"text": "x"}'.encode("utf-16"),
    "a raw control character": b'{"text": "a\x00b", "query": "a\x00b", "name": "a\x00b"}',
    "a form": f"text={CANARY}&query={CANARY}".encode(),
    "a comment": b"{} // no",
}


@pytest.mark.parametrize("bodies", [DEEP, BROKEN], ids=["deep", "broken"])
async def test_a_body_that_is_no_json_object_is_refused(
    bodies: dict[str, bytes],
    app: Litestar,
    full: Product,
    secrets: Secrets,
    embedder: WordEmbedder,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    before = await Unchanged(full).state()
    embedded = list(embedder.seen)
    for route, (kind, body) in itertools.product(json_routes(app), bodies.items()):
        reply = await send(app, route.method, route.path, headers=sender(app, secrets), body=[body])
        assert_refused(reply, (route.path, kind))
    assert await Unchanged(full).state() == before
    assert embedder.seen == embedded
    assert CANARY not in caplog.text


async def test_half_of_a_surrogate_pair_is_refused_in_every_text(
    app: Litestar, full: Product, secrets: Secrets
) -> None:
    """No encoding can store it, so it must not get further than the decoder."""
    before = await Unchanged(full).state()
    for route in json_routes(app):
        for name, schema in route.fields.items():
            if "string" in route.types(schema) or "array" in route.types(schema):
                raw = r'"\ud800"' if "string" in route.types(schema) else r'["\ud800"]'
                rest = "".join(
                    f", {json.dumps(k)}: {json.dumps(v)}" for k, v in route.base().items() if k != name
                )
                body = f'{{"{name}": {raw}{rest}}}'.encode()
                reply = await send(app, route.method, route.path, headers=sender(app, secrets), body=[body])
                assert_refused(reply, (route.path, name))
    assert await Unchanged(full).state() == before


async def test_a_body_over_the_limit_is_413_whether_or_not_it_says_so(
    app: Litestar, full: Product, secrets: Secrets, embedder: WordEmbedder
) -> None:
    before = await Unchanged(full).state()
    piece = b"x" * (64 << 10)
    for route in json_routes(app):
        most = MAX_TURN_BYTES if route.path.endswith("/context/turns") else MAX_BODY_BYTES
        pieces = [b'{"text": "', *[piece] * (most // len(piece) + 8), b'"}']
        length = ("content-length", str(sum(map(len, pieces))))
        for headers in (sender(app, secrets), [*sender(app, secrets), length]):
            reply = await send(app, route.method, route.path, headers=headers, body=pieces)
            assert (route.path, reply.status) == (route.path, 413)
            assert reply.reads <= most // len(piece) + 2
    assert await Unchanged(full).state() == before


async def test_a_text_over_the_limit_is_413_by_its_name(product: Product, embedder: WordEmbedder) -> None:
    client = await product.agent("alpha")
    tries = [("/api/v1/memories", "text", 500_001), ("/api/v1/search", "query", 50_001)]
    for path, field, size in tries:
        reply = await client.post(path, json={field: "word " * (size // 5) + "x" * (size % 5)})
        assert (reply.status_code, reply.json()["field"]) == (413, field)
    assert embedder.seen == []
