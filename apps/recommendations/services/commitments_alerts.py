"""Alerts before commitments end: a row for each commitment and threshold, raised once.

Several tasks may run at the same time: the unique constraint decides. Of thresholds that are reached
together (a commitment seen first with 20 days left) the nearest one speaks for all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

import structlog
from django.conf import settings

from apps.accounts.models import Organisation
from apps.billing.models import CommitmentAlert
from apps.billing.selectors.commitments import Standing
from apps.ingest.selectors import current_snapshots
from apps.recommendations.services.commitments_owned import Owned, ending_of, owned_at
from apps.recommendations.services.document import decimal_text, iso
from finops.engine.commitments.utilisation import due

log = structlog.get_logger(__name__)


def commitments_alert(
    *,
    organisation: Organisation,
    now: datetime,
    days: Sequence[int] | None = None,
    snapshots: Mapping[str, int] | None = None,
) -> int:
    """Raise what is due and was not raised; how many rows are new. `days`: default COMMITMENT_ALERT_DAYS."""
    moment = now.astimezone(UTC)
    chosen = dict(current_snapshots() if snapshots is None else snapshots)
    own = owned_at(at=moment, organisation=organisation, snapshots=chosen)
    thresholds = list(settings.COMMITMENT_ALERT_DAYS if days is None else days)
    return sum(_raise(one, own, organisation, thresholds) for one in own.found)


def _raise(one: Standing, own: Owned, organisation: Organisation, days: Sequence[int]) -> int:
    ending = ending_of(one, own)
    if ending is None:
        return 0
    reached = due(ending.end, own.at, days)
    if not reached:
        return 0
    _alert, made = CommitmentAlert.objects.get_or_create(
        organisation=organisation,
        provider=one.provider or "aws",
        commitment=one.id[:100],
        end=ending.end,
        days=reached[-1],
        defaults={
            "what": what_of(one)[:200],
            "raised_at": own.at,
            "monthly_on_demand": ending.monthly_on_demand,
            "monthly_increase": ending.increase,
            "currency": ending.currency,
            "evidence": {
                "at": iso(own.at),
                "billing_period": f"{own.month:%Y-%m}" if own.month else None,
                "monthly_cost": decimal_text(ending.monthly_cost),
                "snapshots": {table: str(number) for table, number in sorted(own.snapshots.items())},
                "sources": dict(one.sources),
            },
        },
    )
    return int(made)


def what_of(one: Standing) -> str:
    """`2 × c5.large Linux/UNIX us-east-1`, `savings plan compute 1.5 USD/h`."""
    values = one.values
    if one.kind == "savings-plan":
        words = ("savings plan", values["plan"], values["family"], values["region"])
        per_hour = values["commitment_per_hour"]
        price = f"{decimal_text(round(per_hour, 6))} {values['currency']}/h" if per_hour else ""
        return " ".join(str(word) for word in (*words, price) if word)
    count = f"{values['count']} ×" if values["count"] else ""
    words = (count, values["instance_type"], values["platform"], values["zone"] or values["region"])
    return " ".join(str(word) for word in words if word) or one.id


def commitments_alert_all(*, now: datetime) -> int:
    """Every organisation; how many alerts are new."""
    raised = 0
    for organisation in Organisation.objects.order_by("pk"):
        raised += commitments_alert(organisation=organisation, now=now)
    return raised
