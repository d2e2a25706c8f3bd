"""Everything of a home under one command: order, Ctrl-C, kill -9, two homes, ports."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from finops.embedded import processes

APP = Path(__file__).with_name("app.py")
NAMES = ("postgres", "valkey", "web", "worker", "beat")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Run:
    """One supervisor as a process; its output is collected until it is up."""

    def __init__(self, home: Path, port: int, *words: str) -> None:
        self.home = home
        self.process = subprocess.Popen(
            [sys.executable, str(APP), str(home), str(port), *words],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def until_up(self) -> list[str]:
        assert self.process.stdout
        lines = []
        for line in self.process.stdout:
            lines.append(line.rstrip("\n"))
            if line.startswith("Ctrl-C"):
                return lines
        raise AssertionError(f"did not start: {lines}")

    def finish(self, number: signal.Signals | None = None) -> tuple[int, str]:
        if number:
            self.process.send_signal(number)
        output, _ = self.process.communicate(timeout=60)
        return self.process.returncode, output

    def running(self) -> dict[str, processes.Process]:
        return running(self.home)


def running(home: Path) -> dict[str, processes.Process]:
    found = {name: processes.load(home / "run" / f"{name}.json") for name in NAMES}
    return {name: process for name, process in found.items() if process and process.alive()}


@pytest.fixture
def start(tmp_path: Path) -> Iterator[type[Run]]:
    runs: list[Run] = []

    class Kept(Run):
        def __init__(self, home: Path, port: int, *words: str) -> None:
            super().__init__(home, port, *words)
            runs.append(self)

    yield Kept
    for run in runs:
        if run.process.poll() is None:
            run.process.terminate()
            run.process.communicate(timeout=60)
        for process in running(run.home).values():
            os.kill(process.pid, signal.SIGKILL)


def test_ctrl_c_stops_all_in_order_and_a_second_start_keeps_the_home(
    start: type[Run], tmp_path: Path
) -> None:
    home, port = tmp_path / "home", free_port()
    before = os.stat(tmp_path).st_mode, os.listdir(tmp_path)
    run = start(home, port)
    lines = run.until_up()
    assert f"Offpeak is running at http://127.0.0.1:{port}" in lines
    password = (home / "secrets" / "demo_password").read_text().strip()
    assert f"Sign in as demo@example.com with the password {password}" in lines
    assert set(run.running()) == set(NAMES)
    # children are in sessions of their own: a Ctrl-C at the terminal reaches the supervisor only
    assert {os.getsid(process.pid) for process in run.running().values()}.isdisjoint({os.getsid(0)})

    second = start(home, port)
    code, output = second.finish()
    assert (code, output.count("\n")) == (0, 1)
    assert f"already runs at http://127.0.0.1:{port} (process {run.process.pid})" in output

    code, output = run.finish(signal.SIGINT)
    assert code == 0
    assert output.splitlines() == [
        "Stopping …",
        "beat stopped.",
        "worker stopped.",
        "web stopped.",
        "Valkey and PostgreSQL stopped.",
    ]
    assert run.running() == {}
    assert (os.stat(tmp_path).st_mode, os.listdir(tmp_path)) == (before[0], [*before[1], "home"])

    again = start(home, port)
    again.until_up()
    assert (home / "secrets" / "demo_password").read_text().strip() == password
    assert again.finish(signal.SIGTERM)[0] == 0
    assert again.running() == {}


def test_a_killed_supervisor_is_taken_over_by_the_next_start(start: type[Run], tmp_path: Path) -> None:
    home, port = tmp_path / "home", free_port()
    run = start(home, port)
    run.until_up()
    left = run.running()
    run.process.kill()
    run.process.wait()
    assert set(running(home)) == set(NAMES)
    after = start(home, port)
    lines = after.until_up()
    assert lines[:3] == [
        f"Ended the {name} that an earlier run had left behind." for name in ("beat", "worker", "web")
    ]
    now = after.running()
    assert (now["postgres"], now["valkey"]) == (left["postgres"], left["valkey"])
    assert {now[name].pid for name in NAMES[2:]}.isdisjoint({left[name].pid for name in NAMES[2:]})
    assert after.finish(signal.SIGINT)[0] == 0
    assert running(home) == {}


def test_two_homes_run_side_by_side(start: type[Run], tmp_path: Path) -> None:
    one, two = start(tmp_path / "one", free_port()), start(tmp_path / "two", free_port())
    one.until_up()
    two.until_up()
    assert one.finish(signal.SIGINT)[0] == 0
    assert one.running() == {}
    assert set(two.running()) == set(NAMES)
    secrets = [(tmp_path / name / "secrets" / "postgres").read_text() for name in ("one", "two")]
    assert secrets[0] != secrets[1]
    assert two.finish(signal.SIGINT)[0] == 0


def test_a_port_in_use_is_one_sentence_and_starts_nothing(start: type[Run], tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen(1)
        port = taken.getsockname()[1]
        code, output = start(tmp_path / "home", port).finish()
    assert code == 1
    assert output == (
        f"Port {port} is in use by another program: end that, or choose another port,"
        " for example OFFPEAK_PORT=8001.\n"
    )
    assert running(tmp_path / "home") == {}


def test_a_killed_child_is_started_again(start: type[Run], tmp_path: Path) -> None:
    run = start(tmp_path / "home", free_port())
    run.until_up()
    worker = run.running()["worker"]
    database = run.running()["postgres"]
    os.kill(worker.pid, signal.SIGKILL)
    os.kill(database.pid, signal.SIGKILL)
    until = time.monotonic() + 30
    while time.monotonic() < until:
        now = run.running()
        if set(now) == set(NAMES) and now["worker"] != worker and now["postgres"] != database:
            break
        time.sleep(0.1)
    else:
        raise AssertionError("not started again")
    code, output = run.finish(signal.SIGINT)
    assert code == 0
    assert "worker started again." in output
    assert "PostgreSQL ended by itself; starting it again" in output


def test_a_child_that_keeps_dying_ends_the_run_with_its_last_words(start: type[Run], tmp_path: Path) -> None:
    run = start(tmp_path / "home", free_port(), "crash")
    code, output = run.finish()
    assert code == 1
    assert "Offpeak stops: beat does not keep running." in output
    assert "beat cannot start" in output
    assert running(tmp_path / "home") == {}


def test_a_record_of_a_stranger_is_left_alone(start: type[Run], tmp_path: Path) -> None:
    stranger = subprocess.Popen(["sleep", "60"])
    try:
        run = start(tmp_path / "home", free_port())
        run.until_up()
        run.finish(signal.SIGINT)
        for name in NAMES:
            record = {"pid": stranger.pid, "started": "another time"}
            (tmp_path / "home" / "run" / f"{name}.json").write_text(json.dumps(record))
        again = start(tmp_path / "home", free_port())
        again.until_up()
        again.finish(signal.SIGINT)
        assert stranger.poll() is None
    finally:
        stranger.kill()
        stranger.wait()
