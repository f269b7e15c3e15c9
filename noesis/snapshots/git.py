"""Runs Git in one folder: bounded in time, without questions, the token in no argument and no file."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import tempfile
from collections.abc import Mapping
from pathlib import Path

from noesis.errors import SnapshotFailed
from noesis.snapshots.trouble import Kind, Trouble, trouble_of

TIMEOUT_S = 120.0
"""How long a command may say nothing new and take before its whole process group is killed."""

# Written so that the secret stands in the environment of this command alone.  A remote that refused it is not
# offered it again: Git LFS would go on asking for ever.
_HELPER = (
    '!f() { case "$1" in'
    ' erase) : > "$SNAPSHOT_REFUSED";;'
    ' get) if test -e "$SNAPSHOT_REFUSED"; then echo quit=true;'
    ' else printf "username=%s\\npassword=%s\\n" "$SNAPSHOT_USER" "$SNAPSHOT_TOKEN"; fi;;'
    " esac; }; f"
)
_ENVIRONMENT = {
    "LC_ALL": "C",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_ASKPASS": "true",
    "SSH_ASKPASS": "true",
    "GIT_SSH_COMMAND": "ssh -o BatchMode=yes -o ConnectTimeout=20",
    "GIT_AUTHOR_NAME": "Noesis",
    "GIT_AUTHOR_EMAIL": "noesis@localhost",
    "GIT_COMMITTER_NAME": "Noesis",
    "GIT_COMMITTER_EMAIL": "noesis@localhost",
}
_INHERITED = ("PATH", "HOME", "SSH_AUTH_SOCK", "SSL_CERT_FILE", "SSL_CERT_DIR", "GIT_SSL_CAINFO", "TMPDIR")
_LFS = (
    *("-c", "lfs.locksverify=false"),
    *("-c", "lfs.transfer.maxretries=3"),
    *("-c", "lfs.transfer.maxretrydelay=2"),
)


class GitFailed(SnapshotFailed):
    """A Git command failed; `trouble` says how."""

    def __init__(self, trouble: Trouble) -> None:
        super().__init__(trouble.sentence, again=trouble.again)
        self.trouble = trouble


class Git:
    """Git in one folder, with the token for its remote."""

    def __init__(
        self, folder: Path, *, user: str = "", token: str | None = None, timeout_s: float = TIMEOUT_S
    ) -> None:
        self.folder = folder
        self._user = user or "noesis"
        self._token = token
        self._timeout_s = timeout_s

    async def run(self, *words: str, given: bytes = b"", extra: Mapping[str, str] | None = None) -> str:
        """What a command prints.  Raises GitFailed."""
        with tempfile.TemporaryDirectory(prefix="noesis-git-") as scratch:
            process = await self._start(words, extra or {}, Path(scratch) / "refused")
            try:
                async with asyncio.timeout(self._timeout_s):
                    printed, said = await process.communicate(given)
            except TimeoutError:
                raise GitFailed(_too_slow(self._timeout_s)) from None
            finally:
                await _end(process)
        if process.returncode != 0:
            raise GitFailed(trouble_of((said + b"\n" + printed).decode(errors="replace")))
        return printed.decode(errors="replace")

    async def lines(self, *words: str) -> list[str]:
        """The lines that a command prints.  Raises GitFailed."""
        return (await self.run(*words)).splitlines()

    async def value(self, *words: str) -> str | None:
        """What a command prints; None when it has nothing to say."""
        try:
            return (await self.run(*words)).strip() or None
        except GitFailed:
            return None

    async def _start(
        self, words: tuple[str, ...], extra: Mapping[str, str], refused: Path
    ) -> asyncio.subprocess.Process:
        inherited = {name: os.environ[name] for name in _INHERITED if name in os.environ}
        helper: tuple[str, ...] = ("-c", "credential.helper=")
        secret: dict[str, str] = {}
        if self._token is not None:
            helper = (*helper, "-c", f"credential.helper={_HELPER}")
            secret = {
                "SNAPSHOT_USER": self._user,
                "SNAPSHOT_TOKEN": self._token,
                "SNAPSHOT_REFUSED": str(refused),
            }
        try:
            return await asyncio.create_subprocess_exec(
                "git",
                *helper,
                *_LFS,
                *words,
                cwd=self.folder,
                env={**inherited, **_ENVIRONMENT, **secret, **extra},
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                start_new_session=True,
            )
        except FileNotFoundError as error:
            raise GitFailed(_NO_GIT) from error


_NO_GIT = Trouble(
    Kind.PROGRAM, again=False, sentence="Git is not installed: snapshots need the packages git and git-lfs."
)
NO_LFS = Trouble(
    Kind.PROGRAM, again=False, sentence="Git LFS is not installed: snapshots need the package git-lfs."
)


def _too_slow(timeout_s: float) -> Trouble:
    return Trouble(
        Kind.TIMEOUT,
        again=True,
        sentence=f"Git took longer than {timeout_s:g} seconds and was stopped. The snapshot is kept here.",
    )


async def _end(process: asyncio.subprocess.Process) -> None:
    """End what is left of a command, those that it started among them: LFS runs in processes of its own."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    await process.wait()
