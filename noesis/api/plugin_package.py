"""The OpenClaw plugin as a package to install, made of the plugin's own files."""

from __future__ import annotations

import functools
import gzip
import hashlib
import io
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
from litestar import Request, Response, get

from noesis.api.access import PUBLIC

PLUGIN = Path(__file__).resolve().parents[1] / "plugin"
"""The plugin's folder: a link to the repository's, and a copy in a wheel."""

PATH = "/plugin/openclaw-noesis.tgz"

# npm gives the files of every package this time (1985-10-26), since some tools take none before 1980.
_MODIFIED = 499_162_500


class _Manifest(msgspec.Struct):
    files: list[str]


class Package(msgspec.Struct, frozen=True):
    """The package's bytes with the first 16 hex digits of their SHA-256."""

    body: bytes
    digest: str


@functools.cache
def package() -> Package:
    """The package as `npm pack` lays it out; the same files give the same bytes."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, path in packed_files(PLUGIN):
            body = path.read_bytes()
            entry = tarfile.TarInfo(f"package/{name}")
            entry.size, entry.mtime, entry.mode = len(body), _MODIFIED, 0o644
            archive.addfile(entry, io.BytesIO(body))
    body = gzip.compress(packed.getvalue(), mtime=0)
    return Package(body, hashlib.sha256(body).hexdigest()[:16])


def packed_files(folder: Path) -> Iterator[tuple[str, Path]]:
    """The files that the package holds, by their names in it: those that package.json names, and itself."""
    manifest = msgspec.json.decode((folder / "package.json").read_bytes(), type=_Manifest)
    for name in sorted({"package.json", *manifest.files}):
        path = folder / name
        below = sorted(each for each in path.rglob("*") if each.is_file()) if path.is_dir() else [path]
        for each in below:
            yield each.relative_to(folder).as_posix(), each


@get(PATH, opt=PUBLIC, include_in_schema=False, sync_to_thread=True)
def serve_package(request: Request[Any, Any, Any]) -> Response[bytes]:
    """The package; whoever has it already gets 304."""
    found = package()
    headers = {"ETag": f'"{found.digest}"', "Cache-Control": "no-cache"}
    if headers["ETag"] in request.headers.get("if-none-match", ""):
        return Response(b"", status_code=304, headers=headers, media_type="application/gzip")
    return Response(found.body, headers=headers, media_type="application/gzip")


HANDLERS = [serve_package]
