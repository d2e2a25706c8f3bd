"""Waste in words: the sentence, the list on one scale, one finding with its evidence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django.utils.http import urlencode
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from apps.dashboard import format as fmt
from apps.dashboard.presenters.run import Range, Scale
from apps.dashboard.words import lang
from apps.waste.wording import short

Doc = Mapping[str, Any]
MOST_ROWS = 200
DOING: dict[str, Any] = {
    "delete": gettext_lazy("Delete"),
    "stop": gettext_lazy("Stop"),
    "shrink": gettext_lazy("Shrink"),
    "change": gettext_lazy("Change"),
}
EFFORT: dict[str, Any] = {
    "low": gettext_lazy("Low effort"),
    "medium": gettext_lazy("Medium effort"),
    "high": gettext_lazy("High effort"),
}
RISK: dict[str, Any] = {
    "low": gettext_lazy("low risk"),
    "medium": gettext_lazy("medium risk"),
    "high": gettext_lazy("high risk"),
}
REVERSIBLE: dict[str, Any] = {
    "full": gettext_lazy("Reversible"),
    "partly": gettext_lazy("Partly reversible"),
    "none": gettext_lazy("Not reversible"),
}
NEEDS: dict[str, Any] = {
    "bill": gettext_lazy("the bill"),
    "list-prices": gettext_lazy("the bill and on-demand list prices"),
    "spot-prices": gettext_lazy("the bill and Spot prices"),
    "resources": gettext_lazy("the bill and a list of volumes and snapshots"),
    "metrics": gettext_lazy("the bill and 14 days of metrics"),
    "kubernetes": gettext_lazy("requests and use of a cluster"),
}


FACTS: dict[str, Any] = {
    "night_share": gettext_lazy("of nights and weekends, %"),
    "night_hours": gettext_lazy("hours at night and at weekends"),
    "hours": gettext_lazy("hours"),
    "type": gettext_lazy("type"),
    "newer": gettext_lazy("newer type"),
    "target": gettext_lazy("target type"),
    "tag": gettext_lazy("tag"),
    "from_hour": gettext_lazy("work begins, hour"),
    "to_hour": gettext_lazy("work ends, hour"),
    "timezone": gettext_lazy("time zone"),
    "traffic": gettext_lazy("traffic a day"),
    "unit": gettext_lazy("unit"),
    "days": gettext_lazy("days"),
    "samples": gettext_lazy("samples"),
    "source": gettext_lazy("source"),
    "threshold": gettext_lazy("threshold"),
    "price": gettext_lazy("price of an hour"),
    "newer_price": gettext_lazy("newer price of an hour"),
    "target_price": gettext_lazy("target price of an hour"),
    "spot": gettext_lazy("Spot price of an hour"),
    "share": gettext_lazy("share, %"),
    "head_room": gettext_lazy("head-room"),
    "confidence": gettext_lazy("confidence"),
    "instance": gettext_lazy("instance"),
    "since": gettext_lazy("since"),
    "volume": gettext_lazy("volume"),
    "by": gettext_lazy("told by"),
    "engine": gettext_lazy("engine"),
    "gib": gettext_lazy("GiB"),
    "included": gettext_lazy("IOPS without a charge"),
    "needed": gettext_lazy("needed"),
    "credits": gettext_lazy("surplus credits a month"),
    "count": gettext_lazy("number"),
}


@dataclass(frozen=True)
class Row:
    """A finding of the list."""

    title: str
    text: str
    place: str
    meta: str
    cost: str
    saving: str
    interval: str
    range: Range | None
    address: str
    counted: bool


def heading(document: Doc) -> str:
    """The answer in a sentence."""
    totals = document["totals"]
    if document["judged"] is None and not document["findings"]:
        return _("No bill tells what is wasted yet.")
    if not totals:
        return _("Nothing that the rules can see is wasted.")
    amounts = _(" and ").join(f"[[{fmt.money(one['saving'], currency)}]]" for currency, one in totals.items())
    count = sum(one["resources"] for one in totals.values())
    return ngettext(
        "%(n)s resource wastes %(money)s a month.", "%(n)s resources waste %(money)s a month.", count
    ) % {"n": fmt.number(count), "money": amounts}


def lead(document: Doc) -> str:
    """What it rests on."""
    judged = document["judged"]
    if judged is None:
        return ""
    rules = len({one["rule"] for one in document["not_judged"]})
    text = _("From bill lines of %(start)s to %(end)s, amortised, after commitments.") % {
        "start": judged["from"][:10],
        "end": judged["to"][:10],
    }
    more = ngettext(
        "%(n)d rule could not be asked of everything.", "%(n)d rules could not be asked of everything.", rules
    ) % {"n": rules}
    return f"{text} {more}" if rules else text


def rows_of(found: Sequence[Doc]) -> list[Row]:
    """The list; one scale a currency."""
    scales = {
        currency: _scale([one for one in found if one["currency"] == currency])
        for currency in {one["currency"] for one in found}
    }
    return [row_of(one, scales[one["currency"]]) for one in found[:MOST_ROWS]]


def _scale(found: Sequence[Doc]) -> Scale:
    values = [float(one[name]) for one in found for name in ("saving_low", "saving_high")]
    return Scale(min([0.0, *values]), max([0.01, *values]))


def row_of(one: Doc, scale: Scale) -> Row:
    """One finding on the scale."""
    low, saving, high = (float(one[name]) for name in ("saving_low", "saving", "saving_high"))
    meta = [str(EFFORT[one["effort"]]), str(RISK[one["risk"]]), str(REVERSIBLE[one["reversible"]])]
    if one["team"]:
        meta.insert(0, one["team"])
    return Row(
        title=one["title"],
        text=one["text"],
        place=" · ".join(part for part in (one["account"], one["region"]) if part),
        meta=" · ".join(meta),
        cost=fmt.number(Decimal(one["monthly_cost"]), 2),
        saving=fmt.number(Decimal(one["saving"]), 2),
        interval=fmt.span(Decimal(one["saving_low"]), Decimal(one["saving_high"]), lang(), decimals=2),
        range=Range(scale.place(0), scale.place(saving), scale.place(low), scale.place(high), one["counted"]),
        address=address_of(one),
        counted=one["counted"],
    )


def address_of(one: Doc) -> str:
    """The query of a finding's page."""
    return urlencode({name: one[name] for name in ("rule", "account", "region", "resource")})


def lines_address(one: Doc) -> str:
    """The query of its bill lines in Spend."""
    evidence = one["evidence"]
    where = [("where", f"account={one['account']}"), ("where", f"region={one['region']}")]
    if one["resource"]:
        where = [("where", f"resource={one['resource']}")]
    return urlencode(
        [("from", evidence["from"][:10]), ("to", evidence["to"][:10]), ("basis", "amortised"), *where]
    )


def facts_of(one: Doc) -> list[tuple[str, str]]:
    """What the rule saw; names of metrics stay as they are."""
    return [
        (str(FACTS.get(name, name.replace("_", " "))), str(value))
        for name, value in one["facts"].items()
        if value != ""
    ]


def kept_groups(document: Doc) -> list[dict[str, Any]]:
    """What would save nothing, dearest first, a few of each."""
    rows = sorted(document["not_saving"], key=lambda one: -Decimal(one["monthly_cost"]))
    return [
        {
            "rule": one["rule"],
            "resource": short(one),
            "place": f"{one['account']} · {one['region']}",
            "cost": fmt.money(Decimal(one["monthly_cost"]), one["currency"], decimals=2),
            "reason": one["reason"],
        }
        for one in rows[:12]
    ]


def choices(document: Doc) -> dict[str, list[Any]]:
    """What the filters offer."""
    found = document["findings"]
    counts = Counter(one["rule"] for one in found)
    return {
        "rules": [(rule, f"{rule} ({n})") for rule, n in sorted(counts.items())],
        "accounts": sorted({one["account"] for one in found if one["account"]}),
        "regions": sorted({one["region"] for one in found if one["region"]}),
        "teams": sorted({one["team"] for one in found if one["team"]}),
        "doings": [(name, DOING[name]) for name in sorted({one["doing"] for one in found})],
    }


def metrics_heading(document: Doc) -> str:
    """The answer of the page of metrics."""
    count = sum(one["resources"] for one in document["stored"])
    if not count:
        return _("Nothing is known beside the bill yet.")
    return ngettext(
        "%(n)s resource is known beside the bill.", "%(n)s resources are known beside the bill.", count
    ) % {"n": f"[[{fmt.number(count)}]]"}


def clusters_heading(document: Doc) -> str:
    """The answer of the Kubernetes page."""
    if not document["workloads"]:
        return _("No requests and use of a cluster are loaded.")
    amounts = _(" and ").join(
        f"[[{fmt.money(value, currency)}]]" for currency, value in document["totals"].items()
    )
    if not document["totals"]:
        return _("Workloads are loaded, and nothing says what they cost.")
    count = len({(one["cluster"], one["namespace"]) for one in document["namespaces"]})
    return ngettext(
        "%(n)s namespace costs %(money)s in these days.",
        "%(n)s namespaces cost %(money)s in these days.",
        count,
    ) % {"n": fmt.number(count), "money": amounts}
