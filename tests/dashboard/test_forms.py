"""Where a log-in may lead, and how form bodies are read."""

from __future__ import annotations

import httpx
import pytest

from noesis.dashboard.forms import login_address, safe_next


@pytest.mark.parametrize(
    "address",
    [
        "/",
        "/?q=a+b&type=fact",
        "/memories/0b0e2c1e-7a5c-5c2f-9a3b-1f6c8b0d9e11",
        "/docs#post-api",
        "/?q=%C3%A9",
    ],
)
def test_local_paths_are_kept(address: str) -> None:
    assert safe_next(address) == address


@pytest.mark.parametrize(
    "address",
    [
        None,
        "",
        "docs",
        "//evil.example",
        "///evil.example",
        "/\\evil.example",
        "\\/evil.example",
        "https://evil.example/",
        "javascript:alert(1)",
        "/\t/evil.example",
        "/\n/evil.example",
        "/a\r\nSet-Cookie: x=y",
        " /docs",
        "/docs\u2028",
        "/login?next=/login",
        "/logout",
        "/setup?key=x",
        "/" + "a" * 5000,
    ],
)
def test_anything_else_leads_to_the_first_page(address: str | None) -> None:
    assert safe_next(address) == "/"


def test_the_way_back_survives_as_one_parameter() -> None:
    assert login_address("/", "q=a&type=fact") == "/login?next=/%3Fq%3Da%26type%3Dfact"
    assert login_address("/", "") == "/login"


NO_FORMS = [
    (b'{"password": "x"}', "application/json"),
    (b"password=x", "text/plain"),
    (b"password=%ff", "application/x-www-form-urlencoded"),
    (b"password=\xff", "application/x-www-form-urlencoded"),
    (b"&".join(b"a%d=1" % number for number in range(100)), "application/x-www-form-urlencoded"),
]


async def test_what_is_no_form_is_400(visitor: httpx.AsyncClient) -> None:
    for body, media_type in NO_FORMS:
        answer = await visitor.post("/login", content=body, headers={"content-type": media_type})
        assert answer.status_code == 400, body[:20]
        assert "form" in answer.text
