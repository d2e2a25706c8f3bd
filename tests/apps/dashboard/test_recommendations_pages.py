"""The inbox and one recommendation: sentences, filters, alternatives, decisions, roles, Chinese."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import date, timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from apps.accounts.models import AuditEntry, Organisation
from apps.accounts.roles import Action
from apps.recommendations.models import InboxLook, RealisedSaving, Recommendation
from apps.recommendations.services.inbox import publish
from tests.apps.dashboard.test_pages_answer_for_each_role import h1
from tests.support.recommendations import finding, made_up_kind, registered

SignIn = Callable[..., Client]


@pytest.fixture(autouse=True)
def _kinds() -> Iterator[None]:
    with registered(made_up_kind("waste"), made_up_kind("buy", decide=Action.DECIDE_COMMITMENTS)):
        yield


@pytest.fixture
def ids(organisation: Organisation) -> dict[str, int]:
    """Three of waste, of which two claim the same, and one to buy."""
    now = timezone.now()
    when: dict[str, Any] = {"claim_start": now, "claim_end": now + timedelta(hours=730)}
    rows = [
        finding("Glue", "1660", **when),
        finding("b", "60", claims=("pool:x",), **when),
        finding("c", "50", claims=("pool:x",), effort="high", **when),
    ]
    publish("waste", rows, organisation=organisation, now=now, whole=True)
    publish("buy", [finding("d", "10", **when)], organisation=organisation, now=now, whole=True)
    return dict(Recommendation.objects.values_list("subject", "pk"))


def text_of(response: Any) -> str:
    found: str = response.content.decode()
    return found


def test_an_empty_inbox_says_what_to_do(sign_in: SignIn) -> None:
    response = sign_in("viewer").get("/recommendations/")
    assert h1(response) == "No recommendations yet."
    assert "Save a workload that repeats" in text_of(response)


def test_the_sentence_counts_alternatives_once(sign_in: SignIn, ids: dict[str, int]) -> None:
    response = sign_in("viewer").get("/recommendations/")
    text = text_of(response)
    assert h1(response) == "Three of four open recommendations go together: $1,730 a month."
    assert len(h1(response)) <= 90
    # 166, 6 and 1 either way: sqrt(27593) = 166.11.
    assert "90 % interval USD 1,564–1,896." in text
    assert text.index("Stop Glue") < text.index("Stop b") < text.index("Stop c") < text.index("Stop d")
    assert text.count("Alternative to") == 2
    assert 'class="count">4<' in text
    assert 'form="bulk"' not in text  # a viewer decides on nothing
    assert "Deciding needs the engineer, finance or admin role." in text


def test_filters_live_in_the_address(sign_in: SignIn, ids: dict[str, int]) -> None:
    client = sign_in("engineer")
    response = client.get("/recommendations/?effort=high")
    assert h1(response) == "One open recommendation is worth $50.00 a month."
    assert "Stop Glue" not in text_of(response)
    assert "Alternative to" in text_of(response)  # also where the other one is filtered out
    assert "Stop Glue" in text_of(client.get("/recommendations/?state=all"))
    nothing = client.get("/recommendations/?state=done")
    assert "Nothing here. Choose another state or fewer filters." in text_of(nothing)
    for odd in ("state=x", "kind=%00", "owner=%27", "p=99", "team=" + "x" * 500):
        assert client.get(f"/recommendations/?{odd}").status_code == 200


def test_decisions_by_plain_forms(sign_in: SignIn, ids: dict[str, int]) -> None:
    client = sign_in("engineer")
    post = {"ids": [ids["Glue"], ids["b"]], "decision": "accept", "next": "/recommendations/?effort=low"}
    done = client.post("/recommendations/decide/", post)
    assert (done.status_code, done["Location"]) == (302, "/recommendations/?effort=low")
    text = text_of(client.get("/recommendations/"))
    assert "2 recommendations are accepted." in text
    assert "Claimed by what was accepted:" in text
    states = dict(Recommendation.objects.values_list("subject", "state"))
    assert states == {"Glue": "accepted", "b": "accepted", "c": "open", "d": "open"}
    client.post("/recommendations/decide/", {"ids": [ids["c"]], "decision": "accept"})
    assert "was accepted and claims the same" in text_of(client.get("/recommendations/"))
    assert Recommendation.objects.get(subject="c").state == "open"


@pytest.mark.parametrize(
    "wrong",
    [
        {"decision": "accept"},
        {"ids": ["x"], "decision": "accept"},
        {"ids": ["999999"], "decision": "accept"},
        {"ids": ["{c}"], "decision": "dismiss"},
        {"ids": ["{c}"], "decision": "snooze"},
        {"ids": ["{c}"], "decision": "snooze", "until": "2000-01-01"},
        {"ids": ["{c}"], "decision": "nothing"},
        {"ids": ["{c}"], "decision": "dismiss", "reason": "x" * 501},
    ],
)
def test_what_is_wrong_is_said_and_nothing_changes(
    sign_in: SignIn, ids: dict[str, int], wrong: dict[str, Any]
) -> None:
    client = sign_in("engineer")
    given = {**wrong, "ids": [str(one).format(c=ids["c"]) for one in wrong.get("ids", [])]}
    assert client.post("/recommendations/decide/", given).status_code == 302
    assert "toast error" in text_of(client.get("/recommendations/"))
    assert set(Recommendation.objects.values_list("state", flat=True)) == {"open"}
    assert not AuditEntry.objects.exists()


def test_each_role_decides_on_its_kinds(sign_in: SignIn, ids: dict[str, int]) -> None:
    for role, allowed in (("viewer", 403), ("engineer", 302)):
        client = sign_in(role)
        answer = client.post("/recommendations/decide/", {"ids": [ids["d"]], "decision": "accept"})
        assert answer.status_code == allowed
        assert Recommendation.objects.get(subject="d").state == "open"
        assert "not-allowed" in text_of(client.get(f"/recommendations/{ids['d']}/"))
        assert client.post(f"/recommendations/{ids['d']}/owner/", {"owner": ""}).status_code == 403
    finance = sign_in("finance")
    assert "Accept this recommendation" in text_of(finance.get(f"/recommendations/{ids['d']}/"))
    finance.post("/recommendations/decide/", {"ids": [ids["d"]], "decision": "accept"})
    assert Recommendation.objects.get(subject="d").state == "accepted"


def test_only_pages_of_ours_are_gone_back_to(sign_in: SignIn, ids: dict[str, int]) -> None:
    client = sign_in("engineer")
    for elsewhere in ("https://evil.test/", "//evil.test", "javascript:alert(1)"):
        post = {"ids": [ids["c"]], "decision": "reopen", "next": elsewhere}
        assert client.post("/recommendations/decide/", post)["Location"] == "/recommendations/"


def test_one_in_full(sign_in: SignIn, ids: dict[str, int], organisation: Organisation) -> None:
    client = sign_in("engineer")
    address = f"/recommendations/{ids['Glue']}/"
    client.post("/recommendations/decide/", {"ids": [ids["Glue"]], "decision": "accept", "reason": "now"})
    month = {"currency": "USD", "computed_at": timezone.now(), "recommendation_id": ids["Glue"]}
    RealisedSaving.objects.create(
        month=date(2026, 11, 1), promised=Decimal(800), counterfactual=Decimal(900), actual=Decimal(150),
        saving=Decimal(750), complete=True, **month,
    )  # fmt: skip
    RealisedSaving.objects.create(
        month=date(2026, 12, 1), promised=Decimal(860), reason="The bill of this month is not there yet.",
        **month,
    )  # fmt: skip
    text = text_of(client.get(address))
    assert "1 closed month saved $750; promised: $800" in text
    assert "The bill of this month is not there yet." in text
    assert "By engineer@example.test: now" in text
    assert "resource:Glue" in text
    assert "focus_costs 11" in text
    assert "$750" in text_of(client.get("/recommendations/?state=all"))
    me = organisation.memberships.get().user_id
    client.post(f"/recommendations/{ids['Glue']}/owner/", {"owner": str(me)})
    assert Recommendation.objects.get(pk=ids["Glue"]).owner_id == me
    client.post(f"/recommendations/{ids['Glue']}/owner/", {"owner": "999999"})
    assert Recommendation.objects.get(pk=ids["Glue"]).owner_id == me


def test_another_organisations_row_is_not_there(sign_in: SignIn, ids: dict[str, int]) -> None:
    elsewhere = Organisation.objects.create(name="Elsewhere", slug="elsewhere")
    Recommendation.objects.update(organisation=elsewhere)
    client = sign_in("admin")
    assert h1(client.get("/recommendations/")) == "No recommendations yet."
    assert client.get(f"/recommendations/{ids['c']}/").status_code == 404
    client.post("/recommendations/decide/", {"ids": [ids["c"]], "decision": "accept"})
    assert client.post(f"/recommendations/{ids['c']}/owner/", {"owner": ""}).status_code == 404
    assert Recommendation.objects.get(subject="c").state == "open"


def test_a_late_look_is_said(sign_in: SignIn, ids: dict[str, int], organisation: Organisation) -> None:
    InboxLook.objects.create(
        organisation=organisation, kind="waste", at=timezone.now() - timedelta(hours=30), looked=5, found=3,
        problems=[{"name": "nightly", "reason": "x"}],
    )  # fmt: skip
    text = text_of(sign_in("viewer").get("/recommendations/"))
    assert "Made up: last looked for" in text
    assert "not judged: nightly" in text


def test_in_chinese(sign_in: SignIn, ids: dict[str, int]) -> None:
    client = sign_in("engineer")
    response = client.get("/recommendations/", headers={"Accept-Language": "zh-Hans"})
    assert "可同时采用" in h1(response)
    assert "It idles, in zh-hans." in text_of(response)
    detail = text_of(client.get(f"/recommendations/{ids['c']}/", headers={"Accept-Language": "zh-Hans"}))
    assert "接受此建议" in detail
