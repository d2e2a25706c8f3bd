"""Looking for findings of every kind at once, as beat does by the clock."""

from __future__ import annotations

from datetime import datetime

from apps.accounts.models import Organisation
from apps.recommendations.kinds import kinds
from apps.recommendations.services.inbox_clock import inbox_tick
from apps.recommendations.services.realised import realised_refresh


def inbox_look(*, organisation: Organisation, now: datetime) -> None:
    """Look for each kind, end what time ends, compute what bills say; unchanged data cost little."""
    for kind in kinds():
        if kind.look is not None:
            kind.look(organisation, now)
    inbox_tick(now=now)
    realised_refresh(organisation=organisation, now=now)
