"""Rules of reselling Reserved Instances. Grain: one row per provider, rule and time it holds
(`data/resale_rules.csv`).

`since` (included) and `until` (excluded) are the days a rule holds; empty: always. `as_of` is the day it
was read.
"""

from __future__ import annotations

import csv
from datetime import date
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import NamedTuple

_TABLE = Path(__file__).parent / "data" / "resale_rules.csv"


class _Row(NamedTuple):
    provider: str
    rule: str
    value: str
    since: date
    until: date
    as_of: date
    source: str


class ResaleRules(NamedTuple):
    """What holds on one day. `minimum_hold_days` and `minimum_left_months` carry their unit in the name;
    `seller_fee` is a share of the one-time price; the limits count over the seller's lifetime.
    """

    provider: str
    day: date
    offering_class: str
    minimum_hold_days: int
    minimum_left_months: int
    seller_fee: Decimal
    minimum_price: Decimal
    limit_amount: Decimal
    limit_count: int
    limit_currency: str
    bank_country: str
    barred_sellers: frozenset[str]
    barred_region_prefixes: tuple[str, ...]
    opt_in_regions_barred: bool
    discounted_barred: bool
    as_of: date
    sources: tuple[str, ...]


@cache
def _rows() -> tuple[_Row, ...]:
    with _TABLE.open(newline="", encoding="utf-8") as handle:
        return tuple(
            _Row(
                row["provider"],
                row["rule"],
                row["value"],
                date.fromisoformat(row["since"]) if row["since"] else date.min,
                date.fromisoformat(row["until"]) if row["until"] else date.max,
                date.fromisoformat(row["as_of"]),
                row["source"],
            )
            for row in csv.DictReader(handle)
        )


def resale_rules(provider: str, day: date) -> ResaleRules | None:
    """The rules that hold on `day`; None for a provider without a market for resale."""
    held = [row for row in _rows() if row.provider == provider and row.since <= day < row.until]
    if not held:
        return None
    values: dict[str, list[str]] = {}
    for row in held:
        values.setdefault(row.rule, []).append(row.value)
    return ResaleRules(
        provider=provider,
        day=day,
        offering_class=values["offering_class"][0],
        minimum_hold_days=int(values["minimum_hold"][0]),
        minimum_left_months=int(values["minimum_left"][0]),
        seller_fee=Decimal(values["seller_fee"][0]),
        minimum_price=Decimal(values["minimum_price"][0]),
        limit_amount=Decimal(values["lifetime_limit_amount"][0]),
        limit_count=int(values["lifetime_limit_count"][0]),
        limit_currency="USD",
        bank_country=values["bank_country"][0],
        barred_sellers=frozenset(values.get("barred_seller", [])),
        barred_region_prefixes=tuple(values.get("barred_region_prefix", [])),
        opt_in_regions_barred="opt_in_region_barred" in values,
        discounted_barred="discounted_barred" in values,
        as_of=max(row.as_of for row in held),
        sources=tuple(dict.fromkeys(row.source for row in held)),
    )
