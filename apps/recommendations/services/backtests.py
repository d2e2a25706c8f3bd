"""The walk-forward back-test of the launch rule over loaded history."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime

import numpy as np
from django.utils import timezone
from django.utils.translation import gettext as _

from apps.catalog.models import InstanceType
from apps.catalog.selectors import equivalents
from apps.ingest.selectors import current_snapshots
from apps.prices.selectors import on_demand_prices
from apps.prices.selectors.books import loaded_book
from apps.prices.selectors.directory import directory
from apps.recommendations.services.document import Document, evidence, iso, rounded
from apps.recommendations.services.question import (
    check_product,
    check_provider,
    check_regions,
    check_types,
)
from finops.engine.backtest import Cell, backtest
from finops.engine.series import US_PER_HOUR, PriceBook, to_us
from finops.engine.workload import MAX_HOURS, MAX_SLACK_HOURS, WorkloadError

# 60,000 decisions in a cell take about a second on one core.
MAX_REQUEST_DECISIONS = 500_000
# These may take another type that does the same work.
TYPE_STRATEGIES = ("type_zone_now", "advice_type", "clairvoyant_type")
# Few series say little, so they decide more often; more often than hourly the prices hardly differ.
EVERY_HOURS = (1, 2, 3, 6)


def backtest_launch(
    *,
    regions: Sequence[str],
    product: str,
    start: datetime,
    end: datetime,
    hours: Sequence[float],
    slack_hours: Sequence[float],
    types: Sequence[str] | None = None,
    provider: str = "aws",
    every_hours: int | None = None,
    at: datetime | None = None,
    bounded: bool = False,
    snapshots: Mapping[str, int] | None = None,
    tell: Callable[[Cell], None] | None = None,
) -> Document:
    """Cells of (region, hours, slack) with the rule, its rivals and the optimum (docs/commands.md).

    A decision every `every_hours` in [start, end) for each series as home; None: as often as the number of
    series allows, every hour to every 6. Prices before `start` train,
    nothing at or after `end` (or `at`) is read. `bounded`: refuse a question too large for one request.
    `tell` hears each cell as it is done.
    Raises WorkloadError.
    """
    chosen = dict(current_snapshots() if snapshots is None else snapshots)
    until = min(end, at) if at else end
    _check(regions, hours, slack_hours, every_hours, start, until)
    check_provider(provider)
    known = directory(provider=provider, snapshots=chosen, naming=(*regions, *(types or ())))
    check_regions(regions, known, provider)
    check_product(product, known)
    check_types(types or (), known, provider)
    substitutes = _equivalents(types, provider)
    wanted = None if not types else sorted({*types, *(k for group in substitutes.values() for k in group)})
    book = loaded_book(
        provider=provider, regions=regions, types=wanted, product=product, snapshots=chosen
    ).book
    cells = len(hours) * len(slack_hours)
    homes = [i for i, key in enumerate(book.keys) if not types or key.instance_type in types]
    every = every_hours or next(
        (n for n in EVERY_HOURS if len(homes) * _steps(start, until, n) * cells <= MAX_REQUEST_DECISIONS),
        EVERY_HOURS[-1],
    )
    if bounded and len(homes) * _steps(start, until, every) * cells > MAX_REQUEST_DECISIONS:
        raise WorkloadError(
            "types",
            _("Too much for one request. Name fewer types or a shorter window, or use the command line."),
        )
    listed, later = _on_demand(book, provider, product, start)
    result = backtest(
        book,
        home_series=np.array(homes, np.int64),
        hours=hours,
        slack_hours=slack_hours,
        start_us=to_us(start),
        end_us=to_us(until),
        on_demand=listed,
        equivalents=substitutes or None,
        every_hours=every,
        tell=tell,
    )
    return {
        "cells": [_cell(cell) for cell in result.cells],
        "from": iso(start),
        "to": iso(until),
        "every_hours": every,
        "left_out": _left_out(sorted({book.keys[i].instance_type for i in homes}), substitutes, provider),
        "evidence": evidence(chosen, at or timezone.now().replace(microsecond=0), later_prices=later),
    }


def _check(
    regions: Sequence[str],
    hours: Sequence[float],
    slack_hours: Sequence[float],
    every_hours: int | None,
    start: datetime,
    end: datetime,
) -> None:
    if not regions:
        raise WorkloadError("regions", _("Name at least one region."))
    if not hours or not all(0 < length <= MAX_HOURS for length in hours):
        raise WorkloadError("hours", _("Hours must be above 0 and at most %(most)d.") % {"most": MAX_HOURS})
    if not slack_hours or not all(0 <= slack <= MAX_SLACK_HOURS for slack in slack_hours):
        raise WorkloadError(
            "slack_hours", _("Slack must be between 0 and %(most)d hours.") % {"most": MAX_SLACK_HOURS}
        )
    if every_hours is not None and every_hours < 1:
        raise WorkloadError("every_hours", _("Hours between decisions must be 1 or more."))
    if end <= start:
        raise WorkloadError("to", _("The window must end after it starts."))


def _steps(start: datetime, end: datetime, every_hours: int) -> int:
    """Decisions of one series in a cell, at most."""
    return max(0, to_us(end) - to_us(start)) // (every_hours * US_PER_HOUR)


def _equivalents(types: Sequence[str] | None, provider: str) -> dict[str, list[str]]:
    """Stand-ins of the named types, or of every type with facts."""
    names = types or list(InstanceType.objects.filter(provider=provider).values_list("name", flat=True))
    found = {name: equivalents(name, provider=provider) for name in names}
    return {name: group for name, group in found.items() if group}


def _left_out(
    types: Sequence[str], substitutes: Mapping[str, Sequence[str]], provider: str
) -> list[Document]:
    """The strategies that may take another type, where no type is known to stand in, and why."""
    facts = set(InstanceType.objects.filter(provider=provider, name__in=types).values_list("name", flat=True))
    unknown = [name for name in types if name not in facts]
    if substitutes and not unknown:
        return []
    if not unknown:
        reason = _("No other type can do the work of these.")
    elif facts:
        reason = _("No facts are loaded about some types: nothing stands in for them.")
    else:
        reason = _("No facts about these types are loaded. Load them with import_instance_types.")
    return [
        {
            "strategies": [] if substitutes else list(TYPE_STRATEGIES),
            "types": unknown,
            "reason": reason,
        }
    ]


def _on_demand(book: PriceBook, provider: str, product: str, at: datetime) -> tuple[dict[int, float], bool]:
    """List price by series index, and whether one of them is dated after the start of the window."""
    prices = {
        region: on_demand_prices(provider=provider, region=region, product=product, at=at)
        for region in {key.region for key in book.keys}
    }
    listed, later = {}, False
    for i, key in enumerate(book.keys):
        price = prices[key.region].get(key.instance_type)
        if price is not None and price.currency == key.currency:
            listed[i] = float(price.price)
            later = later or price.later_prices
    return listed, later


def _cell(cell: Cell) -> Document:
    return {
        "region": cell.region,
        "hours": cell.hours,
        "slack_hours": cell.slack_hours,
        "series": cell.series,
        "decisions": cell.decisions,
        "strategies": {
            name: {
                "saving_vs_home_pct": rounded(outcome.saving_vs_home_pct),
                "capture": rounded(outcome.capture),
                "lost_share": rounded(outcome.lost_share),
                "regret_pct": rounded(outcome.regret_pct),
                "decisions": outcome.decisions,
            }
            for name, outcome in cell.strategies.items()
        },
        "no_window_share": rounded(cell.no_window_share),
        "series_without_window_share": rounded(cell.series_without_window_share),
    }
