"""The ways in which the fake Ollama can misbehave, and the models it has."""

from __future__ import annotations

from typing import Literal

import msgspec


class Faults(msgspec.Struct, forbid_unknown_fields=True):
    """Every switch is off by default.  The `*_on` ones are patterns searched in a text.

    `newer` chooses the newer of two documented forms of an error (`N:` 0.33, else 0.13 to 0.32);
    `oldest` those before 0.13.
    """

    version: str = "0.33.0"
    newer: bool = True
    oldest: bool = False
    # the whole server
    status: int = 0  # answer everything with this status and an empty body
    redirect_to: str = ""
    hang: bool = False  # take requests and never answer
    delay_s: float = 0.0
    drip_s: float = 0.0
    close_connection: bool = False
    not_json: bool = False
    huge_body: int = 0  # bytes
    gzip_bomb: bool = False
    # /api/embed
    slow_load_s: float = 0.0  # the first request that needs the model waits
    busy: int = 0  # so many answers are 503
    crash_after: int = -1  # so many requests are answered, then each one crashes
    crash_on: str = ""
    crash_form: Literal["400", "500"] = "400"
    no_memory: bool = False
    fail_on: str = ""  # 500 without a known reason
    nan_on: str = ""
    zero_on: str = ""
    bad_value_on: str = ""
    bad_value: str = "null"  # as JSON: null, 1e999, NaN, "x"
    long_vector_norm: float = 1.0
    shuffle_batch: bool = False
    short_batch: bool = False
    wrong_dim: int = 0  # vectors of this width
    ignore_truncate: bool = False  # too long is an error even with truncate
    context: int = 0  # tokens; 0 takes the model's own
    dense: bool = False  # every character but letters and spaces is a token
    # /api/pull
    pull: Literal["", "offline", "unknown", "stall", "cut_mid_stream", "end_early", "disk_full", "repeat"] = (
        ""
    )
    pull_step_s: float = 0.0
    pull_steps: int = 4


class FakeModel(msgspec.Struct):
    """A model of the fake, as tags and show tell of it."""

    name: str
    digest: str
    dimension: int = 64
    context: int = 2048
    family: str = "nomic-bert"
    capabilities: list[str] = msgspec.field(default_factory=lambda: ["embedding"])
    parameters: str = ""
    size: int = 274_290_656


def nomic() -> FakeModel:
    """Like Ollama's own: it asks for a context of 8192 and was trained with 2048."""
    return FakeModel(
        "nomic-embed-text:latest", "0a109f422b47" + "0" * 52, parameters="num_ctx                        8192"
    )


def llama() -> FakeModel:
    """A model that generates text."""
    return FakeModel(
        "llama3.2:latest", "a80c4f17acd5" + "0" * 52, 128, 4096, "llama", ["completion", "tools"]
    )
