"""Benchmarks: how well search finds (`bench.retrieval`) and how fast it is (`bench.speed`)."""
