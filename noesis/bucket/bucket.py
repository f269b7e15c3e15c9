"""Files in a bucket: put in pieces, read back in pieces, listed, deleted."""

from __future__ import annotations

import hashlib
import html
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import re2

from noesis.bucket.http import BucketHttp
from noesis.bucket.signing import EMPTY_SHA256
from noesis.errors import BucketFailed, Cancelled

PART_BYTES = 16 << 20
"""Size of the parts a large file is sent in; a part that fails is sent again alone."""

_MOST_PARTS = 9_000
_PIECE = 1 << 20
_MOST_SMALL = 1 << 20
_MOST_LISTED = 100_000

OnBytes = Callable[[int], None]
Cancel = Callable[[], bool]


class Found(msgspec.Struct, frozen=True):
    """An object that is listed; `size` is in bytes."""

    key: str
    size: int


class Bucket:
    """Puts and gets files; each call may take long and belongs in a thread.  Every one raises BucketFailed."""

    def __init__(self, http: BucketHttp, part_bytes: int = PART_BYTES) -> None:
        self.place = http.place
        self._http = http
        self._part_bytes = part_bytes

    def put(self, source: Path, key: str, on_bytes: OnBytes, cancelled: Cancel) -> str:
        """Send a file and return its SHA-256 (hex) as it was sent.  Raises Cancelled or OSError besides."""
        size = source.stat().st_size
        if size > self._part_bytes:
            return self._put_in_parts(source, key, size, on_bytes, cancelled)
        whole = hashlib.sha256()
        self._send(source, 0, size, key, {}, whole, on_bytes, cancelled)
        return whole.hexdigest()

    def put_small(self, key: str, data: bytes) -> None:
        """Store a few bytes."""
        digest = hashlib.sha256(data).hexdigest()
        self._http.ask("PUT", key, body=lambda: (data,), size=len(data), sha256=digest)

    def small(self, key: str) -> bytes:
        """A few bytes."""
        found = bytearray()
        for piece in self.pieces(key):
            found += piece
            if len(found) > _MOST_SMALL:
                raise BucketFailed(f"{key} in {self.place.address} is not what Noesis wrote.")
        return bytes(found)

    def pieces(self, key: str) -> Iterator[bytes]:
        """An object piece by piece; where the connection breaks off, it goes on from there."""
        done, tag, pauses = 0, "", list(self._http.pauses_s)
        while True:
            headers = {"Range": f"bytes={done}-", "If-Match": tag} if done else {}
            try:
                with self._http.answer("GET", key, headers=headers) as response:
                    if done and response.status_code != 206:
                        raise BucketFailed(f"{self.place.endpoint} cannot go on reading where it broke off.")
                    tag = response.headers.get("etag", "")
                    for piece in response.iter_raw():
                        done += len(piece)
                        pauses = list(self._http.pauses_s)
                        yield piece
                    return
            except BucketFailed as error:
                if not error.retryable or not pauses:
                    raise
            time.sleep(pauses.pop(0))

    def delete(self, key: str) -> None:
        """Delete an object; that it is gone already is no error."""
        self._http.ask("DELETE", key)

    def list(self, prefix: str) -> list[Found]:
        """The objects whose keys begin with this and hold no further slash."""
        found: list[Found] = []
        query = {"list-type": "2", "prefix": prefix, "delimiter": "/"}
        while len(found) < _MOST_LISTED:
            page = self._http.ask("GET", "", query)[0].decode("utf-8", "replace")
            found += [
                Found(_of(each, "Key"), int(_of(each, "Size") or 0)) for each in _every(page, "Contents")
            ]
            token = _of(page, "NextContinuationToken")
            if _of(page, "IsTruncated") != "true" or not token:
                break
            query["continuation-token"] = token
        return found

    def _put_in_parts(self, source: Path, key: str, size: int, on_bytes: OnBytes, cancelled: Cancel) -> str:
        self._clear_unfinished(key)
        upload = _of(self._http.ask("POST", key, {"uploads": ""})[0].decode("utf-8", "replace"), "UploadId")
        length = max(self._part_bytes, -(-size // _MOST_PARTS))
        whole, tags = hashlib.sha256(), []
        try:
            for number, start in enumerate(range(0, size, length), 1):
                query = {"partNumber": str(number), "uploadId": upload}
                part = min(length, size - start)
                tags.append(self._send(source, start, part, key, query, whole, on_bytes, cancelled))
            told = "".join(
                f"<Part><PartNumber>{number}</PartNumber><ETag>{html.escape(tag)}</ETag></Part>"
                for number, tag in enumerate(tags, 1)
            )
            body = f"<CompleteMultipartUpload>{told}</CompleteMultipartUpload>".encode()
            digest = hashlib.sha256(body).hexdigest()
            self._http.ask(
                "POST", key, {"uploadId": upload}, body=lambda: (body,), size=len(body), sha256=digest
            )
        except (BucketFailed, Cancelled, OSError):
            self._abort(key, upload)
            raise
        return whole.hexdigest()

    def _send(
        self,
        source: Path,
        start: int,
        size: int,
        key: str,
        query: dict[str, str],
        whole: hashlib._Hash,
        on_bytes: OnBytes,
        cancelled: Cancel,
    ) -> str:
        """Send a part of a file, which is read once to be hashed and once to be sent; its tag."""
        digest = hashlib.sha256()
        for piece in _read(source, start, size):
            digest.update(piece)
            whole.update(piece)
            if cancelled():
                raise Cancelled("It was cancelled; nothing was changed.")
        _, headers = self._http.ask(
            "PUT",
            key,
            query,
            body=lambda: _read(source, start, size),
            size=size,
            sha256=digest.hexdigest() if size else EMPTY_SHA256,
        )
        on_bytes(size)
        return str(headers.get("etag", ""))

    def _clear_unfinished(self, key: str) -> None:
        """Drop what an upload of the same file left that was killed: its parts would be paid for."""
        page = self._http.ask("GET", "", {"uploads": "", "prefix": key})[0].decode("utf-8", "replace")
        for each in _every(page, "Upload"):
            if _of(each, "Key") == key:
                self._abort(key, _of(each, "UploadId"))

    def _abort(self, key: str, upload: str) -> None:
        try:
            self._http.ask("DELETE", key, {"uploadId": upload})
        except BucketFailed:
            # The failure before it is the one to tell; the next upload of this file clears it.
            return


def _read(source: Path, start: int, size: int) -> Iterator[bytes]:
    with source.open("rb") as file:
        file.seek(start)
        while size and (piece := file.read(min(size, _PIECE))):
            size -= len(piece)
            yield piece


def _every(xml: str, tag: str) -> list[str]:
    return [found.group(1) for found in re2.finditer(f"(?s)<{tag}>(.*?)</{tag}>", xml)]


def _of(xml: str, tag: str) -> str:
    found = re2.search(f"(?s)<{tag}>(.*?)</{tag}>", xml)
    return html.unescape(found.group(1)).strip() if found else ""
