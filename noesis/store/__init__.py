"""The store: two LanceDB tables in a generation, read at any time, written through one writer."""

import noesis.store.lance_limits
import noesis.store.lean_import  # noqa: F401 - the same
from noesis.store.filters import Column, Condition
from noesis.store.pinned import Pinned
from noesis.store.recovery import Dropped
from noesis.store.schema import RankingRow, Row
from noesis.store.store import Store
from noesis.store.tables import Table
from noesis.store.vector_index import IndexPolicy
from noesis.store.writer import Change, View

__all__ = [
    "Change",
    "Column",
    "Condition",
    "Dropped",
    "IndexPolicy",
    "Pinned",
    "RankingRow",
    "Row",
    "Store",
    "Table",
    "View",
]
