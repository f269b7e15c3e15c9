"""Whatever of ours is imported first, Arrow allocates where freed memory is given back."""

from __future__ import annotations

import subprocess
import sys

import pytest


@pytest.mark.parametrize("first", ["noesis.runtime", "noesis.store.schema", "noesis.store.tables"])
def test_arrow_uses_the_allocator_of_the_c_library(first: str) -> None:
    look = f"import {first}, pyarrow; print(pyarrow.default_memory_pool().backend_name)"
    done = subprocess.run([sys.executable, "-c", look], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "system"
