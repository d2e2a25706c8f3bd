"""Findings become recommendations once; the bill of later months says what an accepted one saved."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from apps.accounts.actors import Actor
from apps.accounts.models import Organisation
from apps.recommendations.kinds import kind_of
from apps.recommendations.models import InboxLook, Recommendation
from apps.recommendations.services.realised import realised_refresh
from apps.waste.models import ClusterUse, ListedResource, MetricSummary
from apps.waste.services.advice import advise_waste
from apps.waste.services.loading import measures_keep
from apps.waste.services.rows import KIND, waste_rows_publish
from finops.providers.base import PermanentError
from tests.support.bill_lake import put_bill
from tests.support.waste_lines import BOX, END, GATEWAY, hours

pytestmark = pytest.mark.django_db
NOW = END + timedelta(hours=6)


def test_the_same_bill_is_published_once_and_a_gone_finding_expires(bill: Organisation) -> None:
    assert waste_rows_publish(organisation=bill, now=NOW)
    rows = {row.document["rule"]: row for row in Recommendation.objects.filter(kind=KIND)}
    assert set(rows) == {"gateway-idle", "nights-and-weekends"}
    gateway = rows["gateway-idle"]
    assert gateway.monthly_saving == Decimal("32.85")
    assert gateway.saving == Decimal("32.85") * 12
    assert gateway.claims == [f"resource:aws:111122223333:us-east-1:{GATEWAY}"]
    sentence = kind_of(KIND).wording(gateway.document, "en")
    assert sentence.title == "Delete the idle NAT gateway nat-idle"
    assert "闲置的 NAT 网关" in kind_of(KIND).wording(gateway.document, "zh-hans").title
    assert not waste_rows_publish(organisation=bill, now=NOW + timedelta(hours=2))
    measures_keep(organisation=bill, content=b"resource,kind\nvol-1,volume\n", name="r.csv", now=NOW)
    assert waste_rows_publish(organisation=bill, now=NOW + timedelta(hours=4))
    assert Recommendation.objects.filter(kind=KIND, state="open").count() == 2


def test_a_bill_that_ended_long_ago_is_not_advised_for_today(bill: Organisation) -> None:
    assert not waste_rows_publish(organisation=bill, now=NOW + timedelta(days=90))
    assert not Recommendation.objects.filter(kind=KIND).exists()
    look = InboxLook.objects.get(organisation=bill, kind=KIND)
    assert "2026-03-31" in look.problems[0]["reason"]


def test_a_deleted_gateway_saves_what_it_cost_before(bill: Organisation) -> None:
    from apps.recommendations.services.decisions import recommendation_accept

    waste_rows_publish(organisation=bill, now=NOW)
    row = Recommendation.objects.get(kind=KIND, subject__startswith="waste:gateway-idle:")
    accepted = datetime(2026, 4, 1, tzinfo=UTC)
    recommendation_accept(recommendation=row, actor=Actor.system("test"), now=accepted)
    april = [
        one | {"charge_period_start": one["charge_period_start"] + timedelta(days=15),
               "charge_period_end": one["charge_period_end"] + timedelta(days=15),
               "x_day": one["x_day"] + timedelta(days=15)}
        for one in hours(BOX, "BoxUsage:m7i.large", "0.1008")
    ]  # fmt: skip
    april[-1]["x_day"] = date(2026, 4, 30)
    april[-1]["charge_period_start"] = datetime(2026, 4, 30, 23, tzinfo=UTC)
    april[-1]["charge_period_end"] = datetime(2026, 5, 1, tzinfo=UTC)
    put_bill(april, period=date(2026, 4, 1), organisation=bill)
    realised_refresh(organisation=bill, now=datetime(2026, 5, 10, tzinfo=UTC))
    month = row.realised.get(month=date(2026, 4, 1))
    assert month.counterfactual == Decimal("0.045") * 720
    assert month.actual == 0
    assert month.saving == Decimal("32.4")
    may = row.realised.get(month=date(2026, 5, 1))
    assert (may.saving, may.reason != "") == (None, True)


def test_a_long_name_and_two_currencies_do_not_stop_the_others(bill: Organisation) -> None:
    long = "arn:aws:ec2:us-east-1:1:natgateway/" + "n" * 290
    rows = [
        *hours(f"{long}1", "NatGateway-Hours", "0.045"),
        *hours(f"{long}2", "NatGateway-Hours", "0.045"),
        *hours("nat-two", "NatGateway-Hours", "0.045"),
        *hours("nat-two", "NatGateway-Hours", "0.05", billing_currency="EUR"),
    ]
    put_bill(rows, period=date(2026, 3, 1), organisation=bill, payer="3")
    assert waste_rows_publish(organisation=bill, now=NOW)
    found = Recommendation.objects.filter(kind=KIND, subject__startswith="waste:gateway-idle:")
    assert len(set(found.values_list("subject", flat=True))) == 3
    assert len({claim for row in found for claim in row.claims}) == 3
    assert found.get(subject__endswith=":nat-two").currency == "EUR"


def test_files_are_kept_by_resource_and_a_list_is_whole(organisation: Organisation) -> None:
    def put(text: str) -> Any:
        return measures_keep(organisation=organisation, content=text.encode(), name="x.csv", now=NOW)

    head = "resource,metric,start,end,p95,p99,high,low,samples\n"
    span = "2026-03-01T00:00:00Z,2026-03-15T00:00:00Z"
    put(f"{head}i-1,cpu,{span},1,2,3,0,10\ni-2,cpu,{span},1,2,3,0,10\n")
    put(f"{head}i-1,cpu,{span},5,6,7,0,10\n")
    assert list(MetricSummary.objects.values_list("resource", "p99")) == [("i-1", 6.0), ("i-2", 2.0)]
    put("resource,kind,attached_to\nvol-1,volume,\nvol-2,volume,i-1\nsnap-1,snapshot,\n")
    found = put("resource,kind,attached_to\nvol-2,volume,i-1\nvol-2,volume,i-2\n,volume,\n")
    assert found.document()["rejections"] == [
        {"file": "x.csv", "row": 3, "field": "resource", "reason": "1 to 300 characters"}
    ]
    assert set(ListedResource.objects.values_list("resource", "attached_to")) == {
        ("vol-2", "i-2"), ("snap-1", ""),
    }  # fmt: skip
    with pytest.raises(PermanentError):
        put("colour,shape\nred,round\n")
    assert ListedResource.objects.count() == 2


def test_requests_above_use_are_a_finding_and_idle_is_divided(
    organisation: Organisation, settings: Any, tmp_path: Path
) -> None:
    from tests.support.lake import fresh_lake

    head = (
        "cluster,namespace,workload,kind,start,end,cpu_request,cpu_p99,memory_request_gib,memory_p99_gib,"
        "cpu_cost,memory_cost,cost,currency\n"
    )
    span = "2026-03-01T00:00:00Z,2026-03-15T00:00:00Z"
    text = (
        f"{head}c,web,shop,work,{span},4,1,8,8,40,20,60,USD\n"
        f"c,ops,log,work,{span},1,1,1,1,20,20,40,USD\nc,,,idle,{span},,,,,,,10,USD\n"
    )
    found = measures_keep(organisation=organisation, content=text.encode(), name="k.csv", now=NOW)
    assert (found.stored, found.rejections) == (3, [])
    assert ClusterUse.objects.count() == 3
    with fresh_lake(settings, tmp_path / "lake"):
        document = advise_waste(organisation=organisation, at=NOW)
        from apps.waste.services.clusters import cluster_document

        shown = cluster_document(organisation=organisation)
    (one,) = document["findings"]
    # 4 cores asked, 1 x 1.3 needed: 67.5 % of 40.00 in 336 h, 58.66 a month.
    assert Decimal(one["saving"]).quantize(Decimal("0.01")) == Decimal("58.66")
    assert one["commands"][0]["text"] == (
        "kubernetes_deployment: resources.requests: cpu = 1.3, memory = 8Gi"
    )
    assert [(n["namespace"], n["own"], n["idle"], n["total"]) for n in shown["namespaces"]] == [
        ("web", "60", "6", "66"), ("ops", "40", "4", "44"),
    ]  # fmt: skip
    assert shown["totals"] == {"USD": "110"}


def moved(rows: list[dict[str, Any]], days: int) -> list[dict[str, Any]]:
    """The same lines so many days later."""
    later = timedelta(days=days)
    return [
        one | {"charge_period_start": one["charge_period_start"] + later,
               "charge_period_end": one["charge_period_end"] + later, "x_day": one["x_day"] + later}
        for one in rows
    ]  # fmt: skip


def test_the_whole_life_of_a_finding_over_two_months(
    organisation: Organisation, settings: Any, tmp_path: Path
) -> None:
    """March: an instance that never sleeps, its traffic, an unused volume. April: it sleeps for a half of its
    hours, its traffic triples, the volume is gone after two days and left a snapshot.
    """
    from apps.recommendations.services.decisions import recommendation_accept
    from tests.support.lake import fresh_lake

    given = {"actor": Actor.system("test"), "now": datetime(2026, 4, 1, tzinfo=UTC)}
    tags = {"tags": {"user:env": "dev"}, "x_instance_type": "m7i.large", "x_operation": "RunInstances"}
    box = hours(BOX, "BoxUsage:m7i.large", "0.1008", **tags)
    traffic = hours(BOX, "DataTransfer-Out-Bytes", "0.5")
    volume = hours("vol-1", "EBS:VolumeUsage.gp3", "0.01096", x_quantity="0.137")
    measures_keep(
        organisation=organisation,
        content=b"resource,kind,attached_to\nvol-1,volume,\n",
        name="v.csv",
        now=NOW,
    )
    with fresh_lake(settings, tmp_path / "lake"):
        put_bill([*box, *traffic, *volume], period=date(2026, 3, 1), organisation=organisation)
        waste_rows_publish(organisation=organisation, now=NOW)
        rows = {row.document["rule"]: row for row in Recommendation.objects.filter(kind=KIND)}
        assert set(rows) == {"nights-and-weekends", "volume-unattached"}
        for row in rows.values():
            recommendation_accept(recommendation=row, **given)
        april = [*moved(box, 15)[::2], *(one | {"billed_cost": "1.5"} for one in moved(traffic, 15))]
        last = moved(traffic, 30)[-1] | {
            "x_day": date(2026, 4, 30), "charge_period_start": datetime(2026, 4, 30, 23, tzinfo=UTC),
            "charge_period_end": datetime(2026, 5, 1, tzinfo=UTC),
        }  # fmt: skip
        put_bill([*april, *moved(volume, 15)[:48], last], period=date(2026, 4, 1), organisation=organisation)
        now = datetime(2026, 5, 10, tzinfo=UTC)
        assert realised_refresh(organisation=organisation, now=now) > 0
        # Measured once: the same bills say the same, and no month is there twice.
        assert realised_refresh(organisation=organisation, now=now, again=True) == 0
        slept = rows["nights-and-weekends"].realised.get(month=date(2026, 4, 1))
        deleted = rows["volume-unattached"].realised.get(month=date(2026, 4, 1))
    assert slept.counterfactual == Decimal("0.1008") * 720
    assert slept.actual == Decimal("0.1008") * 168
    assert slept.saving == slept.counterfactual - slept.actual
    # 48 hours of the volume, then 670 hours of a snapshot at 0.05 / 0.08 of its price until the end of April.
    assert deleted.counterfactual == Decimal("7.8912")
    snapshot = Decimal("0.01096") * Decimal("0.625")
    gone = Decimal((datetime(2026, 5, 1, tzinfo=UTC) - april_end(volume)).total_seconds()) / 3600
    assert abs(deleted.actual - (Decimal("0.01096") * 48 + snapshot * gone)) < Decimal("0.0001")


def april_end(rows: list[dict[str, Any]]) -> datetime:
    """The end of the volume's last line in April."""
    found: datetime = moved(rows, 15)[47]["charge_period_end"]
    return found


def test_alternatives_on_one_resource_are_accepted_once_and_never_added_up(bill: Organisation) -> None:
    from django.core.exceptions import ValidationError

    from apps.recommendations.services.decisions import recommendation_accept

    rows = hours("vol-2", "EBS:VolumeUsage.gp2", "0.0137", x_quantity="0.137")
    put_bill(rows, period=date(2026, 3, 1), organisation=bill, payer="5")
    listed = b"resource,kind,attached_to\nvol-2,volume,\n"
    measures_keep(organisation=bill, content=listed, name="v.csv", now=NOW)
    document = advise_waste(organisation=bill, at=NOW)
    both = [one for one in document["findings"] if one["resource"] == "vol-2"]
    assert [(one["rule"], one["counted"]) for one in both] == [
        ("volume-unattached", True), ("volume-gp2", False),
    ]  # fmt: skip
    counted = sum(Decimal(one["saving"]) for one in document["findings"] if one["counted"])
    assert Decimal(document["totals"]["USD"]["saving"]) == counted
    waste_rows_publish(organisation=bill, now=NOW)
    first, second = Recommendation.objects.filter(kind=KIND, subject__endswith=":vol-2").order_by("-saving")
    given = {"actor": Actor.system("test"), "now": datetime(2026, 4, 1, tzinfo=UTC)}
    recommendation_accept(recommendation=first, **given)
    with pytest.raises(ValidationError):
        recommendation_accept(recommendation=second, **given)
    second.refresh_from_db()
    assert second.state == "open"
