"""Parameters of the address and headers that are wrong: refused, never echoed, no error of the server."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from urllib.parse import quote

import pytest
from litestar import Litestar

from noesis.memory import Role
from tests.api.conftest import Secrets
from tests.api.wire import Endpoint, Header, bearer, endpoints, send
from tests.support import Product

CANARY = "canary7d1f"
VALUES = (
    CANARY,
    "",
    f"{CANARY}' OR '1'='1",
    "1e999",
    "NaN",
    "9" * 400,
    "-1",
    "0",
    "201",
    "true",
    "%00",
    "%ff%fe",
    "%ed%a0%80",
    "%",
    "%zz",
    "a" * 10_000,
    "2026-05-04T10:00:00",
    "2026-13-45",
    "9999-12-31T23:59:59Z",
    "0001-01-01T00:00:00+14:00",
)


TELLS = {("/api/v1/export", "agent_id")}
"""An export says in its first line whose memories it holds, and the audit log whose name an earlier call bore;
nowhere else is a parameter told again."""


def parameters(app: Litestar) -> list[tuple[str, str, str]]:
    """Each query parameter of each operation: method, path pattern, name."""
    return [
        (method.upper(), path, parameter["name"])
        for path, item in app.openapi_schema.to_schema()["paths"].items()
        for method, operation in item.items()
        for parameter in operation.get("parameters", ())
        if parameter["in"] == "query"
    ]


def asked(name: str) -> Iterator[str]:
    """Each value for a parameter, and a few of them said twice and as a list."""
    yield from (f"{name}={value}" for value in VALUES)
    for value in VALUES[:3]:
        yield f"{name}={value}&{name}={value}"
        yield f"{name}[]={value}"


def caller(secrets: Secrets) -> list[Header]:
    return [bearer(secrets.admin), ("x-noesis-agent", "alpha")]


async def test_a_query_parameter_never_makes_an_error_of_the_server(
    app: Litestar, secrets: Secrets, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    names = parameters(app)
    assert len(names) > 8
    for method, path, name in names:
        for query in asked(name):
            reply = await send(app, method, path, headers=caller(secrets), query=query)
            assert reply.status < 500, (path, query, reply)
            if reply.status >= 400:
                assert reply.header("content-type") == "application/problem+json"
            told = reply.status == 200 and ((path, name) in TELLS or path == "/api/v1/audit")
            seen = str(reply.headers) if told else reply.everything()
            assert CANARY not in seen, (path, query)
    assert CANARY not in caplog.text


async def test_a_parameter_of_the_wrong_type_is_refused_by_its_name(app: Litestar, secrets: Secrets) -> None:
    tries = [("limit", "many"), ("cross_agent", "perhaps"), ("after", "yesterday"), ("memory_type", "belief")]
    for name, value in tries:
        reply = await send(app, "GET", "/api/v1/memories", headers=caller(secrets), query=f"{name}={value}")
        assert (name, reply.status, reply.json()["field"]) == (name, 400, name)
        assert value not in reply.everything()


async def test_a_time_without_a_zone_is_refused_by_its_name(app: Litestar, secrets: Secrets) -> None:
    for name in ("after", "before"):
        query = f"{name}=2026-05-04T10:00:00"
        reply = await send(app, "GET", "/api/v1/memories", headers=caller(secrets), query=query)
        assert (reply.status, reply.json()["field"]) == (400, name)


LIMITS = [0, -1, 201, 10**30]


async def test_a_limit_out_of_bounds_is_refused_by_its_name(app: Litestar, secrets: Secrets) -> None:
    for limit in LIMITS:
        reply = await send(app, "GET", "/api/v1/memories", headers=caller(secrets), query=f"limit={limit}")
        assert (reply.status, reply.json()["field"]) == (400, "limit")


IDS = (
    CANARY,
    f"{CANARY}' OR '1'='1",
    "\x00",
    "..",
    "é" * 300,
    "a" * 10_000,
    "%2e%2e",
    ";",
    "{}",
    "\r\nset-cookie: a=b",
)


async def test_an_odd_id_is_answered_like_an_unknown_one_or_refused(
    app: Litestar, secrets: Secrets, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    with_id = [e for e in endpoints(app) if "{" in e.pattern and e.method != "OPTIONS"]
    assert len(with_id) > 10
    for endpoint in with_id:
        for odd in IDS:
            path = endpoint.path.replace("abc", odd)
            reply = await send(app, endpoint.method, path, headers=caller(secrets), body=[b"{}"])
            # Whether something was there to be thrown away is not told.
            quiet = {204} if endpoint.key == ("DELETE", "/api/v1/imports/upload/{upload}") else set()
            assert reply.status in {400, 401, 404} | quiet, (endpoint.key, odd, reply)
            assert CANARY not in reply.everything()
            assert "set-cookie" not in dict(reply.headers)
    assert CANARY not in caplog.text


async def test_headers_and_addresses_with_a_canary_are_not_echoed(
    app: Litestar, product: Product, secrets: Secrets, caplog: pytest.LogCaptureFixture
) -> None:
    """In the agent's name, a cookie, the content type, the path, the query, and inside an error of the server."""
    caplog.set_level(logging.DEBUG)
    odd: list[list[Header]] = [
        [("x-noesis-agent", f"{CANARY} {CANARY}")],
        [("x-noesis-agent", f"../{CANARY}")],
        [("cookie", f"noesis_session={CANARY}; other={CANARY}")],
        [("content-type", CANARY)],
        [("content-type", f"multipart/form-data; boundary={CANARY}")],
        [("accept", CANARY)],
        [("user-agent", CANARY), ("referer", f"http://{CANARY}/")],
    ]
    for endpoint in [*endpoints(app), Endpoint("GET", "/x", f"/{CANARY}", {})]:
        for headers in odd:
            sent = [bearer(secrets.admin), *headers]
            query = f"q={CANARY}"
            reply = await send(app, endpoint.method, endpoint.path, headers=sent, query=query, body=[b"{"])
            assert reply.status < 500
            if "html" not in (reply.header("content-type") or ""):
                assert CANARY not in reply.everything(), (endpoint.key, headers)
    assert CANARY not in caplog.text


async def test_an_error_of_the_server_says_nothing_of_what_was_sent(
    app: Litestar,
    product: Product,
    secrets: Secrets,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)

    async def fail(*_: object, **__: object) -> None:
        raise RuntimeError(f"could not store {CANARY}")

    monkeypatch.setattr(product.noesis.indexing, "index", fail)
    headers = [*caller(secrets), ("content-type", "application/json"), ("x-request-id", "abc123")]
    body = [f'{{"text": "{CANARY}"}}'.encode()]
    reply = await send(app, "POST", "/api/v1/memories", headers=headers, body=body)
    assert (reply.status, reply.json()["code"]) == (500, "internal_error")
    assert CANARY not in reply.everything()
    (record,) = [record for record in caplog.records if record.levelname == "ERROR"]
    assert record.__dict__["error"] == "RuntimeError"
    assert record.__dict__["request_id"] == "abc123"
    assert CANARY not in caplog.text + repr(record.__dict__)


async def test_an_agents_name_has_one_form(product: Product) -> None:
    """Attack by names that look alike, climb directories or end statements."""
    _, secret = await product.noesis.tokens.create(Role.GATEWAY, ["*"], "any")
    bad = ["../x", "..%2f", "/etc", "a/b", ".", "", " ", "a" * 300, "\u202eabc", "caf\u00e9", "cafe\u0301"]
    bad += ["alpha' OR '1'='1", "alpha:beta", "*", "a,b", "-a", "_a", "ａlpha", "аlpha", "Kelvin\u212a"]
    for name in bad:
        encoded = quote(name) if not name.isascii() else name
        client = product.client(secret, encoded)
        reply = await client.post("/api/v1/memories", json={"text": "x", "agent_id": name})
        assert (name, reply.status_code) == (name, 400)
        reply = await product.client(secret, "alpha").post(
            "/api/v1/search", json={"query": "x", "agent_id": name}
        )
        assert (name, reply.status_code) == (name, 400)
    reply = await product.client(secret, "ALPHA").post("/api/v1/memories", json={"text": "x"})
    again = await product.client(secret, "alpha").post("/api/v1/memories", json={"text": "x"})
    assert (reply.status_code, again.status_code) == (201, 200)
