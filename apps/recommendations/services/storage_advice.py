"""The document of `advise_storage`: where bytes lie, what every policy would cost, what follows."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from decimal import Decimal
from typing import Any

from django.core.cache import cache
from django.db.models import Count, Max
from django.utils import timezone
from django.utils.translation import get_language
from django.utils.translation import gettext as _

from apps.accounts.models import Organisation
from apps.ingest.selectors import current_snapshots
from apps.recommendations.models import StorageMark
from apps.recommendations.services.document import (
    Document,
    check_moment,
    decimal_text,
    evidence,
    iso,
    rounded,
)
from apps.recommendations.services.storage_units import Looked, Unit, billed_only, buckets_asked, look
from apps.recommendations.storage_wording import policy_words, reason_words, state_words
from apps.recommendations.wording import money
from apps.storage.models import Bucket, Listing, ReadSpan, ReportedPart
from apps.storage.selectors import coverage_of
from finops.engine.storage.advise import BLOCKED, DO_NOT_MOVE, MOVE, Advised, ClassPart, Costed
from finops.engine.storage.lifecycle import archive_tiers
from finops.engine.storage.tiering import MONTHS, Policy
from finops.engine.workload import WorkloadError
from finops.fingerprint import code_fingerprint
from finops.frames.storage import CURRENT, GIB, BucketCoverage
from finops.frames.storage_classes import INTELLIGENT
from finops.frames.storage_terms import StorageTerms

DAY = 24 * 3600
# Of a group without a price list.
NO_LIST = "USD"
# Months that a policy's table shows are twelve; more policies than this tell nothing new.
MOST_POLICIES = 12
# Idle days after which Intelligent-Tiering may archive: the least that the service takes.
ARCHIVE_DAYS, DEEP_DAYS = 90, 180


def advise_storage(
    *,
    organisation: Organisation | None,
    bucket: str | None = None,
    at: datetime | None = None,
    provider: str = "",
) -> Document:
    """Advice for one bucket, or for all that the organisation sees. Raises WorkloadError for an unknown."""
    moment = (at or timezone.now()).replace(microsecond=0)
    check_moment(moment)
    rows = buckets_asked(organisation, name=bucket or "", provider=provider)
    answers = [bucket_answer(row, organisation=organisation, at=moment, fixed=at is not None) for row in rows]
    if not provider:
        answers += [
            _unlisted(found)
            for name in billed_only(rows, organisation=organisation, at=moment, name=bucket or "")
            if (found := coverage_of(name, organisation, moment)) is not None
        ]
    if bucket and not answers:
        raise WorkloadError("bucket", _("No bucket %(name)s was listed here.") % {"name": bucket})
    groups = [group for answer in answers for group in answer["groups"]]
    return {
        "groups": groups,
        "buckets": [answer["bucket"] for answer in answers],
        "totals": (totals := _totals(groups)),
        "horizon_months": MONTHS,
        "currency": totals["currency"],
        "evidence": evidence(current_snapshots(), moment, later_prices=False, interval_pct=90),
    }


def bucket_answer(
    row: Bucket, *, organisation: Organisation | None, at: datetime, fixed: bool
) -> dict[str, Any]:
    """{"bucket", "groups"} of one bucket; the same on the same data and day is counted once."""
    key = _cache_key(row, organisation, at, fixed)
    found = cache.get(key)
    if found is None:
        looked = look(row, organisation=organisation, at=at)
        found = {
            "bucket": _bucket(looked),
            "groups": [group for unit in looked.units for group in unit_groups(unit)],
        }
        cache.set(key, found, DAY)
    answer: dict[str, Any] = found
    return answer


def _cache_key(row: Bucket, organisation: Organisation | None, at: datetime, fixed: bool) -> str:
    listings = Listing.objects.filter(bucket=row).aggregate(n=Count("pk"), last=Max("pk"))
    parts = ReportedPart.objects.filter(bucket=row).aggregate(n=Count("pk"), last=Max("pk"))
    spans = sorted(map(str, ReadSpan.objects.filter(bucket=row).values_list("first_day", "last_day")))
    marks = StorageMark.objects.filter(organisation=organisation, bucket=row.name)
    seen = [
        code_fingerprint(), get_language() or "", row.pk, row.region, row.account, row.versioning,
        organisation.pk if organisation else None, iso(at) if fixed else at.date().isoformat(),
        listings, parts, spans, list(marks.order_by("pk").values_list("pk", "said_at")),
        sorted(current_snapshots().items()),
    ]  # fmt: skip
    raw = json.dumps(seen, default=str, sort_keys=True)
    return f"storage:{hashlib.sha256(raw.encode()).hexdigest()[:40]}"


def unit_groups(unit: Unit) -> list[Document]:
    """A row a class of the prefix."""
    advised, terms = unit.advised, unit.terms
    if advised is None or terms is None:
        return [_unknown(unit, name) for name in unit.groups]
    verdict = BLOCKED if unit.blocked else advised.verdict
    rows = [policy_row(one, unit, terms) for one in _shown(advised)]
    whole = policy_row(advised.best, unit, terms) if verdict == MOVE and advised.best else None
    shared = {"policies": rows, "rule_for_prefix": whole}
    return [_group(unit, advised, part, verdict) | shared for part in advised.parts]


def _shown(advised: Advised) -> list[Costed]:
    """What is told of all policies: of those that may be taken the best of each way through the classes and
    some runners-up, then staying, then the best refused one of each last class.
    """
    free = [one for one in advised.policies if one.policy.steps and not one.refused]
    ways: dict[tuple[str, ...], int] = {}
    kept: list[Costed] = []
    for one in free:
        way = tuple(step.to for step in one.policy.steps)
        ways[way] = ways.get(way, 0) + 1
        if one is advised.best or ways[way] <= (2 if way == _first_way(free) else 1):
            kept.append(one)
    refused: dict[str, Costed] = {}
    for one in advised.policies:
        if one.refused:
            refused.setdefault(one.policy.steps[-1].to, one)
    stay = [one for one in advised.policies if not one.policy.steps]
    return [*kept[:MOST_POLICIES], *stay, *refused.values()]


def _first_way(free: Sequence[Costed]) -> tuple[str, ...]:
    return tuple(step.to for step in free[0].policy.steps) if free else ()


def _group(unit: Unit, advised: Advised, part: ClassPart, verdict: str) -> Document:
    """One class of a unit. Without a read log `current_monthly` is without reads."""
    costed = part.costed
    moves = verdict == MOVE and costed.moved > 0
    code = unit.blocked or ("placed" if verdict == MOVE and not moves else advised.reason)
    told = DO_NOT_MOVE if verdict == MOVE and not moves else verdict
    policy = costed.policy if moves else Policy()
    blocked = told == BLOCKED
    rule = unit.rule if moves else None
    return {
        **_place(unit, part.storage_class),
        "objects": part.objects,
        "bytes": part.bytes,
        "gib": _gib(part.bytes),
        "current_monthly": _text(float(part.stay[0])),
        "policy": None if blocked else policy_words(policy, unit.state),
        "steps": [] if blocked else _steps(policy),
        "from_bytes": policy.from_bytes,
        "monthly_after": None if blocked else _text(costed.after),
        "one_time": None if blocked else _text(costed.one_time),
        "cash_curve": [] if blocked else _curve(costed),
        "worst_point": None if blocked else _text(costed.worst),
        "worst_month": None if blocked else costed.worst_month,
        "break_even_month": None if blocked or not moves else costed.break_even,
        "saving_low": None if blocked else _text(costed.saving_low),
        "saving": None if blocked else _text(costed.saving),
        "saving_high": None if blocked else _text(costed.saving_high),
        "lifecycle": None if rule is None else {"Rules": [rule]},
        "intelligent_tiering": _archive(unit, policy) if rule is not None else None,
        "deletes": policy.deletes,
        "verdict": told,
        "reason": _reason(unit, code, part if moves else None),
        "reason_code": code,
        "claims": [unit.key],
        "reads": _reads(unit),
    }


def _archive(unit: Unit, policy: Policy) -> Document | None:
    """What opens the archive tiers for objects that end in Intelligent-Tiering, where the owner lets reads
    wait; the figures are without it.
    """
    ends = policy.steps[-1].to if policy.steps else ""
    if unit.wishes.instant or ends != INTELLIGENT:
        return None
    return archive_tiers(unit.prefix, archive_days=ARCHIVE_DAYS, deep_days=DEEP_DAYS)


def _unknown(unit: Unit, name: str) -> Document:
    """A class of a unit that could not be costed: nothing of it is a number."""
    cells = unit.groups[name]
    size = sum(cell.bytes for cell in cells)
    return {
        **_place(unit, name),
        "objects": sum(cell.objects for cell in cells),
        "bytes": size,
        "gib": _gib(size),
        "reason": _reason(unit, unit.blocked, None),
        "reason_code": unit.blocked,
        "claims": [unit.key],
        "reads": _reads(unit),
        **_NOTHING,
    }


# What a group that could not be costed has for figures.
_NOTHING: Document = {
    "current_monthly": None, "policy": None, "steps": [], "from_bytes": 0, "monthly_after": None,
    "one_time": None, "cash_curve": [], "worst_point": None, "worst_month": None, "break_even_month": None,
    "saving_low": None, "saving": None, "saving_high": None, "lifecycle": None,
    "intelligent_tiering": None, "deletes": False,
    "verdict": BLOCKED, "policies": [], "rule_for_prefix": None,
}  # fmt: skip


def _place(unit: Unit, name: str) -> Document:
    return {
        "provider": unit.bucket.provider,
        "region": unit.bucket.region or None,
        "account": unit.bucket.account or None,
        "bucket": unit.bucket.name,
        "prefix": unit.prefix,
        "class": name,
        "state": unit.state,
        "state_words": state_words(unit.state),
        "currency": currency_of(unit),
    }


def currency_of(unit: Unit) -> str:
    """Of the unit's price list."""
    return unit.terms.currency if unit.terms is not None else NO_LIST


def policy_row(one: Costed, unit: Unit, terms: StorageTerms) -> Document:
    """A policy of the prefix in figures; where no log tells reads they are those of objects never read."""
    ends = [terms.classes[step.to] for step in one.policy.steps if step.to in terms.classes]
    return {
        "policy": policy_words(one.policy, unit.state),
        "steps": _steps(one.policy),
        "from_bytes": one.policy.from_bytes,
        "one_time": _text(one.one_time),
        "monthly_after": _text(one.after),
        "bills": [_text(float(bill)) for bill in one.bills],
        "cash_curve": _curve(one),
        "worst_point": _text(one.worst),
        "worst_month": one.worst_month,
        "break_even_month": one.break_even,
        "saving_low": _text(one.saving_low),
        "saving": _text(one.saving),
        "saving_high": _text(one.saving_high),
        "retrieval_per_gib": decimal_text(ends[-1].retrieval_per_gib) if ends else None,
        "min_days": max((end.min_days for end in ends), default=0),
        "refused": one.refused or None,
        "deletes": one.policy.deletes,
        "best": unit.advised is not None and one is unit.advised.best,
    }


def _steps(policy: Policy) -> list[Document]:
    return [asdict(step) for step in policy.steps]


def _curve(one: Costed) -> list[Document]:
    return [
        {"month": month, "low": _text(float(low)), "expected": _text(float(cash)), "high": _text(float(high))}
        for month, (low, cash, high) in enumerate(zip(one.cash_low, one.cash, one.cash_high, strict=True))
    ]


def _reason(unit: Unit, code: str, part: ClassPart | None) -> str:
    if unit.words:
        return unit.words
    best = unit.advised.best if unit.advised is not None else None
    about = part.costed if part is not None else best
    values = {"place": f"{unit.bucket.provider} {unit.bucket.region}".strip()}
    if best is not None and about is not None:
        values |= {
            "policy": policy_words(best.policy, unit.state),
            "saving": money(about.saving, currency_of(unit)),
            "low": money(about.saving_low, currency_of(unit)),
            "high": money(about.saving_high, currency_of(unit)),
            "more": _at_least_a_cent(-best.saving, currency_of(unit)),
        }
    return reason_words(code, values)


def _reads(unit: Unit) -> Document | None:
    """What the read log told; null without one."""
    found = unit.hazard
    if found is None:
        return None
    return {
        "days": found.days,
        "reads": found.reads,
        "object_days": rounded(found.object_days, 0),
        "dispersion": rounded(found.dispersion, 3),
        "requests_per_read": rounded(found.requests, 3),
        "share_of_object": rounded(found.share, 4),
    }


def _bucket(looked: Looked) -> Document:
    row, found = looked.bucket, looked.coverage
    return {
        "provider": row.provider,
        "bucket": row.name,
        "region": row.region or None,
        "account": row.account or None,
        **_coverage(found),
        "sizes": _bands(looked, "size"),
        "ages": _bands(looked, "age"),
        "idle": _bands(looked, "idle"),
        "reads": None
        if looked.reads is None
        else {"from": looked.reads.first_day.isoformat(), "to": looked.reads.last_day.isoformat()},
    }


def _bands(looked: Looked, name: str) -> list[Document]:
    """Objects and bytes by band of size, age or days since the last read; from null: not known."""
    sums: dict[tuple[int | None, int | None], list[int]] = {}
    for unit in looked.units:
        for cell in (cell for cells in unit.groups.values() for cell in cells):
            band = getattr(cell, f"{name}_from"), getattr(cell, f"{name}_to")
            held = sums.setdefault(band, [0, 0])
            held[0] += cell.objects
            held[1] += cell.bytes
    return [
        {"from": low, "to": high, "objects": objects, "bytes": size}
        for (low, high), (objects, size) in sorted(
            sums.items(), key=lambda one: (one[0][0] is None, one[0][0] or 0)
        )
    ]


def _unlisted(found: BucketCoverage) -> dict[str, Any]:
    """A bucket that only the bill tells of: nothing in it can be judged."""
    where = {
        "provider": found.provider, "region": found.region or None, "account": found.account or None,
        "bucket": found.bucket,
    }  # fmt: skip
    groups = [
        {
            **where, "prefix": "", "class": name, "state": CURRENT, "state_words": state_words(CURRENT),
            "currency": found.currency or NO_LIST, "objects": None,
            "bytes": int((size * GIB).to_integral_value()), "gib": decimal_text(size),
            "claims": [f"storage:{found.provider}:{found.bucket}"[:300]], "reads": None,
            "reason": found.reason, "reason_code": found.reason_code or "no-listing", **_NOTHING,
        }
        for name, size in sorted(found.billed_gib.items())
    ]  # fmt: skip
    return {
        "bucket": {**where, **_coverage(found), "sizes": [], "ages": [], "idle": [], "reads": None},
        "groups": groups,
    }


def _coverage(found: BucketCoverage | None) -> Document:
    if found is None:
        return {"blocked": True, "reason": _("Nothing was listed."), "reason_code": "no-listing"}
    listed = sum(found.listed.values())
    return {
        "blocked": found.blocked,
        "reason": found.reason or None,
        "reason_code": found.reason_code or None,
        "versioning": found.versioning,
        "listed_at": iso(found.listed_at) if found.listed_at else None,
        "listed_gib": _gib(listed),
        "listed": [
            {"class": name, "state": state, "gib": _gib(size)}
            for (name, state), size in sorted(found.listed.items())
        ],
        "billed_gib": decimal_text(sum(found.billed_gib.values(), Decimal(0))) if found.billed_gib else None,
        "billed": [
            {
                "class": name,
                "gib": decimal_text(size),
                "cost": decimal_text(found.billed_cost.get(name)),
            }
            for name, size in sorted(found.billed_gib.items())
        ],
        "billed_currency": found.currency or None,
        "billed_from": found.billed_from.isoformat() if found.billed_from else None,
        "billed_to": found.billed_to.isoformat() if found.billed_to else None,
        "gap_gib": None if found.gap_bytes is None else _gib(found.gap_bytes),
        "gap_share": None if found.gap_share is None else rounded(float(found.gap_share)),
        "missing": list(found.missing),
        "scope": found.scope,
    }


def _totals(groups: Sequence[Mapping[str, Any]]) -> Document:
    """What all that is advised saves together, in the currency of most groups: expected values add up,
    intervals do not.
    """
    counts = Counter(group["currency"] for group in groups)
    currency = counts.most_common(1)[0][0] if counts else NO_LIST
    moves = [group for group in groups if group["verdict"] == MOVE]

    def total(rows: Sequence[Mapping[str, Any]], name: str) -> str | None:
        amounts = [Decimal(one[name]) for one in rows if one[name] and one["currency"] == currency]
        return decimal_text(sum(amounts, Decimal(0)))

    return {
        "groups": len(groups),
        "move": len(moves),
        "blocked": sum(group["verdict"] == BLOCKED for group in groups),
        "saving": total(moves, "saving"),
        "one_time": total(moves, "one_time"),
        "current_monthly": total(groups, "current_monthly"),
        "currency": currency,
        "other_currencies": sorted(counts.keys() - {currency}),
    }


def _gib(size: int) -> str:
    """GiB with six digits: a thousand bytes."""
    return decimal_text((Decimal(size) / GIB).quantize(Decimal("0.000001"))) or "0"


def _text(value: float) -> str:
    return decimal_text(value + 0.0) or "0"


def _at_least_a_cent(amount: float, currency: str) -> str:
    """An amount that is not nothing, so that it does not read as nothing."""
    if 0 < amount < 0.005:
        return _("less than %(amount)s") % {"amount": money(0.01, currency)}
    return money(amount, currency)
