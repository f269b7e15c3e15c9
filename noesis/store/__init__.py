"""The store: two LanceDB tables in a generation, read at any time, written through one writer."""

import noesis.store.lean_import
import noesis.store.memory_limits  # noqa: F401 - both before anything that imports lancedb
from noesis.store.filters import Column, Condition
from noesis.store.pinned import Pinned
from noesis.store.recovery import Dropped
from noesis.store.schema import FoundRow, Row
from noesis.store.store import Store
from noesis.store.tables import State, Table
from noesis.store.vector_index import IndexPolicy
from noesis.store.writer import Change, View

__all__ = [
    "Change",
    "Column",
    "Condition",
    "Dropped",
    "FoundRow",
    "IndexPolicy",
    "Pinned",
    "Row",
    "State",
    "Store",
    "Table",
    "View",
]
