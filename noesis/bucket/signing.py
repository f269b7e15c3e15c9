"""Signs requests to a bucket: AWS Signature Version 4, as the S3 API reference describes it for headers."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping
from datetime import UTC, datetime
from urllib.parse import quote

import msgspec

_ALGORITHM = "AWS4-HMAC-SHA256"
EMPTY_SHA256 = hashlib.sha256(b"").hexdigest()


class Keys(msgspec.Struct, frozen=True):
    """The two halves of an access key."""

    key_id: str
    secret: str

    def __repr__(self) -> str:
        """Without the secret: what is shown in a traceback or a log is read by others."""
        return f"Keys({self.key_id[:4]}…)"


def query_of(parameters: Mapping[str, str]) -> str:
    """A query in the one form that is signed and sent: sorted, and quoted as S3 quotes."""
    return "&".join(f"{_quoted(name)}={_quoted(value)}" for name, value in sorted(parameters.items()))


def signed(
    method: str,
    path: str,
    query: str,
    headers: Mapping[str, str],
    body_sha256: str,
    *,
    keys: Keys,
    region: str,
    now_ms: int,
) -> dict[str, str]:
    """The headers to send: those given (`Host` among them), and the date, the body's hash and the signature.

    `path` and `query` are as they are sent; `now_ms` is the time in ms since 1970.
    """
    at = datetime.fromtimestamp(now_ms / 1000, UTC)
    stamp, day = f"{at:%Y%m%dT%H%M%SZ}", f"{at:%Y%m%d}"
    sent = {**headers, "X-Amz-Content-Sha256": body_sha256, "X-Amz-Date": stamp}
    lowered = {name.lower(): " ".join(value.split()) for name, value in sent.items()}
    names = ";".join(sorted(lowered))
    lines = "".join(f"{name}:{lowered[name]}\n" for name in sorted(lowered))
    request = "\n".join((method, path, query, lines, names, body_sha256))
    scope = f"{day}/{region}/s3/aws4_request"
    to_sign = "\n".join((_ALGORITHM, stamp, scope, hashlib.sha256(request.encode()).hexdigest()))
    key = f"AWS4{keys.secret}".encode()
    for part in (day, region, "s3", "aws4_request"):
        key = hmac.digest(key, part.encode(), "sha256")
    signature = hmac.digest(key, to_sign.encode(), "sha256").hex()
    credential = f"{keys.key_id}/{scope}"
    told = f"{_ALGORITHM} Credential={credential}, SignedHeaders={names}, Signature={signature}"
    return {**sent, "Authorization": told}


def _quoted(text: str) -> str:
    return quote(text, safe="-_.~")
