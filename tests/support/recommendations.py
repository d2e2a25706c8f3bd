"""A made-up kind of recommendation and findings of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

from apps.accounts.roles import Action
from apps.recommendations import kinds
from apps.recommendations.kinds import Kind, Sentence
from apps.recommendations.services.inbox import Finding

NOW = datetime(2026, 11, 1, tzinfo=UTC)


def _wording(document: Mapping[str, Any], language: str) -> Sentence:
    return Sentence(f"Stop {document['what']}", f"It idles, in {language}.", (("Idle hours", "700"),))


def made_up_kind(name: str = "made_up", **changes: Any) -> Kind:
    """A kind that words "Stop …" and fixes the document as its counterfactual."""
    values: dict[str, Any] = {
        "title": "Made up", "wording": _wording, "realised": lambda row, organisation, now: None,
        "counterfactual": lambda row: {"cost": row.document["cost"]}, "decide": Action.DECIDE_WORK,
    }  # fmt: skip
    return Kind(name, **{**values, **changes})


@contextmanager
def registered(*made: Kind) -> Iterator[None]:
    """Kinds that are known for a while."""
    before = dict(kinds._KINDS)
    for kind in made:
        kinds.register(kind)
    try:
        yield
    finally:
        kinds._KINDS.clear()
        kinds._KINDS.update(before)


def finding(subject: str = "a", saving: str = "100", **changes: Any) -> Finding:
    """A finding of 10 % either way over a month, which claims the resource of its own name."""
    amount = Decimal(saving)
    margin = abs(amount) / 10
    values: dict[str, Any] = {
        "document": {"what": subject, "cost": "300"}, "claims": (f"resource:{subject}",), "claim_start": NOW,
        "claim_end": NOW + timedelta(hours=730), "currency": "USD", "saving_low": amount - margin,
        "saving": amount, "saving_high": amount + margin, "monthly_saving": amount, "one_time": Decimal(0),
        "effort": "low", "reversibility": "full",
        "evidence": {"snapshots": {"focus_costs": "11"}, "engine": "0", "at": "2026-11-01T00:00:00Z"},
    }  # fmt: skip
    return Finding(subject=subject, **{**values, **changes})
