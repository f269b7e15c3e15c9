"""Signed requests to one bucket: bounded in time, tried again when that may help, no redirects."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from urllib.parse import quote

import httpx

from noesis.bucket.place import Place
from noesis.bucket.signing import EMPTY_SHA256, query_of, signed
from noesis.bucket.trouble import code_of, is_passing, refusal, unreachable
from noesis.errors import BucketFailed

_CONNECT_S = 10.0
_MOST_ANSWER_BYTES = 8 << 20
_MOST_ERROR_BYTES = 1 << 16


class BucketHttp:
    """Owns the connections to one bucket; use it in one thread, and close it.

    `timeout_s` is how long the server may say nothing or take no more bytes, `pauses_s` the waits before
    a request is tried again: so many tries more.
    """

    def __init__(
        self,
        place: Place,
        now_ms: Callable[[], int],
        *,
        timeout_s: float,
        pauses_s: tuple[float, ...],
    ) -> None:
        self.place = place
        self.pauses_s = pauses_s
        self._now_ms = now_ms
        self._client = httpx.Client(
            follow_redirects=False,
            trust_env=False,
            headers={"Accept-Encoding": "identity", "User-Agent": "noesis"},
            timeout=httpx.Timeout(timeout_s, connect=min(timeout_s, _CONNECT_S)),
        )

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def ask(
        self,
        method: str,
        key: str = "",
        query: Mapping[str, str] | None = None,
        *,
        body: Callable[[], Iterable[bytes]] = tuple,
        size: int = 0,
        sha256: str = EMPTY_SHA256,
    ) -> tuple[bytes, httpx.Headers]:
        """The whole of a small answer; `body` gives the bytes to send anew for each try.

        Raises BucketFailed.
        """
        for pause_s in (*self.pauses_s, None):
            try:
                with self.answer(method, key, query, body=body(), size=size, sha256=sha256) as response:
                    return _all_of(response, self.place), response.headers
            except BucketFailed as error:
                if pause_s is None or not error.retryable:
                    raise
            time.sleep(pause_s)
        raise AssertionError("the last try returns or raises")

    @contextmanager
    def answer(
        self,
        method: str,
        key: str = "",
        query: Mapping[str, str] | None = None,
        *,
        body: Iterable[bytes] = (),
        size: int = 0,
        sha256: str = EMPTY_SHA256,
        headers: Mapping[str, str] | None = None,
    ) -> Iterator[httpx.Response]:
        """One try, to be read while the block lasts.  Raises BucketFailed, also when reading breaks off."""
        path = quote(f"/{self.place.bucket}/{key}".rstrip("/"), safe="/-_.~")
        asked = query_of(query or {})
        host = self.place.endpoint.partition("://")[2]
        sent = signed(
            method,
            path,
            asked,
            {"Host": host, **(headers or {})},
            sha256,
            keys=self.place.keys,
            region=self.place.region,
            now_ms=self._now_ms(),
        )
        # Without the length httpx would send pieces in a form that S3 does not take.
        sent["Content-Length"] = str(size)
        url = f"{self.place.endpoint}{path}{f'?{asked}' if asked else ''}"
        try:
            with self._client.stream(method, url, headers=sent, content=iter(body)) as response:
                if response.status_code not in (200, 204, 206):
                    raise self._refused(response)
                yield response
        except httpx.TimeoutException as error:
            raise unreachable(self.place, "too slow") from error
        except httpx.TransportError as error:
            raise unreachable(self.place, _reason(error)) from error

    def _refused(self, response: httpx.Response) -> BucketFailed:
        body = b""
        for piece in response.iter_raw():
            body += piece
            if len(body) > _MOST_ERROR_BYTES:
                break
        return refusal(self.place, response.status_code, code_of(body))


def _all_of(response: httpx.Response, place: Place) -> bytes:
    found = bytearray()
    for piece in response.iter_raw():
        found += piece
        if len(found) > _MOST_ANSWER_BYTES:
            raise BucketFailed(f"{place.endpoint} gave an answer that no bucket gives.")
    code = code_of(bytes(found[:_MOST_ERROR_BYTES]))
    if code and found.lstrip().startswith((b"<Error", b"<?xml")) and b"<Error>" in found:
        # A long merge begins with 200, and may end with an error all the same.
        raise refusal(place, 500 if is_passing(500, code) else 400, code)
    return bytes(found)


def _reason(error: httpx.TransportError) -> str:
    if isinstance(error, httpx.ConnectError):
        return "no connection"
    return "the connection broke off"
