"""LanceDB comes without the client of its remote catalogue."""

from __future__ import annotations

import subprocess
import sys

LOOK = """
import sys
import {first}
client = "lance_namespace_urllib3_client"
real = [n for n, m in sys.modules.items() if n.startswith(client) and m.__spec__]
print("lancedb" in sys.modules, len(real), *real[:1])
"""


def looked(first: str) -> str:
    """Whether lancedb was imported, and how many modules of the client really were."""
    done = subprocess.run(
        [sys.executable, "-c", LOOK.format(first=first)], capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def test_whatever_of_ours_is_imported_first_one_module_of_the_client_is() -> None:
    for first in ("noesis.runtime", "noesis.store.tables", "noesis.store.vector_index"):
        assert looked(first) == "True 1 lance_namespace_urllib3_client.models.list_tables_response"


def test_lancedb_alone_would_import_it() -> None:
    bare = looked("lancedb").split()
    assert bare[0] == "True"
    assert int(bare[1]) >= 100
