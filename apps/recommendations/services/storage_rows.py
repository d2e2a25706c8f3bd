"""What to move as recommendations of the kind `storage_tiering`: a row a prefix and state.

A prefix claims itself, so that two policies for the same objects are alternatives and never added up.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

from django.db import transaction
from django.db.models import Max

from apps.accounts.models import Organisation
from apps.billing.announced import AnnouncedRise, days_between
from apps.ingest.selectors import current_snapshots
from apps.recommendations.models import InboxLook, Recommendation, StorageMark
from apps.recommendations.services.document import decimal_text, evidence
from apps.recommendations.services.inbox import Finding, publish
from apps.recommendations.services.realised_storage import basis_of
from apps.recommendations.services.storage_advice import currency_of, policy_row
from apps.recommendations.services.storage_units import Unit, buckets_asked, look
from apps.storage.models import Listing, ReadSpan
from finops.engine.storage.advise import MOVE
from finops.fingerprint import code_fingerprint

KIND = "storage_tiering"
# The source of its announced rises.
SOURCE = "storage"
YEAR = timedelta(days=365.25)
LEAST_PAUSE = timedelta(hours=1)
DIGITS = Decimal("0.00000001")
# A rule that is written runs at the next midnight and takes a few days; bills show it for so long.
SETTLING = timedelta(days=5)
MONTH = timedelta(days=31)


def storage_rows_publish(*, organisation: Organisation, now: datetime, again: bool = False) -> bool:
    """Publish what to move; False where nothing new is known. Safe twice and at the same time."""
    seen = _seen(organisation, now)
    last = InboxLook.objects.filter(organisation=organisation, kind=KIND).first()
    if last is not None and not again and (last.seen == seen or now - last.at < LEAST_PAUSE):
        return False
    moment = now.replace(minute=0, second=0, microsecond=0)
    findings: list[Finding] = []
    not_judged: list[str] = []
    problems: list[dict[str, str]] = []
    units = 0
    for bucket in buckets_asked(organisation):
        looked = look(bucket, organisation=organisation, at=moment)
        units += len(looked.units)
        for unit in looked.units:
            if unit.blocked:
                not_judged.append(unit.key)
                problems.append({"name": unit.key, "reason": unit.blocked})
            elif unit.advised is not None and unit.advised.verdict == MOVE:
                findings.append(finding(unit, moment))
    with transaction.atomic():
        publish(KIND, findings, organisation=organisation, now=now, whole=True, not_judged=tuple(not_judged))
        InboxLook.objects.update_or_create(
            organisation=organisation,
            kind=KIND,
            defaults={
                "at": now, "seen": seen, "looked": units, "found": len(findings), "problems": problems[:100],
            },
        )  # fmt: skip
    return True


def storage_rows_all(*, now: datetime) -> int:
    """Every organisation; how many had something new."""
    return sum(storage_rows_publish(organisation=one, now=now) for one in Organisation.objects.order_by("pk"))


def finding(unit: Unit, moment: datetime) -> Finding:
    """The row of an advised unit. Raises ValueError for one without advice."""
    advised, terms = unit.advised, unit.terms
    if advised is None or advised.best is None or terms is None:
        raise ValueError(f"nothing is advised for {unit.key}")
    best = advised.best
    row = policy_row(best, unit, terms)
    low, saving, high = (_money(one) for one in (best.saving_low, best.saving, best.saving_high))
    found = evidence(current_snapshots(), moment, later_prices=False)
    return Finding(
        subject=unit.key,
        document={
            **row,
            "provider": unit.bucket.provider,
            "region": unit.bucket.region,
            "account": unit.bucket.account,
            "bucket": unit.bucket.name,
            "prefix": unit.prefix,
            "state": unit.state,
            "classes": sorted(unit.groups),
            "current_monthly": decimal_text(float(advised.stay[0])),
            "stay": [decimal_text(float(bill)) for bill in advised.stay],
            "currency": currency_of(unit),
            "rule": unit.rule,
        },
        claims=(unit.key,),
        claim_start=moment,
        claim_end=moment + YEAR,
        currency=currency_of(unit),
        saving_low=min(low, saving),
        saving=saving,
        saving_high=max(high, saving),
        monthly_saving=(saving / 12).quantize(DIGITS),
        one_time=_money(best.one_time),
        effort="low",
        reversibility="none" if best.policy.deletes else "partly",
        evidence={
            "inputs": {"bucket": unit.bucket.name, "prefix": unit.prefix, "state": unit.state},
            "snapshots": found["snapshots"], "engine": found["engine"], "at": found["at"],
            "later_prices": False,
        },
    )  # fmt: skip


def announces(row: Recommendation) -> Sequence[AnnouncedRise]:
    """What the move costs before it pays: its fees, and months in a dearer tier, up to the lowest point."""
    worst = Decimal(row.document["worst_point"])
    if row.accepted_at is None or worst >= 0:
        return []
    first = row.accepted_at.astimezone(UTC).date()
    months = int(row.document["worst_month"]) + 1
    days = days_between(first, first + MONTH * months + SETTLING)
    bucket = row.document["bucket"]
    targets = [one["to"] for one in row.document["steps"] if one["to"] != "delete"]
    return [
        AnnouncedRise(
            key=f"{SOURCE}:{row.pk}",
            currency=row.currency,
            amount=-worst,
            days=days,
            lines=(("resource", bucket), ("resource", f"arn:aws:s3:::{bucket}")),
            facts={
                "id": row.pk,
                "place": f"{bucket}/{row.document['prefix']}",
                "class": targets[0] if targets else "",
            },
        )
    ]


def counterfactual(row: Recommendation) -> Mapping[str, Any]:
    """What the bucket cost a GiB-month before, as the bill says at acceptance, and the rows beside this."""
    return basis_of(row)


def _money(value: float) -> Decimal:
    return Decimal(repr(value)).quantize(DIGITS)


def _seen(organisation: Organisation, now: datetime) -> str:
    """Names what is looked at; with a new day objects are older."""
    marks = StorageMark.objects.filter(organisation=organisation)
    parts = [
        code_fingerprint(), now.date().isoformat(), sorted(current_snapshots().items()),
        Listing.objects.aggregate(last=Max("pk"))["last"],
        sorted(map(str, ReadSpan.objects.values_list("bucket", "first_day", "last_day"))),
        sorted(map(str, marks.values_list("pk", "said_at"))),
    ]  # fmt: skip
    return hashlib.sha256(json.dumps(parts, default=str).encode()).hexdigest()
