"""Own commitments: what the bill and the provider's interface say about each, joined by id.

Where both say something they are compared: what differs is shown, and the interface's word is taken (it is
the newer of the two). `sources` names for each field who said it: "bill", "api" or "bill+api".
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

from django.db.models import Q

from apps.accounts.models import Organisation
from apps.billing.models import OwnedCommitment
from apps.billing.selectors.commitment_arns import arn_of
from apps.billing.selectors.commitment_lines import CommitmentLines, PaidUse, PlanFee, ReservedFee
from apps.billing.selectors.commitment_months import MonthUse, count_of, month_uses
from finops.frames.commitments import CommitmentKind
from finops.frames.offers import platform_of
from finops.frames.owned import OVER

_PLATFORM = re.compile(r"per (.+?), \S+ (?:instance|reserved instance)")
_PAYMENTS = {"All Upfront": "all-upfront", "No Upfront": "no-upfront", "Partial Upfront": "partial-upfront"}
_PLANS = {
    "ComputeSavingsPlans": "compute",
    "EC2InstanceSavingsPlans": "ec2-instance",
    "SageMakerSavingsPlans": "sagemaker",
    "DatabaseSavingsPlans": "database",
}
_SECOND = timedelta(seconds=1)
# Prices of a bill come out of sums of rounded cents.
_MONEY_NEAR = Decimal("0.005")
_HOURS_NEAR = Decimal("0.00001")
FIELDS = (
    "account", "region", "zone", "instance_type", "platform", "tenancy", "plan", "family", "offering_class",
    "payment", "count", "commitment_per_hour", "start", "end", "fixed", "hourly", "currency",
)  # fmt: skip


@dataclass(frozen=True)
class Contradiction:
    """A field that the two sources tell differently; of idle hours `api` is what the bill's own lines add
    up to.
    """

    field: str
    bill: Any
    api: Any


@dataclass(frozen=True)
class Standing:
    """One commitment at a decision time. `name` is the bill's (an ARN), empty where no bill names it.

    `values` has `FIELDS`, None where nobody says; money of reservations is per reservation. `months`: its
    billing months, oldest first. `state`: active, queued, expired or the interface's word. `listing`: the
    state of its listing on the marketplace, empty where no look showed one.
    """

    id: str
    name: str
    kind: str
    provider: str
    service: str
    values: Mapping[str, Any]
    sources: Mapping[str, str]
    contradictions: tuple[Contradiction, ...]
    months: tuple[MonthUse, ...]
    state: str
    row: OwnedCommitment | None = field(repr=False, default=None)
    listing: str = ""

    @property
    def start(self) -> datetime | None:
        """When the term begins, where known."""
        found: datetime | None = self.values["start"]
        return found

    @property
    def end(self) -> datetime | None:
        """When the term ends, where known."""
        found: datetime | None = self.values["end"]
        return found


def owned_rows(*, organisation: Organisation | None) -> list[OwnedCommitment]:
    """The organisation's rows and the installation's; of one id the one seen last, the own one first."""
    rows = OwnedCommitment.objects.filter(Q(organisation=organisation) | Q(organisation__isnull=True))
    best: dict[tuple[str, str], OwnedCommitment] = {}
    for row in rows.order_by("seen_at", "pk"):
        key = (row.provider, row.commitment)
        older = best.get(key)
        if older is None or row.organisation_id is not None or older.organisation_id is None:
            best[key] = row
    return list(best.values())


def standings(*, organisation: Organisation | None, lines: CommitmentLines, at: datetime) -> list[Standing]:
    """Every commitment that a bill or the interface shows, begun or bought at `at`; by end, then id."""
    months = month_uses(lines)
    told = _told_by_bill(lines)
    for name, of_months in months.items():
        if told[name].get("kind") == CommitmentKind.SAVINGS_PLAN and of_months[-1].rate is not None:
            told[name]["commitment_per_hour"] = of_months[-1].rate
    rows = {row.commitment: row for row in owned_rows(organisation=organisation)}
    found = []
    for name in sorted(set(months) | set(told)):
        arn = arn_of(name)
        found.append(_standing(arn.id, name, told.get(name, {}), rows.pop(arn.id, None), months, at))
    for row in rows.values():
        # Of a later purchase nothing was known at the decision.
        if row.start <= at or row.first_seen_at <= at:
            found.append(_standing(row.commitment, "", {}, row, months, at))
    far = datetime.max.replace(tzinfo=UTC)
    return sorted(found, key=lambda one: (one.end or far, one.id))


def _standing(
    short: str,
    name: str,
    bill: Mapping[str, Any],
    row: OwnedCommitment | None,
    months: Mapping[str, Sequence[MonthUse]],
    at: datetime,
) -> Standing:
    api = {} if row is None else {f: getattr(row, f) for f in FIELDS}
    values, sources, against = {}, {}, []
    for one in FIELDS:
        said, seen = _blank(bill.get(one)), _blank(api.get(one))
        values[one] = said if seen is None else seen
        if said is not None or seen is not None:
            sources[one] = "bill+api" if None not in (said, seen) else ("api" if said is None else "bill")
        if said is not None and seen is not None and not _same(one, said, seen):
            against.append(Contradiction(one, said, seen))
    for month in months.get(name, ()):
        if month.billed_idle is not None and abs(month.billed_idle - month.idle) > _HOURS_NEAR:
            against.append(Contradiction(f"idle_hours {month.month:%Y-%m}", month.billed_idle, month.idle))
    kind = str(row.kind) if row is not None else str(bill.get("kind", CommitmentKind.RESERVED))
    return Standing(
        id=short,
        name=name,
        kind=kind,
        provider=row.provider if row is not None else str(bill.get("provider", "")),
        service=str(bill.get("service", "")),
        values=values,
        sources=sources,
        contradictions=tuple(against),
        months=tuple(months.get(name, ())),
        state=_state(values, row, at),
        row=row,
        listing=row.listing if row is not None and row.listing_at and row.listing_at <= at else "",
    )


def _blank(value: Any) -> Any:
    return None if value == "" else value


def _same(name: str, said: Any, seen: Any) -> bool:
    if isinstance(said, datetime) and isinstance(seen, datetime):
        return abs(said - seen) <= _SECOND
    if isinstance(said, Decimal | int) and isinstance(seen, Decimal | int):
        near = _MONEY_NEAR if name == "fixed" else Decimal("0.00005")
        return abs(Decimal(said) - Decimal(seen)) <= near
    return bool(said == seen)


def _state(values: Mapping[str, Any], row: OwnedCommitment | None, at: datetime) -> str:
    start, end = values["start"], values["end"]
    if row is not None and row.seen_at <= at and row.state in OVER:
        return row.state
    if end is not None and end <= at:
        return "expired"
    if start is not None and start > at:
        return "queued"
    if row is not None and row.seen_at <= at:
        return row.state
    return "active"


def _told_by_bill(lines: CommitmentLines) -> dict[str, dict[str, Any]]:
    """What lines say of each commitment, from the newest month; the others fill what it leaves out."""
    told: dict[str, dict[str, Any]] = defaultdict(dict)
    for use in lines.uses:
        told[use.id] = {**told[use.id], **_of_use(use)}
    for plan in sorted(lines.plans, key=lambda fee: fee.month):
        told[plan.id] = _over(told[plan.id], _of_plan(plan))
    for fee in sorted(lines.reserved, key=lambda fee: fee.month):
        told[fee.id] = _over(told[fee.id], _of_reserved(fee))
    for name, _month in lines.unused:
        told[name].setdefault("kind", CommitmentKind.RESERVED)
    return dict(told)


def _over(known: Mapping[str, Any], more: Mapping[str, Any]) -> dict[str, Any]:
    return {**known, **{name: value for name, value in more.items() if value not in (None, "")}}


def _of_use(use: PaidUse) -> dict[str, Any]:
    """Of a line that was paid for: only what is the commitment's too."""
    spend = use.category == "Spend" or use.line_type == "SavingsPlanCoveredUsage"
    arn = arn_of(use.id)
    return {
        "kind": CommitmentKind.SAVINGS_PLAN if spend else CommitmentKind.RESERVED,
        "provider": use.provider,
        "service": use.product,
        "account": arn.account,
        "region": arn.region,
        "currency": use.currency,
    }


def _of_reserved(fee: ReservedFee) -> dict[str, Any]:
    words = _PLATFORM.search(fee.description)
    count = count_of(fee)
    facts = fee.facts
    payment = _PAYMENTS.get(str(facts.get("payment") or ""), "")
    return {
        "kind": CommitmentKind.RESERVED,
        "provider": fee.provider,
        "service": fee.product,
        "account": arn_of(fee.id).account or fee.account,
        "region": fee.region or arn_of(fee.id).region,
        "zone": fee.zone,
        "instance_type": fee.instance_type,
        "platform": platform_of(words[1]) if words else "",
        "offering_class": str(facts.get("class") or "").casefold(),
        "payment": payment or _payment_by_money(fee),
        "count": count,
        "start": facts.get("start") or (fee.begin if fee.begin.day > 1 or fee.begin.hour else None),
        "end": facts.get("end"),
        "fixed": None if fee.upfront is None else fee.upfront / count,
        "hourly": fee.billed / fee.hours if fee.hours and fee.upfront is not None else None,
        "currency": fee.currency,
    }


def _payment_by_money(fee: ReservedFee) -> str:
    """How it is paid, from the fee itself: AWS leaves the word out on fee lines of reservations."""
    if fee.upfront is None:
        return ""
    if fee.upfront == 0:
        return "no-upfront"
    return "all-upfront" if fee.billed == 0 else "partial-upfront"


def _of_plan(fee: PlanFee) -> dict[str, Any]:
    facts = fee.facts
    return {
        "kind": CommitmentKind.SAVINGS_PLAN,
        "provider": fee.provider,
        "account": arn_of(fee.id).account or fee.account,
        "region": facts.get("region") or "",
        "family": facts.get("family") or "",
        "plan": _PLANS.get(str(facts.get("class") or ""), ""),
        "payment": _PAYMENTS.get(str(facts.get("payment") or ""), ""),
        "start": facts.get("start"),
        "end": facts.get("end"),
        "currency": fee.currency,
    }
