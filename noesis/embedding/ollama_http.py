"""Exchange JSON with one Ollama server, with every limit a server of unknown health needs."""

from __future__ import annotations

import asyncio
import ipaddress
import string
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any, TypeVar

import httpx
import msgspec

from noesis.embedding.ollama_wire import ErrorBody, OllamaTrouble, Trouble, trouble_of
from noesis.errors import SettingsError

T = TypeVar("T")

MAX_BODY = 32 * 1024 * 1024
MAX_LINE = 64 * 1024
CONNECT_TIMEOUT_S = 3.0
HOST_CHARACTERS = frozenset(string.ascii_letters + string.digits + ".:-_")


class OllamaHttp:
    """Owns the connections.  Redirects, proxies and compressed bodies are not accepted."""

    def __init__(self, base_url: str, *, max_body: int = MAX_BODY) -> None:
        url = checked_url(base_url)
        self.host = url.netloc.decode("ascii")
        self._max_body = max_body
        self._client = httpx.AsyncClient(
            base_url=url,
            follow_redirects=False,
            trust_env=False,
            headers={"Accept-Encoding": "identity", "User-Agent": "noesis"},
            # Reading has no limit of its own: the deadline around the exchange bounds slow drips too.
            timeout=httpx.Timeout(None, connect=CONNECT_TIMEOUT_S),
        )

    async def get(self, path: str, answer: type[T], *, timeout_s: float) -> T:
        """`GET path` decoded as `answer`.  Raises OllamaTrouble."""
        return await self._exchange("GET", path, None, answer, timeout_s)

    async def post(self, path: str, body: Mapping[str, Any], answer: type[T], *, timeout_s: float) -> T:
        """`POST path` decoded as `answer`.  Raises OllamaTrouble."""
        return await self._exchange("POST", path, body, answer, timeout_s)

    async def lines(
        self, path: str, body: Mapping[str, Any], answer: type[T], *, stall_s: float
    ) -> AsyncGenerator[T, None]:
        """Each line of a streamed answer; a pause of `stall_s` ends it.  Raises OllamaTrouble."""
        async with AsyncExitStack() as stack:
            async with self._deadline(stall_s):
                response = await stack.enter_async_context(self._sending("POST", path, body))
            chunks = response.aiter_raw()
            pending = b""
            while True:
                async with self._deadline(stall_s):
                    chunk = await anext(chunks, b"")
                *complete, pending = (pending + chunk).split(b"\n")
                if len(pending) > MAX_LINE:
                    raise OllamaTrouble(Trouble.RUNNER, f"{self.host} sends lines without end.")
                for line in filter(None, complete if chunk else [pending]):
                    yield self._decode(line, answer)
                if not chunk:
                    return

    async def close(self) -> None:
        """Close the connections."""
        await self._client.aclose()

    async def _exchange(
        self, method: str, path: str, body: Mapping[str, Any] | None, answer: type[T], timeout_s: float
    ) -> T:
        async with self._deadline(timeout_s), self._sending(method, path, body) as response:
            return self._decode(await self._read(response), answer)

    @asynccontextmanager
    async def _deadline(self, seconds: float) -> AsyncIterator[None]:
        try:
            async with asyncio.timeout(seconds):
                yield
        except TimeoutError as error:
            message = f"{self.host} did not answer within {seconds:g} s."
            raise OllamaTrouble(Trouble.TIMEOUT, message) from error

    @asynccontextmanager
    async def _sending(
        self, method: str, path: str, body: Mapping[str, Any] | None
    ) -> AsyncIterator[httpx.Response]:
        content = None if body is None else msgspec.json.encode(body)
        headers = {"Content-Type": "application/json"} if content else {}
        try:
            async with self._client.stream(method, path, content=content, headers=headers) as response:
                if response.status_code != 200:
                    raise trouble_of(response.status_code, await self._error_text(response), self.host)
                yield response
        except (httpx.ConnectError, httpx.TimeoutException) as error:
            raise OllamaTrouble(Trouble.NO_ANSWER, f"{self.host} cannot be reached.") from error
        except httpx.HTTPError as error:
            raise OllamaTrouble(Trouble.RUNNER, f"{self.host} broke off the answer.") from error

    async def _read(self, response: httpx.Response) -> bytes:
        if response.headers.get("content-encoding", "identity") != "identity":
            raise OllamaTrouble(
                Trouble.RUNNER, f"{self.host} compresses its answer, which was not asked for."
            )
        body = bytearray()
        # Raw, so that nothing is unpacked before it has been counted.
        async for chunk in response.aiter_raw():
            body += chunk
            if len(body) > self._max_body:
                raise OllamaTrouble(
                    Trouble.RUNNER, f"{self.host} answers with more than {self._max_body} bytes."
                )
        return bytes(body)

    async def _error_text(self, response: httpx.Response) -> str:
        try:
            return msgspec.json.decode(await self._read(response), type=ErrorBody).error
        except msgspec.MsgspecError:
            return ""

    def _decode(self, body: bytes, answer: type[T]) -> T:
        try:
            return msgspec.json.decode(body, type=answer)
        except msgspec.MsgspecError as error:
            message = f"{self.host} gave an answer that is not what Ollama answers."
            raise OllamaTrouble(Trouble.RUNNER, message) from error


def checked_url(text: str) -> httpx.URL:
    """The address of a server.  Raises SettingsError when it can be none.

    Link-local addresses are refused because cloud machines serve their credentials there.
    """
    try:
        url = httpx.URL(text.rstrip("/"))
    except httpx.InvalidURL as error:
        raise SettingsError("The Ollama address is not a URL.") from error
    if url.scheme not in ("http", "https") or not url.host or not HOST_CHARACTERS.issuperset(url.host):
        raise SettingsError("The Ollama address must begin with http:// or https:// and name a host.")
    if url.userinfo:
        raise SettingsError("The Ollama address must not hold a user name or password.")
    if url.query or url.fragment:
        raise SettingsError("The Ollama address must not hold a query or fragment.")
    if _is_link_local(url.host):
        raise SettingsError("The Ollama address must not be a link-local one.")
    return url


def _is_link_local(host: str) -> bool:
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None)
    return address.is_link_local or bool(mapped and mapped.is_link_local)
