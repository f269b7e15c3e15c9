"""A Git host over HTTP on loopback: Git's own back end, and a small Git LFS server beside it, both behind a token.

Speaks the LFS batch API (basic transfer) as hosts do, and fails on demand.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
import subprocess
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec

TOKEN = "test-token-of-the-git-host"


class Faults(msgspec.Struct):
    """What goes wrong: the status and text of every LFS batch, how long to wait first, a lost object, no locked door."""

    batch_status: int = 200
    batch_text: str = ""
    upload_status: int = 200
    hang_s: float = 0.0
    lose: set[str] = msgspec.field(default_factory=set)
    public: bool = False


class GitHost:
    """The running host: its address, where its repositories lie, its faults, and what it was asked."""

    def __init__(self, root: Path, port: int) -> None:
        self.root = root
        self.url = f"http://127.0.0.1:{port}"
        self.faults = Faults()
        self.asked: list[tuple[str, str]] = []

    def repository(self, name: str) -> str:
        """Make an empty repository; its address."""
        path = self.root / f"{name}.git"
        subprocess.run(["git", "init", "-q", "--bare", "-b", "main", str(path)], check=True)
        subprocess.run(["git", "-C", str(path), "config", "http.receivepack", "true"], check=True)
        return f"{self.url}/{name}.git"

    def objects(self) -> dict[str, bytes]:
        """What was uploaded, by its hash."""
        return {path.name: path.read_bytes() for path in sorted((self.root / "lfs").glob("*"))}


@contextlib.contextmanager
def git_host(root: Path) -> Iterator[GitHost]:
    """A host on a free port of loopback until the context ends."""
    (root / "lfs").mkdir(parents=True, exist_ok=True)
    server = _Server(("127.0.0.1", 0), _Handler)
    server.daemon_threads = True
    host = server.host_of_tests = GitHost(root, server.server_address[1])  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield host
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class _Server(ThreadingHTTPServer):
    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hangs up is no error of ours."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    @property
    def host(self) -> GitHost:
        found: GitHost = self.server.host_of_tests  # type: ignore[attr-defined]
        return found

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        pass

    def do_GET(self) -> None:
        self._answer()

    def do_POST(self) -> None:
        self._answer()

    def do_PUT(self) -> None:
        self._answer()

    def _answer(self) -> None:
        parts = urlsplit(self.path)
        self.host.asked.append((self.command, self.path))
        body = self._body()
        if self.host.faults.hang_s:
            time.sleep(self.host.faults.hang_s)
        if not self._let_in(parts.path, parts.query):
            self._send(401, b"", {"WWW-Authenticate": 'Basic realm="host"'})
        elif parts.path.endswith("/info/lfs/objects/batch"):
            self._batch(body)
        elif parts.path.startswith("/objects/"):
            self._object(parts.path.rsplit("/", 1)[1], body)
        elif "/info/lfs/" in parts.path:
            self._send(404, b'{"message": "not here"}', {"Content-Type": "application/vnd.git-lfs+json"})
        else:
            self._git(parts.path, parts.query, body)

    def _let_in(self, path: str, query: str) -> bool:
        if self.host.faults.public and "git-receive-pack" not in path + query and "/objects" not in path:
            return True
        scheme, _, told = self.headers.get("Authorization", "").partition(" ")
        return scheme == "Basic" and base64.b64decode(told).decode().partition(":")[2] == TOKEN

    def _body(self) -> bytes:
        if self.headers.get("Transfer-Encoding") != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        pieces = []
        while size := int(self.rfile.readline().strip() or b"0", 16):
            pieces.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(pieces)

    def _batch(self, body: bytes) -> None:
        faults = self.host.faults
        kind = {"Content-Type": "application/vnd.git-lfs+json"}
        if faults.batch_status != 200:
            self._send(faults.batch_status, json.dumps({"message": faults.batch_text}).encode(), kind)
            return
        asked = json.loads(body)
        header = {"Authorization": self.headers["Authorization"]}
        objects: list[dict[str, Any]] = []
        for wanted in asked["objects"]:
            path = self.host.root / "lfs" / wanted["oid"]
            is_there = path.is_file() and wanted["oid"] not in faults.lose
            action = {"href": f"{self.host.url}/objects/{wanted['oid']}", "header": header}
            entry: dict[str, Any] = {"oid": wanted["oid"], "size": wanted["size"]}
            if asked["operation"] == "upload" and not is_there:
                entry["actions"] = {"upload": action}
            elif asked["operation"] == "download" and is_there:
                entry["actions"] = {"download": action}
            elif asked["operation"] == "download":
                entry["error"] = {"code": 404, "message": "Object does not exist"}
            objects.append(entry)
        self._send(200, json.dumps({"transfer": "basic", "objects": objects}).encode(), kind)

    def _object(self, oid: str, body: bytes) -> None:
        path = self.host.root / "lfs" / oid
        if self.command == "GET":
            self._send(200, path.read_bytes(), {"Content-Type": "application/octet-stream"})
        elif self.host.faults.upload_status != 200:
            self._send(self.host.faults.upload_status, b"{}", {})
        elif hashlib.sha256(body).hexdigest() == oid:
            path.write_bytes(body)
            self._send(200, b"", {})
        else:
            self._send(422, b"{}", {})

    def _git(self, path: str, query: str, body: bytes) -> None:
        """Git's own program answers, as under any web server."""
        environment = {
            "PATH": "/usr/bin:/bin",
            "GIT_PROJECT_ROOT": str(self.host.root),
            "GIT_HTTP_EXPORT_ALL": "1",
            "REMOTE_USER": "noesis",
            "REQUEST_METHOD": self.command,
            "PATH_INFO": path,
            "QUERY_STRING": query,
            "CONTENT_TYPE": self.headers.get("Content-Type", ""),
            "CONTENT_LENGTH": str(len(body)),
            "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
            "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
        }
        ran = subprocess.run(
            ["git", "http-backend"], input=body, env=environment, capture_output=True, check=False
        )
        head, _, content = ran.stdout.partition(b"\r\n\r\n")
        headers = dict(line.split(": ", 1) for line in head.decode().split("\r\n") if line)
        status = int(headers.pop("Status", "200 OK").split(" ")[0])
        self._send(status, content, headers)

    def _send(self, status: int, content: bytes, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in headers.items():
            if name.lower() != "content-length":
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)
