"""What is not final: data that is late, does not reconcile or may still grow."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any

from django.db.models import Q
from django.utils.translation import gettext as _

from apps.ingest.models import Feed, FeedState
from apps.reports import wording as w
from apps.reports.sections import Block, Question
from finops.text import display as fmt

SHOWN = 6


def block(question: Question) -> Block | None:
    """Sentences, the gravest first; nothing where everything is delivered, closed and reconciled."""
    spend = question.spend
    told: list[str] = []
    gaps = list({(gap.report, gap.billing_period, gap.reason): gap for gap in spend.coverage.gaps}.values())
    gaps.sort(key=lambda gap: (_RANK.get(gap.reason, 9), gap.billing_period, gap.report))
    if spend.compared is None:
        told.append(_("No day of this week is delivered yet: there is nothing to compare."))
    elif not spend.compared.whole:
        told.append(
            _("Delivered are %(days)s; they are compared with the same days of the week before.")
            % {"days": w.window_days(spend.compared.after)}
        )
    told += [gap.sentence() for gap in gaps if gap.reason != "not over"]
    grows = _grows_from(question)
    if grows is not None:
        told.append(_("Days from %(day)s on may still grow.") % {"day": w.day(grows)})
    if spend.before is not None and any(gap.reason != "not final" for gap in spend.before.gaps):
        told.append(_("The week before is not complete either."))
    told += [] if not spend.refused else [spend.refused]
    told += _feeds(question)
    if not told:
        return None
    document: dict[str, Any] = {
        "gaps": [gap.document() for gap in gaps],
        "grows_from": None if grows is None else grows.isoformat(),
        "sentences": told,
    }
    shown = told[:SHOWN]
    if len(told) > SHOWN:
        shown.append(_("%(n)d more under Data.") % {"n": len(told) - SHOWN})
    return Block(_("Not final"), notes=tuple(w.clean(one) for one in shown), document=document, warn=True)


_RANK = {
    "not reconciled": 0,
    "counted twice": 1,
    "not delivered": 2,
    "days missing": 3,
    "daily totals only": 4,
}


def _grows_from(question: Question) -> date | None:
    """The first day of the compared ones that a later delivery may still change."""
    spend = question.spend
    if spend.days is None or spend.compared is None:
        return None
    first = max(spend.days.settled_until, spend.compared.after.start)
    return first if first < spend.compared.after.end else None


def _feeds(question: Question) -> list[str]:
    """Feeds of the organisation, or of all, that fail."""
    mine = Q(organisation=question.organisation) | Q(organisation__isnull=True)
    rows = Feed.objects.filter(mine, state=FeedState.FAILING).order_by("name", "pk")
    told = []
    for row in rows:
        since = row.last_success_at
        if since is not None and question.now - since < timedelta(hours=1):
            continue
        age = _("never answered") if since is None else _("last answered %(age)s") % {
            "age": fmt.age(since, question.now, w.lang()),
        }  # fmt: skip
        told.append(_("The feed %(name)s fails: %(age)s.") % {"name": w.clean(row.name), "age": age})
    return told
