"""The administrator's way in: password, one-time set-up link, sessions."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import secrets
import time

import argon2
import msgspec
from itsdangerous import BadSignature, URLSafeTimedSerializer

from noesis.control import Control
from noesis.errors import Conflict, InvalidInput, SettingsError, TooManyRequests, Unauthorized

SESSION_S = 7 * 24 * 3600
"""A session ends after a week (s)."""

MIN_PASSWORD = 10
_MAX_PASSWORD = 1024
_COMMON = frozenset({"changeme", "password", "admin", "noesis", "administrator", "1234567890", "password123"})
_TRIES = 5
_TRIES_WITHIN_S = 300.0
_MAX_ADDRESSES = 10_000

_PASSWORD = "admin_password_hash"  # noqa: S105
_SETUP = "setup_link_hash"
_KEY = "session_key"
_EPOCH = "session_epoch"


class Session(msgspec.Struct, frozen=True):
    """What the cookie says; it is worth something only while the epoch is the present one."""

    epoch: str


class Admin:
    """Checks the password and signs sessions.

    Hashing takes 19 MiB and a fifth of a second, so one runs at a time, in a thread; wrong tries
    are counted by address, on the monotonic clock.
    """

    def __init__(self, control: Control) -> None:
        self._control = control
        # OWASP's recommendation for Argon2id: 19 MiB, two passes, one lane.
        self._hasher = argon2.PasswordHasher(time_cost=2, memory_cost=19_456, parallelism=1)
        self._hashing = asyncio.Semaphore(1)
        self._failures: dict[str, list[float]] = {}
        self._serializer: URLSafeTimedSerializer | None = None

    async def is_set_up(self) -> bool:
        """Whether there is a password."""
        return await self._control.value(_PASSWORD) is not None

    async def set_password(self, password: str) -> None:
        """Set the password and end every session.  Raises InvalidInput when it is weak."""
        check_password(password)
        async with self._hashing:
            hashed = await asyncio.to_thread(self._hasher.hash, password)
        await self._control.set_value(_PASSWORD, hashed)
        await self._control.set_value(_EPOCH, secrets.token_hex(8))

    async def adopt_password(self, password: str) -> None:
        """Use the password of the settings.  Raises SettingsError when it is weak."""
        try:
            if not await self._verify(password):
                await self.set_password(password)
        except InvalidInput as error:
            raise SettingsError(f"NOESIS_ADMIN_PASSWORD: {error.message}") from error

    async def new_setup_secret(self) -> str:
        """A one-time secret for the set-up link; the one before it is worthless from now on."""
        secret = secrets.token_urlsafe(24)
        await self._control.set_value(_SETUP, _digest(secret))
        return secret

    async def setup_secret_is_valid(self, secret: str) -> bool:
        """Whether this is the secret of the set-up link and there is no password yet."""
        stored = await self._control.value(_SETUP)
        if stored is None or await self.is_set_up():
            return False
        return hmac.compare_digest(stored.encode(), _digest(secret).encode())

    async def set_up(self, secret: str, password: str) -> None:
        """Set the first password.  Raises Unauthorized, InvalidInput or Conflict."""
        if await self.is_set_up():
            raise Conflict("The password is set already. Log in with it.")
        if not await self.setup_secret_is_valid(secret):
            raise Unauthorized(
                "This set-up link is not valid (any more). The server prints a new one at its start."
            )
        await self.set_password(password)
        await self._control.set_value(_SETUP, "")

    async def log_in(self, password: str, address: str) -> str:
        """The cookie of a new session.  Raises Unauthorized or TooManyRequests."""
        self._check_tries(address)
        if not await self._verify(password):
            self._failures.setdefault(address, []).append(time.monotonic())
            raise Unauthorized("The password is not right.")
        self._failures.pop(address, None)
        return await self.new_session()

    async def new_session(self) -> str:
        """A signed cookie."""
        session = Session(await self._epoch())
        return (await self._signer()).dumps(msgspec.to_builtins(session))

    async def session_is_valid(self, cookie: str) -> bool:
        """Whether the cookie is ours, not too old, and of the present epoch."""
        try:
            loaded = (await self._signer()).loads(cookie, max_age=SESSION_S)
            session = msgspec.convert(loaded, Session)
        except (BadSignature, msgspec.ValidationError):
            return False
        return hmac.compare_digest(session.epoch.encode(), (await self._epoch()).encode())

    async def end_sessions(self) -> None:
        """Log everybody out."""
        await self._control.set_value(_EPOCH, secrets.token_hex(8))

    async def _verify(self, password: str) -> bool:
        hashed = await self._control.value(_PASSWORD)
        if hashed is None or len(password) > _MAX_PASSWORD:
            return False
        async with self._hashing:
            return await asyncio.to_thread(self._matches, hashed, password)

    def _matches(self, hashed: str, password: str) -> bool:
        try:
            return self._hasher.verify(hashed, password)
        except argon2.exceptions.VerificationError:
            return False

    def _check_tries(self, address: str) -> None:
        now = time.monotonic()
        recent = [at for at in self._failures.get(address, []) if now - at < _TRIES_WITHIN_S]
        if len(self._failures) > _MAX_ADDRESSES:
            self._failures.clear()
        self._failures[address] = recent
        if len(recent) >= _TRIES:
            wait = _TRIES_WITHIN_S - (now - recent[0])
            raise TooManyRequests(f"Too many wrong passwords. Try again in {wait / 60:.0f} minutes.")

    async def _signer(self) -> URLSafeTimedSerializer:
        if self._serializer is None:
            key = await self._control.value(_KEY)
            if key is None:
                await self._control.set_value(_KEY, secrets.token_hex(32))
                key = await self._control.value(_KEY)
            self._serializer = URLSafeTimedSerializer(
                str(key), salt="noesis-session", signer_kwargs={"digest_method": hashlib.sha256}
            )
        return self._serializer

    async def _epoch(self) -> str:
        return await self._control.value(_EPOCH) or "0"


def check_password(password: str) -> None:
    """Raise InvalidInput when the password is too short, too long or one that everybody tries."""
    if password.lower() in _COMMON:
        raise InvalidInput(
            "This password is one that everybody tries first. Choose another.", field="password"
        )
    if not MIN_PASSWORD <= len(password) <= _MAX_PASSWORD:
        raise InvalidInput(f"The password must have at least {MIN_PASSWORD} characters.", field="password")


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()
