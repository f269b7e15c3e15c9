"""Reads the start of a file that must be a regular one, without ever waiting for a pipe or a device."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path


def read_start(path: Path, most: int, *, follow: bool) -> bytes:
    """The first `most` bytes of the file at `path`, fewer when it is shorter.

    Raises OSError when it cannot be opened or is anything but a regular file; a link is `follow`ed or refused.
    """
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | (0 if follow else os.O_NOFOLLOW)
    descriptor = os.open(path, flags)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "not a regular file")
        data = bytearray()
        while piece := os.read(descriptor, most - len(data)):
            data += piece
        return bytes(data)
    finally:
        os.close(descriptor)
