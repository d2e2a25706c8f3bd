"""A small EC2 over HTTP for the real boto3: machines by client token, found by tags; it fails on request.

It keeps a token's machine as EC2 does (the same call gives it again, another IdempotentParameterMismatch),
shows new machines late, takes Spot machines back, has no capacity or limits where told, and can lose the
answer of a call that took effect. `launched` counts machines by job tag: what a bill would say.
"""

from __future__ import annotations

import random
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qsl
from xml.sax.saxutils import escape

ACCOUNT = "111122223333"
NAMESPACE = "http://ec2.amazonaws.com/doc/2016-11-15/"


@dataclass
class Box:
    """A machine."""

    id: str
    token: str
    asked: dict[str, str]
    tags: dict[str, str]
    kind: str
    zone: str
    market: str
    launched_at: datetime
    ended_at: datetime | None = None
    reason: str = ""

    @property
    def job(self) -> str:
        return self.tags.get("offpeak:job", "")

    @property
    def facts(self) -> dict[str, str]:
        """What a filter may ask for."""
        tags = {f"tag:{key}": value for key, value in self.tags.items()}
        return {**tags, "instance-id": self.id, "client-token": self.token}


@dataclass
class Cloud:
    """What the account holds and how it fails.

    `refuse`: an error code for a call, "" for none, asked with (type, zone, market). `faults`: for the next
    launches, one each: "hang" and "cut" after taking effect, "500 before", "500 after", "throttle". `lose`:
    the share of launches whose answer is lost after taking effect.
    """

    url: str = ""
    account: str = ACCOUNT
    shows_after: timedelta = timedelta(0)
    refuse: Callable[[str, str, str], str] = lambda kind, zone, market: ""
    faults: list[str] = field(default_factory=list)
    lose: float = 0.0
    hang_seconds: float = 30.0
    page: int = 1000
    boxes: dict[str, Box] = field(default_factory=dict)
    calls: list[dict[str, str]] = field(default_factory=list)
    lock: threading.RLock = field(default_factory=threading.RLock)
    release: threading.Event = field(default_factory=threading.Event)
    random: random.Random = field(default_factory=lambda: random.Random(7))

    def launched(self) -> Counter[str]:
        """Machines that were ever started, by job."""
        with self.lock:
            return Counter(box.job for box in self.boxes.values())

    def running(self) -> list[Box]:
        """Machines that are paid now."""
        with self.lock:
            return [box for box in self.boxes.values() if box.ended_at is None]

    def take_back(self, machine: str, reason: str = "Server.SpotInstanceTermination") -> None:
        """End a machine as the provider does."""
        with self.lock:
            box = self.boxes[machine]
            box.ended_at, box.reason = datetime.now(UTC), reason

    def asked(self, action: str) -> list[dict[str, str]]:
        """The calls of an action."""
        with self.lock:
            return [call for call in self.calls if call["Action"] == action]


@contextmanager
def cloud() -> Iterator[Cloud]:
    """A running server on a free port of this machine."""
    made = Cloud()

    class Handler(_Handler):
        ours = made

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    made.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield made
    finally:
        made.release.set()
        server.shutdown()
        server.server_close()
        thread.join(timeout=5)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    ours: Cloud

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
        asked = dict(parse_qsl(body, keep_blank_values=True))
        with self.ours.lock:
            self.ours.calls.append(asked)
        answer = {
            "RunInstances": self._run,
            "DescribeInstances": self._describe,
            "TerminateInstances": self._terminate,
            "GetCallerIdentity": self._caller,
        }.get(asked["Action"])
        if answer is None:
            return self._error(400, "InvalidAction")
        return answer(asked)

    def _run(self, asked: dict[str, str]) -> None:
        ours = self.ours
        if asked.get("DryRun") == "true":
            return self._error(412, "DryRunOperation")
        with ours.lock:
            fault = ours.faults.pop(0) if ours.faults else ""
            if not fault and ours.lose and ours.random.random() < ours.lose:
                fault = "hang"
        if fault in {"500 before", "throttle"}:
            code = "RequestLimitExceeded" if fault == "throttle" else "InternalError"
            return self._error(503 if fault == "throttle" else 500, code)
        with ours.lock:
            boxes, code = _start(ours, asked)
        if not boxes:
            return self._error(500 if code.startswith("Insufficient") else 400, code)
        if fault == "hang":
            ours.release.wait(ours.hang_seconds)
        if fault in {"hang", "cut"}:
            self.close_connection = True
            return None
        if fault == "500 after":
            return self._error(500, "InternalError")
        return self._send(
            200, f'<RunInstancesResponse xmlns="{NAMESPACE}"><reservationId>r-1</reservationId>'
            f"<instancesSet>{''.join(map(_item, boxes))}</instancesSet></RunInstancesResponse>",
        )  # fmt: skip

    def _describe(self, asked: dict[str, str]) -> None:
        wanted: dict[str, str] = {}
        number = 1
        while f"Filter.{number}.Name" in asked:
            wanted[asked[f"Filter.{number}.Name"]] = asked.get(f"Filter.{number}.Value.1", "")
            number += 1
        now, start = datetime.now(UTC), int(asked.get("NextToken") or 0)
        with self.ours.lock:
            shown = [
                box for box in self.ours.boxes.values()
                if now - box.launched_at >= self.ours.shows_after and wanted.items() <= box.facts.items()
            ]  # fmt: skip
        page = shown[start : start + self.ours.page]
        more = start + self.ours.page
        token = f"<nextToken>{more}</nextToken>" if more < len(shown) else ""
        items = "".join(
            f"<item><reservationId>r-{box.id}</reservationId><instancesSet>{_item(box)}</instancesSet></item>"
            for box in page
        )
        self._send(
            200, f'<DescribeInstancesResponse xmlns="{NAMESPACE}"><reservationSet>{items}</reservationSet>'
            f"{token}</DescribeInstancesResponse>",
        )  # fmt: skip

    def _terminate(self, asked: dict[str, str]) -> None:
        names = [value for key, value in asked.items() if key.startswith("InstanceId.")]
        with self.ours.lock:
            if not all(name in self.ours.boxes for name in names):
                return self._error(400, "InvalidInstanceID.NotFound")
            for box in (self.ours.boxes[name] for name in names):
                if box.ended_at is None:
                    box.ended_at, box.reason = datetime.now(UTC), "Client.UserInitiatedShutdown"
        return self._send(
            200, f'<TerminateInstancesResponse xmlns="{NAMESPACE}"><instancesSet><item><instanceId>{box.id}'
            "</instanceId></item></instancesSet></TerminateInstancesResponse>",
        )  # fmt: skip

    def _caller(self, asked: dict[str, str]) -> None:
        self._send(
            200, '<GetCallerIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/">'
            f"<GetCallerIdentityResult><Arn>arn:aws:iam::{self.ours.account}:user/x</Arn><UserId>X</UserId>"
            f"<Account>{self.ours.account}</Account></GetCallerIdentityResult></GetCallerIdentityResponse>",
        )  # fmt: skip

    def _error(self, status: int, code: str) -> None:
        self._send(
            status, f"<Response><Errors><Error><Code>{code}</Code><Message>made up</Message></Error></Errors>"
            "</Response>",
        )  # fmt: skip

    def _send(self, status: int, text: str) -> None:
        body = text.encode()
        try:
            self.send_response(status)
            self.send_header("Content-Type", "text/xml;charset=UTF-8")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True  # the caller was killed

    def log_message(self, format: str, *args: object) -> None:
        return


def _start(ours: Cloud, asked: dict[str, str]) -> tuple[list[Box], str]:
    """The machines of a call, all of them or none, or the code with which it is refused."""
    token = asked["ClientToken"]
    before = [box for box in ours.boxes.values() if box.token == token]
    if before:
        return (before, "") if before[0].asked == _parameters(asked) else ([], "IdempotentParameterMismatch")
    market = asked.get("InstanceMarketOptions.MarketType", "on-demand")
    kind, zone = asked["InstanceType"], asked.get("Placement.AvailabilityZone", "")
    code = ours.refuse(kind, zone, market)
    if code:
        return [], code
    tags, number = {}, 1
    while f"TagSpecification.1.Tag.{number}.Key" in asked:
        tags[asked[f"TagSpecification.1.Tag.{number}.Key"]] = asked[f"TagSpecification.1.Tag.{number}.Value"]
        number += 1
    at = datetime.now(UTC).replace(microsecond=0)
    made = []
    for _ in range(int(asked["MinCount"])):
        name = f"i-{len(ours.boxes) + 1:06d}"
        ours.boxes[name] = Box(name, token, _parameters(asked), dict(tags), kind, zone, market, at)
        made.append(ours.boxes[name])
    return made, ""


def _parameters(asked: dict[str, str]) -> dict[str, str]:
    return {key: value for key, value in asked.items() if key not in {"Action", "Version", "ClientToken"}}


def _item(box: Box) -> str:
    tags = "".join(
        f"<item><key>{escape(key)}</key><value>{escape(value)}</value></item>"
        for key, value in box.tags.items()
    )
    state = (
        "<code>16</code><name>running</name>"
        if box.ended_at is None
        else "<code>48</code><name>terminated</name>"
    )
    ended = ""
    if box.ended_at is not None:
        ended = (
            f"<reason>User initiated ({box.ended_at:%Y-%m-%d %H:%M:%S} GMT)</reason>"
            f"<stateReason><code>{box.reason}</code><message>{box.reason}</message></stateReason>"
        )
    return (
        f"<item><instanceId>{box.id}</instanceId><imageId>ami-1</imageId><instanceState>{state}</instanceState>"
        f"<clientToken>{box.token}</clientToken><instanceType>{box.kind}</instanceType>"
        f"<launchTime>{box.launched_at:%Y-%m-%dT%H:%M:%S.000Z}</launchTime><placement><availabilityZone>{box.zone}"
        f"</availabilityZone></placement>{ended}<tagSet>{tags}</tagSet></item>"
    )
