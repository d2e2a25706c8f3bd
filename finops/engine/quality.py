"""What is wrong with price series, before any advice rests on them.

Each check looks at one question over all series at once and gives findings: which series, what, since when,
how bad, and whether the series may still be the home price (the price a saving is measured against) or a
candidate (a price that is recommended). A blocked series is not dropped: whoever uses it has to say so.

Neighbours of a series are the series of the same provider, region, instance type, product and currency in
other zones.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from finops.engine.series import US_PER_HOUR, Floats, Ints, PriceBook, SeriesKey, from_us

Kind = Literal[
    "stale",
    "at list price",
    "above on-demand",
    "gap",
    "zone name and id",
    "two product names",
    "licence below Linux",
    "invalid price",
]
Severity = Literal["info", "warning", "error"]
Bools = NDArray[np.bool_]
Told = Mapping[str, str | int]
DAY_US = 24 * US_PER_HOUR
VPC = " (Amazon VPC)"
ZONE_ID = re.compile(r"[a-z]{2,6}\d{1,2}-az\d{1,2}")
ZONE_NAME = re.compile(r"(?:[^:]+:)?[a-z]{2}(?:-[a-z]+)+-\d[a-z]")


@dataclass(frozen=True)
class QualityConfig:
    """Limits, each with its reason.

    `stale_days`: in us-east-1 2021, 1.7 % of series stood still for 14 days and 1.5 % for 21 while the median
    neighbour moved within 3 days; three weeks spares ordinary calm. `neighbour_moves`: changes of the median
    neighbour in that time, once in two days; fewer is a calm market, not a dead series. A price at the
    lowest of its zones is spared: floor prices stand still by nature (89 days in that archive).
    `list_share`, `third`, `list_days`: at 90 % of on-demand while the median zone is at 40 % or less, for a
    week: a shortage that lasts so long in one zone looks the same as a dead feed, and neither is a price to
    save against.
    `lonely_factor`: without a list price, 2.5 times the median zone stands for it (a third of on-demand,
    reversed, with the same margin).
    `gap_hours`: shorter gaps are the seams between two collections. `product_share`: prices of two names for
    one product differing by more than half a percent are two markets, not rounding.
    """

    stale_days: float = 21.0
    neighbour_moves: float = 10.0
    list_share: float = 0.9
    third: float = 0.4
    list_days: float = 7.0
    lonely_factor: float = 2.5
    gap_hours: float = 1.0
    product_share: float = 0.005


DEFAULT = QualityConfig()


@dataclass(frozen=True)
class Finding:
    """One thing wrong with one series.

    `since`: us, from when it holds; None: from the start of the data. `template` with `values` is the
    sentence to translate. `blocks_home`, `blocks_candidate`: not to be used so without saying it.
    """

    series: int
    key: SeriesKey
    kind: Kind
    severity: Severity
    since: int | None
    template: str
    values: Told = field(default_factory=dict)
    blocks_home: bool = False
    blocks_candidate: bool = False

    def __str__(self) -> str:
        return self.template % self.values


@dataclass(frozen=True)
class _State:
    """Per series at `now`: price (nan unknown), row, us of the last real change, group of its neighbours.

    `moves`: real changes before each row of the book, one longer than the rows.
    """

    book: PriceBook
    now: int
    price: Floats
    row: Ints
    changed: Ints
    moves: Ints
    group: Ints

    @property
    def known(self) -> Bools:
        return np.isfinite(self.price)


def _groups(keys: Sequence[SeriesKey], *names: str) -> Ints:
    """A number for each distinct value of the named fields, in the order of appearance."""
    seen: dict[tuple[str, ...], int] = {}
    values = attrgetter(*names)
    return np.array([seen.setdefault(values(key), len(seen)) for key in keys], np.int64)


def _state(book: PriceBook, now: int) -> _State:
    count = len(book)
    index = np.arange(count)
    price, row = book.price_at(index, now), book.row_at(index, now)
    # A row that repeats the price before it is no change.
    changes = np.ones(len(book.prices), np.bool_)
    changes[1:] = book.prices[1:] != book.prices[:-1]
    changes[book.offsets[:-1][np.diff(book.offsets) > 0]] = True
    ordinal = np.concatenate(([0], np.cumsum(changes)))
    at_change = book.times[changes] if len(book.times) else np.zeros(0, np.int64)
    last = ordinal[row + 1] - 1
    changed = np.where(row >= 0, at_change[np.maximum(last, 0)] if len(at_change) else 0, now)
    group = _groups(book.keys, "provider", "region", "instance_type", "product", "currency")
    return _State(book, now, price, row, changed, ordinal, group)


def _median_others(values: Floats, group: Ints) -> Floats:
    """Median of the finite values of the other members of each group; nan where there is none."""
    out = np.full(len(values), np.nan)
    finite = np.flatnonzero(np.isfinite(values))
    order = finite[np.lexsort((values[finite], group[finite]))]
    starts = np.flatnonzero(np.diff(group[order], prepend=-1))
    size = np.diff(np.append(starts, len(order)))
    first, count = np.repeat(starts, size), np.repeat(size, size)
    rank = np.arange(len(order)) - first
    others = count - 1
    have = others > 0
    # The k-th of the others in sorted order, skipping the series' own place.
    low, high = np.maximum(others - 1, 0) // 2, others // 2
    low, high = low + (low >= rank), high + (high >= rank)
    ranked, last = values[order], len(order) - 1
    middle = (ranked[np.minimum(first + low, last)] + ranked[np.minimum(first + high, last)]) / 2
    out[order[have]] = middle[have]
    return out


def _lowest_others(values: Floats, group: Ints) -> Floats:
    """Lowest finite value of the other members of each group; nan where there is none."""
    out = np.full(len(values), np.nan)
    finite = np.flatnonzero(np.isfinite(values))
    order = finite[np.lexsort((values[finite], group[finite]))]
    new = np.diff(group[order], prepend=-1) > 0
    lowest = np.full(int(group.max(initial=-1)) + 1, np.nan)
    runner = lowest.copy()
    lowest[group[order[new]]] = values[order[new]]
    second = ~new & np.concatenate(([False], new[:-1]))
    runner[group[order[second]]] = values[order[second]]
    out[:] = lowest[group]
    out[order[new]] = runner[group[order[new]]]
    return out


def _neighbour_moves(state: _State, which: Ints) -> Floats:
    """Median number of changes of the neighbours of each chosen series since that series' own last change."""
    if not len(which):
        return np.zeros(0)
    order = np.argsort(state.group, kind="stable")
    sizes = np.bincount(state.group)
    starts = np.concatenate(([0], np.cumsum(sizes)[:-1]))
    size = sizes[state.group[which]]
    pair = np.repeat(np.arange(len(which)), size)
    nth = np.arange(len(pair)) - np.repeat(np.cumsum(size) - size, size)
    other = order[starts[state.group[which]][pair] + nth]
    keep = (other != which[pair]) & state.known[other]
    pair, other = pair[keep], other[keep]
    before = state.book.row_at(other, state.changed[which[pair]])
    before = np.where(before >= 0, before, state.book.offsets[other])
    moves = (state.moves[state.row[other] + 1] - state.moves[before + 1]).astype(np.float64)
    median = pd.Series(moves).groupby(pair).median()
    out = np.full(len(which), np.nan)
    out[median.index.to_numpy()] = median.to_numpy()
    return out


def _find(
    state: _State,
    which: Ints,
    kind: Kind,
    severity: Severity,
    template: str,
    values: Sequence[Told],
    *,
    since: Ints | None,
    home: bool,
    candidate: bool,
) -> list[Finding]:
    return [
        Finding(
            series,
            state.book.keys[series],
            kind,
            severity,
            None if since is None else int(since[series]),
            template,
            told,
            home,
            candidate,
        )
        for series, told in zip(which.tolist(), values, strict=True)
    ]


def _day(us: int) -> str:
    return f"{from_us(us):%Y-%m-%d}"


def _stale(state: _State, config: QualityConfig) -> list[Finding]:
    old = state.now - state.changed >= config.stale_days * DAY_US
    not_floor = state.price > _lowest_others(state.price, state.group)
    which = np.flatnonzero(state.known & old & not_floor)
    moves = _neighbour_moves(state, which)
    dead = moves >= config.neighbour_moves
    which, moves = which[dead], moves[dead]
    told: list[Told] = [
        {
            "days": int((state.now - state.changed[s]) // DAY_US),
            "since": _day(int(state.changed[s])),
            "moves": f"{moved:.0f}",
        }
        for s, moved in zip(which.tolist(), moves.tolist(), strict=True)
    ]
    text = "Unchanged for %(days)s days (since %(since)s) while the other zones changed %(moves)s times."
    return _find(state, which, "stale", "warning", text, told, since=state.changed, home=True, candidate=True)


def _at_list_price(state: _State, list_prices: Floats, config: QualityConfig) -> list[Finding]:
    others = _median_others(state.price, state.group)
    stands = state.now - state.changed >= config.list_days * DAY_US
    listed = np.isfinite(list_prices)
    high = (state.price >= config.list_share * list_prices) & (others <= config.third * list_prices)
    lonely = state.price >= config.lonely_factor * others
    with_list = np.flatnonzero(stands & listed & high)
    without = np.flatnonzero(stands & ~listed & lonely)
    told: list[Told] = [
        {
            "share": f"{100 * state.price[s] / list_prices[s]:.0f}",
            "others": f"{100 * others[s] / list_prices[s]:.0f}",
            "since": _day(int(state.changed[s])),
        }
        for s in with_list.tolist()
    ]
    text = "At %(share)s %% of the on-demand price since %(since)s; the other zones are at %(others)s %%."
    found = _find(
        state,
        with_list,
        "at list price",
        "warning",
        text,
        told,
        since=state.changed,
        home=True,
        candidate=True,
    )
    told = [
        {"factor": f"{state.price[s] / others[s]:.1f}", "since": _day(int(state.changed[s]))}
        for s in without.tolist()
    ]
    text = "%(factor)s times the price of the other zones since %(since)s; no list price to compare with."
    return found + _find(
        state, without, "at list price", "warning", text, told, since=state.changed, home=True, candidate=True
    )


def _above_on_demand(state: _State, list_prices: Floats) -> list[Finding]:
    which = np.flatnonzero(state.price > list_prices)
    told: list[Told] = [{"factor": f"{state.price[s] / list_prices[s]:.2f}"} for s in which.tolist()]
    text = "Spot costs %(factor)s times the on-demand price."
    return _find(
        state, which, "above on-demand", "warning", text, told, since=state.changed, home=True, candidate=True
    )


def _gaps(state: _State, config: QualityConfig) -> list[Finding]:
    book = state.book
    owner = np.repeat(np.arange(len(book)), np.diff(book.known_offsets))
    length = book.known_from[1:] - book.known_to[:-1]
    inner = (
        (owner[1:] == owner[:-1])
        & (length > config.gap_hours * US_PER_HOUR)
        & (book.known_from[1:] <= state.now)
    )
    gap = np.flatnonzero(inner)
    series = owner[gap]
    count = np.bincount(series, minlength=len(book))
    hours = np.bincount(series, length[gap] / US_PER_HOUR, minlength=len(book))
    first = np.full(len(book), np.iinfo(np.int64).max)
    np.minimum.at(first, series, book.known_to[gap])
    which = np.flatnonzero(count)
    told: list[Told] = [
        {"count": int(count[s]), "hours": f"{hours[s]:.0f}", "since": _day(int(first[s]))}
        for s in which.tolist()
    ]
    found = []
    for one, text in (
        (True, "Prices are unknown for %(hours)s h, from %(since)s."),
        (False, "Prices are unknown for %(hours)s h in %(count)s gaps, the first from %(since)s."),
    ):
        chosen = (count[which] == 1) == one
        values = [t for t, keep in zip(told, chosen, strict=True) if keep]
        found += _find(
            state, which[chosen], "gap", "info", text, values, since=first, home=False, candidate=False
        )
    return found


def _zone_names_and_ids(state: _State) -> list[Finding]:
    """Zones under a name where others of the same market go by id: one zone may count twice.

    Only prices that are known at the same time do: an archive by id says nothing about years before it.
    """
    keys = state.book.keys
    by_id = np.array([ZONE_ID.fullmatch(key.zone) is not None for key in keys], np.bool_) & state.known
    by_name = np.array([ZONE_NAME.fullmatch(key.zone) is not None for key in keys], np.bool_) & state.known
    has_id = np.bincount(state.group, by_id, minlength=1)[state.group] > 0 if len(keys) else by_id
    which = np.flatnonzero(by_name & has_id)
    told: list[Told] = [{"zone": keys[s].zone} for s in which.tolist()]
    text = "%(zone)s is a zone name beside zone ids: without the account's map one zone may count twice."
    return _find(
        state, which, "zone name and id", "warning", text, told, since=None, home=False, candidate=True
    )


def _partner(state: _State, other: Mapping[int, str]) -> tuple[Ints, Ints]:
    """(series, partner): the series of the same zone and type whose product is the one named for it."""
    place = {
        (k.provider, k.region, k.zone, k.instance_type, k.currency, k.product): n
        for n, k in enumerate(state.book.keys)
    }
    pairs = []
    for series, product in other.items():
        k = state.book.keys[series]
        match = place.get((k.provider, k.region, k.zone, k.instance_type, k.currency, product))
        if match is not None:
            pairs.append((series, match))
    table = np.array(pairs, np.int64).reshape(-1, 2)
    return table[:, 0], table[:, 1]


def _two_product_names(state: _State, config: QualityConfig) -> list[Finding]:
    """Plain names beside their "(Amazon VPC)" name at different prices: a question takes the VPC name."""
    plain = {n: key.product + VPC for n, key in enumerate(state.book.keys) if not key.product.endswith(VPC)}
    which, partner = _partner(state, plain)
    ratio = state.price[which] / state.price[partner] - 1
    differs = np.abs(ratio) > config.product_share
    which, ratio = which[differs], ratio[differs]
    told: list[Told] = [
        {"product": state.book.keys[s].product, "differs": f"{100 * r:+.1f}"}
        for s, r in zip(which.tolist(), ratio.tolist(), strict=True)
    ]
    text = "%(product)s differs by %(differs)s %% from its (Amazon VPC) name: they are two markets."
    return _find(
        state,
        which,
        "two product names",
        "warning",
        text,
        told,
        since=state.changed,
        home=True,
        candidate=True,
    )


def _licence_below_linux(state: _State) -> list[Finding]:
    """A licensed system cheaper than Linux on the same machine: the products are likely mixed up."""
    linux = {
        n: "Linux/UNIX" + (VPC if key.product.endswith(VPC) else "")
        for n, key in enumerate(state.book.keys)
        if not key.product.startswith("Linux/UNIX")
    }
    which, partner = _partner(state, linux)
    below = state.price[which] < state.price[partner]
    which, partner = which[below], partner[below]
    told: list[Told] = [
        {"product": state.book.keys[s].product, "share": f"{100 * state.price[s] / state.price[p]:.0f}"}
        for s, p in zip(which.tolist(), partner.tolist(), strict=True)
    ]
    text = "%(product)s costs %(share)s %% of Linux on the same machine; a licence cannot make it cheaper."
    return _find(
        state,
        which,
        "licence below Linux",
        "warning",
        text,
        told,
        since=state.changed,
        home=True,
        candidate=True,
    )


def _invalid(state: _State) -> list[Finding]:
    book = state.book
    bad = ~(np.isfinite(book.prices) & (book.prices > 0))
    owner = np.repeat(np.arange(len(book)), np.diff(book.offsets))
    count = np.bincount(owner[bad], minlength=len(book))
    first = np.full(len(book), np.iinfo(np.int64).max)
    np.minimum.at(first, owner[bad], book.times[bad])
    which = np.flatnonzero(count)
    told: list[Told] = [{"count": int(count[s])} for s in which.tolist()]
    text = "%(count)s prices are not above 0; no price is not a free one."
    return _find(state, which, "invalid price", "error", text, told, since=first, home=True, candidate=True)


def check_quality(
    book: PriceBook,
    *,
    now_us: int,
    list_prices: Floats | None = None,
    config: QualityConfig = DEFAULT,
) -> list[Finding]:
    """Findings of every check at `now_us`, by series and kind; nothing after it is looked at.

    `list_prices` (n,): on-demand price of each series in its own currency, nan where unknown; None: none is
    known.
    """
    listed = np.full(len(book), np.nan) if list_prices is None else np.asarray(list_prices, np.float64)
    if listed.shape != (len(book),):
        raise ValueError(f"{listed.shape} list prices for {len(book)} series")
    if not len(book.times):
        return []
    state = _state(book, now_us)
    found = [
        *_invalid(state),
        *_stale(state, config),
        *_at_list_price(state, listed, config),
        *_above_on_demand(state, listed),
        *_gaps(state, config),
        *_zone_names_and_ids(state),
        *_two_product_names(state, config),
        *_licence_below_linux(state),
    ]
    return sorted(found, key=lambda one: one.series)


def blocked(findings: Sequence[Finding], series: int) -> tuple[Bools, Bools]:
    """(home, candidate) masks over `series` series: True where a finding blocks that use."""
    home, candidate = np.zeros(series, np.bool_), np.zeros(series, np.bool_)
    for finding in findings:
        home[finding.series] |= finding.blocks_home
        candidate[finding.series] |= finding.blocks_candidate
    return home, candidate
