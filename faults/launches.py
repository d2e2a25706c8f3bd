"""Launches while everything around them fails: workers killed, servers restarted, answers lost.

Real PostgreSQL and Valkey of a home of its own, real Celery workers and beats, the real boto3 against the
local EC2 of `faults.cloud`. Judged at the end: no launch lost, none started twice, every machine known.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from faults.cloud import Cloud, cloud
from finops.embedded.servers import Servers

ROOT = Path(__file__).resolve().parents[1]


@dataclass(frozen=True)
class Script:
    """What happens. `spread`: seconds within which all are due; `kills`: of workers, at random times."""

    launches: int = 500
    workers: int = 4
    beats: int = 2
    kills: int = 50
    spread: float = 60.0
    lose: float = 0.1
    restarts: bool = True
    seed: int = 1
    patience: float = 900.0


@dataclass
class Stage:
    """Processes of one run."""

    environment: dict[str, str]
    folder: Path
    workers: list[subprocess.Popen[bytes]] = field(default_factory=list)
    beats: list[subprocess.Popen[bytes]] = field(default_factory=list)
    started: int = 0

    def worker(self) -> subprocess.Popen[bytes]:
        """A Celery worker of one process, in a session of its own."""
        self.started += 1
        return self._celery(
            f"worker-{self.started}", "worker", "--concurrency", "1", "--without-gossip", "--without-mingle",
            "--without-heartbeat", "--hostname", f"faults-{self.started}@%h",
        )  # fmt: skip

    def beat(self, number: int) -> subprocess.Popen[bytes]:
        """A beat with a schedule file of its own: two of them know nothing of each other."""
        return self._celery(
            f"beat-{number}", "beat", "--pidfile=", "--schedule", str(self.folder / f"beat-{number}")
        )

    def _celery(self, name: str, *words: str) -> subprocess.Popen[bytes]:
        with (self.folder / f"{name}.log").open("ab") as log:
            return subprocess.Popen(
                [sys.executable, "-m", "celery", "-A", "finops.celery", *words, "--loglevel", "WARNING"],
                cwd=ROOT, env=self.environment, stdout=log, stderr=log, start_new_session=True,
            )  # fmt: skip

    def wait_ready(self, patience: float) -> None:
        """Until every worker has begun: a kill before that kills nobody who works.

        RuntimeError with the end of its log where one ends by itself or does not begin in time.
        """
        begun = time.monotonic()
        while not all(children_of(one.pid) for one in self.workers):
            ended = [number for number, one in enumerate(self.workers, 1) if one.poll() is not None]
            if ended or time.monotonic() - begun > patience:
                told = (self.folder / f"worker-{(ended or [1])[0]}.log").read_text(errors="replace")
                raise RuntimeError(f"workers {ended or 'of this run'} did not begin: {told[-1000:]}")
            time.sleep(0.5)

    def kill(self, draw: random.Random) -> None:
        """`kill -9`: mostly the process that works, at times the whole worker, which is started again."""
        ready = [number for number, one in enumerate(self.workers) if children_of(one.pid)]
        number = draw.choice(ready or list(range(len(self.workers))))
        one = self.workers[number]
        pool = children_of(one.pid)
        if pool and draw.random() < 0.8:
            os.kill(draw.choice(pool), signal.SIGKILL)
            return
        os.killpg(one.pid, signal.SIGKILL)
        one.wait()
        self.workers[number] = self.worker()

    def end(self) -> None:
        """End everything that was started."""
        for one in [*self.beats, *self.workers]:
            if one.poll() is None:
                os.killpg(one.pid, signal.SIGKILL)
                one.wait()


def children_of(pid: int) -> list[int]:
    """Processes that a process started and that live."""
    try:
        text = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    except OSError:
        return []
    return [int(one) for one in text.split()]


def run(script: Script, say: Callable[[str], None] = print) -> dict[str, Any]:
    """Play a script; figures and `faults`, what must not be and was."""
    folder = Path(tempfile.mkdtemp(prefix="offpeak-faults-"))
    servers = Servers.of(folder / "home")
    holder = servers.acquire()
    try:
        with cloud() as ours:
            ours.lose, ours.hang_seconds = script.lose, 4.0
            ours.random = random.Random(script.seed)
            environment = {
                **os.environ, **servers.environment(), "OFFPEAK_AWS_ENDPOINT_URL": ours.url,
                "AWS_ACCESS_KEY_ID": "made-up", "AWS_SECRET_ACCESS_KEY": "made-up",
                "LAUNCH_CALL_SECONDS": "2", "LAUNCH_LEASE_SECONDS": "20",
                "DJANGO_SETTINGS_MODULE": "finops.settings.production", "ALLOWED_HOSTS": "127.0.0.1",
            }  # fmt: skip
            os.environ.update(environment)
            return _played(script, servers, ours, Stage(environment, folder), say)
    finally:
        servers.release(holder)


def _played(
    script: Script, servers: Servers, ours: Cloud, stage: Stage, say: Callable[[str], None]
) -> dict[str, Any]:
    import django

    django.setup()
    from django.core.management import call_command

    call_command("migrate", verbosity=0)
    draw = random.Random(script.seed)
    try:
        stage.workers = [stage.worker() for _ in range(script.workers)]
        stage.beats = [stage.beat(number) for number in range(script.beats)]
        stage.wait_ready(script.patience)
        lead = 15.0
        made = _plans(script, lead, draw)
        say(f"{made} launches due within {script.spread:.0f} s from now + {lead:.0f} s")
        killed = _chaos(script, servers, stage, draw, lead, say)
        waited = _settle(script, say)
        return _judged(made, killed, waited, ours)
    finally:
        stage.end()


def _plans(script: Script, lead: float, draw: random.Random) -> int:
    from datetime import timedelta

    from django.utils import timezone

    from apps.accounts.models import ActorKind, Membership, Organisation, User
    from apps.accounts.roles import Role
    from apps.launches.models import LaunchGrant, LaunchPlan, LaunchTarget, PlanApproval, PlanState
    from apps.launches.services.turns import plan_turns
    from faults.cloud import ACCOUNT

    organisation = Organisation.default()
    user = User.objects.create_user("admin@faults.example", "not-used")
    Membership.objects.create(user=user, organisation=organisation, role=Role.ADMIN)
    place = LaunchTarget.objects.create(
        organisation=organisation, name="cloud", executor="aws", account=ACCOUNT,
        settings={"images": {"us-east-1": "ami-1"}},
    )  # fmt: skip
    LaunchGrant.objects.create(organisation=organisation, kind="own-credentials", made_by="faults")
    now = timezone.now()
    offer = {"market": "spot", "region": "us-east-1", "zone": "use1-az1", "zone_name": "us-east-1a",
             "type": "m5.large", "price": "0.04", "currency": "USD", "cost": "0.32"}  # fmt: skip
    made = 0
    while made < script.launches:
        count = min(10, script.launches - made)
        plan = LaunchPlan.objects.create(
            organisation=organisation, target=place, name=f"Plan {made}", count=count, hours=8.0,
            job={"hours": 8.0, "product": "Linux/UNIX", "checkpoint_minutes": 15.0},
            document={"offers": [offer]}, start_minutes=120, state=PlanState.APPROVED, stated_at=now,
            due_at=now + timedelta(seconds=lead + draw.random() * script.spread), requested_at=now,
            requested_kind=ActorKind.SYSTEM, requested_by="faults", valid_until=now + timedelta(days=1),
        )  # fmt: skip
        PlanApproval.objects.create(plan=plan, user=user, role=Role.ADMIN, at=now)
        plan_turns(plan_id=plan.pk, now=now)
        made += count
    return made


def _chaos(
    script: Script,
    servers: Servers,
    stage: Stage,
    draw: random.Random,
    lead: float,
    say: Callable[[str], None],
) -> int:
    """Kill workers at random times from the first due time on; restart both servers once on the way."""
    begun = time.monotonic() + lead
    length = max(script.spread, script.kills * 2.0)
    moments = sorted(begun + draw.random() * length for _ in range(script.kills))
    restarts: list[tuple[float, Any, str]] = []
    if script.restarts:
        restarts = [(begun + length * 0.35, servers.postgres, "PostgreSQL"),
                    (begun + length * 0.6, servers.valkey, "Valkey")]  # fmt: skip
    killed = 0
    for moment in moments:
        while restarts and restarts[0][0] <= moment:
            at, server, name = restarts.pop(0)
            time.sleep(max(0.0, at - time.monotonic()))
            server.stop()
            server.start()
            say(f"{name} restarted")
        time.sleep(max(0.0, moment - time.monotonic()))
        stage.kill(draw)
        killed += 1
    for at, server, name in restarts:
        time.sleep(max(0.0, at - time.monotonic()))
        server.stop()
        server.start()
        say(f"{name} restarted")
    say(f"{killed} kills")
    return killed


def _settle(script: Script, say: Callable[[str], None]) -> float:
    """Wait until every launch runs; seconds."""
    from collections import Counter

    from django.db import OperationalError, connection

    from apps.launches.models import Launch

    begun = time.monotonic()
    while time.monotonic() - begun < script.patience:
        try:
            connection.close()
            states = Counter(Launch.objects.values_list("state", flat=True))
        except OperationalError:
            states = Counter()
        if states and set(states) == {"running"}:
            break
        say(f"{dict(states)}")
        time.sleep(5)
    return time.monotonic() - begun


def _judged(made: int, killed: int, waited: float, ours: Cloud) -> dict[str, Any]:
    from django.db import connection

    from apps.launches.models import Attempt, Launch

    connection.close()
    rows = list(Launch.objects.all())
    launched = ours.launched()
    machines = {box.id for box in ours.running()}
    known = set(Attempt.objects.filter(state="running").values_list("machine", flat=True))
    late = sorted((row.first_started_at - row.due_at).total_seconds() for row in rows if row.first_started_at)
    faults = []
    lost = [row.pk for row in rows if row.state != "running"]
    twice = [job for job, count in launched.items() if count > 1]
    if len(rows) != made or lost:
        faults.append(f"lost: {lost[:10]}")
    if twice:
        faults.append(f"started twice: {twice[:10]}")
    if machines != known:
        faults.append(f"not accounted for: {sorted(machines ^ known)[:10]}")
    return {
        "launches": made,
        "machines_started": sum(launched.values()),
        "lost": len(lost),
        "started_twice": len(twice),
        "not_accounted_for": len(machines ^ known),
        "kills": killed,
        "calls": len(ours.asked("RunInstances")),
        "attempts": Attempt.objects.count(),
        "late_p50_seconds": round(late[len(late) // 2], 1) if late else None,
        "late_p95_seconds": round(late[int(len(late) * 0.95)], 1) if late else None,
        "late_most_seconds": round(late[-1], 1) if late else None,
        "settled_after_seconds": round(waited, 1),
        "faults": faults,
    }
