"""What Git and Git LFS say when something fails, in plain words."""

from __future__ import annotations

import enum

import msgspec
import re2


class Kind(enum.StrEnum):
    """What went wrong; `LEASE` alone has an answer of its own, a branch of our own beside the other one."""

    LEASE = "lease"
    AUTH = "auth"
    ABSENT = "absent"
    UNREACHABLE = "unreachable"
    QUOTA = "quota"
    TOO_LARGE = "too_large"
    HOOK = "hook"
    OBJECTS = "objects"
    LOCKED = "locked"
    DISK = "disk"
    TIMEOUT = "timeout"
    PROGRAM = "program"
    OTHER = "other"


class Trouble(msgspec.Struct, frozen=True):
    """A failure: what kind, whether another try later may help, and a sentence that says what to do."""

    kind: Kind
    again: bool
    sentence: str


# The first that fits wins: what is told before a general "failed to push" is the reason for it.
_SIGNS: tuple[tuple[Kind, bool, str, str], ...] = (
    (
        Kind.QUOTA,
        False,
        r"exceeded its LFS (budget|quota)|over (its|your) (data|storage) quota|bandwidth limit|storage limit|quota exceeded"
        r"|HTTP 507|status(code)?:? 507|insufficient storage",
        "The remote has no more room for LFS files. Make room or buy storage there, or keep fewer snapshots"
        " (NOESIS_GIT_LFS_KEEP).",
    ),
    (
        Kind.TOO_LARGE,
        False,
        r"HTTP 413|status(code)?:? 413|request entity too large|payload too large|exceeds the (maximum|limit)|GH001",
        "The remote refused a file as too large. Raise its limit for LFS files, or push to another remote.",
    ),
    (
        Kind.AUTH,
        False,
        r"authentication failed|could not read (username|password)|authorization error|invalid credentials|HTTP 401|HTTP 403"
        r"|batch response: (forbidden|unauthorized)|told us to quit|git credentials for .{0,300} not found|permission denied|access denied|authentication required|host key verification failed|not authorized|status(code)?:? 40[13]",
        "The remote did not let us in. Check NOESIS_GIT_LFS_TOKEN (it needs the right to write) or the SSH key.",
    ),
    (
        Kind.ABSENT,
        False,
        r"repository .{0,200}not found|not found: did you run git update-server-info|does not appear to be a git repository"
        r"|does not exist|HTTP 404|no such file or directory.{0,80}\.git|repository not found",
        "There is no repository at this address, or the token may not see it. Check NOESIS_GIT_LFS_REPO.",
    ),
    (
        Kind.LEASE,
        False,
        r"stale info|non-fast-forward|fetch first|cannot lock ref .{0,200}reference already exists|\(failed to update ref\)",
        "Somebody else has pushed to this branch.",
    ),
    (
        Kind.HOOK,
        False,
        r"pre-receive hook declined|hook declined|remote rejected|protected branch",
        "The remote refused the push by a rule of its own (a hook or a protected branch). Allow forced pushes to this branch,"
        " or name another in NOESIS_GIT_LFS_BRANCH.",
    ),
    (
        Kind.UNREACHABLE,
        True,
        r"could not resolve host|couldn.t connect|connection (refused|reset|timed out|closed)|network is unreachable|no route to host"
        r"|failed to connect|early EOF|unexpected disconnect|hung up unexpectedly|timed out|HTTP 5\d\d|status(code)?:? 5\d\d"
        r"|EOF$|TLS|SSL|operation too slow|the requested URL returned error: 5|server error: ",
        "The remote does not answer. The snapshot is kept here and will be pushed with the next one.",
    ),
    (
        Kind.OBJECTS,
        False,
        r"missing or corrupt local objects|unable to find source for object|object does not exist|missing object|smudge filter lfs failed",
        "Files of an earlier snapshot are missing here. The local copy of the repository is made anew at the next snapshot.",
    ),
    (
        Kind.LOCKED,
        True,
        r"index\.lock.{0,40}file exists|unable to create .{0,200}\.lock",
        "Another Git process works in the snapshot folder.",
    ),
    (Kind.DISK, True, r"no space left on device|disk quota exceeded", "There is no room left on the disk."),
)
_PATTERNS = tuple((kind, again, re2.compile("(?i)(?m)" + sign), words) for kind, again, sign, words in _SIGNS)

_SECRETS = re2.compile(r"(?i)(://)[^/\s@]+@|(authorization: *\w+ +)\S+|(password=)\S+")
_MOST_CHARS = 200


def trouble_of(output: str) -> Trouble:
    """What the output of a command that failed means."""
    for kind, again, pattern, words in _PATTERNS:
        if pattern.search(output):
            return Trouble(kind, again, words)
    said = last_line(output)
    return Trouble(Kind.OTHER, True, f"Git failed: {said}" if said else "Git failed and did not say why.")


def last_line(output: str) -> str:
    """The last thing that was said, without credentials."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    told = [line for line in lines if line.startswith(("fatal:", "error:"))] or lines
    return without_credentials(told[-1])[:_MOST_CHARS] if told else ""


def without_credentials(text: str) -> str:
    """A text in which addresses and headers hold no secret."""
    return str(_SECRETS.sub(r"\1\2\3", text))
