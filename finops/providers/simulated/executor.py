"""A market replayed from availability traces, seeded: capacity errors, interruptions, lost answers.

Quirks, those of the real ones: Spot is refused with InsufficientInstanceCapacity in a tick without it and
ends at the start of such a tick; a token sent again with the same call gives the same machine, with another
call IdempotentParameterMismatch; a new machine shows in `find` only `shows_after` later; the answer of a
call that took effect is lost with the chance `lose_answer`.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from finops.frames.availability import AvailabilityTrace
from finops.frames.launches import Ending, LaunchCall, Machine, MachineState, Trial, Tried
from finops.providers.launching import LaunchOutcomeUnknownError, LaunchRefusedError

SPOT, ON_DEMAND = "spot", "on-demand"


@dataclass
class SimulatedExecutor:
    """`pools`: a trace by name, its first tick at `begins`; after a trace's end there is no Spot.

    `on_demand_limit`: machines that the account may run on demand, None for no limit.
    """

    pools: Mapping[str, AvailabilityTrace]
    begins: datetime
    seed: int = 0
    lose_answer: float = 0.0
    shows_after: timedelta = timedelta(0)
    on_demand_limit: int | None = None
    calls: list[LaunchCall] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._random = random.Random(self.seed)  # noqa: S311 - a replay, not a secret
        self._machines: dict[str, tuple[LaunchCall, Machine, datetime | None]] = {}

    def launch(self, call: LaunchCall, *, now: datetime) -> Machine:
        """As the protocol."""
        self.calls.append(call)
        before = [made for made in self._machines.values() if made[0].token == call.token]
        if before:
            if before[0][0] != call:
                raise LaunchRefusedError("IdempotentParameterMismatch")
            machine = self._seen(before[0][1].id, now)
        else:
            self._refuse(call, now)
            machine = Machine(
                f"i-{len(self._machines) + 1}", call.token, dict(call.tags), MachineState.RUNNING, now
            )
            self._machines[machine.id] = (call, machine, None)
        if self._random.random() < self.lose_answer:
            raise LaunchOutcomeUnknownError("the answer was lost")
        return machine

    def find(self, tags: Mapping[str, str], *, now: datetime) -> list[Machine]:
        """As the protocol."""
        return [
            self._seen(name, now)
            for name, (_call, machine, _ended) in self._machines.items()
            if now - machine.launched_at >= self.shows_after and tags.items() <= machine.tags.items()
        ]

    def tried(self, call: LaunchCall, *, now: datetime) -> Tried:
        """As the protocol."""
        if call.pool not in self.pools or call.market not in {SPOT, ON_DEMAND}:
            return Tried(Trial.PARAMETERS, "InvalidParameterValue", f"no such pool or market: {call.pool}")
        return Tried(Trial.ALLOWED)

    def known(self, machine_id: str, token: str, *, now: datetime) -> list[Machine]:
        """As the protocol."""
        return [
            self._seen(name, now)
            for name, (call, _machine, _ended) in self._machines.items()
            if (name == machine_id if machine_id else call.token == token)
        ]

    def end(self, machine_id: str, *, now: datetime) -> None:
        """As the protocol."""
        if machine_id in self._machines:
            call, machine, ended = self._machines[machine_id]
            self._machines[machine_id] = (call, machine, ended or now)

    def running(self, *, now: datetime) -> list[Machine]:
        """Every machine that is paid at `now`, also one that does not show yet: what a bill would say."""
        seen = [self._seen(name, now) for name in self._machines]
        return [machine for machine in seen if machine.state is MachineState.RUNNING]

    def stored(self) -> list[dict[str, Any]]:
        """Calls and machines as JSON values, for `restore`."""
        return [
            {
                "id": machine.id, "token": call.token, "pool": call.pool, "market": call.market,
                "parameters": call.parameters, "tags": dict(call.tags),
                "launched_at": machine.launched_at.isoformat(), "ended": ended.isoformat() if ended else None,
            }
            for call, machine, ended in self._machines.values()
        ]  # fmt: skip

    def restore(self, rows: list[dict[str, Any]]) -> None:
        """The machines of another process."""
        for row in rows:
            call = LaunchCall(row["token"], row["pool"], row["market"], row["parameters"], row["tags"])
            at = datetime.fromisoformat(row["launched_at"])
            machine = Machine(row["id"], call.token, dict(call.tags), MachineState.RUNNING, at)
            ended = datetime.fromisoformat(row["ended"]) if row["ended"] else None
            self._machines[machine.id] = (call, machine, ended)

    def _refuse(self, call: LaunchCall, now: datetime) -> None:
        if call.pool not in self.pools or call.market not in {SPOT, ON_DEMAND}:
            raise LaunchRefusedError("InvalidParameterValue", f"no such pool or market: {call.pool}")
        if call.market == SPOT and not self._there(call.pool, now):
            raise LaunchRefusedError("InsufficientInstanceCapacity")
        if call.market == ON_DEMAND and self.on_demand_limit is not None:
            running = {machine.id for machine in self.running(now=now)}
            held = [name for name in running if self._machines[name][0].market == ON_DEMAND]
            if len(held) >= self.on_demand_limit:
                raise LaunchRefusedError("VcpuLimitExceeded")

    def _tick(self, pool: str, at: datetime) -> int:
        return (at - self.begins) // timedelta(seconds=self.pools[pool].gap_seconds)

    def _there(self, pool: str, at: datetime) -> bool:
        tick, flags = self._tick(pool, at), self.pools[pool].available
        return 0 <= tick < flags.size and bool(flags[tick])

    def _seen(self, name: str, now: datetime) -> Machine:
        call, machine, ended = self._machines[name]
        gone = ended is not None and ended <= now
        if not gone and call.market == SPOT:
            first, last = self._tick(call.pool, machine.launched_at), self._tick(call.pool, now)
            flags = self.pools[call.pool].available
            gone = last >= flags.size or not bool(flags[first : last + 1].all())
        if not gone:
            return machine
        ending = Ending.STOPPED if ended is not None and ended <= now else Ending.INTERRUPTED
        return replace(machine, state=MachineState.ENDED, ending=ending)
