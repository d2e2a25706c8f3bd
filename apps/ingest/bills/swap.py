"""Staged deliveries into the lake: lines and daily sums of a period change at once, then the rows that tell.

The caller holds the import lock. Order: daily sums written, lines committed, daily sums committed, then one
database transaction with the run row (which names the snapshots), the deliveries and their parts. Readers go
by the run row, so they see all of it or nothing; what a killed process committed is undone by
`lake_reconcile`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import duckdb
from django.db import transaction
from django.db.models import Q
from pyiceberg.expressions import BooleanExpression

from apps.billing.models import BillReport, Delivery, DeliveryPart, DeliveryState
from apps.billing.selectors.expected import expected_of
from apps.ingest.bills.kinds import BY_NAME, GIVE_WAY
from apps.ingest.bills.own_totals import of_month
from apps.ingest.bills.staged import Staged
from apps.ingest.bills.totals import Totals, as_text, checks, ends_early, final_of, totals_of
from finops.engine.reconciliation import reconcile
from finops.frames.focus import BASES
from finops.lake import BILL_DAILY, BILL_LINES, Lake
from finops.lake.bill_tables import DAILY_DIMENSIONS, DAILY_SUMS
from finops.lake.filters import all_of, any_of, equals
from finops.lake.sql import name, quote
from finops.providers.bills import plain

_PARTS_PER_INSERT = 2_000
NET_COLUMN = plain("lineItem/NetUnblendedCost")


@dataclass
class Decided:
    """A staged delivery with its sums, and what becomes of it: current, or late behind `current_id`."""

    staged: Staged
    totals: Totals
    state: str
    overlaps: list[int] = field(default_factory=list)
    replaced: list[int] = field(default_factory=list)


def decide(con: duckdb.DuckDBPyConnection, staged: Sequence[Staged]) -> list[Decided]:
    """Oldest first: the newest of each report and period becomes current, if no newer one is already."""
    decided: list[Decided] = []
    newest: dict[tuple[int, Any], Decided] = {}
    for one in sorted(staged, key=lambda s: s.delivered_at):
        found = Decided(one, totals_of(con, one.lake_files), DeliveryState.CURRENT)
        same = Delivery.objects.filter(
            report_id=one.report, billing_period=one.identity.period, state=DeliveryState.CURRENT
        )
        rivals = _rivals(one)
        current = same.first()
        if (current is not None and current.delivered_at > one.delivered_at) or (
            one.kind in GIVE_WAY and rivals.exclude(kind__in=GIVE_WAY).exists()
        ):
            found.state = DeliveryState.LATE
        else:
            found.replaced = list(same.values_list("pk", flat=True))
            if one.kind not in GIVE_WAY:
                found.replaced += rivals.filter(kind__in=GIVE_WAY).values_list("pk", flat=True)
            earlier = newest.get((one.report, one.identity.period))
            if earlier is not None:
                earlier.state = DeliveryState.SUPERSEDED
            newest[one.report, one.identity.period] = found
            found.overlaps = _reports(rivals.exclude(kind__in=GIVE_WAY))
        decided.append(found)
    return decided


def _reports(rivals: Any) -> list[int]:
    return list(rivals.values_list("report_id", flat=True).distinct())


def _rivals(one: Staged) -> Any:
    """Current deliveries of the same payer and period in other reports that the same people see."""
    report = BillReport.objects.get(pk=one.report)
    seen = Q(report__organisation=report.organisation_id) | Q(report__organisation__isnull=True)
    return Delivery.objects.filter(
        seen,
        report__provider=report.provider,
        report__payer=report.payer,
        billing_period=one.identity.period,
        state=DeliveryState.CURRENT,
    ).exclude(report_id=one.report)


def commit(con: duckdb.DuckDBPyConnection, lake: Lake, decided: Sequence[Decided]) -> dict[str, int]:
    """Both tables; returns the new snapshot ids, {} where nothing becomes current."""
    current = [d for d in decided if d.state == DeliveryState.CURRENT]
    for other in decided:
        if other.state != DeliveryState.CURRENT:
            other.staged.discard()
    if not current:
        return {}
    gone = [_partition(d.staged.report, f"{d.staged.identity.period:%Y-%m}") for d in current]
    replaced = Delivery.objects.filter(pk__in=[pk for d in current for pk in d.replaced])
    gone += [_partition(old.report_id, f"{old.billing_period:%Y-%m}") for old in replaced]
    delete = any_of(*gone)
    daily = [_write_daily(con, lake, d.staged) for d in current]
    lines = [file for d in current for file in d.staged.lake_files]
    try:
        return {
            BILL_LINES: lake.commit(BILL_LINES, lines, delete=delete),
            BILL_DAILY: lake.commit(BILL_DAILY, daily, delete=delete),
        }
    except BaseException:
        lake.discard_files(daily)
        raise


def _partition(report: int, month: str) -> BooleanExpression:
    return all_of(equals("x_report", str(report)), equals("x_month", month))


def _write_daily(con: duckdb.DuckDBPyConnection, lake: Lake, staged: Staged) -> str:
    files = ", ".join(quote(f) for f in staged.lake_files)
    dimensions = ", ".join(name(c) for c in ("x_report", "x_month", "x_delivery", *DAILY_DIMENSIONS))
    sums = ", ".join(f"sum({name(c)}) AS {name(c)}" for c in DAILY_SUMS)
    # In no order: sorting takes a third of the time, and all of a month is one partition anyway.
    sql = f"SELECT {dimensions}, {sums}, count(*) AS x_rows FROM read_parquet([{files}]) GROUP BY ALL"
    key = (str(staged.report), f"{staged.identity.period:%Y-%m}")
    [path] = lake.write_parts(con, BILL_DAILY, {key: sql})
    return path


def record(
    decided: Sequence[Decided],
    *,
    run_id: int,
    expected: dict[str, Decimal] | None,
    also: Callable[[], None],
) -> list[Delivery]:
    """The deliveries with their sums; `also` writes the run row in the same transaction."""
    with transaction.atomic():
        made = []
        for one in decided:
            Delivery.objects.filter(pk__in=one.replaced, state=DeliveryState.CURRENT).update(
                state=DeliveryState.SUPERSEDED
            )
        for one in decided:
            made.append(_store(one, run_id=run_id, expected=expected))
        also()
    return made


def _store(one: Decided, *, run_id: int, expected: dict[str, Decimal] | None) -> Delivery:
    staged, totals = one.staged, one.totals
    report = BillReport.objects.select_related("organisation").get(pk=staged.report)
    given = of_month(expected or {}, staged.identity.period)
    expected = given or expected_of(report, staged.identity.period)
    billed = {currency: sums["billed"] for currency, sums in totals.by_currency.items()}
    reconciled, difference = reconcile(billed, expected)
    notes = [note for part in staged.parts for note in part.notes] + totals.notes
    notes += checks(totals, has_net_columns=NET_COLUMN in map(plain, staged.columns))
    notes += staged.doubts + ends_early(totals, staged.identity.period, staged.delivered_at)
    if one.overlaps:
        notes.append({"code": "overlap", "reports": one.overlaps})
    delivery = Delivery.objects.create(
        pk=staged.delivery,
        report_id=staged.report,
        billing_period=staged.identity.period,
        kind=staged.kind,
        state=one.state,
        assembly=staged.assembly[:300],
        delivered_at=staged.delivered_at,
        content_hash=staged.content_hash,
        files=staged.files,
        columns=staged.columns,
        tag_keys=staged.tag_keys,
        final=final_of(totals, staged.identity.period, doubted=bool(staged.doubts)),
        stopgap=BY_NAME[staged.kind].stopgap,
        run_id=run_id,
        rows_read=staged.rows_read,
        stored=staged.rows_read - staged.rejected,
        rejected=staged.rejected,
        first_day=totals.first_day,
        last_day=totals.last_day,
        totals=as_text(totals.by_currency),
        by_line_item_type=as_text(totals.by_type),
        notes=notes,
        expected=as_text(expected) if expected else None,
        reconciled=reconciled,
        difference=as_text(difference) if difference is not None else None,
    )
    DeliveryPart.objects.bulk_create(
        (
            DeliveryPart(
                delivery=delivery,
                service=service[:300],
                account=account[:200],
                charge_category=category[:40],
                currency=currency[:10],
                rows=rows,
                **dict(zip(BASES, sums, strict=True)),
            )
            for service, account, category, currency, rows, *sums in totals.parts
        ),
        batch_size=_PARTS_PER_INSERT,
    )
    return delivery
