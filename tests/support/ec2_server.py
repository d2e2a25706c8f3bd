"""A small HTTP server that answers EC2, STS and savings plans calls with recorded documents, for the real
boto3 to talk to.

Answers are queued by action and given in order, the last one again and again. `requests` keeps what was
asked. Savings plans are asked by path and JSON, the others by form.
"""

from __future__ import annotations

import json
import threading
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qsl

RECORDED = Path(__file__).resolve().parents[2] / "fixtures" / "providers" / "aws"
# The status that AWS sends with each recorded error.
STATUS = {
    "faulty_throttled.xml": 503,
    "faulty_expired.xml": 400,
    "faulty_wrong_credentials.xml": 401,
    "faulty_denied.xml": 403,
    "faulty_dry_run.xml": 412,
    "faulty_unavailable.xml": 503,
    "faulty_sts_expired.xml": 400,
    "faulty_sts_wrong_credentials.xml": 403,
    "faulty_sts_denied.xml": 403,
}


class RecordedAws:
    """The answers to give and the requests that came."""

    def __init__(self) -> None:
        self.url = ""
        self.requests: list[dict[str, str]] = []
        self._answers: dict[str, list[str | bytes]] = defaultdict(list)
        self._lock = threading.Lock()
        self.answer("GetCallerIdentity", "caller.xml")
        self.answer("DescribeAvailabilityZones", "zones.xml")

    def answer(self, action: str, *documents: str | bytes) -> None:
        """Answer an action with these recorded documents (names) or bodies (bytes), in this order."""
        self._answers[action] = list(documents)

    def asked(self, action: str) -> list[dict[str, str]]:
        """The parameters of each request for an action."""
        return [request for request in self.requests if request["Action"] == action]

    def next(self, request: dict[str, str]) -> tuple[int, bytes]:
        """Status and body for a request."""
        with self._lock:
            self.requests.append(request)
            queue = self._answers[request["Action"]]
            document = queue[0] if len(queue) == 1 else queue.pop(0)
        if isinstance(document, bytes):
            return 200, document
        return STATUS.get(document, 200), (RECORDED / document).read_bytes()


@contextmanager
def recorded_aws() -> Iterator[RecordedAws]:
    """A running server on a free port of this machine."""
    aws = RecordedAws()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
            path = self.path.strip("/")
            request = {"Action": path, **json.loads(body or "{}")} if path else dict(parse_qsl(body, True))
            request["_token"] = self.headers.get("X-Amz-Security-Token", "")
            status, answer = aws.next(request)
            self.send_response(status)
            self.send_header("Content-Type", "application/json" if path else "text/xml;charset=UTF-8")
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, format: str, *args: object) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    aws.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield aws
    finally:
        server.shutdown()
        server.server_close()
        thread.join(timeout=5)
