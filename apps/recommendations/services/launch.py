"""Launch advice: load what is known, decide, keep the answer with its evidence."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.utils import timezone as clock

from apps.accounts.models import Organisation
from apps.ingest.selectors import current_snapshots, price_snapshots
from apps.recommendations.services import kept
from apps.recommendations.services.discounts import rates_on
from apps.recommendations.services.document import Document, advice_document
from apps.recommendations.services.market import gather
from apps.recommendations.services.question import workload_question
from apps.recommendations.services.schedule import (
    repeating_work,
    schedule_document,
    turns_document,
)
from finops.engine.advice import advise


def advise_launch(
    *,
    at: datetime | None = None,
    organisation: Organisation | None = None,
    snapshots: Mapping[str, int] | None = None,
    repeat: str = "",
    done_by: str = "",
    timezone: str = "UTC",
    **question: Any,
) -> Document:
    """The document of `advise_launch` (docs/commands.md) for the fields of a workload.

    `question`: hours, types or min_vcpu/min_memory_gib/gpu/gpus, provider, regions, zones, home_zone, count,
    product, earliest, slack_hours or deadline, interruptible, splittable, checkpoint_minutes,
    restart_minutes, data_gib, data_region, discount_pct, hazard_per_hour. Without discount_pct the table of
    negotiated rates holds. `at` defaults to this minute. The same question on the same data is answered from
    the stored row. With `repeat` ("daily", "mon-fri") and `done_by` ("08:00" on the clock of `timezone`) the
    document has a `schedule` and the next `occurrences` with their advice. Raises WorkloadError (field,
    message).
    """
    moment = at or clock.now().replace(second=0, microsecond=0)
    # Prices only: a bill that was loaded since makes no other advice.
    chosen = price_snapshots(current_snapshots() if snapshots is None else snapshots)
    asked = workload_question(at=moment, snapshots=chosen, **question)
    work = repeating_work(asked.workload, repeat=repeat, done_by=done_by, timezone=timezone)
    # A discount in the question wins over the table, 0 too.
    rates = [] if question.get("discount_pct") is not None else rates_on(organisation, asked.workload)
    key = kept.digest(
        asked.workload,
        chosen,
        organisation,
        schedule=[repeat, done_by, timezone] if work else [],
        rates=rates,
    )
    found = kept.find(key)
    if found is not None:
        return found
    gathered = gather(asked, chosen, rates)
    advice = advise(asked.workload, gathered.market)
    document = advice_document(
        advice,
        names=gathered.zone_names,
        snapshots=chosen,
        sources=gathered.sources,
    )
    if work is not None:
        document["schedule"] = schedule_document(advice, gathered.market.book, work)
        document["occurrences"] = turns_document(
            asked.workload, gathered.market, work, names=gathered.zone_names
        )
    return kept.store(key, document, workload=asked.workload, organisation=organisation)
