"""Waste as recommendations of the kind `waste`: a row a rule and resource.

A resource claims itself, so that stopping, shrinking and changing it are alternatives and never added up.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _

from apps.accounts.models import Organisation, Team
from apps.recommendations.models import InboxLook, Recommendation
from apps.recommendations.services.inbox import MAX_TEXT, Finding, publish
from apps.waste.services.advice import advise_waste, known_state
from apps.waste.services.realised import basis_of

KIND = "waste"
YEAR = timedelta(days=365)
MONTHS = Decimal(8760) / Decimal(730)
LEAST_PAUSE = timedelta(hours=1)
# Advice on bills that end longer ago is not for today.
STALE = timedelta(days=35)
DIGITS = Decimal("0.00000001")
# Cents a month are shown on the page and wait for nobody's decision.
LEAST_MONTHLY = Decimal("0.5")


def waste_rows_publish(*, organisation: Organisation, now: datetime, again: bool = False) -> bool:
    """Publish what was found; False where nothing new is known. Safe twice and at the same time."""
    seen = _seen(organisation, now)
    last = InboxLook.objects.filter(organisation=organisation, kind=KIND).first()
    if last is not None and not again and (last.seen == seen or now - last.at < LEAST_PAUSE):
        return False
    moment = now.replace(minute=0, second=0, microsecond=0)
    document = advise_waste(organisation=organisation, at=moment)
    stale = _stale(document, moment)
    teams = set(Team.objects.filter(organisation=organisation).values_list("slug", flat=True))
    worth = [one for one in document["findings"] if Decimal(one["saving"]) >= LEAST_MONTHLY]
    # Largest saving first: of one resource in two currencies the larger one waits.
    chosen: dict[str, Mapping[str, Any]] = {}
    for one in worth:
        chosen.setdefault(subject_of(one), one)
    findings = [] if stale else [row_of(one, document, moment, teams) for one in chosen.values()]
    with transaction.atomic():
        if not stale and (document["judged"] is not None or findings):
            publish(KIND, findings, organisation=organisation, now=now, whole=True)
        InboxLook.objects.update_or_create(
            organisation=organisation,
            kind=KIND,
            defaults={
                "at": now, "seen": seen, "looked": max(len(document["findings"]), len(findings)),
                "found": len(findings), "problems": stale,
            },
        )  # fmt: skip
    return not stale


def waste_rows_all(*, now: datetime) -> int:
    """Every organisation; how many had something new."""
    return sum(waste_rows_publish(organisation=one, now=now) for one in Organisation.objects.order_by("pk"))


def _stale(document: Mapping[str, Any], moment: datetime) -> list[dict[str, str]]:
    """Why nothing can be advised for today, for the inbox."""
    if document["judged"] is None:
        return []
    end = datetime.fromisoformat(document["judged"]["bill_ends"])
    if moment - end <= STALE:
        return []
    told = _("The newest bill ends on %(day)s: load a newer one.") % {"day": end.date().isoformat()}
    return [{"name": _("Waste"), "reason": told}]


def subject_of(one: Mapping[str, Any]) -> str:
    """The stable key of a finding."""
    name = f"waste:{one['rule']}:{one['account']}:{one['region']}:{one['resource']}"
    return name if len(name) <= MAX_TEXT else f"{name[:235]}:{hashlib.sha256(name.encode()).hexdigest()}"


def row_of(one: Mapping[str, Any], document: Mapping[str, Any], moment: datetime, teams: set[str]) -> Finding:
    """A finding of the document as a row; over a year from now."""
    low, saving, high = (
        (Decimal(one[name]) * MONTHS).quantize(DIGITS) for name in ("saving_low", "saving", "saving_high")
    )
    found = document["evidence"]
    claim = f"resource:{one['provider']}:{one['account']}:{one['region']}:{one['resource'] or one['rule']}"
    return Finding(
        subject=subject_of(one),
        document={k: v for k, v in one.items() if k not in ("title", "text", "counted", "alternatives")},
        claims=(claim if len(claim) <= MAX_TEXT else claim[:235] + subject_of(one)[-65:],),
        claim_start=moment,
        claim_end=moment + YEAR,
        currency=one["currency"],
        saving_low=low,
        saving=saving,
        saving_high=high,
        monthly_saving=Decimal(one["saving"]).quantize(DIGITS),
        one_time=Decimal(0),
        effort=one["effort"],
        reversibility=one["reversible"],
        team=one["team"] if one["team"] in teams else None,
        evidence={
            "inputs": {"rule": one["rule"], "judged": document["judged"], "lines": one["evidence"]["lines"]},
            "snapshots": found["snapshots"], "engine": found["engine"], "at": found["at"],
            "later_prices": False,
        },
    )  # fmt: skip


def counterfactual(row: Recommendation) -> Mapping[str, Any]:
    """What the resource cost an hour before, as the bill says at acceptance."""
    return basis_of(row)


def _seen(organisation: Organisation, now: datetime) -> str:
    """Names what is looked at."""
    parts = [now.date().isoformat(), *known_state(organisation)]
    return hashlib.sha256(json.dumps(parts, default=str, sort_keys=True).encode()).hexdigest()
