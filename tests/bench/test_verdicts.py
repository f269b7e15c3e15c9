"""A figure beside its target."""

from __future__ import annotations

import msgspec
import pytest

from bench.inflow import Inflow
from bench.pages import Timed
from bench.reading import Latency
from bench.verdicts import Found, Size, Verdict, text, verdicts
from bench.writing import Rate

LATENCY = Latency(
    clients=8,
    questions=10,
    http=(30.0, 60.0),
    direct=(20.0, 30.0),
    took_p50=25.0,
    embedding_p50=10.0,
    store_p50=12.0,
    http_cpu=15.0,
    direct_cpu=11.0,
)
FOUND = Found(
    machine="here",
    sizes=[Size(100_000, [LATENCY], idle_mb=450.1, peak_mb=700.0)],
    rates=[Rate(64, embedding=False, acknowledged=100.0, commits=5.0, bare=20.0)],
)


INFLOW = Inflow(
    files=100,
    chunks=200,
    scan_s=10.0,
    embedder_s=9.5,
    scan_cpu_s=12.0,
    embedder_cpu_s=10.0,
    idle=(10.0, 20.0),
    during=(20.0, 41.0),
)


@pytest.mark.parametrize(("value", "met"), [(1.0, True), (1.5, True), (1.51, False)])
def test_a_target_is_an_upper_limit(value: float, met: bool) -> None:
    assert Verdict("x", value, "×", 1.5).met is met


def test_a_figure_without_a_target_is_only_told() -> None:
    assert Verdict("x", 3.0, "ms").met is None


def test_every_target_is_judged() -> None:
    judged = {item.name: item.met for item in verdicts(FOUND) if item.met is not None}
    assert judged == {
        "100,000 memories, 8 clients: HTTP / direct, p50": True,
        "100,000 memories: resident, idle, model loaded": False,
        "100,000 memories: resident, highest while searching": True,
    }


def test_what_flows_in_is_judged_by_the_embedder_and_by_who_searches() -> None:
    found = msgspec.structs.replace(FOUND, inflow=INFLOW)
    judged = {item.name: item.met for item in verdicts(found) if item.met is not None}
    assert judged["100 Markdown files: time of the scan / of the embedder alone"] is True
    assert judged["search, p95 while files are read / without"] is False


@pytest.mark.parametrize(("page_ms", "met"), [(60.0, True), (61.0, False)])
def test_a_page_is_judged_by_its_calls(page_ms: float, met: bool) -> None:
    size = msgspec.structs.replace(FOUND.sizes[0], pages=[Timed("/stats", page_ms, 20.0)])
    judged = {item.name: item.met for item in verdicts(msgspec.structs.replace(FOUND, sizes=[size]))}
    assert judged["100,000 memories: page /stats / its calls, p95"] is met


def test_the_peak_has_no_target_beyond_its_size() -> None:
    larger = msgspec.structs.replace(FOUND.sizes[0], memories=1_000_000)
    found = msgspec.structs.replace(FOUND, sizes=[larger])
    assert "highest while searching | 700.00 MB |  |  |" in text(found)


def test_the_table_shows_writes_per_bare_write_and_the_sum() -> None:
    shown = text(FOUND)
    assert "| 64 writers, without embedding: acknowledged / bare | 5.00 × |" in shown
    assert "2 of 3 targets met. Machine: here" in shown
