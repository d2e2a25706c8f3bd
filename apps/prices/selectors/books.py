"""Price books out of the lake: the series of some regions, types and one product, as arrays for the engine.

A book holds the whole loaded history; the engine cuts it at the decision time. Books are kept per process
under the ids of the snapshots they were read from, so a new load is never answered from an old book.
"""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np
from pyiceberg.expressions import And, BooleanExpression, In

from finops.engine.products import preferred
from finops.engine.series import Ints, PriceBook, SeriesKey, to_us
from finops.frames.products import texts_of_same_meaning
from finops.lake import SPOT_CHANGES, SPOT_KNOWN, facts

# About 100 MB of change points; a region of AWS with all types and products is 0.9M rows.
MAX_KEPT_ROWS = 4_000_000
_KEYS = "region, zone_key, instance_type, product, currency"
# The names in these texts are constants of this project.
_CHANGES = f'CREATE TEMP TABLE changes AS SELECT {_KEYS}, epoch_us("at") AS us, price FROM {SPOT_CHANGES}'  # noqa: S608
_SERIES = f"SELECT {_KEYS}, count(*) FROM changes GROUP BY ALL ORDER BY {_KEYS}"  # noqa: S608
_ROWS = f"SELECT us, CAST(price AS DOUBLE) AS price FROM changes ORDER BY {_KEYS}, us"  # noqa: S608
_EXACT = f"SELECT price FROM changes ORDER BY {_KEYS}, us"  # noqa: S608
_KNOWN = (
    f"SELECT {_KEYS}, epoch_us(known_from), epoch_us(known_to) FROM {SPOT_KNOWN} "  # noqa: S608
    f"ORDER BY {_KEYS}, known_from"
)
_ZONES = f"SELECT zone_key, arg_max(zone, known_to) FROM {SPOT_KNOWN} WHERE zone <> '' GROUP BY ALL"  # noqa: S608


@dataclass(frozen=True)
class LoadedBook:
    """A book with what belongs to it: display names of zone keys and the snapshots it was read from."""

    book: PriceBook
    zone_names: Mapping[str, str]
    snapshots: Mapping[str, int]


_kept: OrderedDict[tuple[Any, ...], LoadedBook] = OrderedDict()
_lock = threading.Lock()


def price_book(
    *,
    provider: str,
    regions: Collection[str],
    types: Collection[str] | None = None,
    product: str | None = None,
    at: datetime | None = None,
    snapshots: Mapping[str, int] | None = None,
) -> PriceBook:
    """The series of `regions` (and `types`); see `loaded_book`. With `at`, only what was knowable then."""
    loaded = loaded_book(
        provider=provider, regions=regions, types=types, product=product, snapshots=snapshots
    )
    return loaded.book if at is None else loaded.book.until(to_us(at))


def loaded_book(
    *,
    provider: str,
    regions: Collection[str],
    types: Collection[str] | None = None,
    product: str | None = None,
    snapshots: Mapping[str, int] | None = None,
) -> LoadedBook:
    """The series of `regions`, all types and products or the given ones.

    With `product` each (zone, type) is one series under that text: a text of the same meaning for use in a
    VPC counts where it is known, the other one elsewhere. Without it every product text is a series of its
    own.
    """
    chosen = dict(facts.current_snapshots() if snapshots is None else snapshots)
    texts = texts_of_same_meaning(product, provider=provider) if product else ()
    key = (
        os.getpid(),
        facts.lake().warehouse if chosen else None,
        tuple(sorted(chosen.items())),
        provider,
        tuple(sorted(set(regions))),
        None if types is None else tuple(sorted(set(types))),
        product,
    )
    with _lock:
        if key in _kept:
            _kept.move_to_end(key)
            return _kept[key]
    loaded = read_book(chosen, provider, sorted(set(regions)), types, texts)
    if product:
        loaded = LoadedBook(preferred(loaded.book, texts, product.strip()), loaded.zone_names, chosen)
    with _lock:
        _kept[key] = loaded
        while len(_kept) > 1 and sum(len(kept.book.times) for kept in _kept.values()) > MAX_KEPT_ROWS:
            _kept.popitem(last=False)
    return loaded


def _is(column: str, values: Sequence[str]) -> BooleanExpression:
    # The stubs of these classes show their serialised fields, not their constructors.
    return In(column, list(values))  # type: ignore[call-arg, arg-type]


def _filter(
    provider: str, regions: Sequence[str], types: Collection[str] | None, texts: Sequence[str]
) -> BooleanExpression:
    wanted: BooleanExpression = And(_is("provider", [provider]), _is("region", regions))
    if types is not None:
        wanted = And(wanted, _is("instance_type", sorted(set(types))))
    if texts:
        wanted = And(wanted, _is("product", texts))
    return wanted


def read_book(
    snapshots: Mapping[str, int],
    provider: str,
    regions: Sequence[str],
    types: Collection[str] | None,
    texts: Sequence[str],
    *,
    zones: Sequence[str] = (),
    exact: bool = False,
) -> LoadedBook:
    """The series as they are stored, read now. `exact`: prices are Decimal objects, for `exact_series`
    only.
    """
    if not snapshots or not regions or (types is not None and not types):
        return LoadedBook(_book(provider, [], np.zeros(0, np.int64), np.zeros(0), []), {}, snapshots)
    wanted = _filter(provider, regions, types, texts)
    if zones:
        wanted = And(wanted, _is("zone_key", zones))
    con = facts.lake().connect(snapshots, filters={SPOT_CHANGES: wanted, SPOT_KNOWN: wanted})
    try:
        con.execute(_CHANGES)
        keys = con.execute(_SERIES).fetchall()
        rows = con.execute(_ROWS).fetchnumpy()
        decimals = con.execute(_EXACT).fetchall() if exact else []
        known = con.execute(_KNOWN).fetchall()
        names = dict(con.execute(_ZONES).fetchall())
    finally:
        con.close()
    times, prices = np.asarray(rows["us"], np.int64), np.asarray(rows["price"], np.float64)
    if exact:
        prices = np.array([row[0] for row in decimals], object)
    book = _book(provider, keys, times, prices, known)
    return LoadedBook(book, names, snapshots)


def _book(
    provider: str, keys: list[tuple[Any, ...]], times: Ints, prices: Any, known: list[tuple[Any, ...]]
) -> PriceBook:
    offsets = np.concatenate(([0], np.cumsum([row[5] for row in keys], dtype=np.int64))).astype(np.int64)
    place = {row[:5]: i for i, row in enumerate(keys)}
    spans = [(place[row[:5]], row[5], row[6]) for row in known if row[:5] in place]
    # A single observation has no known stretch; its own instant is known all the same.
    seen = {span[0] for span in spans}
    lone = [(i, int(times[offsets[i + 1] - 1])) for i in range(len(keys)) if i not in seen]
    spans = sorted(spans + [(i, at, at) for i, at in lone])
    table = np.array(spans, np.int64).reshape(-1, 3)
    known_offsets = np.concatenate(
        ([0], np.cumsum(np.bincount(table[:, 0], minlength=len(keys)), dtype=np.int64))
    ).astype(np.int64)
    return PriceBook(
        tuple(SeriesKey(provider, *row[:5]) for row in keys),
        offsets,
        times,
        prices,
        known_offsets,
        table[:, 1].copy(),
        table[:, 2].copy(),
    )
