"""Work for devices and own servers: never lost, never done twice."""

from __future__ import annotations

import threading
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection, connections

from apps.accounts.models import Organisation
from apps.catalog.models import Device, Pool
from apps.launches.models import Work, WorkState
from apps.launches.own_tasks import launches_own_run
from apps.launches.selectors.job import container_of
from apps.launches.services.executors import executor_of, place_of
from apps.launches.services.offers import own_offers
from apps.launches.services.own_machines import OwnExecutor
from apps.launches.services.work import (
    LEASE,
    LeaseLostError,
    device_standing,
    work_cancel,
    work_checkpoint,
    work_claim,
    work_finish,
    work_poll,
    work_renew,
    work_take_back,
    work_yield,
)
from finops.frames.launches import ATTEMPT, JOB, OWNER, Ending, LaunchCall, MachineState
from finops.providers.launching import LaunchRefusedError
from tests.support.launches import NOW, plan, target

IDLE = 3600
TAGS = {OWNER: "o" * 32, JOB: "7", ATTEMPT: "1"}


def pool(**changes: Any) -> Pool:
    values = {"organisation": Organisation.default(), "name": "office", "kind": "device", "currency": "USD"}
    return Pool.objects.create(**{**values, **changes})


def device(of: Pool, name: str = "pc-1", **changes: Any) -> Device:
    return Device.objects.create(pool=of, name=name, prefix=name, secret_hash=f"{len(name):064d}", **changes)


def work(of: Pool, key: str = "a", **changes: Any) -> Work:
    return Work.objects.create(**{"pool": of, "token": key, "document": {"command": ["true"]}, **changes})


@pytest.mark.django_db
def test_a_device_gets_its_work_and_the_same_again_when_the_answer_was_lost() -> None:
    one = device(pool())
    made = work(one.pool)
    first, again = (work_poll(device=one, idle_seconds=IDLE, now=NOW)[0] for _ in range(2))
    assert first is not None
    assert again is not None
    assert (first.pk, first.lease, again.lease) == (made.pk, 1, 1)
    assert work_poll(device=device(one.pool, "pc-2"), idle_seconds=IDLE, now=NOW) == (None, "nothing_waits")


@pytest.mark.django_db
def test_only_when_idle_only_in_its_window_only_its_own_pool() -> None:
    # 09:00 UTC is 17:00 in Shanghai.
    one = device(pool(window="16:00-18:00", zone="Asia/Shanghai"), window="08:30-09:30", zone="UTC")
    work(one.pool)
    assert work_poll(device=one, idle_seconds=60, now=NOW) == (None, "in_use")
    assert work_poll(device=one, idle_seconds=IDLE, now=NOW + timedelta(hours=2)) == (None, "outside_window")
    assert work_poll(device=one, idle_seconds=IDLE, now=NOW + timedelta(minutes=28)) == (None, "window_ends")
    always = device(pool(name="always", window="00:00-24:00", zone="Asia/Shanghai"), "pc-8")
    midnight = NOW.replace(hour=15, minute=59)
    assert work_poll(device=always, idle_seconds=IDLE, now=midnight) == (None, "nothing_waits")
    other = device(pool(name="lab"), "pc-9")
    assert work_poll(device=other, idle_seconds=IDLE, now=NOW) == (None, "nothing_waits")
    found = work_poll(device=one, idle_seconds=IDLE, now=NOW + timedelta(minutes=1))[0]
    assert found is not None
    assert found.lease_until == NOW + timedelta(minutes=1) + LEASE
    one.revoked_at = NOW
    assert device_standing(one, idle_seconds=IDLE, now=NOW).reason == "revoked"


@pytest.mark.django_db
def test_a_user_who_returns_is_told_and_the_next_device_goes_on_from_the_checkpoint() -> None:
    one = device(pool())
    made = work(one.pool)
    work_poll(device=one, idle_seconds=IDLE, now=NOW)
    assert work_renew(work_id=made.pk, lease=1, now=NOW, device=one, idle_seconds=IDLE)[1] == ""
    assert work_renew(work_id=made.pk, lease=1, now=NOW, device=one, idle_seconds=3)[1] == "in_use"
    work_checkpoint(work_id=made.pk, lease=1, checkpoint="step-9", share=0.4, now=NOW, device=one)
    work_checkpoint(work_id=made.pk, lease=1, checkpoint="step-2", share=0.1, now=NOW, device=one)
    for _ in range(2):
        work_yield(work_id=made.pk, lease=1, reason="in_use", now=NOW, device=one)
    two = device(one.pool, "pc-2")
    found = work_poll(device=two, idle_seconds=IDLE, now=NOW)[0]
    assert found is not None
    assert (found.lease, found.checkpoint, found.share) == (2, "step-9", 0.4)


@pytest.mark.django_db
def test_silent_work_is_taken_back_and_a_late_result_counts_for_nothing() -> None:
    one, two = device(pool()), None
    made = work(one.pool)
    two = device(one.pool, "pc-2")
    work_poll(device=one, idle_seconds=IDLE, now=NOW)
    later = NOW + LEASE
    assert work_take_back(now=later) == 1
    assert work_take_back(now=later) == 0
    work_poll(device=two, idle_seconds=IDLE, now=later)
    with pytest.raises(LeaseLostError):
        work_finish(work_id=made.pk, lease=1, succeeded=True, result={"by": 1}, now=later, device=one)
    done = [
        work_finish(work_id=made.pk, lease=2, succeeded=True, result={"by": number}, now=later, device=two)
        for number in (2, 3)
    ]
    made.refresh_from_db()
    assert [one.result for one in done] == [{"by": 2}, {"by": 2}]
    assert (made.state, made.result, made.share) == (WorkState.DONE, {"by": 2}, 1.0)
    assert [event.kind for event in made.events.all()] == [
        "leased", "taken_back", "leased", "late_result", "done",
    ]  # fmt: skip


@pytest.mark.django_db
def test_another_device_of_the_pool_cannot_touch_it() -> None:
    one = device(pool())
    made, two = work(one.pool), device(one.pool, "pc-2")
    work_poll(device=one, idle_seconds=IDLE, now=NOW)
    for change in (
        lambda: work_renew(work_id=made.pk, lease=1, now=NOW, device=two, idle_seconds=IDLE),
        lambda: work_yield(work_id=made.pk, lease=1, reason="x", now=NOW, device=two),
        lambda: work_finish(work_id=made.pk, lease=1, succeeded=True, result={}, now=NOW, device=two),
        lambda: work_checkpoint(work_id=made.pk, lease=1, checkpoint="x", share=1, now=NOW, device=two),
    ):
        with pytest.raises(LeaseLostError):
            change()
    made.refresh_from_db()
    assert (made.state, made.checkpoint) == (WorkState.LEASED, "")


@pytest.mark.django_db
def test_cancelled_work_stops_at_the_next_renewal_and_never_comes_back() -> None:
    one = device(pool())
    made = work(one.pool)
    work_poll(device=one, idle_seconds=IDLE, now=NOW)
    work_cancel(work=made, now=NOW)
    with pytest.raises(LeaseLostError, match="cancelled"):
        work_renew(work_id=made.pk, lease=1, now=NOW, device=one, idle_seconds=IDLE)
    assert work_take_back(now=NOW + LEASE) == 0
    assert work_poll(device=one, idle_seconds=IDLE, now=NOW) == (None, "nothing_waits")


@pytest.mark.django_db(transaction=True)
def test_many_devices_at_once_each_piece_goes_to_one() -> None:
    of = pool()
    devices = [device(of, f"pc-{number}") for number in range(6)]
    for number in range(4):
        work(of, str(number))
    got: list[tuple[str, int]] = []
    gate = threading.Barrier(len(devices))

    def ask(one: Device) -> None:
        gate.wait()
        found = work_poll(device=one, idle_seconds=IDLE, now=NOW)[0]
        if found is not None:
            got.append((one.name, found.pk))
        connections.close_all()

    threads = [threading.Thread(target=ask, args=(one,)) for one in devices]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(got) == 4
    assert len({pk for _, pk in got}) == 4
    assert connection.vendor == "postgresql"


def call(**document: Any) -> LaunchCall:
    return LaunchCall(
        "t", "", "on-demand", {"document": {"command": ["true"], **document}, "priority": 5}, TAGS
    )


@pytest.mark.django_db
def test_the_executor_of_devices_makes_one_piece_of_work_a_token() -> None:
    of = pool()
    executor = OwnExecutor(of)
    with pytest.raises(LaunchRefusedError) as refused:
        executor.launch(call(), now=NOW)
    assert refused.value.code == "NoDevice"
    device(of)
    machines = [executor.launch(call(), now=NOW) for _ in range(2)]
    assert machines[0].id == machines[1].id
    assert Work.objects.get().priority == 5
    with pytest.raises(LaunchRefusedError, match="another"):
        executor.launch(call(command=["false"]), now=NOW)
    executor.end(machines[0].id, now=NOW)
    executor.end("work-999", now=NOW)
    [seen] = executor.find({JOB: "7"}, now=NOW)
    assert (seen.state, seen.ending) == (MachineState.ENDED, Ending.STOPPED)
    assert executor.find({JOB: "8"}, now=NOW) == []


@pytest.mark.django_db
def test_own_servers_run_the_command_once_with_its_checkpoint_and_without_our_secrets(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SECRET_KEY", "s3cret")
    of = pool(kind="own", name="rack")
    script = 'echo "resume $OFFPEAK_RESUME secret [$SECRET_KEY] $GREETING"'
    made = work(
        of, checkpoint="step-4", document={"command": ["/bin/sh", "-c", script], "env": {"GREETING": "hi"}}
    )
    launches_own_run(made.pk)
    launches_own_run(made.pk)
    made.refresh_from_db()
    assert (made.state, made.lease) == (WorkState.DONE, 1)
    assert made.result == {"exit_code": 0, "tail": "resume step-4 secret [] hi\n"}
    bad = work(of, "b", document={"command": ["/does/not/exist"]})
    launches_own_run(bad.pk)
    bad.refresh_from_db()
    assert bad.state == WorkState.FAILED
    assert bad.result is not None
    assert "No such file" in bad.result["error"]


@pytest.mark.django_db
def test_a_plan_on_own_servers_launches_through_its_pool() -> None:
    of = pool(kind="own", name="rack")
    place = target(name="rack", executor="celery", settings={"pool": "rack"})
    made = plan(place, job={"container": {"command": ["python", "t.py"], "args": [1]}}, priority=9)
    parameters = place_of(place).parameters(place, made, {"market": "on-demand"})
    assert parameters["document"]["command"] == ["python", "t.py", "1"]
    assert parameters["document"]["env"]["OFFPEAK_LAUNCH_TOKEN"] == "{{launch_token}}"
    machine = executor_of(place, "", NOW).launch(LaunchCall("x", "", "on-demand", parameters, TAGS), now=NOW)
    assert Work.objects.get(pool=of).priority == 9
    assert machine.state is MachineState.RUNNING
    made.job = {"command": "python t.py", "gpus": 2}
    again = place_of(place).parameters(place, made, {"market": "on-demand"})
    assert again["document"]["command"] == ["/bin/sh", "-c", "python t.py"]
    assert container_of({**made.job, "image": "t:1", "min_vcpu": 4, "min_memory_gib": 1.5}) == {
        "image": "t:1", "command": "python t.py", "cpu": 4, "memory": "1.5Gi", "gpus": 2,
    }  # fmt: skip
    assert place_of(place).faults({"pool": ""}) == {"pool": "The name of a pool."}


@pytest.mark.django_db
def test_a_piece_that_lapsed_is_leased_to_the_next_without_waiting_for_the_clock() -> None:
    of = pool(kind="own")
    made = work(of)
    work_claim(pool=of, worker="a", now=NOW)
    assert work_claim(pool=of, worker="b", now=NOW) is None
    again = work_claim(pool=of, worker="b", now=NOW + LEASE)
    assert again is not None
    assert (again.pk, again.lease, again.worker) == (made.pk, 2, "b")


@pytest.mark.django_db
def test_a_cluster_with_spot_nodes_offers_them_first() -> None:
    settings = {"price": "1.0", "spot_price": "0.3", "currency": "USD", "nodes": "karpenter"}
    place = target(name="k8s", executor="kubernetes", credentials="main", settings=settings)
    offers = own_offers(place, {"hours": 2.0, "count": 3})
    assert [(one["market"], one["price"], one["cost"]) for one in offers] == [
        ("spot", "0.3", "1.80"), ("on-demand", "1.0", "6.00"),
    ]  # fmt: skip
    made = plan(place, job={"image": "t:1"}, priority=5)
    manifest = place_of(place).parameters(place, made, offers[0])["manifest"]
    assert manifest["spec"]["template"]["spec"]["nodeSelector"] == {"karpenter.sh/capacity-type": "spot"}
    assert place_of(place).faults({**settings, "nodes": ""}) == {
        "spot_price": "Say in `nodes` how the cluster labels Spot nodes."
    }
    place.settings = {"price": "1.0", "currency": "USD"}
    assert [one["market"] for one in own_offers(place, {"hours": 2.0})] == ["on-demand"]
