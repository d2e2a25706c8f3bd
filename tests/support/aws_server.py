"""A small HTTP server that plays S3, STS, Organizations and Cost Explorer for the real boto3.

S3 lists (with Delimiter, pages) and reads (Range, If-Match) the objects put into it; faults are queued by
action and given once each before it answers again. `requests` keeps what was asked.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import format_datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

CALLER = (
    '<GetCallerIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><GetCallerIdentityResult>'
    "<Arn>arn:aws:iam::111122223333:user/x</Arn><UserId>X</UserId><Account>111122223333</Account>"
    "</GetCallerIdentityResult></GetCallerIdentityResponse>"
)
ROLE = (
    '<AssumeRoleResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><AssumeRoleResult><Credentials>'
    "<AccessKeyId>A</AccessKeyId><SecretAccessKey>S</SecretAccessKey><SessionToken>T</SessionToken>"
    "<Expiration>2036-01-01T00:00:00Z</Expiration></Credentials></AssumeRoleResult></AssumeRoleResponse>"
)


@dataclass(frozen=True)
class Fault:
    """An answer with an error; `cut` instead ends the body after so many bytes of a good answer."""

    status: int = 500
    code: str = "InternalError"
    message: str = "made up"
    cut: int | None = None


@dataclass
class Stored:
    """An object of the bucket."""

    body: bytes
    modified: datetime
    etag: str
    encryption: str = ""


@dataclass
class FakeAws:
    """What the server holds, is told to do, and was asked."""

    url: str = ""
    bucket: str = "acme-bills"
    page: int = 1000
    objects: dict[str, Stored] = field(default_factory=dict)
    requests: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    answers: dict[str, list[dict[str, Any]]] = field(default_factory=lambda: defaultdict(list))
    faults: dict[str, list[Fault]] = field(default_factory=lambda: defaultdict(list))
    always: dict[str, Fault] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def put(
        self, key: str, body: bytes | str | dict[str, Any], *, at: datetime | None = None, etag: str = "",
        encryption: str = "",
    ) -> str:  # fmt: skip
        """Store an object; returns its ETag, by default its MD5."""
        data = json.dumps(body).encode() if isinstance(body, dict) else body
        data = data.encode() if isinstance(data, str) else data
        made = etag or hashlib.md5(data, usedforsecurity=False).hexdigest()
        self.objects[key] = Stored(data, at or datetime(2026, 12, 1, 6, tzinfo=UTC), made, encryption)
        return made

    def asked(self, action: str) -> list[dict[str, Any]]:
        """The parameters of each request for an action."""
        return [given for name, given in self.requests if name == action]

    def fault(self, action: str) -> Fault | None:
        """The next fault of an action."""
        with self.lock:
            queue = self.faults[action]
            return queue.pop(0) if queue else self.always.get(action)


@contextmanager
def fake_aws() -> Iterator[FakeAws]:
    """A running server on a free port of this machine."""
    aws = FakeAws()

    class Handler(_Handler):
        fake = aws

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


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    fake: FakeAws

    def do_GET(self) -> None:
        address = urlsplit(self.path)
        query = {name: values[0] for name, values in parse_qs(address.query, keep_blank_values=True).items()}
        bucket, _, key = unquote(address.path).lstrip("/").partition("/")
        action = "GetObject" if key else "ListObjectsV2"
        self.fake.requests.append((action, {"Key": key, **query, **dict(self.headers.items())}))
        fault = self.fake.fault(action)
        if fault is not None and fault.cut is None:
            return self._refuse(fault)
        if bucket != self.fake.bucket:
            return self._refuse(Fault(404, "NoSuchBucket", "The specified bucket does not exist"))
        return self._read(key, fault) if key else self._list(query)

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
        target = self.headers.get("X-Amz-Target", "")
        if target:
            action, given = target.rpartition(".")[2], json.loads(body)
        else:
            given = {name: values[0] for name, values in parse_qs(body).items()}
            action = given.get("Action", "")
        self.fake.requests.append((action, given))
        fault = self.fake.fault(action)
        if fault is not None:
            return self._refuse(fault, as_json=bool(target))
        if not target:
            return self._send(200, {"AssumeRole": ROLE}.get(action, CALLER).encode(), "text/xml")
        queue = self.fake.answers[action]
        answer = queue.pop(0) if len(queue) > 1 else queue[0]
        return self._send(200, json.dumps(answer).encode(), "application/x-amz-json-1.1")

    def _list(self, query: dict[str, str]) -> None:
        prefix, delimiter = query.get("prefix", ""), query.get("delimiter", "")
        after = query.get("continuation-token", "")
        entries: dict[str, str | None] = {}
        for key in sorted(self.fake.objects):
            if not key.startswith(prefix):
                continue
            head, mark, _ = key[len(prefix) :].partition(delimiter) if delimiter else (key, "", "")
            entries[f"{prefix}{head}{mark}" if mark else key] = None if mark else key
        names = [name for name in sorted(entries) if name > after]
        page, more = names[: self.fake.page], len(names) > self.fake.page
        parts = [
            f"<CommonPrefixes><Prefix>{escape(n)}</Prefix></CommonPrefixes>"
            if entries[n] is None
            else self._row(n)
            for n in page
        ]
        token = f"<NextContinuationToken>{escape(page[-1])}</NextContinuationToken>" if more else ""
        document = (
            '<?xml version="1.0"?><ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">'
            f"<IsTruncated>{str(more).lower()}</IsTruncated>{token}{''.join(parts)}</ListBucketResult>"
        )
        self._send(200, document.encode(), "application/xml")

    def _row(self, key: str) -> str:
        item = self.fake.objects[key]
        return (
            f"<Contents><Key>{escape(key)}</Key><LastModified>{item.modified:%Y-%m-%dT%H:%M:%S.000Z}</LastModified>"
            f"<ETag>&quot;{item.etag}&quot;</ETag><Size>{len(item.body)}</Size></Contents>"
        )

    def _read(self, key: str, fault: Fault | None) -> None:
        item = self.fake.objects.get(key)
        if item is None:
            return self._refuse(Fault(404, "NoSuchKey", "The specified key does not exist."))
        wanted = self.headers.get("If-Match", "").strip('"')
        if wanted and wanted != item.etag:
            return self._refuse(
                Fault(412, "PreconditionFailed", "At least one of the pre-conditions did not hold")
            )
        first, _, last = (self.headers.get("Range") or "bytes=0-").removeprefix("bytes=").partition("-")
        start, end = int(first), int(last or len(item.body) - 1) + 1
        body = item.body[start:end]
        headers = {"ETag": f'"{item.etag}"', "Last-Modified": format_datetime(item.modified, usegmt=True)}
        if item.encryption:
            headers["x-amz-server-side-encryption"] = item.encryption
        if start:
            headers["Content-Range"] = f"bytes {start}-{end - 1}/{len(item.body)}"
        self._send(
            206 if start else 200, body, "binary/octet-stream", headers, cut=fault.cut if fault else None
        )

    def _refuse(self, fault: Fault, *, as_json: bool = False) -> None:
        if as_json:
            body = json.dumps({"__type": fault.code, "message": fault.message}).encode()
            return self._send(fault.status, body, "application/x-amz-json-1.1")
        inner = f"<Code>{fault.code}</Code><Message>{escape(fault.message)}</Message>"
        s3 = self.command != "POST"
        text = f"<Error>{inner}</Error>" if s3 else f"<ErrorResponse><Error>{inner}</Error></ErrorResponse>"
        return self._send(fault.status, text.encode(), "application/xml")

    def _send(
        self,
        status: int,
        body: bytes,
        kind: str,
        headers: dict[str, str] | None = None,
        cut: int | None = None,
    ) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        if self.command == "HEAD":
            return
        self.wfile.write(body if cut is None else body[:cut])
        if cut is not None:
            self.close_connection = True

    def log_message(self, format: str, *args: object) -> None:
        return
