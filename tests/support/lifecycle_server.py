"""A small S3 that keeps lifecycle rules over HTTP, for the real boto3, with its own refusals and faults."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

ACCOUNT = "111122223333"
NS = "http://s3.amazonaws.com/doc/2006-03-01/"
SMALLEST = "x-amz-transition-default-minimum-object-size"


@dataclass
class Rules:
    """What the buckets hold and what was asked."""

    url: str = ""
    account: str = ACCOUNT
    buckets: dict[str, str] = field(default_factory=lambda: {"lake": ""})
    smallest: dict[str, str] = field(default_factory=dict)
    calls: list[tuple[str, str]] = field(default_factory=list)
    # For the next calls of a method: "500 before", "500 after", "deny".
    faults: dict[str, list[str]] = field(default_factory=dict)
    before_put: Callable[[], None] | None = None
    # So many reads after a write still show the old rules.
    lag: int = 0
    old: dict[str, list[str]] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def puts(self) -> int:
        """How often rules were written or deleted."""
        return sum(method in ("PUT", "DELETE") for method, _path in self.calls)

    def ids(self, bucket: str = "lake") -> list[str]:
        """IDs of the rules of a bucket."""
        return re.findall(r"<ID>(.*?)</ID>", self.buckets[bucket])


@contextmanager
def lifecycle_server() -> Iterator[Rules]:
    """A running server on a free port of this machine."""
    rules = Rules()

    class Handler(_Handler):
        held = rules

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    rules.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield rules
    finally:
        server.shutdown()
        server.server_close()
        thread.join(timeout=5)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    held: Rules

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self._send(
            200,
            '<GetCallerIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/">'
            f"<GetCallerIdentityResult><Account>{self.held.account}</Account><Arn>a</Arn><UserId>u</UserId>"
            "</GetCallerIdentityResult></GetCallerIdentityResponse>",
        )

    def do_GET(self) -> None:
        bucket = self._asked("GET")
        if bucket is None:
            return
        shown = self.held.buckets[bucket]
        with self.held.lock:
            queue = self.held.old.get(bucket)
            if queue:
                shown = queue.pop(0)
        if not shown:
            return self._error(404, "NoSuchLifecycleConfiguration")
        headers = {SMALLEST: self.held.smallest[bucket]} if bucket in self.held.smallest else {}
        self._send(200, shown, headers)

    def do_PUT(self) -> None:
        if self.held.before_put is not None:
            self.held.before_put()
        body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
        bucket = self._asked("PUT")
        if bucket is None:
            return
        refusal = _refusal(body)
        if refusal:
            return self._error(400, "InvalidArgument", refusal)
        self._keep(bucket, body)
        self.held.smallest[bucket] = self.headers.get(SMALLEST) or "all_storage_classes_128K"
        self._answer("PUT", 200)

    def do_DELETE(self) -> None:
        bucket = self._asked("DELETE")
        if bucket is None:
            return
        self._keep(bucket, "")
        self._answer("DELETE", 204)

    def _keep(self, bucket: str, body: str) -> None:
        with self.held.lock:
            self.held.old[bucket] = [self.held.buckets[bucket]] * self.held.lag
            self.held.buckets[bucket] = body

    def _answer(self, method: str, status: int) -> None:
        queue = self.held.faults.get(method) or []
        if queue and queue[0] == "500 after":
            queue.pop(0)
            return self._error(500, "InternalError")
        self._send(status, "")

    def _asked(self, method: str) -> str | None:
        """The bucket, or None after an answer with a fault."""
        address = urlsplit(self.path)
        bucket = address.path.strip("/")
        self.held.calls.append((method, self.path))
        assert "lifecycle" in parse_qs(address.query, keep_blank_values=True)
        assert self.headers["x-amz-expected-bucket-owner"] == self.held.account
        queue = self.held.faults.get(method) or []
        if queue and queue[0] in ("500 before", "deny"):
            fault = queue.pop(0)
            self._error(
                403 if fault == "deny" else 500, "AccessDenied" if fault == "deny" else "InternalError"
            )
            return None
        if bucket not in self.held.buckets:
            self._error(404, "NoSuchBucket")
            return None
        return bucket

    def _error(self, status: int, code: str, message: str = "made up") -> None:
        self._send(status, f"<Error><Code>{code}</Code><Message>{message}</Message></Error>")

    def _send(self, status: int, body: str, headers: dict[str, str] | None = None) -> None:
        data = body.encode()
        self.send_response(status)
        for name, value in {"Content-Type": "application/xml", **(headers or {})}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if status != 204:
            self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:
        """Silent."""


def _refusal(body: str) -> str:
    """What the service says to rules that it does not take."""
    ids = re.findall(r"<ID>(.*?)</ID>", body)
    if len(set(ids)) < len(ids):
        return "Rule ID must be unique."
    for one in re.findall(r"<Transition>(.*?)</Transition>", body):
        days = re.search(r"<Days>(\d+)</Days>", one)
        if days and "<StorageClass>STANDARD_IA<" in one and int(days[1]) < 30:
            return "'Days' in Transition action must be greater than or equal to 30"
    return ""
