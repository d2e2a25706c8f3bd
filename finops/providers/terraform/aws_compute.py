"""Instances, auto scaling groups, launch templates and volumes of the AWS provider as items with a price.

Quirks: the image decides the operating system and the size of the root volume, and neither is in a plan; a
group of mixed instances rounds its on-demand part up; weights are units of capacity, so machines = units /
weight.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, Decimal
from typing import Any

from finops.frames.cost_items import MACHINE, ON_DEMAND, SPOT, Item, Range, Side, Sku
from finops.frames.usage_file import amount_of, hours_of, word_of
from finops.providers.terraform.references import Configuration
from finops.providers.terraform.values import Mark, Values

LINUX = "Linux/UNIX"
# From the page "Amazon EBS volume types" of the EBS user guide, read 2026-11: what gp3 has without a charge.
GP3_IOPS, GP3_MIBPS = Decimal(3000), Decimal(125)
# CloudWatch metrics of one instance with detailed monitoring (infracost autoscaling_group_test @01c59b17).
DETAILED_METRICS = Decimal(7)
ONE = Range.of(1)
ZERO = Decimal(0)


@dataclass(frozen=True)
class Context:
    """What is known beside the values: region, usage, assumptions made, the configuration, which side."""

    region: str
    said: dict[str, Any]
    assumed: dict[str, None]
    configuration: Configuration
    address: str
    after: bool

    def product(self) -> str:
        """The operating system as a product text."""
        told = word_of(self.said, "operating_system")
        if not told:
            self.assumed["instances run Linux/UNIX, as a plan does not say what the image holds"] = None
        return told or LINUX

    def sku(self, service: str, name: str, detail: str) -> Sku:
        """A sku in this region."""
        return Sku(service, self.region, name, detail)


def item(component: str, unit: str, sku: Sku, amount: Decimal | Mark | None, *, count: Range = ONE) -> Item:
    """An item of a known amount; without one the reason says what is missing."""
    if isinstance(amount, Decimal):
        return Item(component, unit, (sku,), Range.of(amount).times(count))
    why = amount.word if isinstance(amount, Mark) else "not stated"
    return Item(component, unit, (sku,), None, f"{component}: {why}")


def volume(
    values: Values,
    context: Context,
    prefix: str,
    *,
    count: Range = ONE,
    names: tuple[str, str] = ("type", "size"),
) -> list[Item]:
    """Storage, operations and throughput of one volume; `count` equal ones."""
    kind = values.text(names[0])
    if isinstance(kind, Mark):
        return [Item(f"{prefix}storage", "GiB-month", (), None, f"volume type {kind.word}")]
    kind = kind or word_of(context.said, "root_volume_type") or "gp2"
    made = [
        item(
            f"{prefix}storage", "GiB-month", context.sku("ebs", kind, "storage"), values.number(names[1]),
            count=count,
        )
    ]  # fmt: skip
    iops, throughput = values.number("iops"), values.number("throughput")
    if kind == "gp3":
        iops = max(iops - GP3_IOPS, ZERO) if isinstance(iops, Decimal) else ZERO if iops is None else iops
        extra = ZERO if throughput is None else throughput
        extra = max(extra - GP3_MIBPS, ZERO) if isinstance(extra, Decimal) else extra
        if extra != ZERO:
            sku = context.sku("ebs", kind, "throughput")
            made.append(item(f"{prefix}throughput", "MiBps-month", sku, extra, count=count))
    if kind in {"io1", "io2"} or (kind == "gp3" and iops != ZERO):
        sku = context.sku("ebs", kind, "iops")
        made.append(item(f"{prefix}iops", "IOPS-month", sku, iops, count=count))
    if kind == "standard":
        requests = amount_of(context.said, "io_requests")
        sku = context.sku("ebs", kind, "requests")
        if requests is None:
            told = f"{prefix}requests: usage io_requests is not stated"
            made.append(Item(f"{prefix}requests", "million requests", (sku,), None, told))
        else:
            amount = requests.times(Range.of(Decimal("0.000001"))).times(count)
            made.append(Item(f"{prefix}requests", "million requests", (sku,), amount))
    return made


def ebs_volume(values: Values, context: Context) -> Side:
    """aws_ebs_volume."""
    kind = values.text("type")
    size = values.number("size")
    shown = f"{size} GiB" if isinstance(size, Decimal) else "size not known"
    return Side(tuple(volume(values, context, "")), summary=f"{kind or 'gp2'}, {shown}")


def _hours_item(
    name: str, context: Context, types: list[tuple[str, Decimal]], count: Range, market: str
) -> Item:
    amount = hours_of(context.said).times(count)
    product = context.product()
    skus = tuple(context.sku(MACHINE, kind, product) for kind, _ in types)
    weights = tuple(weight for _, weight in types) if any(w != 1 for _, w in types) else ()
    # Of several types nobody knows how many machines of each there will be.
    known = count if len(types) == 1 and types[0][1] == 1 else None
    return Item(name, "instance-hour", skus, amount, market=market, weights=weights, count=known)


def _disks(values: Values, context: Context, count: Range) -> list[Item]:
    """Root and further volumes of an instance or launch configuration."""
    made: list[Item] = []
    root = values.block("root_block_device")
    told = amount_of(context.said, "root_volume_gib")
    if isinstance(root, Values) and root.number("volume_size") is not None:
        made += volume(root, context, "root volume ", count=count, names=("volume_type", "volume_size"))
    elif told is not None:
        kind = word_of(context.said, "root_volume_type") or "gp2"
        sku = context.sku("ebs", kind, "storage")
        made.append(Item("root volume storage", "GiB-month", (sku,), told.times(count)))
    else:
        why = "root volume: its size is the image's; state root_volume_gib"
        made.append(Item("root volume storage", "GiB-month", (), None, why))
    extra = values.blocks("ebs_block_device")
    if isinstance(extra, Mark):
        return made  # a computed list: volumes attached elsewhere are resources of their own
    for i, disk in enumerate(extra):
        made += volume(disk, context, f"volume {i} ", count=count, names=("volume_type", "volume_size"))
    return made


def _template_disks(values: Values, context: Context, count: Range) -> list[Item]:
    made: list[Item] = []
    mappings = values.blocks("block_device_mappings")
    if isinstance(mappings, Mark):
        return [Item("volumes", "GiB-month", (), None, f"block_device_mappings: {mappings.word}")]
    for i, mapping in enumerate(mappings):
        disk = mapping.block("ebs")
        if isinstance(disk, Values):
            made += volume(disk, context, f"volume {i} ", count=count, names=("volume_type", "volume_size"))
    if not made:
        made = _disks(Values({}, file=values.file, address=values.address), context, count)
    return made


def instance(values: Values, context: Context) -> Side:
    """aws_instance and aws_spot_instance_request."""
    kind = values.text("instance_type")
    market = (
        SPOT if values.raw("spot_price") is not None or values.raw("spot_type") is not None else ON_DEMAND
    )
    options = values.block("instance_market_options")
    if isinstance(options, Values) and options.text("market_type") == "spot":
        market = SPOT
    made: list[Item] = []
    if isinstance(kind, str):
        made.append(_machine(kind, values, context, ONE, market))
    else:
        why = kind.word if isinstance(kind, Mark) else "comes from a launch template"
        template = referred_template(values, context, "launch_template")
        found = template.text("instance_type") if template else None
        if isinstance(found, str):
            made.append(_machine(found, values, context, ONE, market))
            kind = found
        else:
            made.append(Item("machine", "instance-hour", (), None, f"instance_type: {why}"))
    made = _in_zone(made, pinned_zone(values, context))
    made += _disks(values, context, ONE) + _monitoring(values, context, ONE)
    return Side(tuple(made), summary=f"{kind or 'type not known'}, {market}")


def _in_zone(items: list[Item], zone: str) -> list[Item]:
    return [replace(one, zone=zone) for one in items] if zone else items


def pinned_zone(values: Values, context: Context) -> str:
    """The zone that machines must run in: their own, the only one of a group, or the subnet's of the plan; ""
    where the plan leaves it open.
    """
    zone = values.raw("availability_zone")
    if isinstance(zone, str) and zone:
        return zone
    zones = values.raw("availability_zones")
    if isinstance(zones, list) and len(zones) == 1 and isinstance(zones[0], str):
        return zones[0]
    if isinstance(zones, list) and zones:
        return ""
    block = "vpc_zone_identifier" if values.raw("vpc_zone_identifier") is not None else "subnet_id"
    several = values.raw("vpc_zone_identifier")
    if isinstance(several, list) and len(several) != 1:
        return ""
    subnet = context.configuration.referred(context.address, block, "aws_subnet", after=context.after)
    found = subnet.raw("availability_zone") if subnet is not None else None
    return found if isinstance(found, str) else ""


def _machine(kind: str, values: Values, context: Context, count: Range, market: str) -> Item:
    tenancy = values.text("tenancy")
    found = _hours_item("machine", context, [(kind, Decimal(1))], count, market)
    if tenancy in (None, "default") or isinstance(tenancy, Mark):
        return found
    return replace(found, amount=None, reason=f"no price for the tenancy {tenancy}")


def _monitoring(values: Values, context: Context, count: Range) -> list[Item]:
    detailed = values.raw("monitoring")
    if isinstance(detailed, list):
        block = values.block("monitoring")
        detailed = isinstance(block, Values) and block.flag("enabled") is True
    if detailed is not True and values.raw("enable_monitoring") is not True:
        return []
    sku = context.sku("monitoring", "detailed", "metrics")
    return [Item("detailed monitoring", "metric-month", (sku,), Range.of(DETAILED_METRICS).times(count))]


def referred_template(values: Values, context: Context, block: str) -> Values | None:
    """The launch template (or configuration) of the plan that a block names, by reference, else by name."""
    found = context.configuration.referred(
        context.address, block, "aws_launch_template", after=context.after
    ) or context.configuration.referred(
        context.address, block, "aws_launch_configuration", after=context.after
    )
    if found is not None:
        return found
    inner = values.block(block)
    while isinstance(inner, Values):
        for field, name in (("id", "id"), ("launch_template_id", "id"), ("name", "name"),
                            ("launch_template_name", "name")):  # fmt: skip
            wanted = inner.raw(field)
            if isinstance(wanted, str) and wanted:
                return context.configuration.named("aws_launch_template", name, wanted, after=context.after)
        inner = inner.block("launch_template_specification") or inner.block("launch_template")
    name = values.raw("launch_configuration")
    if isinstance(name, str) and name:
        return context.configuration.named("aws_launch_configuration", "name", name, after=context.after)
    return None


def _capacity(values: Values) -> Range | str:
    low, wish, high = (values.number(n) for n in ("min_size", "desired_capacity", "max_size"))
    if not isinstance(low, Decimal) or not isinstance(high, Decimal):
        return "min_size or max_size is not known"
    expected = wish if isinstance(wish, Decimal) else low
    if not low <= high:
        return "min_size is above max_size"
    return Range(low, min(max(expected, low), high), high)


def _overrides(policy: Values, default: str | None) -> list[tuple[str, Decimal]] | str:
    template = policy.block("launch_template")
    rows = template.blocks("override") if isinstance(template, Values) else []
    if isinstance(rows, Mark):
        return f"override: {rows.word}"
    found: list[tuple[str, Decimal]] = []
    for row in rows:
        kind, weight = row.text("instance_type"), row.number("weighted_capacity")
        if row.blocks("instance_requirements"):
            return "instance_requirements: types are chosen by AWS"
        if not isinstance(kind, str) or isinstance(weight, Mark) or weight == 0:
            return "override: the type or weight is not known"
        found.append((kind, weight or Decimal(1)))
    if found:
        return found
    return [(default, Decimal(1))] if default else "instance_type is not known"


def scaling_group(values: Values, context: Context) -> Side:
    """aws_autoscaling_group: `min_size`, `desired_capacity`, `max_size` machines as low, expected, high."""
    capacity = amount_of(context.said, "machines") or _capacity(values)
    policy = values.block("mixed_instances_policy")
    mixed = isinstance(policy, Values)
    block = "mixed_instances_policy" if mixed else "launch_template"
    template = referred_template(values, context, block) or referred_template(
        values, context, "launch_configuration"
    )
    if isinstance(capacity, str):
        return Side((Item("machines", "instance-hour", (), None, capacity),), tags=group_tags(values))
    found = template.text("instance_type") if template else None
    default = found if isinstance(found, str) else None
    if isinstance(policy, Values):
        made = _mixed(policy, context, capacity, default)
    elif default and template:
        options = template.block("instance_market_options")
        spot = isinstance(options, Values) and options.text("market_type") == "spot"
        spot = spot or template.raw("spot_price") is not None
        made = [_machine(default, template, context, capacity, SPOT if spot else ON_DEMAND)]
    else:
        made = [Item("machine", "instance-hour", (), None, "its launch template is not in this plan")]
    made = _in_zone(made, pinned_zone(values, context))
    if template:
        kind_of_disks = _template_disks if template.raw("block_device_mappings") is not None else _disks
        made += kind_of_disks(template, context, capacity)
        made += _monitoring(template, context, capacity)
    shown = f"{capacity.low}–{capacity.high} machines, {capacity.expected} expected"
    return Side(tuple(made), tags=group_tags(values), summary=shown)


def _mixed(policy: Values, context: Context, capacity: Range, default: str | None) -> list[Item]:
    types = _overrides(policy, default)
    if isinstance(types, str):
        return [Item("machine", "instance-hour", (), None, types)]
    rules = policy.block("instances_distribution")
    base: Decimal | Mark | None = None
    share: Decimal | Mark | None = None
    if isinstance(rules, Values):
        base = rules.number("on_demand_base_capacity")
        share = rules.number("on_demand_percentage_above_base_capacity")
    if isinstance(base, Mark) or isinstance(share, Mark):
        return [Item("machine", "instance-hour", (), None, "the Spot share is known only after apply")]
    if isinstance(rules, Values) and isinstance(share, Decimal) and share > 100:
        # Fewer machines than none would run on Spot, and their price would be taken off the total.
        raise rules.refused("on_demand_percentage_above_base_capacity", "above 100 percent")
    fixed, percent = base or ZERO, Decimal(100) if share is None else share

    def on_demand(units: Decimal) -> Decimal:
        above = max(units - fixed, ZERO) * percent / 100
        return min(units, fixed) + above.to_integral_value(ROUND_CEILING)

    ends = (capacity.low, capacity.expected, capacity.high)
    owned = Range(*(on_demand(units) for units in ends))
    spot = Range(*(units - on_demand(units) for units in ends))
    made = []
    if owned.high > 0:
        made.append(_hours_item("machine, on-demand", context, types, owned, ON_DEMAND))
    if spot.high > 0:
        made.append(_hours_item("machine, Spot", context, types, spot, SPOT))
    return made


def tag_value(value: Any) -> str | None:
    """The text of a tag; None where it is known only after apply or is a secret."""
    if isinstance(value, Mark):
        return None
    return value if isinstance(value, str) else ""


def group_tags(values: Values) -> dict[str, str | None] | None:
    """Tags of a group are blocks; one whose key is not known may be any (the key "")."""
    rows = values.blocks("tag")
    if isinstance(rows, Mark):
        return None
    return {
        "" if isinstance(row.raw("key"), Mark) else row.raw("key"): tag_value(row.raw("value"))
        for row in rows
        if isinstance(row.raw("key"), str | Mark)
    }


def launch_template(values: Values, context: Context) -> Side:
    """aws_launch_template, aws_launch_configuration: what is launched from them is paid, they are not."""
    kind = values.text("instance_type")
    return Side(summary=f"{kind}" if isinstance(kind, str) else "")
