"""Imports of commitments on offer: answers of the offering API, tables of offers, terms and plan rates of
price lists. One run per path.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime
from pathlib import Path
from typing import Any

from apps.accounts.models import Organisation, User
from apps.billing.services.offers import Looked, offers_store
from apps.ingest.models import Feed, IngestRun, RunKind
from apps.ingest.reference import Delivery, Outcome, Progress, run_import, run_keep
from apps.prices.services import plan_prices_store, reserved_terms_store
from finops.frames.offers import Offer
from finops.frames.reserved_terms import ReservedTerm
from finops.frames.savings_plans import PlanPrice
from finops.frames.spot import Rejection
from finops.providers.aws.offer_files import offers_of, terms_of
from finops.providers.aws.reading import Reading


def offers_import(
    *,
    path: str,
    seen_at: datetime,
    region: str = "",
    listed_on: date | None = None,
    complete: bool = False,
    organisation: Organisation | None = None,
    user: User | None = None,
    progress: Progress = lambda _message: None,
) -> IngestRun:
    """Offers and terms of a path. `seen_at`: when answers were given; `listed_on` dates tables without a
    date; `complete`: the answers hold all offers of their regions, so those that are missing are gone.
    """

    def store(delivery: Delivery, source: str) -> Outcome:
        return _store(delivery, source, complete=complete)

    return run_import(
        lambda name, data: offers_of(name, data, seen_at=seen_at, region=region, listed_on=listed_on),
        store,
        what="offers",
        path=path,
        organisation=organisation,
        user=user,
        progress=progress,
    )


def reserved_terms_import(*, path: str, listed_on: date | None = None) -> IngestRun:
    """The terms of price tables of a path; tables without terms have none to store."""
    return run_import(
        lambda name, data: terms_of(name, data, listed_on=listed_on),
        lambda delivery, source: _store(delivery, source, complete=False),
        what="reserved-terms",
        path=path,
        organisation=None,
        user=None,
        progress=lambda _message: None,
    )


def offers_keep(reading: Reading[Offer], *, look: Looked | None, source: str, feed: Feed) -> IngestRun:
    """What a live look showed, as a run of its feed; `look`: what of the region it showed whole."""
    delivery = Delivery()
    delivery.add(source, reading)
    return run_keep(
        delivery,
        lambda found, name: _store(found, name, complete=[look] if look else False),
        what="offers",
        source=f"{feed.name}: {source}",
        name=source,
        organisation=feed.organisation,
        feed=feed,
        kind=RunKind.LIVE,
    )


def _store(delivery: Delivery, source: str, *, complete: bool | Sequence[Looked]) -> Outcome:
    offers: list[Offer] = [p.value for p in delivery.placed if isinstance(p.value, Offer)]
    terms = [p for p in delivery.placed if isinstance(p.value, ReservedTerm)]
    rates = [p for p in delivery.placed if isinstance(p.value, PlanPrice)]
    if complete is True:
        shown = sorted({(o.key.provider, o.key.region, o.seen_at) for o in offers})
        complete = [Looked(*one) for one in shown]
    seen = offers_store(offers=offers, source=Path(source).name or source, complete=complete or ())
    listed = reserved_terms_store(rows=terms, source=source)
    planned = plan_prices_store(rows=rates, source=source)
    times: list[Any] = [o.seen_at for o in offers]
    times += [placed.value.key.effective_from for placed in (*terms, *rates)]
    return Outcome(
        stored=seen.new + seen.refreshed + listed.stored + planned.stored,
        duplicates=seen.same + listed.duplicates + planned.duplicates,
        replaced=seen.refreshed,
        series=len({o.key for o in offers}) + listed.keys + planned.keys,
        conflicts=[
            Rejection(c.file, c.row, "price", c.reason) for c in (*listed.conflicts, *planned.conflicts)
        ],
        known_from=min(times, default=None),
        known_to=max(times, default=None),
    )
