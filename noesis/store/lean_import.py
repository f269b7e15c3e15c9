"""Imports LanceDB without the generated client of its remote catalogue, which only opens stores over HTTP.

That client builds validators for some hundred methods and models when it is imported: three fifths of the time
that `import lancedb` 0.40 takes, and so of every start of a process (`python -X importtime -c "import lancedb"`).
Nothing here reaches it but for one model, since a store is always a directory.
"""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any

_CLIENT = "lance_namespace_urllib3_client"
_MODULES = (
    "models",
    "models.json_arrow_data_type",
    "models.json_arrow_field",
    "models.json_arrow_schema",
    "models.query_table_request",
    "models.query_table_request_columns",
    "models.query_table_request_full_text_query",
    "models.query_table_request_vector",
    "models.string_fts_query",
)
_NEEDED = {"ListTablesResponse": f"{_CLIENT}.models.list_tables_response"}
"""What a connection to a directory answers with."""


class _LeftOut(ModuleType):
    """Stands where a module of the client would, and gives an empty class for each name that is not needed."""

    def __init__(self, name: str, path: list[str]) -> None:
        super().__init__(name)
        self.__path__ = path  # a package, for the modules below it

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(import_module(_NEEDED[name]), name) if name in _NEEDED else type(name, (), {})


def _leave_out() -> None:
    found = find_spec(_CLIENT)
    if _CLIENT in sys.modules or found is None:
        return
    top = list(found.submodule_search_locations or ())
    sys.modules[_CLIENT] = _LeftOut(_CLIENT, top)
    for module in _MODULES:
        places = [f"{place}/{module.replace('.', '/')}" for place in top]
        sys.modules[f"{_CLIENT}.{module}"] = _LeftOut(f"{_CLIENT}.{module}", places)


_leave_out()
