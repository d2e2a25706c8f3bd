"""What was saved, as bills measured it, and what is on the table."""

from __future__ import annotations

from datetime import date, timedelta
from decimal import Decimal
from typing import Any

from django.db.models import Count, Max, QuerySet, Sum
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from apps.recommendations.models import RealisedSaving
from apps.recommendations.selectors.inbox import recommendation_list
from apps.recommendations.selectors.inbox_document import Card, card_of, totals_document
from apps.recommendations.selectors.standing import Standing, standing
from apps.reports import wording as w
from apps.reports.sections import Block, Cell, Column, Question
from finops.engine.alternatives import Total
from finops.engine.spend import rounded_parts
from finops.text import display as fmt
from finops.text.numbers import decimal_text

BEST, ROWS = 3, 8


def months_measured(question: Question) -> QuerySet[RealisedSaving]:
    """Months of accepted recommendations in the report's scope. They are not kept by account: none then."""
    rows = RealisedSaving.objects.filter(recommendation__organisation=question.organisation)
    if question.account:
        return rows.none()
    return rows if question.team is None else rows.filter(recommendation__team=question.team)


def measured(question: Question) -> dict[str, tuple[Decimal, Decimal, int]]:
    """Promised, saved and the number of months whose bill is closed, by currency: as the Recommendations page
    has them.
    """
    rows = (
        months_measured(question)
        .filter(complete=True)
        .values("currency")
        .annotate(promised=Sum("promised"), saved=Sum("saving"), months=Count("pk"))
        .order_by("currency")
    )
    return {row["currency"]: (row["promised"], row["saved"], row["months"]) for row in rows}


def realised(question: Question) -> Block | None:
    """The newest month of the bills up to the week, recommendation by recommendation."""
    last = question.week.last.replace(day=1)
    before = (last - timedelta(days=1)).replace(day=1)
    window = months_measured(question).filter(month__in=[before, last])
    newest = window.aggregate(at=Max("month"))["at"]
    if newest is None:
        return None
    chosen = window.filter(month=newest).select_related("recommendation").order_by("-promised", "pk")
    rows = list(chosen)
    known = [row for row in rows if row.saving is not None]
    currencies = {row.currency for row in rows}
    heads = (
        Column(_("Accepted")),
        Column(_("Promised"), number=True),
        Column(_("Realised"), number=True),
    )
    shown = _money(rows, known, many=len(currencies) > 1)
    cells = tuple(_realised_row(row, *shown[row.pk]) for row in rows[:ROWS])
    notes = []
    if len(rows) > ROWS:
        more = len(rows) - ROWS
        notes.append(ngettext("%(n)d more on the page.", "%(n)d more on the page.", more) % {"n": more})
    unknown = len(rows) - len(known)
    total: tuple[Cell, ...] = ()
    if known and len(currencies) == 1:
        label = _("Measured") if not unknown else _("Measured, %(n)d of %(all)d") % {
            "n": len(known), "all": len(rows),
        }  # fmt: skip
        promised, saved = _sum(known, "promised"), _sum(known, "saving")
        total = (
            Cell(label),
            Cell(fmt.number(promised, 2)),
            Cell(fmt.number(saved, 2, sign=True)),
        )
    unit = ", ".join(w.currency_head(currency) for currency in sorted(currencies))
    measure = _("%(month)s, %(unit)s; realised is what the bill says, against what it would have been") % {
        "month": _month_year(newest), "unit": unit,
    }  # fmt: skip
    return Block(
        _("Promised and realised"), measure, heads, cells, total, tuple(notes), _realised_document(rows)
    )


def _sum(rows: list[RealisedSaving], name: str) -> Decimal:
    return sum((getattr(row, name) for row in rows), Decimal(0))


def _money(
    rows: list[RealisedSaving], known: list[RealisedSaving], *, many: bool
) -> dict[int, tuple[Decimal, Decimal | None]]:
    """Promised and saved as they are shown: those that are measured add up to the line below them."""
    shown: dict[int, tuple[Decimal, Decimal | None]] = {row.pk: (row.promised, row.saving) for row in rows}
    if not many and len(rows) <= ROWS:
        promised = rounded_parts([row.promised for row in known])[0]
        saved = rounded_parts([row.saving or Decimal(0) for row in known])[0]
        shown |= {row.pk: pair for row, pair in zip(known, zip(promised, saved, strict=True), strict=True)}
    return shown


def _realised_row(row: RealisedSaving, promised: Decimal, saved: Decimal | None) -> tuple[Cell, ...]:
    one = row.recommendation
    told = ""
    if row.saving is None:
        told = _(row.reason) if row.reason else _("bill not there yet")
    elif not row.complete:
        told = _("so far; the bill is not closed")
    else:
        told = _("bill closed")
    since = _("since %(day)s") % {"day": w.day(one.accepted_at.date())} if one.accepted_at else ""
    unit = f" · {w.currency_head(row.currency)}"
    return (
        Cell(_title(one), since + unit, w.link("recommendation", one.pk)),
        Cell(fmt.number(promised, 2)),
        Cell(fmt.number(saved, 2, sign=True), told),
    )


def _title(row: Any) -> str:
    return w.clean(card_of(row, Standing()).sentence.title)


def _month_year(month: date) -> str:
    return f"{month.year}年{month.month}月" if fmt.is_zh(w.lang()) else f"{w.month(month)} {month.year}"


def _realised_document(rows: list[RealisedSaving]) -> dict[str, Any]:
    return {
        "months": [
            {
                "recommendation": row.recommendation_id,
                "month": f"{row.month:%Y-%m}",
                "currency": row.currency,
                "promised": decimal_text(row.promised),
                "saving": decimal_text(row.saving),
                "complete": row.complete,
                "reason": row.reason or None,
            }
            for row in rows
        ]
    }


def standing_of(question: Question) -> Standing | None:
    """What waits in the report's scope: the team's rows or all; recommendations are not kept by account."""
    if question.account:
        return None
    among = None
    if question.team is not None:
        rows = recommendation_list(question.organisation).filter(team=question.team)
        among = list(rows.values_list("pk", flat=True))
    return standing(question.organisation, among, now=question.now)


def best_of(question: Question, found: Standing) -> list[Card]:
    """The largest that can be had together, at most three."""
    counted = [row.pk for row in found.rows if row.pk in found.counted]
    rows = recommendation_list(question.organisation).filter(pk__in=counted[:BEST])
    return [card_of(row, found) for row in rows]


def waiting(question: Question, found: Standing) -> int:
    """How many open ones are in the scope."""
    rows = found.rows
    return sum(question.team is None or row.team_id == question.team.pk for row in rows)


def still_open(question: Question) -> Block | None:
    """The best three that can be had together, each with its page; the sum is of all that can be."""
    found = standing_of(question)
    if found is None or not (count := waiting(question, found)):
        return None
    cards = best_of(question, found)
    heads = (Column(_("Recommendation")), Column(_("A month"), number=True))
    rows = tuple(_card_row(card) for card in cards)
    left = count - len(cards)
    notes = [_total_note(found, count)]
    if left > 0:
        notes.append(
            ngettext("%(n)d more is open on the page.", "%(n)d more are open on the page.", left)
            % {"n": left}
        )
    return Block(
        _("Still on the table"),
        _("Expected saving a month with its 90 % interval; alternatives are never added up"),
        heads,
        rows,
        (),
        tuple(note for note in notes if note),
        {"open": count, "totals": totals_document(found), "best": [_card_document(card) for card in cards]},
    )


def _card_row(card: Card) -> tuple[Cell, ...]:
    row, monthly = card.row, card.monthly
    unit = w.currency_head(row.currency)
    return (
        Cell(w.clean(card.sentence.title), w.clean(card.sentence.text), w.link("recommendation", row.pk)),
        Cell(
            w.money(row.monthly_saving, row.currency),
            fmt.span(monthly.low, monthly.high, w.lang()) if monthly.low != monthly.high else unit,
        ),
    )


def _card_document(card: Card) -> dict[str, Any]:
    row = card.row
    return {
        "id": row.pk,
        "title": w.clean(card.sentence.title),
        "monthly_saving": decimal_text(row.monthly_saving),
        "currency": row.currency,
        "link": w.link("recommendation", row.pk),
    }


def _total_note(found: Standing, count: int) -> str:
    if not found.totals:
        return ""
    parts = [_total_word(currency, total) for currency, total in found.totals.items()]
    return _("All that can be had together: %(sums)s a month.") % {"sums": _(" and ").join(parts)}


def _total_word(currency: str, total: Total) -> str:
    text = w.money(total.expected, currency)
    if total.low == total.high:
        return text
    return f"{text} ({fmt.span(total.low, total.high, w.lang())})"
