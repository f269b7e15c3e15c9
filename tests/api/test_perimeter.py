"""What holds for every answer: headers that close the browser's doors, a known host, nothing for other origins."""

from __future__ import annotations

from contextlib import nullcontext

import pytest
from litestar import Litestar

from noesis.api.app import build_app
from noesis.settings import load
from tests.api.conftest import Secrets
from tests.api.wire import Header, Reply, bearer, endpoints, send
from tests.support import Product, WordEmbedder

JSON: Header = ("content-type", "application/json")
ORIGINS = ("https://evil.example", "null", "http://localhost:8787", "http://localhost", "file://", "*")


def is_guarded(reply: Reply) -> bool:
    """Whether an answer carries every header that each one must carry, exactly once."""
    names = [name for name, _ in reply.headers]
    policy = reply.header("content-security-policy") or ""
    return (
        "default-src 'none'" in policy
        and "frame-ancestors 'none'" in policy
        and "base-uri 'none'" in policy
        and "unsafe" not in policy
        and "*" not in policy
        and reply.header("x-content-type-options") == "nosniff"
        and reply.header("referrer-policy") == "no-referrer"
        and reply.header("cross-origin-opener-policy") == "same-origin"
        and bool(reply.header("x-request-id"))
        and bool(reply.header("cache-control"))
        and len(names) == len(set(names))
    )


async def test_every_answer_of_every_route_carries_the_headers(app: Litestar, secrets: Secrets) -> None:
    """Refused, allowed, without a body, with a bad one; and what no route answers."""
    callers: list[list[Header]] = [[], [bearer(secrets.agent), JSON], [bearer(secrets.admin), JSON]]
    browser: Header = ("accept", "text/html")
    for endpoint in endpoints(app):
        for headers in (*callers, [browser]):
            reply = await send(app, endpoint.method, endpoint.path, headers=headers, body=[b"{"])
            assert reply.status < 500
            assert is_guarded(reply), (endpoint.key, headers, reply)
    for method, path in (("GET", "/nothing"), ("GET", "/api/v1/nothing"), ("PUT", "/"), ("HEAD", "/docs")):
        for headers in (*callers, [browser]):
            reply = await send(app, method, path, headers=headers)
            assert reply.status in (404, 405)
            assert is_guarded(reply), (method, path, reply)


async def test_only_named_static_files_may_be_kept_by_a_browser(app: Litestar, secrets: Secrets) -> None:
    for endpoint in endpoints(app):
        reply = await send(app, endpoint.method, endpoint.path, headers=[bearer(secrets.admin)])
        kept = "no-store" if endpoint.pattern != "/static/{name}" else reply.header("cache-control")
        if endpoint.key == ("GET", "/plugin/openclaw-noesis.tgz"):
            kept = "no-cache"  # the same for everybody, and asked for anew each time
        assert reply.header("cache-control") == kept


async def test_no_origin_is_ever_let_in(app: Litestar, secrets: Secrets) -> None:
    """No Access-Control header, neither on the request itself nor on its preflight."""
    for endpoint in endpoints(app):
        for origin in ORIGINS:
            asked = [
                ("origin", origin),
                ("access-control-request-method", endpoint.method),
                ("access-control-request-headers", "authorization"),
            ]
            for headers in (asked, [*asked, bearer(secrets.agent)]):
                reply = await send(app, endpoint.method, endpoint.path, headers=headers, body=[b"{}"])
                names = [name for name, _ in reply.headers if name.startswith("access-control")]
                assert names == [], (endpoint.key, origin)


FOREIGN_HOSTS: list[list[Header]] = [
    [("host", "evil.example")],
    [("host", "localhost.evil.example")],
    [("host", "evil.example:8787")],
    [("host", "127.0.0.1.evil.example")],
    [("host", "evil.example"), ("x-forwarded-host", "localhost")],
    [("x-forwarded-host", "localhost")],
    [],
    [("host", "")],
    [("host", "localhost"), ("host", "evil.example")],
    [("host", "memory-home-example")],
    [("host", "memory.home.example.evil.example")],
    [("host", "memory.home.example@evil.example")],
    [("host", "localhost@evil.example:80")],
    [("host", "localhost,evil.example")],
    [("host", "0.0.0.0")],
    [("host", "[::]")],
    [("host", "[::1].evil.example")],
    [("host", "[::1]evil.example:8787")],
    [("host", "localhost:8787:evil.example")],
    [("host", "*")],
    [("host", "localhost\x00")],
    [("host", "löcalhost")],
]
OWN_HOSTS = (
    "localhost",
    "localhost:8787",
    "LOCALHOST:1",
    "127.0.0.1",
    "127.0.0.1:8787",
    "[::1]",
    "[::1]:8787",
    "memory.home.example",
    "memory.home.example:443",
    "Memory.Home.Example",
)


@pytest.fixture
def named_app(product: Product) -> Litestar:
    """An application that also answers to a name of its own."""
    settings = load({"NOESIS_ALLOWED_HOSTS": "memory.home.example"})
    built = build_app(settings, nullcontext(product.noesis))
    built.state.noesis = product.noesis
    return built


async def test_a_foreign_host_is_400_everywhere(named_app: Litestar, secrets: Secrets) -> None:
    """DNS rebinding: the name in the request is the attacker's, whatever it is called."""
    for endpoint in endpoints(named_app):
        for host in FOREIGN_HOSTS:
            headers = [bearer(secrets.admin)]
            reply = await send(named_app, endpoint.method, endpoint.path, host=host, headers=headers)
            assert (endpoint.key, host, reply.status) == (endpoint.key, host, 400)
            assert reply.json()["code"] == "invalid_input"
            assert is_guarded(reply)
    reply = await send(named_app, "GET", "/nothing", host=FOREIGN_HOSTS[0])
    assert reply.status == 400


async def test_its_own_hosts_are_answered(named_app: Litestar, secrets: Secrets) -> None:
    for host in OWN_HOSTS:
        reply = await send(named_app, "GET", "/health/live", host=[("host", host)])
        assert (host, reply.status) == (host, 200)


async def test_a_request_id_is_taken_when_it_is_harmless_and_made_when_not(app: Litestar) -> None:
    reply = await send(app, "GET", "/health/live", headers=[("x-request-id", "abc-123")])
    assert reply.header("x-request-id") == "abc-123"
    for given in ("", "a b", "x" * 65, "a\r\nb", "é", "<script>", "a;b", '"', "---"):
        reply = await send(app, "GET", "/nothing", headers=[("x-request-id", given)])
        made = reply.header("x-request-id") or ""
        assert made != given
        assert reply.json()["request_id"] == made
        assert made.isalnum()


async def test_a_cookie_from_another_site_changes_nothing(
    app: Litestar, product: Product, embedder: WordEmbedder
) -> None:
    """Every method that changes something, with a valid session, from a foreign page."""
    cookie = ("cookie", f"noesis_session={await product.noesis.admin.new_session()}")
    foreign: list[list[Header]] = [
        [("sec-fetch-site", "cross-site")],
        [("sec-fetch-site", "same-site")],
        [("sec-fetch-site", "none")],
        [("sec-fetch-site", "same-origin"), ("sec-fetch-site", "cross-site")],
        [("origin", "https://evil.example")],
        [("origin", "http://localhost.evil.example")],
        [("origin", "http://localhost:9999")],
        [("origin", "null")],
        [("origin", "http://localhost"), ("origin", "https://evil.example")],
        [],
    ]
    for endpoint in endpoints(app):
        if endpoint.method in ("GET", "OPTIONS"):
            continue
        for headers in foreign:
            for kind in (
                "text/plain",
                "application/x-www-form-urlencoded",
                "multipart/form-data; boundary=x",
            ):
                sent = [cookie, *headers, ("content-type", kind)]
                reply = await send(app, endpoint.method, endpoint.path, headers=sent, body=[b"text=forged"])
                assert (endpoint.key, headers, reply.status) == (endpoint.key, headers, 403)
                assert reply.reads == 0
    assert embedder.seen == []
    assert await product.noesis.audit.newest(10) == []
