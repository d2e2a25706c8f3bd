"""`advise_waste`, REST and the page tell the same; settings change what is asked, for whom they were made."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import date
from decimal import Decimal
from io import StringIO
from typing import Any
from unittest.mock import patch

import pytest
from django.core.management import call_command
from django.test import Client

from apps.accounts.models import AuditEntry, Organisation, Team
from apps.billing.models import AllocationRule, AllocationVersion
from apps.waste.models import WasteSetting
from apps.waste.services.advice import advise_waste
from tests.support.bill_lake import put_bill
from tests.support.waste_lines import BOX, COVERED, END, GATEWAY, hours

pytestmark = pytest.mark.django_db
AT = "2026-03-31T00:00:00Z"


def verb(*args: str) -> dict[str, Any]:
    out = StringIO()
    with patch("sys.stdout", out):
        call_command("advise_waste", "--json", "--at", AT, *args)
    found: dict[str, Any] = json.loads(out.getvalue())
    return found


def page_text(answer: Any) -> str:
    assert answer.status_code == 200, answer.status_code
    return " ".join(answer.content.decode().split())


def test_verb_and_rest_give_the_same_document(bill: Organisation, sign_in: Callable[[str], Client]) -> None:
    document = verb()
    assert document == sign_in("viewer").get(f"/api/v1/waste?at={AT}").json()
    assert [(one["rule"], one["resource"]) for one in document["findings"]] == [
        ("nights-and-weekends", BOX),
        ("gateway-idle", GATEWAY),
    ]
    box, gateway = document["findings"]
    # 108 of 168 hours of a week are nights and weekends; 730 h a month at 0.1008.
    assert Decimal(box["monthly_cost"]) == Decimal("73.584")
    assert Decimal(box["saving"]) == (Decimal("73.584") * 108 / 168).quantize(Decimal("1e-8"))
    assert Decimal(gateway["saving"]) == Decimal("32.85")
    assert Decimal(gateway["saving_low"]) <= Decimal(gateway["saving"]) <= Decimal(gateway["saving_high"])
    assert document["totals"] == {"USD": {"resources": 2, "monthly_cost": "106.434", "saving": "80.154"}}
    assert set(gateway) >= {
        "rule", "resource", "account", "region", "monthly_cost", "saving_low", "saving", "saving_high",
        "effort", "reversible", "evidence", "commands",
    }  # fmt: skip
    assert gateway["commands"][0]["text"] == (
        "aws ec2 delete-nat-gateway --nat-gateway-id nat-idle --region us-east-1"
    )
    assert [one["reason_code"] for one in document["not_saving"]] == ["covered"]
    assert document["not_saving"][0]["resource"] == COVERED
    assert {one["rule"] for one in document["not_judged"]} >= {"instance-idle", "kubernetes-requests"}
    assert document["evidence"]["at"] == AT


def test_evidence_names_the_newest_line(bill: Organisation, sign_in: Callable[[str], Client]) -> None:
    gateway = verb("--rule", "gateway-idle")["findings"][0]
    (line,) = gateway["evidence"]["lines"]
    assert line == {"delivery": line["delivery"], "file": "bill.csv", "row": 14 * 24}
    client = sign_in("viewer")
    shown = client.get("/spend/lines/one/", line)
    assert "0.045" in page_text(shown)
    listed = client.get(
        f"/waste/finding/?rule=gateway-idle&account=111122223333&region=us-east-1&resource={GATEWAY}&at={AT}"
    )
    text = page_text(listed)
    assert "delete-nat-gateway --nat-gateway-id nat-idle" in text
    assert "All its bill lines" in text


def test_the_page_lists_filters_and_exports(bill: Organisation, sign_in: Callable[[str], Client]) -> None:
    client = sign_in("viewer")
    text = page_text(client.get(f"/waste/?at={AT}"))
    assert "2 resources waste" in text
    assert "Stop i-dev at night and at weekends" in text
    assert "A commitment pays for it" in text
    only = page_text(client.get(f"/waste/?at={AT}&rule=gateway-idle"))
    assert "Stop i-dev" not in only
    table = client.get(f"/waste/?at={AT}&format=csv").content.decode().splitlines()
    assert len(table) == 3
    assert client.get("/waste/finding/?rule=none&account=&region=&resource=").status_code == 404


def test_without_a_bill_every_rule_says_so(
    organisation: Organisation, sign_in: Callable[[str], Client], settings: Any, tmp_path: Any
) -> None:
    from tests.support.lake import fresh_lake

    with fresh_lake(settings, tmp_path / "lake"):
        document = verb()
        assert document["findings"] == []
        assert {one["reason_code"] for one in document["not_judged"]} == {"no-bill", "no-cluster"}
        assert "No bill tells what is wasted yet." in page_text(sign_in("viewer").get("/waste/"))


def test_a_rule_is_switched_off_and_on_with_an_audit_line(
    bill: Organisation, sign_in: Callable[[str], Client]
) -> None:
    client = sign_in("engineer")
    answer = client.post(
        "/waste/rules/gateway-idle/keep/", {"team": "", "threshold_days": "7", "threshold_traffic_a_day": "0"}
    )
    assert answer.status_code == 302
    row = WasteSetting.objects.get()
    assert (row.enabled, row.thresholds) == (False, {"traffic_a_day": "0"})
    assert AuditEntry.objects.filter(action="waste_setting.save").count() == 1
    document = verb()
    assert "gateway-idle" not in {one["rule"] for one in document["findings"]}
    assert ("gateway-idle", "switched-off") in {
        (one["rule"], one["reason_code"]) for one in document["not_judged"]
    }
    assert "Off" in page_text(client.get("/waste/rules/"))
    assert client.post(f"/waste/settings/{row.pk}/remove/").status_code == 302
    assert "gateway-idle" in {one["rule"] for one in verb()["findings"]}


def test_a_viewer_changes_no_rule(bill: Organisation, sign_in: Callable[[str], Client]) -> None:
    client = sign_in("viewer")
    assert client.post("/waste/rules/gateway-idle/keep/", {"team": ""}).status_code == 403
    body = {"rule": "gateway-idle", "enabled": False}
    refused = client.post("/api/v1/waste/settings", json.dumps(body), content_type="application/json")
    assert refused.status_code == 403
    assert not WasteSetting.objects.exists()


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"rule": "no-such-rule"}, "rule"),
        ({"rule": "gateway-idle", "thresholds": {"colour": "1"}}, "thresholds"),
        ({"rule": "gateway-idle", "thresholds": {"days": "soon"}}, "thresholds"),
        ({"rule": "gateway-idle", "thresholds": {"days": "-1"}}, "thresholds"),
        ({"rule": "gateway-idle", "thresholds": {"days": "NaN"}}, "thresholds"),
        ({"rule": "gateway-idle", "thresholds": {"days": "31"}}, "thresholds"),
        ({"rule": "gateway-idle", "team": "nobody"}, "team"),
        ({"rule": "nights-and-weekends", "thresholds": {"timezone": "Mars/Olympus"}}, "thresholds"),
        ({"rule": "nights-and-weekends", "thresholds": {"from_hour": "20"}}, "thresholds"),
        ({"rule": "nights-and-weekends", "thresholds": {"night_share": "2"}}, "thresholds"),
    ],
)
def test_wrong_settings_are_refused_by_field(
    body: dict[str, Any], field: str, organisation: Organisation, sign_in: Callable[[str], Client]
) -> None:
    answer = sign_in("admin").post(
        "/api/v1/waste/settings", json.dumps(body), content_type="application/json"
    )
    assert answer.status_code == 400
    assert field in json.dumps(answer.json())
    assert not WasteSetting.objects.exists()


def test_a_team_gives_its_own_thresholds_and_owns_its_findings(
    bill: Organisation, sign_in: Callable[[str], Client]
) -> None:
    team = Team.objects.create(organisation=bill, name="Web", slug="web")
    AllocationRule.objects.create(
        organisation=bill, name="web", priority=1, kind="tag", key="env", values=["dev"], team=team
    )
    AllocationVersion.objects.update_or_create(organisation=bill, defaults={"number": 1})
    found = {one["rule"]: one["team"] for one in verb()["findings"]}
    assert found == {"nights-and-weekends": "web", "gateway-idle": None}
    body = {"rule": "nights-and-weekends", "team": "web", "enabled": False}
    client = sign_in("admin")
    answer = client.post("/api/v1/waste/settings", json.dumps(body), content_type="application/json")
    assert answer.status_code == 200, answer.content
    assert [one["rule"] for one in verb()["findings"]] == ["gateway-idle"]
    assert client.delete(f"/api/v1/waste/settings/{answer.json()['id']}").status_code == 204
    assert len(verb()["findings"]) == 2


def test_another_organisation_sees_nothing_of_it(bill: Organisation) -> None:
    other = Organisation.objects.create(name="Other", slug="other")
    rows = hours("vol-1", "EBS:VolumeUsage.gp3", "0.01")
    put_bill(rows, period=date(2026, 3, 1), organisation=other, payer="2")
    document = advise_waste(organisation=other, at=END)
    assert {one["resource"] for one in document["findings"]} == {"vol-1"}
    assert document["not_saving"] == []


def test_a_scope_keeps_a_rule_out_of_other_accounts(bill: Organisation) -> None:
    from datetime import UTC, datetime

    from apps.accounts.actors import Actor
    from apps.waste.services.settings import setting_save

    given = {"organisation": bill, "actor": Actor.system("test"), "now": datetime(2026, 4, 1, tzinfo=UTC)}
    setting_save(**given, rule="gateway-idle", accounts=["999"])
    assert "gateway-idle" not in {one["rule"] for one in verb()["findings"]}
    setting_save(**given, rule="gateway-idle", accounts=["111122223333"], regions=["us-east-1"])
    assert "gateway-idle" in {one["rule"] for one in verb()["findings"]}


@pytest.mark.django_db
def test_a_setting_taken_out_twice_is_one_line_of_the_audit_trail(organisation: Organisation) -> None:
    from apps.accounts.actors import Actor
    from apps.accounts.models import AuditEntry
    from apps.waste.models import WasteSetting
    from apps.waste.services.settings import setting_remove

    row = WasteSetting.objects.create(
        organisation=organisation, rule="nights-and-weekends", enabled=False, set_at=END
    )
    again = WasteSetting.objects.get()
    actor = Actor.system("test")
    assert [setting_remove(setting=one, actor=actor) for one in (row, again)] == [True, False]
    assert AuditEntry.objects.filter(action="waste_setting.remove").count() == 1
