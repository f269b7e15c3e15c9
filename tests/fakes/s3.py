"""A small S3 server on 127.0.0.1 that checks every signature for itself, and misbehaves as it is told.

Signatures are checked by the steps of AWS Signature Version 4, from what arrived; nothing of the product is used.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import itertools
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, quote, unquote

from tests.fakes.http_server import HttpServer, Reply, Request

KEY_ID, SECRET, REGION, BUCKET = "AKIATESTKEY", "test/Secret+Key", "eu-test-1", "test-bucket"


@dataclass
class Faults:
    """What goes wrong; `status` answers all with it, `only` narrows that to a method.

    `busy` is how many requests are answered 503 first, `cut` how many answers to GET break off in the
    middle, `wrong` flips a byte of what is read, `stall_s` lets every answer wait, `late_error` ends
    an upload with an error that comes after 200.
    """

    status: int = 0
    code: str = ""
    only: str = ""
    busy: int = 0
    cut: int = 0
    wrong: bool = False
    stall_s: float = 0.0
    late_error: bool = False


@dataclass
class FakeS3:
    """Owns the server; `objects` is the bucket, `uploads` what was begun and not ended, `seen` what was asked."""

    objects: dict[str, bytes] = field(default_factory=dict)
    uploads: dict[str, tuple[str, dict[int, bytes]]] = field(default_factory=dict)
    faults: Faults = field(default_factory=Faults)
    seen: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    page: int = 1000

    def __post_init__(self) -> None:
        self._server = HttpServer(self._answer)
        self._numbers = itertools.count(1)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.port}"

    def start(self) -> None:
        self._server.start()

    def stop(self) -> None:
        self._server.stop()

    async def _answer(self, request: Request) -> Reply:
        faults = self.faults
        self.seen.append(f"{request.method} {request.path}")
        await asyncio.sleep(faults.stall_s)
        if faults.busy:
            faults.busy -= 1
            return _error(503, "SlowDown")
        if faults.status and faults.only in ("", request.method):
            return _error(faults.status, faults.code)
        wrong = _what_is_wrong(request)
        if wrong:
            self.refused.append(wrong)
            return _error(403, wrong)
        path, _, raw = request.path.partition("?")
        bucket, _, key = unquote(path).lstrip("/").partition("/")
        if bucket != BUCKET:
            return _error(404, "NoSuchBucket")
        query = dict(parse_qsl(raw, keep_blank_values=True))
        return self._about_key(request, key, query) if key else self._listed(query)

    def _about_key(self, request: Request, key: str, query: dict[str, str]) -> Reply:
        if "uploads" in query or "uploadId" in query:
            return self._multipart(request, key, query)
        if request.method == "PUT":
            self.objects[key] = request.body
            return Reply(200, headers={"ETag": _tag(request.body)})
        if request.method == "DELETE":
            self.objects.pop(key, None)
            return Reply(204)
        return self._read(request, key)

    def _multipart(self, request: Request, key: str, query: dict[str, str]) -> Reply:
        if "uploads" in query:
            upload = f"upload+{next(self._numbers)}/="
            self.uploads[upload] = (key, {})
            return _xml(
                f"<InitiateMultipartUploadResult><UploadId>{upload}</UploadId></InitiateMultipartUploadResult>"
            )
        upload = query["uploadId"]
        if upload not in self.uploads or self.uploads[upload][0] != key:
            return _error(404, "NoSuchUpload")
        parts = self.uploads[upload][1]
        if request.method == "PUT":
            parts[int(query["partNumber"])] = request.body
            return Reply(200, headers={"ETag": _tag(request.body)})
        if request.method == "DELETE":
            del self.uploads[upload]
            return Reply(204)
        told = re.findall(r"<PartNumber>(\d+)</PartNumber><ETag>(.*?)</ETag>", request.body.decode())
        expected = [(str(number), _tag(parts[number]).replace('"', "&quot;")) for number in sorted(parts)]
        if told != expected:
            return _error(400, "InvalidPart")
        if self.faults.late_error:
            return _xml("<Error><Code>InternalError</Code></Error>")
        self.objects[key] = b"".join(parts[number] for number in sorted(parts))
        del self.uploads[upload]
        return _xml("<CompleteMultipartUploadResult></CompleteMultipartUploadResult>")

    def _read(self, request: Request, key: str) -> Reply:
        if key not in self.objects:
            return _error(404, "NoSuchKey")
        data = self.objects[key]
        headers, start = {"ETag": _tag(data)}, 0
        if "range" in request.headers:
            start = int(request.headers["range"].removeprefix("bytes=").removesuffix("-"))
            if request.headers.get("if-match") != headers["ETag"]:
                return _error(412, "PreconditionFailed")
        if self.faults.wrong and len(data) > 1000:
            data = data[:500] + bytes([data[500] ^ 1]) + data[501:]
        sent = data[start:]
        if self.faults.cut and len(sent) > 1000:
            self.faults.cut -= 1
            headers["Content-Length"] = str(len(sent))
            return Reply(206 if start else 200, body=sent[: len(sent) // 2], headers=headers, torn=True)
        return Reply(206 if start else 200, body=sent, headers=headers)

    def _listed(self, query: dict[str, str]) -> Reply:
        prefix = query.get("prefix", "")
        if "uploads" in query:
            found = "".join(
                f"<Upload><Key>{key}</Key><UploadId>{upload}</UploadId></Upload>"
                for upload, (key, _) in self.uploads.items()
                if key.startswith(prefix)
            )
            return _xml(f"<ListMultipartUploadsResult>{found}</ListMultipartUploadsResult>")
        after = query.get("continuation-token", "").removeprefix("after+/")
        keys = sorted(
            key
            for key in self.objects
            if key.startswith(prefix) and "/" not in key[len(prefix) :] and key > after
        )
        shown, more = keys[: self.page], len(keys) > self.page
        told = "".join(
            f"<Contents><Key>{key}</Key><Size>{len(self.objects[key])}</Size></Contents>" for key in shown
        )
        token = f"<NextContinuationToken>after+/{shown[-1]}</NextContinuationToken>" if more else ""
        return _xml(
            f"<ListBucketResult><IsTruncated>{str(more).lower()}</IsTruncated>{token}{told}</ListBucketResult>"
        )


@contextmanager
def serving() -> Iterator[FakeS3]:
    """A server while the block lasts."""
    server = FakeS3()
    server.start()
    try:
        yield server
    finally:
        server.stop()


def _what_is_wrong(request: Request) -> str:
    """The S3 error that the request's signature earns, or nothing."""
    form = r"AWS4-HMAC-SHA256 Credential=([^/]+)/(\d{8})/([^/]+)/s3/aws4_request, SignedHeaders=([^,]+), Signature=(\w+)"
    found = re.fullmatch(form, request.headers.get("authorization", ""))
    if found is None:
        return "AccessDenied"
    key_id, day, region, names, signature = found.groups()
    if key_id != KEY_ID:
        return "InvalidAccessKeyId"
    if region != REGION:
        return "AuthorizationHeaderMalformed"
    stamp = request.headers["x-amz-date"]
    body_sha = request.headers["x-amz-content-sha256"]
    needed = {"host", *(name for name in request.headers if name.startswith("x-amz-"))}
    if not stamp.startswith(day) or not needed <= set(names.split(";")):
        return "AccessDenied"
    if hashlib.sha256(request.body).hexdigest() != body_sha:
        return "XAmzContentSHA256Mismatch"
    path, _, raw = request.path.partition("?")
    pairs = sorted((quote(n, "-_.~"), quote(v, "-_.~")) for n, v in parse_qsl(raw, keep_blank_values=True))
    canonical = "\n".join(
        [
            request.method,
            quote(unquote(path), "/-_.~"),
            "&".join(f"{name}={value}" for name, value in pairs),
            *(f"{name}:{request.headers[name]}" for name in names.split(";")),
            "",
            names,
            body_sha,
        ]
    )
    scope = f"{day}/{region}/s3/aws4_request"
    text = f"AWS4-HMAC-SHA256\n{stamp}\n{scope}\n{hashlib.sha256(canonical.encode()).hexdigest()}"
    mac: Callable[[bytes, str], bytes] = lambda key, said: hmac.new(key, said.encode(), "sha256").digest()  # noqa: E731
    key = f"AWS4{SECRET}".encode()
    for part in scope.split("/"):
        key = mac(key, part)
    return "" if hmac.compare_digest(mac(key, text).hex(), signature) else "SignatureDoesNotMatch"


def _tag(data: bytes) -> str:
    return f'"{hashlib.sha256(data).hexdigest()[:32]}"'


def _xml(text: str) -> Reply:
    return Reply(content_type="application/xml", body=f'<?xml version="1.0"?>\n{text}'.encode())


def _error(status: int, code: str) -> Reply:
    return Reply(
        status, "application/xml", f"<Error><Code>{code}</Code><Message>no</Message></Error>".encode()
    )
