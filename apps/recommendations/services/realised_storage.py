"""What a move of storage saved: the bytes that the bill shows, at what a GiB-month of the bucket cost before,
less what the bucket cost.

A bill names buckets, not prefixes, so that a month is the whole bucket's; where several rows of one bucket
are accepted, each has the part of the difference that it has of the savings promised for the month. The cost
is amortised and holds storage, requests, retrieval, monitoring, transitions and early deletion; transfer out
of the cloud is not in it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

from django.utils.translation import gettext_noop as noop

from apps.accounts.models import Organisation
from apps.billing.selectors.spend_reading import connect, report_ids
from apps.ingest.selectors import current_snapshots
from apps.recommendations.kinds import RealisedMonth
from apps.recommendations.models import Recommendation
from apps.recommendations.selectors.inbox import HOLDING
from apps.recommendations.services.bill_months import month_state
from apps.recommendations.services.realised import NO_BILL, claim_months, promised
from finops.engine.spend import Window, next_month
from finops.engine.storage.bill import StorageError
from finops.engine.storage.listing import gib_months
from finops.lake import BILL_LINES

NO_BASIS = noop("No bill before acceptance names this bucket: what it would have cost is not known.")
NOT_NAMED = noop("No line of this month names the bucket: the export needs resource ids.")
NO_COST = noop("Lines of the bucket have no effective cost.")
UNIT = noop("A line of stored bytes has a unit that is not known.")
OTHER_CURRENCY = noop("The bill is in another currency than the recommendation.")
# The last months before acceptance that the price of a GiB-month is taken from.
BASIS_MONTHS = 2
_LINES = f"""
    SELECT strftime(timezone('UTC', charge_period_start), '%Y-%m'), x_usage_type, coalesce(x_unit, ''),
        billing_currency, sum(x_quantity), sum(effective_cost), count(*) - count(effective_cost)
    FROM {BILL_LINES}
    WHERE charge_period_start >= $start AND charge_period_start < $end
        AND x_product_code = 'AmazonS3' AND resource_id IN ($bucket, $arn)
        AND NOT contains(coalesce(x_usage_type, ''), 'DataTransfer')
    GROUP BY ALL ORDER BY ALL
"""  # noqa: S608 - the only name in it is a constant of this project
_COLUMNS = (
    "x_report", "x_month", "charge_period_start", "x_usage_type", "x_unit", "x_product_code", "resource_id",
    "billing_currency", "x_quantity", "effective_cost",
)  # fmt: skip
# Usage types of stored bytes; the rest are requests, retrieval and fees.
_STORED = "TimedStorage"


@dataclass(frozen=True, slots=True)
class BucketMonth:
    """A month of one bucket on the bill: GiB-months stored, cost, the lines without cost; `unit`: one could
    not be read.
    """

    gib_months: Decimal = Decimal(0)
    cost: Decimal = Decimal(0)
    currency: str = ""
    without_cost: int = 0
    unit: bool = False
    mixed: bool = False


def bucket_months(
    bucket: str,
    *,
    start: datetime,
    end: datetime,
    organisation: Organisation,
    snapshots: Mapping[str, int],
) -> dict[date, BucketMonth]:
    """What the bill shows for a bucket in [start, end), by calendar month (UTC)."""
    reports = report_ids(organisation)
    if not reports or BILL_LINES not in snapshots:
        return {}
    first = start.astimezone(UTC).date().replace(day=1)
    window = Window(first, next_month(end.astimezone(UTC).date().replace(day=1)))
    given: dict[str, Any] = {
        "start": start, "end": end, "bucket": bucket, "arn": f"arn:aws:s3:::{bucket}",
    }  # fmt: skip
    with connect(window, snapshots, reports, BILL_LINES, _COLUMNS) as con:
        rows: Sequence[tuple[Any, ...]] = con.execute(_LINES, given).fetchall()
    found: dict[date, list[tuple[Any, ...]]] = defaultdict(list)
    for row in rows:
        found[date.fromisoformat(f"{row[0]}-01")].append(row)
    return {month: _month(month, some) for month, some in found.items()}


def _month(month: date, rows: Sequence[tuple[Any, ...]]) -> BucketMonth:
    hours = Decimal((next_month(month) - month).days * 24)
    stored, unknown = Decimal(0), False
    for _text, usage, unit, _currency, quantity, _cost, _missing in rows:
        if _STORED not in (usage or "") or not quantity:
            continue
        try:
            stored += gib_months(quantity, unit, hours)
        except StorageError:
            unknown = True
    currencies = {row[3] or "" for row in rows}
    return BucketMonth(
        stored, sum((row[5] or Decimal(0) for row in rows), Decimal(0)), min(currencies),
        sum(row[6] for row in rows), unknown, len(currencies) > 1,
    )  # fmt: skip


def basis_of(row: Recommendation) -> dict[str, Any]:
    """Fixed at acceptance: cost and GiB-months of the bucket in the last whole months before it."""
    document = row.document
    at = datetime.fromisoformat(row.evidence["at"])
    this = at.astimezone(UTC).date().replace(day=1)
    first = (this - timedelta(days=1)).replace(day=1)
    for _more in range(BASIS_MONTHS - 1):
        first = (first - timedelta(days=1)).replace(day=1)
    months = bucket_months(
        document["bucket"], start=_midnight(first), end=_midnight(this), organisation=row.organisation,
        snapshots=current_snapshots(),
    )  # fmt: skip
    sound = {
        month: one
        for month, one in months.items()
        if one.gib_months > 0 and not (one.unit or one.mixed or one.without_cost)
    }
    return {
        "bucket": document["bucket"],
        "prefix": document["prefix"],
        "months": sorted(month.isoformat() for month in sound),
        "gib_months": str(sum((one.gib_months for one in sound.values()), Decimal(0))),
        "cost": str(sum((one.cost for one in sound.values()), Decimal(0))),
        "currency": next(iter({one.currency for one in sound.values()}), ""),
    }


def realised(
    row: Recommendation, organisation: Organisation, now: datetime
) -> Sequence[RealisedMonth] | None:
    """The months of an accepted row."""
    basis = (row.counterfactual or {}).get("basis") or {}
    snapshots = current_snapshots()
    evidence = {"snapshots": {table: str(number) for table, number in sorted(snapshots.items())}}
    months = list(claim_months(row, now))
    if not months:
        return []
    found = bucket_months(
        basis["bucket"], start=months[0][1], end=months[-1][2], organisation=organisation, snapshots=snapshots
    )
    answers = []
    for month, _low, _high in months:
        state = month_state(month, organisation=organisation, now=now)
        if not state.delivered:
            answers.append(RealisedMonth(month, None, None, reason=NO_BILL))
            continue
        share = _share(row, month)
        would, did, reason = _sides(basis, found.get(month), row.currency, share)
        told = evidence | {"share_of_bucket": str(share)}
        answers.append(RealisedMonth(month, would, did, state.closed and not reason, reason, told))
    return answers


def _sides(
    basis: Mapping[str, Any], month: BucketMonth | None, currency: str, share: Decimal
) -> tuple[Decimal | None, Decimal | None, str]:
    """Counterfactual, actual, and why they are not known."""
    before = Decimal(basis.get("gib_months") or 0)
    if before <= 0:
        return None, None, NO_BASIS
    if month is None or not month.cost:
        return None, None, NOT_NAMED
    if month.mixed or currency not in (month.currency, "") or basis["currency"] != month.currency:
        return None, None, OTHER_CURRENCY
    if month.without_cost:
        return None, None, NO_COST
    if month.unit:
        return None, None, UNIT
    would = month.gib_months * Decimal(basis["cost"]) / before
    return would * share, month.cost * share, ""


def _share(row: Recommendation, month: date) -> Decimal:
    """The row's part of what all accepted rows of its bucket promise for the month."""
    rows = Recommendation.objects.filter(
        organisation=row.organisation_id, kind=row.kind, state__in=HOLDING,
        subject__startswith=f"storage:{row.document['provider']}:{row.document['bucket']}:",
    )  # fmt: skip
    parts = {one.pk: promised(one, month) for one in rows}
    whole = sum(parts.values(), Decimal(0))
    mine = parts.get(row.pk, Decimal(0))
    return (mine / whole).quantize(Decimal("0.000001")) if whole else Decimal(1)


def _midnight(day: date) -> datetime:
    return datetime(day.year, day.month, day.day, tzinfo=UTC)
