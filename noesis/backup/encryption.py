"""Encryption of archives in the age format (age-encryption.org/v1), to the key in a file of its own.

The key file is what `age-keygen` writes: a line AGE-SECRET-KEY-1…, comments begin with #.  It is read
when it is needed and never goes into an archive.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pyrage

from noesis.errors import BackupRefused, Conflict, SettingsError


def new_key(path: Path) -> str:
    """Write a new key to a file that is not there yet, for its owner alone; returns its public key.

    Raises Conflict when there is such a file, SettingsError when it cannot be written.
    """
    identity = pyrage.x25519.Identity.generate()
    public = str(identity.to_public())
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            file.write(f"# public key: {public}\n{identity}\n")
            file.flush()
            os.fsync(file.fileno())
    except FileExistsError as error:
        raise Conflict(f"{path} is there already; a key is never written over.") from error
    except OSError as error:
        raise SettingsError(f"The key cannot be written to {path}: {error.strerror}.") from error
    return public


def public_key(path: Path) -> str:
    """The public key of a key file.  Raises SettingsError."""
    return str(_identity(path).to_public())


def encrypt(source: Path, target: Path, key_file: Path) -> None:
    """Encrypt a file to the public key of a key file.  Raises SettingsError or OSError."""
    recipient = _identity(key_file).to_public()
    with source.open("rb") as plain, target.open("wb") as file:
        pyrage.encrypt_io(plain, file, [recipient])
        file.flush()
        os.fsync(file.fileno())


def decrypt(source: Path, target: Path, key_file: Path | None) -> None:
    """Decrypt a file.  Raises BackupRefused when the key is not the one, or the file is damaged."""
    if key_file is None:
        raise BackupRefused(f"{source.name} is encrypted: name its key file in NOESIS_BACKUP_KEY_FILE.")
    identity = _identity(key_file)
    try:
        with source.open("rb") as file, target.open("wb") as plain:
            pyrage.decrypt_io(file, plain, [identity])
    except pyrage.DecryptError as error:
        raise BackupRefused(
            f"{source.name} is damaged, or encrypted to another key than this one."
        ) from error
    except OSError as error:
        # What ends in the middle of a piece is told as an input error without a number.
        if error.errno is not None:
            raise
        raise BackupRefused(
            f"{source.name} is damaged, or encrypted to another key than this one."
        ) from error


def _identity(path: Path) -> Any:
    try:
        lines = path.expanduser().read_text(encoding="ascii").splitlines()
        keys = [line.strip() for line in lines if line.strip() and not line.startswith("#")]
        return pyrage.x25519.Identity.from_str(keys[0])
    except OSError as error:
        raise SettingsError(f"NOESIS_BACKUP_KEY_FILE ({path}) cannot be read: {error.strerror}.") from error
    except (UnicodeDecodeError, IndexError, pyrage.IdentityError) as error:
        raise SettingsError(
            f"NOESIS_BACKUP_KEY_FILE ({path}) holds no age key; `noesis backup --new-key FILE` makes one."
        ) from error
