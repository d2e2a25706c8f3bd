"""What accepted recommendations really saved: counterfactual as fixed at acceptance less the later bill.

Each kind reads its own months from bills; here they are kept, month by month (calendar months, UTC), beside
what was promised. A month without a bill, or one that cannot be proved, has no number and says why.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import structlog
from django.db import transaction
from django.utils.translation import gettext_noop as noop

from apps.accounts.models import Organisation
from apps.ingest.selectors import current_snapshots
from apps.recommendations.kinds import RealisedMonth, kind_for
from apps.recommendations.models import InboxLook, RealisedSaving, Recommendation
from apps.recommendations.selectors.inbox import HOLDING
from finops.engine.spend import next_month
from finops.fingerprint import code_fingerprint
from finops.frames.money import EXACT

log = structlog.get_logger(__name__)

LOOK = "realised"
PLACES = Decimal("0.000001")
# Bills of a month arrive, and are corrected, for so long after a claim has ended.
AFTER = timedelta(days=62)
NO_BILL = noop("The bill of this month is not there yet.")
NOT_READ = noop("Bills do not tell what this kind saves.")


def realised_refresh(*, organisation: Organisation, now: datetime, again: bool = False) -> int:
    """Compute the months of the organisation's accepted recommendations; returns how many changed.

    The same bills, prices and rows on the same day are computed once; `again`: also then. A month that a kind
    no longer answers loses its number and never keeps an old one.
    """
    rows = list(
        Recommendation.objects.filter(
            organisation=organisation, state__in=HOLDING, claim_end__gt=now - AFTER
        ).order_by("pk")
    )
    seen = _seen(rows, now)
    look = InboxLook.objects.filter(organisation=organisation, kind=LOOK).first()
    if look is not None and look.seen == seen and not again:
        return 0
    changed, problems = 0, []
    for row in rows:
        try:
            changed += _row(row, organisation, now)
        except Exception as error:  # one row's trouble must not keep the others from being computed
            log.exception("realised_failed", recommendation=row.pk)
            problems.append({"name": str(row.pk), "reason": type(error).__name__})
    InboxLook.objects.update_or_create(
        organisation=organisation,
        kind=LOOK,
        defaults={
            "at": now, "seen": "" if problems else seen, "looked": len(rows), "problems": problems,
            "found": len(rows) - len(problems),
        },
    )  # fmt: skip
    return changed


def realised_all(*, now: datetime) -> int:
    """Do so for every organisation that has accepted something; returns how many months changed."""
    holders = Recommendation.objects.filter(state__in=HOLDING).order_by("organisation")
    organisations = Organisation.objects.filter(
        pk__in=holders.values_list("organisation", flat=True).distinct()
    )
    return sum(realised_refresh(organisation=one, now=now) for one in organisations.order_by("pk"))


def claim_months(row: Recommendation, now: datetime) -> Iterator[tuple[date, datetime, datetime]]:
    """Months from acceptance to the end of the claim or `now`: the month, and its part that counts."""
    start, end = max(row.accepted_at or row.claim_start, row.claim_start), min(row.claim_end, now)
    month = start.astimezone(UTC).date().replace(day=1)
    while (begin := _midnight(month)) < end:
        following = next_month(month)
        low, high = max(start, begin), min(end, _midnight(following))
        if low < high:
            yield month, low, high
        month = following


def promised(row: Recommendation, month: date) -> Decimal:
    """The part of the saving, as accepted, that falls into a month: by time, evenly over the claim."""
    fixed = row.counterfactual or {}
    saving = Decimal(fixed.get("saving", "0"))
    begin, end = (datetime.fromisoformat(fixed[name]) for name in ("claim_start", "claim_end"))
    low = max(begin, row.accepted_at or begin, _midnight(month))
    high = min(row.claim_end, end, _midnight(next_month(month)))
    share = max(timedelta(0), high - low) / (end - begin)
    return (saving * Decimal(repr(share))).quantize(PLACES, context=EXACT)


def _row(row: Recommendation, organisation: Organisation, now: datetime) -> int:
    answered = kind_for(row.kind).realised(row, organisation, now)
    by_month = {one.month: one for one in answered or ()}
    reason = NOT_READ if answered is None else NO_BILL
    wanted = [month for month, _low, _high in claim_months(row, now)]
    changed = 0
    with transaction.atomic():
        # Taken back meanwhile: nothing is kept of it.
        held = Recommendation.objects.select_for_update().filter(pk=row.pk, state__in=HOLDING)
        if not held.exists():
            return 0
        stored = {one.month: one for one in row.realised.select_for_update()}
        for month in wanted:
            found = by_month.get(month) or RealisedMonth(month, None, None, reason=reason)
            changed += _keep(row, found, stored.pop(month, None), now)
        for left in stored.values():
            left.delete()
            changed += 1
    return changed


def _keep(row: Recommendation, found: RealisedMonth, stored: RealisedSaving | None, now: datetime) -> bool:
    """Write a month where it differs from what is stored."""
    both = found.counterfactual is not None and found.actual is not None
    counterfactual = (
        None if found.counterfactual is None else found.counterfactual.quantize(PLACES, context=EXACT)
    )
    actual = None if found.actual is None else found.actual.quantize(PLACES, context=EXACT)
    values: dict[str, Any] = {
        "currency": row.currency,
        "promised": promised(row, found.month),
        "counterfactual": counterfactual,
        "actual": actual,
        "saving": counterfactual - actual if counterfactual is not None and actual is not None else None,
        "complete": found.complete and both,
        "reason": found.reason if both else found.reason or NO_BILL,
        "evidence": dict(found.evidence),
    }
    if stored is not None and all(getattr(stored, name) == value for name, value in values.items()):
        return False
    RealisedSaving.objects.update_or_create(
        recommendation=row, month=found.month, defaults={**values, "computed_at": now}
    )
    return True


def _seen(rows: list[Recommendation], now: datetime) -> str:
    """Names everything that the months hang on; a new day brings another hour of a claim to an end."""
    parts: Mapping[str, Any] = {
        "code": code_fingerprint(),
        "snapshots": sorted(current_snapshots().items()),
        "day": now.date().isoformat(),
        "rows": [[row.pk, row.state, str(row.accepted_at), str(row.claim_end)] for row in rows],
    }
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def _midnight(day: date) -> datetime:
    return datetime(day.year, day.month, day.day, tzinfo=UTC)
