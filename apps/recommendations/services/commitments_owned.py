"""Own commitments: the document of `commitments`, of `GET /api/v1/commitments` and of the page."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

from django.utils import timezone
from django.utils.translation import gettext as _

from apps.accounts.models import Organisation
from apps.billing.models import CommitmentAlert
from apps.billing.selectors.commitment_lines import bill_months, commitment_lines
from apps.billing.selectors.commitment_months import MonthUse, midnight
from apps.billing.selectors.commitments import Standing, standings
from apps.ingest.selectors import current_snapshots
from apps.recommendations.services.commitments_bill import bill_use
from apps.recommendations.services.commitments_coverage import LOOKBACK_DAYS, coverage_rows, coverage_total
from apps.recommendations.services.commitments_rates import OtherRates, other_rates
from apps.recommendations.services.document import (
    Document,
    check_moment,
    decimal_text,
    evidence,
    iso,
    rounded,
)
from finops.engine.commitments.terms import hours_between, hours_left
from finops.engine.commitments.utilisation import Ending, ladder
from finops.engine.workload import WorkloadError

MONTH_HOURS = 730
# Months of history that a commitment's own table shows.
MONTHS_SHOWN = 13
DIGITS = Decimal("0.00000001")


@dataclass(frozen=True)
class Owned:
    """Everything behind the document, for the page, alerts and deals: commitments at `at`, the billing month
    that is judged, prices beside them.
    """

    at: datetime
    month: date | None
    start: datetime
    end: datetime
    found: tuple[Standing, ...]
    rates: Mapping[str, OtherRates]
    snapshots: Mapping[str, int]


def owned_at(
    *,
    at: datetime,
    organisation: Organisation | None,
    snapshots: Mapping[str, int],
    billing_period: date | None = None,
) -> Owned:
    """Commitments that have not ended before the billing month that is judged: that of `at`, else the newest
    one with a bill before it, or `billing_period`. Nothing after `at` is looked at.

    Raises WorkloadError (field, message).
    """
    check_moment(at)
    months = bill_months(organisation=organisation, before=at)
    if billing_period is not None:
        if billing_period not in months:
            raise WorkloadError(
                "billing_period",
                _("There is no bill of %(month)s that begins before the decision time.")
                % {"month": f"{billing_period:%Y-%m}"},
            )
        months = [month for month in months if month <= billing_period]
    lines = commitment_lines(
        organisation=organisation, months=months[-MONTHS_SHOWN:], cut=at, snapshots=snapshots
    )
    month = months[-1] if months else None
    begin = midnight(month) if month else at
    found = [
        one for one in standings(organisation=organisation, lines=lines, at=at) if _counts(one, month, begin)
    ]
    end = max((use.end for one in found if (use := month_of(one, month)) is not None), default=at)
    rates = other_rates(found, at=at, start=begin, end=end, snapshots=snapshots)
    return Owned(at, month, begin, end, tuple(found), rates, snapshots)


def _counts(one: Standing, month: date | None, begin: datetime) -> bool:
    """Whether it belongs to the answer: used or billed in the month, or not ended before it."""
    if month_of(one, month) is not None:
        return True
    return one.row is not None and one.end is not None and one.end > begin


def month_of(one: Standing, month: date | None) -> MonthUse | None:
    """The judged month of a commitment; None where no line names it there."""
    return next((use for use in one.months if use.month == month), None)


def commitments(
    *,
    at: datetime | None = None,
    organisation: Organisation | None = None,
    snapshots: Mapping[str, int] | None = None,
    billing_period: date | None = None,
) -> Document:
    """The document; keys are a contract. Raises WorkloadError (field, message)."""
    moment = (at or timezone.now()).astimezone(UTC)
    chosen = dict(current_snapshots() if snapshots is None else snapshots)
    own = owned_at(at=moment, organisation=organisation, snapshots=chosen, billing_period=billing_period)
    whole_hour = min(own.end if own.month else moment, moment).replace(minute=0, second=0, microsecond=0)
    use = bill_use(
        organisation=organisation,
        start=whole_hour - timedelta(days=LOOKBACK_DAYS),
        hours=24 * LOOKBACK_DAYS,
        snapshots=chosen,
    )
    rows = coverage_rows(use)
    endings = [ending for one in own.found if (ending := ending_of(one, own)) is not None]
    return {
        "commitments": [commitment_document(one, own) for one in own.found],
        "total": _totals(own),
        "coverage": rows,
        "coverage_total": coverage_total(rows, use),
        "expiry": [
            {
                "within_days": step.within_days,
                "commitments": list(step.ids),
                "monthly_on_demand": _texts(step.monthly_on_demand),
                "monthly_increase": _texts(step.increase),
                "not_known": step.unknown,
            }
            for step in ladder(endings, moment)
        ],
        "alerts": _alerts(organisation, moment),
        "period": {"from": iso(own.start), "to": iso(own.end)} if own.month else None,
        "billing_period": f"{own.month:%Y-%m}" if own.month else None,
        "evidence": evidence(
            chosen,
            moment,
            later_prices=any(r.later_prices for r in own.rates.values()) if own.rates else None,
            coverage_days=LOOKBACK_DAYS,
            coverage_from=iso(use.coverage.demand.start),
            coverage_to=iso(use.coverage.demand.end),
            price_lists=sorted({iso(r.listed_on) for r in own.rates.values() if r.listed_on is not None}),
            seen_later=any(one.row is not None and one.row.first_seen_at > moment for one in own.found),
        ),
    }


def commitment_document(one: Standing, own: Owned) -> Document:
    """One commitment. Null has its reason in `reasons`."""
    values, use = one.values, month_of(one, own.month)
    reasons = dict(own.rates[one.id].reasons)
    if use is None:
        reasons["utilisation_pct"] = _("No bill line of this period names it.")
    if one.end is None:
        reasons["end"] = _("Neither the bill nor the provider's interface says when it ends.")
    return {
        "id": one.name or one.id,
        "short_id": one.id,
        "kind": one.kind,
        "provider": one.provider,
        "service": one.service or None,
        "account": values["account"],
        "region": values["region"],
        "zone": values["zone"],
        "type": values["instance_type"],
        "platform": values["platform"],
        "tenancy": values["tenancy"],
        "plan": values["plan"],
        "family": values["family"],
        "offering_class": values["offering_class"],
        "payment": values["payment"],
        "count": values["count"],
        "commitment_per_hour": decimal_text(_digits(values["commitment_per_hour"])),
        "fixed": decimal_text(values["fixed"]),
        "hourly": decimal_text(_digits(values["hourly"])),
        "currency": values["currency"],
        "state": one.state,
        "start": None if one.start is None else iso(one.start),
        "end": None if one.end is None else iso(one.end),
        "hours_left": _hours_left(one, own.at),
        **_use(use),
        **_rates(one, use, own.rates[one.id]),
        "effective_hourly": decimal_text(_digits(_hourly(one, use))),
        "after_expiry": _after(one, own),
        "months": [{"billing_period": f"{m.month:%Y-%m}", **_use(m)} for m in one.months],
        "sources": dict(one.sources),
        "contradictions": [
            {"field": c.field, "bill": _told(c.bill), "api": _told(c.api)} for c in one.contradictions
        ],
        "seen": None
        if one.row is None
        else {
            "first": iso(one.row.first_seen_at),
            "last": iso(one.row.seen_at),
            "gone": None if one.row.gone_at is None else iso(one.row.gone_at),
        },
        "reasons": reasons,
    }


def _hours_left(one: Standing, at: datetime) -> float | None:
    if one.end is None:
        return None
    return rounded(float(hours_left(one.start or at, one.end, at)))


def _use(use: MonthUse | None) -> Document:
    """The month; of a savings plan hours are those that the money which nothing used would have bought."""
    if use is None:
        names = (
            "reserved_hours", "used_hours", "utilisation_pct", "idle_hours", "idle_cost", "cost",
            "committed", "used_commitment", "effective_hourly", "grain", "period",
        )  # fmt: skip
        return dict.fromkeys(names)
    hours = use.unit == "hour"
    share = use.utilisation
    idle = use.idle if hours else (use.idle / use.rate if use.rate else None)
    return {
        "reserved_hours": decimal_text(use.bought) if hours else None,
        "used_hours": decimal_text(use.used.quantize(Decimal("0.000001"))) if hours else None,
        "utilisation_pct": rounded(float(share * 100)) if share is not None else None,
        "idle_hours": decimal_text(None if idle is None else idle.quantize(Decimal("0.000001"))),
        "idle_cost": decimal_text(use.idle_cost),
        "cost": decimal_text(use.cost),
        "committed": None if hours else decimal_text(use.bought),
        "used_commitment": None if hours else decimal_text(use.used),
        "effective_hourly": decimal_text(_digits(use.rate)) if hours else None,
        "grain": use.grain,
        "period": {"from": iso(use.start), "to": iso(use.end), "whole": use.whole},
    }


def _rates(one: Standing, use: MonthUse | None, rates: OtherRates) -> Document:
    """What the covered use costs otherwise. Per instance-hour of the commitment's own size."""
    spot = rates.spot
    used_rate = use.cost / use.used if use is not None and use.unit == "hour" and use.used > 0 else None
    covered = None if use is None else use.list_cost
    saved = None if covered is None or use is None else covered - use.cost
    return {
        "effective_hourly_used": decimal_text(_digits(used_rate)),
        "on_demand_hourly": decimal_text(rates.on_demand),
        "effective_vs_on_demand_pct": _below(_hourly(one, use), rates.on_demand),
        "spot_hourly": None if spot is None else decimal_text(spot.cheapest),
        "spot_zone": None if spot is None else spot.zone,
        "spot_mean_hourly": None if spot is None else decimal_text(spot.mean),
        "spot_known_share": None if spot is None else rounded(spot.known_share),
        "effective_vs_spot_pct": _below(_hourly(one, use), None if spot is None else spot.cheapest),
        "covered_on_demand_cost": decimal_text(covered),
        "saved": decimal_text(saved),
    }


def _hourly(one: Standing, use: MonthUse | None) -> Decimal | None:
    """Amortised price of an hour of a reservation: as the bill amortises it, else by its own terms."""
    if use is not None:
        return use.rate if use.unit == "hour" else None
    fixed, hourly = one.values["fixed"], one.values["hourly"]
    if one.kind != "reserved" or None in (fixed, hourly, one.start, one.end):
        return None
    # A term of a year ends in the second before its anniversary.
    term = hours_between(one.start, one.end).to_integral_value()  # type: ignore[arg-type]
    return fixed / term + hourly if term else None


def _below(price: Decimal | None, other: Decimal | None) -> float | None:
    """How far the effective price of an hour bought lies below another price, in percent of that."""
    return rounded(float((1 - price / other) * 100)) if price is not None and other else None


def monthly(use: MonthUse | None) -> tuple[Decimal | None, Decimal | None]:
    """(on-demand cost of the use that is covered, cost of the commitment), each a month of 730 h."""
    if use is None or not use.hours:
        return None, None
    cost = (use.cost / use.hours * MONTH_HOURS).quantize(DIGITS)
    if use.list_cost is None:
        return None, cost
    return (use.list_cost / use.hours * MONTH_HOURS).quantize(DIGITS), cost


def ending_of(one: Standing, own: Owned) -> Ending | None:
    """Its place on the ladder; None where its end is not known or it is over."""
    if one.end is None or one.end <= own.at or one.state not in ("active", "payment-pending", "queued"):
        return None
    on_demand, cost = monthly(month_of(one, own.month))
    return Ending(one.name or one.id, one.end, on_demand, cost, str(one.values["currency"] or ""))


def _after(one: Standing, own: Owned) -> Document | None:
    ending = ending_of(one, own)
    if ending is None:
        return None
    use = month_of(one, own.month)
    return {
        "monthly_on_demand": decimal_text(ending.monthly_on_demand),
        "monthly_cost": decimal_text(ending.monthly_cost),
        "monthly_increase": decimal_text(ending.increase),
        "based_on_hours": None if use is None else decimal_text(use.hours),
        "reason": None
        if ending.monthly_on_demand is not None
        else _("No bill line tells what the covered use costs on demand."),
    }


def _totals(own: Owned) -> list[Document]:
    """Sums of the judged month, a row a currency; utilisation weighs by cost."""
    sums: dict[str, list[Decimal]] = {}
    for one in own.found:
        use = month_of(one, own.month)
        if use is not None:
            row = sums.setdefault(str(one.values["currency"] or ""), [Decimal(0)] * 4)
            parts = (use.cost, use.used_cost, use.idle_cost, use.list_cost or Decimal(0))
            sums[str(one.values["currency"] or "")] = [a + b for a, b in zip(row, parts, strict=True)]
    return [
        {
            "currency": currency,
            "cost": decimal_text(cost),
            "used_cost": decimal_text(used),
            "idle_cost": decimal_text(idle),
            "covered_on_demand_cost": decimal_text(listed),
            "utilisation_pct": rounded(float(used / cost * 100)) if cost else None,
        }
        for currency, (cost, used, idle, listed) in sorted(sums.items())
    ]


def _alerts(organisation: Organisation | None, at: datetime) -> list[Document]:
    if organisation is None:
        return []
    rows = CommitmentAlert.objects.filter(organisation=organisation, raised_at__lte=at, end__gt=at)
    return [
        {
            "id": row.pk,
            "commitment": row.commitment,
            "what": row.what,
            "end": iso(row.end),
            "days": row.days,
            "raised_at": iso(row.raised_at),
            "monthly_on_demand": decimal_text(row.monthly_on_demand),
            "monthly_increase": decimal_text(row.monthly_increase),
            "currency": row.currency or None,
        }
        for row in rows
    ]


def _texts(sums: Mapping[str, Decimal]) -> dict[str, str | None]:
    return {currency: decimal_text(amount) for currency, amount in sorted(sums.items())}


def _digits(value: Decimal | None) -> Decimal | None:
    return None if value is None else Decimal(value).quantize(DIGITS)


def _told(value: Any) -> str | None:
    if isinstance(value, datetime):
        return iso(value)
    if isinstance(value, Decimal):
        return decimal_text(value)
    return None if value is None else str(value)
