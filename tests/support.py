"""What many tests share: a clock that is set by hand, an embedder without a model, a wired product."""

from __future__ import annotations

import asyncio
import hashlib
import shutil
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, nullcontext, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import httpx
import numpy as np
from litestar import Litestar

from noesis.api.app import build_app
from noesis.control import Control, sqlite_url
from noesis.embedding import Embedder, EmbedderIdentity, EmbeddingFailure, ModelStatus, Vector
from noesis.errors import EmbedderUnavailable
from noesis.memory import Role
from noesis.runtime import Noesis, open_runtime
from noesis.settings import load
from noesis.store import Store
from noesis.text.words import words

NOW = 1_780_000_000_000
"""Where a test's clock starts: 2026-05-28, in ms."""


class Clock:
    """The time in ms, which passes only when told to."""

    def __init__(self, now: int = NOW) -> None:
        self.now = now

    def __call__(self) -> int:
        return self.now

    def advance(self, *, days: float = 0, seconds: float = 0) -> None:
        """Let time pass."""
        self.now += round(days * 86_400_000 + seconds * 1000)


class WordEmbedder:
    """An embedder whose vectors are sums of one random direction per word: shared words are near.

    `down` makes it unavailable, `broken` are texts it fails on, `hang_s` how long a call takes,
    `seen` what it was asked to embed.
    """

    def __init__(self, dimension: int = 64, model: str = "words") -> None:
        self.dimension = dimension
        self.model = model
        self.down = False
        self.hang_s = 0.0
        self.broken: dict[str, EmbeddingFailure] = {}
        self.seen: list[str] = []

    async def identity(self) -> EmbedderIdentity:
        await self._answer()
        return EmbedderIdentity("test", self.model, "0" * 64, self.dimension)

    async def embed_documents(self, texts: Sequence[str]) -> list[Vector | EmbeddingFailure]:
        await self._answer()
        self.seen += texts
        return [self._one(text) for text in texts]

    async def embed_query(self, text: str) -> Vector:
        await self._answer()
        self.seen.append(text)
        return self._vector(text)

    def count_tokens(self, text: str) -> int:
        return len(text.split()) + 1

    @property
    def max_tokens(self) -> int:
        return 256

    @property
    def model_status(self) -> ModelStatus:
        return ModelStatus("unreachable" if self.down else "ready", "The word embedder is down or up.")

    async def refresh_status(self) -> ModelStatus:
        return self.model_status

    async def ensure_model(self, on_progress: Callable[[ModelStatus], None] | None = None) -> None:
        await self._answer()

    async def close(self) -> None:
        pass

    def _one(self, text: str) -> Vector | EmbeddingFailure:
        failure = next((why for part, why in self.broken.items() if part in text), None)
        return failure or self._vector(text)

    def _vector(self, text: str) -> Vector:
        total = np.full(self.dimension, 1e-3, dtype=np.float32)
        for word in words(text):
            seed = int.from_bytes(hashlib.sha256(word.encode()).digest()[:8], "big")
            total += np.random.default_rng(seed).normal(size=self.dimension).astype(np.float32)
        return (total / np.linalg.norm(total)).astype(np.float32)

    async def _answer(self) -> None:
        if self.hang_s:
            await asyncio.sleep(self.hang_s)
        if self.down:
            raise EmbedderUnavailable("The embedder does not answer.")


class Product:
    """The product in this process: its runtime, and clients that call its API without a network."""

    def __init__(self, noesis: Noesis, transport: httpx.ASGITransport) -> None:
        self.noesis = noesis
        self._transport = transport
        self._clients: list[httpx.AsyncClient] = []

    def client(self, token: str | None = None, agent: str | None = None) -> httpx.AsyncClient:
        """A client with this token, acting as this agent."""
        headers = {} if token is None else {"authorization": f"Bearer {token}"}
        if agent is not None:
            headers["x-noesis-agent"] = agent
        client = httpx.AsyncClient(transport=self._transport, base_url="http://localhost", headers=headers)
        self._clients.append(client)
        return client

    async def agent(self, name: str) -> httpx.AsyncClient:
        """A client with a token of one agent."""
        _, secret = await self.noesis.tokens.create(Role.AGENT, [name], f"test {name}")
        return self.client(secret)

    async def admin(self) -> httpx.AsyncClient:
        """A client with an administrator's token."""
        _, secret = await self.noesis.tokens.create(Role.ADMIN, [], "test admin")
        return self.client(secret)

    async def close(self) -> None:
        for client in self._clients:
            await client.aclose()


@asynccontextmanager
async def running(
    directory: Path,
    *,
    embedder: Embedder | None = None,
    clock: Clock | None = None,
    environ: dict[str, str] | None = None,
) -> AsyncIterator[Product]:
    """The product on a data directory, with settings from `environ`."""
    settings = load({"NOESIS_DATA": str(directory), **(environ or {})})
    embedder = embedder or WordEmbedder()
    clock = clock or Clock()
    if not directory.exists() or not any(directory.iterdir()):
        await _start_empty(directory, clock())
    # Not the OpenClaw of whoever runs the tests.
    home = {"HOME": str(directory.with_name(f"{directory.name}-home"))}
    async with open_runtime(settings, embedder=embedder, now_ms=clock, environ=home) as noesis:
        with application(noesis) as app:
            product = Product(noesis, httpx.ASGITransport(app=app))  # type: ignore[arg-type]
            try:
                yield product
            finally:
                await product.close()


_empty: dict[int, TemporaryDirectory[str]] = {}


async def _start_empty(directory: Path, now: int) -> None:
    """Put an empty store and control database of this time there: to copy them is quicker than to make them."""
    if now not in _empty:
        made = TemporaryDirectory(prefix="noesis-empty-")
        await (await Store.open(Path(made.name) / "store", now_ms=lambda: now)).close()
        control = Path(made.name) / "control.sqlite"
        control.touch(mode=0o600)
        Control.open(sqlite_url(control)).close()
        _empty[now] = made
    # Where nothing can be written, the product shall say so.
    with suppress(OSError):
        shutil.copytree(_empty[now].name, directory, copy_function=shutil.copy, dirs_exist_ok=True)


_idle_apps: dict[tuple[str, ...], list[Litestar]] = {}


@contextmanager
def application(noesis: Noesis) -> Iterator[Litestar]:
    """The application around a runtime; building one takes longer than most tests, so they are used again."""
    idle = _idle_apps.setdefault(noesis.settings.allowed_hosts, [])
    app = idle.pop() if idle else build_app(noesis.settings, nullcontext(noesis))
    # Not by the application's lifespan: pytest ends a fixture in another task than it began in.
    app.state.noesis = noesis
    try:
        yield app
    finally:
        app.state.clear()
        idle.append(app)
