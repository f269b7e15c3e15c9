"""What a bucket says when it refuses, in plain words: what is wrong, and what to do about it."""

from __future__ import annotations

import re2

from noesis.bucket.place import Place
from noesis.errors import BucketFailed

_CODE = re2.compile(r"<Code>([A-Za-z0-9.]{1,60})</Code>")
_KEY = ("InvalidAccessKeyId", "SignatureDoesNotMatch", "InvalidToken", "ExpiredToken", "TokenRefreshRequired")
_REGION = (
    "AuthorizationHeaderMalformed",
    "PermanentRedirect",
    "TemporaryRedirect",
    "IllegalLocationConstraintException",
)
_FULL = (
    "QuotaExceeded",
    "InsufficientStorage",
    "XMinioStorageFull",
    "XMinioAdminBucketQuotaExceeded",
    "StorageQuotaExceeded",
)
_BUSY = ("SlowDown", "RequestTimeout", "InternalError", "ServiceUnavailable")


def code_of(body: bytes) -> str:
    """The name that S3 gives an error, or nothing."""
    found = _CODE.search(body.decode("utf-8", "replace"))
    return found.group(1) if found else ""


def is_passing(status: int, code: str = "") -> bool:
    """Whether the same request may work in a moment."""
    return status == 429 or (status >= 500 and status != 507 and code not in _FULL) or code in _BUSY


def refusal(place: Place, status: int, code: str) -> BucketFailed:
    """The error that an answer means."""
    return BucketFailed(_words(place, status, code), again=is_passing(status, code))


def unreachable(place: Place, why: str) -> BucketFailed:
    """The error of a server that does not answer."""
    return BucketFailed(
        f"{place.endpoint} does not answer ({why}). Look at the network and the address.", again=True
    )


def _words(place: Place, status: int, code: str) -> str:
    told = f"HTTP {status}{f', {code}' if code else ''}"
    if code in _KEY or status == 401:
        return (
            f"{place.endpoint} does not know this access key, or the secret is not its own ({told}). Check"
            " NOESIS_BACKUP_S3_KEY_ID and NOESIS_BACKUP_S3_SECRET."
        )
    if code == "RequestTimeTooSkewed":
        return f"{place.endpoint} refuses because this machine's clock is wrong ({told}). Set the clock."
    if code in _REGION or status in (301, 302, 307, 308):
        return (
            f"The bucket {place.bucket} lies in another region ({told}). Set NOESIS_BACKUP_S3_REGION to it."
        )
    if code in _FULL or status == 507:
        return f"There is no more room in {place.address} ({told}). Make room there, or keep fewer backups."
    if code == "NoSuchBucket":
        return (
            f"There is no bucket {place.bucket} at {place.endpoint} ({told}). Make it, or correct its name."
        )
    if status == 403:
        return (
            f"The access key may not do this in {place.address} ({told}). It needs the rights to list, read, write"
            " and delete there."
        )
    if status == 404:
        return f"It is not there (any more) in {place.address} ({told})."
    if is_passing(status, code):
        return f"{place.endpoint} is overloaded or failing ({told})."
    return f"{place.endpoint} refused ({told})."
