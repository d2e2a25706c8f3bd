"""Own commitments from files and uploads: answers of the provider's interface as its command line prints
them. One run per path or upload.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from apps.accounts.models import Organisation, User
from apps.billing.selectors.commitment_arns import regions_in_bills
from apps.billing.services.owned import Look, commitments_store, listings_store, regions_known
from apps.ingest.models import Feed, IngestRun, RunKind
from apps.ingest.reference import Delivery, Outcome, Progress, run_import, run_keep
from finops.frames.commitments import CommitmentKind
from finops.frames.owned import Listed, Owned
from finops.frames.spot import Rejection
from finops.providers.aws.owned_commitments import owned_of
from finops.providers.aws.reading import Reading

WHAT = "commitments"
NOT_OWNED = "no such reservation is known: import the answer of describe-reserved-instances first"
NO_REGION = "no region: name it with --region, or load the bill that has this reservation first"


def commitments_import(
    *,
    path: str,
    seen_at: datetime,
    region: str = "",
    account: str = "",
    organisation: Organisation | None = None,
    user: User | None = None,
    progress: Progress = lambda _message: None,
) -> IngestRun:
    """Commitments of a path. `seen_at`: when the answers were given. A regional reservation gets its region
    from `region`, the file's name, an earlier look or the bill; without any it is rejected.
    """
    return run_import(
        lambda name, data: owned_of(name, data, seen_at=seen_at, region=region, account=account),
        lambda delivery, source: _store(delivery, source, organisation, ()),
        what=WHAT,
        path=path,
        organisation=organisation,
        user=user,
        progress=progress,
    )


def commitments_load(
    *,
    name: str,
    data: bytes,
    seen_at: datetime,
    region: str = "",
    account: str = "",
    organisation: Organisation,
    user: User | None = None,
) -> IngestRun:
    """Commitments of an uploaded file, as `commitments_import` takes those of a path."""
    delivery = Delivery(bytes=len(data))
    shown = name[-200:] or "upload"
    delivery.add(shown, owned_of(shown, data, seen_at=seen_at, region=region, account=account))
    return run_keep(
        delivery,
        lambda found, source: _store(found, source, organisation, ()),
        what=WHAT,
        source=shown,
        name=shown,
        organisation=organisation,
        user=user,
        kind=RunKind.UPLOAD,
    )


def commitments_keep(
    reading: Reading[Owned], *, looks: tuple[Look, ...], source: str, feed: Feed
) -> IngestRun:
    """What a live look showed, as a run of its feed."""
    delivery = Delivery()
    delivery.add(source, reading)
    return run_keep(
        delivery,
        lambda found, name: _store(found, name, feed.organisation, looks),
        what=WHAT,
        source=f"{feed.name}: {source}",
        name=source,
        organisation=feed.organisation,
        feed=feed,
        kind=RunKind.LIVE,
    )


def _store(
    delivery: Delivery, source: str, organisation: Organisation | None, looks: tuple[Look, ...]
) -> Outcome:
    owned: list[Owned] = []
    conflicts: list[Rejection] = []
    listings = [placed for placed in delivery.placed if isinstance(placed.value, Listed)]
    placed_ones = [placed for placed in delivery.placed if isinstance(placed.value, Owned)]
    regions = _regions([p.value for p in placed_ones], organisation)
    for placed in placed_ones:
        one: Owned = placed.value
        if one.kind is CommitmentKind.RESERVED and not one.region:
            one = replace(one, region=regions.get(one.id, ""))
        if one.kind is CommitmentKind.RESERVED and not one.region:
            conflicts.append(Rejection(placed.file, placed.row, "region", NO_REGION))
        else:
            owned.append(one)
    kept = commitments_store(owned=owned, organisation=organisation, source=source, looks=looks)
    sold, strange = listings_store(listed=[p.value for p in listings], organisation=organisation)
    for placed in listings:
        if placed.value.id in strange:
            conflicts.append(Rejection(placed.file, placed.row, "ReservedInstancesId", NOT_OWNED))
    # Several listings of one reservation are one state: what did not count is told as seen before.
    told = sum(placed.value.id not in strange for placed in listings)
    return Outcome(
        stored=kept.new + kept.refreshed + sold.refreshed,
        duplicates=kept.same + told - sold.refreshed,
        replaced=kept.changed + sold.changed,
        series=len({one.id for one in owned} | {p.value.id for p in listings} - strange),
        conflicts=conflicts,
        known_from=min((one.start for one in owned), default=None),
        known_to=max((one.end for one in owned), default=None),
    )


def _regions(owned: list[Owned], organisation: Organisation | None) -> dict[str, str]:
    """Regions that the answer left out, by short id: of an earlier look, else of the bill."""
    wanted = [one for one in owned if one.kind is CommitmentKind.RESERVED and not one.region]
    if not wanted:
        return {}
    ids = [one.id for one in wanted]
    known = regions_known(ids, organisation=organisation, provider=wanted[0].provider)
    return {**regions_in_bills(organisation=organisation), **known}
