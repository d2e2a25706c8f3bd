"""One indexed look-up through the API against an empty Django view: requests a second, 99th percentile.

`python -m bench.api`. Servers of its own; the web server is started with the words of `make run` but for its
threads (two processes, one request each at a time; `--threads` measures with those of `make run` too). A
process beside it keeps 16 connections busy, in turns of the two addresses: the median of five turns counts.
The look-up is `GET /api/v1/ingest/runs/{id}` with an API key: sign-in, role, limit and ETag as for everybody.
"""

from __future__ import annotations

import os
import selectors
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

CONNECTIONS, TURNS, SECONDS, WARM_UP = 16, 5, 3.0, 1.5
LEAST_RATE, MOST_P99 = 0.35, 10.0


def load(port: int, path: str, token: str, seconds: float) -> list[float]:
    """Seconds of each answer of 16 connections that ask again at once. Raises for another status than 200."""
    lines = (f"GET {path} HTTP/1.1", "Host: 127.0.0.1", f"Authorization: Bearer {token}", "Connection: close")
    request = ("\r\n".join(lines) + "\r\n\r\n").encode()
    taken: list[float] = []
    waiting = selectors.DefaultSelector()
    end = time.perf_counter() + seconds

    def ask() -> None:
        one = socket.create_connection(("127.0.0.1", port))
        one.sendall(request)
        waiting.register(one, selectors.EVENT_READ, [time.perf_counter(), b""])

    for _n in range(CONNECTIONS):
        ask()
    while waiting.get_map():
        for key, _event in waiting.select():
            one, state = key.fileobj, key.data
            assert isinstance(one, socket.socket)
            part = one.recv(65536)
            if part:
                state[1] = state[1] or part[:16]
                continue
            now = time.perf_counter()
            if not state[1].startswith(b"HTTP/1.1 200"):
                raise SystemExit(f"{path}: {state[1]!r}")
            taken.append(now - state[0])
            waiting.unregister(one)
            one.close()
            if now < end:
                ask()
    return taken


def compare(port: int, paths: list[str], token: str) -> list[tuple[float, float]]:
    """(requests a second, seconds of the 99th percentile) of each path: medians of the turns."""
    found: list[list[tuple[float, float]]] = [[] for _path in paths]
    for path in paths:
        load(port, path, token, WARM_UP)
    for _turn in range(TURNS):
        for at, path in enumerate(paths):
            begun = time.perf_counter()
            taken = sorted(load(port, path, token, SECONDS))
            rate = len(taken) / (time.perf_counter() - begun)
            found[at].append((rate, taken[int(len(taken) * 0.99)]))
    return [
        (statistics.median(rate for rate, _p99 in one), statistics.median(p99 for _rate, p99 in one))
        for one in found
    ]


def rows() -> None:
    """Print a key and the id of a run."""
    import django

    django.setup()
    from django.utils import timezone

    from apps.accounts.actors import Actor
    from apps.accounts.models import Organisation
    from apps.accounts.roles import Scope
    from apps.accounts.services import api_key_create
    from apps.ingest import services
    from apps.ingest.models import IngestRun

    services.demo_load()
    organisation = Organisation.default()
    _key, token = api_key_create(
        organisation=organisation, actor=Actor.system("bench"), name="bench",
        scopes=[Scope.READ_INGEST], now=timezone.now(),
    )  # fmt: skip
    first = IngestRun.objects.latest("pk")
    print(token, first.pk)


def served(base: Path, environment: dict[str, str], threads: str, address: str, token: str) -> bool:
    """Start the web server, print its line; True within the limits."""
    from finops.embedded.children import children
    from finops.embedded.home import Home

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    web = next(child for child in children(Home.at(base / "home"), "127.0.0.1", port) if child.name == "web")
    command = list(web.command)
    command[command.index("--threads") + 1] = threads
    with (base / "web.log").open("wb") as log:
        server = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
    try:
        for _try in range(150):
            try:
                socket.create_connection(("127.0.0.1", port)).close()
                break
            except OSError:
                time.sleep(0.2)
        (empty, empty_p99), (api, api_p99) = compare(port, ["/empty/", address], token)
    finally:
        server.terminate()
        server.wait(20)
    rate, slow = api / empty, api_p99 / empty_p99
    print(
        f"look-up by API, 2 processes x {threads} at a time, 16 connections: {api:.0f}/s = {rate:.2f}x an "
        f"empty view ({empty:.0f}/s), at least {LEAST_RATE}; p99 {api_p99 * 1000:.1f} ms = {slow:.1f}x "
        f"({empty_p99 * 1000:.1f} ms), at most {MOST_P99:.0f}",
        flush=True,
    )
    return rate >= LEAST_RATE and slow <= MOST_P99


def main() -> int:
    """Start servers of its own and measure on them."""
    from finops.embedded.servers import Servers

    with tempfile.TemporaryDirectory(prefix="offpeak-bench-") as folder:
        base = Path(folder)
        servers = Servers.of(base / "home", durable=False)
        holder = servers.acquire()
        try:
            environment = {
                **os.environ,
                **servers.environment(),
                "OFFPEAK_HOME": str(base / "home"),
                "DJANGO_SETTINGS_MODULE": "bench._api_settings",
                "API_THROTTLE_PER_MINUTE": "100000000",
            }
            migrate = [sys.executable, "manage.py", "migrate", "--verbosity", "0"]
            subprocess.run(migrate, env=environment, check=True)
            made = subprocess.run(
                [sys.executable, "-m", "bench.api", "--rows"],
                env=environment, check=True, stdout=subprocess.PIPE, text=True,
            )  # fmt: skip
            token, run = made.stdout.split()[-2:]
            address = f"/api/v1/ingest/runs/{run}"
            good = served(base, environment, "1", address, token)
            if "--threads" in sys.argv:
                served(base, environment, "4", address, token)
            return 0 if good else 1
        finally:
            servers.release(holder)


if __name__ == "__main__":
    if "--rows" in sys.argv:
        rows()
    else:
        sys.exit(main())
