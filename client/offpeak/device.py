"""`offpeak device`: an idle machine that asks the server for work and gives it back when it is needed.

It polls over HTTPS with the device's own key (OFFPEAK_DEVICE_KEY or --key-file), runs one piece of work at a
time as a process of its own, keeps its lease, hands on checkpoints, and yields when the user returns, the
window ends or the server says so. The work finds in its environment: OFFPEAK_RESUME, the checkpoint to go on
from ("" at first), and OFFPEAK_CHECKPOINT_FILE; what it writes there, `{"checkpoint": "…", "share": 0.4}`, is
told to the server. To yield, it gets SIGTERM and `--grace` seconds to write its last one. A result is kept in
the folder until the server has it.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from offpeak.errors import USAGE, EndError
from offpeak.idle import idle_seconds
from offpeak.server import opener

SECONDS = 30
TAIL = 4000
LONGEST_WAIT = 300.0
PASSED_ON = ("PATH", "HOME", "LANG", "LC_", "TMPDIR", "TEMP", "TZ", "CUDA", "NVIDIA", "LD_LIBRARY_PATH",
             "SYSTEMROOT", "COMSPEC", "USERPROFILE")  # fmt: skip


class LostError(Exception):
    """The server says that the work is somebody else's, or over."""


def add_parser(verbs: Any) -> None:
    """The arguments."""
    parser = verbs.add_parser("device", help="work for the server while nobody uses this machine")
    parser.add_argument("--key-file", metavar="FILE", help="instead of OFFPEAK_DEVICE_KEY")
    parser.add_argument("--folder", metavar="DIR", default="", help="where work runs and results are kept")
    parser.add_argument(
        "--idle-command", metavar="COMMAND", default="", help="prints the seconds of idleness"
    )
    parser.add_argument("--every", type=float, default=0.0, help="seconds between questions")
    parser.add_argument("--grace", type=float, default=60.0, help="seconds for the last checkpoint")
    parser.add_argument("--once", action="store_true", help="end after the first answer or piece of work")


def run(options: argparse.Namespace) -> int:
    """Ask and work until it is interrupted."""
    agent = Agent(options)
    signal.signal(signal.SIGTERM, lambda *_: agent.stop())
    try:
        return agent.work_on()
    except KeyboardInterrupt:
        agent.stop()
        return 0


class Agent:
    """One device."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.url, self.key = _server(options.key_file)
        self.options = options
        self.folder = Path(options.folder or Path.home() / ".offpeak-device").resolve()
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.kept = self.folder / "result.json"
        self.stopping = False

    def stop(self) -> None:
        """End after giving the work back."""
        self.stopping = True

    def work_on(self) -> int:
        """The loop; a server that cannot be reached is asked again, later each time."""
        wait = 1.0
        while not self.stopping:
            pause = 0.0
            try:
                self._hand_in()
                pause = self._turn()
                wait = 1.0
            except (OSError, LostError) as error:
                print(f"offpeak: {type(error).__name__}: asking again later", file=sys.stderr)
                pause = wait * random.uniform(0.5, 1.0)  # noqa: S311 - spreads devices out
                wait = min(LONGEST_WAIT, wait * 2)
            if self.options.once and pause != 0.0:
                return 0
            self._sleep(pause)
            if self.options.once and pause == 0.0:
                return 0
        return 0

    def _sleep(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        while not self.stopping and time.monotonic() < until:
            time.sleep(min(0.5, seconds))

    def _turn(self) -> float:
        """Ask once and do what there is; seconds until the next question."""
        answer = self._call("device/poll", {"idle_seconds": self._idle()})
        work = answer.get("work")
        if work is None:
            print(f"offpeak: {answer.get('reason') or answer.get('why')}", file=sys.stderr)
            return float(self.options.every or answer.get("ask_again_seconds") or 30)
        self._do(work)
        return 0.0

    def _idle(self) -> int:
        return idle_seconds(self.options.idle_command)

    def _do(self, work: dict[str, Any]) -> None:
        place = Path(tempfile.mkdtemp(prefix=f"work-{work['id']}-", dir=self.folder))
        marks = place / "checkpoint.json"
        kept = {name: value for name, value in os.environ.items() if name.startswith(PASSED_ON)}
        environment = {
            **kept, **work["env"], "OFFPEAK_RESUME": work["checkpoint"],
            "OFFPEAK_CHECKPOINT_FILE": str(marks),
        }  # fmt: skip
        output = place / "output"
        with output.open("wb") as stream:
            try:
                process = subprocess.Popen(
                    work["command"], cwd=place, env=environment, stdout=stream, stderr=subprocess.STDOUT,
                    start_new_session=sys.platform != "win32",
                )  # fmt: skip
            except OSError as error:
                self._finished(work, {"error": str(error)}, succeeded=False)
                return
            try:
                why = self._watch(work, process, marks)
            except LostError:
                _end(process, self.options.grace)
                return
            except EndError:
                # The key was revoked meanwhile: nothing of ours goes on here.
                _end(process, self.options.grace)
                raise
        if why:
            self._give_back(work, marks, why)
            return
        tail = output.read_bytes()[-TAIL:].decode(errors="replace")
        result = {"exit_code": process.returncode, "tail": tail}
        self._finished(work, result, succeeded=process.returncode == 0)

    def _watch(self, work: dict[str, Any], process: subprocess.Popen[bytes], marks: Path) -> str:
        """Keep the lease while it runs; why it was stopped, "" where it ended by itself.

        A server that cannot be reached is asked again; the work goes on, its result waits.
        """
        told, every = "", float(self.options.every or 20)
        asked = time.monotonic()
        while process.poll() is None:
            time.sleep(min(1.0, every / 4))
            if self.stopping:
                _end(process, self.options.grace)
                return "stopped"
            if time.monotonic() - asked < every:
                continue
            asked = time.monotonic()
            try:
                told = self._tell_checkpoint(work, marks, told)
                body = {"lease": work["lease"], "idle_seconds": self._idle()}
                answer = self._call(f"device/jobs/{work['id']}/renew", body)
            except OSError:
                continue
            if not answer["go_on"]:
                _end(process, self.options.grace)
                return str(answer.get("why") or "asked")
        return ""

    def _tell_checkpoint(self, work: dict[str, Any], marks: Path, told: str) -> str:
        """Tell a checkpoint that is new; what was told last."""
        try:
            text = marks.read_text(encoding="utf-8")
            mark = json.loads(text)
            body = {"checkpoint": str(mark["checkpoint"]), "share": float(mark.get("share", 0.0))}
        except (OSError, ValueError, KeyError, TypeError):
            return told
        if text != told:
            self._call(f"device/jobs/{work['id']}/checkpoint", {"lease": work["lease"], **body})
        return text

    def _give_back(self, work: dict[str, Any], marks: Path, why: str) -> None:
        """Told or not, the lease ends by itself."""
        try:
            self._tell_checkpoint(work, marks, "")
            self._call(f"device/jobs/{work['id']}/yield", {"lease": work["lease"], "reason": why})
        except (OSError, LostError):
            return
        print(f"offpeak: gave work {work['id']} back: {why}", file=sys.stderr)

    def _finished(self, work: dict[str, Any], result: dict[str, Any], *, succeeded: bool) -> None:
        """Keep the result, then hand it in."""
        body = {"lease": work["lease"], "succeeded": succeeded, "result": result}
        written = self.kept.with_suffix(".new")
        written.write_text(json.dumps({"work": work["id"], "body": body}), encoding="utf-8")
        written.replace(self.kept)
        self._hand_in()

    def _hand_in(self) -> None:
        """Give the server the result that is kept; it takes it once, however often it is told."""
        try:
            kept = json.loads(self.kept.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return
        except ValueError:
            self.kept.unlink()
            return
        try:
            self._call(f"device/jobs/{kept['work']}/result", kept["body"])
        except LostError:
            print(f"offpeak: the result of work {kept['work']} came too late", file=sys.stderr)
        self.kept.unlink()

    def _call(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        """The answer. Raises OSError (ask again), LostError, EndError (the key or the address is wrong)."""
        headers = {"Authorization": f"Bearer {self.key}", "Content-Type": "application/json"}
        request = urllib.request.Request(  # noqa: S310 - the scheme is checked in _server
            f"{self.url}/api/v1/{path}", data=json.dumps(body).encode(), headers=headers
        )
        try:
            with opener().open(request, timeout=SECONDS) as answer:
                found = json.loads(answer.read())
        except urllib.error.HTTPError as error:
            if error.code in {404, 409}:
                raise LostError(path) from None
            if error.code in {400, 401, 403}:
                raise EndError(f"{error.code}: the server refuses this device", USAGE) from None
            raise OSError(f"HTTP {error.code}") from None
        except ValueError:
            raise OSError("no JSON") from None
        if not isinstance(found, dict):
            raise OSError("no document")
        return found


def _end(process: subprocess.Popen[bytes], grace: float) -> None:
    """Ask the work and its children to end, then make them."""
    for forced, wait in ((False, grace), (True, 10.0)):
        try:
            if sys.platform == "win32":
                process.kill() if forced else process.terminate()
            else:
                os.killpg(process.pid, signal.SIGKILL if forced else signal.SIGTERM)
        except (ProcessLookupError, PermissionError):
            pass
        try:
            process.wait(wait)
        except subprocess.TimeoutExpired:
            continue
        return


def _server(key_file: str | None) -> tuple[str, str]:
    url = os.environ.get("OFFPEAK_URL", "").rstrip("/")
    parts = urlsplit(url)
    if parts.scheme not in {"https", "http"} or not parts.netloc or parts.query or parts.username:
        raise EndError("set OFFPEAK_URL to the server's address", USAGE)
    if parts.scheme == "http" and parts.hostname not in {"127.0.0.1", "localhost", "::1"}:
        raise EndError("OFFPEAK_URL must be https://, the key would be read on the way", USAGE)
    try:
        key = Path(key_file).read_text().strip() if key_file else os.environ.get("OFFPEAK_DEVICE_KEY", "")
    except OSError as error:
        raise EndError(f"{key_file}: {error.strerror}", USAGE) from None
    if not key.startswith("opd_") or not key.isascii() or not key.isprintable():
        raise EndError("set OFFPEAK_DEVICE_KEY to the device's key, opd_…", USAGE)
    return url, key
