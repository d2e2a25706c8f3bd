"""What to buy and to sell as recommendations of the kinds `commitment_buy` and `commitment_sell`.

Rows are what the advice with its usual limits (30 days of look-back, terms to a year, standard answers of the
command) advises, for bills that reach into the look-back: with older ones nothing is known, nothing expires.
Purchases that came out of one answer share a pool's hours without overlap: each claims a part of its own.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _

from apps.accounts.models import Organisation
from apps.billing.selectors.bill_days import bill_days
from apps.ingest.selectors import current_snapshots
from apps.recommendations.models import InboxLook
from apps.recommendations.services.commitments_advice import advise_commitments
from apps.recommendations.services.commitments_sale import sell_commitments
from apps.recommendations.services.deal_watch import market_state
from apps.recommendations.services.inbox import Finding, publish
from finops.fingerprint import code_fingerprint
from finops.lake import BILL_LINES

BUY, SELL = "commitment_buy", "commitment_sell"
# Bills change a few times a day, offers by the hour: what to commit to for a year does not move faster.
LEAST_PAUSE = timedelta(hours=1)
MONTH_HOURS = Decimal(730)
# Fewer known hours cannot be judged: then nothing is found, and nothing expires for it.
LEAST_HOURS = 48
DIGITS = Decimal("0.00000001")


def commitment_rows_publish(*, organisation: Organisation, now: datetime, again: bool = False) -> bool:
    """Publish what to buy and to sell; False where nothing new is known. Safe twice and at the same time."""
    snapshots = current_snapshots()
    seen = _seen(snapshots)
    last = InboxLook.objects.filter(organisation=organisation, kind=BUY).first()
    if last is not None and not again and (last.seen == seen or now - last.at < LEAST_PAUSE):
        return False
    moment = now.replace(minute=0, second=0, microsecond=0)
    given: dict[str, Any] = {"at": moment, "organisation": organisation, "snapshots": snapshots}
    advice = advise_commitments(**given, with_scenarios=True)
    if advice["use"]["known_hours"] < LEAST_HOURS:
        _looked(organisation, now, seen, found=0, problems=_why_not(organisation, advice, moment))
        return False
    sales = sell_commitments(**given)
    advised = [one for one in advice["advice"] if one["advised"]]
    buy = [
        purchase(one, advice, part=sum(pool_of(other) == pool_of(one) for other in advised[:place]))
        for place, one in enumerate(advised)
    ]
    sell = [
        disposal(one, sales, moment) for one in sales["sales"] if one["quantity"] and Decimal(one["gain"]) > 0
    ]
    with transaction.atomic():
        publish(BUY, buy, organisation=organisation, now=now, whole=True)
        publish(SELL, sell, organisation=organisation, now=now, whole=True)
        _looked(organisation, now, seen, found=len(buy) + len(sell))
    return True


def commitment_rows_all(*, now: datetime) -> int:
    """Every organisation; how many had something new."""
    return sum(
        commitment_rows_publish(organisation=one, now=now) for one in Organisation.objects.order_by("pk")
    )


def _why_not(organisation: Organisation, advice: Mapping[str, Any], moment: datetime) -> list[dict[str, str]]:
    """What is missing for a judgement: any bill, or one that reaches into the look-back."""
    days = bill_days(organisation, at=moment)
    if days is None:
        return []
    values = {
        "day": (days.end - timedelta(days=1)).isoformat(),
        "lookback": advice["evidence"]["lookback_days"],
        "hours": advice["use"]["known_hours"],
        "needed": LEAST_HOURS,
    }
    told = _(
        "The newest bill ends on %(day)s: of the last %(lookback)d days %(hours)d hours are known and "
        "%(needed)d are needed. Load a newer bill."
    )
    return [{"name": _("Commitments"), "reason": told % values}]


def _looked(
    organisation: Organisation,
    now: datetime,
    seen: str,
    *,
    found: int,
    problems: Sequence[Mapping[str, str]] = (),
) -> None:
    InboxLook.objects.update_or_create(
        organisation=organisation,
        kind=BUY,
        defaults={"at": now, "seen": seen, "looked": found, "found": found, "problems": list(problems)},
    )


def _seen(snapshots: Mapping[str, int]) -> str:
    parts = [code_fingerprint(), snapshots.get(BILL_LINES), market_state()]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def purchase(one: Mapping[str, Any], document: Mapping[str, Any], *, part: int = 0) -> Finding:
    """An offer to buy; `part`: which part of its pool's hours it takes. `one_time`: what is paid at once."""
    claim = one["claims"][0]
    start, end = (datetime.fromisoformat(claim[name]) for name in ("from", "to"))
    low, saving, high = _ordered(one["saving_low"], one["saving"], one["saving_high"])
    evidence = document["evidence"]
    return Finding(
        subject=f"buy:{one['region']}:{one['offer']}:{one['upfront_each']}"[:300],
        document={
            **{k: v for k, v in one.items() if k not in ("cash_curve", "scenarios", "scenario_set")},
            "known_hours": document["use"]["known_hours"],
            "months": str((Decimal(str(one["hours_left"])) / MONTH_HOURS).quantize(Decimal("0.01"))),
        },
        claims=(f"{pool_of(one)}#{part + 1}",),
        claim_start=start,
        claim_end=end,
        currency=one["currency"],
        saving_low=low,
        saving=saving,
        saving_high=high,
        monthly_saving=_money(one["monthly_saving"]),
        one_time=_money(one["upfront"]),
        effort="low",
        reversibility="partly" if one["offering_class"] == "standard" else "none",
        evidence=_evidence(evidence, {"lookback_days": evidence["lookback_days"], "claims": one["claims"]}),
        scenario_set=str(one.get("scenario_set", "")),
        scenarios=tuple(_money(value) for value in one.get("scenarios", ())),
    )


def disposal(one: Mapping[str, Any], document: Mapping[str, Any], at: datetime) -> Finding:
    """Reservations to sell; the saving is the gain against keeping them."""
    low, saving, high = _ordered(one["gain_low"], one["gain"], one["gain_high"])
    end = datetime.fromisoformat(one["end"])
    hours = Decimal(int((end - at).total_seconds())) / 3600
    evidence = document["evidence"]
    return Finding(
        subject=f"sell:{one['id']}"[:300],
        document={**one, "months": str(one["months_left"]), "rules": document["rules"]},
        claims=(f"reservation:{one['id']}"[:300],),
        claim_start=at,
        claim_end=end,
        currency=one["currency"],
        saving_low=low,
        saving=saving,
        saving_high=high,
        monthly_saving=(saving / hours * MONTH_HOURS).quantize(DIGITS),
        one_time=Decimal(0),
        effort="medium",
        reversibility="none",
        evidence=_evidence(evidence, {"lookback_days": evidence["lookback_days"]}),
    )


def pool_of(one: Mapping[str, Any]) -> str:
    """The key of the pool whose hours a purchase takes."""
    claim = one["claims"][0]
    names = ("provider", "region", "zone", "of", "platform", "tenancy")
    return ":".join(["pool", *(str(claim[name] or "") for name in names)])


def _ordered(*texts: str) -> tuple[Decimal, Decimal, Decimal]:
    """Low, expected, high; the expected one comes without the noise of the draws and may lie beyond an end
    by that noise: the end gives way.
    """
    low, saving, high = (_money(text) for text in texts)
    return min(low, saving), saving, max(high, saving)


def _money(text: str) -> Decimal:
    return Decimal(text).quantize(DIGITS)


def _evidence(evidence: Mapping[str, Any], inputs: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "inputs": dict(inputs),
        "snapshots": evidence["snapshots"],
        "engine": evidence["engine"],
        "at": evidence["at"],
        "later_prices": evidence["later_prices"],
    }
