"""Exact answers about one series: its prices, what a run costs, its week."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from django.utils import timezone
from django.utils.translation import gettext as _

from apps.ingest.selectors import current_snapshots
from apps.prices.selectors.books import loaded_book
from apps.prices.selectors.directory import directory
from apps.prices.selectors.exact import ExactSeries, exact_series
from apps.recommendations.services.document import Document, decimal_text, evidence, iso, rounded
from apps.recommendations.services.question import (
    check_product,
    check_provider,
    check_regions,
    check_types,
    resolve_zone,
)
from finops.engine.calendar import zone_of
from finops.engine.profile import profile
from finops.engine.series import (
    exact_cost,
    from_us,
    known_parts,
    price_standing,
    time_weighted_mean,
    to_us,
)
from finops.engine.workload import WorkloadError
from finops.frames.billed_time import increment_of

MEAN_DIGITS = Decimal("0.0000000001")


def _series(
    at: datetime | None, snapshots: Mapping[str, int], *, provider: str, region: str, type: str, zone: str,
    product: str,
) -> ExactSeries:  # fmt: skip
    check_provider(provider)
    known = directory(provider=provider, snapshots=snapshots, naming=(region, type, zone))
    check_regions([region], known, provider, "region")
    check_types([type], known, provider, "type")
    check_product(product, known)
    zone_key = resolve_zone(zone, [region], known, "zone")
    try:
        series = exact_series(
            provider=provider,
            region=region,
            instance_type=type,
            zone_key=zone_key,
            product=product,
            snapshots=snapshots,
        )
    except ValueError as error:
        raise WorkloadError("currency", str(error)) from error
    return series.until(to_us(at or timezone.now()))


def _moment(at: datetime | None) -> datetime:
    return at or timezone.now().replace(microsecond=0)


def price_history(
    *,
    region: str,
    type: str,
    zone: str,
    product: str,
    provider: str = "aws",
    start: datetime | None = None,
    end: datetime | None = None,
    at: datetime | None = None,
    snapshots: Mapping[str, int] | None = None,
) -> Document:
    """Change points in [start, end), the price standing at `start`, and the mean over the known part.

    `start` and `end` default to the known time of the series. Each price weighs as long as it stood.
    """
    chosen = dict(current_snapshots() if snapshots is None else snapshots)
    series = _series(at, chosen, provider=provider, region=region, type=type, zone=zone, product=product)
    low = to_us(start) if start else (series.known[0][0] if series.known else 0)
    high = to_us(end) if end else (series.known[-1][1] if series.known else low)
    if (start or end) and high <= low:
        raise WorkloadError("to", _("The window must end after it starts."))
    mean, reason, parts = None, "", []
    if high > low:
        answer = time_weighted_mean(series.times, series.prices, series.known, start_us=low, end_us=high)
        mean, reason = answer.value, answer.reason
        parts = known_parts(series.times, series.known, start_us=low, end_us=high)
    opening = price_standing(series.times, series.prices, series.known, low) if series.times else None
    return {
        "changes": [
            {"at": iso(from_us(moment)), "price": decimal_text(price)}
            for moment, price in series.inside(low, max(high, low + 1))
        ],
        "opening_price": decimal_text(opening),
        "time_weighted_mean": None if mean is None else decimal_text(mean.quantize(MEAN_DIGITS)),
        "reason": reason or None,
        "known": [[iso(from_us(a)), iso(from_us(b))] for a, b in parts],
        "currency": series.currency,
        "unit": "instance-hour",
        "evidence": evidence(chosen, _moment(at), later_prices=False),
    }


def run_cost(
    *,
    region: str,
    type: str,
    zone: str,
    product: str,
    start: datetime,
    hours: Decimal,
    count: int = 1,
    provider: str = "aws",
    at: datetime | None = None,
    snapshots: Mapping[str, int] | None = None,
) -> Document:
    """Exact cost of `count` instances for `hours` from `start`; unknown (null) when a part has no price.

    Each instance is one start: it is billed in the provider's increments and for its least time.
    """
    if not hours.is_finite() or hours <= 0:
        raise WorkloadError("hours", _("Hours must be above 0."))
    if count < 1:
        raise WorkloadError("count", _("The number of instances must be 1 or more."))
    chosen = dict(current_snapshots() if snapshots is None else snapshots)
    series = _series(at, chosen, provider=provider, region=region, type=type, zone=zone, product=product)
    begin = to_us(start)
    end = begin + int((hours * 3_600_000_000).to_integral_value())
    counted = increment_of(provider, product)
    billed = counted.billed_us(end - begin) if counted else end - begin
    answer = exact_cost(
        series.times, series.prices, series.known, start_us=begin, end_us=end, count=count, billed_us=billed
    )
    value = answer.value
    return {
        "cost": None if value is None else decimal_text(value.normalize()),
        "known": value is not None,
        "reason": answer.reason or None,
        "currency": series.currency,
        "billed_seconds": decimal_text(Decimal(billed) / 1_000_000),
        "counted": counted.document() if counted else None,
        "evidence": evidence(chosen, _moment(at), later_prices=False),
    }


def price_profile(
    *,
    region: str,
    type: str,
    product: str,
    timezone: str = "UTC",
    zone: str = "",
    days: int = 28,
    provider: str = "aws",
    at: datetime | None = None,
    snapshots: Mapping[str, int] | None = None,
) -> Document:
    """Price by hour of the local week relative to its own week, with 90 % intervals and a verdict.

    All zones of the region together unless `zone` is given. `at` defaults to now, or the end of the known
    time where that is earlier.
    """
    chosen = dict(current_snapshots() if snapshots is None else snapshots)
    if days < 1 or days > 400:
        raise WorkloadError("days", _("Days must be between 1 and 400."))
    try:
        zone_of(timezone)
    except ValueError as error:
        raise WorkloadError("timezone", _("Unknown time zone. Write it as Europe/Berlin.")) from error
    check_provider(provider)
    known = directory(provider=provider, snapshots=chosen, naming=(region, type, zone or ""))
    check_regions([region], known, provider, "region")
    check_types([type], known, provider, "type")
    check_product(product, known)
    book = loaded_book(
        provider=provider, regions=[region], types=[type], product=product, snapshots=chosen
    ).book
    if zone:
        key = resolve_zone(zone, [region], known, "zone")
        book = book.select([i for i, series in enumerate(book.keys) if series.zone == key])
    end = to_us(_moment(at))
    if at is None and len(book.known_to):
        end = min(end, int(book.known_to.max()))
    found = profile(book, end_us=end, days=days, zone=timezone)
    return {
        "hours": [
            {
                "hour_of_week": hour.hour_of_week,
                "relative": rounded(hour.relative),
                "low": rounded(hour.low),
                "high": rounded(hour.high),
                "seconds_observed": rounded(hour.seconds_observed),
            }
            for hour in found.hours
        ],
        "verdict": found.verdict,
        "sentence": _(found.sentence.template) % found.sentence.values,
        "timezone": timezone,
        "basis": found.basis,
        "series": found.series,
        "weeks": found.weeks,
        "p_value": rounded(found.p_value),
        "swing": rounded(found.swing),
        "off_peak": _plain(asdict(found.off_peak)) if found.off_peak else None,
        "from": iso(from_us(found.start_us)),
        "to": iso(from_us(found.end_us)),
        "evidence": evidence(chosen, from_us(end), later_prices=False),
    }


def _plain(values: dict[str, Any]) -> dict[str, Any]:
    return {
        name: value.total_seconds()
        if isinstance(value, timedelta)
        else getattr(value, "item", lambda v=value: v)()
        for name, value in values.items()
    }
