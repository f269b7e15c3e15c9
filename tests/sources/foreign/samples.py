"""Where the samples of foreign formats lie, and hostile JSON that every reader meets."""

from __future__ import annotations

from pathlib import Path

SAMPLES = Path(__file__).resolve().parents[2] / "data" / "foreign"

CANARY = "canary-7Qx"

# Each stands where a reader expects an object.
HOSTILE: dict[str, bytes] = {
    "deep": b'{"memory": ' + b"[" * 5_000 + b"]" * 5_000 + b', "x": "' + CANARY.encode() + b'"}',
    "deep list": b"[" * 200_000 + b"]" * 200_000,
    "lone surrogate": rb'{"text": "\ud800 canary-7Qx", "memory": "\ud800 canary-7Qx", "content": "\ud800"}',
    "not a number": b'{"text": NaN, "memory": NaN, "content": NaN, "note": "canary-7Qx"}',
    "infinite": b'{"text": "canary-7Qx", "priority": 1e999, "created_at": 1e999, "mapping": 1e999}',
    "huge number": b'{"text": "canary-7Qx", "position": '
    + b"9" * 100_000
    + b', "id": '
    + b"9" * 100_000
    + b', "created_at": "canary-7Qx"}',
    "wrong kind": b'{"text": ["canary-7Qx"], "memory": ["canary-7Qx"], "content": ["canary-7Qx"]}',
    "bad UTF-8": b'{"text": "\xff canary-7Qx", "memory": "\xff", "content": "\xff"}',
    "blank": b'{"text": " \\n", "memory": " ", "content": " "}',
    "a number": b"17",
    "million keys": b'{"a":0' + b"".join(b',"%d":1' % number for number in range(700_000)) + b"}",
}
