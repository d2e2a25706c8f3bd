"""Weekly reports and their mails in words."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from apps.dashboard import format as fmt
from apps.dashboard.presenters.spend_words import instant
from apps.dashboard.words import lang
from apps.reports.mail.letter import UNSUBSCRIBE
from apps.reports.models import Delivery, Recipient, Report, Sending, SendState, Subscription
from apps.reports.wording import number
from finops.engine.spend import week_of

KINDS = {
    SendState.SENT: "pass",
    SendState.WAITING: "info",
    SendState.SENDING: "info",
    SendState.UNKNOWN: "warn",
    SendState.DROPPED: "unknown",
    SendState.REFUSED: "deny",
    SendState.FAILED: "deny",
    SendState.BOUNCED: "deny",
}
AGAIN = (SendState.UNKNOWN, SendState.REFUSED, SendState.FAILED, SendState.BOUNCED, SendState.DROPPED)
# The preview's links open beside it: inside the frame they would replace the mail.
BASE = '<head><base target="_blank">'


def heading(subscriptions: Sequence[Subscription], bad: int) -> str:
    """The answer: what goes out next, or what did not arrive."""
    if bad:
        text = ngettext(
            "[[%(n)s]] mail of the last reports did not arrive.",
            "[[%(n)s]] mails of the last reports did not arrive.",
            bad,
        )
        return text % {"n": bad}
    active = [row for row in subscriptions if row.active]
    if not active:
        return _("No weekly report goes out yet.")
    values = {"n": len(active), "when": _moment(min(row.next_due_at for row in active))}
    text = ngettext(
        "[[%(n)s]] report goes out each week, the next on %(when)s.",
        "[[%(n)s]] reports go out each week, the next on %(when)s.",
        len(active),
    )
    return text % values


def _moment(at: datetime | None) -> str:
    return fmt.moment(at, timezone.get_current_timezone(), lang(), weekday=True)


@dataclass(frozen=True)
class SubscriptionLine:
    """A subscription as it is shown; `stopped`: recipients that get nothing, and why."""

    row: Subscription
    about: str
    when: str
    next: str
    recipients: int
    stopped: list[tuple[Recipient, str]]


def subscription_line(row: Subscription) -> SubscriptionLine:
    """The subscription in words."""
    about = [str(row.get_edition_display()), str(row.get_language_display())]
    if row.team is not None:
        about.append(_("team %(name)s") % {"name": row.team.name})
    if row.account:
        about.append(_("account %(name)s") % {"name": row.account})
    when = _("%(day)s %(hour)02d:00 %(zone)s") % {
        "day": row.get_weekday_display(), "hour": row.hour, "zone": row.time_zone,
    }  # fmt: skip
    everyone = list(row.recipients.all())
    stopped = [(one, _stopped(one)) for one in everyone if one.unsubscribed_at or one.refused_at]
    return SubscriptionLine(
        row, " · ".join(about), when, _moment(row.next_due_at) if row.active else fmt.UNKNOWN,
        len(everyone) - len(stopped), stopped,
    )  # fmt: skip


def _stopped(row: Recipient) -> str:
    if row.unsubscribed_at is not None:
        return _("unsubscribed on %(day)s") % {"day": fmt.day(row.unsubscribed_at, UTC, lang(), year=True)}
    return _("mail came back: %(why)s") % {"why": row.reason}


@dataclass(frozen=True)
class ReportLine:
    """A report of the list. `kind`, `word`: how its mails stand."""

    row: Any
    week: str
    kind: str
    word: str
    note: str


def report_line(row: Any) -> ReportLine:
    """The report in words; the row comes with its counts."""
    values = {"sent": row.sent, "all": row.mails}
    if not row.mails:
        kind, word = "unknown", _("Nobody to send to")
    elif row.bad:
        kind, word = "deny", _("%(sent)d of %(all)d arrived") % values
    elif row.waiting:
        kind, word = "info", _("%(sent)d of %(all)d sent") % values
    else:
        kind, word = "pass", _("All %(all)d sent") % values
    note = _("test") if row.test else ""
    return ReportLine(row, week_word(row), kind, word, note)


def week_word(row: Report) -> str:
    """`Week 47, 19–25 Nov 2018`."""
    days = fmt.day_range(instant(row.first_day), instant(row.last_day), UTC, lang())
    return _("Week %(n)d, %(days)s") % {"n": number(week_of(row.first_day)), "days": days}


@dataclass(frozen=True)
class SendingLine:
    """What became of a mail or message."""

    row: Sending
    kind: str
    word: str
    when: str
    again: bool


def sending_line(row: Sending) -> SendingLine:
    """In words; a waiting one says when it is tried next."""
    when = _moment(row.sent_at) if row.sent_at else ""
    if row.state == SendState.WAITING and row.attempts:
        when = _("next try %(at)s") % {"at": _moment(row.next_try_at)}
    return SendingLine(
        row, KINDS[SendState(row.state)], str(row.get_state_display()), when, row.state in AGAIN
    )


def mails(rows: Sequence[Delivery]) -> list[SendingLine]:
    """What went wrong first."""
    lines = [sending_line(row) for row in rows]
    return sorted(lines, key=lambda line: (not line.again, line.row.state == SendState.SENT, line.row.pk))


def framed(html: str, chart: bytes | None, chart_id: str) -> str:
    """The mail for a frame of the page: its chart inside, its link to unsubscribe dead."""
    found = html.replace("<head>", BASE, 1).replace(UNSUBSCRIBE, "#")
    if chart:
        data = base64.b64encode(chart).decode()
        found = found.replace(f"cid:{chart_id}", f"data:image/png;base64,{data}")
    return found
