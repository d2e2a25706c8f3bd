"""A simulated market whose machines outlive the process: kept in a file, one user of it at a time.

What a launch on it is for: trying plans, approvals, interruptions and resuming without an account. Settings:
`pools` by zone or region as text of 0 and 1 (a tick each, repeated for ever), `gap_seconds` of a tick,
`begins` (ISO 8601), perhaps `seed` and `lose_answer`.
"""

from __future__ import annotations

import fcntl
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from finops.frames.availability import AvailabilityTrace
from finops.frames.launches import LaunchCall, Machine, Tried
from finops.providers.base import PermanentError
from finops.providers.simulated.executor import SimulatedExecutor

Answer = TypeVar("Answer")
SETTINGS = frozenset({"pools", "gap_seconds", "begins", "seed", "lose_answer"})
MAX_TICKS = 100_000
# A trace goes round: a launch may come weeks after its last tick.
REPEATS = timedelta(days=400)


def settings_faults(settings: Mapping[str, Any]) -> dict[str, str]:
    """What is wrong with a target's settings, by name; {} for nothing."""
    faults = {str(name): "There is no such setting." for name in settings if name not in SETTINGS}
    pools = settings.get("pools")
    if not isinstance(pools, Mapping) or not pools:
        faults["pools"] = "Availability by zone or region as text of 0 and 1."
    elif any(not isinstance(text, str) or not text or set(text) - {"0", "1"} for text in pools.values()):
        faults["pools"] = "Only 0 and 1, a tick each."
    elif any(len(text) > MAX_TICKS for text in pools.values()):
        faults["pools"] = f"At most {MAX_TICKS} ticks."
    gap = settings.get("gap_seconds", 600)
    if not isinstance(gap, int) or isinstance(gap, bool) or not 60 <= gap <= 86_400:
        faults["gap_seconds"] = "Whole seconds, 60 to 86400."
    lose = settings.get("lose_answer", 0.0)
    if not isinstance(lose, int | float) or isinstance(lose, bool) or not 0 <= lose < 1:
        faults["lose_answer"] = "A share from 0 to below 1."
    try:
        begins = datetime.fromisoformat(str(settings.get("begins", "")).replace("Z", "+00:00"))
        if begins.tzinfo is None:
            raise ValueError
    except ValueError:
        faults["begins"] = "A time with its zone, such as 2026-01-01T00:00:00Z."
    return faults


@dataclass(frozen=True)
class KeptSimulation:
    """The executor of one target; `path` is its file."""

    settings: Mapping[str, Any]
    path: Path

    def launch(self, call: LaunchCall, *, now: datetime) -> Machine:
        """As the protocol; also a call whose answer is lost is kept."""
        return self._with(now, lambda market: market.launch(call, now=now))

    def find(self, tags: Mapping[str, str], *, now: datetime) -> list[Machine]:
        """As the protocol."""
        return self._with(now, lambda market: market.find(tags, now=now))

    def tried(self, call: LaunchCall, *, now: datetime) -> Tried:
        """As the protocol."""
        return self._with(now, lambda market: market.tried(call, now=now))

    def known(self, machine_id: str, token: str, *, now: datetime) -> list[Machine]:
        """As the protocol."""
        return self._with(now, lambda market: market.known(machine_id, token, now=now))

    def end(self, machine_id: str, *, now: datetime) -> None:
        """As the protocol."""
        self._with(now, lambda market: market.end(machine_id, now=now))

    def _with(self, now: datetime, do: Callable[[SimulatedExecutor], Answer]) -> Answer:
        with self._locked() as handle:
            text = handle.read()
            rows = json.loads(text) if text else []
            market = self._market(now, len(rows))
            market.restore(rows)
            try:
                return do(market)
            finally:
                handle.seek(0)
                handle.truncate()
                handle.write(json.dumps(market.stored()))

    @contextmanager
    def _locked(self) -> Iterator[Any]:
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with self.path.open("a+", encoding="utf-8") as handle:
            fcntl.flock(handle, fcntl.LOCK_EX)
            handle.seek(0)
            yield handle

    def _market(self, now: datetime, machines: int) -> SimulatedExecutor:
        faults = settings_faults(self.settings)
        if faults:
            raise PermanentError(f"The simulated market is not set up: {', '.join(sorted(faults))}.")
        gap = int(self.settings.get("gap_seconds", 600))
        begins = datetime.fromisoformat(str(self.settings["begins"]).replace("Z", "+00:00")).astimezone(UTC)
        ticks = max(1, int(min(now - begins, REPEATS) / timedelta(seconds=gap)) + 2)
        pools = {
            str(zone): AvailabilityTrace(
                gap, np.resize(np.frombuffer(text.encode(), np.uint8) == ord("1"), ticks)
            )
            for zone, text in self.settings["pools"].items()
        }
        return SimulatedExecutor(
            pools, begins, seed=int(self.settings.get("seed", 0)) + machines,
            lose_answer=float(self.settings.get("lose_answer", 0.0)),
        )  # fmt: skip
