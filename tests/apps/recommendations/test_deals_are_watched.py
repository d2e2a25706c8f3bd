"""Rules watch offers: one alert for each rule and offer, whoever looks how often."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import date, timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.db import connection, connections
from rest_framework.test import APIClient

from apps.accounts.actors import Actor
from apps.accounts.models import AuditEntry, Membership, Organisation, User
from apps.billing.models import SeenOffer
from apps.recommendations.models import DealAlert, DealRule
from apps.recommendations.services.deal_rules import deal_rule_remove, deal_rule_save
from apps.recommendations.services.deal_watch import deals_watch, deals_watch_all
from tests.support.deals import AT, bill, prices, seen

pytestmark = pytest.mark.django_db
ACTOR = Actor.system("test")


def rule(name: str = "half", **fields: Any) -> DealRule:
    given = fields or {"min_saving_pct": Decimal(50)}
    return deal_rule_save(organisation=Organisation.default(), actor=ACTOR, fields={"name": name, **given})


def watch() -> int:
    return deals_watch(organisation=Organisation.default(), now=AT)


@pytest.fixture
def market() -> None:
    bill(Organisation.default(), quantity="2")
    prices()


def test_an_offer_that_beats_a_rule_raises_one_alert(market: None) -> None:
    made = rule()
    row = seen(fixed="150")
    assert watch() == 1
    alert = DealAlert.objects.get()
    # 584.00 on demand for 150, at 45 % of the year's list price for these hours
    assert (alert.rule, alert.offer) == (made, row)
    assert alert.document["saving_pct"] == pytest.approx((584 - 150) / 584 * 100, abs=1e-5)
    assert alert.document["list_pct"] == pytest.approx(45.0, abs=1e-5)
    assert watch() == 0
    made.refresh_from_db()
    DealRule.objects.update(looked="")
    assert watch() == 0
    assert DealAlert.objects.count() == 1


def test_another_price_and_coming_back_are_new_offers(market: None) -> None:
    rule()
    first = seen(fixed="150")
    watch()
    earlier = AT - timedelta(hours=1)
    SeenOffer.objects.filter(pk=first.pk).update(first_seen_at=earlier, seen_at=earlier, gone_at=AT)
    seen(fixed="140")
    assert deals_watch(organisation=Organisation.default(), now=AT) == 1
    assert DealAlert.objects.count() == 2


@pytest.mark.parametrize(
    ("fields", "beaten"),
    [
        ({"min_saving_pct": Decimal(74)}, True),
        ({"min_saving_pct": Decimal(75)}, False),
        ({"max_list_pct": Decimal("45.1")}, True),
        ({"max_list_pct": Decimal("44.9")}, False),
        # 150 / 0.1 = 1,500 h = 62.5 days from 3 November
        ({"break_even_before": date(2019, 1, 5)}, True),
        ({"break_even_before": date(2019, 1, 4)}, False),
        ({"min_saving_pct": Decimal(50), "break_even_before": date(2018, 12, 1)}, False),
        ({"min_saving_pct": Decimal(50), "regions": ["eu-west-1"]}, False),
        ({"min_saving_pct": Decimal(50), "instance_types": ["m5.large"]}, True),
        ({"min_saving_pct": Decimal(50), "platforms": ["Windows"]}, False),
        ({"min_saving_pct": Decimal(50), "active": False}, False),
    ],
)
def test_every_condition_must_be_kept(market: None, fields: dict[str, Any], beaten: bool) -> None:
    rule(**fields)
    seen(fixed="150")
    assert watch() == int(beaten)


def test_without_a_list_no_share_of_it_is_known() -> None:
    bill(Organisation.default(), quantity="2")
    from apps.prices.models import ListPrice
    from tests.support.deals import COMMON

    ListPrice.objects.create(**COMMON, instance_type="m5.large", price=Decimal("0.1"))
    rule(max_list_pct=Decimal(1000))
    seen(fixed="1")
    assert watch() == 0


def test_rules_of_one_organisation_do_not_see_the_bills_of_another(market: None) -> None:
    other = Organisation.objects.create(name="Other", slug="other")
    deal_rule_save(organisation=other, actor=ACTOR, fields={"name": "any", "min_saving_pct": Decimal(-100)})
    seen(fixed="150")
    assert deals_watch_all(now=AT) == 0


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"name": "", "min_saving_pct": Decimal(1)}, "name"),
        ({"name": "x", "min_saving_pct": None}, "min_saving_pct"),
        ({"name": "x", "min_saving_pct": Decimal(101)}, "min_saving_pct"),
        ({"name": "x", "min_saving_pct": Decimal("NaN")}, "min_saving_pct"),
        ({"name": "x", "min_saving_pct": Decimal(1), "regions": ["<script>"]}, "regions"),
        ({"name": "x", "min_saving_pct": Decimal(1), "platforms": ["BeOS"]}, "platforms"),
        ({"name": "x", "min_saving_pct": Decimal(1), "team": "nobody"}, "team"),
    ],
)
def test_a_rule_that_is_none_is_refused_and_nothing_kept(fields: dict[str, Any], field: str) -> None:
    with pytest.raises(ValidationError) as refused:
        deal_rule_save(organisation=Organisation.default(), actor=ACTOR, fields=fields)
    assert set(refused.value.message_dict) == {field}
    assert (DealRule.objects.count(), AuditEntry.objects.filter(action="deal_rule.create").count()) == (0, 0)


def test_changes_are_in_the_audit_trail_and_a_removed_rule_takes_its_alerts(market: None) -> None:
    made = rule()
    with pytest.raises(ValidationError):
        rule()
    seen(fixed="150")
    watch()
    deal_rule_save(
        organisation=made.organisation, actor=ACTOR, rule=made,
        fields={"name": "half", "min_saving_pct": Decimal(60)},
    )  # fmt: skip
    assert deal_rule_remove(rule=made, actor=ACTOR)
    assert not deal_rule_remove(rule=made, actor=ACTOR)
    assert DealAlert.objects.count() == 0
    entries = AuditEntry.objects.filter(action__startswith="deal_rule.").order_by("pk")
    assert [one.action for one in entries] == ["deal_rule.create", "deal_rule.change", "deal_rule.remove"]


@pytest.fixture
def finance() -> APIClient:
    user = User.objects.create_user("f@example.test", "correct horse battery")
    Membership.objects.create(user=user, organisation=Organisation.default(), role="finance")
    client = APIClient()
    client.force_login(user)
    return client


def test_rules_and_alerts_by_rest(market: None, finance: APIClient) -> None:
    body = {"name": "cheap", "min_saving_pct": "50", "instance_types": ["m5.large"]}
    made = finance.post("/api/v1/deals/rules", body, format="json")
    assert (made.status_code, made.json()["min_saving_pct"]) == (201, "50")
    assert finance.post("/api/v1/deals/rules", body, format="json").status_code == 400
    assert finance.post("/api/v1/deals/rules", {"name": "no"}, format="json").status_code == 400
    seen(fixed="150")
    watch()
    alerts = finance.get("/api/v1/deals/alerts?unseen=true").json()
    assert (alerts["count"], alerts["alerts"][0]["rule"]) == (1, "cheap")
    number = alerts["alerts"][0]["id"]
    assert finance.post(f"/api/v1/deals/alerts/{number}/seen").json()["seen_at"]
    assert finance.get("/api/v1/deals/alerts?unseen=true").json()["count"] == 0
    address = f"/api/v1/deals/rules/{made.json()['id']}"
    assert finance.put(address, {**body, "active": False}, format="json").json()["active"] is False
    assert finance.delete(address).status_code == 204
    assert finance.get("/api/v1/deals/rules").json() == {"rules": []}
    assert finance.delete(address).status_code == 404


@pytest.mark.django_db(transaction=True)
def test_two_looks_at_once_raise_one_alert(market: None) -> None:
    rule()
    seen(fixed="150")

    def look() -> int:
        try:
            return watch()
        finally:
            connections.close_all()

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda _n: look(), range(2)))
    assert DealAlert.objects.count() == 1
    connection.close()
