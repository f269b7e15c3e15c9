"""Which versions of what run here."""

from __future__ import annotations

import platform
import sqlite3
from importlib.metadata import PackageNotFoundError, version

from noesis import __version__

_LIBRARIES = (
    "lancedb",
    "pyarrow",
    "numpy",
    "onnxruntime",
    "litestar",
    "uvicorn",
    "arq",
    "redis",
    "sqlalchemy",
    "msgspec",
)


def versions() -> dict[str, str]:
    """Names and versions: the product, the machine, and the libraries that matter when something is odd."""
    found = {
        "noesis": __version__,
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.release()} on {platform.machine()}",
        "sqlite": sqlite3.sqlite_version,
    }
    for name in _LIBRARIES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed"
    return found
