"""`offpeak device` against a live server: work runs, goes on from its checkpoint, is given back once."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from apps.accounts.actors import Actor
from apps.accounts.models import Organisation
from apps.catalog.models import Pool
from apps.launches.models import Work, WorkState
from apps.launches.services.pools import device_create
from tests.support.pipeline import Offpeak


@pytest.fixture
def key(transactional_db: None) -> str:
    pool = Pool.objects.create(
        organisation=Organisation.default(), name="office", kind="device", currency="USD"
    )
    return device_create(pool=pool, actor=Actor.system("test"), name="pc-1", values={"idle_minutes": 1})[1]


def told(live_server: Any, key: str) -> dict[str, str]:
    return {"OFFPEAK_URL": live_server.url, "OFFPEAK_DEVICE_KEY": key, "MY_SECRET": "canary"}


def work(script: str, **changes: Any) -> Work:
    document = {"command": ["/bin/sh", "-c", script], "env": {"GREETING": "hi"}}
    return Work.objects.create(pool=Pool.objects.get(), token=script[:64], document=document, **changes)


def run(offpeak: Offpeak, env: dict[str, str], idle: str, *words: str) -> subprocess.CompletedProcess[str]:
    folder = ("--folder", "state", "--idle-command", f"echo {idle}", "--every", "0.2", "--once")
    return offpeak(env, "device", *folder, *words)


def test_it_works_while_nobody_uses_it_and_never_before(live_server: Any, key: str, offpeak: Offpeak) -> None:
    env = told(live_server, key)
    made = work('echo "$GREETING [$MY_SECRET] $OFFPEAK_RESUME"', checkpoint="step-4")
    busy = run(offpeak, env, "5")
    assert busy.returncode == 0
    assert "Somebody uses it." in busy.stderr
    made.refresh_from_db()
    assert made.state == WorkState.QUEUED
    assert run(offpeak, env, "3600").returncode == 0
    made.refresh_from_db()
    assert (made.state, made.result) == (WorkState.DONE, {"exit_code": 0, "tail": "hi [] step-4\n"})
    assert key not in busy.stderr + busy.stdout


def test_a_user_who_returns_gets_the_machine_and_the_checkpoint_is_kept(
    live_server: Any, key: str, offpeak: Offpeak, tmp_path: Path
) -> None:
    (tmp_path / "idle").write_text("3600")
    (tmp_path / "mark").write_text(json.dumps({"checkpoint": "step-7", "share": 0.7}))
    script = (
        f"trap 'cp {tmp_path}/mark \"$OFFPEAK_CHECKPOINT_FILE\"; exit 1' TERM; "
        f"echo 1 > {tmp_path}/idle; while true; do sleep 0.1; done"
    )
    made = work(script)
    env = told(live_server, key)
    done = offpeak(env, "device", "--folder", "state", "--idle-command", f"cat {tmp_path}/idle",
                   "--every", "0.2", "--once", "--grace", "5")  # fmt: skip
    assert done.returncode == 0
    assert f"gave work {made.pk} back: in_use" in done.stderr
    made.refresh_from_db()
    assert (made.state, made.checkpoint, made.share, made.result) == (WorkState.QUEUED, "step-7", 0.7, None)


def test_a_result_that_was_not_taken_is_handed_in_at_the_next_start(
    live_server: Any, key: str, offpeak: Offpeak, tmp_path: Path
) -> None:
    env = told(live_server, key)
    made = work("exit 3")
    Work.objects.update(
        state="leased", lease=1, lease_until="2999-01-01T00:00:00Z", device=Pool.objects.get().devices.get()
    )
    (tmp_path / "state").mkdir()
    body = {"lease": 1, "succeeded": True, "result": {"exit_code": 0}}
    (tmp_path / "state" / "result.json").write_text(json.dumps({"work": made.pk, "body": body}))
    assert run(offpeak, env, "3600").returncode == 0
    made.refresh_from_db()
    assert (made.state, made.result) == (WorkState.DONE, {"exit_code": 0})
    assert not (tmp_path / "state" / "result.json").exists()


def test_a_wrong_key_or_address_ends_with_what_to_do(live_server: Any, key: str, offpeak: Offpeak) -> None:
    wrong = run(offpeak, told(live_server, f"opd_{'a' * 10}_{'0' * 64}"), "3600")
    assert (wrong.returncode, wrong.stderr.strip()) == (2, "offpeak: 401: the server refuses this device")
    plain = run(offpeak, {"OFFPEAK_URL": "http://offpeak.example", "OFFPEAK_DEVICE_KEY": key}, "3600")
    assert plain.returncode == 2
    assert "https://" in plain.stderr
