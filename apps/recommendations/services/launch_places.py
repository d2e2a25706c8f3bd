"""Repeating workloads that another zone would make cheaper, as recommendations of the kind `launch_place`.

No clock is involved: each turn starts as soon as it is allowed, in the zone of the home region that is
cheapest at that moment. Launch advice tests that rule ("zone_now") on the loaded past against the home zone;
a row exists only where the 90 % interval of that saving lies above 0. It claims the same hours as a better
start on the clock, so the two are alternatives.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from django.utils import translation
from django.utils.translation import gettext as _

from apps.recommendations.kinds import Sentence
from apps.recommendations.services.document import Document, decimal_text
from apps.recommendations.wording import joined, money, percent

KIND, RULE = "launch_place", "zone_now"
DIGITS = Decimal("0.000001")


def place_document(answer: Mapping[str, Any]) -> Document | None:
    """Home, the zone that is cheapest now and the tested rule; None where that is not worth a move."""
    home, test = answer["home"], answer["backtest"]["strategies"].get(RULE)
    if home is None or test is None or not home["zone"] or test["low"] is None or test["low"] <= 0:
        return None
    now = [
        plan
        for plan in answer["plans"]
        if plan["market"] == "spot"
        and (plan["region"], plan["type"], plan["start"]) == (home["region"], home["type"], home["start"])
    ]
    cheapest = min(now, key=lambda plan: Decimal(plan["compute_cost"]), default=None)
    after = Decimal(test["mean_cost"])
    return {
        "region": home["region"],
        "zone": home["zone"],
        "zone_name": home["zone_name"],
        "cheapest_zone_name": None if cheapest is None else cheapest["zone_name"],
        "type": home["type"],
        "market": "spot",
        "currency": answer["currency"],
        "cost_now": decimal_text((after / (1 - Decimal(repr(test["saving_pct"])) / 100)).quantize(DIGITS)),
        "cost_after": test["mean_cost"],
        "backtest": dict(test),
    }


def worded(document: Mapping[str, Any], language: str) -> Sentence:
    """The recommendation in the language asked for."""
    with translation.override(language):
        test, currency = document["backtest"], document["currency"]
        values = {
            "name": document["name"],
            "home": document["zone_name"] or document["zone"],
            "region": document["region"],
            "saving": percent(test["saving_pct"]),
            "low": percent(test["low"]),
            "high": percent(test["high"]),
            "n": test["decisions"],
        }
        return Sentence(
            title=_("Run %(name)s in the cheapest zone of %(region)s instead of %(home)s") % values,
            text=joined(
                _("That saved %(saving)s on average in the back-test of %(n)d starts, before moving data.")
                % values,
                _("90 %% interval %(low)s to %(high)s, against starting in %(home)s.") % values,
            ),
            lines=_lines(document, currency),
        )


def _lines(document: Mapping[str, Any], currency: str) -> tuple[tuple[str, str], ...]:
    test = document["backtest"]
    return (
        (_("Cheapest zone at the decision"), document["cheapest_zone_name"] or "—"),
        (_("Starts that became dearer"), percent(test["lost_share"] * 100)),
        (_("Mean cost of a turn now"), money(float(document["cost_now"]), currency)),
        (_("Mean cost of a turn in the cheapest zone"), money(float(document["cost_after"]), currency)),
        (_("Work"), _("%(hours)g h on %(count)d instances, %(turns)d turns in the period") % {
            "hours": document["hours"], "count": document["count"], "turns": document["turns"],
        }),
    )  # fmt: skip
