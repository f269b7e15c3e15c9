"""An SQLite that loads extensions, which many Pythons' own does not."""

from __future__ import annotations

import sqlite3
import sys


def allow_extensions() -> None:
    """Put pysqlite3 in the place of a `sqlite3` that cannot; before anybody else imports it."""
    if hasattr(sqlite3.Connection, "enable_load_extension"):
        return
    import pysqlite3  # type: ignore[import-not-found]

    for name in [name for name in sys.modules if name.split(".")[0] == "sqlite3"]:
        del sys.modules[name]
    sys.modules["sqlite3"] = pysqlite3
    sys.modules["sqlite3.dbapi2"] = pysqlite3.dbapi2
