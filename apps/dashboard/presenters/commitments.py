"""Own commitments in words: the sentence, key figures, rows, ladder, pictures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from apps.dashboard import format as fmt
from apps.dashboard.presenters.deals import CLASSES, PAYMENTS
from apps.dashboard.presenters.spend_words import month_word
from apps.dashboard.words import joined, lang
from apps.recommendations.commitments_wording import field_words

STATES: dict[str, tuple[str, Any]] = {
    "active": ("pass", gettext_lazy("Active")),
    "queued": ("unknown", gettext_lazy("Begins later")),
    "payment-pending": ("warn", gettext_lazy("Payment pending")),
    "payment-failed": ("deny", gettext_lazy("Payment failed")),
    "expired": ("unknown", gettext_lazy("Ended")),
    "retired": ("unknown", gettext_lazy("Retired")),
}
SOURCE_WORDS = {
    "bill": gettext_lazy("bill"),
    "api": gettext_lazy("provider's interface"),
    "bill+api": gettext_lazy("bill and provider's interface"),
}
IDLE = "idle_hours"
SOON_DAYS = 90
HOURS_A_DAY = 24


@dataclass(frozen=True)
class Kpi:
    """One key figure."""

    label: str
    value: str
    note: str


@dataclass(frozen=True)
class Line:
    """One commitment as it is shown."""

    id_short: str
    account: str
    what: str
    where: str
    ends: str
    left: str
    soon: bool
    used: str
    width: str
    idle: str
    idle_cost: str
    hourly: str
    others: str
    after: str
    kind: str
    word: str
    notes: tuple[str, ...]


def amount(text: str | None) -> Decimal | None:
    """A decimal of the document."""
    return None if text is None else Decimal(text)


def month_of(document: dict[str, Any]) -> str:
    """`Nov 2018`, the month that is judged."""
    return month_word(date.fromisoformat(f"{document['billing_period']}-01"))


def heading(document: dict[str, Any]) -> str:
    """The sentence with the number."""
    rows = document["commitments"]
    if not rows:
        return _("No commitment is known yet.")
    totals = document["total"]
    if not totals:
        text = ngettext(
            "[[%(n)s]] commitment is known; no bill tells how it is used.",
            "[[%(n)s]] commitments are known; no bill tells how they are used.",
            len(rows),
        )
        return text % {"n": len(rows)}
    total = totals[0]
    values = {
        "used": fmt.percent(total["utilisation_pct"], lang()),
        "cost": fmt.money(amount(total["idle_cost"]), total["currency"]),
        "month": month_of(document),
    }
    if (amount(total["idle_cost"]) or 0) <= 0:
        return _("Every commitment was used to the full in %(month)s: [[%(used)s]].") % values
    return _("Commitments were [[%(used)s]] used in %(month)s; what stood idle cost %(cost)s.") % values


def lead(document: dict[str, Any]) -> str:
    """The line with the comparison."""
    parts = []
    for money in document["coverage_total"]["on_demand_equivalent"][:1]:
        parts.append(
            _("They paid for %(share)s of what instances cost on demand in the 30 days to %(day)s.")
            % {"share": fmt.percent(money["coverage_pct"], lang()), "day": _covered_to(document)}
        )
    others = [one["currency"] for one in document["total"][1:]]
    if others:
        parts.append(
            _("Commitments in %(others)s are judged apart and not in the sentence.")
            % {"others": ", ".join(others)}
        )
    saved = saving(document)
    if saved is not None:
        currency, value = saved
        words = {"amount": fmt.money(abs(value), currency), "month": month_of(document)}
        parts.append(
            _("Against on-demand prices they saved %(amount)s in %(month)s, idle hours counted.") % words
            if value >= 0
            else _("Against on-demand prices they lost %(amount)s in %(month)s, idle hours counted.") % words
        )
    return joined(*parts)


def _covered_to(document: dict[str, Any]) -> str:
    """The last day that coverage is of."""
    end = datetime.fromisoformat(document["evidence"]["coverage_to"]) - timedelta(seconds=1)
    return fmt.day(end, UTC, lang(), year=True)


def saving(document: dict[str, Any]) -> tuple[str, Decimal] | None:
    """What the use that was paid for costs on demand, less the commitments; None where a price is missing."""
    total = document["total"][:1]
    used = [one for one in document["commitments"] if one["cost"] is not None]
    if not total or any(one["covered_on_demand_cost"] is None for one in used):
        return None
    listed, cost = amount(total[0]["covered_on_demand_cost"]), amount(total[0]["cost"])
    return None if listed is None or cost is None else (total[0]["currency"], listed - cost)


def kpis(document: dict[str, Any], at: datetime) -> list[Kpi]:
    """At most five."""
    found: list[Kpi] = []
    for total in document["total"][:1]:
        currency = total["currency"]
        idle = [one for one in document["commitments"] if (amount(one["idle_cost"]) or 0) > 0]
        cost = fmt.money(amount(total["cost"]), currency, decimals=2)
        found.append(
            Kpi(
                _("Used"),
                fmt.percent(total["utilisation_pct"], lang()),
                _("of %(cost)s amortised") % {"cost": cost},
            )
        )
        found.append(
            Kpi(
                _("Idle"),
                fmt.money(amount(total["idle_cost"]), currency, decimals=2),
                ngettext("%(n)s commitment", "%(n)s commitments", len(idle)) % {"n": len(idle)},
            )
        )
    for money in document["coverage_total"]["on_demand_equivalent"][:1]:
        hours = fmt.percent(document["coverage_total"]["coverage_pct"], lang())
        found.append(
            Kpi(
                _("Covered"),
                fmt.percent(money["coverage_pct"], lang()),
                _("of on-demand cost, 30 days to %(day)s; %(hours)s of hours")
                % {"hours": hours, "day": _covered_to(document)},
            )
        )
    return found + _ends(document, at)


def _ends(document: dict[str, Any], at: datetime) -> list[Kpi]:
    ends = [
        (datetime.fromisoformat(one["end"]), one)
        for one in document["commitments"]
        if one["after_expiry"] is not None
    ]
    coming = sorted(ends, key=lambda pair: pair[0])
    if not coming:
        return []
    end, first = coming[0]
    found = [Kpi(_("Next end"), fmt.day(end, UTC, lang(), year=True), what_of(first))]
    soon = [one for when, one in coming if when - at <= timedelta(days=SOON_DAYS)]
    chosen = soon or [one for _when, one in coming]
    note = (
        ngettext("%(n)s that ends within 90 days", "%(n)s that end within 90 days", len(chosen))
        if soon
        else ngettext(
            "when %(n)s has ended, none within 90 days",
            "when all %(n)s have ended, none within 90 days",
            len(chosen),
        )
    )
    more = [amount(one["after_expiry"]["monthly_increase"]) for one in chosen]
    currency = first["currency"] or ""
    known = [m for m in more if m is not None]
    same = {one["currency"] or "" for one in chosen} <= {currency}
    value = (
        fmt.money(sum(known, Decimal(0)), currency, decimals=2, sign=True)
        if len(known) == len(more) and same
        else fmt.UNKNOWN
    )
    found.append(Kpi(_("After they end, a month"), value, note % {"n": len(chosen)}))
    return found


def what_of(one: dict[str, Any]) -> str:
    """`2 × c5.large Linux/UNIX`; `Compute savings plan $1.50/h`."""
    if one["kind"] == "savings-plan":
        names = {
            "compute": _("Compute savings plan"),
            "ec2-instance": _("EC2 instance savings plan"),
            "sagemaker": _("SageMaker savings plan"),
            "database": _("Database savings plan"),
        }
        name = names.get(one["plan"] or "", _("Savings plan"))
        rate = amount(one["commitment_per_hour"])
        price = "" if rate is None else f"{fmt.money(rate, one['currency'] or '', decimals=2)}/h"
        return " ".join(part for part in (name, one["family"] or "", price) if part)
    count = f"{one['count']} × " if one["count"] else ""
    name = " ".join(part for part in (one["type"], one["platform"]) if part)
    return f"{count}{name}" if name else one["short_id"]


def lines(document: dict[str, Any], at: datetime) -> list[Line]:
    """The rows; accounts are named where there are several."""
    several = len({one["account"] for one in document["commitments"]}) > 1
    return [_line(one, at, several=several) for one in document["commitments"]]


def _line(one: dict[str, Any], at: datetime, *, several: bool) -> Line:
    """The row of one commitment."""
    end = None if one["end"] is None else datetime.fromisoformat(one["end"])
    kind, word = STATES.get(one["state"], ("unknown", one["state"]))
    left = None if end is None else end - at
    soon = left is not None and timedelta(0) < left <= timedelta(days=SOON_DAYS)
    used = one["utilisation_pct"]
    after = one["after_expiry"]
    hours = one["reserved_hours"] is not None
    return Line(
        what=what_of(one),
        id_short=one["short_id"],
        account=(one["account"] or "") if several else "",
        where=one["zone"] or one["region"] or (_("any region") if one["kind"] == "savings-plan" else ""),
        ends=fmt.UNKNOWN if end is None else fmt.day(end, UTC, lang(), year=True),
        left="" if left is None or left <= timedelta(0) else _hours_left(one["hours_left"]),
        soon=soon,
        used=fmt.percent(used, lang()),
        width=f"{min(used or 0.0, 100.0):.1f}",
        idle=_idle(one, hours=hours),
        idle_cost=fmt.number(amount(one["idle_cost"]), 2),
        hourly=fmt.hourly(amount(one["effective_hourly"])),
        others=_others(one),
        after=fmt.number(amount(after["monthly_increase"]), 2, sign=True) if after else fmt.UNKNOWN,
        kind=kind,
        word=str(word),
        notes=tuple(contradiction(c, one["currency"] or "") for c in one["contradictions"]),
    )


def _hours_left(hours: float | None) -> str:
    if hours is None:
        return ""
    days = int(hours // HOURS_A_DAY)
    return ngettext("%(days)s day, %(hours)s h", "%(days)s days, %(hours)s h", days) % {
        "days": fmt.number(days),
        "hours": fmt.number(Decimal(str(hours))),
    }


def _idle(one: dict[str, Any], *, hours: bool) -> str:
    idle = amount(one["idle_hours"])
    if idle is None or not hours:
        return ""
    return _("%(idle)s of %(all)s h idle") % {
        "idle": fmt.hours(idle),
        "all": fmt.hours(amount(one["reserved_hours"])),
    }


def _others(one: dict[str, Any]) -> str:
    """Prices of the same hour otherwise."""
    parts = []
    if one["on_demand_hourly"] is not None:
        parts.append(_("on demand %(price)s") % {"price": fmt.hourly(amount(one["on_demand_hourly"]))})
    if one["spot_hourly"] is not None:
        parts.append(_("Spot %(price)s") % {"price": fmt.hourly(amount(one["spot_hourly"]))})
    return " · ".join(parts)


def contradiction(found: dict[str, Any], currency: str = "") -> str:
    """Where bill and interface differ, or the bill's fee line and its own hours."""
    field, _space, month = found["field"].partition(" ")
    if field == IDLE:
        return _("unused hours of %(month)s: the fee line says %(bill)s, the hours of the bill %(api)s") % {
            "month": month_word(date.fromisoformat(f"{month}-01")),
            "bill": fmt.hours(found["bill"]),
            "api": fmt.hours(found["api"]),
        }
    said = {name: _value(field, found[name], currency) for name in ("bill", "api")}
    return _("%(field)s: the bill says %(bill)s, the provider's interface %(api)s") % {
        "field": field_words(field),
        **said,
    }


def _value(field: str, text: str, currency: str) -> str:
    """A value of a commitment in words."""
    if field in ("start", "end"):
        return fmt.moment(datetime.fromisoformat(text), UTC, lang(), year=True)
    if field in ("fixed", "hourly", "commitment_per_hour"):
        return f"{text} {currency}".rstrip()
    words: dict[str, Any] = {**PAYMENTS, **CLASSES}
    return str(words.get(text, text))


@dataclass(frozen=True)
class StepLine:
    """One step of the ladder."""

    when: str
    count: int
    names: str
    on_demand: str
    increase: str
    not_known: int


def ladder_lines(document: dict[str, Any]) -> list[StepLine]:
    """The steps that hold a commitment."""
    names = {one["id"]: what_of(one) for one in document["commitments"]}
    found, before = [], 0
    for step in document["expiry"]:
        within = step["within_days"]
        if within is None:
            when = _("after %(days)s days") % {"days": before}
        elif not before:
            when = _("within %(days)s days") % {"days": within}
        else:
            when = _("%(first)s to %(last)s days") % {"first": before, "last": within}
        before = within or before
        if step["commitments"]:
            found.append(
                StepLine(
                    when,
                    len(step["commitments"]),
                    ", ".join(names[name] for name in step["commitments"]),
                    _sums(step["monthly_on_demand"]),
                    _sums(step["monthly_increase"], sign=True),
                    step["not_known"],
                )
            )
    return found


def _sums(sums: dict[str, str], *, sign: bool = False) -> str:
    words = [
        fmt.money(amount(value), currency, decimals=2, sign=sign) for currency, value in sorted(sums.items())
    ]
    return ", ".join(words) or fmt.UNKNOWN


def alert_words(one: dict[str, Any], at: datetime) -> str:
    """`1 × t2.micro ends on 3 Apr 2019, in 29 days: $2.41 more a month on demand.`"""
    end = datetime.fromisoformat(one["end"])
    values = {
        "what": one["what"],
        "day": fmt.day(end, UTC, lang(), year=True),
        "days": fmt.duration(end - at, lang()),
    }
    more = amount(one["monthly_increase"])
    if more is None:
        return _("%(what)s ends on %(day)s, in %(days)s.") % values
    values["more"] = fmt.money(abs(more), one["currency"] or "", decimals=2)
    if more < 0:
        return _("%(what)s ends on %(day)s, in %(days)s: %(more)s less a month.") % values
    return _("%(what)s ends on %(day)s, in %(days)s: %(more)s more a month on demand.") % values


def grain_of(document: dict[str, Any]) -> str:
    """How fine the bill's lines are."""
    grains = {
        "hour": _("Hourly bill lines"),
        "day": _("Daily bill lines, spread over their hours"),
        "month": _("Monthly bill lines, spread over their hours"),
    }
    return grains[document["coverage_total"]["grain"]]


def source_counts(rows: Sequence[dict[str, Any]]) -> list[tuple[str, int]]:
    """How many fields each source told, over all commitments."""
    counts: dict[str, int] = {}
    for one in rows:
        for source in one["sources"].values():
            counts[source] = counts.get(source, 0) + 1
    return [
        (str(SOURCE_WORDS[source]), counts[source])
        for source in ("bill", "api", "bill+api")
        if source in counts
    ]
