"""The API reference: complete, readable by session and by token, and its own."""

from __future__ import annotations

import html
from pathlib import Path
from typing import Any

import httpx

from noesis.dashboard.api_reference import curl, groups, kind_of, sample_value
from noesis.dashboard.openclaw_commands import TOKEN_COMMAND, openclaw_commands
from noesis.memory import Role
from noesis.runtime import Noesis

ROOT = Path(__file__).resolve().parents[2]

DOCUMENT: dict[str, Any] = {
    "components": {
        "schemas": {
            "Ask": {
                "properties": {
                    "query": {"type": "string"},
                    "kind": {"oneOf": [{"$ref": "#/components/schemas/Kind"}, {"type": "null"}]},
                    "tags": {"type": "array", "items": {"type": "string"}},
                },
                "required": ["query"],
            },
            "Kind": {"type": "string", "enum": ["fact", "decision"]},
        }
    },
    "paths": {
        "/things/{id}": {
            "post": {
                "tags": ["things"],
                "summary": "Ask",
                "parameters": [{"name": "id", "in": "path", "required": True, "schema": {"type": "string"}}],
                "requestBody": {
                    "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Ask"}}}
                },
                "responses": {
                    "200": {
                        "description": "x",
                        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Ask"}}},
                    }
                },
            }
        }
    },
}


def test_an_operation_lists_parameters_body_answers_and_a_call() -> None:
    (group,) = groups(DOCUMENT, "http://localhost:8787")
    (operation,) = group.operations
    assert (group.title, operation.method, operation.anchor) == ("Things", "POST", "post-things-id")
    assert [(field.name, field.place, field.kind, field.required) for field in operation.fields] == [
        ("id", "path", "string", True),
        ("query", "body", "string", True),
        ("kind", "body", 'one of "fact", "decision" or null', False),
        ("tags", "body", "list of string", False),
    ]
    assert operation.answers[0].fields == ("query", "kind", "tags")
    assert operation.curl.startswith('curl -X POST "http://localhost:8787/things/{id}" \\\n')
    assert '-d \'{"query": "…"}\'' in operation.curl


def test_types_and_samples_follow_the_schema() -> None:
    assert kind_of({"type": "string", "format": "date-time"}, {}) == "time (RFC 3339)"
    assert kind_of({"type": ["integer", "null"]}, {}) == "integer or null"
    assert sample_value({"type": "array", "items": {"type": "integer"}}, {}) == [1]
    assert curl("get", "/x", {}, "http://h") == (
        'curl "http://h/x" \\\n  -H "Authorization: Bearer $NOESIS_TOKEN"'
    )


async def test_every_operation_is_on_the_page(admin: httpx.AsyncClient) -> None:
    page = (await admin.get("/docs")).text
    document = (await admin.get("/openapi.json")).json()
    for path, item in document["paths"].items():
        assert f"<code>{path}</code>" in page
        assert all(operation["summary"] for operation in item.values())
    assert page.count('<article class="operation"') == sum(len(item) for item in document["paths"].values())
    assert page.count("<script") == 2


async def test_a_token_reads_it_too_and_a_stranger_does_not(
    visitor: httpx.AsyncClient, noesis: Noesis
) -> None:
    _, secret = await noesis.tokens.create(Role.AGENT, ("main",), "reader")
    with_token = await visitor.get("/docs", headers={"authorization": f"Bearer {secret}"})
    assert with_token.status_code == 200
    assert (await visitor.get("/docs")).headers["location"] == "/login?next=/docs"
    assert (await visitor.get("/docs", headers={"authorization": "Bearer nse_x_y"})).status_code == 401


async def test_the_page_shows_how_to_connect_openclaw_to_this_server(admin: httpx.AsyncClient) -> None:
    text = html.unescape((await admin.get("/docs")).text)
    assert openclaw_commands("http://localhost") in text
    assert TOKEN_COMMAND in text


def test_both_readmes_have_the_pages_commands() -> None:
    commands = openclaw_commands("http://127.0.0.1:8787")
    blocks = {"README.md": f"{TOKEN_COMMAND}\n{commands}", "plugin/README.md": commands}
    for name, block in blocks.items():
        assert f"```sh\n{block}\n```" in (ROOT / name).read_text(encoding="utf-8")
