"""The kinds `commitment_buy` and `commitment_sell`: how they are worded, what is fixed at acceptance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from django.utils import translation
from django.utils.translation import gettext as _

from apps.accounts.models import Organisation
from apps.prices.selectors import on_demand_prices
from apps.recommendations.commitments_wording import rival_again, told_again
from apps.recommendations.kinds import RealisedMonth, Sentence
from apps.recommendations.models import Recommendation
from apps.recommendations.services.realised_commitments import commitment_counterfactual
from apps.recommendations.wording import day, hourly, joined, money, percent
from finops.frames.sizes import family_of

YEAR_HOURS = 8760


def worded_buy(document: Mapping[str, Any], language: str) -> Sentence:
    """A purchase in the language asked for."""
    with translation.override(language):
        currency = document["currency"]
        values = {
            "n": document["quantity"],
            "type": document["type"],
            "years": round(float(document["hours_left"]) / YEAR_HOURS),
            "terms": terms_of(document),
            "money": money(float(document["upfront"]), currency),
            "used": percent(document["utilisation_pct"]),
            "needed": percent(document["break_even_utilisation_pct"]),
            "days": round(document["known_hours"] / 24),
        }
        title = {
            "second-hand": _("Buy %(n)d × %(type)s, second-hand"),
            "savings-plan": _("Commit to %(n)d × %(type)s by a savings plan: %(years)d y, %(terms)s"),
        }.get(document["kind"], _("Buy %(n)d × %(type)s: %(years)d y, %(terms)s"))
        return Sentence(
            title=title % values,
            text=joined(
                _("Used %(used)s of its hours on %(days)d days of bills; it pays from %(needed)s.") % values,
                _("Paid at once: %(money)s.") % values,
            ),
            lines=_buy_lines(document),
        )


def _buy_lines(document: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    currency = document["currency"]
    rivals = [
        (
            rival_again(one["rival"], one["name"]),
            money(float(one["saving"]), currency)
            if one["saving"] is not None
            else told_again(one.get("code"), one.get("values"), one["reason"] or "—"),
        )
        for one in document["versus"]
    ]
    back = document["break_even_date"]
    return (
        (_("Offer"), document["offer"]),
        (_("Where"), f"{document['platform']}, {document['zone'] or document['region']}"),
        (_("Hours left"), f"{float(document['hours_left']):,.0f}"),
        (_("Effective price of an hour"), hourly(float(document["effective_hourly"]), currency)),
        (_("Money back"), day(datetime.fromisoformat(back)) if back else "—"),
        (_("Chance of a loss"), percent(float(document["loss_probability"]) * 100)),
        *rivals,
    )


def terms_of(document: Mapping[str, Any]) -> str:
    """`standard, all upfront`."""
    words = {
        "standard": _("standard"),
        "convertible": _("convertible"),
        "all-upfront": _("all upfront"),
        "partial-upfront": _("partial upfront"),
        "no-upfront": _("no upfront"),
    }
    terms = [words.get(document.get(name) or "", "") for name in ("offering_class", "payment")]
    return ", ".join(term for term in terms if term)


def worded_sell(document: Mapping[str, Any], language: str) -> Sentence:
    """A sale in the language asked for."""
    with translation.override(language):
        currency = document["currency"]
        values = {
            "n": document["quantity"],
            "count": document["count"],
            "type": document["type"],
            "ask": money(float(document["ask"]), currency),
            "receives": money(float(document["receives"]), currency),
        }
        return Sentence(
            title=_("Sell %(n)d of %(count)d reserved %(type)s") % values,
            text=_("Asked %(ask)s each, %(receives)s after the fee; kept, they would be used too little.")
            % values,
            lines=(
                (_("Months left"), str(document["months_left"])),
                (_("Worth to a buyer"), money(float(document["buyer_ceiling"]), currency)),
                (
                    _("Set by"),
                    rival_again(document["cheapest_rival"], str(document["cheapest_rival_name"])),
                ),
                *(
                    (_("Condition"), told_again(one["code"], one.get("values"), one["text"]))
                    for one in document["conditions"]
                ),
            ),
        )


def counterfactual_buy(row: Recommendation) -> Mapping[str, Any]:
    """On-demand prices of the types that the purchase pays for, as listed now."""
    document, evidence = row.document, row.evidence
    moment = datetime.fromisoformat(evidence["at"])
    kind, flexible = document["type"], document["normalised_units"] is not None
    listed = on_demand_prices(
        provider="aws", region=document["region"], product=document["platform"], at=moment
    )
    same = {
        name: str(found.price)
        for name, found in listed.items()
        if (family_of(name) == family_of(kind) if flexible else name == kind)
    }
    return commitment_counterfactual(row, on_demand=same, moment=moment)


def counterfactual_sell(row: Recommendation) -> Mapping[str, Any]:
    """What keeping is expected to bring, fixed at acceptance."""
    return {"kept_value": row.document["kept_value"], "receives": row.document["receives"]}


def realised_sell(
    row: Recommendation, organisation: Organisation, now: datetime
) -> Sequence[RealisedMonth] | None:
    """Proceeds of a sale are not in bill lines: not read from bills."""
    return None
