"""Offers that beat somebody's rule and may soon be gone."""

from __future__ import annotations

from datetime import datetime, timedelta
from decimal import Decimal
from statistics import median
from typing import Any

from django.db.models import Q
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from apps.billing.models import SeenOffer
from apps.recommendations.models import DealAlert
from apps.recommendations.selectors.deals import deal_alerts
from apps.reports import wording as w
from apps.reports.sections import Block, Cell, Column, Question
from finops.text import display as fmt
from finops.text.numbers import decimal_text

SHOWN, LEAST_GONE = 3, 3
YEAR = timedelta(days=365)


def standing_alerts(question: Question) -> list[DealAlert]:
    """Alerts of offers that still stand and that nobody has taken note of."""
    rows = deal_alerts(question.organisation, unseen=True).filter(raised_at__lte=question.now)
    if question.account:
        return []
    if question.team is not None:
        rows = rows.filter(Q(rule__team=question.team) | Q(rule__team__isnull=True))
    seen: dict[int, DealAlert] = {}
    for row in rows:  # one offer may beat several rules
        seen.setdefault(row.offer_id, row)
    return list(seen.values())


def usual_hours(offer: SeenOffer, now: datetime) -> tuple[float, int] | None:
    """(median hours that such offers lasted, how many); None where fewer than three are gone."""
    alike = SeenOffer.objects.filter(
        provider=offer.provider, kind=offer.kind, region=offer.region, platform=offer.platform,
        instance_type=offer.instance_type, gone_at__lte=now, first_seen_at__gte=now - YEAR,
    )  # fmt: skip
    lasted = [
        (gone - first).total_seconds() / 3600
        for first, gone in alike.values_list("first_seen_at", "gone_at")
        if gone is not None
    ]
    return (median(lasted), len(lasted)) if len(lasted) >= LEAST_GONE else None


def block(question: Question) -> Block | None:
    """Those closest to the age at which such offers go come first."""
    found = []
    for alert in standing_alerts(question):
        age = (question.now - alert.offer.first_seen_at).total_seconds() / 3600
        usual = usual_hours(alert.offer, question.now)
        left = float("inf") if usual is None else usual[0] - age
        found.append((left, alert, age, usual))
    if not found:
        return None
    found.sort(key=lambda one: (one[0], one[1].pk))
    rows = tuple(_row(alert, age, usual, question) for _left, alert, age, usual in found[:SHOWN])
    more = len(found) - len(rows)
    notes: tuple[str, ...] = ()
    if more:
        notes = (ngettext("%(n)d more under Deals.", "%(n)d more under Deals.", more) % {"n": more},)
    return Block(
        _("Deals that may soon be gone"),
        _("Offers that beat a rule of yours; saving over the term, 90 % interval. Buying needs an approval"),
        (Column(_("Offer")), Column(_("Saves"), number=True)),
        rows,
        (),
        notes,
        {"deals": [_document(alert, usual) for _left, alert, _age, usual in found]},
    )


def _row(
    alert: DealAlert, age: float, usual: tuple[float, int] | None, question: Question
) -> tuple[Cell, ...]:
    offer, facts = alert.offer, alert.document
    quantity = facts.get("quantity")
    what = f"{quantity} × {offer.instance_type}" if quantity else offer.instance_type
    told = _("stands for %(age)s") % {"age": fmt.duration(timedelta(hours=age), w.lang())}
    if usual is not None:
        told = _("%(told)s; such offers lasted %(usual)s (median of %(n)d)") % {
            "told": told, "usual": fmt.duration(timedelta(hours=usual[0]), w.lang()), "n": usual[1],
        }  # fmt: skip
    saving = facts.get("saving")
    return (
        Cell(
            w.clean(f"{what} {offer.platform}, {offer.zone or offer.region}"),
            w.joined(told + ".", _("Rule: %(rule)s.") % {"rule": w.clean(alert.rule.name)}),
            w.link("deal-offer", offer.pk),
        ),
        Cell(
            w.money(None if saving is None else Decimal(str(saving)), offer.currency),
            fmt.span(facts.get("saving_low"), facts.get("saving_high"), w.lang()),
        ),
    )


def _document(alert: DealAlert, usual: tuple[float, int] | None) -> dict[str, Any]:
    offer = alert.offer
    return {
        "offer": offer.pk,
        "type": offer.instance_type,
        "region": offer.region,
        "currency": offer.currency,
        "paid_once": decimal_text(offer.fixed),
        "first_seen_at": offer.first_seen_at.isoformat().replace("+00:00", "Z"),
        "saving": alert.document.get("saving"),
        "usual_hours": None if usual is None else round(usual[0], 3),
        "usual_n": None if usual is None else usual[1],
    }
