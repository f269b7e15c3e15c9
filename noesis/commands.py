"""What every command shares: clients, options, output, and errors as exit codes."""

from __future__ import annotations

import asyncio
import math
import os
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote

import click
import msgspec

from noesis.client import Client, open_client
from noesis.errors import InvalidInput, NoesisError
from noesis.settings import load

T = TypeVar("T")


class Commands(click.Group):
    """A group whose errors are one clear line and a documented exit code."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; the one place where the product's errors become exit codes."""
        try:
            return super().invoke(ctx)
        except NoesisError as error:
            if ctx.find_root().params.get("json") or "--json" in sys.argv:
                click.echo(
                    msgspec.json.encode({"error": error.message, "code": error.code}).decode(), err=True
                )
            else:
                click.echo(f"Error: {error.message}", err=True)
            ctx.exit(error.exit_code)


def as_json(command: Callable[..., Any]) -> Callable[..., Any]:
    """The option --json."""
    return click.option("--json", "json_output", is_flag=True, help="Print JSON.")(command)


def as_agent(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options that say where the memories are and whose."""
    command = click.option("--agent", help="The agent to act as (NOESIS_AGENT).")(command)
    return click.option("--data", type=Path, help="Directory of the store (NOESIS_DATA).")(command)


def call(work: Callable[[Client], Awaitable[T]], agent: str | None = None, data: Path | None = None) -> T:
    """Run `work` with a client."""

    async def run() -> T:
        settings = load(os.environ, agent=agent, data=data)
        async with open_client(settings) as client:
            return await work(client)

    return asyncio.run(run())


def quoted(given: str) -> str:
    """An id as one step of a path.  Raises InvalidInput when it could be none or several."""
    if not given or "/" in given:
        raise InvalidInput("This is not an id.", field="id")
    return quote(given, safe="").replace(".", "%2E")


def out(value: Any, json_output: bool, show: Callable[[Any], str]) -> None:
    """Print a value for a program or for a person."""
    click.echo(msgspec.json.format(msgspec.json.encode(value)).decode() if json_output else show(value))


def finite(_ctx: click.Context, _option: click.Parameter, value: float | None) -> float | None:
    """Refuse what JSON has no number for: it would be sent as null, which means the default."""
    if value is not None and not math.isfinite(value):
        raise InvalidInput("ttl_days must be a number of days.", field="ttl_days")
    return value
