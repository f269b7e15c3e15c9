"""Imports LanceDB without the generated client of its remote catalogue, which only opens stores over HTTP.

That client builds validators for some hundred methods when it is imported: about half of the time that
`import lancedb` 0.40 takes, and so of every start of a process (`python -X importtime -c "import lancedb"`).
Nothing here reaches it, since a store is always a directory.
"""

from __future__ import annotations

import sys
from types import ModuleType

_PACKAGE = "lance_namespace_urllib3_client.api"
_MODULES = (
    "branch_api",
    "data_api",
    "index_api",
    "materialized_view_api",
    "metadata_api",
    "namespace_api",
    "table_api",
    "tag_api",
    "transaction_api",
)


class _LeftOut(ModuleType):
    """Stands where a module of the client would, and gives an empty class for each name asked of it."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.__path__: list[str] = []  # a package, for the modules below it

    def __getattr__(self, name: str) -> type:
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (), {})


def _leave_out() -> None:
    for name in (_PACKAGE, *(f"{_PACKAGE}.{module}" for module in _MODULES)):
        sys.modules.setdefault(name, _LeftOut(name))


_leave_out()
