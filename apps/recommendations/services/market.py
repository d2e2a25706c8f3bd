"""The market of a workload: Spot books, list prices, interruption bands, transfer prices, quality flags."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from django.utils.translation import gettext as _

from apps.catalog.models import InstanceType
from apps.catalog.selectors import equivalents
from apps.ingest.selectors import price_rejections
from apps.prices.selectors import interruption_bands, on_demand_prices, transfer_prices
from apps.prices.selectors.books import loaded_book
from apps.recommendations.services.discounts import with_negotiated
from apps.recommendations.services.question import Question
from finops.engine.plans import ListedPrice, Market
from finops.engine.quality import check_quality
from finops.engine.rates import NegotiatedRate
from finops.engine.rework import Hazard, hazard_from_band
from finops.engine.series import PriceBook, SeriesKey
from finops.engine.transfer import TransferPrice
from finops.engine.workload import Workload


@dataclass(frozen=True)
class Gathered:
    """A market with the display names of its zones and the dated sources behind it."""

    market: Market
    zone_names: Mapping[str, str]
    sources: Mapping[str, object]


def gather(
    question: Question, snapshots: Mapping[str, int], rates: Sequence[NegotiatedRate] = ()
) -> Gathered:
    """Everything that is known about where and on what the workload may run.

    `rates`: negotiated ones that may hold for on-demand prices. Raises WorkloadError when two of them tie.
    """
    w = question.workload
    types = w.types or question.fitting
    stand_ins = _stand_ins(w)
    wanted = sorted({*types, *(kind for group in stand_ins.values() for kind in group)})
    loaded = loaded_book(
        provider=w.provider, regions=w.regions, types=wanted, product=w.product, snapshots=snapshots
    )
    listed, rate_sources = with_negotiated(_list_prices(w, wanted), w, rates)
    bands, band_sources = _hazards(w, types)
    flags, home_flags = quality_flags(loaded.book, w, listed)
    market = Market(
        book=loaded.book,
        list_prices=listed,
        fitting=question.fitting,
        stand_ins=stand_ins,
        hazards=bands,
        transfer=_transfer(w),
        flags=flags,
        home_flags=home_flags,
        invalid=price_rejections(provider=w.provider, regions=w.regions, types=types),
    )
    sources = {"interruption_bands": band_sources, "negotiated_rates": rate_sources}
    return Gathered(market, loaded.zone_names, sources)


def _stand_ins(w: Workload) -> dict[str, tuple[str, ...]]:
    """Types that can do the work of the first named one; none when its facts are not loaded."""
    if not w.types or not InstanceType.objects.filter(provider=w.provider, name=w.types[0]).exists():
        return {} if w.types else dict.fromkeys((), ())
    return {w.types[0]: tuple(equivalents(w.types[0], provider=w.provider))}


def _list_prices(w: Workload, types: Iterable[str]) -> dict[tuple[str, str], ListedPrice]:
    names = list(types)
    found = {}
    for region in w.regions:
        prices = on_demand_prices(
            provider=w.provider, region=region, product=w.product, at=w.at, instance_types=names
        )
        for kind, price in prices.items():
            found[region, kind] = ListedPrice(
                float(price.price), price.currency, price.listed_on.date().isoformat(), price.later_prices
            )
    return found


def _hazards(
    w: Workload, types: Iterable[str]
) -> tuple[dict[tuple[str, str], Hazard], list[dict[str, object]]]:
    if w.hazard_per_hour is not None:
        return {}, []
    hazards, sources = {}, {}
    for region in w.regions:
        bands = interruption_bands(
            provider=w.provider, region=region, product=w.product, at=w.at, instance_types=list(types)
        )
        for kind, band in bands.items():
            # A top edge of 1 is the open band: nothing is said about how often above its lower edge.
            high = None if band.high is None or band.high >= 1 else float(band.high)
            hazards[region, kind] = hazard_from_band(float(band.low), high, source=band.label)
            sources[band.as_of] = {
                "as_of": band.as_of.isoformat(),
                "later": band.later,
                "source": band.source,
            }
    return hazards, [sources[day] for day in sorted(sources)]


def _transfer(w: Workload) -> dict[tuple[str, str], TransferPrice]:
    if not w.data_gib or not w.data_region:
        return {}
    prices = transfer_prices(provider=w.provider, from_region=w.data_region, to_regions=w.regions, at=w.at)
    return {
        (w.data_region, region): TransferPrice(float(price.per_gib), price.currency, price.source)
        for region, price in prices.items()
    }


def quality_flags(
    book: PriceBook, w: Workload, listed: Mapping[tuple[str, str], ListedPrice]
) -> tuple[dict[SeriesKey, str], dict[SeriesKey, str]]:
    """Series that quality forbids as a candidate and as a home price at the decision time, with the sentence.

    Spot above on-demand is left to the comparison of costs: it is a price, only a dear one.
    """
    prices = np.array(
        [
            found.per_hour
            if (found := listed.get((key.region, key.instance_type))) and found.currency == key.currency
            else np.nan
            for key in book.keys
        ],
        np.float64,
    )
    candidate: dict[SeriesKey, str] = {}
    home: dict[SeriesKey, str] = {}
    for finding in check_quality(book, now_us=w.at_us, list_prices=prices):
        if finding.kind == "above on-demand":
            continue
        sentence = _(finding.template) % finding.values
        for barred, flags in ((finding.blocks_candidate, candidate), (finding.blocks_home, home)):
            if barred:
                flags.setdefault(finding.key, sentence)
    return candidate, home
