"""Checks pages: verdict sentence, exact amounts, who may set policies, nothing of other organisations."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest
from django.test import Client

from apps.accounts.models import AuditEntry, Organisation
from apps.costchecks.models import CheckPolicy, CostCheck
from apps.costchecks.services import Question, cost_check_make
from apps.prices.models import ListPrice
from finops.engine.checks.policies import policies_of
from finops.frames.usage_file import parse_usage
from tests.support.plans import change, plan

pytestmark = pytest.mark.django_db
SignIn = Callable[..., Client]
AT = datetime(2026, 11, 30, 12, tzinfo=UTC)
RULES = {
    "max_increase": "1500.00",
    "policies": [
        {"kind": "volume_types", "types": ["gp2"]},
        {"kind": "required_tag", "tag": "owner"},
        {"kind": "region_carbon", "limit": "300"},
    ],
}


def disk(size: int = 8) -> dict[str, Any]:
    return {"root_block_device": [{"volume_type": "gp3", "volume_size": size}]}


def content() -> bytes:
    return plan(
        *(change(f"aws_instance.etl[{i}]", {"instance_type": "c5.4xlarge", **disk(), "tags": {"owner": "x"}})
          for i in range(4)),
        change("aws_ebs_volume.scratch", {"type": "gp2", "size": 500, "tags": {"owner": "x"}}),
        change("aws_instance.api", {"instance_type": "m5.xlarge", **disk(16), "tags": {"owner": "x"}},
               {"instance_type": "m5.xlarge", **disk(8), "tags": {"owner": "x"}}),
        change("aws_nat_gateway.etl", {"tags": {"owner": "x"}}),
        change("aws_sagemaker_endpoint.score", {"tags": {"owner": "x"}}),
    )  # fmt: skip


USAGE = b"resources: {aws_nat_gateway.etl: {gib_processed: {low: 0, expected: 500, high: 1000}}}"


@pytest.fixture
def check(organisation: Organisation) -> CostCheck:
    for name, price in (("c5.4xlarge", "0.68"), ("m5.xlarge", "0.192")):
        ListPrice.objects.create(
            provider="aws", region="us-east-1", instance_type=name, operating_system="linux", licence="none",
            tenancy="shared", currency="USD", effective_from=datetime(2026, 7, 20, tzinfo=UTC),
            price=Decimal(price), source="test",
        )  # fmt: skip
    question = Question(
        content(), policies=policies_of(RULES), usage=parse_usage(USAGE), project="infra/prod", ref="pr-482",
        commit="9f3c1e7",
    )  # fmt: skip
    return cost_check_make(organisation=organisation, question=question, at=AT)


def text_of(response: Any) -> str:
    assert response.status_code == 200
    return str(response.content.decode())


def h1(text: str) -> str:
    inner = text.split("<h1>", 1)[1].split("</h1>", 1)[0]
    return inner.replace('<span class="key">', "").replace("</span>", "")


def test_one_check_says_the_verdict_the_change_and_the_limit(sign_in: SignIn, check: CostCheck) -> None:
    text = text_of(sign_in("viewer").get(f"/checks/{check.pk}/"))
    # 4 x 497.04 + 50 + 0.64 = 2,038.80 and 32.85 to 77.85 of the gateway.
    assert h1(text) == "Denied: this change adds $2,072 to $2,117 a month; the limit is $1,500."
    assert "aws_instance.etl[0]" in text
    assert "+497.04" in text
    assert "+32.85 to +77.85" in text
    assert "+2,071.65 to +2,116.65" in text
    assert "Not priced: no price is known for aws_sagemaker_endpoint" in text
    assert "1 policy denies, 2 warn" in text
    assert "No volumes of type gp2" in text
    assert "369.47" in text or "379.07" in text
    assert "gp3 instead of gp2" in text
    assert "&lt;!-- offpeak cost check: infra/prod --&gt;" in text


def test_the_page_speaks_the_readers_language_not_the_pipelines(sign_in: SignIn, check: CostCheck) -> None:
    text = text_of(sign_in("viewer", headers={"Accept-Language": "zh-hans"}).get(f"/checks/{check.pk}/"))
    assert "拒绝" in h1(text)
    for english in ("No volumes of type", "Rise of at most", "is above the limit"):
        assert english not in text.split("<pre", 1)[0]


def test_the_same_answer_by_page_in_each_form(sign_in: SignIn, check: CostCheck) -> None:
    browser = sign_in("viewer")
    check.refresh_from_db()
    assert browser.get(f"/checks/{check.pk}/?format=json").json() == {"id": check.pk, **check.document}
    rows = b"".join(browser.get(f"/checks/{check.pk}/?format=csv").streaming_content).decode()  # type: ignore[attr-defined]
    assert "aws_ebs_volume.scratch" in rows
    comment = browser.get(f"/checks/{check.pk}/?format=markdown").content.decode()
    assert comment.startswith("<!-- offpeak cost check: infra/prod -->\n")
    assert f"/checks/{check.pk}/)" in comment


def test_the_list_counts_and_filters(sign_in: SignIn, check: CostCheck, organisation: Organisation) -> None:
    cost_check_make(organisation=organisation, question=Question(plan(), project="other"), at=AT)
    browser = sign_in("viewer")
    text = text_of(browser.get("/checks/"))
    assert h1(text) == "1 of 2 checks in 30 days were denied."
    assert f'href="/checks/{check.pk}/"' in text
    assert "+$2,072 to +$2,117" in text
    text = text_of(browser.get("/checks/?verdict=pass"))
    assert f'href="/checks/{check.pk}/"' not in text
    assert "other" in text
    assert "No check is like that" in text_of(browser.get("/checks/?project=nobody&verdict=deny"))
    assert browser.get("/checks/?verdict=%00&project=%00&p=x").status_code == 200


def test_empty_pages_say_what_to_do(sign_in: SignIn) -> None:
    browser = sign_in("viewer")
    assert "offpeak check plan.json" in text_of(browser.get("/checks/"))
    text = text_of(browser.get("/checks/policies/"))
    assert h1(text) == "No policy is stored: checks warn and deny nothing by themselves."
    assert "Policies are set by the roles finance and admin." in text


def test_finance_sets_a_policy_that_no_caller_can_leave_out(
    sign_in: SignIn, organisation: Organisation
) -> None:
    browser = sign_in("finance")
    given = {"kind": "max_increase", "level": "deny", "limit": "10.00", "currency": "USD", "team": ""}
    assert browser.post("/checks/policies/add/", given).status_code == 302
    row = CheckPolicy.objects.get()
    assert row.rule == {"kind": "max_increase", "level": "deny", "limit": "10.00", "currency": "USD"}
    assert "Rise of at most 10.00 USD a month" in text_of(browser.get("/checks/policies/"))
    made = cost_check_make(
        organisation=organisation, at=AT,
        question=Question(plan(change("aws_ebs_volume.a", {"type": "gp3", "size": 1000})), policies=()),
    )  # fmt: skip
    assert made.verdict == "deny"
    assert made.document["policies"][0]["set_by"] == "organisation"
    browser.post(f"/checks/policies/{row.pk}/remove/")
    assert not CheckPolicy.objects.exists()
    kept = [(entry.action, entry.before, entry.after) for entry in AuditEntry.objects.order_by("pk")]
    told = {**row.rule, "for": "organisation"}
    assert kept == [("check_policy.add", None, told), ("check_policy.remove", told, None)]


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"kind": "max_increase", "limit": "1,234", "currency": "USD"}, "limit"),
        ({"kind": "max_increase", "limit": "", "currency": "USD"}, "limit"),
        ({"kind": "max_increase", "limit": "5", "currency": "12"}, "currency"),
        ({"kind": "volume_types", "word": ""}, "word"),
        ({"kind": "required_tag", "word": ""}, "word"),
        ({"kind": "region_carbon", "limit": "x"}, "limit"),
        ({"kind": "cobol"}, "kind"),
    ],
)
def test_a_wrong_policy_is_refused_beside_its_field(
    given: dict[str, str], says: str, sign_in: SignIn
) -> None:
    response = sign_in("finance").post("/checks/policies/add/", {"level": "deny", **given})
    assert response.status_code == 422
    assert list(response.context["form"].errors) == [says]
    assert not CheckPolicy.objects.exists()


def test_another_organisation_has_neither_the_check_nor_the_policy(sign_in: SignIn, check: CostCheck) -> None:
    other = Organisation.objects.create(name="Other", slug="other")
    theirs = CheckPolicy.objects.create(organisation=other, kind="all_priced", rule={"kind": "all_priced"})
    CostCheck.objects.filter(pk=check.pk).update(organisation=other)
    browser = sign_in("admin")
    assert browser.get(f"/checks/{check.pk}/").status_code == 404
    assert browser.get(f"/checks/{2**70}/").status_code == 404
    assert browser.post(f"/checks/policies/{theirs.pk}/remove/").status_code == 404
    assert CheckPolicy.objects.exists()
    assert json.loads(browser.get("/api/v1/check-policies").content)["count"] == 0
