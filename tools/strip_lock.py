"""Removes every address from package-lock.json, so that it pins contents (by hash) and no place."""

import json
import sys
from pathlib import Path
from typing import Any

ADDRESSES = ("funding", "resolved")


def stripped(lock: dict[str, Any]) -> dict[str, Any]:
    """Return the lock with the address fields of each package left out."""
    packages = {
        path: {key: value for key, value in package.items() if key not in ADDRESSES}
        for path, package in lock["packages"].items()
    }
    return lock | {"packages": packages}


def main(path: Path) -> None:
    """Rewrite the lock file in place, in npm's own layout."""
    lock = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps(stripped(lock), indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
