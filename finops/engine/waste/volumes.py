"""Volumes that nothing uses, snapshots older than a policy, log groups that keep everything, cheaper
kinds of volume.

A bill does not say what a volume is attached to. A list of volumes does; without one only a place where no
instance ran at all, or a tag that a volume and one instance share, can be told from lines.
Prices of other kinds come as shares of a gp2 GiB-month of the list of us-east-1, applied to what is billed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from decimal import Decimal
from itertools import pairwise

from finops.engine.waste.model import Candidate, Outcome, Unjudged, World, amount_text, settled
from finops.frames.waste import MONTH_HOURS, ZERO, Key, Rule, Use

VOLUMES = ("volume-gp2", "volume-gp3", "volume-io", "volume-other")
RUNNING = ("instance", "instance-spot")
# Free of charge with gp3, and what gp2 gives, as the guide of general purpose volumes says.
GP3_IOPS, GP3_MBPS = Decimal(3000), Decimal(125)
GP2_IOPS_PER_GIB, GP2_LEAST_IOPS, GP2_MOST_IOPS = Decimal(3), Decimal(100), Decimal(16000)
# The volume that AWS names for a copied snapshot: "an arbitrary volume ID that should not be used for any
# purpose" (EC2 API reference, Snapshot). A copy is often the backup in another region.
COPIED = frozenset({"vol-ffffffff", "vol-ffffffffffffffff", "vol-fffffffffffffffff"})
GP2_MBPS, GP2_FULL_SPEED_GIB = Decimal(250), Decimal(170)


def size_of(world: World, use: Use) -> Decimal:
    """GiB (or IOPS) that the lines of GiB-months stand for."""
    return use.quantity / world.span_hours(use) * MONTH_HOURS


def unattached(world: World, rule: Rule) -> Iterator[Outcome]:
    """By the list of volumes; without it where no instance of the account and region ran."""
    ran = _ran_until(world)
    unknown: dict[tuple[str, str], int] = defaultdict(int)
    for use in world.of(*VOLUMES):
        params = world.params(rule, use.key)
        if not params.enabled or not use.key.resource:
            continue
        days = params.number("days")
        listed = world.listed.get(_last_part(use.key))
        if listed is not None and listed.attached_to is not None:
            if listed.attached_to == "":
                yield _without(world, rule, use, {"by": "list"})
            continue
        place = (use.key.account, use.key.region)
        last = ran.get(place)
        quiet = world.end - timedelta(days=float(days))
        if last is not None and last > quiet:
            unknown[place] += 1
            continue
        if world.seen_days(use) < days or world.start > quiet:
            continue
        yield _without(world, rule, use, {"by": "bill", "days": amount_text(days, 0)})
    if unknown:
        yield Unjudged(rule.id, "no-list", {"n": str(sum(unknown.values())), "places": str(len(unknown))})


def _ran_until(world: World) -> dict[tuple[str, str], datetime]:
    found: dict[tuple[str, str], datetime] = {}
    for use in world.of(*RUNNING):
        place = (use.key.account, use.key.region)
        if place not in found or use.last > found[place]:
            found[place] = use.last
    return found


def _without(world: World, rule: Rule, use: Use, facts: dict[str, str]) -> Outcome:
    """Deleting a volume after a snapshot: the saving is what is left over a snapshot of its size."""
    extra = world.by_key[use.key].get("volume-iops")
    uses = [use, extra] if extra is not None else [use]
    facts = {**facts, "gib": amount_text(size_of(world, use), 1)}
    outcome = settled(world, rule, uses, None, facts=facts, target={"kind": use.kind})
    share = world.shares.get(f"snapshot/{_price_name(use)}")
    if not isinstance(outcome, Candidate):
        return outcome
    whole = outcome.saving
    kept = world.monthly(use, use.cost or ZERO) * share if share is not None else whole
    left = whole - kept
    if left <= 0:
        return replaced(outcome, saving=whole, low=ZERO, high=whole, notes=("snapshot-dearer",))
    return replaced(outcome, saving=left, low=left, high=whole)


def _price_name(use: Use) -> str:
    """The volume's name in the price table."""
    name = use.usage_type.rpartition("EBS:VolumeUsage")[2].lstrip(".")
    return {"piops": "io1", "": "standard"}.get(name, name)


def replaced(found: Candidate, **changes: object) -> Candidate:
    """The candidate with other amounts; notes are added."""
    notes = (*found.notes, *changes.pop("notes", ()))  # type: ignore[misc]
    return replace(found, notes=notes, **changes)  # type: ignore[arg-type]


def of_stopped(world: World, rule: Rule) -> Iterator[Outcome]:
    """Volumes whose instance, by the list or by a shared tag, has no hours on the last days."""
    instances = {use.key: use for use in world.of(*RUNNING) if use.key.resource}
    by_id = {_last_part(key): use for key, use in instances.items()}
    by_tag: dict[tuple[str, str, str], list[Use]] = defaultdict(list)
    tag = rule.thresholds["link_tag"]
    for key, use in instances.items():
        if value := world.tag(key, tag):
            by_tag[(key.account, key.region, value)].append(use)
    for use in world.of(*VOLUMES):
        params = world.params(rule, use.key)
        if not params.enabled or not use.key.resource:
            continue
        quiet = world.end - timedelta(days=float(params.number("days")))
        if world.start > quiet:
            continue
        listed = world.listed.get(_last_part(use.key))
        if listed is not None and listed.attached_to is not None:
            name = listed.attached_to
            if not name:
                continue
            # A volume may be attached to several: the one that ran last counts.
            held = [by_id[one] for one in name.split(",") if one in by_id]
            instance = max(held, key=lambda one: one.last, default=None)
        else:
            value = world.tag(use.key, tag)
            same = by_tag.get((use.key.account, use.key.region, value), []) if value else []
            if len(same) != 1:
                continue
            instance, name = same[0], same[0].key.resource
        if instance is not None and instance.last > quiet:
            continue
        facts = {
            "instance": name,
            "since": instance.last.isoformat() if instance is not None else "",
            "by": "list" if listed is not None else "tag",
        }
        yield _without(world, rule, use, facts)


def snapshot_old(world: World, rule: Rule) -> Iterator[Outcome]:
    """Billed since longer than the policy allows; where a list tells when it was made, by that."""
    short = named = False
    for use in world.of("snapshot"):
        params = world.params(rule, use.key)
        if not params.enabled or not use.key.resource:
            continue
        named = True
        days = timedelta(days=float(params.number("policy_days")))
        listed = world.listed.get(_last_part(use.key))
        made = listed.created_at if listed is not None and listed.created_at else None
        since = made or world.first_seen.get(use.key, use.first)
        if since > world.end - days:
            short = short or (made is None and world.history is not None and world.history > world.end - days)
            continue
        if listed is not None and listed.image:
            continue
        facts = {"since": since.isoformat(), "policy_days": params.values["policy_days"]}
        low = ZERO if listed is None or listed.image is None else None
        notes = ("image-unknown",) if low is not None else ()
        yield settled(world, rule, [use], None, facts=facts, low=low, notes=notes)
    if world.by_kind.get("snapshot") and not named:
        yield Unjudged(rule.id, "no-resource", {"account": "", "region": ""})
    elif short and world.history is not None:
        yield Unjudged(rule.id, "short-history", {"since": world.history.isoformat()})


def _last_part(key: Key) -> str:
    """`snap-0abc` of `arn:aws:ec2:eu-west-1:1:snapshot/snap-0abc`."""
    return key.resource.rpartition("/")[2]


def snapshot_orphan(world: World, rule: Rule) -> Iterator[Outcome]:
    """The list names its volume, and no line of that volume is in the window."""
    billed = {_last_part(use.key) for use in world.of(*VOLUMES) if not world.gone(use)}
    known = False
    for use in world.of("snapshot"):
        params = world.params(rule, use.key)
        if not params.enabled or not use.key.resource:
            continue
        listed = world.listed.get(_last_part(use.key))
        if listed is None or not listed.volume or listed.volume in COPIED:
            continue
        known = True
        if listed.image or listed.volume in billed or listed.volume in world.listed:
            continue
        if world.end - world.start < timedelta(days=float(params.number("days"))):
            continue
        low = ZERO if listed.image is None else None
        notes = ("image-unknown",) if low is not None else ()
        yield settled(world, rule, [use], None, facts={"volume": listed.volume}, low=low, notes=notes)
    if world.by_kind.get("snapshot") and not known:
        yield Unjudged(rule.id, "no-snapshot-list")


def gp2(world: World, rule: Rule) -> Iterator[Outcome]:
    """gp2 at gp3's price: as many IOPS as gp2 gives; low: also its throughput; high: gp3's own are
    enough.
    """
    share = world.shares
    if "gp3/gp2" not in share:
        if world.by_kind.get("volume-gp2"):
            yield Unjudged(rule.id, "no-price")
        return
    for use in world.of("volume-gp2"):
        params = world.params(rule, use.key)
        if not params.enabled or not use.key.resource or use.cost is None:
            continue
        gib, monthly = size_of(world, use), world.monthly(use, use.cost)
        if gib <= 0 or monthly <= 0:
            continue
        rate = monthly / gib
        iops = min(max(gib * GP2_IOPS_PER_GIB, GP2_LEAST_IOPS), GP2_MOST_IOPS)
        extra = max(iops - GP3_IOPS, ZERO) * share["iops/gp2"] * rate
        speed = (GP2_MBPS - GP3_MBPS) * share["throughput/gp2"] * rate if gib > GP2_FULL_SPEED_GIB else ZERO
        high = monthly * (1 - share["gp3/gp2"])
        saving = high - extra
        if saving < params.number("least_monthly"):
            continue
        facts = {"gib": amount_text(gib, 1), "iops": amount_text(iops, 0)}
        outcome = settled(world, rule, [use], None, facts=facts, target={"iops": amount_text(iops, 0)})
        if isinstance(outcome, Candidate):
            yield replaced(outcome, saving=saving, low=saving - speed, high=high)
        else:
            yield outcome


def provisioned(world: World, rule: Rule) -> Iterator[Outcome]:
    """io1 and io2 whose IOPS gp3 can give."""
    share = world.shares
    if "gp3/io1" not in share:
        if world.by_kind.get("volume-io"):
            yield Unjudged(rule.id, "no-price")
        return
    for use in world.of("volume-io"):
        params = world.params(rule, use.key)
        piops = world.by_key[use.key].get("volume-iops")
        if not params.enabled or not use.key.resource or piops is None or use.cost is None:
            continue
        iops, gib = size_of(world, piops), size_of(world, use)
        if iops > params.number("most_iops") or gib <= 0:
            continue
        monthly = world.monthly(use, use.cost)
        rate = monthly / gib
        storage = monthly * share["gp3/io1"]
        facts = {"gib": amount_text(gib, 1), "iops": amount_text(iops, 0)}
        outcome = settled(
            world, rule, [use, piops], None, facts=facts,
            target={"iops": amount_text(max(iops, GP3_IOPS), 0)},
        )  # fmt: skip
        if not isinstance(outcome, Candidate):
            yield outcome
            continue
        high = outcome.saving - storage
        saving = high - max(iops - GP3_IOPS, ZERO) * share["iops/io1"] * rate
        if saving > 0:
            yield replaced(outcome, saving=saving, low=saving, high=high)


def logs(world: World, rule: Rule) -> Iterator[Outcome]:
    """Stored bytes that rise on all days and never fall: nothing is ever deleted."""
    for use in world.of("log-storage"):
        params = world.params(rule, use.key)
        series = use.series
        if not params.enabled or not use.key.resource or use.cost is None:
            continue
        if len(series) < params.number("days") or series[0] <= 0:
            continue
        inner = series[:-1]  # the last day may be cut
        if any(later < earlier for earlier, later in pairwise(inner)):
            continue
        growth = (inner[-1] - inner[0]) / (len(inner) - 1)
        kept = growth * params.number("retention_days")
        if growth <= 0 or kept >= inner[-1]:
            continue
        now = world.monthly(use, use.cost) * inner[-1] / (use.quantity / use.days)
        saving = now * (1 - kept / inner[-1])
        if saving < params.number("least_monthly"):
            continue
        facts = {
            "retention_days": params.values["retention_days"],
            "growth": amount_text(growth / inner[-1] * 100, 2),
            "older": amount_text((1 - kept / inner[-1]) * 100, 1),
        }
        outcome = settled(
            world, rule, [use], None, facts=facts, target={"retention": params.values["retention_days"]}
        )
        if isinstance(outcome, Candidate):
            yield replaced(outcome, saving=saving, low=ZERO)
        else:
            yield outcome


def transfer(world: World, rule: Rule) -> Iterator[Outcome]:
    """Traffic between zones by resource; how much of it can be avoided is an assumption, and is told as
    one.
    """
    for use in world.of("zone-transfer"):
        params = world.params(rule, use.key)
        if not params.enabled or use.cost is None:
            continue
        monthly = world.monthly(use, use.cost)
        if monthly < params.number("least_monthly"):
            continue
        share = params.number("avoidable_share")
        facts = {"gb": amount_text(size_of(world, use), 1), "share": amount_text(share * 100, 0)}
        yield settled(
            world, rule, [use], use.cost * share, facts=facts, low=ZERO, high=monthly, notes=("assumption",)
        )
