"""The client from the tree, as a program, against a small server: exit codes, and the key is nowhere."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

CLIENT = Path(__file__).parents[2] / "client"
KEY = "opk_canary_SECRET"
asked: list[tuple[dict[str, str], dict[str, Any]]] = []


def document(code: Any) -> dict[str, Any]:
    return {
        "verdict": "deny", "exit_code": code, "sentence": "Deny: +80.00 USD a month.",
        "policies": [{"verdict": "deny", "title": "Rise", "reason": "80 is above"}],
        "unpriced": [{"address": "aws_x.y", "reason": "no price"}],
        "alternatives": [{"sentence": "Spot", "saving": {"expected": "5"}, "currency": "USD"}],
    }  # fmt: skip


def error(field: str) -> dict[str, Any]:
    return {"error": {"code": "invalid", "message": "told", "fields": [{"field": field}]}}


# By the `project` of the question: status and body.
ANSWERS: dict[str, tuple[int, Any]] = {
    **{f"code-{code}": (200, document(code)) for code in (0, 10, 20, 30, 7, None, True)},
    "input": (400, error("input")),
    "policies": (400, error("policies")),
    "key": (401, error("")),
    "large": (413, error("")),
    "broken": (500, "<html>"),
    "moved": (302, ""),
    "list": (200, [1]),
}


class Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        asked.append((dict(self.headers), body))
        status, answer = ANSWERS[body["project"]]
        self.send_response(status)
        if status == 302:
            self.send_header("Location", "http://elsewhere.test/")
        self.end_headers()
        self.wfile.write((answer if isinstance(answer, str) else json.dumps(answer)).encode())

    def log_message(self, *args: Any) -> None:
        pass


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    running = HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=running.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{running.server_port}"
    running.shutdown()
    running.server_close()


def offpeak(url: str, *words: str, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "offpeak.cli", "check", *words],
        env={**os.environ, "PYTHONPATH": str(CLIENT), "OFFPEAK_URL": url, "OFFPEAK_KEY": KEY, **env},
        capture_output=True, text=True, timeout=30, check=False,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("project", "code"),
    [
        ("code-0", 0), ("code-10", 10), ("code-20", 20), ("code-30", 30), ("code-7", 1), ("code-None", 1),
        ("code-True", 1), ("input", 3), ("policies", 2), ("key", 2), ("large", 3), ("broken", 1),
        ("moved", 1), ("list", 1),
    ],
)  # fmt: skip
def test_exit_codes(project: str, code: int, server: str, tmp_path: Path) -> None:
    plan = tmp_path / "plan.json"
    plan.write_text("{}")
    done = offpeak(server, str(plan), "--project", project)
    assert done.returncode == code, done.stderr
    assert KEY not in done.stdout + done.stderr
    assert ("Deny: +80.00 USD a month." in done.stdout) is (code in {0, 10, 20, 30})


def test_everything_is_asked_and_the_key_is_in_a_header(server: str, tmp_path: Path) -> None:
    for name, text in (
        ("plan.json", '{"a": "ü"}'),
        ("policy.json", '{"max_increase": "40.00"}'),
        ("u.json", "{}"),
    ):
        (tmp_path / name).write_text(text)
    words = ["--policy", str(tmp_path / "policy.json"), "--usage", str(tmp_path / "u.json"), "--strict"]
    words += ["--project", "code-20", "--ref", "pr", "--base-ref", "main", "--format", "json"]
    done = offpeak(server, str(tmp_path / "plan.json"), *words)
    assert json.loads(done.stdout) == document(20)
    headers, body = asked[-1]
    assert headers["Authorization"] == f"Bearer {KEY}"
    assert body == {
        "kind": "terraform", "strict": True, "input": '{"a": "ü"}', "policies": {"max_increase": "40.00"},
        "usage": {}, "project": "code-20", "ref": "pr", "base_ref": "main",
    }  # fmt: skip


def test_without_a_server_or_file_it_never_ends_with_0(tmp_path: Path) -> None:
    plan = tmp_path / "plan.json"
    plan.write_text("{}")
    assert offpeak("http://127.0.0.1:9", str(plan)).returncode == 1
    assert offpeak("http://127.0.0.1:9", str(tmp_path / "none.json")).returncode == 3
    assert offpeak("", str(plan)).returncode == 2
    assert offpeak("http://h.test/?key=SECRET1", str(plan)).returncode == 2
    assert offpeak("http://h.test", str(plan), OFFPEAK_KEY="").returncode == 2
    assert offpeak("http://h.test", str(plan), "--kind", "cobol").returncode == 2
    wrong = offpeak("http://h.test", str(plan), "--policy", str(tmp_path / "none.json"))
    assert (wrong.returncode, KEY in wrong.stderr) == (2, False)
