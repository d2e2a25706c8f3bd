"""The roll-up of what is loaded: kept in step with the run row, made anew when it is missing or behind.

All of this happens under the import lock; readers compare the snapshots and look into the lake where the
roll-up speaks of others.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import duckdb
from django.db import transaction

from apps.ingest import selectors
from apps.ingest.loaded import Choice, Loaded, read_loaded
from apps.ingest.models import LoadedRegion, LoadedState
from finops.lake import SPOT_CHANGES, SPOT_KNOWN, Lake
from finops.lake.filters import all_of, equals, one_of


def rollup_in_step(snapshots: Mapping[str, int]) -> bool:
    """Whether the roll-up speaks of this state of the lake."""
    state = LoadedState.objects.first()
    return state is not None and state.snapshots == selectors.price_snapshots(snapshots)


def rollup_read(
    con: duckdb.DuckDBPyConnection,
    lake: Lake,
    snapshots: Mapping[str, int],
    *,
    provider: str,
    regions: Iterable[str],
) -> list[Loaded]:
    """The regions as they are at `snapshots`, on the caller's connection."""
    here = all_of(equals("provider", provider), one_of("region", regions))
    lake.add_views(con, snapshots, filters={SPOT_CHANGES: here, SPOT_KNOWN: here})
    return read_loaded(con)


@transaction.atomic
def rollup_store(
    found: Iterable[Loaded], snapshots: Mapping[str, int], *, only: tuple[str, Iterable[str]] | None = None
) -> None:
    """Put `found` in place of what is stored, or of the regions `only` (provider, regions) names."""
    state, _ = LoadedState.objects.update_or_create(
        pk=1, defaults={"snapshots": selectors.price_snapshots(snapshots)}
    )
    stored = LoadedRegion.objects.all()
    if only is not None:
        stored = stored.filter(provider=only[0], region__in=list(only[1]))
    stored.delete()
    LoadedRegion.objects.bulk_create(
        LoadedRegion(state=state, **{**vars(loaded), "choices": [*map(_plain, loaded.choices)]})
        for loaded in found
    )


def _plain(choice: Choice) -> list[str | int | bool]:
    return list(vars(choice).values())


def rollup_move(before: Mapping[str, int], after: Mapping[str, int]) -> None:
    """The same rows are in other files now."""
    LoadedState.objects.filter(snapshots=selectors.price_snapshots(before)).update(
        snapshots=selectors.price_snapshots(after)
    )


def rollup_rebuild() -> bool:
    """Make the whole roll-up anew where it is missing or behind; False when it is in step."""
    snapshots = selectors.current_snapshots()
    if rollup_in_step(snapshots) or not selectors.price_snapshots(snapshots):
        return False
    with selectors.lake().connect(snapshots) as con:
        rollup_store(read_loaded(con), snapshots)
    return True
