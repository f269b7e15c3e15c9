"""Which places are followed: OpenClaw's, found by themselves, and folders that a person adds."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path

from noesis.errors import InvalidInput
from noesis.mirroring import Mirror
from noesis.settings import Settings
from noesis.sources.book import Book
from noesis.sources.openclaw_config import Problem
from noesis.sources.openclaw_layout import find_roots
from noesis.sources.roots import Kind, Root, Roots, Vanished, key_of, labelled
from noesis.text.normalise import agent_name

MAX_LABEL_CHARS = 64


class Following:
    """Keeps the list of roots."""

    def __init__(
        self,
        roots: Roots,
        book: Book,
        mirror: Mirror,
        settings: Settings,
        environ: Mapping[str, str],
        now_ms: Callable[[], int],
    ) -> None:
        self._roots = roots
        self._book = book
        self._mirror = mirror
        self._settings = settings
        self._environ = environ
        self._now_ms = now_ms
        self.problems: tuple[Problem, ...] = ()

    async def followed(self, *, also_unwatched: bool = False) -> list[Root]:
        """The roots that the settings say to follow, after a look for new ones of OpenClaw's."""
        await self.discover()
        roots = await self._roots.all()
        return [root for root in roots if also_unwatched or is_followed(root, self._settings)]

    async def discover(self) -> None:
        """Look for OpenClaw's places; those that are new are remembered."""
        layout = await asyncio.to_thread(
            find_roots, Path(self._environ.get("HOME") or Path.home()), self._surroundings()
        )
        self.problems = layout.problems
        known = await self._roots.all()
        for found in layout.roots:
            root = labelled(
                Root(
                    key=key_of(found.kind, found.agent, str(found.path)),
                    kind=found.kind,
                    agent=found.agent,
                    path=str(found.path),
                    label=found.label,
                    names=found.names,
                    deep=found.deep,
                    found_by="openclaw",
                    # A transcript that the host moved or dropped was said all the same.
                    vanished="archive" if found.kind == "markdown" else "keep",
                    added_at=self._now_ms(),
                ),
                known,
            )
            if all(other.key != root.key for other in known):
                await self._roots.add(root, revive=False)
                known.append(root)

    async def add(
        self,
        agent: str,
        path: str,
        *,
        kind: Kind = "markdown",
        label: str | None = None,
        vanished: Vanished = "archive",
    ) -> Root:
        """Follow a folder of Markdown, text or transcripts for an agent.  Raises InvalidInput."""
        place = Path(path)
        if not place.is_absolute():
            raise InvalidInput("path must be absolute: it is a folder of the server.", field="path")
        real = await asyncio.to_thread(_folder, place)
        if real is None:
            raise InvalidInput("path is no folder that the server can see.", field="path")
        if real == self._settings.data_dir or self._settings.data_dir.is_relative_to(real):
            raise InvalidInput("path holds the server's own data, which is not followed.", field="path")
        name = (label or real.name or "root").strip()[:MAX_LABEL_CHARS]
        root = Root(
            key=key_of(kind, agent_name(agent), str(real)),
            kind=kind,
            agent=agent_name(agent),
            path=str(real),
            label=name,
            vanished=vanished,
            added_at=self._now_ms(),
        )
        return await self._roots.add(labelled(root, await self._roots.all()), revive=True)

    async def forget(self, key: str, *, archive: bool) -> int:
        """Follow a place no longer; with `archive` its documents' memories leave active search.

        Returns how many did.  Raises NotFound or a StoreError.
        """
        await self._roots.forget(key)
        ids = await self._book.forget_root(key)
        return await self._mirror.remove(ids, delete=False) if archive else 0

    def _surroundings(self) -> dict[str, str]:
        home = self._settings.openclaw_home
        own = {} if home is None else {"OPENCLAW_STATE_DIR": str(home.expanduser().absolute())}
        return {**self._environ, **own}


def _folder(place: Path) -> Path | None:
    """The folder without links, None when there is none that can be looked at."""
    try:
        return place.resolve() if place.is_dir() else None
    except (OSError, ValueError):
        return None


def is_followed(root: Root, settings: Settings) -> bool:
    """Whether the settings say to follow a place; those that a person added always are."""
    if root.found_by != "openclaw":
        return True
    return settings.watch_memory_dirs if root.kind == "markdown" else settings.index_sessions
