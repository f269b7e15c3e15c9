"""Where snapshots are pushed to: reading `NOESIS_GIT_LFS_REPO`."""

from __future__ import annotations

import re
from typing import Literal
from urllib.parse import urlsplit

import msgspec

from noesis.errors import SettingsError

Way = Literal["https", "http", "ssh", "file"]

FORGE = "https://github.com"
"""What a bare `user/repo` means, as the original had it."""

_SHORT = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]*/[A-Za-z0-9._-]+")
_SCP = re.compile(r"[A-Za-z0-9._-]+@[A-Za-z0-9.-]+:[^\s:][^\s]*")
_LOCAL = ("localhost", "127.0.0.1", "::1")


class Remote(msgspec.Struct, frozen=True):
    """A repository to push to; the address holds no secret."""

    address: str
    way: Way

    @property
    def takes_token(self) -> bool:
        """Whether a token may be sent there: never in the clear to another machine."""
        return self.way == "https" or (self.way == "http" and urlsplit(self.address).hostname in _LOCAL)


def remote_of(raw: str) -> Remote:
    """The repository that a setting names: `user/repo`, an https, ssh or file address, or a path.

    Raises SettingsError; the message never repeats what was given, since it may hold a password.
    """
    text = raw.strip()
    if _SHORT.fullmatch(text):
        return Remote(f"{FORGE}/{text.removesuffix('.git')}.git", "https")
    if text.startswith("/"):
        return Remote(f"file://{text}", "file")
    if "://" not in text and _SCP.fullmatch(text):
        return Remote(text, "ssh")
    return _from_url(text)


def _from_url(text: str) -> Remote:
    if not text.isprintable() or " " in text or text.startswith("-"):
        raise _refused("is not an address")
    parts = urlsplit(text)
    ways: dict[str, Way] = {"https": "https", "http": "http", "ssh": "ssh", "file": "file"}
    if parts.scheme not in ways:
        raise _refused("must be user/repo, an https, ssh or file address, or the path of a repository")
    if parts.password is not None or (parts.username is not None and parts.scheme != "ssh"):
        raise _refused("must not hold a name or a password: give the token in NOESIS_GIT_LFS_TOKEN")
    if parts.scheme != "file" and not parts.hostname:
        raise _refused("names no host")
    if parts.query or parts.fragment:
        raise _refused("must end with the path of the repository")
    if parts.scheme == "http" and parts.hostname not in _LOCAL:
        raise _refused("must use https: over http everybody on the way can read the memories and the token")
    return Remote(text, ways[parts.scheme])


def _refused(why: str) -> SettingsError:
    return SettingsError(f"NOESIS_GIT_LFS_REPO {why}.")
