"""A check as the JSON document of REST, command and page. Keys are a contract: add, never rename."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

from apps.costchecks import wording
from finops.engine.checks.alternatives import Alternative, Cheaper, NotOffered
from finops.engine.checks.policies import Outcome, Verdict, worst
from finops.engine.checks.pricing import Line, Priced, ordered
from finops.engine.spend import EXACT, sorted_by_amount
from finops.frames.cost_items import Range, Reading
from finops.frames.list_prices import PRICE_DECIMALS
from finops.text.addresses import masked
from finops.text.numbers import decimal_text

PLACES = PRICE_DECIMALS
_STEP = Decimal(1).scaleb(-PLACES)
# Resources that are listed; totals are over all.
MOST_LISTED = 2000
EXIT_CODES = {Verdict.PASS: 0, Verdict.WARN: 0, Verdict.CANNOT_JUDGE: 30, Verdict.DENY: 20}


Link = Callable[[str, tuple[tuple[str, str], ...]], str]


def exit_code(verdict: Verdict, *, strict: bool) -> int:
    """0 pass, 10 warn (with strict only), 20 deny, 30 cannot judge."""
    return 10 if strict and verdict is Verdict.WARN else EXIT_CODES[verdict]


def range_document(found: Range | str | None) -> dict[str, str | None] | str | None:
    """Low, expected, high as decimal strings; "absent"; null for unknown."""
    if not isinstance(found, Range):
        return found
    return {name: amount_text(getattr(found, name)) for name in ("low", "expected", "high")}


def amount_text(found: Decimal | None) -> str | None:
    """A number of a document: rounded here alone, to the places that list prices are kept with.

    Whatever is divided before (a day's run by its hours, an offer by what is left of it) is exact to 28
    digits and more, which nobody can read and no provider bills.
    """
    if found is None:
        return None
    places = found.as_tuple().exponent
    kept = found if not isinstance(places, int) or places >= -PLACES else EXACT.quantize(found, _STEP)
    return decimal_text(kept)


def check_document(
    priced: Priced,
    outcomes: Sequence[Outcome],
    ways: Cheaper,
    *,
    reading: Reading,
    strict: bool,
    at: datetime,
    link: Link | None = None,
) -> dict[str, Any]:
    """Everything but where it came from. `link`: addresses of pages; None: there are none here."""
    verdict = worst([outcome.verdict for outcome in outcomes])
    total = priced.total
    lines = sorted_by_amount(
        priced.lines,
        lambda line: None if line.delta is None else abs(line.delta.expected),
        lambda line: line.resource.address,
    )
    return {
        "verdict": verdict.value,
        "exit_code": exit_code(verdict, strict=strict),
        "strict": strict,
        "sentence": wording.sentence(priced, verdict),
        "incomplete": len(priced.unpriced),
        "currency": priced.currency,
        "period": "month of 730 hours",
        "before": range_document(total.before),
        "after": range_document(total.after),
        "delta": range_document(total.delta),
        "delta_pct": None if total.percent is None else round(float(total.percent), 6),
        "label": total.label or None,
        "unpriced": [
            {"address": p.address, "component": p.component, "side": p.side, "reason": masked(p.reason)}
            for p in priced.unpriced
        ],
        "policies": [_policy(outcome, priced.currency) for outcome in outcomes],
        "alternatives": [_alternative(one, priced.currency, at, link) for one in ways.offered],
        "alternatives_not_offered": _not_offered(ways.others),
        "resources": [_line(line) for line in lines[:MOST_LISTED]],
        "resources_left_out": max(len(lines) - MOST_LISTED, 0),
        "assumptions": list(reading.assumptions),
        "sensitive_dropped": reading.sensitive_dropped,
    }


def input_digest(kind: str, project: str, resources: str) -> str:
    """Of the text (`repr`) of what was read without secrets: the hash of a secret could be guessed."""
    return hashlib.sha256(f"{kind!r}, {project!r}, {resources}".encode()).hexdigest()


def prices_used(priced: Priced) -> list[tuple[str, str, bool]]:
    """(source, day of the list, whether it is later than the decision) of the prices that count."""
    return sorted({(price.source, price.listed_on, price.later) for price in priced.used.values()})


def summary_of(document: Mapping[str, Any]) -> dict[str, Any]:
    """What a list shows of a document."""
    return {name: document[name] for name in ("sentence", "incomplete", "currency", "delta", "delta_pct")}


def age_hours(as_of: str, at: datetime) -> float | None:
    """Hours from a day (its start, UTC) or an instant to the decision; None where it says neither, and for a
    price that is later than the decision.
    """
    try:
        moment = datetime.fromisoformat(as_of.replace("Z", "+00:00"))
    except ValueError:
        return None
    known = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
    hours = round((at - known) / timedelta(hours=1), 1) + 0.0
    return hours if hours >= 0 else None


def _alternative(one: Alternative, currency: str | None, at: datetime, link: Link | None) -> dict[str, Any]:
    found = one.evidence
    return {
        "kind": one.kind,
        "address": one.address,
        "instead": one.instead,
        "of": one.of,
        "saving": range_document(one.saving),
        "currency": one.currency or currency,
        "sentence": wording.alternative(one),
        "evidence": {
            "source": found.source,
            "as_of": found.as_of or None,
            "age_hours": age_hours(found.as_of, at),
            "sample": found.sample,
            "sample_of": found.sample_of or None,
            "link": link(found.page, found.query) if link is not None and found.page else None,
            **dict(found.facts),
        },
    }


def _not_offered(others: Sequence[NotOffered]) -> list[dict[str, Any]]:
    """What was looked at and is not offered, the same reason told once."""
    groups: dict[tuple[Any, ...], list[str]] = {}
    for one in others:
        groups.setdefault((one.kind, one.judged, one.code, one.told), []).append(one.address)
    return [
        {
            "kind": kind,
            "verdict": "does not save" if judged else "cannot judge",
            "code": code,
            "told": dict(told),
            "reason": wording.not_offered(code, dict(told)),
            "addresses": list(dict.fromkeys(addresses))[:50],
            "resources": len(set(addresses)),
        }
        for (kind, judged, code, told), addresses in groups.items()
    ]


def _line(line: Line) -> dict[str, Any]:
    one = line.resource
    side = one.after or one.before
    return {
        "address": one.address,
        "kind": one.kind,
        "action": one.action,
        "summary": masked(side.summary) if side else "",
        "region": masked(side.region if side else "") or None,
        "before": range_document(line.before),
        "after": range_document(line.after),
        "delta": range_document(ordered(line.delta) if line.delta else None),
    }


def _policy(outcome: Outcome, currency: str | None) -> dict[str, Any]:
    policy = outcome.policy
    return {
        "kind": policy.kind,
        "set_by": policy.set_by or None,
        "title": policy.title or wording.policy_title(policy),
        "title_from": "caller" if policy.title else "kind",
        "verdict": outcome.verdict.value,
        "level": policy.level.value,
        "limit": decimal_text(policy.limit),
        "currency": policy.currency or None,
        "case": policy.case,
        "found": amount_text(outcome.found),
        "excess": amount_text(outcome.excess),
        "addresses": list(outcome.addresses[:50]),
        "resources": len(outcome.addresses),
        "code": outcome.code,
        "names": list(policy.names),
        "reason": wording.outcome_reason(outcome, currency),
    }
