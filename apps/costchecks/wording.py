"""Sentences of a cost check."""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

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
    told = {"instead": way(one.instead), "of": way(one.of), "address": one.address}
    return _("%(instead)s instead of %(of)s for %(address)s") % told


_WAYS = (
    (re.compile(r"(?P<type>\S+) on demand"), lambda: _("%(type)s on demand")),
    (re.compile(r"(?P<type>\S+) Spot at once"), lambda: _("%(type)s Spot at once")),
    (
        re.compile(r"(?P<type>\S+) Spot within (?P<hours>\d+) h"),
        lambda: _("%(type)s Spot within %(hours)s h"),
    ),
    (
        re.compile(r"(?P<count>\d+) x (?P<type>\S+) second-hand reservation"),
        lambda: _("%(count)s x %(type)s second-hand reservation"),
    ),
    (
        re.compile(r"lifecycle rules of (?P<count>\d+) prefixes"),
        lambda: _("lifecycle rules of %(count)s prefixes"),
    ),
)


def way(text: str) -> str:
    """A way as the engine names it, in the reader's language; names stay as they are."""
    for pattern, words in _WAYS:
        if (found := pattern.fullmatch(text)) is not None:
            return words() % found.groupdict()
    return text


def evidence(found: Mapping[str, Any]) -> str:
    """What a saving rests on: source, age, sample."""
    sources = {
        "launch advice, back-test": _("Launch advice, back-test"),
        "offers seen": _("Offers that stand"),
        "storage advice on the listing": _("Storage advice on the listing"),
    }
    source = str(found.get("source") or "")
    zone = source.removeprefix("launch advice, ")
    if source in sources:
        parts = [sources[source]]
    elif zone != source:
        parts = [_("Launch advice, %(zone)s") % {"zone": zone}]
    else:
        parts = [source]
    if found.get("as_of"):
        parts.append(_("as of %(day)s") % {"day": str(found["as_of"])[:10]})
    samples = {
        "decisions": _("past decisions: %(n)s"),
        "offers": _("offers: %(n)s"),
        "objects": _("objects: %(n)s"),
    }
    if found.get("sample") is not None and found.get("sample_of") in samples:
        parts.append(samples[str(found["sample_of"])] % {"n": f"{found['sample']:,}"})
    if found.get("upfront"):
        parts.append(_("%(upfront)s upfront") % {"upfront": f"{Decimal(found['upfront']):,.2f}"})
    if found.get("hours_left"):
        parts.append(_("%(hours)s h left") % {"hours": f"{int(found['hours_left']):,}"})
    if found.get("pays_from_hours"):
        parts.append(_("pays from %(hours)s h on") % {"hours": f"{int(found['pays_from_hours']):,}"})
    if found.get("least_days"):
        parts.append(_("billed for at least %(days)s days") % {"days": found["least_days"]})
    return ", ".join(part for part in parts if part)


def not_offered(code: str, told: Mapping[str, str]) -> str:
    """Why a cheaper way is not offered."""
    words = {
        "dearer": _("It costs more at what is expected."),
        "no spot price": _("No Spot price of %(type)s in %(region)s is loaded."),
        "no list price": _("No list price of %(type)s in %(region)s is loaded."),
        "no volume price": _("Not all prices of both volume types are known in %(region)s."),
        "no slack": _("Nobody said how long a start may wait: state slack_hours."),
        "no launch advice": _("Launch advice has nothing on this machine and place."),
        "cheapest zone": _("%(zone)s is the cheapest zone now."),
        "not measured": _("The back-test has no past decision to measure it by."),
        "not worth it": _(
            "In %(decisions)s past decisions it saved %(pct)s %% (%(low)s to %(high)s %%), "
            "not surely above 0."
        ),
        "no offers": _("No second-hand offer of %(type)s in %(region)s stands."),
        "offers dearer": _(
            "The cheapest offer of %(type)s in %(region)s comes to %(effective)s an hour; "
            "on demand is %(rate)s."
        ),
        "blocked": _("Storage advice on %(bucket)s cannot judge: %(why)s"),
        "nothing to move": _("Storage advice on %(bucket)s moves nothing."),
        "usage missing": _("State in the usage file: %(names)s."),
        "no class price": _("Prices of storage classes are not known in this region."),
        "no class cheaper": _("No other class is cheaper for this use."),
        "needs the server": _("Only the server knows: this check ran without it."),
    }
    return words[code] % told


def kind_word(kind: str) -> str:
    """What a cheaper way changes."""
    return {
        "spot": _("Spot"),
        "zone": _("Zone"),
        "window": _("Start window"),
        "second-hand": _("Second-hand reservation"),
        "volume type": _("Volume type"),
        "storage class": _("Storage class"),
    }.get(kind, kind)
