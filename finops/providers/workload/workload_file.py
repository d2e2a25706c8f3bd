"""Our own workload file for cost checks: the fields of `advise_launch`, YAML or JSON, one workload or a list.

    workloads:
      - {name: train, hours: 8, types: [p3.2xlarge], regions: [us-east-1], product: Linux/UNIX, count: 2,
         runs_per_month: 20, interruptible: true}

It is priced where it runs today (its first region) on demand; of several types the first is expected, the
cheapest and the dearest are the ends. What may be interrupted has Spot as its cheaper way. A repeating
workload needs `runs_per_month`: how many turns a month has is not guessed.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from finops.frames.check_words import check_whole_text, number, read_words
from finops.frames.cost_items import MACHINE, CheckInputError, Item, Range, Reading, Resource, Run, Side, Sku
from finops.frames.usage_file import Usage, amount_of
from finops.text.addresses import masked

FIELDS = frozenset(
    {
        "name", "hours", "types", "min_vcpu", "min_memory_gib", "gpu", "gpus", "provider", "regions", "zones",
        "home_zone", "count", "product", "earliest", "slack_hours", "deadline", "interruptible",
        "splittable", "checkpoint_minutes", "restart_minutes", "data_gib", "data_region", "discount_pct",
        "hazard_per_hour", "repeat", "done_by", "timezone", "runs_per_month", "tags",
    }
)  # fmt: skip
MAX_WORKLOADS = 1000


def read_workload(content: bytes, *, file: str, usage: Usage) -> Reading:
    """The workloads of a file. Raises CheckInputError that names workload and field."""
    document = read_words(content, file=file)
    check_whole_text(document, file=file)
    rows = document.get("workloads", [document] if document else [])
    if not isinstance(rows, list) or len(rows) > MAX_WORKLOADS:
        raise CheckInputError(f"not a list of at most {MAX_WORKLOADS}", file=file, field="workloads")
    found: dict[str, Resource] = {}
    for i, row in enumerate(rows):
        one = _resource(row, f"workloads[{i}]", file, usage)
        if one.address in found:
            raise CheckInputError("is there twice", file=file, address=one.address, field="name")
        found[one.address] = one
    lists = any(row.get("discount_pct") not in (None, "", "0") for row in rows)
    assumed = ("on-demand prices are those of the lists: discount_pct is not taken off",) if lists else ()
    return Reading(tuple(found[name] for name in sorted(found)), assumed)


def _resource(row: Any, place: str, file: str, usage: Usage) -> Resource:
    def refuse(field: str, reason: str) -> CheckInputError:
        return CheckInputError(reason, file=file, address=place, field=field)

    if not isinstance(row, dict):
        raise refuse("", "not a mapping")
    for name in row:
        if name not in FIELDS:
            raise refuse(str(name)[:60], f"unknown; known: {', '.join(sorted(FIELDS))}")
    for name in ("hours", "regions", "product"):
        if not row.get(name):
            raise refuse(name, "is missing")
    if row.get("provider", "aws") != "aws":
        raise refuse("provider", "only aws has prices here")
    types, regions = _words(row, "types", refuse), _words(row, "regions", refuse)
    if not isinstance(row["product"], str) or not isinstance(row.get("name", ""), str):
        raise refuse("product", "not a text")
    tags = row.get("tags") or {}
    if not isinstance(tags, dict):
        raise refuse("tags", "not a mapping")
    if row.get("interruptible", "true") not in {"true", "false"}:
        raise refuse("interruptible", "true or false")
    address = masked(f"workload/{row.get('name') or place}")
    item = _item(row, types, regions[0], place, file, usage.of(address))
    side = Side(
        (item,),
        {str(key): value if isinstance(value, str) else "" for key, value in tags.items()},
        regions[0],
        f"{', '.join(types)}".strip(),
        row.get("interruptible", "true") == "true",
        _run(row, place, file),
    )
    return Resource(address, "workload", "create", None, side, taggable=True)


def _run(row: Mapping[str, Any], place: str, file: str) -> Run:
    """What `advise_launch` is asked beside the type: a deadline is not turned into hours here."""
    told = row.get("slack_hours")
    slack = None
    if told is not None and told != "":
        slack = number(told, locale="", file=file, address=place, field="slack_hours")
    hours = number(row["hours"], locale="", file=file, address=place, field="hours")
    return Run(hours, slack, str(row.get("home_zone") or ""))


def _words(row: Mapping[str, Any], name: str, refuse: Any) -> list[str]:
    value = row.get(name) or []
    if not isinstance(value, list) or not all(isinstance(word, str) and word for word in value):
        raise refuse(name, "not a list of names")
    return value


def _item(
    row: Mapping[str, Any], types: list[str], region: str, place: str, file: str, said: Mapping[str, Any]
) -> Item:
    def exact(name: str, default: str) -> Decimal:
        return number(row.get(name) or default, locale="", file=file, address=place, field=name)

    hours, count = exact("hours", ""), exact("count", "1")
    if not types:
        return Item("machine", "instance-hour", (), None, "types are chosen at launch; name them")
    told = amount_of(said, "runs_hours")
    if told is None and row.get("repeat") and not row.get("runs_per_month"):
        return Item("machine", "instance-hour", (), None, "runs_per_month is not stated")
    amount = told or Range.of(hours * exact("runs_per_month", "1"))
    skus = tuple(Sku(MACHINE, region, kind, row["product"]) for kind in types)
    known = Range.of(count) if len(skus) == 1 else None
    return Item("machine", "instance-hour", skus, amount.times(Range.of(count)), count=known)
