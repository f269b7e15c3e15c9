"""No route is open that is not on a list here: not without a token, not with the wrong one."""

from __future__ import annotations

import asyncio
import itertools
from pathlib import Path

from litestar import Litestar

from noesis.api.access import Access
from noesis.memory import Role
from noesis.tokens import Tokens
from tests.api.conftest import Secrets
from tests.api.wire import METHODS, Endpoint, Header, bearer, endpoints, http_routes, send
from tests.support import Product, WordEmbedder

PUBLIC = {
    ("GET", "/health/live"),
    ("GET", "/health/ready"),
    ("GET", "/login"),
    ("GET", "/plugin/openclaw-noesis.tgz"),
    ("GET", "/setup"),
    ("GET", "/static/{name}"),
    ("POST", "/language"),
    ("POST", "/login"),
    ("POST", "/setup"),
}
EITHER = {("GET", "/docs"), ("GET", "/openapi.json")}
TOKEN_OUTSIDE_THE_API = {("GET", "/health"), ("GET", "/metrics"), ("POST", "/mcp")}
GATEWAY = {
    ("GET", "/api/v1/backups"),
    ("POST", "/api/v1/backups"),
    ("GET", "/api/v1/snapshots"),
    ("POST", "/api/v1/snapshots"),
    ("POST", "/api/v1/backups/{name}/verify"),
    ("POST", "/api/v1/verify"),
    ("GET", "/api/v1/dedup"),
    ("GET", "/api/v1/jobs"),
    ("GET", "/api/v1/jobs/{job_id}"),
    ("POST", "/api/v1/cleanup"),
    ("POST", "/api/v1/dedup"),
    ("POST", "/api/v1/dedup/{finding_id}"),
    ("POST", "/api/v1/imports"),
    ("POST", "/api/v1/sources/{key}/scan"),
}
ADMIN = {
    ("GET", "/api/v1/backups/bucket"),
    ("GET", "/api/v1/backups/previews/{job_id}"),
    ("GET", "/api/v1/backups/{name}"),
    ("POST", "/api/v1/backups/fetch"),
    ("POST", "/api/v1/backups/upload"),
    ("POST", "/api/v1/snapshots/fetch"),
    ("POST", "/api/v1/backups/{name}/restore"),
    ("POST", "/api/v1/restore/undo"),
    ("GET", "/api/v1/reembed"),
    ("POST", "/api/v1/reembed"),
    ("DELETE", "/api/v1/sources/{key}"),
    ("DELETE", "/api/v1/tokens/{token_id}"),
    ("GET", "/api/v1/agents"),
    ("GET", "/api/v1/audit"),
    ("GET", "/api/v1/sources"),
    ("GET", "/api/v1/tokens"),
    ("GET", "/metrics"),
    ("PATCH", "/api/v1/agents/{agent_id}"),
    ("PATCH", "/api/v1/sources/{key}"),
    ("POST", "/api/v1/jobs/{job_id}/cancel"),
    ("POST", "/api/v1/jobs/{job_id}/retry"),
    ("POST", "/api/v1/optimize"),
    ("POST", "/api/v1/sources"),
    ("POST", "/api/v1/tokens"),
}

MANY_BRACKETS = b"[" * 200_000
BODIES = {
    "none": [],
    "900 kB": [b"x" * 90_000] * 10,
    "not JSON": [b'{"text": '],
    "200,000 brackets": [MANY_BRACKETS],
}


def is_page(endpoint: Endpoint) -> bool:
    """Whether it is for browsers: whatever no list here and no prefix names."""
    if endpoint.method == "OPTIONS" or endpoint.key in PUBLIC | EITHER | TOKEN_OUTSIDE_THE_API:
        return False
    return not endpoint.pattern.startswith("/api/")


def closed(app: Litestar) -> list[Endpoint]:
    return [endpoint for endpoint in endpoints(app) if endpoint.key not in PUBLIC]


async def test_the_lists_name_only_routes_that_exist(app: Litestar) -> None:
    known = {endpoint.key for endpoint in endpoints(app)}
    assert (PUBLIC | EITHER | TOKEN_OUTSIDE_THE_API | GATEWAY | ADMIN) - known == set()


async def test_every_route_asks_for_what_its_list_says(app: Litestar) -> None:
    """A new route with other rights than the default must be put on a list to pass."""
    for endpoint in endpoints(app):
        if endpoint.method == "OPTIONS":
            continue
        access = Access.PAGE if is_page(endpoint) else Access.TOKEN
        access = Access.EITHER if endpoint.key in EITHER else access
        access = Access.PUBLIC if endpoint.key in PUBLIC else access
        role = Role.GATEWAY if endpoint.key in GATEWAY else Role.AGENT
        role = Role.ADMIN if endpoint.key in ADMIN else role
        asked = endpoint.opt.get("access", Access.TOKEN), endpoint.opt.get("role", Role.AGENT)
        assert (endpoint.key, *asked) == (endpoint.key, access, role)


async def test_without_a_token_every_route_is_401_before_its_body_is_read(
    app: Litestar, embedder: WordEmbedder
) -> None:
    for endpoint, (kind, body) in itertools.product(closed(app), BODIES.items()):
        size = str(sum(map(len, body)))
        headers = [("content-type", "application/json"), ("content-length", size)]
        reply = await send(app, endpoint.method, endpoint.path, headers=headers, body=body)
        assert (endpoint.key, kind, reply.status, reply.reads) == (endpoint.key, kind, 401, 0)
        assert reply.header("content-type") == "application/problem+json"
        assert reply.header("www-authenticate") == "Bearer"
    assert embedder.seen == []


async def test_a_method_that_a_route_does_not_have_is_405(app: Litestar, secrets: Secrets) -> None:
    for route in http_routes(app):
        path = next(e.path for e in endpoints(app) if e.pattern == route.path_format)
        for method in set(METHODS) - set(route.route_handler_map):
            for headers in ([], [bearer(secrets.admin)]):
                reply = await send(app, method, path, headers=headers, body=[b"{}"])
                assert (method, route.path, reply.status, reply.reads) == (method, route.path, 405, 0)
                assert set((reply.header("allow") or "").split(", ")) == set(route.route_handler_map)


WRONG_HEADERS: dict[str, list[Header]] = {
    "unknown": [bearer("nse_0123456789ab_" + "x" * 43)],
    "not of this form": [bearer("sk-0123456789")],
    "empty": [("authorization", "")],
    "the word alone": [("authorization", "Bearer")],
    "the word and a blank": [("authorization", "Bearer ")],
    "not ASCII": [bearer("nse_0123456789ab_" + "é" * 43)],
    "high bytes": [bearer("\xff\xfe\x80")],
    "10 kB": [bearer("nse_0123456789ab_" + "x" * 10_000)],
    "NUL": [bearer("nse_\x00_" + "x" * 43)],
    "a quote": [bearer("nse_x' OR '1'='1_" + "x" * 43)],
    "nothing but separators": [bearer("___")],
    "basic": [("authorization", "Basic YTpi")],
}


async def test_a_wrong_token_is_401_everywhere(app: Litestar) -> None:
    for endpoint, (kind, headers) in itertools.product(closed(app), WRONG_HEADERS.items()):
        reply = await send(app, endpoint.method, endpoint.path, headers=headers, body=[b"{}"])
        assert (endpoint.key, kind, reply.status, reply.reads) == (endpoint.key, kind, 401, 0)


async def test_only_one_authorization_header_carries_a_token(app: Litestar, secrets: Secrets) -> None:
    """Not two of them, not the address, not a cookie, not another header, not half of it."""
    good = bearer(secrets.admin)
    tries: list[tuple[list[Header], str]] = [
        ([good, good], ""),
        ([good, bearer(secrets.agent)], ""),
        ([], f"token={secrets.admin}&access_token={secrets.admin}&authorization=Bearer%20{secrets.admin}"),
        ([("cookie", f"token={secrets.admin}; noesis_session={secrets.admin}")], ""),
        ([("x-api-key", secrets.admin), ("proxy-authorization", good[1])], ""),
        ([bearer(secrets.admin[:-1])], ""),
        ([bearer(secrets.admin + "x")], ""),
        ([bearer(secrets.admin + " x")], ""),
    ]
    for headers, query in tries:
        for endpoint in closed(app):
            reply = await send(app, endpoint.method, endpoint.path, headers=headers, query=query)
            # A cookie makes it a browser's request, which is refused for another reason first.
            allowed = {401, 403} if headers and headers[0][0] == "cookie" else {401}
            assert reply.status in allowed, (endpoint.key, headers, reply.status)


async def test_a_page_sends_a_browser_to_the_login_and_takes_no_token(
    app: Litestar, secrets: Secrets
) -> None:
    browser = ("accept", "text/html,application/xhtml+xml")
    for endpoint in filter(is_page, endpoints(app)):
        for headers in ([browser], [browser, bearer(secrets.admin)]):
            reply = await send(app, endpoint.method, endpoint.path, headers=headers)
            assert (endpoint.key, reply.status) == (endpoint.key, 303)
            assert (reply.header("location") or "").startswith("/login")
        for token in (secrets.agent, secrets.gateway, secrets.admin):
            reply = await send(app, endpoint.method, endpoint.path, headers=[bearer(token)])
            assert (endpoint.key, reply.status) == (endpoint.key, 401)


async def test_a_role_that_does_not_reach_is_403_and_goes_into_the_audit_log(
    app: Litestar, product: Product, secrets: Secrets, embedder: WordEmbedder
) -> None:
    """Also with a body that would widen the caller's own rights."""
    wider = b'{"role": "admin", "name": "mine", "agents": ["*"], "may_read_across": true}'
    refused = [(e, secrets.agent) for e in endpoints(app) if e.key in GATEWAY | ADMIN]
    refused += [(e, secrets.gateway) for e in endpoints(app) if e.key in ADMIN]
    tokens = await product.noesis.tokens.list()
    for endpoint, token in refused:
        reply = await send(app, endpoint.method, endpoint.path, headers=[bearer(token)], body=[wider])
        assert (endpoint.key, reply.status, reply.reads) == (endpoint.key, 403, 0)
    lines = await product.noesis.audit.newest(1000)
    assert [line.outcome for line in lines] == ["refused"] * len(refused)
    assert {line.target for line in lines} == {endpoint.path for endpoint, _ in refused}
    assert {t.id for t in await product.noesis.tokens.list()} == {t.id for t in tokens}
    assert await product.noesis.agents.policies() == {}


async def test_a_gateway_acts_only_as_the_agents_it_is_for(product: Product) -> None:
    _, secret = await product.noesis.tokens.create(Role.GATEWAY, ["alpha", "beta"], "two")
    for agent, status in (("alpha", 200), ("beta", 200), ("gamma", 403), ("*", 400), ("alpha,beta", 400)):
        reply = await product.client(secret, agent).post("/api/v1/recall", json={})
        assert (agent, reply.status_code) == (agent, status)


async def test_a_revoked_token_is_worthless_at_once(product: Product) -> None:
    token, secret = await product.noesis.tokens.create(Role.AGENT, ["alpha"], "short-lived")
    client = product.client(secret)
    assert (await client.post("/api/v1/recall", json={})).status_code == 200
    assert (await (await product.admin()).delete(f"/api/v1/tokens/{token.id}")).status_code == 204
    assert (await client.post("/api/v1/recall", json={})).status_code == 401


async def test_a_token_that_another_process_revoked_is_worthless_within_a_second(product: Product) -> None:
    token, secret = await product.noesis.tokens.create(Role.AGENT, ["alpha"], "short-lived")
    client = product.client(secret)
    assert (await client.post("/api/v1/recall", json={})).status_code == 200
    await Tokens(product.noesis.control, product.noesis.now_ms).revoke(token.id)
    await asyncio.sleep(1.05)
    assert (await client.post("/api/v1/recall", json={})).status_code == 401


async def test_no_file_holds_a_token(product: Product, secrets: Secrets, tmp_path: Path) -> None:
    await product.client(secrets.agent).post("/api/v1/memories", json={"text": "something to write down"})
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert any(path.name.startswith("control.sqlite") for path in files)
    for secret in (secrets.agent, secrets.gateway, secrets.admin):
        assert [p for p in files if secret.split("_", 2)[2].encode() in p.read_bytes()] == []


async def test_no_request_can_name_where_the_embedder_is(app: Litestar) -> None:
    """An address that a request could set would be fetched by the server."""
    schemas = app.openapi_schema.to_schema()["components"]["schemas"]
    names = {name for schema in schemas.values() for name in schema.get("properties", {})}
    assert {name for name in names if "url" in name or "endpoint" in name} == set()
