"""Recommendations as the JSON of command line and REST, and as cards of the pages."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

from django.conf import settings
from django.utils.translation import get_language
from django.utils.translation import gettext as _

from apps.accounts.models import Organisation
from apps.ingest.reports import iso
from apps.recommendations.kinds import Sentence, kind_for
from apps.recommendations.models import InboxLook, RealisedSaving, Recommendation, RecommendationEvent
from apps.recommendations.selectors.inbox import recommendation_list
from apps.recommendations.selectors.standing import Standing, monthly, standing
from finops.engine.alternatives import Amount, Total
from finops.frames.money import EXACT
from finops.text.numbers import decimal_text

Document = dict[str, Any]
PLACES = Decimal("0.000001")


@dataclass(frozen=True, slots=True)
class Card:
    """A recommendation in words, with its saving a month, and how it stands to the others.

    `counted`: in the total; `alternatives`: ids of open ones that claim the same; `held_by`: the accepted
    one that has its hours.
    """

    row: Recommendation
    kind_title: str
    sentence: Sentence
    monthly: Amount
    counted: bool
    alternatives: tuple[int, ...]
    held_by: int | None


@dataclass(frozen=True, slots=True)
class BestOpen:
    """The largest that can be had together. `waiting`: all open ones; `counted` of them are in the totals."""

    cards: tuple[Card, ...]
    totals: Mapping[str, Total]
    waiting: int
    counted: int


def card_of(row: Recommendation, found: Standing, language: str | None = None) -> Card:
    """The card of a row in the language asked for, by default the active one."""
    kind = kind_for(row.kind)
    return Card(
        row=row,
        kind_title=str(kind.title),
        sentence=kind.wording(row.document, language or get_language() or "en"),
        monthly=monthly(row),
        counted=row.pk in found.counted,
        alternatives=found.alternatives.get(row.pk, ()),
        held_by=found.held_by.get(row.pk),
    )


def best_open(organisation: Organisation, limit: int = 3) -> BestOpen:
    """The `limit` largest open recommendations of the best set without conflicts, with its totals."""
    found = standing(organisation)
    best = [row.pk for row in found.rows if row.pk in found.counted]
    shown = recommendation_list(organisation).filter(pk__in=best[:limit])
    return BestOpen(
        cards=tuple(card_of(row, found) for row in shown),
        totals=found.totals,
        waiting=len(found.rows),
        counted=len(best),
    )


def inbox_document(
    organisation: Organisation,
    rows: Iterable[Recommendation],
    *,
    now: datetime,
    among: Collection[int] | None = None,
) -> Document:
    """`{"recommendations", "totals", "open", "looks", "evidence"}`. `among`: totals of these ids only."""
    found = standing(organisation, among)
    return {
        "recommendations": [recommendation_document(row, found) for row in rows],
        "totals": totals_document(found),
        "open": len(found.rows),
        "looks": looks_document(organisation),
        "evidence": {
            "snapshots": {},
            "engine": settings.OFFPEAK_VERSION,
            "at": iso(now),
            "later_prices": None,
        },
    }


def totals_document(found: Standing) -> list[Document]:
    """The best set without conflicts by currency, a month."""
    return [
        {
            "currency": currency,
            "monthly_saving": decimal_text(total.expected),
            "low": _money(total.low),
            "high": _money(total.high),
            "method": total.method,
            "count": sum(row.pk in found.counted and row.currency == currency for row in found.rows),
        }
        for currency, total in found.totals.items()
    ]


def looks_document(organisation: Organisation) -> list[Document]:
    """When each kind was last looked for."""
    return [
        {
            "kind": look.kind,
            "at": iso(look.at),
            "looked": look.looked,
            "found": look.found,
            "not_judged": look.problems,
        }
        for look in InboxLook.objects.filter(organisation=organisation)
    ]


def recommendation_document(row: Recommendation, found: Standing) -> Document:
    """One row as JSON values; money as decimal texts."""
    card = card_of(row, found)
    open_ = row.pk in found.alternatives
    return {
        "id": row.pk,
        "kind": row.kind,
        "kind_title": card.kind_title,
        "subject": row.subject,
        "title": card.sentence.title,
        "sentence": card.sentence.text,
        "lines": [{"label": label, "value": value} for label, value in card.sentence.lines],
        "state": row.state,
        "until": row.until.isoformat() if row.until else None,
        "reason": row.reason,
        "author": row.author,
        "stated_at": iso(row.stated_at),
        "owner": row.owner.email if row.owner else None,
        "team": row.team.slug if row.team else None,
        "effort": row.effort,
        "reversibility": row.reversibility,
        "claims": row.claims,
        "claim_start": iso(row.claim_start),
        "claim_end": iso(row.claim_end),
        "currency": row.currency,
        **{
            name: decimal_text(getattr(row, name))
            for name in ("saving_low", "saving", "saving_high", "monthly_saving", "one_time")
        },
        "monthly_low": _money(card.monthly.low),
        "monthly_high": _money(card.monthly.high),
        "counted": card.counted if open_ else None,
        "alternatives": list(card.alternatives),
        "held_by": card.held_by,
        "follows": row.follows_id,
        "found_at": iso(row.found_at),
        "refreshed_at": iso(row.refreshed_at),
        "gone_at": iso(row.gone_at),
        "accepted_at": iso(row.accepted_at),
        "document": row.document,
        "evidence": row.evidence,
    }


def detail_document(row: Recommendation, found: Standing) -> Document:
    """The row with its history, the counterfactual and what later bills say."""
    months = list(row.realised.all())
    return {
        **recommendation_document(row, found),
        "counterfactual": row.counterfactual,
        "history": [_event(event) for event in row.events.all()],
        "realised": [realised_document(month) for month in months],
        "realised_total": realised_total(months),
    }


def realised_document(month: RealisedSaving) -> Document:
    """One month: promised, what it would have cost, what it did cost."""
    return {
        "month": f"{month.month:%Y-%m}",
        "currency": month.currency,
        **{
            name: decimal_text(getattr(month, name))
            for name in ("promised", "counterfactual", "actual", "saving")
        },
        "complete": month.complete,
        "reason": _(month.reason) if month.reason else None,
        "evidence": month.evidence,
    }


def realised_total(months: Sequence[RealisedSaving]) -> Document | None:
    """Promised and realised over the months whose bill is closed; None where no month is."""
    closed = [month for month in months if month.complete and month.saving is not None]
    if not closed:
        return None
    return {
        "months": len(closed),
        "currency": closed[0].currency,
        "promised": decimal_text(sum((month.promised for month in closed), Decimal(0))),
        "saving": decimal_text(sum((month.saving or Decimal(0) for month in closed), Decimal(0))),
    }


def _event(event: RecommendationEvent) -> Document:
    return {
        "at": iso(event.at),
        "action": event.action,
        "before": event.before or None,
        "after": event.after,
        "actor": event.actor_label,
        "reason": event.reason,
        "facts": event.facts,
    }


def _money(amount: Decimal) -> str | None:
    """An end of an interval: six decimals, more would be noise."""
    return decimal_text(amount.quantize(PLACES, context=EXACT))
