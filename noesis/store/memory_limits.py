"""Limits of what LanceDB and Arrow hold, which both take from the environment when they are first used."""

from __future__ import annotations

import os

_WORDS_AT_ONCE_MIB = "2"
"""Folding new rows into the keyword index reads a part of it whole, and parts grow to this size.  By default
that is 2 GiB, so all of it is read: for 100,000 short notes 134 MB, against 40 MB with 4 MiB and 23 MB with 2.
Searches take as long with these, and twice as long with 1 MiB."""

_READ_AHEAD_BYTES = str(16 << 20)
"""What is read of files before it is asked for, 2 GiB by default.  With 100,000 rows building the vector index
took 178 MB for a while and now 68, making one piece of the table 209 and now 126; searches take as long."""

_ARROW_POOL = "system"
"""Arrow's own allocator, mimalloc, was left with 30 MB of which none was in use; the C library's is given back."""


def _bound() -> None:
    os.environ.setdefault("LANCE_FTS_PARTITION_SIZE", _WORDS_AT_ONCE_MIB)
    os.environ.setdefault("LANCE_DEFAULT_IO_BUFFER_SIZE", _READ_AHEAD_BYTES)
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", _ARROW_POOL)


_bound()
