"""Noesis: local-first semantic memory for AI agents."""

import os

# Before numpy is loaded: the products of a search are so small that threads only wait for each other
# (164 ms of processor time a search with them, 103 without, on two busy cores).
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

__version__ = "0.1.0"
