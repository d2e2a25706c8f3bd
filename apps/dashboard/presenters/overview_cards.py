"""The lower cards of the Overview page in words: how compute is paid, what the numbers rest on."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from apps.billing.models import Delivery
from apps.billing.selectors.savings import COMMITTED, ON_DEMAND, OTHER, PARTS, SPOT, UNUSED
from apps.dashboard import format as fmt
from apps.dashboard.overview import Overview
from apps.dashboard.presenters.delivery_notes import doubts
from apps.dashboard.presenters.recommendations import worth_of
from apps.dashboard.presenters.spend_words import instant, month_word
from apps.dashboard.words import capital, count_word, lang
from apps.recommendations.selectors.inbox_document import BestOpen

PART_WORDS: dict[str, Any] = {
    ON_DEMAND: gettext_lazy("On-demand"),
    COMMITTED: gettext_lazy("Commitment used"),
    SPOT: gettext_lazy("Spot"),
    UNUSED: gettext_lazy("Commitment unused"),
    OTHER: gettext_lazy("Other"),
}
PART_COLOURS = {ON_DEMAND: "c1", COMMITTED: "c3", SPOT: "c5", UNUSED: "c2", OTHER: "c-other"}


def recommended_title(best: BestOpen) -> str:
    """`Three open recommendations are worth $1,763 a month`; of all that can be had together."""
    text = ngettext(
        "%(n)s open recommendation is worth %(worth)s a month",
        "%(n)s open recommendations are worth %(worth)s a month",
        best.counted,
    )
    worth = worth_of(best.totals).replace("[[", "").replace("]]", "")
    return capital(text % {"n": count_word(best.counted), "worth": worth})


def split_rows(found: Overview) -> list[dict[str, Any]]:
    """How compute was paid, in the fixed order of colours."""
    rows = []
    for part in PARTS:
        amount = found.split.parts.get(part)
        if not amount:
            continue
        share = found.split.share(part)
        rows.append(
            {
                "name": PART_WORDS[part],
                "colour": PART_COLOURS[part],
                "amount": fmt.number(amount, 2),
                "share": fmt.percent(share, lang(), decimals=0),
                "width": f"{max(share or Decimal(0), Decimal(0)):.2f}",
            }
        )
    return rows


def split_title(found: Overview) -> str:
    """The finding about how compute is paid."""
    share = found.split.share(ON_DEMAND)
    if share is None or ON_DEMAND not in found.split.parts:
        return _("How it was paid")
    value = fmt.percent(share, lang(), decimals=0)
    if found.split.compute:
        return _("%(share)s of compute runs at the on-demand price") % {"share": value}
    return _("%(share)s of the cost is at the on-demand price") % {"share": value}


def split_note(found: Overview) -> str:
    """How much of the commitments was used; "" without any."""
    used, unused = (found.split.parts.get(part, Decimal(0)) for part in (COMMITTED, UNUSED))
    if used < 0 or unused < 0 or not used + unused:
        return ""
    share = fmt.percent(used / (used + unused) * 100, lang(), decimals=0)
    return _("%(share)s of what commitments cost was used.") % {"share": share}


@dataclass(frozen=True)
class DeliveryRow:
    """One delivery in the table of data behind the page."""

    name: str
    month: str
    to: str
    age: str
    read: str
    stored: str
    rejected: str
    difference: str
    kind: str
    word: str
    doubts: tuple[str, ...]


def delivery_rows(found: Overview) -> list[DeliveryRow]:
    """What the page rests on."""
    return [_delivery_row(row, found.now) for row in found.deliveries]


def _delivery_row(row: Delivery, now: datetime) -> DeliveryRow:
    kind, word = "unknown", _("Nothing to compare with")
    if row.stopgap:
        kind, word = "warn", _("Daily totals only")
    elif row.reconciled is not None:
        kind, word = ("pass", _("Reconciled")) if row.reconciled else ("deny", _("Differs"))
    told_doubts = tuple(doubts(row))
    if told_doubts and kind == "unknown":
        kind, word = "warn", _("In doubt")
    difference = row.difference if isinstance(row.difference, dict) else {}
    told = " · ".join(f"{fmt.number(_amount(v), 2)} {c}" for c, v in sorted(difference.items()))
    return DeliveryRow(
        str(row.report),
        month_word(row.billing_period),
        fmt.day(instant(row.last_day), UTC, lang()) if row.last_day else fmt.UNKNOWN,
        fmt.age(row.delivered_at, now, lang()),
        fmt.number(row.rows_read),
        fmt.number(row.stored),
        fmt.number(row.rejected),
        told or fmt.UNKNOWN,
        kind,
        word,
        told_doubts,
    )


def _amount(value: Any) -> Any:
    return next(iter(value.values()), None) if isinstance(value, dict) else value


def deliveries_title(found: Overview) -> str:
    """Whether the data behind the page is whole and right."""
    day = fmt.day(instant(found.last_day), UTC, lang(), year=True)
    judged = [row.reconciled for row in found.deliveries]
    if any(value is False for value in judged):
        return _("The data behind this page does not reconcile")
    if judged and all(judged):
        return _("The data behind this page goes to %(day)s and reconciles") % {"day": day}
    return _("The data behind this page goes to %(day)s; not all of it can be reconciled") % {"day": day}


def lateness_words(found: Overview) -> str:
    """Which days may still grow, and how that is known."""
    reports = found.days.reports
    days = max(report.late.days for report in reports)
    if all(report.late.source == "measured" for report in reports):
        return _("Days settle after %(n)s days, measured on earlier deliveries") % {"n": days}
    return _("Days are taken as settled after %(n)s days, the provider's stated default") % {"n": days}
