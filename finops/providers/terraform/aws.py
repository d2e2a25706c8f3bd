"""Resource types of the AWS provider: which have prices, which cost nothing of their own, which have tags."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from decimal import Decimal
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path

from finops.frames.cost_items import Item, Range, Side, Stored
from finops.frames.usage_file import amount_of, hours_of, run_of, word_of
from finops.providers.terraform.aws_compute import (
    Context,
    ebs_volume,
    instance,
    item,
    launch_template,
    scaling_group,
    tag_value,
)
from finops.providers.terraform.references import Configuration
from finops.providers.terraform.values import Mark, Values

_FREE = Path(__file__).parent / "nothing_to_pay.txt"


def _hourly(values: Values, context: Context, service: str, name: str, per: tuple[str, str, str]) -> Side:
    """An hourly price and one by use: `per` is the detail, the unit and the name in the usage file."""
    detail, unit, usage = per
    sku = context.sku(service, name, detail)
    used = amount_of(context.said, usage)
    by_use = (
        Item(detail, unit, (sku,), used)
        if used
        else Item(detail, unit, (sku,), None, f"{detail}: usage {usage} is not stated")
    )
    hours = Item("hours", "hour", (context.sku(service, name, "hours"),), hours_of(context.said))
    return Side((hours, by_use), summary=f"{name} {service}")


def nat_gateway(values: Values, context: Context) -> Side:
    """aws_nat_gateway; its public address is an aws_eip of its own."""
    return _hourly(values, context, "nat", "gateway", ("processed", "GiB", "gib_processed"))


def load_balancer(values: Values, context: Context) -> Side:
    """aws_lb, aws_alb."""
    kind = values.text("load_balancer_type") or "application"
    if isinstance(kind, Mark):
        return Side((Item("hours", "hour", (), None, f"load_balancer_type: {kind.word}"),))
    return _hourly(values, context, "balancer", kind, ("capacity", "LCU-hour", "lcu_hours"))


def classic_balancer(values: Values, context: Context) -> Side:
    """aws_elb."""
    return _hourly(values, context, "balancer", "classic", ("processed", "GiB", "gib_processed"))


def address(values: Values, context: Context) -> Side:
    """aws_eip: a public IPv4 address is paid whether it is in use or not."""
    sku = context.sku("address", "ipv4", "hours")
    return Side((Item("hours", "hour", (sku,), hours_of(context.said)),), summary="public IPv4")


def bucket(values: Values, context: Context) -> Side:
    """aws_s3_bucket: what it costs is in the usage file alone."""
    kind = word_of(context.said, "storage_class") or "STANDARD"
    made = []
    for component, unit, usage, factor in (
        ("storage", "GiB-month", "storage_gib", Decimal(1)),
        ("put", "1,000 requests", "put_requests", Decimal("0.001")),
        ("get", "1,000 requests", "get_requests", Decimal("0.001")),
    ):
        sku, used = context.sku("s3", kind, component), amount_of(context.said, usage)
        if used is None:
            made.append(Item(component, unit, (sku,), None, f"{component}: usage {usage} is not stated"))
        else:
            made.append(Item(component, unit, (sku,), used.times(Range.of(factor))))
    name, said = values.raw("bucket"), context.said
    stored = Stored(
        name if isinstance(name, str) else "", kind, amount_of(said, "storage_gib"),
        amount_of(said, "objects"), amount_of(said, "put_requests"), amount_of(said, "get_requests"),
    )  # fmt: skip
    return Side(tuple(made), summary=kind, stored=stored)


def database(values: Values, context: Context) -> Side:
    """aws_db_instance."""
    kind, engine, several = values.text("instance_class"), values.text("engine"), values.flag("multi_az")
    if not isinstance(kind, str) or not isinstance(engine, str) or isinstance(several, Mark):
        told = "instance_class, engine or multi_az is not known"
        return Side((Item("database", "hour", (), None, told),))
    zones = "multi" if several else "single"
    made = [
        Item("database", "hour", (context.sku("rds", engine, f"{kind} {zones}"),), hours_of(context.said))
    ]
    disk, iops = values.text("storage_type"), values.number("iops")
    if isinstance(disk, Mark):
        disk = None
    disk = disk or ("io1" if isinstance(iops, Decimal) and iops > 0 else "gp2")
    if not engine.startswith("aurora"):
        sku = context.sku("rds-storage", disk, zones)
        made.append(item("storage", "GiB-month", sku, values.number("allocated_storage")))
        if disk in {"io1", "io2"}:
            sku = context.sku("rds-storage", f"{disk}-iops", zones)
            made.append(item("iops", "IOPS-month", sku, iops))
        elif disk == "gp3" and isinstance(iops, Decimal) and iops > 0:
            # Free up to a number that depends on engine and size: the plan's own number may be that one.
            sku = context.sku("rds-storage", "gp3-iops", zones)
            made.append(Item("iops", "IOPS-month", (sku,), None, "iops of gp3 in RDS have no price here"))
    return Side(tuple(made), summary=f"{engine} {kind}, {zones} zone")


Maker = Callable[[Values, Context], Side]
PRICED: Mapping[str, Maker] = {
    "aws_instance": instance,
    "aws_spot_instance_request": instance,
    "aws_autoscaling_group": scaling_group,
    "aws_launch_template": launch_template,
    "aws_launch_configuration": launch_template,
    "aws_ebs_volume": ebs_volume,
    "aws_s3_bucket": bucket,
    "aws_nat_gateway": nat_gateway,
    "aws_lb": load_balancer,
    "aws_alb": load_balancer,
    "aws_elb": classic_balancer,
    "aws_eip": address,
    "aws_db_instance": database,
}
TAGGABLE = frozenset(PRICED) - {"aws_launch_template", "aws_launch_configuration"}


@cache
def _free() -> tuple[frozenset[str], tuple[str, ...]]:
    lines = [line.strip() for line in _FREE.read_text("utf-8").splitlines()]
    names = [line for line in lines if line and not line.startswith("#")]
    return frozenset(n for n in names if "*" not in n), tuple(n for n in names if "*" in n)


@cache
def costs_nothing(kind: str) -> bool:
    """Whether a type of resource is known to cost nothing of its own."""
    plain, patterns = _free()
    return kind in plain or any(fnmatchcase(kind, pattern) for pattern in patterns)


def side_of(
    kind: str,
    values: Values,
    *,
    said: Mapping[str, Range | str],
    assumed: dict[str, None],
    configuration: Configuration,
    after: bool,
    region: str,
) -> Side:
    """One side of a resource; without a region nothing of it has a price."""
    maker = PRICED.get(kind)
    if maker is None:
        if costs_nothing(kind):
            return Side(region=region)
        return Side((Item("all", "", (), None, f"no price is known for {kind}"),), region=region)
    context = Context(region, dict(said), assumed, configuration, values.address, after)
    made = maker(values, context)
    items = made.items
    if not region:
        told = "the region is not in the plan; state it in the usage file"
        items = tuple(replace(one, amount=None, reason=one.reason or told) for one in items)
    tags = made.tags if kind == "aws_autoscaling_group" else _tags(values)
    word = word_of(said, "interruptible")
    return replace(
        made, items=items, tags=tags, region=region, interruptible=None if not word else word == "true",
        run=run_of(said),
    )  # fmt: skip


def _tags(values: Values) -> dict[str, str | None] | None:
    """`tags_all` where it is known, else `tags`, to which the provider may add its own (the key "")."""
    every, own = values.raw("tags_all"), values.raw("tags")
    if isinstance(every, dict):
        return {str(key): tag_value(value) for key, value in every.items()}
    if isinstance(own, dict):
        found = {str(key): tag_value(value) for key, value in own.items()}
        return found | {"": None} if isinstance(every, Mark) else found
    return None if isinstance(every, Mark) or isinstance(own, Mark) else {}
