"""Sentences of commitments: why an offer is bought, why another one is not."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from django.utils.translation import gettext as _

from finops.engine.commitments.refusal import Refusal
from finops.engine.commitments.selection import Pick

_REFUSALS: dict[str, Callable[[], str]] = {
    "other currency": lambda: _("It costs %(offered)s, your prices are in %(used)s."),
    "no use": lambda: _("You use no %(family)s."),
    "other region": lambda: _("It is in %(offered)s, your use is in %(used)s."),
    "other platform": lambda: _("It is for %(offered)s, your use is %(used)s."),
    "other tenancy": lambda: _("Its tenancy is %(offered)s, that of your use is %(used)s."),
    "zonal": lambda: _("It is zonal, in %(offered)s; your use is in %(used)s."),
    "zonal size": lambda: _("It is zonal and applies to %(offered)s only; you use %(used)s."),
    "size": lambda: _("It applies to %(offered)s only; you use %(used)s."),
    "already covered": lambda: _("Your use is already covered by %(by)s."),
    "no list price": lambda: _("No price list has %(type)s in %(region)s: its saving cannot be judged."),
    "no known use": lambda: _("No bill says what is used: import one first."),
    "too short a history": lambda: _("Only %(hours)s hours of use are known; two days are needed."),
    "over": lambda: _("Its term ended on %(ended)s."),
    "never pays": lambda: _("An hour costs %(effective)s even at full use, on demand %(on_demand)s."),
    "too little use": lambda: _(
        "It pays from %(needed_pct)s %% of the hours; one more would be used %(used_pct)s %%."
    ),
    "hours taken by": lambda: _("The hours it would take are covered better by %(by)s."),
    "over the cash limit": lambda: _("It costs %(upfront)s at once; the limit is %(limit)s."),
    "over the risk limit": lambda: _("It loses in %(loss_pct)s %% of the scenarios."),
    "beyond the horizon": lambda: _("Its term of %(hours)s hours is beyond the horizon of %(horizon)s."),
    "gone": lambda: _("It is gone: the look at %(at)s did not show it."),
    "no spot price": lambda: _("No Spot price of %(type)s in %(region)s is known in this period."),
    "spot known too little": lambda: _(
        "The Spot price of %(type)s is known for %(share_pct)s %% of this period only."
    ),
    "no spot price of shared hours": lambda: _(
        "Sizes of a family share these hours, and a part of them runs on %(type)s: of that no Spot price in "
        "%(region)s is known in this period."
    ),
    "spot known too little of shared hours": lambda: _(
        "Sizes of a family share these hours, and a part of them runs on %(type)s: its Spot price is known "
        "for %(share_pct)s %% of this period only."
    ),
    "no listed price": lambda: _("No price list has it for this use in %(region)s."),
    "no place asked": lambda: _("Give a type and a region to compare with it."),
    "not told": lambda: _("Neither the bill nor the provider's interface tells this: %(what)s."),
    "convertible": lambda: _("It is convertible: only standard reservations may be sold."),
    "unknown class": lambda: _("Its class is not known: only standard reservations may be sold."),
    "already listed": lambda: _("It is listed for sale already."),
    "not paid yet": lambda: _("It is not paid yet."),
    "not active": lambda: _("It is %(state)s, not active."),
    "younger than the minimum hold": lambda: _("It must be held for %(days)s days before it may be sold."),
    "less than one month left": lambda: _("Less than %(months)s month of its term is left."),
    "bought at a discount": lambda: _("Reservations bought at a discount may not be sold."),
    "region without resale": lambda: _("In %(region)s nothing may be sold."),
    "opt-in region": lambda: _("In opt-in regions such as %(region)s nothing may be sold."),
    "seller barred": lambda: _("Customers of %(entity)s may not sell."),
    "bank outside": lambda: _("The seller needs a bank account in %(country)s."),
    "no market": lambda: _("%(provider)s has no market for resale."),
    "hourly charge unknown": lambda: _("Its hourly charge is not known."),
    "left aside": lambda: _("Not asked for: %(what)s."),
}


_RIVALS: dict[str, Callable[[], str]] = {
    "on-demand": lambda: _("On demand"),
    "spot": lambda: _("Spot"),
    "new-1y": lambda: _("New, 1 year"),
    "new-3y": lambda: _("New, 3 years"),
    "second-hand": lambda: _("Second-hand"),
    "savings-plan-1y": lambda: _("Savings plan, 1 year"),
    "savings-plan-3y": lambda: _("Savings plan, 3 years"),
}


_FIELDS: dict[str, Callable[[], str]] = {
    "account": lambda: _("account"),
    "zone": lambda: _("zone"),
    "tenancy": lambda: _("tenancy"),
    "plan": lambda: _("kind of plan"),
    "family": lambda: _("family"),
    "offering_class": lambda: _("class"),
    "payment": lambda: _("payment"),
    "commitment_per_hour": lambda: _("commitment an hour"),
    "fixed": lambda: _("price paid once"),
    "hourly": lambda: _("hourly charge"),
    "end": lambda: _("end of the term"),
    "start": lambda: _("start of the term"),
    "instance_type": lambda: _("instance type"),
    "region": lambda: _("region"),
    "platform": lambda: _("platform"),
    "count": lambda: _("quantity"),
    "currency": lambda: _("currency"),
}


def field_words(name: str) -> str:
    """What a field of a commitment is called; KeyError for an unknown one."""
    return _FIELDS[name]()


def rival_words(name: str) -> str:
    """What a rival is called; KeyError for an unknown one."""
    return _RIVALS[name]()


def refusal_sentence(refusal: Refusal) -> str:
    """The sentence of a refusal; KeyError for a code without one."""
    values = dict(refusal.values)
    if refusal.code == "not told":
        values["what"] = field_words(values["what"])
    return _REFUSALS[refusal.code]() % values


def told_again(code: str | None, values: Mapping[str, Any] | None, stored: str) -> str:
    """A stored reason in the language in use: by its code where it was stored with one, else as stored."""
    if not code or values is None or code not in _REFUSALS:
        return stored
    try:
        return refusal_sentence(Refusal(code, tuple(values.items())))
    except KeyError:
        return stored


def rival_again(name: str, stored: str) -> str:
    """A stored rival's name in the language in use."""
    return _RIVALS[name]() if name in _RIVALS else stored


def pick_sentence(pick: Pick) -> str:
    """Why an offer is bought."""
    found = pick.evaluation
    return _("Used %(used).1f %% of its hours; it pays from %(needed).1f %%.") % {
        "used": found.utilisation * 100,
        "needed": found.break_even_share * 100,
    }


def rule_sentence(limit: float | None) -> str:
    """Which of the picks are advised and added up; `limit`: the asked share of scenarios that may lose."""
    if limit is None:
        return _(
            "Advised and added up is what saves in 19 of 20 scenarios: its whole 90 % interval is above 0."
        )
    return _("Advised and added up is what together loses in at most %(share).1f %% of the scenarios.") % {
        "share": limit * 100
    }
