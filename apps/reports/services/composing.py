"""Composing a report: figures are read once, every section is worded, then nothing of it changes."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import structlog
from django.db import transaction
from django.utils import translation
from django.utils.translation import gettext as _

from apps.billing.selectors.forecast import forecast
from apps.billing.selectors.spend_document import evidence
from apps.recommendations.selectors.standing import Standing
from apps.reports import wording as w
from apps.reports.mail import headline
from apps.reports.mail.files import csv_of
from apps.reports.mail.letter import Letter
from apps.reports.mail.paper import pdf_of
from apps.reports.mail.render import html_of, text_of
from apps.reports.models import Edition, Subscription
from apps.reports.parts import budgets, saved
from apps.reports.parts.moved import percent_value
from apps.reports.sections import Block, Question, scope_where, sections
from apps.reports.selectors.week import BASIS, week_spend
from finops.engine.spend import Week
from finops.text.numbers import decimal_text

log = structlog.get_logger(__name__)

PDF, CSV = "application/pdf", "text/csv"


@dataclass(frozen=True, slots=True)
class File:
    """A file that goes with a mail."""

    name: str
    content_type: str
    body: bytes


@dataclass(frozen=True, slots=True)
class Composed:
    """A finished mail."""

    week: Week
    letter: Letter
    html: str
    text: str
    chart: bytes | None
    files: tuple[File, ...]
    document: dict[str, Any]


def compose(
    subscription: Subscription,
    *,
    week: Week,
    now: datetime,
    report_id: int | None = None,
    missed: tuple[str, ...] = (),
    test: bool = False,
) -> Composed:
    """The report of a week as it stands at `now`, in the subscription's language. Raises SpendError."""
    with translation.override(subscription.language):
        question = _question(subscription, week, now)
        letter, document = _letter(subscription, question, report_id, missed, test)
        files = _files(subscription, question, letter)
        document |= {"subject": letter.subject, "preheader": letter.preheader, "heading": letter.title}
        chart = letter.chart.png if letter.chart is not None else None
        return Composed(week, letter, html_of(letter), text_of(letter), chart, files, document)


def _question(subscription: Subscription, week: Week, now: datetime) -> Question:
    team, account = subscription.team, subscription.account
    organisation = subscription.organisation
    found = week_spend(
        week, organisation=organisation, now=now, where=scope_where(team, account),
        currency=subscription.currency, edition=subscription.edition,
    )  # fmt: skip
    return Question(
        organisation, team, account, subscription.edition, subscription.language,
        ZoneInfo(subscription.time_zone), week, now, found,
    )  # fmt: skip


def _letter(
    subscription: Subscription, question: Question, report_id: int | None, missed: tuple[str, ...], test: bool
) -> tuple[Letter, dict[str, Any]]:
    blocks, broken = _blocks(question)
    found = saved.standing_of(question)
    count = 0 if found is None else saved.waiting(question, found)
    figures = headline.figures(question, saved.measured(question), found, count)
    final = "quality" not in dict(blocks)
    subject = headline.subject(question)
    if missed:
        blocks = [*blocks, ("missed", _missed_block(missed))]
    if broken:
        blocks = [*blocks, ("broken", _broken_block(broken))]
    letter = Letter(
        subject=(_("[Test] %(subject)s") % {"subject": subject} if test else subject)[:200],
        preheader=headline.preheader(figures, count, final=final)[:300],
        edition=headline.edition_word(question),
        heading=headline.heading(question),
        lead=_lead(question),
        figures=figures,
        chart=headline.chart(question),
        sections=tuple(blocks),
        button=_button(found, count),
        source=headline.source(question),
        schedule=schedule_word(subscription),
        open_link=w.link("report", report_id) if report_id is not None else "",
        change_link=w.link("reports", change=subscription.pk),
        language="zh-Hans" if subscription.language.startswith("zh") else "en",
    )
    return letter, _document(subscription, question, dict(blocks), broken, missed)


def _blocks(question: Question) -> tuple[list[tuple[str, Block]], list[str]]:
    """Sections with something to say, and the names of those that failed."""
    found: list[tuple[str, Block]] = []
    broken: list[str] = []
    for section in sections(question.edition):
        try:
            with transaction.atomic():
                block = section.provide(question)
        except Exception:
            log.exception("report_section_failed", section=section.name)
            broken.append(section.name)
            continue
        if block is not None:
            found.append((section.name, block))
    return found, broken


def _missed_block(missed: tuple[str, ...]) -> Block:
    weeks = ", ".join(missed)
    told = _("No report was written about %(weeks)s: nothing ran when they were due.") % {"weeks": weeks}
    return Block(_("Missed"), notes=(told,), warn=True, document={"weeks": list(missed)})


def _broken_block(broken: list[str]) -> Block:
    told = _("A part of this report could not be made (%(parts)s). The log of the server says why.")
    return Block(_("Incomplete"), notes=(told % {"parts": ", ".join(broken)},), warn=True)


def _lead(question: Question) -> str:
    """The month and its budget; "" where nothing is known of it."""
    if question.spend.main is None:
        return ""
    found = forecast(
        organisation=question.organisation, at=question.now, day=question.week.last, basis=BASIS,
        where=question.where, snapshots=question.spend.snapshots,
    )  # fmt: skip
    return headline.month_sentence(question, found, budgets.answers_of(question))


def _button(found: Standing | None, count: int) -> tuple[str, str]:
    if found is None or not count:
        return _("Open the Overview"), w.link("overview")
    text = translation.ngettext("Review %(n)d recommendation", "Review %(n)d recommendations", count)
    return text % {"n": count}, w.link("recommendations")


def schedule_word(subscription: Subscription) -> str:
    """`Sent every Monday at 08:00 Europe/Berlin`."""
    return _("Sent every %(day)s at %(hour)02d:00 %(zone)s") % {
        "day": subscription.get_weekday_display(),
        "hour": subscription.hour,
        "zone": subscription.time_zone,
    }


def _files(subscription: Subscription, question: Question, letter: Letter) -> tuple[File, ...]:
    """What is attached."""
    name = f"offpeak-{question.week.label}"
    found: list[File] = []
    if subscription.attach_csv:
        found.append(File(f"{name}.csv", CSV, csv_of(question.spend, BASIS)))
    if subscription.attach_pdf:
        found.append(File(f"{name}.pdf", PDF, pdf_of(letter)))
    return tuple(found)


def _document(
    subscription: Subscription,
    question: Question,
    blocks: dict[str, Block],
    broken: list[str],
    missed: tuple[str, ...],
) -> dict[str, Any]:
    """The figures as JSON: exact decimals as texts, null for unknown."""
    spend, week = question.spend, question.week
    sides = spend.compared
    return {
        "subscription": subscription.pk,
        "week": week.label,
        "from": week.first.isoformat(),
        "to": (week.last + timedelta(days=1)).isoformat(),
        "edition": Edition(subscription.edition).value,
        "language": subscription.language,
        "team": question.team.slug if question.team else None,
        "account": question.account or None,
        "basis": BASIS,
        "compared": None
        if sides is None
        else {
            "from": sides.after.start.isoformat(),
            "to": sides.after.end.isoformat(),
            "days": sides.after.days,
            "before_from": sides.before.start.isoformat(),
            "before_to": sides.before.end.isoformat(),
            "before_days": sides.before.days,
            "whole_week": sides.whole,
        },
        "currencies": [
            {
                "currency": one.currency,
                "cost": decimal_text(one.change.after),
                "cost_before": decimal_text(one.change.before),
                "delta": decimal_text(one.change.delta),
                "delta_pct": percent_value(one.change.percent),
                "label": one.change.label,
                "days": [{"day": day.isoformat(), "cost": decimal_text(cost)} for day, cost in one.days],
            }
            for one in spend.currencies
        ],
        "complete": sides is not None and sides.whole and spend.coverage.complete,
        "sections": {name: dict(block.document) for name, block in blocks.items()},
        "sections_failed": broken,
        "missed_weeks": list(missed),
        "evidence": evidence(spend.snapshots, question.now, spend.allocation_version),
    }
