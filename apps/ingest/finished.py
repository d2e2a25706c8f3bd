"""Telling the apps above that a run of prices has finished; they add a function each when they are ready."""

from __future__ import annotations

from collections.abc import Callable

from django.db import transaction

# Called with the run's id once its row is stored; they hand out work and do none themselves.
told: list[Callable[[int], None]] = []


def tell(run_id: int) -> None:
    """Call them when the transaction in hand is stored; a failing one is logged and stops nothing."""
    for listener in list(told):
        transaction.on_commit(lambda listener=listener: listener(run_id), robust=True)  # type: ignore[misc]
