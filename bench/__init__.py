"""Benchmarks: how well search finds (`bench.retrieval`, `bench.multilingual`) and how fast it is (`bench.speed`)."""
