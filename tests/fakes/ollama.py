"""A fake Ollama that speaks the real one's HTTP contract, and misbehaves on demand.

In a test: `with FakeOllama() as ollama: ... ollama.url ... ollama.faults.busy = 3`.  By itself:
`python -m tests.fakes.ollama --port 11434`.  Over HTTP, `POST /_fake/faults` sets switches by name,
`POST /_fake/models` replaces the models and `GET /_fake/calls` counts calls by path.
"""

from __future__ import annotations

import argparse
import asyncio
import gzip
import re
import threading
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from functools import cache
from typing import Any

import msgspec

from noesis.embedding import Embedder, EmbeddingFailure
from tests.fakes.hash_vectors import hash_vectors
from tests.fakes.http_server import HttpServer, Reply, Request
from tests.fakes.ollama_embed import Crash, Refusal, check_inputs, check_texts, count_tokens, mangle
from tests.fakes.ollama_faults import FakeModel, Faults, nomic
from tests.fakes.ollama_pull import pull_lines

Vectorise = Callable[[Sequence[str]], Awaitable[list[list[float]]]]

LOCAL_HOSTS = ("127.0.0.1", "localhost", "[::1]")


class FakeOllama:
    """Owns the server; `faults`, `models` and `calls` are there for a test to change and read."""

    def __init__(
        self, *, models: Sequence[FakeModel] | None = None, vectorise: Vectorise | None = None
    ) -> None:
        self.faults = Faults()
        self.models = list(models) if models is not None else [nomic()]
        self.library = [nomic()]
        self.calls: list[tuple[str, str, Any]] = []
        self.loaded: dict[str, str] = {}
        self._vectorise = vectorise
        self._runner: asyncio.Lock | None = None
        self._server: HttpServer | None = None
        self.port = 0

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self.port}"

    def __enter__(self) -> FakeOllama:
        self.start()
        return self

    def __exit__(self, *_exc: object) -> None:
        self.stop()

    def start(self, port: int = 0) -> None:
        """Listen; after a stop, on the same port again."""
        self._runner = asyncio.Lock()
        self._server = HttpServer(self.answer)
        self._server.start(port or self.port)
        self.port = self._server.port

    def stop(self) -> None:
        """Go away; what was loaded is forgotten."""
        if self._server is not None:
            self._server.stop()
            self._server = None
        self.loaded.clear()

    def embed_calls(self) -> list[list[str]]:
        """The inputs of every embedding request so far."""
        bodies = [body for _, path, body in self.calls if path == "/api/embed"]
        return [body["input"] for body in bodies if body.get("input")]

    def model(self, name: str) -> FakeModel | None:
        """An installed model by any spelling of its name."""
        wanted = full_name(name)
        return next((model for model in self.models if full_name(model.name) == wanted), None)

    async def answer(self, request: Request) -> Reply:
        """Route one request."""
        if request.path.startswith("/_fake/"):
            return self._private(request)
        body = _decoded(request.body)
        self.calls.append((request.method, request.path, body))
        blocked = await self._whole_server(request)
        if blocked is not None:
            return blocked
        handler = ROUTES.get(request.path)
        if handler is None:
            return Reply(404, "text/plain", b"404 page not found")
        methods, serve = handler
        if request.method not in methods:
            return Reply(405, "text/plain", b"405 method not allowed")
        if request.method == "POST" and not request.body:
            return error(400, "missing request body")
        if request.method == "POST" and not isinstance(body, dict):
            return error(400, "invalid character 'x' looking for beginning of value")
        try:
            reply = await serve(self, body)
        except Refusal as refusal:
            return error(refusal.status, refusal.text)
        return msgspec.structs.replace(reply, drip_s=self.faults.drip_s)

    async def _whole_server(self, request: Request) -> Reply | None:
        faults = self.faults
        if faults.hang:
            await asyncio.sleep(3600)
        await asyncio.sleep(faults.delay_s)
        host = request.headers.get("host", "").rsplit(":", 1)[0]
        if host not in LOCAL_HOSTS:
            return Reply(403)
        if faults.close_connection:
            return Reply(dropped=True)
        if faults.status:
            return Reply(faults.status)
        if faults.redirect_to:
            return Reply(307, headers={"Location": faults.redirect_to})
        if faults.huge_body:
            return Reply(body=b'{"models":[' + b" " * faults.huge_body + b"]}")
        if faults.gzip_bomb:
            return Reply(body=_bomb(), headers={"Content-Encoding": "gzip"})
        return Reply(200, "text/html", b"<html>hello</html>") if faults.not_json else None

    def _private(self, request: Request) -> Reply:
        if request.path == "/_fake/faults" and request.method == "POST":
            for name, value in msgspec.json.decode(request.body).items():
                setattr(self.faults, name, value)
        elif request.path == "/_fake/models" and request.method == "POST":
            self.models = msgspec.json.decode(request.body, type=list[FakeModel])
        elif request.path == "/_fake/calls":
            return reply(dict(Counter(path for _, path, _ in self.calls)))
        else:
            return error(404, "no such switch")
        return reply(self.faults)

    async def root(self, _body: Any) -> Reply:
        return Reply(200, "text/plain; charset=utf-8", b"Ollama is running")

    async def version(self, _body: Any) -> Reply:
        return reply({"version": self.faults.version})

    async def tags(self, _body: Any) -> Reply:
        return reply({"models": [self._listed(model) for model in self.models]})

    async def ps(self, _body: Any) -> Reply:
        loaded = [model for model in self.models if model.name in self.loaded]
        more = {"expires_at": "2030-01-01T00:00:00Z", "size_vram": 0}
        return reply({"models": [{**self._listed(m), **more, "context_length": m.context} for m in loaded]})

    async def show(self, body: dict[str, Any]) -> Reply:
        name = str(body.get("model") or body.get("name") or "")
        if not name:
            return error(400, "model is required")
        model = self.model(name)
        if model is None:
            return error(404, f"model '{name}' not found")
        info = {
            "general.architecture": model.family,
            f"{model.family}.context_length": model.context,
            f"{model.family}.embedding_length": model.dimension,
        }
        about = {"license": "", "modelfile": "", "parameters": model.parameters, "template": "{{ .Prompt }}"}
        kinds = {} if self.faults.oldest else {"capabilities": model.capabilities}
        return reply({**about, "details": self._details(model), "model_info": info, **kinds})

    async def embed(self, body: dict[str, Any]) -> Reply:
        texts = check_inputs(body.get("input"))
        model = self._wanted(body)
        assert self._runner is not None
        async with self._runner:
            await self._load(model, body)
            if not texts:
                return reply({"model": body["model"], "embeddings": []})
            vectors = await self._vectors(model, texts, body)
        counted = sum(count_tokens(text, self.faults) for text in texts)
        head = msgspec.json.encode({"model": body["model"], "total_duration": 1_000_000})
        rows = mangle(vectors, texts, self.faults)
        return Reply(body=head[:-1] + b',"prompt_eval_count":%d,"embeddings":%s}' % (counted, rows))

    async def embeddings(self, body: dict[str, Any]) -> Reply:
        """The legacy call: one text, not normalised, errors always 500."""
        model = self._wanted(body)
        prompt = str(body.get("prompt", ""))
        if not prompt:
            return reply({"embedding": []})
        try:
            vectors = await self._vectors(model, [prompt], {**body, "truncate": False})
        except Refusal as refusal:
            raise Refusal(500, refusal.text) from refusal
        return reply({"embedding": [7.5 * value for value in vectors[0]]})

    async def openai(self, body: dict[str, Any]) -> Reply:
        """OpenAI's shape, with its own shape of errors."""
        try:
            texts = check_inputs(body.get("input"))
            vectors = await self._vectors(self._wanted(body), texts, {**body, "truncate": True})
        except Refusal as refusal:
            about = {"message": refusal.text, "type": "api_error", "param": None, "code": None}
            return reply({"error": about}, refusal.status)
        data = [{"object": "embedding", "embedding": v, "index": i} for i, v in enumerate(vectors)]
        return reply({"object": "list", "data": data, "model": body["model"], "usage": {"prompt_tokens": 1}})

    async def pull(self, body: dict[str, Any]) -> Reply:
        name = str(body.get("model") or body.get("name") or "")
        if not re.fullmatch(r"[\w./-]+(:[\w.-]+)?", name):
            return error(400, "invalid model name")
        wanted = next((m for m in self.library if full_name(m.name) == full_name(name)), None)

        def installed() -> None:
            if wanted is not None and self.model(name) is None:
                self.models.insert(0, wanted)

        lines = pull_lines(name, wanted, self.faults, installed)
        torn = self.faults.pull == "cut_mid_stream"
        return Reply(content_type="application/x-ndjson", chunks=lines, torn=torn)

    async def delete(self, body: dict[str, Any]) -> Reply:
        model = self.model(str(body.get("model", "")))
        if model is None:
            return error(404, f"model '{body.get('model')}' not found")
        self.models.remove(model)
        return Reply()

    def _wanted(self, body: dict[str, Any]) -> FakeModel:
        name = str(body.get("model", ""))
        if not name:
            raise Refusal(400, "model is required")
        model = self.model(name)
        if model is None:
            raise Refusal(404, f'model "{name}" not found, try pulling it first')
        return model

    async def _load(self, model: FakeModel, body: dict[str, Any]) -> None:
        if self.faults.busy > 0:
            self.faults.busy -= 1
            raise Refusal(503, "server busy, please try again.  maximum pending requests exceeded")
        if self.faults.oldest and "embedding" not in model.capabilities:
            raise Refusal(501, "this model does not support embeddings")
        if self.faults.no_memory:
            raise Refusal(500, "model requires more system memory (9.9 GiB) than is available (1.0 GiB)")
        options = repr(sorted(body.get("options", {}).items()))
        if self.loaded.get(model.name) != options:
            await asyncio.sleep(self.faults.slow_load_s)
            self.loaded[model.name] = options

    async def _vectors(self, model: FakeModel, texts: list[str], body: dict[str, Any]) -> list[list[float]]:
        try:
            texts = check_texts(texts, model, body, self.faults)
        except Crash as crash:
            self.loaded.pop(model.name, None)
            raise Refusal(int(self.faults.crash_form), crash.text) from crash
        if self._vectorise is not None:
            return await self._vectorise(texts)
        return hash_vectors(texts, self.faults.wrong_dim or model.dimension)

    def _details(self, model: FakeModel) -> dict[str, Any]:
        return {
            "parent_model": "",
            "format": "gguf",
            "family": model.family,
            "families": [model.family],
            "parameter_size": "137M",
            "quantization_level": "F16",
        }

    def _listed(self, model: FakeModel) -> dict[str, Any]:
        return {
            "name": model.name,
            "model": model.name,
            "modified_at": "2026-08-21T10:00:00.123456789+02:00",
            "size": model.size,
            "digest": model.digest,
            "details": self._details(model),
        }


Serve = Callable[[FakeOllama, Any], Awaitable[Reply]]
ROUTES: dict[str, tuple[tuple[str, ...], Serve]] = {
    "/": (("GET", "HEAD"), FakeOllama.root),
    "/api/version": (("GET", "HEAD"), FakeOllama.version),
    "/api/tags": (("GET", "HEAD"), FakeOllama.tags),
    "/api/ps": (("GET", "HEAD"), FakeOllama.ps),
    "/api/show": (("POST",), FakeOllama.show),
    "/api/embed": (("POST",), FakeOllama.embed),
    "/api/embeddings": (("POST",), FakeOllama.embeddings),
    "/v1/embeddings": (("POST",), FakeOllama.openai),
    "/api/pull": (("POST",), FakeOllama.pull),
    "/api/delete": (("DELETE",), FakeOllama.delete),
}


def full_name(name: str) -> str:
    """`Nomic` and `nomic:latest` are one model."""
    return name.lower() if ":" in name else f"{name.lower()}:latest"


def reply(value: Any, status: int = 200) -> Reply:
    return Reply(status, body=msgspec.json.encode(value))


def error(status: int, text: str) -> Reply:
    return reply({"error": text}, status)


def vectors_of(embedder: Embedder) -> Vectorise:
    """Let an embedder of ours make the vectors."""

    async def vectorise(texts: Sequence[str]) -> list[list[float]]:
        results = await embedder.embed_documents(texts)
        if any(isinstance(result, EmbeddingFailure) for result in results):
            raise Refusal(500, "the embedder behind the fake failed")
        return [
            [float(value) for value in result]
            for result in results
            if not isinstance(result, EmbeddingFailure)
        ]

    return vectorise


@cache
def _bomb() -> bytes:
    return gzip.compress(b" " * (64 * 1024 * 1024))


def _decoded(body: bytes) -> Any:
    try:
        return msgspec.json.decode(body) if body else {}
    except msgspec.DecodeError:
        return None


def main() -> None:
    """Serve until interrupted."""
    parser = argparse.ArgumentParser(description="A fake Ollama for tests.")
    parser.add_argument("--port", type=int, default=0)
    arguments = parser.parse_args()
    ollama = FakeOllama()
    ollama.start(arguments.port)
    print(ollama.url, flush=True)
    try:
        threading.Event().wait()
    finally:
        ollama.stop()


if __name__ == "__main__":
    main()
