"""The fake speaks the contract of the real one: status, shape and wording."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from noesis.embedding.local import LocalEmbedder
from noesis.embedding.ollama import OllamaEmbedder
from tests.embedding.subjects import all_minilm
from tests.fakes.ollama import FakeOllama, vectors_of

MODEL = "nomic-embed-text"


@pytest.fixture
async def client(ollama: FakeOllama) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(base_url=ollama.url, trust_env=False) as client:
        yield client


async def embed(client: httpx.AsyncClient, given: Any, **more: Any) -> httpx.Response:
    return await client.post("/api/embed", json={"model": MODEL, "input": given, **more})


async def test_liveness_and_version(client: httpx.AsyncClient) -> None:
    assert (await client.get("/")).text == "Ollama is running"
    assert (await client.head("/")).status_code == 200
    assert (await client.get("/api/version")).json() == {"version": "0.33.0"}
    assert (await client.get("/nothing")).text == "404 page not found"
    assert (await client.get("/api/embed")).status_code == 405


async def test_tags_and_show(client: httpx.AsyncClient, ollama: FakeOllama) -> None:
    [tag] = (await client.get("/api/tags")).json()["models"]
    assert tag["name"] == "nomic-embed-text:latest"
    assert len(tag["digest"]) == 64
    shown = (await client.post("/api/show", json={"model": "Nomic-Embed-Text"})).json()
    assert shown["model_info"]["nomic-bert.context_length"] == 2048
    assert "8192" in shown["parameters"]
    assert shown["capabilities"] == ["embedding"]
    assert (await client.post("/api/show", json={"model": "x"})).json() == {"error": "model 'x' not found"}
    assert (await client.post("/api/show", json={})).json() == {"error": "model is required"}
    assert (await client.post("/api/show")).json() == {"error": "missing request body"}


async def test_embed_gives_unit_vectors_in_order_and_echoes_the_name(client: httpx.AsyncClient) -> None:
    answer = (await embed(client, ["red apple", "green apple", "blue sky"])).json()
    red, green, sky = answer["embeddings"]
    assert answer["model"] == MODEL
    assert abs(sum(value * value for value in red) - 1) < 1e-6
    dot = [sum(a * b for a, b in zip(red, other, strict=True)) for other in (green, sky)]
    assert dot[0] > dot[1]


@pytest.mark.parametrize(("given", "count"), [("", 0), ([], 0), (None, 0), ([""], 1), ("one", 1)])
async def test_what_counts_as_no_input(given: Any, count: int, client: httpx.AsyncClient) -> None:
    answer = await embed(client, given)
    assert answer.status_code == 200
    assert len(answer.json()["embeddings"]) == count


@pytest.mark.parametrize("given", [5, {"a": 1}, ["a", 1]])
async def test_wrong_input_is_refused(given: Any, client: httpx.AsyncClient) -> None:
    answer = await embed(client, given)
    assert (answer.status_code, answer.json()) == (400, {"error": "invalid input type"})


async def test_too_long_is_cut_or_refused_as_asked(client: httpx.AsyncClient, ollama: FakeOllama) -> None:
    long = "word " * 3000
    assert (await embed(client, long)).status_code == 200
    refused = await embed(client, long, truncate=False)
    assert (refused.status_code, refused.json()["error"]) == (
        400,
        "the input length exceeds the context length",
    )
    ollama.faults.ignore_truncate = True
    assert (await embed(client, long)).status_code == 400


@pytest.mark.parametrize(
    ("faults", "status", "words"),
    [
        ({"nan_on": "x"}, 500, "embedding contains NaN or Inf values"),
        ({"nan_on": "x", "newer": False}, 400, "embedding contains NaN or Inf values"),
        ({"nan_on": "x", "oldest": True}, 500, "unsupported value: NaN"),
        ({"zero_on": "x"}, 500, "embedding has zero norm"),
        ({"crash_on": "x"}, 400, "EOF"),
        ({"crash_on": "x", "crash_form": "500"}, 500, "EOF"),
        ({"crash_after": 0}, 400, "EOF"),
        ({"busy": 1}, 503, "server busy, please try again.  maximum pending requests exceeded"),
        ({"no_memory": True}, 500, "more system memory"),
    ],
    ids=str,
)
async def test_errors_of_the_runner(
    faults: dict[str, Any], status: int, words: str, client: httpx.AsyncClient
) -> None:
    """Set over the private endpoint, as a test in another process would."""
    assert (await client.post("/_fake/faults", json=faults)).status_code == 200
    answer = await embed(client, ["x"])
    assert answer.status_code == status
    assert words in answer.json()["error"]


async def test_a_missing_model_is_404(client: httpx.AsyncClient) -> None:
    answer = await client.post("/api/embed", json={"model": "nope", "input": "x"})
    assert answer.status_code == 404
    assert answer.json() == {"error": 'model "nope" not found, try pulling it first'}


async def test_the_legacy_call_does_not_normalise(client: httpx.AsyncClient) -> None:
    vector = (await client.post("/api/embeddings", json={"model": MODEL, "prompt": "x"})).json()["embedding"]
    assert sum(value * value for value in vector) > 2


async def test_the_openai_call_has_its_own_shape(client: httpx.AsyncClient) -> None:
    answer = (await client.post("/v1/embeddings", json={"model": MODEL, "input": ["a", "b"]})).json()
    assert [item["index"] for item in answer["data"]] == [0, 1]
    failed = await client.post("/v1/embeddings", json={"model": "nope", "input": "x"})
    assert failed.status_code == 404
    assert set(failed.json()["error"]) == {"message", "type", "param", "code"}


async def test_a_foreign_host_is_forbidden(client: httpx.AsyncClient) -> None:
    answer = await client.get("/api/tags", headers={"Host": "evil.example"})
    assert (answer.status_code, answer.content) == (403, b"")


async def test_pull_and_delete(client: httpx.AsyncClient, ollama: FakeOllama) -> None:
    assert (await client.request("DELETE", "/api/delete", json={"model": MODEL})).status_code == 200
    assert (await client.request("DELETE", "/api/delete", json={"model": MODEL})).status_code == 404
    pulled = await client.post("/api/pull", json={"model": MODEL})
    lines = pulled.text.splitlines()
    assert pulled.headers["content-type"] == "application/x-ndjson"
    assert lines[0] == '{"status":"pulling manifest"}'
    assert lines[-1] == '{"status":"success"}'
    assert "completed" not in lines[1]
    assert ollama.model(MODEL) is not None
    assert (await client.post("/api/pull", json={"model": "a b"})).json() == {"error": "invalid model name"}


async def test_ps_lists_what_is_loaded(client: httpx.AsyncClient) -> None:
    assert (await client.get("/api/ps")).json() == {"models": []}
    await embed(client, "x")
    assert [model["model"] for model in (await client.get("/api/ps")).json()["models"]] == [f"{MODEL}:latest"]


async def test_any_embedder_can_make_its_vectors(local: LocalEmbedder) -> None:
    with FakeOllama(models=[all_minilm()], vectorise=vectors_of(local)) as fake:
        embedder = OllamaEmbedder(fake.url, "all-minilm", query_timeout_s=30)
        through = await embedder.embed_query("a question of style")
        assert float(through @ await local.embed_query("a question of style")) > 0.9999
        await embedder.close()


def test_it_runs_by_itself() -> None:
    command = [sys.executable, "-m", "tests.fakes.ollama", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        try:
            assert httpx.get(f"{url}/api/version", trust_env=False).json() == {"version": "0.33.0"}
            assert httpx.get(f"{url}/_fake/calls", trust_env=False).json() == {"/api/version": 1}
        finally:
            process.terminate()
