"""The commands that connect OpenClaw, for one address of this server."""

from __future__ import annotations

import json

from noesis.api.plugin_package import PATH

TOKEN = "nse_…"  # noqa: S105 - where a token goes


def openclaw_commands(address: str, token: str = TOKEN) -> str:
    """What to type where OpenClaw runs: fetch the plugin, install, configure, restart."""
    settings = json.dumps({"apiUrl": address, "token": token}, ensure_ascii=False)
    file = PATH.rpartition("/")[2]
    return "\n".join(
        (
            f"curl -fsS -o {file} {address}{PATH}",
            f"openclaw plugins install ./{file} --force --accept-capabilities",
            f"openclaw config set plugins.entries.noesis.config '{settings}' --strict-json",
            "openclaw gateway restart",
        )
    )


TOKEN_COMMAND = "noesis token create --scope gateway --agent '*' --name openclaw"  # noqa: S105 - a command
