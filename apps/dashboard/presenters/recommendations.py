"""Recommendations in words: cards of the inbox, one in full, promised and realised by month."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, time
from decimal import Decimal
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from apps.dashboard import format as fmt
from apps.dashboard.words import capital, count_word, lang
from apps.recommendations.models import (
    RealisedSaving,
    Recommendation,
    RecommendationEvent,
    RecommendationState,
)
from apps.recommendations.selectors.inbox_document import Card
from apps.recommendations.selectors.standing import Standing
from finops.engine.alternatives import Total

STATE_KINDS = {
    RecommendationState.OPEN: "warn",
    RecommendationState.ACCEPTED: "pass",
    RecommendationState.DONE: "pass",
    RecommendationState.SNOOZED: "info",
    RecommendationState.DISMISSED: "info",
    RecommendationState.EXPIRED: "info",
}


@dataclass(frozen=True, slots=True)
class CardView:
    """A card as it is shown. `range`: positions on the one scale of the list, 0 to 100."""

    pk: int
    title: str
    text: str
    meta: str
    saving: str
    interval: str
    range: Mapping[str, Any]
    note: str
    others: list[tuple[int, str]]
    state: str
    state_word: str
    state_kind: str
    said: str
    waits: bool
    taken: bool


def heading(found: Standing, waiting: int, ever: bool, bills_end: datetime | None = None) -> str:
    """The answer of the page in one sentence."""
    if not waiting:
        if bills_end is not None:
            day = fmt.day(bills_end, UTC, lang(), year=True)
            return _("Nothing can be judged for today: the bills end on %(day)s.") % {"day": day}
        return _("Nothing waits for a decision.") if ever else _("No recommendations yet.")
    counted = len(found.counted)
    worth = worth_of(found.totals)
    if not counted:
        text = ngettext(
            "%(n)s open recommendation, and none can be counted.",
            "%(n)s open recommendations, and none can be counted.",
            waiting,
        )
        return capital(text % {"n": count_word(waiting)})
    if counted == waiting:
        text = ngettext(
            "%(n)s open recommendation is worth %(worth)s a month.",
            "%(n)s open recommendations are worth %(worth)s a month.",
            counted,
        )
    else:
        text = _("%(n)s of %(all)s open recommendations go together: %(worth)s a month.")
    return capital(text % {"n": count_word(counted), "all": count_word(waiting), "worth": worth})


def worth_of(totals: Mapping[str, Total]) -> str:
    """The totals in accent; two currencies are never added."""
    return _(" and ").join(f"[[{fmt.money(one.expected, currency)}]]" for currency, one in totals.items())


def lead(found: Standing) -> str:
    """Interval of the sum, and what is in it."""
    if not found.totals:
        return ""
    spans = ", ".join(
        f"{currency} {fmt.span(one.low, one.high, lang(), decimals=_decimals(one.expected))}"
        for currency, one in found.totals.items()
    )
    parts = [_("90 %% interval %(spans)s.") % {"spans": spans}]
    if len(found.counted) < len(found.rows):
        parts.append(_("Alternatives claim the same hours and are counted once."))
    return ("" if fmt.is_zh(lang()) else " ").join(parts)


def method_note(totals: Mapping[str, Total]) -> str:
    """How the interval of the sum was computed, in a sentence; "" where nothing was added."""
    used = {one.method for one in totals.values()}
    if any("scenarios" in method and "independent" in method for method in used):
        return _(
            "The interval is of the sum: amounts of the same scenarios are added scenario by scenario, the "
            "rest counts as independent."
        )
    if "scenarios" in used:
        return _("The interval is of the sum, added scenario by scenario.")
    if "independent" in used:
        return _("The interval is of the sum; the recommendations count as independent of each other.")
    return ""


def cards(found: Sequence[Card], titles: Mapping[int, str]) -> list[CardView]:
    """The cards of a list on one scale a currency."""
    scales: dict[str, tuple[Decimal, Decimal]] = {}
    for card in found:
        low, high = scales.get(card.row.currency, (Decimal(0), Decimal(0)))
        scales[card.row.currency] = (min(low, card.monthly.low), max(high, card.monthly.high))
    return [view(card, titles, scales[card.row.currency]) for card in found]


def view(card: Card, titles: Mapping[int, str], scale: tuple[Decimal, Decimal]) -> CardView:
    """One card."""
    row = card.row
    others = [(pk, titles[pk]) for pk in card.alternatives if pk in titles]
    note = ""
    if card.held_by:
        others = [(card.held_by, titles.get(card.held_by, str(card.held_by)))]
        note = _("Claimed by what was accepted:")
    elif others:
        note = _("Alternative to")
    return CardView(
        pk=row.pk,
        title=card.sentence.title,
        text=card.sentence.text,
        meta=meta(card),
        saving=fmt.money(card.monthly.expected, row.currency),
        interval=fmt.span(
            card.monthly.low, card.monthly.high, lang(), decimals=_decimals(card.monthly.expected)
        ),
        range=_range(card, scale),
        note=note,
        others=others,
        state=row.state,
        state_word=str(row.get_state_display()),
        state_kind=STATE_KINDS[RecommendationState(row.state)],
        said=said(row),
        waits=row.state == RecommendationState.OPEN,
        taken=card.held_by is not None,
    )


def meta(card: Card) -> str:
    """Kind, owner, team, effort, reversibility."""
    row = card.row
    owner = row.owner.get_full_name() if row.owner else _("no owner")
    parts = [card.kind_title, owner]
    if row.team:
        parts.append(row.team.name)
    return " · ".join([*parts, str(row.get_effort_display()), str(row.get_reversibility_display())])


def said(row: Recommendation) -> str:
    """Who decided, until when and why; "" for what nobody decided on."""
    if not row.author:
        return ""
    values = {"who": row.author, "why": row.reason or "—"}
    if row.until is not None:
        values["until"] = day_word(row.until)
        return _("Until %(until)s, by %(who)s: %(why)s") % values
    return (_("By %(who)s: %(why)s") if row.reason else _("By %(who)s")) % values


def day_word(day: Any) -> str:
    """A calendar day in words."""
    return fmt.day(datetime.combine(day, time(), UTC), UTC, lang(), year=True)


@dataclass(frozen=True, slots=True)
class MonthView:
    """One month of promised against realised."""

    month: str
    promised: str
    would: str
    did: str
    saved: str
    kind: str
    word: str
    reason: str


def months(rows: Sequence[RealisedSaving]) -> list[MonthView]:
    """Oldest first; a month without a bill has dashes and the reason."""
    return [
        MonthView(
            month=f"{row.month:%Y-%m}",
            promised=fmt.number(row.promised, 2),
            would=fmt.number(row.counterfactual, 2),
            did=fmt.number(row.actual, 2),
            saved=fmt.number(row.saving, 2, sign=True),
            kind="unknown" if row.saving is None else "pass" if row.complete else "info",
            word=_("Cannot judge")
            if row.saving is None
            else _("Bill closed")
            if row.complete
            else _("So far"),
            reason=_(row.reason) if row.reason else "",
        )
        for row in rows
    ]


def history(rows: Sequence[RecommendationEvent]) -> list[dict[str, Any]]:
    """What happened, newest first."""
    return [
        {
            "at": event.at,
            "what": str(event.get_action_display()),
            "who": event.actor_label,
            "why": event.reason,
            "saving": fmt.money(event.facts.get("saving"), str(event.facts.get("currency", ""))),
            "was": fmt.money(event.facts["was"].get("saving"), event.facts["was"].get("currency", ""))
            if "was" in event.facts
            else "",
        }
        for event in reversed(rows)
    ]


def _decimals(amount: Decimal) -> int:
    return 0 if abs(amount) >= 100 else 2


def _range(card: Card, scale: tuple[Decimal, Decimal]) -> dict[str, Any]:
    low, high = scale
    width = high - low or Decimal(1)

    def place(value: Decimal) -> str:
        return f"{(value - low) / width * 100:.2f}"

    return {
        "zero": place(Decimal(0)),
        "low": place(card.monthly.low),
        "high": place(card.monthly.high),
        "at": place(card.monthly.expected),
        "best": card.counted or (not card.alternatives and card.held_by is None),
    }
