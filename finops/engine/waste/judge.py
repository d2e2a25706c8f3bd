"""All rules asked of a world: what is found, what would save nothing, what could not be judged."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from finops.engine.waste import databases, idle, rightsizing, schedule, types, volumes
from finops.engine.waste.model import Candidate, Kept, Outcome, Unjudged, World
from finops.frames.waste import Rule, waste_rules

Ask = Callable[[World, Rule], Iterable[Outcome]]

ASK: Mapping[str, Ask] = {
    "volume-unattached": volumes.unattached,
    "volume-of-stopped-instance": volumes.of_stopped,
    "snapshot-old": volumes.snapshot_old,
    "snapshot-of-deleted-volume": volumes.snapshot_orphan,
    "address-idle": idle.address_idle,
    **dict.fromkeys(idle.PAIRS, idle.idle),
    "development-endpoint-always-on": schedule.always_on,
    "nights-and-weekends": schedule.nights,
    "volume-gp2": volumes.gp2,
    "volume-provisioned": volumes.provisioned,
    "old-generation": types.old_generation,
    "extended-support": idle.always("database-extended", "kubernetes-extended", "cache-extended"),
    "capacity-unused": idle.always("capacity-unused"),
    "fast-restore": idle.always("fast-restore"),
    "transfer-between-zones": volumes.transfer,
    "logs-without-retention": volumes.logs,
    "spot-eligible": types.spot,
    "free-tier-leftover": idle.free_tier,
    "instance-idle": types.instance_idle,
    "instance-too-large": rightsizing.too_large,
    "database-idle": databases.idle,
    "database-stopped": databases.stopped,
    "database-provisioned": databases.provisioned,
    "database-too-large": databases.too_large,
    "database-unused-iops": databases.unused_iops,
    "table-idle": databases.table_idle,
    "table-capacity-unused": databases.table_capacity,
    "burst-surplus": types.surplus,
    "volume-unused-iops": types.unused_iops,
    "burst-credits": types.burst,
}
# Asked by another part, which looks at clusters and not at bill lines.
ELSEWHERE = ("kubernetes-requests",)


@dataclass(frozen=True)
class Judged:
    """`candidates` by saving, largest first."""

    candidates: tuple[Candidate, ...]
    kept: tuple[Kept, ...]
    unjudged: tuple[Unjudged, ...]


def judge(world: World) -> Judged:
    """Ask every rule that is not switched off for everybody and exists on the last judged day."""
    outcomes: list[Outcome] = []
    for rule in waste_rules().values():
        if rule.id not in ELSEWHERE:
            outcomes += _asked(world, rule)
    candidates = [one for one in outcomes if isinstance(one, Candidate)]
    candidates.sort(key=lambda one: (-one.saving, one.rule, one.key.resource))
    return Judged(
        tuple(candidates),
        tuple(one for one in outcomes if isinstance(one, Kept) and _worth_telling(one)),
        tuple(one for one in outcomes if isinstance(one, Unjudged)),
    )


def _worth_telling(kept: Kept) -> bool:
    """Of what left the bill only things that a person might still want to stop are told."""
    return kept.code != "gone" or waste_rules()[kept.rule].doing in ("delete", "stop")


def _asked(world: World, rule: Rule) -> Iterator[Outcome]:
    if rule.since > world.end.date():
        yield Unjudged(rule.id, "not-yet", {"since": rule.since.isoformat()})
        return
    whole = world.settings_of(rule.id, "")
    team = any(one.rule == rule.id and one.team and one.enabled for one in world.settings)
    if whole and not whole[-1].enabled and not team:
        yield Unjudged(rule.id, "switched-off")
        return
    yield from ASK[rule.id](world, rule)
