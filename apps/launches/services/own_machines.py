"""Executors of an organisation's own machines and clusters: idle devices, queues of own servers, Kubernetes.

A launch on own machines is a row of work with the call's token: sent again it is the same row. Devices poll
for it; own servers are told through a queue of the broker; what the broker loses the clock hands out again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import transaction

from apps.catalog.models import Pool, PoolUse
from apps.launches.models import Executor as Kind
from apps.launches.models import LaunchPlan, LaunchTarget, Work, WorkState
from apps.launches.selectors.job import container_of
from apps.launches.services.executors import Offer, Place, register
from apps.launches.services.grants import grant_hold
from apps.launches.services.work import work_cancel
from finops.frames.launches import Ending, LaunchCall, Machine, MachineState, Trial, Tried
from finops.providers.base import PermanentError
from finops.providers.kubernetes.jobs import NAMESPACE_NAME, job_manifest, label_name, settings_faults
from finops.providers.kubernetes.launching import ClusterAccess, KubernetesExecutor
from finops.providers.launching import Executor, LaunchRefusedError

# Settings of a target of own machines.
OWN_SETTINGS = frozenset({"pool", "price", "currency", "type"})
_TELLERS: list[Callable[[Work], None]] = []
_MARKS = {
    "OFFPEAK_LAUNCH_URL": "{{launch_url}}",
    "OFFPEAK_LAUNCH_TOKEN": "{{launch_token}}",
    "OFFPEAK_ATTEMPT": "{{attempt}}",
    "OFFPEAK_DONE_HOURS": "{{done_hours}}",
    "OFFPEAK_CHECKPOINT": "{{checkpoint}}",
}
_ENDINGS = {
    WorkState.DONE: Ending.DONE,
    WorkState.FAILED: Ending.FAILED,
    WorkState.CANCELLED: Ending.STOPPED,
}


@dataclass(frozen=True)
class OwnExecutor:
    """Work of one pool. `tell` says to the broker that there is work; None where machines ask themselves."""

    pool: Pool
    tell: Callable[[Work], None] | None = None

    def launch(self, call: LaunchCall, *, now: datetime) -> Machine:
        """As the protocol."""
        if not self.pool.active:
            raise LaunchRefusedError("NoDevice", "The pool is not in use.")
        if self.tell is None and not self.pool.devices.filter(revoked_at=None).exists():
            raise LaunchRefusedError("NoDevice", "The pool has no device.")
        document = dict(call.parameters.get("document") or {})
        work, made = Work.objects.get_or_create(
            token=call.token,
            defaults={
                "pool": self.pool,
                "tags": dict(call.tags),
                "document": document,
                "priority": int(call.parameters.get("priority") or 0),
            },
        )
        if not made and (work.pool_id != self.pool.pk or work.document != document):
            raise LaunchRefusedError("IdempotentParameterMismatch", "The token is another call's.")
        if made and self.tell is not None:
            tell = self.tell
            transaction.on_commit(lambda: tell(work))
        return machine_of(work)

    def find(self, tags: Mapping[str, str], *, now: datetime) -> list[Machine]:
        """As the protocol."""
        return [machine_of(one) for one in Work.objects.filter(pool=self.pool, tags__contains=dict(tags))]

    def tried(self, call: LaunchCall, *, now: datetime) -> Tried:
        """As the protocol."""
        if not self.pool.active:
            return Tried(Trial.OTHER, "NoDevice", "The pool is not in use.")
        if self.tell is None and not self.pool.devices.filter(revoked_at=None).exists():
            return Tried(Trial.OTHER, "NoDevice", "The pool has no device.")
        return Tried(Trial.ALLOWED)

    def known(self, machine_id: str, token: str, *, now: datetime) -> list[Machine]:
        """As the protocol."""
        if machine_id:
            work = self._work(machine_id)
            return [] if work is None else [machine_of(work)]
        return [machine_of(one) for one in Work.objects.filter(pool=self.pool, token=token)]

    def _work(self, machine_id: str) -> Work | None:
        number = machine_id.removeprefix("work-")
        return Work.objects.filter(pool=self.pool, pk=int(number)).first() if number.isdecimal() else None

    def end(self, machine_id: str, *, now: datetime) -> None:
        """As the protocol."""
        work = self._work(machine_id)
        if work is not None:
            work_cancel(work=work, now=now)


def machine_of(work: Work) -> Machine:
    """A piece of work as a machine: one that waits counts as running, it has been asked for."""
    ending = _ENDINGS.get(WorkState(work.state))
    return Machine(
        id=f"work-{work.pk}",
        token=work.token,
        tags=work.tags,
        state=MachineState.RUNNING if ending is None else MachineState.ENDED,
        launched_at=work.created_at,
        ending=ending,
        ended_at=work.ended_at,
    )


def _pool(target: LaunchTarget) -> Pool:
    kind = PoolUse.DEVICE if target.executor == Kind.DEVICE else PoolUse.OWN
    found = Pool.objects.filter(
        organisation=target.organisation, name=str(target.settings.get("pool") or ""), kind=kind
    ).first()
    if found is None:
        raise PermanentError(f"The target {target.name} names no pool of its kind.")
    return found


def _open_own(target: LaunchTarget, region: str, now: datetime) -> Executor:
    if target.executor == Kind.DEVICE:
        return OwnExecutor(_pool(target))
    return OwnExecutor(_pool(target), _TELLERS[-1] if _TELLERS else _nobody)


def _nobody(work: Work) -> None:
    """The clock finds it."""


def _own_parameters(target: LaunchTarget, plan: LaunchPlan, offer: Offer) -> dict[str, Any]:
    """What a machine of ours gets to run: a command and its environment, in JSON's types."""
    command = container_of(plan.job).get("command")
    if not command:
        raise PermanentError("The work names no command to run.")
    words = ["/bin/sh", "-c", command] if isinstance(command, str) else [str(one) for one in command]
    words += [str(one) for one in container_of(plan.job).get("args") or []]
    return {
        "document": {"command": words, "env": _environment(plan), "name": plan.name},
        "priority": plan.priority,
    }


def _kubernetes_parameters(target: LaunchTarget, plan: LaunchPlan, offer: Offer) -> dict[str, Any]:
    seconds = None if plan.deadline_hours is None else round(plan.deadline_hours * 3600)
    manifest = job_manifest(
        name=label_name(plan.name),
        namespace=str(target.settings.get("namespace") or "default"),
        offer=offer,
        container={**container_of(plan.job), "env": _environment(plan)},
        settings=target.settings,
        labels={"app.kubernetes.io/managed-by": "offpeak"},
        annotations={},
        priority=plan.priority,
        count=plan.count // plan.parts,
        seconds=seconds,
        suspend=bool(target.settings.get("suspend")),
    )
    return {"manifest": manifest}


def _environment(plan: LaunchPlan) -> dict[str, str]:
    given = container_of(plan.job).get("env") or {}
    return {str(key): str(value) for key, value in given.items()} | _MARKS


def _open_kubernetes(target: LaunchTarget, region: str, now: datetime) -> Executor:
    """The cluster whose credentials lie in the folder that the target names, below the installation's own."""
    if not NAMESPACE_NAME.fullmatch(target.credentials):
        raise PermanentError("The target names no cluster: lower-case letters, digits and -.")
    grant_hold(target)
    folder = Path(settings.KUBERNETES_CREDENTIALS) / target.credentials
    namespace = str(target.settings.get("namespace") or "default")
    return KubernetesExecutor(ClusterAccess(folder), namespace, float(settings.LAUNCH_CALL_SECONDS))


def _own_faults(given: Mapping[str, Any]) -> dict[str, str]:
    faults = {str(name): "There is no such setting." for name in given if name not in OWN_SETTINGS}
    if not isinstance(given.get("pool"), str) or not given["pool"]:
        faults["pool"] = "The name of a pool."
    return faults


def register_all(tell: Callable[[Work], None]) -> None:
    """Make these executors known; `tell` says to own servers that there is work: a task, so given here."""
    _TELLERS.append(tell)
    register(Kind.KUBERNETES, Place(_open_kubernetes, _kubernetes_parameters, settings_faults, "kubernetes"))
    for kind in (Kind.CELERY, Kind.DEVICE):
        register(kind, Place(_open_own, _own_parameters, _own_faults, provider="own"))
