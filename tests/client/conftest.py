"""A live server with prices, a key for it, the client as a program, and a small forge that keeps comments."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from django.core.cache import cache
from django.utils import timezone

from apps.accounts.actors import Actor
from apps.accounts.models import Organisation
from apps.accounts.services import api_key_create
from apps.prices.models import ListPrice
from tests.support.pipeline import FORGE_TOKEN, LIMIT, ROOT, Forge, Offpeak


@pytest.fixture
def forge() -> Iterator[Forge]:
    """Answers as GitHub and GitLab do to `offpeak comment`; a comment too long is refused as there."""
    kept = Forge()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path.endswith("/user"):
                return self._answer(200, {"username": "bot"})
            page = int(re.findall(r"page=(\d+)$", self.path)[0])
            return self._answer(200, kept.comments[(page - 1) * 100 : page * 100])

        def do_POST(self) -> None:
            github = "/issues/" in self.path
            who = {"user": {"login": "github-actions[bot]"}} if github else {"author": {"username": "bot"}}
            self._keep({"id": len(kept.comments) + 1, **who})

        def do_PATCH(self) -> None:
            number = int(self.path.rsplit("/", 1)[1])
            self._keep(next(one for one in kept.comments if one["id"] == number))

        def do_PUT(self) -> None:
            self.do_PATCH()

        def _keep(self, row: dict[str, Any]) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["body"]
            token = self.headers.get("PRIVATE-TOKEN") or self.headers.get("Authorization", "")
            if kept.fails or FORGE_TOKEN not in token or len(body) > LIMIT:
                return self._answer(422 if len(body) > LIMIT else 403, {"message": f"no {token}"})
            row["body"] = body
            if row not in kept.comments:
                kept.comments.append(row)
            return self._answer(201, row)

        def _answer(self, status: int, document: Any) -> None:
            self.send_response(status)
            self.end_headers()
            self.wfile.write(json.dumps(document).encode())

        def log_message(self, *args: Any) -> None:
            pass

    running = HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=running.serve_forever, daemon=True).start()
    kept.url = f"http://127.0.0.1:{running.server_port}"
    yield kept
    running.shutdown()
    running.server_close()


@pytest.fixture
def server(transactional_db: None, live_server: Any) -> dict[str, str]:
    """OFFPEAK_URL and OFFPEAK_KEY of a live server that knows the price of two machines."""
    cache.clear()
    for name, price in (("c5.4xlarge", "0.68"), ("m5.xlarge", "0.192")):
        ListPrice.objects.create(
            provider="aws", region="us-east-1", instance_type=name, operating_system="linux", licence="none",
            tenancy="shared", currency="USD", effective_from=datetime(2026, 7, 20, tzinfo=UTC),
            price=Decimal(price), source="test",
        )  # fmt: skip
    _key, token = api_key_create(
        organisation=Organisation.default(), actor=Actor.system("test"), name="ci", scopes=["read:advice"],
        now=timezone.now(),
    )  # fmt: skip
    return {"OFFPEAK_URL": live_server.url, "OFFPEAK_KEY": token}


@pytest.fixture
def offpeak(tmp_path: Path) -> Offpeak:
    """`offpeak(env, "check", …)` runs the client of the tree in a folder of its own."""

    def run(env: dict[str, str], *words: str) -> subprocess.CompletedProcess[str]:
        told = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT / "client"), "HOME": str(tmp_path)}
        return subprocess.run(
            [sys.executable, "-m", "offpeak.cli", *words], env={**told, **env}, cwd=tmp_path,
            capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip

    return run
