"""Sentences of a cost check."""

from __future__ import annotations

from decimal import Decimal

from finops.engine.checks.alternatives import Alternative
from finops.engine.checks.policies import CARBON, PERCENTS, Outcome, Policy, Verdict
from finops.engine.checks.pricing import Priced
from finops.engine.spend import rounded
from finops.frames.cost_items import Range
from finops.words import gettext as _

MINUS = "\u2212"


def amount(value: Decimal, *, signed: bool = False) -> str:
    """Two decimals, half up; a change has its sign."""
    shown = rounded(value)
    sign = MINUS if shown < 0 else "+" if signed and shown > 0 else ""
    return f"{sign}{abs(shown):,.2f}"


def interval(found: Range, *, signed: bool = False) -> str:
    """One amount, or both ends."""
    low, high = amount(found.low, signed=signed), amount(found.high, signed=signed)
    return low if low == high else _("%(low)s to %(high)s") % {"low": low, "high": high}


def verdict_word(verdict: str) -> str:
    """The verdict in the reader's language."""
    return {
        "pass": _("Pass"),
        "warn": _("Warn"),
        "cannot judge": _("Cannot judge"),
        "deny": _("Deny"),
    }[verdict]


def sentence(priced: Priced, verdict: Verdict) -> str:
    """The verdict and what the change costs."""
    word = verdict_word(verdict.value)
    if priced.total.delta is None:
        return _("%(verdict)s: what this change costs is not known.") % {"verdict": word}
    told = {
        "verdict": word,
        "amount": interval(priced.total.delta, signed=True),
        "currency": priced.currency or "",
    }
    if priced.currency is None:
        return _("%(verdict)s: nothing in this change has a cost.") % told
    return _("%(verdict)s: %(amount)s %(currency)s a month.") % told


def policy_title(policy: Policy) -> str:
    """What a policy asks."""
    told = {
        "limit": "" if policy.limit is None else format(policy.limit, "f"),
        "currency": policy.currency,
        "names": ", ".join(policy.names),
        "team": policy.team,
    }
    words = {
        "max_increase": _("Rise of at most %(limit)s %(currency)s a month"),
        "max_decrease": _("Fall of at most %(limit)s %(currency)s a month"),
        "max_total": _("At most %(limit)s %(currency)s a month in all"),
        "max_increase_percent": _("Rise of at most %(limit)s %%"),
        "max_decrease_percent": _("Fall of at most %(limit)s %%"),
        "team_budget": _("Within the team's budget of the month"),
        "spot_eligible_on_demand": _("What may be interrupted runs on Spot"),
        "volume_types": _("No volumes of type %(names)s"),
        "required_tag": _("Everything has the tag %(names)s"),
        "region_carbon": _("Regions with at most %(limit)s g of CO2e a kWh"),
        "all_priced": _("Every part has a price"),
    }
    return words[policy.kind] % told


def outcome_reason(outcome: Outcome, currency: str | None) -> str:
    """Why a policy has its verdict, with both numbers."""
    policy = outcome.policy
    unit = "%" if policy.kind in PERCENTS else policy.currency or currency or ""
    if policy.kind == CARBON:
        unit = _("g of CO2e a kWh")
    told = {
        "found": "" if outcome.found is None else format(rounded(outcome.found), "f"),
        "excess": "" if outcome.excess is None else format(rounded(outcome.excess), "f"),
        "limit": "" if policy.limit is None else format(policy.limit, "f"),
        "unit": unit,
        "count": len(outcome.addresses),
    }
    words = {
        "above": _("%(found)s %(unit)s is above the limit by %(excess)s"),
        "at most": _("%(found)s %(unit)s is not above the limit"),
        "no base": _("There is no cost before above 0, so no percentage"),
        "not priced": _("What it asks about has no price"),
        "currency": _("The limit is in another currency than the prices"),
        "parts": _("Resources: %(count)d"),
        "none": _("Nothing found"),
        "tags unknown": _("Tags are known only after apply; resources: %(count)d"),
        "no factor": _("Nobody publishes the grid intensity of the region; resources: %(count)d"),
        "sources differ": _(
            "The sources differ: one is above the limit, up to %(found)s %(unit)s; name a source"
        ),
        "no budget": _("There is no budget of the month or no forecast for this team"),
    }
    return words[outcome.code] % told


def alternative(one: Alternative) -> str:
    """What to do instead."""
    return _("%(instead)s instead of %(of)s for %(address)s") % {
        "instead": one.instead,
        "of": one.of,
        "address": one.address,
    }
