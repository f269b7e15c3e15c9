"""How the workers of `pytest -n 2 --dist loadfile` share the tests: whole files, those of long stages first."""

from collections.abc import Iterable

import pytest
from xdist.remote import Producer  # type: ignore[import-untyped]
from xdist.scheduler import LoadFileScheduling, LoadScopeScheduling  # type: ignore[import-untyped]

from tests.plugins.stages import KINDS, kind_of

GATEWAY = "tests/plugin/"


class Pieces(LoadFileScheduling):  # type: ignore[misc]
    """Gives a worker a file at a time; all tests of the gateway are one piece, as they share a host."""

    def _split_scope(self, nodeid: str) -> str:
        return GATEWAY if nodeid.startswith(GATEWAY) else super()._split_scope(nodeid)


def pytest_make_parametrize_id(val: object) -> str | None:
    """Name bytes by their length: each worker must find the same names, and packed bytes may hold the time."""
    return f"{len(val)} bytes" if isinstance(val, bytes) else None


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> LoadScopeScheduling | None:
    """Take the place of xdist's own sharing by files, which would start with the files of most tests."""
    if config.getvalue("dist") != "loadfile":
        return None
    config.option.loadscopereorder = False
    return Pieces(config, log)


def _long_first(items: Iterable[pytest.Item]) -> dict[str, int]:
    ranks: dict[str, int] = {}
    for item in items:
        rank = (*KINDS, "unit").index(kind_of(item.keywords))
        path = item.nodeid.partition("::")[0]
        ranks[path] = min(rank, ranks.get(path, rank))
    return ranks


@pytest.hookimpl(trylast=True)  # once those that shall not run are gone
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Order the files by stage, so that no long one is left for the end, when the other worker is idle."""
    if hasattr(config, "workerinput"):
        ranks = _long_first(items)
        items.sort(key=lambda item: ranks[item.nodeid.partition("::")[0]])
