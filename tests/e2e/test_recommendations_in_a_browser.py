"""The inbox in a browser: every width, theme and language, axe, decisions without scripts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import date, timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.utils import timezone
from playwright.sync_api import Page

from apps.accounts.actors import Actor
from apps.accounts.models import Organisation
from apps.accounts.roles import Action
from apps.recommendations.kinds import Sentence
from apps.recommendations.models import RealisedSaving, Recommendation
from apps.recommendations.services.decisions import recommendation_accept
from apps.recommendations.services.inbox import publish
from tests.e2e.test_pages_in_a_browser import LOOKS
from tests.support.looks import look_at
from tests.support.recommendations import finding, made_up_kind, registered

pytestmark = pytest.mark.e2e
Visit = Callable[..., Page]
WINDOW: dict[str, Any] = {
    "workload": 1, "name": "nightly-training", "start": "02:00 Europe/Berlin", "zone": "use1-az4",
    "zone_name": "us-east-1d", "region": "us-east-1", "type": "p3.2xlarge", "market": "spot", "hours": 4.0,
    "count": 3, "months": 2.99, "turns": 91, "currency": "USD", "cost_now": "14.04", "cost_after": "11.80",
    "backtest": {"decisions": 63, "saving_pct": 16.0, "low": 12.1, "high": 19.4, "lost_share": 0.03},
    "next": [["2026-12-01T01:00:00Z", "2026-12-01T05:00:00Z"]],
}  # fmt: skip


@pytest.fixture(scope="module")
def inbox(site: str) -> Iterator[None]:
    """A launch window, three alternatives for one pool, and one that was accepted a month ago."""
    organisation, now = Organisation.default(), timezone.now()
    when: dict[str, Any] = {"claim_start": now, "claim_end": now + timedelta(days=91)}

    def worded(document: Any, language: str) -> Sentence:
        return Sentence(
            str(document["what"]),
            "Two are always on without a commitment. Break-even at 30 % use; a third would lose money.",
            (("Use in the last 30 days", "720 of 720 h"), ("Offer", "second-hand, 5,832 h left")),
        )

    kind = made_up_kind("buy", wording=worded, decide=Action.DECIDE_COMMITMENTS, title="Commitment")
    with registered(kind):
        publish(
            "launch_window",
            [finding("workload:1", "203.84", document=WINDOW, monthly_saving=Decimal("68.13"), **when)],
            organisation=organisation, now=now, whole=False,
        )  # fmt: skip
        pool: dict[str, Any] = {"claims": ("pool:aws:us-east-1:c5:Linux",), "effort": "medium", **when}
        offers = [
            finding(what, saving, document={"what": what, "cost": "1"}, reversibility="partly", **pool)
            for what, saving in (
                ("Buy two second-hand c5.large, eight months left", "608"),
                ("Buy two new c5.large for three years, all upfront, us-east-1", "404"),
                ("Buy a savings plan of 0.08 an hour for a year", "214"),
            )
        ]
        publish("buy", offers, organisation=organisation, now=now, whole=False)
        before = now - timedelta(days=61)
        old = finding(
            "c4", "120", document={"what": "Sell the c4.large Reserved Instance", "cost": "9"},
            claim_start=before, claim_end=now + timedelta(days=300),
        )  # fmt: skip
        publish("buy", [old], organisation=organisation, now=before, whole=False)
        row = Recommendation.objects.get(subject="c4")
        recommendation_accept(recommendation=row, actor=Actor.system("ada@example.test"), now=before)
        month: dict[str, Any] = {"recommendation": row, "currency": "USD", "computed_at": now}
        RealisedSaving.objects.create(
            month=date(2026, 9, 1), promised=Decimal(10), counterfactual=Decimal(43), actual=Decimal("31.5"),
            saving=Decimal("11.5"), complete=True, **month,
        )  # fmt: skip
        RealisedSaving.objects.create(
            month=date(2026, 10, 1), promised=Decimal(10), reason="The bill of this month is not there yet.",
            **month,
        )  # fmt: skip
        yield


def test_the_inbox_in_every_width_theme_and_language(visit: Visit, inbox: None) -> None:
    one = Recommendation.objects.get(subject="c4").pk
    for looks, name, address in zip(
        LOOKS, ("inbox", "recommendation"), ("/recommendations/", f"/recommendations/{one}/"), strict=True
    ):
        for width, theme, language in looks:
            look_at(visit, address, name=name, width=width, theme=theme, language=language)


def test_a_bulk_decision_without_scripts(visit: Visit, inbox: None) -> None:
    visit("/recommendations/").context.close()  # signs in
    page = visit("/recommendations/?kind=launch_window", scripts=False)
    page.get_by_label("Choose Start nightly-training at 02:00 Europe/Berlin").check()
    page.select_option("#bulk-decision", "dismiss")
    page.fill("#bulk-reason", "moves next month")
    page.get_by_role("button", name="Decide on the chosen ones").click()
    assert "One recommendation is dismissed." in page.locator("#toasts").inner_text()
    assert "kind=launch_window" in page.url
    row = Recommendation.objects.get(kind="launch_window")
    assert (row.state, row.reason) == ("dismissed", "moves next month")
