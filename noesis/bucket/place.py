"""Where copies of backups go: reading the NOESIS_BACKUP_S3_* settings and `s3://` addresses."""

from __future__ import annotations

from urllib.parse import urlsplit

import msgspec
import re2

from noesis.bucket.signing import Keys
from noesis.errors import InvalidInput, SettingsError
from noesis.settings import Settings

_BUCKET = re2.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")
_PREFIX = re2.compile(r"[A-Za-z0-9._-]+(/[A-Za-z0-9._-]+)*")
_REGION = re2.compile(r"[a-z0-9-]{1,40}")
_LOCAL = ("localhost", "127.0.0.1", "::1")
SCHEME = "s3://"


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """A bucket and the folder in it; `endpoint` is a scheme, a host and perhaps a port."""

    bucket: str
    prefix: str
    endpoint: str
    region: str
    keys: Keys

    @property
    def address(self) -> str:
        """What people call it; it holds no secret."""
        return f"{SCHEME}{self.bucket}/{self.prefix}".rstrip("/")

    def key(self, name: str) -> str:
        """The key of an object of this name."""
        return f"{self.prefix}/{name}" if self.prefix else name

    def name_in(self, address: str) -> str:
        """The name of the object at `s3://bucket/key`.  Raises InvalidInput when it lies elsewhere."""
        start = f"{self.address}/"
        if not address.startswith(start) or "/" in address.removeprefix(start):
            raise InvalidInput(
                f"Only what lies in {self.address} (NOESIS_BACKUP_S3_BUCKET and _PREFIX) can be fetched.",
                field="backup",
            )
        return address.removeprefix(start)


def place_of(settings: Settings) -> Place | None:
    """The bucket that the settings name, or None.

    Raises SettingsError naming the variable; no message repeats a value that may hold a secret.
    """
    bucket = settings.backup_s3_bucket
    if bucket is None:
        return None
    if not _BUCKET.fullmatch(bucket):
        raise SettingsError("NOESIS_BACKUP_S3_BUCKET must be a bucket's name alone, such as my-backups.")
    prefix = settings.backup_s3_prefix.strip("/")
    if prefix and not _PREFIX.fullmatch(prefix):
        raise SettingsError("NOESIS_BACKUP_S3_PREFIX must be of letters, digits, . _ - and / between them.")
    if not _REGION.fullmatch(settings.backup_s3_region):
        raise SettingsError("NOESIS_BACKUP_S3_REGION must be a region's name, such as eu-central-1.")
    key_id, secret = settings.backup_s3_key_id, settings.backup_s3_secret
    if key_id is None or secret is None:
        missing = "KEY_ID" if key_id is None else "SECRET"
        raise SettingsError(
            f"NOESIS_BACKUP_S3_{missing} is missing: NOESIS_BACKUP_S3_BUCKET needs an access key."
        )
    return Place(
        bucket=bucket,
        prefix=prefix,
        endpoint=_endpoint(settings),
        region=settings.backup_s3_region,
        keys=Keys(key_id, secret),
    )


def _endpoint(settings: Settings) -> str:
    given = settings.backup_s3_endpoint
    if given is None:
        return f"https://s3.{settings.backup_s3_region}.amazonaws.com"
    try:
        parts = urlsplit(given.rstrip("/"))
        port = parts.port
    except ValueError as error:
        raise _refused("is not an address") from error
    if parts.scheme not in ("https", "http") or not parts.hostname:
        raise _refused("must begin with https:// or http:// and name a host")
    if parts.username is not None or parts.path or parts.query or parts.fragment:
        raise _refused("must be a scheme, a host and perhaps a port, and nothing else")
    if parts.scheme == "http" and parts.hostname not in _LOCAL and settings.backup_key_file is None:
        raise _refused(
            "must use https: over http everybody on the way can read the memories, unless backups are encrypted"
            " (NOESIS_BACKUP_KEY_FILE)"
        )
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    return f"{parts.scheme}://{host}" if port is None else f"{parts.scheme}://{host}:{port}"


def _refused(why: str) -> SettingsError:
    return SettingsError(f"NOESIS_BACKUP_S3_ENDPOINT {why}.")
