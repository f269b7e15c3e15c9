"""The README's words for other hosts and for programs, tried."""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import uvicorn

from noesis.memory import Role
from tests.servers import free_port
from tests.support import Product, application

README = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
URL = "http://localhost:8787"


def blocks(language: str, section: str) -> list[str]:
    part = README.split(f"## {section}\n", 1)[1].split("\n## ", 1)[0]
    return re.findall(rf"```{language}\n(.*?)```", part, re.DOTALL)


@asynccontextmanager
async def listening(product: Product) -> AsyncIterator[str]:
    """The application on a real port of this machine."""
    port = free_port()
    with application(product.noesis) as app:
        config = uvicorn.Config(app, host="127.0.0.1", port=port, lifespan="off", log_level="error")
        server = uvicorn.Server(config)
        serving = asyncio.create_task(server.serve())
        while not server.started:  # noqa: ASYNC110 - uvicorn has no event to wait for
            await asyncio.sleep(0.01)
        try:
            yield f"http://127.0.0.1:{port}"
        finally:
            server.should_exit = True
            await serving


async def test_the_example_for_programs_runs_as_it_stands(product: Product) -> None:
    _, secret = await product.noesis.tokens.create(Role.AGENT, ["me"], "readme")
    (example,) = blocks("python", "From Python")
    printed = io.StringIO()

    def run(code: str) -> None:
        with contextlib.redirect_stdout(printed):
            exec(compile(code, "README.md", "exec"), {})

    async with listening(product) as url:
        await asyncio.to_thread(run, example.replace(URL, url).replace("nse_…", secret))
    assert "decision We decided to host the wiki on port 8085." in printed.getvalue()
    assert "<noesis-memory" in printed.getvalue()


def test_the_hosts_settings_are_json_and_name_the_address() -> None:
    settings = [json.loads(block) for block in blocks("json", "Connect other hosts (MCP)")]
    assert len(settings) == 3
    cursor, code, desktop = settings
    assert cursor["mcpServers"]["noesis"]["url"] == code["servers"]["noesis"]["url"] == f"{URL}/mcp"
    assert desktop["mcpServers"]["noesis"]["args"] == ["mcp"]
    assert desktop["mcpServers"]["noesis"]["env"]["NOESIS_URL"] == URL
