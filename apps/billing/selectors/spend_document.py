"""Answers about spend as the JSON of command line and REST. Keys are a contract: add, never rename."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

from django.conf import settings

from apps.billing.selectors.spend import SpendAnswer, SpendQuestion, SpendRow
from apps.billing.selectors.spend_compare import SpendChange
from apps.billing.selectors.spend_period import Coverage
from apps.billing.selectors.spend_question import ABSENT
from finops.engine.exchange import Rate
from finops.engine.spend import Window, week_of
from finops.text.numbers import decimal_text

Document = dict[str, Any]
PERCENT_DIGITS = 6


def spend_document(answer: SpendAnswer) -> Document:
    """The document of `spend`. With several currencies `total` and `unallocated` are {currency: amount}; an
    amount is null where no line has a value on the basis.
    """
    question = answer.question
    totals, unallocated = _texts(answer, answer.totals), _texts(answer, answer.unallocated)
    return {
        "rows": [_row(row, question) for row in answer.rows],
        "total": _one_or_each(totals),
        "currency": answer.currencies[0] if len(answer.totals) == 1 else None,
        "totals": totals,
        "unallocated": _one_or_each(unallocated),
        "complete": answer.complete,
        "incomplete": [gap.document() for gap in answer.coverage.gaps],
        "delivered_to": _known_to(answer.coverage),
        "groups_left_out": answer.left_out,
        "merged_keys": answer.merged,
        "rates": [_rate(rate) for rate in answer.rates],
        "teams": answer.team_names,
        "question": question.parameters(),
        "sources": answer.coverage.sources,
        "evidence": evidence(answer.snapshots, answer.at, answer.allocation_version),
    }


def compare_document(found: SpendChange, now: datetime) -> Document:
    """The document of a comparison; every part of a change has its amount, and a percentage or null."""
    question = found.question
    windows = found.windows
    after = found.after
    return {
        "after": None if windows is None else _window(windows.after),
        "before": None if windows is None else _window(windows.before),
        "cut": windows is not None and windows.cut,
        "changes": [
            {
                "currency": currency,
                **_change(whole),
                "drivers": [
                    {
                        **_named(question, part.key),
                        **_change(part.change),
                        "share": None if part.share is None else _rounded(part.share),
                    }
                    for part in parts
                ],
            }
            for currency, (whole, parts) in found.changes.items()
        ],
        "complete": found.complete,
        "incomplete": [gap.document() for gap in found.asked.gaps],
        "incomplete_before": [
            gap.document() for gap in (found.before.coverage.gaps if found.before is not None else ())
        ],
        "delivered_to": _known_to(found.asked),
        "rates": [
            _rate(rate)
            for rate in dict.fromkeys(
                rate for side in (found.after, found.before) if side is not None for rate in side.rates
            )
        ],
        "question": question.parameters(),
        "sources": found.asked.sources,
        "evidence": evidence(
            after.snapshots if after else {}, now, after.allocation_version if after else None
        ),
    }


def evidence(snapshots: Mapping[str, int], at: datetime, allocation_version: int | None) -> Document:
    """What an answer rests on; snapshot ids are text, since they have 19 digits."""
    return {
        "snapshots": {table: str(number) for table, number in sorted(snapshots.items())},
        "engine": settings.OFFPEAK_VERSION,
        "at": at.astimezone(UTC).isoformat().replace("+00:00", "Z"),
        "later_prices": False,
        "allocation_version": allocation_version,
    }


def period_text(question: SpendQuestion, start: date, end: date) -> str:
    """`2018-11-05`, `2018-W45`, `2018-11`, else `2018-10-01/2018-12-01` (the last day excluded)."""
    if question.granularity == "day":
        return start.isoformat()
    if question.granularity == "week":
        return week_of(start).label
    if question.granularity == "month":
        return f"{start:%Y-%m}"
    return f"{start.isoformat()}/{end.isoformat()}"


def _row(row: SpendRow, question: SpendQuestion) -> Document:
    tags = {
        name: _state(value)
        for name, value in zip(question.by, row.values, strict=True)
        if name.startswith(("tag:", "tagfold:"))
    }
    found = {
        **_named(question, row.values),
        "period": period_text(question, row.start, row.end),
        "period_start": row.start.isoformat(),
        "period_end": row.end.isoformat(),
        "cost": decimal_text(row.cost),
        "currency": row.currency,
        "quantity": decimal_text(row.quantity),
        "unit": row.unit,
        "lines": row.lines,
        "lines_without_cost": row.lines_without_cost,
    }
    return {**found, "tag_states": tags} if tags else found


def _named(question: SpendQuestion, values: Sequence[str | None]) -> Document:
    """Dimensions by name; a tag that the delivery could not report is "absent"."""
    return {
        name: ABSENT if value is None and name.startswith(("tag:", "tagfold:")) else value
        for name, value in zip(question.by, values, strict=True)
    }


def _state(value: str | None) -> str:
    if value is None:
        return "not reported"
    return "reported" if value else "blank"


def _texts(answer: SpendAnswer, amounts: Mapping[str, Decimal]) -> dict[str, str | None]:
    unknown = answer.unknown
    return {
        currency: None if currency in unknown else decimal_text(amount)
        for currency, amount in amounts.items()
    }


def _one_or_each(texts: dict[str, str | None]) -> Any:
    return texts if len(texts) > 1 else next(iter(texts.values()), decimal_text(Decimal(0)))


def _known_to(coverage: Coverage) -> str | None:
    """The day after the last delivered one; null where all days of the question are there."""
    return coverage.known_to.isoformat() if coverage.known_to else None


def _window(window: Window) -> Document:
    return {"from": window.start.isoformat(), "to": window.end.isoformat(), "days": window.days}


def _change(change: Any) -> Document:
    return {
        "before_cost": decimal_text(change.before),
        "after_cost": decimal_text(change.after),
        "delta": decimal_text(change.delta),
        "delta_pct": None if change.percent is None else _rounded(change.percent),
        "label": change.label,
    }


def _rounded(value: Decimal) -> float:
    return round(float(value), PERCENT_DIGITS) + 0.0


def _rate(rate: Rate) -> Document:
    return {
        "base": rate.base,
        "quote": rate.quote,
        "rate": decimal_text(rate.rate),
        "date": rate.on.isoformat(),
        "source": rate.source,
    }
