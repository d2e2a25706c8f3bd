"""Rules give every cent to a team or to nobody: order, dates, three ways of dividing, dry run, audit."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from django.core.exceptions import ValidationError

from apps.accounts.actors import Actor
from apps.accounts.models import AuditEntry, Organisation, Team
from apps.accounts.services import team_create
from apps.billing.models import AllocationRule
from apps.billing.selectors.allocation import UNSAVED, allocation_version
from apps.billing.selectors.allocation_trial import allocation_trial, rule_costs
from apps.billing.selectors.spend import spend
from apps.billing.selectors.spend_question import question_of
from apps.billing.services.allocation import RuleFields, rule_check, rule_remove, rule_save
from tests.support.bill_lake import put_bill

pytestmark = pytest.mark.django_db
NOW = datetime(2026, 6, 10, tzinfo=UTC)
MAY = date(2026, 5, 1)
ACTOR = Actor.system("test")
WHOLE = question_of(start="2026-05-01", end="2026-06-01", by="team")
Rules = Callable[..., AllocationRule]


@pytest.fixture
def teams(organisation: Organisation) -> dict[str, Team]:
    return {
        name: team_create(organisation=organisation, actor=ACTOR, name=name)
        for name in ("Web", "Data", "Ops")
    }


@pytest.fixture
def rule(organisation: Organisation, teams: dict[str, Team]) -> Rules:
    def make(kind: str, *, team: str | None = None, shares: Any = (), **fields: Any) -> AllocationRule:
        number = AllocationRule.objects.count()
        return rule_save(
            organisation=organisation,
            actor=ACTOR,
            fields=RuleFields(
                **{
                    "name": f"rule {number}", "kind": kind, "team": teams[team] if team else None,
                    "shares": [(teams[name], share and Decimal(share)) for name, share in shares], **fields,
                }
            ),
        )  # fmt: skip

    return make


@pytest.fixture
def _bill(empty_lake: Path) -> None:
    put_bill(
        [
            {"billed_cost": "10", "sub_account_id": "a", "service_name": "EC2", "resource_id": "i-1"},
            {"billed_cost": "20", "sub_account_id": "b", "service_name": "EC2", "tags": {"user:app": "shop"}},
            {"billed_cost": "0.01", "sub_account_id": "c", "service_name": "Support"},
            {"billed_cost": "100", "sub_account_id": "c", "service_name": "S3", "resource_id": "logs-1",
             "x_cost_categories": {"Unit": "north"}, "x_day": date(2026, 5, 20)},
        ],
        period=MAY,
    )  # fmt: skip


def costs(**where: Any) -> dict[str, Decimal]:
    answer = spend(WHOLE, organisation=Organisation.default(), now=NOW)
    assert sum((row.cost or 0 for row in answer.rows), Decimal(0)) == answer.total == Decimal("130.01")
    return {str(row.values[0]): row.cost or Decimal(0) for row in answer.rows}


@pytest.mark.usefixtures("_bill")
def test_without_rules_everything_is_unallocated(organisation: Organisation) -> None:
    assert costs() == {"unallocated": Decimal("130.01")}
    answer = spend(question_of(start="2026-05-01", end="2026-06-01"), organisation=organisation, now=NOW)
    assert answer.unallocated == {"USD": Decimal("130.01")}


@pytest.mark.parametrize(
    ("kind", "fields", "expected"),
    [
        ("account", {"values": ["a", "b"]}, "30"),
        ("service", {"values": ["S3"]}, "100"),
        ("tag", {"key": "app", "values": ["shop"]}, "20"),
        ("tag", {"key": "app"}, "20"),
        ("tag", {"key": "app", "values": ["other"]}, "0"),
        ("cost_category", {"key": "Unit", "values": ["north"]}, "100"),
        ("resource", {"pattern": "^logs-"}, "100"),
        ("resource", {"pattern": "[0-9]$"}, "110"),
    ],
)
@pytest.mark.usefixtures("_bill")
def test_each_kind_matches_what_it_says(
    kind: str, fields: dict[str, Any], expected: str, rule: Rules
) -> None:
    rule(kind, team="Web", **fields)
    found = costs()
    assert found.get("web", Decimal(0)) == Decimal(expected)
    assert found["unallocated"] == Decimal("130.01") - Decimal(expected)


@pytest.mark.usefixtures("_bill")
def test_the_smallest_priority_decides_and_dates_limit_it(rule: Rules) -> None:
    rule("service", team="Web", values=["EC2", "S3"])
    rule("account", team="Data", values=["a", "c"], priority=5)
    rule("account", team="Ops", values=["c"], priority=1, valid_to=date(2026, 5, 19))
    assert costs() == {"web": 20, "data": 110, "ops": Decimal("0.01")}


@pytest.mark.usefixtures("_bill")
def test_shared_cost_is_divided_and_sums_to_the_whole(rule: Rules) -> None:
    rule("account", team="Web", values=["a"])
    rule("account", team="Data", values=["b"])
    shared = rule("account", values=["c"], split="proportional")
    own = Decimal("100.01") / 3
    found = costs()
    assert set(found) == {"web", "data"}
    assert abs(found["web"] - 10 - own) < Decimal("1e-17")
    assert abs(found["data"] - 20 - 2 * own) < Decimal("1e-17")
    rule_remove(rule=shared, actor=ACTOR)
    even = rule("account", values=["c"], split="even", shares=[("Web", None), ("Ops", None)])
    assert costs() == {"web": Decimal("60.005"), "data": 20, "ops": Decimal("50.005")}
    rule_remove(rule=even, actor=ACTOR)
    rule("account", values=["c"], split="fixed", shares=[("Ops", "0.9"), ("Data", "0.1")])
    assert costs() == {"web": 10, "data": Decimal("30.001"), "ops": Decimal("90.009")}


@pytest.mark.usefixtures("_bill")
def test_with_nothing_to_go_by_a_proportional_cost_stays_unallocated(rule: Rules) -> None:
    rule("account", values=["c"], split="proportional", shares=[("Web", None)])
    assert costs() == {"unallocated": Decimal("130.01")}


@pytest.mark.usefixtures("_bill")
def test_shares_are_those_of_the_month_whatever_is_asked(rule: Rules, organisation: Organisation) -> None:
    rule("account", team="Web", values=["a"])
    rule("account", team="Data", values=["b"])
    rule("service", values=["S3"], split="proportional")
    late = spend(
        question_of(start="2026-05-20", end="2026-05-21", by="service,team", granularity="day"),
        organisation=organisation,
        now=NOW,
    )
    parts = {row.values: row.cost for row in late.rows}
    assert sum(parts.values(), Decimal(0)) == 100  # type: ignore[arg-type]
    assert abs(parts[("S3", "data")] - Decimal(200) / 3) < Decimal("1e-17")  # type: ignore[operator]
    for_web = spend(
        question_of(start="2026-05-01", end="2026-06-01", by="service", where=["team=web"]),
        organisation=organisation,
        now=NOW,
    )
    assert for_web.total is not None
    assert abs(for_web.total - 10 - Decimal(100) / 3) < Decimal("1e-17")
    assert for_web.unallocated == {"USD": Decimal("0.01")}


@pytest.mark.usefixtures("_bill")
def test_a_dry_run_shows_what_moves_and_saves_nothing(
    rule: Rules, organisation: Organisation, teams: dict[str, Team]
) -> None:
    first = rule("account", team="Web", values=["a", "c"])
    before = allocation_version(organisation)
    fields = RuleFields(name="logs", kind="resource", pattern="^logs-", team=teams["Ops"], priority=1)
    proposed = rule_check(organisation=organisation, fields=fields)
    assert proposed.id == UNSAVED
    trial = allocation_trial(WHOLE, proposed, organisation=organisation, now=NOW)
    assert trial.matched == {"USD": 100}
    whole, parts = trial.teams["USD"]
    assert whole.delta == 0
    assert [(p.key, p.change.before, p.change.after) for p in parts] == [
        ("ops", None, 100), ("web", Decimal("110.01"), Decimal("10.01")), ("unallocated", 20, 20),
    ]  # fmt: skip
    without = allocation_trial(WHOLE, None, organisation=organisation, now=NOW, instead_of=first.pk)
    assert {p.key: p.change.after for p in without.teams["USD"][1]} == {
        "unallocated": Decimal("130.01"), "web": None,
    }  # fmt: skip
    assert (AllocationRule.objects.count(), allocation_version(organisation)) == (1, before)
    assert rule_costs(WHOLE, organisation=organisation) == {
        (first.pk, "USD"): Decimal("110.01"), (None, "USD"): 20,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"name": "  "}, "name"),
        ({"kind": "magic"}, "kind"),
        ({"values": [" "]}, "values"),
        ({"kind": "tag", "values": []}, "key"),
        ({"kind": "resource", "pattern": "(a"}, "pattern"),
        ({"kind": "resource", "pattern": "(?=a)b"}, "pattern"),
        ({"kind": "resource"}, "pattern"),
        ({"valid_from": date(2026, 5, 2), "valid_to": MAY}, "valid_to"),
        ({"team": None}, "team"),
        ({"split": "even"}, "team"),
        ({"team": None, "split": "magic"}, "split"),
        ({"team": None, "split": "fixed"}, "shares"),
        ({"priority": -1}, "priority"),
    ],
)
def test_a_wrong_rule_is_refused_by_field(
    fields: dict[str, Any], field: str, organisation: Organisation, teams: dict[str, Team]
) -> None:
    given = {"name": "r", "kind": "account", "values": ["a"], "team": teams["Web"], **fields}
    with pytest.raises(ValidationError) as caught:
        rule_save(organisation=organisation, actor=ACTOR, fields=RuleFields(**given))
    assert set(caught.value.message_dict) == {field}
    assert AllocationRule.objects.count() == 0
    assert allocation_version(organisation) == 0


def test_shares_that_miss_the_whole_are_refused(organisation: Organisation, teams: dict[str, Team]) -> None:
    shares = [(teams["Web"], Decimal("0.5")), (teams["Ops"], Decimal("0.4"))]
    with pytest.raises(ValidationError, match="add up to 90 %"):
        rule_save(
            organisation=organisation,
            actor=ACTOR,
            fields=RuleFields(name="r", kind="service", values=["S3"], split="fixed", shares=shares),
        )


def test_a_team_of_another_organisation_is_refused(organisation: Organisation) -> None:
    other = Organisation.objects.create(name="Other", slug="other")
    team = team_create(organisation=other, actor=ACTOR, name="Web")
    with pytest.raises(ValidationError, match="no such team"):
        rule_save(
            organisation=organisation,
            actor=ACTOR,
            fields=RuleFields(name="r", kind="service", values=["S3"], team=team),
        )


@pytest.mark.usefixtures("_bill")
def test_each_change_is_audited_and_seen_at_once(rule: Rules, organisation: Organisation) -> None:
    made = rule("account", team="Web", values=["a"])
    assert costs()["web"] == 10
    changed = rule_save(
        organisation=organisation,
        actor=ACTOR,
        fields=RuleFields(name="rule 0", kind="account", values=["b"], team=made.team),
        rule=made,
    )
    assert changed.pk == made.pk
    assert costs()["web"] == 20
    assert rule_remove(rule=made, actor=ACTOR) is True
    assert rule_remove(rule=made, actor=ACTOR) is False
    assert costs() == {"unallocated": Decimal("130.01")}
    trail = AuditEntry.objects.filter(object_type="billing.allocationrule").order_by("pk")
    assert [entry.action.partition(".")[2] for entry in trail] == ["create", "change", "remove"]
    assert (trail[1].before["values"], trail[1].after["values"]) == (["a"], ["b"])
