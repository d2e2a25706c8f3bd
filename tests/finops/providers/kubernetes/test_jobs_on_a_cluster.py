"""Launching Jobs over the REST API of a small cluster that keeps what it was sent."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from finops.frames.launches import ATTEMPT, JOB, OWNER, Ending, LaunchCall, MachineState, Trial, Tried
from finops.providers.base import PermanentError, TransientError
from finops.providers.kubernetes.jobs import job_manifest
from finops.providers.kubernetes.launching import ClusterAccess, KubernetesExecutor
from finops.providers.launching import LaunchOutcomeUnknownError, LaunchRefusedError

NOW = datetime(2026, 11, 2, 9, tzinfo=UTC)
TAGS = {OWNER: "o" * 32, JOB: "42", ATTEMPT: "1", "Name": "Nächtlich = 1"}


@dataclass
class Cluster:
    """Jobs by name; `fault` answers the next call of that method so. `page`: rows in a page."""

    jobs: dict[str, dict[str, Any]] = field(default_factory=dict)
    calls: list[tuple[str, str, str]] = field(default_factory=list)
    fault: dict[str, tuple[int, dict[str, Any], bool]] = field(default_factory=dict)
    page: int = 500

    def answer(self, method: str, path: str, body: Any) -> tuple[int, dict[str, Any]]:
        parts = urlsplit(path)
        name = parts.path.rpartition("/jobs")[2].strip("/")
        asked = parse_qs(parts.query)
        if method == "POST":
            name = body["metadata"]["name"]
            if name in self.jobs:
                return 409, {"reason": "AlreadyExists", "message": "exists"}
            made = {**body, "metadata": {**body["metadata"], "creationTimestamp": "2026-11-02T09:00:01Z"}}
            if "dryRun" not in asked:
                self.jobs[name] = made
            return 201, made
        if method == "DELETE":
            return (200, self.jobs.pop(name)) if name in self.jobs else (404, {"reason": "NotFound"})
        if name:
            return (200, self.jobs[name]) if name in self.jobs else (404, {"reason": "NotFound"})
        wanted = dict(pair.split("=", 1) for pair in asked["labelSelector"][0].split(","))
        fit = [job for job in self.jobs.values() if wanted.items() <= job["metadata"]["labels"].items()]
        start = int(asked.get("continue", ["0"])[0])
        after = start + self.page
        more = {"continue": str(after)} if after < len(fit) else {}
        return 200, {"items": fit[start:after], "metadata": more}


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    kept = Cluster()

    class Handler(BaseHTTPRequestHandler):
        def do(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            body = json.loads(self.rfile.read(length)) if length else None
            kept.calls.append((self.command, self.path, self.headers.get("Authorization", "")))
            fault = kept.fault.pop(self.command, None)
            if fault is not None and fault[2]:
                kept.answer(self.command, self.path, body)
            code, answer = fault[:2] if fault else kept.answer(self.command, self.path, body)
            if code == 0:
                self.close_connection = True
                return
            data = json.dumps(answer).encode()
            self.send_response(code)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_GET = do_POST = do_DELETE = do  # noqa: N815

        def log_message(self, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    kept.address = f"http://127.0.0.1:{server.server_port}"  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    yield kept
    server.shutdown()
    server.server_close()


@pytest.fixture
def executor(cluster: Cluster, tmp_path: Path) -> KubernetesExecutor:
    (tmp_path / "server").write_text(cluster.address + "\n")  # type: ignore[attr-defined]
    (tmp_path / "token").write_text("s3cret\n")
    return KubernetesExecutor(ClusterAccess(tmp_path), "batch", seconds=5)


def call(token: str = "a" * 64, **tags: str) -> LaunchCall:
    manifest = job_manifest(
        name="Nightly", namespace="batch", offer={"market": "spot"}, container={"image": "train:1"},
        settings={"nodes": "karpenter"}, labels={}, annotations={},
    )  # fmt: skip
    return LaunchCall(token, "", "spot", {"manifest": manifest}, {**TAGS, **tags})


def test_the_same_token_makes_one_job_and_another_one_more(cluster: Cluster, executor: Any) -> None:
    first, again = executor.launch(call(), now=NOW), executor.launch(call(), now=NOW)
    assert first.id == again.id == "batch/nightly-aaaaaaaaaaaa"
    assert again.token == "a" * 64
    executor.launch(call("b" * 64), now=NOW)
    assert sorted(cluster.jobs) == ["nightly-aaaaaaaaaaaa", "nightly-bbbbbbbbbbbb"]
    assert {one[2] for one in cluster.calls} == {"Bearer s3cret"}


def test_a_name_that_is_anothers_is_refused(cluster: Cluster, executor: Any) -> None:
    executor.launch(call(), now=NOW)
    cluster.jobs["nightly-aaaaaaaaaaaa"]["metadata"]["annotations"] = {}
    with pytest.raises(LaunchRefusedError) as refused:
        executor.launch(call(), now=NOW)
    assert refused.value.code == "AlreadyExists"


def test_an_answer_that_was_lost_is_unknown_and_the_repeat_finds_it(cluster: Cluster, executor: Any) -> None:
    cluster.fault["POST"] = (0, {}, True)
    with pytest.raises(LaunchOutcomeUnknownError):
        executor.launch(call(), now=NOW)
    assert executor.launch(call(), now=NOW).id == "batch/nightly-aaaaaaaaaaaa"
    assert len(cluster.jobs) == 1


def test_found_by_tags_over_all_pages_with_every_character(cluster: Cluster, executor: Any) -> None:
    cluster.page = 2
    for number in range(5):
        executor.launch(call(str(number) * 64), now=NOW)
    executor.launch(call("e" * 64, **{JOB: "43"}), now=NOW)
    found = executor.find({OWNER: TAGS[OWNER], JOB: "42"}, now=NOW)
    assert [one.token[0] for one in found] == ["0", "1", "2", "3", "4"]
    assert found[0].tags == TAGS


@pytest.mark.parametrize(
    ("status", "body", "error", "code"),
    [
        (
            403,
            {"reason": "Forbidden", "message": "exceeded quota: gpus"},
            LaunchRefusedError,
            "ExceededQuota",
        ),
        (403, {"reason": "Forbidden", "message": "no right"}, LaunchRefusedError, "Forbidden"),
        (422, {"reason": "Invalid", "message": "spec"}, LaunchRefusedError, "Invalid"),
        (429, {"reason": "TooManyRequests", "message": ""}, LaunchRefusedError, "TooManyRequests"),
        (500, {"reason": "InternalError", "message": "etcd"}, LaunchOutcomeUnknownError, None),
        (302, {}, LaunchRefusedError, "302"),
    ],
    ids=["quota", "right", "invalid", "throttled", "open", "redirect"],
)
def test_a_refusal_keeps_its_code(
    cluster: Cluster,
    executor: Any,
    status: int,
    body: dict[str, Any],
    error: type[Exception],
    code: str | None,
) -> None:
    cluster.fault["POST"] = (status, body, False)
    with pytest.raises(error) as refused:
        executor.launch(call(), now=NOW)
    assert getattr(refused.value, "code", None) == code
    assert cluster.jobs == {}


def test_a_job_that_ended_says_how_and_when(cluster: Cluster, executor: Any) -> None:
    executor.launch(call(), now=NOW)
    status = {
        "conditions": [{"type": "Complete", "status": "True"}],
        "completionTime": "2026-11-02T10:00:00Z",
    }
    cluster.jobs["nightly-aaaaaaaaaaaa"]["status"] = status
    [done] = executor.find(TAGS, now=NOW)
    assert (done.state, done.ending) == (MachineState.ENDED, Ending.DONE)
    assert done.ended_at == datetime(2026, 11, 2, 10, tzinfo=UTC)
    cluster.jobs["nightly-aaaaaaaaaaaa"]["status"] = {"conditions": [{"type": "Failed", "status": "True"}]}
    assert executor.find(TAGS, now=NOW)[0].ending is Ending.FAILED


def test_ending_twice_is_no_error(cluster: Cluster, executor: Any) -> None:
    machine = executor.launch(call(), now=NOW)
    executor.end(machine.id, now=NOW)
    executor.end(machine.id, now=NOW)
    assert cluster.jobs == {}


def test_a_dry_run_launches_nothing(cluster: Cluster, executor: Any) -> None:
    assert executor.tried(call(), now=NOW) == Tried(Trial.ALLOWED)
    cluster.fault["POST"] = (403, {"reason": "Forbidden"}, False)
    assert executor.tried(call(), now=NOW).verdict is Trial.PERMISSION
    assert cluster.jobs == {}


def test_without_a_cluster_nothing_was_sent_and_later_may_help(executor: Any, tmp_path: Path) -> None:
    (tmp_path / "server").write_text("http://127.0.0.1:9")
    with pytest.raises(TransientError):
        executor.launch(call(), now=NOW)


@pytest.mark.parametrize(
    ("name", "text"),
    [("server", "http://cluster.example"), ("server", "https://u:p@c.example"), ("token", "")],
    ids=["plain", "password", "empty"],
)
def test_credentials_that_would_leak_or_lack_are_refused(
    executor: Any, tmp_path: Path, name: str, text: str
) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(PermanentError):
        executor.find(TAGS, now=NOW)
