"""Foreign text meets no pattern engine but RE2, whose time is linear."""

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "noesis/text"
ALLOWED = {
    *("__future__", "bisect", "collections", "datetime", "enum", "functools", "hashlib", "itertools"),
    *("math", "typing", "unicodedata", "msgspec", "noesis", "numpy", "re2", "Stemmer", "yaml"),
    # The language files that come with the package.
    *("importlib", "tomllib"),
}


def imported(path: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names.add((node.module or "").split(".")[0])
    return names


@pytest.mark.parametrize("path", sorted(PACKAGE.glob("*.py")), ids=lambda path: path.name)
def test_the_text_package_uses_re2_and_nothing_that_does_io(path: Path) -> None:
    assert imported(path) - ALLOWED == set()


def test_the_rule_sees_an_import_of_re(tmp_path: Path) -> None:
    module = tmp_path / "module.py"
    module.write_text("def f():\n    from re import compile\n    import re.x\n")
    assert imported(module) - ALLOWED == {"re"}
