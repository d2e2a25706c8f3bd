"""Prometheus and CloudWatch played by a small server: samples, pieces, pages, gaps and errors."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from finops.providers.aws.metrics import cloudwatch_measures
from finops.providers.aws.session import Access, client, new_session
from finops.providers.base import PermanentError, TransientError
from finops.providers.files.measures import summary
from finops.providers.prometheus import range_query

START = datetime(2026, 3, 1, tzinfo=UTC)
Answer = Callable[[str, bytes], tuple[int, Any]]


@contextmanager
def server(answer: Answer) -> Iterator[str]:
    """A server whose every answer `answer(path, body)` gives."""

    class Handler(BaseHTTPRequestHandler):
        def _give(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            status, document = answer(self.path, body)
            content = json.dumps(document).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/x-amz-json-1.0")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_POST = _give  # noqa: N815 - names of the standard library

        def log_message(self, *args: Any) -> None:
            pass

    found = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=found.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{found.server_address[1]}"
    finally:
        found.shutdown()
        found.server_close()


def test_a_range_is_asked_in_pieces_and_gaps_stay_gaps() -> None:
    asked: list[dict[str, list[str]]] = []

    def answer(path: str, _body: bytes) -> tuple[int, Any]:
        given = parse_qs(urlsplit(path).query)
        asked.append(given)
        at = int(given["start"][0])
        values = [[at, "12.5"], [at + 300, "NaN"], [at + 600, "20"]]
        rows = [{"metric": {"instance_id": "i-1"}, "values": values}, {"metric": {}, "values": values}]
        return 200, {"status": "success", "data": {"resultType": "matrix", "result": rows}}

    with server(answer) as url:
        found = range_query(url, "up", START, START + timedelta(days=60), ("instance_id",))
    assert list(found) == [("i-1",)]
    assert [value for _at, value in found[("i-1",)]] == [12.5, 20.0] * 2
    assert len(asked) == 2
    assert asked[0]["step"] == ["300"]


@pytest.mark.parametrize(
    ("status", "document", "kind"),
    [
        (400, {"status": "error", "error": "bad query"}, PermanentError),
        (503, {}, TransientError),
        (429, {}, TransientError),
        (200, {"status": "error", "error": "no"}, PermanentError),
    ],
)
def test_errors_say_whether_trying_again_helps(status: int, document: Any, kind: type[Exception]) -> None:
    with server(lambda _path, _body: (status, document)) as url, pytest.raises(kind):
        range_query(url, "up", START, START + timedelta(hours=1), ("x",))


def test_what_is_no_address_is_refused_before_anything_is_asked() -> None:
    with pytest.raises(PermanentError):
        range_query("file:///etc/passwd", "up", START, START + timedelta(hours=1), ("x",))


def test_cloudwatch_adds_up_both_directions_over_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "x")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "x")
    asked: list[dict[str, Any]] = []

    def answer(_path: str, body: bytes) -> tuple[int, Any]:
        given = json.loads(body)
        asked.append(given)
        queries = {one["Id"]: one["MetricStat"] for one in given["MetricDataQueries"]}
        second = "NextToken" in given
        results = []
        for name, one in queries.items():
            metric = one["Metric"]["MetricName"]
            value = {"CPUUtilization": 10.0, "NetworkIn": 37.5e6, "NetworkOut": 37.5e6}.get(metric)
            if value is None:
                continue
            at = START.timestamp() + (300 if second else 0)
            results.append({"Id": name, "Timestamps": [at], "Values": [value * (2 if second else 1)]})
        return 200, {"MetricDataResults": results, **({} if second else {"NextToken": "more"})}

    with server(answer) as url:
        access = Access(endpoint_url=url)
        session = new_session(region_name="us-east-1")
        cloudwatch = client(session, access, "cloudwatch", region="us-east-1")
        found = {
            (resource, one.metric): one
            for resource, one in cloudwatch_measures(
                cloudwatch, ["i-1", "arn:aws:s3:::x"], START, START + timedelta(days=14), summarise=summary
            )
        }
    assert set(found) == {("i-1", "cpu"), ("i-1", "network")}
    # 37.5 MB in five minutes are 1 Mbit/s, both directions 2, on the second page twice that.
    network = found[("i-1", "network")]
    assert (network.low, network.high, network.samples) == (2.0, 4.0, 2)
    assert found[("i-1", "cpu")].p99 == 20.0
    assert len(asked) == 2
