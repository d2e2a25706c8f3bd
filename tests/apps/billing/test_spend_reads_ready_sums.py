"""Sums that stand ready, the lake's own tables and a plain count in Python give the same answers."""

from __future__ import annotations

import random
import re
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from functools import reduce
from pathlib import Path
from typing import Any

import pytest
from django.core.cache import cache

from apps.accounts.models import Organisation
from apps.billing.selectors import spend_source
from apps.billing.selectors.allocation import Allocation, Rule
from apps.billing.selectors.spend import SpendAnswer, spend
from apps.billing.selectors.spend_question import COLUMNS, SpendQuestion
from apps.ingest.selectors import current_snapshots, lake
from finops.engine.spend import EXACT, next_month
from finops.frames.focus import BASES
from finops.lake import BILL_LINES, bill_sums_build
from finops.lake.bill_sums_build import make_sums
from tests.support.bill_lake import put_bill

pytestmark = pytest.mark.django_db
NOW = datetime(2026, 8, 10, tzinfo=UTC)
MONTHS = (date(2026, 4, 1), date(2026, 5, 1), date(2026, 6, 1))
ABSENT_IN = MONTHS[0]
KEYS = ("team", "Team", "user:team", 'it\'s "odd", 键', "env")
DIMENSIONS = (
    "account", "service", "region", "resource", "usage_type", "instance_type", "charge_category",
    "pricing_category", "seller", "tag:team", "tag:Team", f"tag:{KEYS[3]}", "tagfold:TEAM",
    "cost_category:unit", "cost_category:none", "provider", "payer",
)  # fmt: skip


def made_lines(random: random.Random, month: date, count: int, odd_days: bool) -> list[dict[str, Any]]:
    days = (next_month(month) - month).days

    def one() -> dict[str, Any]:
        digits = random.choice((2, 6, 10, 10, 11, 18))
        cost = Decimal(random.randint(-(10**6), 10**8)).scaleb(-digits)
        if random.random() < 0.02:
            cost = Decimal(random.randint(1, 10**14))
        outside = odd_days and random.random() < 0.2
        day = month + timedelta(days=random.randint(-2, days + 1) if outside else random.randint(0, days - 1))
        return {
            "billed_cost": format(cost, "f"),
            "effective_cost": format(EXACT.add(cost, Decimal("0.5")), "f") if random.random() < 0.8 else None,
            "list_cost": format(EXACT.multiply(cost, 2), "f") if random.random() < 0.5 else None,
            "x_net_cost": format(cost, "f"),
            "x_quantity": random.choice((None, "0", "1.5", "2", "-1.5", "0.000000000001")),
            "x_unit": random.choice(("Hrs", "Hrs", "Hrs", "GB", None, "-")),
            "billing_currency": random.choice(("USD", "USD", "USD", "CNY")),
            "sub_account_id": random.choice(("1", "2", None)),
            "service_name": random.choice(("S", "T", "s")),
            "region_id": random.choice(("r1", None)),
            "resource_id": random.choice(("i-1", "i-2", "vol-3", None, "")),
            "x_usage_type": random.choice(("u1", "u2", None)),
            "x_instance_type": random.choice(("m5", None)),
            "pricing_category": random.choice(("Standard", "Dynamic", None)),
            "charge_category": random.choice(("Usage", "Tax", "Credit")),
            "x_billing_entity": random.choice(("AWS", "AWS Marketplace", None)),
            "x_day": day,
            "tags": {key: random.choice(("web", "data", "")) for key in KEYS if random.random() < 0.3},
            "x_cost_categories": {"unit": random.choice(("a", "b"))} if random.random() < 0.5 else {},
        }  # fmt: skip

    return [one() for _ in range(count)]


def clamped(row: dict[str, Any]) -> date:
    last = next_month(row["month"]) - timedelta(days=1)
    return max(row["month"], min(row["x_day"], last))


def first_of(tags: dict[str, str], *keys: str) -> str | None:
    return next((tags[key] for key in keys if key in tags), None)


FOLDED = ("TEAM", "Team", "team", "user:TEAM", "user:Team", "user:team")


def value_of(row: dict[str, Any], name: str) -> str | None:
    kind, _, key = name.partition(":")
    if name == "payer":
        return None
    if name == "provider":
        return "aws"
    if name == "seller":
        return "marketplace" if "Marketplace" in (row["x_billing_entity"] or "") else "cloud"
    if kind == "cost_category":
        return row["x_cost_categories"].get(key)
    if kind in ("tag", "tagfold"):
        keys = (key, f"user:{key}", f"user_{key}") if kind == "tag" and ":" not in key else (key,)
        found = first_of(row["tags"], *(FOLDED if kind == "tagfold" else keys))
        return found if found is not None else (None if row["month"] == ABSENT_IN else "")
    return row[COLUMNS[name]]


def period_of(row: dict[str, Any], question: SpendQuestion) -> date:
    day = clamped(row)
    if question.granularity == "day":
        return day
    if question.granularity == "week":
        return max(question.start, day - timedelta(days=day.weekday()))
    return max(question.start, day.replace(day=1)) if question.granularity == "month" else question.start


def team_of(row: dict[str, Any], rules: Allocation) -> str:
    for rule in rules.rules:
        day = clamped(row)
        if (rule.valid_from and day < rule.valid_from) or (rule.valid_to and day > rule.valid_to):
            continue
        if rule.kind == "account":
            good = row["sub_account_id"] in rule.values
        elif rule.kind == "tag":
            good = first_of(row["tags"], rule.key, f"user:{rule.key}") in rule.values
        else:
            good = row["resource_id"] is not None and re.search(rule.pattern, row["resource_id"]) is not None
        if good:
            return rules.slugs[rule.team or 0]
    return "unallocated"


def counted(rows: list[dict[str, Any]], question: SpendQuestion, rules: Allocation) -> dict[Any, Any]:
    """By values, start and currency: cost, quantity, unit, lines, lines without a cost."""
    groups: dict[Any, list[dict[str, Any]]] = {}
    for row in rows:
        if not question.start <= clamped(row) < question.end:
            continue
        named = {name: team_of(row, rules) if name == "team" else value_of(row, name) for name in
                 {*question.by, *question.conditions()}}  # fmt: skip
        if any((named[name] or "") not in values if not name.startswith("tag") else
               named[name] not in [None if value == "absent" else value for value in values]
               for name, values in question.conditions().items()):  # fmt: skip
            continue
        key = tuple(named[name] for name in question.by)
        groups.setdefault((key, period_of(row, question), row["billing_currency"]), []).append(row)
    return {key: _sums(found, BASES[question.basis]) for key, found in groups.items()}


def _sums(rows: list[dict[str, Any]], cost: str) -> tuple[Any, ...]:
    costs = [Decimal(row[cost]) for row in rows if row[cost] is not None]
    quantities = [Decimal(row["x_quantity"]) for row in rows if row["x_quantity"] is not None]
    units = {row["x_unit"] for row in rows if row["x_unit"] is not None}
    mixed = len(units) != 1 or any(
        row["x_unit"] is None and row["x_quantity"] is not None and Decimal(row["x_quantity"]) for row in rows
    )
    quantity = sum(quantities) if quantities else None
    return (
        reduce(EXACT.add, costs) if costs else None,
        None if quantity and mixed else quantity,
        units.pop() if quantity and not mixed else None,
        len(rows),
        len(rows) - len(costs),
    )


def told(answer: SpendAnswer) -> dict[Any, Any]:
    found = {
        (row.values, row.start, row.currency): (
            row.cost, row.quantity, row.unit, row.lines, row.lines_without_cost,
        )
        for row in answer.rows
    }  # fmt: skip
    assert len(found) == len(answer.rows)
    return found


def without(found: dict[Any, Any], question: SpendQuestion) -> dict[Any, Any]:
    """Groups of a team are added up where several rules give to it; a unit of nothing is then no unit."""
    return {key: v[:1] + v[3:] if question.asks_for("team") else v for key, v in found.items()}


def put_lines(seed: int, count: int = 120) -> list[dict[str, Any]]:
    kinds = random.Random(seed)
    rows = []
    for month in MONTHS:
        made = made_lines(kinds, month, count, odd_days=seed % 2 == 0)
        put_bill(made, period=month, tag_keys=["none of these"] if month == ABSENT_IN else None)
        rows += [{**row, "month": month} for row in made]
    return rows


RULES = Allocation(
    rules=(
        Rule(1, "a", 1, "account", values=("2",), team=1, valid_from=date(2026, 5, 1)),
        Rule(2, "b", 2, "tag", key="team", values=("web",), team=2, valid_to=date(2026, 5, 31)),
        Rule(3, "c", 3, "tag", key="Team", values=("data", "web"), team=1),
    ),
    teams={1: "One", 2: "Two"},
    slugs={1: "one", 2: "two"},
    version=1,
)
MORE = (
    Rule(4, "d", 4, "resource", pattern="^i-", team=2),
    Rule(5, "e", 5, "tag", key="env", values=("web",), team=2, valid_from=date(2026, 5, 11)),
)


def made_question(kinds: random.Random) -> tuple[SpendQuestion, Allocation]:
    whole = kinds.random() < 0.5
    start = kinds.choice(MONTHS) if whole else kinds.choice(MONTHS) + timedelta(days=kinds.randint(0, 20))
    end = (
        next_month(kinds.choice([m for m in MONTHS if m >= start.replace(day=1)]))
        if whole
        else start + (timedelta(days=kinds.randint(1, 60)))
    )
    names = kinds.sample([*DIMENSIONS, "team", "team"], 4)
    by = tuple(dict.fromkeys(names[: kinds.randint(0, 3)]))
    where = tuple((name, kinds.choice(VALUES.get(name, ("web", "")))) for name in names[3:]
                  if kinds.random() < 0.5)  # fmt: skip
    rules = kinds.choice([RULES, Allocation((*RULES.rules, MORE[0]), RULES.teams, RULES.slugs, 2),
                          Allocation((*RULES.rules, *MORE), RULES.teams, RULES.slugs, 3)])  # fmt: skip
    question = SpendQuestion(
        start, end, by, kinds.choice(("", "day", "week", "month", "month")), kinds.choice(tuple(BASES)), where
    )
    return question, rules


VALUES = {
    "account": ("1", ""), "service": ("S",), "resource": ("i-1", ""), "usage_type": ("u1", ""),
    "tag:team": ("web", "", "absent"), "tagfold:TEAM": ("web", "absent"), "team": ("one", "unallocated"),
    "seller": ("cloud",), "provider": ("aws",), "region": ("r1", ""), "cost_category:unit": ("a", ""),
    "payer": ("",), "charge_category": ("Tax",), "instance_type": ("m5",), "pricing_category": ("Dynamic",),
}  # fmt: skip


@pytest.mark.parametrize(("seed", "taken_off"), [(0, False), (1, True), (2, True), (3, False)])
def test_every_way_of_reading_gives_the_same_answer(
    seed: int, taken_off: bool, empty_lake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if taken_off:
        monkeypatch.setattr(spend_source, "WORTH_TAKING_OFF", 1e9)
        monkeypatch.setattr(bill_sums_build, "WORTH", 1e9)
    signed = []
    real = spend_source._joined

    def told_of(*args: Any) -> Any:
        signed.append(real(*args).signed)
        return real(*args)

    monkeypatch.setattr(spend_source, "_joined", told_of)
    rows = put_lines(seed)
    kinds = random.Random(1000 + seed)
    asked = [made_question(kinds) for _ in range(60)]

    def answers() -> list[SpendAnswer]:
        cache.clear()
        return [
            spend(question, organisation=Organisation.default(), now=NOW, allocation=rules)
            for question, rules in asked
        ]

    tables = answers()
    snapshot = current_snapshots()[BILL_LINES]
    assert make_sums(lake(), snapshot) == 3
    assert not any(signed)
    sums = answers()
    assert any(signed) == taken_off
    for (question, rules), one, other in zip(asked, tables, sums, strict=True):
        expected = counted(rows, question, rules)
        assert without(told(other), question) == without(expected, question), question
        assert [row.values for row in other.rows] == [row.values for row in one.rows], question
        assert other.totals == one.totals, question
        assert other.unallocated == one.unallocated, question
        # The daily roll-up counts no lines without a cost beside others that have one.
        assert {k: v[:1] + v[3:4] for k, v in told(one).items()} == {
            k: v[:1] + v[3:4] for k, v in expected.items()
        }
