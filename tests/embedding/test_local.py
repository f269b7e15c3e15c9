"""The model in this process: its meaning, its files, and who waits for whom."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from contextlib import AbstractContextManager
from pathlib import Path

import msgspec
import numpy as np
import pytest

from noesis.embedding import EmbeddingFailure, Vector
from noesis.embedding.local import LocalEmbedder
from noesis.embedding.model_files import CONFIG_NAME, MINILM_SHA256, MINILM_TOKENIZER, bundled_minilm
from noesis.embedding.turns import Turns
from noesis.errors import EmbedderMismatch, EmbedderUnavailable, SettingsError
from tests.embedding.subjects import own_model


async def one(embedder: LocalEmbedder, text: str) -> Vector:
    [result] = await embedder.embed_documents([text])
    assert not isinstance(result, EmbeddingFailure)
    return result


async def test_the_identity_is_the_pinned_file(local: LocalEmbedder) -> None:
    identity = await local.identity()
    assert (identity.provider, identity.digest, identity.dimension) == ("local", MINILM_SHA256, 384)


async def test_meaning_counts_more_than_words(local: LocalEmbedder) -> None:
    car = await one(local, "The car would not start this morning.")
    like = float(car @ await one(local, "Her vehicle failed to start today."))
    unlike = float(car @ await one(local, "The bread was not bad this morning."))
    assert like > unlike + 0.1


async def test_batching_does_not_change_a_vector(local: LocalEmbedder) -> None:
    texts = ["short", "a little longer than that", "word " * 120, "word " * 300, "tail"]
    together = await local.embed_documents(texts)
    for text, vector in zip(texts, together, strict=True):
        assert not isinstance(vector, EmbeddingFailure)
        np.testing.assert_allclose(vector, await one(local, text), atol=1e-5)


@pytest.mark.parametrize(
    ("texts", "waits"), [(["one"], False), (["one", "two"], True), (["word " * 400], True)]
)
async def test_more_than_one_piece_lets_a_search_go_on_first(
    local: LocalEmbedder, monkeypatch: pytest.MonkeyPatch, texts: list[str], waits: bool
) -> None:
    asked, ordinary = list[bool](), Turns.ordinary

    def noted(turns: Turns, *, patient: bool = False) -> AbstractContextManager[None]:
        asked.append(patient)
        return ordinary(turns, patient=patient)

    monkeypatch.setattr(Turns, "ordinary", noted)
    await local.embed_documents(texts)
    assert set(asked) == {waits}


async def test_a_long_text_is_the_average_of_its_windows(local: LocalEmbedder) -> None:
    """Two subjects, one after the other: close to both, closer than either is to the other."""
    boats = "The harbour was full of sailing boats and fishermen mending nets. " * 20
    taxes = "The tax office wants the invoices of the last quarter by Monday. " * 20
    both = await one(local, boats + taxes)
    boat, tax = await one(local, boats), await one(local, taxes)
    assert min(float(both @ boat), float(both @ tax)) > 0.6 > float(boat @ tax)


def test_tokens_are_counted_exactly(local: LocalEmbedder) -> None:
    assert local.max_tokens == 256
    assert local.count_tokens("") == 2  # [CLS] and [SEP]
    assert local.count_tokens("the cat") == 4
    assert local.count_tokens("word " * 100_000) == 100_002


async def test_a_question_goes_before_the_next_batch_of_documents(local: LocalEmbedder) -> None:
    await local.identity()
    documents = asyncio.create_task(local.embed_documents(["word " * 200] * 40))
    await asyncio.sleep(0.1)
    await asyncio.gather(*(local.embed_query(f"question {i}") for i in range(3)))
    assert not documents.done()
    documents.cancel()
    with pytest.raises(asyncio.CancelledError):
        await documents


async def test_the_event_loop_stays_free_while_it_embeds(local: LocalEmbedder) -> None:
    documents = asyncio.create_task(local.embed_documents(["word " * 200] * 6))
    ticks = 0
    while not documents.done():
        await asyncio.sleep(0.005)
        ticks += 1
    assert ticks > 10


async def test_first_calls_at_the_same_time_load_once(tmp_path: Path) -> None:
    embedder = LocalEmbedder()
    identities = await asyncio.gather(
        embedder.identity(), embedder.embed_query("a"), embedder.embed_documents(["b"]), embedder.identity()
    )
    assert identities[0] is identities[3]
    await embedder.close()


async def test_another_file_under_the_pinned_name_is_a_mismatch(tmp_path: Path) -> None:
    changed = tmp_path / "model.onnx"
    changed.write_bytes(bundled_minilm().model.read_bytes() + b"x")
    embedder = LocalEmbedder(msgspec.structs.replace(bundled_minilm(), model=changed))
    with pytest.raises(EmbedderMismatch, match="SHA-256"):
        await embedder.embed_documents(["text"])
    await embedder.close()


async def test_a_file_that_is_gone_is_unavailable(tmp_path: Path) -> None:
    embedder = LocalEmbedder(msgspec.structs.replace(bundled_minilm(), model=tmp_path / "none.onnx"))
    with pytest.raises(EmbedderUnavailable, match="cannot be read"):
        await embedder.identity()
    await embedder.close()


async def test_a_file_that_is_no_model_is_unavailable(tmp_path: Path) -> None:
    (tmp_path / "model.onnx").write_bytes(b"not a model")
    (tmp_path / "tokenizer.json").symlink_to(MINILM_TOKENIZER)
    embedder = LocalEmbedder.from_directory(tmp_path)
    with pytest.raises(EmbedderUnavailable, match="cannot be loaded"):
        await embedder.embed_query("text")
    await embedder.close()


async def test_a_model_of_ones_own_has_its_own_identity(tmp_path: Path, local: LocalEmbedder) -> None:
    embedder = LocalEmbedder.from_directory(own_model(tmp_path))
    identity = await embedder.identity()
    assert (identity.model, identity.document_prefix, identity.query_prefix) == (
        "own",
        "passage: ",
        "query: ",
    )
    assert identity.digest == MINILM_SHA256
    assert identity != await local.identity()
    assert embedder.max_tokens == 64
    assert embedder.count_tokens("the cat") == 4 + 2
    assert not np.allclose(await embedder.embed_query("cat"), await one(embedder, "cat"), atol=0.01)
    await embedder.close()


async def test_weights_beside_the_model_are_part_of_its_digest(tmp_path: Path) -> None:
    own_model(tmp_path)
    plain = LocalEmbedder.from_directory(tmp_path)
    before = (await plain.identity()).digest
    await plain.close()
    (tmp_path / "onnx" / "model.onnx_data").write_bytes(b"more weights")
    with_data = LocalEmbedder.from_directory(tmp_path)
    assert (await with_data.identity()).digest != before
    await with_data.close()


@pytest.mark.parametrize("config", ['{"max_tokens": 4}', '{"pooling": "sum"}', '{"maxTokens": 9}', "{"])
def test_a_config_that_is_wrong_stops_the_start(config: str, tmp_path: Path) -> None:
    (own_model(tmp_path) / CONFIG_NAME).write_text(config)
    with pytest.raises(SettingsError, match=CONFIG_NAME):
        LocalEmbedder.from_directory(tmp_path)


def test_a_directory_without_a_model_stops_the_start(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"model\.onnx"):
        LocalEmbedder.from_directory(tmp_path)


def test_a_tokenizer_that_is_none_stops_the_start(tmp_path: Path) -> None:
    (tmp_path / "model.onnx").write_bytes(b"")
    (tmp_path / "tokenizer.json").write_text("{}")
    with pytest.raises(SettingsError, match="tokenizer"):
        LocalEmbedder.from_directory(tmp_path)


MEASURE = """
import asyncio, pathlib
from noesis.embedding.local import LocalEmbedder

async def main():
    embedder = LocalEmbedder(threads=2)
    await embedder.embed_documents(["word " * (i % 40) for i in range(40)] + ["word " * 600])
    status = pathlib.Path("/proc/self/status").read_text()
    print(next(line.split()[1] for line in status.splitlines() if line.startswith("VmRSS")))
    await embedder.close()

asyncio.run(main())
"""


@pytest.mark.skipif(sys.platform != "linux", reason="platform: /proc is Linux's")
def test_the_process_stays_small() -> None:
    """With the memory arena on, or freed pages kept, it is 250 to 970 MB."""
    done = subprocess.run([sys.executable, "-c", MEASURE], capture_output=True, text=True, check=True)
    assert int(done.stdout) < 230 * 1024
