"""The product and its peers side by side, in one run.

python -m bench.peers [--data FILE | --own] [--conversations N] [--only NAME] [--cache DIR] [--json FILE]
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
import msgspec

from bench import locomo, talks
from bench.peers import report, trial
from bench.peers.process import PeerFailed
from bench.peers.report import Comparison, Line
from bench.peers.roster import PEERS, Peer
from bench.peers.vectors import Vectors, cost_ms, vectors_of
from bench.server import BenchError
from bench.tables import machine
from bench.talks import Talk
from noesis.embedding.local import LocalEmbedder

PRODUCT = "noesis"

_NAMES = tuple(dict.fromkeys([PRODUCT, *(peer.name for peer in PEERS)]))
_HOME = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "noesis-bench"


@click.command()
@click.option("--data", type=click.Path(path_type=Path), help="The LoCoMo file (NOESIS_BENCH_LOCOMO).")
@click.option("--own", is_flag=True, help="Ask this repository's conversations instead of LoCoMo's.")
@click.option("--conversations", type=click.IntRange(1), help="Only the first so many.")
@click.option("--only", type=click.Choice(_NAMES), multiple=True, help="Only these systems.")
@click.option(
    "--cache", type=click.Path(path_type=Path), default=_HOME, help="Keeps environments and vectors."
)
@click.option("--json", "json_out", type=click.File("wb"), help="Where the figures go as JSON.")
def main(
    data: Path | None, own: bool, conversations: int | None, only: tuple[str, ...], cache: Path, json_out: Any
) -> None:
    """Measure how well and how fast the product and its peers find what answers a question."""
    name, chosen = choose(data, own, conversations)
    vectors, per_text = asyncio.run(_embed(chosen, cache.absolute()))
    lines = measure(chosen, vectors, cache.absolute(), only or _NAMES)
    asked = sum(len(talk.questions) for talk in chosen)
    found = Comparison(machine(), name, len(chosen), asked, per_text, lines)
    if json_out is not None:
        json_out.write(msgspec.json.format(msgspec.json.encode(found)))
    click.echo(report.text(found))


def choose(data: Path | None, own: bool, conversations: int | None) -> tuple[str, list[Talk]]:
    """The data's name and its talks.  Raises BenchError when a named file is not there."""
    path = None if own else data if data is not None else locomo.find(os.environ)
    if data is not None and not own and not data.is_file():
        raise BenchError(f"There is no file {data}.")
    if path is None:
        return "This repository's conversations", talks.own(conversations)
    return "LoCoMo", talks.from_locomo(path, conversations)


async def _embed(chosen: Sequence[Talk], cache: Path) -> tuple[list[Vectors], float]:
    embedder = LocalEmbedder()
    try:
        return await vectors_of(chosen, embedder, cache), await cost_ms(chosen, embedder)
    finally:
        await embedder.close()


def measure(
    chosen: Sequence[Talk], vectors: Sequence[Vectors], cache: Path, names: Sequence[str]
) -> list[Line]:
    """A line for each of the systems; a peer that fails has one too."""
    lines: list[Line] = []
    if PRODUCT in names:
        _say(f"{PRODUCT}, over HTTP")
        lines.append(report.measured(PRODUCT, trial.of_product(chosen), "over HTTP"))
    for peer in PEERS:
        if peer.name in names:
            _say(f"{peer.name}, {peer.how}")
            lines.append(_line(peer, chosen, vectors, cache))
    return lines


def _line(peer: Peer, chosen: Sequence[Talk], vectors: Sequence[Vectors], cache: Path) -> Line:
    try:
        return report.measured(peer.name, trial.of_peer(peer, chosen, vectors, cache), peer.how)
    except PeerFailed as failure:
        return report.failed(peer.name, f"{peer.how}: {failure}")


def _say(line: str) -> None:
    click.echo(line, err=True)


if __name__ == "__main__":
    main()
