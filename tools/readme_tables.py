"""Writes the README's tables of settings and routes from the code.

usage: python -m tools.readme_tables [--check]
"""

from __future__ import annotations

import sys
from contextlib import nullcontext
from datetime import time
from pathlib import Path
from typing import Any

from litestar import Litestar
from litestar.routes import HTTPRoute

from noesis.api.access import Access
from noesis.api.app import build_app
from noesis.memory import Role
from noesis.setting_values import About
from noesis.settings import describe, load

README = Path(__file__).resolve().parents[1] / "README.md"

SETTINGS, API = "settings", "api"
METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
WHO = {Role.AGENT: "agent", Role.GATEWAY: "gateway", Role.ADMIN: "admin"}


def settings_table() -> list[str]:
    """One line per variable; command-line and server settings in the order of the code."""
    lines = ["| Variable | Default | Meaning |", "|---|---|---|"]
    for name, (about, default) in describe().items():
        lines.append(f"| `{name}` | {_shown(default)} | {_meaning(about)} |")
    return lines


def _shown(default: Any) -> str:
    if default is None or default in ((), {}):
        return ""
    if isinstance(default, bool):
        return f"`{str(default).lower()}`"
    if isinstance(default, time):
        return f"`{default:%H:%M}`"
    return f"`{default:g}`" if isinstance(default, float) else f"`{default}`"


def _meaning(about: About) -> str:
    bounds = ""
    if about.choices:
        bounds = f"; one of {', '.join(about.choices)}"
    elif about.low is not None and about.high is not None:
        bounds = f"; {about.low:.0f} to {about.high:.0f}"
    return _cell(about.text + bounds)


def api_table() -> list[str]:
    """One line per documented operation: what a machine may call, and with which role at least."""
    app = build_app(load({}), nullcontext())  # type: ignore[arg-type]
    lines = ["| Method and path | What | Who |", "|---|---|---|"]
    for path, item in sorted(app.openapi_schema.to_schema()["paths"].items()):
        for method in METHODS:
            if (operation := item.get(method.lower())) is not None:
                who = who_may(app, method, path)
                lines.append(f"| `{method} {path}` | {_cell(operation['summary'])} | {who} |")
    return lines


def who_may(app: Litestar, method: str, path: str) -> str:
    """The least role that may call the operation, or everybody."""
    for route in app.routes:
        if isinstance(route, HTTPRoute) and route.path_format == path and method in route.route_handler_map:
            opt = route.route_handler_map[method][0].opt  # type: ignore[index]
            if opt.get("access") is Access.PUBLIC:
                return "everybody"
            return WHO[opt.get("role", Role.AGENT)]
    raise LookupError(f"{method} {path} is documented but there is no such route")


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def marked(text: str, name: str) -> tuple[int, int]:
    """Where the lines between `<!-- name -->` and `<!-- /name -->` begin and end."""
    opening, closing = f"<!-- {name} -->\n", f"<!-- /{name} -->"
    begin = text.index(opening) + len(opening)
    return begin, text.index(closing, begin)


def between(text: str, name: str) -> list[str]:
    """The lines between the marks."""
    begin, end = marked(text, name)
    return text[begin:end].splitlines()


def written(text: str) -> str:
    """The text with both tables as the code has them now."""
    for name, table in ((SETTINGS, settings_table()), (API, api_table())):
        begin, end = marked(text, name)
        text = text[:begin] + "".join(f"{line}\n" for line in table) + text[end:]
    return text


def main() -> None:
    """Rewrite the tables; with --check only say whether that would change anything."""
    old = README.read_text(encoding="utf-8")
    new = written(old)
    if "--check" in sys.argv[1:]:
        sys.exit(0 if new == old else "README.md: run python -m tools.readme_tables")
    README.write_text(new, encoding="utf-8")


if __name__ == "__main__":
    main()
