"""Market: what Spot costs where, whether the hour matters, and whether a popular claim holds."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo, available_timezones

from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import render
from django.template.loader import render_to_string
from django.utils import timezone
from django.utils.cache import patch_vary_headers
from django.utils.translation import gettext as _

from apps.accounts.access import access
from apps.accounts.roles import Action
from apps.dashboard import freshness, market
from apps.dashboard.caching import DAY, cache_key, kept
from apps.dashboard.catalogue import Choices
from apps.dashboard.presenters import market as words
from apps.dashboard.words import lang, listed
from apps.ingest.selectors import price_snapshots
from apps.prices.selectors import on_demand_prices
from apps.prices.selectors.books import loaded_book
from finops.text.csv_cells import Column, csv_lines

PROVIDER = "aws"
CLAIM_REGION = "us-east-1"
ZONES = (
    "UTC",
    "America/New_York",
    "America/Los_Angeles",
    "Europe/Berlin",
    "Europe/London",
    "Asia/Shanghai",
    "Asia/Tokyo",
)
CACHE_SECONDS = 3600
RAMP = ("d-3", "d-2", "d-1", "d0", "d1", "d2", "d3")
SORTS = {
    "now": lambda r: (r.now is None, r.now or 0.0),
    "mean": lambda r: (r.mean is None, r.mean or 0.0),
    "mean7": lambda r: (r.mean_7 is None, r.mean_7 or 0.0),
    "changes": lambda r: (False, -r.changes),
    "zone": lambda r: (False, r.zone),
}
COLUMNS = (
    Column("region", "region"),
    Column("zone", "zone"),
    Column("now", "price now, {currency} per hour", "number"),
    Column("since", "price since", "time"),
    Column("of_on_demand_pct", "of on-demand, %", "number"),
    Column("mean_7", "mean 7 days", "number"),
    Column("mean", "mean of the period", "number"),
    Column("low", "low", "number"),
    Column("high", "high", "number"),
    Column("changes", "changes", "number"),
    Column("above_cheapest_pct", "above the cheapest mean, %", "number"),
)


class Filters:
    """The filters of the address, each falling back to something that is loaded."""

    def __init__(self, request: HttpRequest, known: Choices) -> None:
        get = request.GET
        self.type = get.get("type", "") if get.get("type") in known.types else known.default_type()
        available = known.regions(self.type)
        self.regions = [r for r in get.getlist("region") if r in available] or available[:4]
        self.product = (
            get.get("product", "") if get.get("product") in known.products else known.default_product()
        )
        days = get.get("days", "")
        self.days = int(days) if days.isdecimal() and int(days) in market.PERIODS else 92
        own = timezone.get_current_timezone_name()
        asked = get.get("tz", "")
        self.zone = asked if asked in available_timezones() else own
        self.sort = get.get("sort", "now") if get.get("sort") in SORTS else "now"
        self.type_choices, self.product_choices = known.types, known.products
        self.region_choices = available
        self.periods, self.hours, self.ramp = market.PERIODS, [f"{h:02d}" for h in range(24)], RAMP
        self.zone_choices = list(dict.fromkeys([self.zone, own, *ZONES]))

    @property
    def regions_text(self) -> str:
        """The chosen regions in a few words."""
        return listed(self.regions)

    @property
    def mean_title(self) -> str:
        """Head of the column of means."""
        return _("Mean %(days)d d") % {"days": self.days}

    def key(self) -> str:
        """What the region's content depends on."""
        return "|".join(
            [self.type, ",".join(self.regions), self.product, str(self.days), self.zone, self.sort]
        )


@access(Action.VIEW)
def market_page(request: HttpRequest) -> HttpResponse:
    """The page, or its region for htmx; `format=csv` gives the zone table."""
    snapshots = freshness.snapshots_of(request)
    moment = freshness.moment_of(request)
    if moment is None:
        return render(request, "dashboard/market_empty.html", {"page": "market"})
    filters = Filters(request, freshness.choices_of(request))
    if request.GET.get("format") == "csv":
        return _csv(filters, moment, snapshots)
    context = {"page": "market", "filters": filters, "moment": moment}
    context["region"] = _region(request, filters, moment, snapshots)
    template = "dashboard/market.html#region" if getattr(request, "htmx", False) else "dashboard/market.html"
    response = render(request, template, context)
    patch_vary_headers(response, ["HX-Request"])
    return response


def _minute(moment: freshness.Moment) -> datetime:
    """A live page is made at most once a minute."""
    return moment.at if moment.past else moment.at.replace(second=0, microsecond=0)


def _region(
    request: HttpRequest, filters: Filters, moment: freshness.Moment, snapshots: dict[str, int]
) -> dict[str, str]:
    """Heading and content, from the cache: they depend on data and filters, not on the reader."""
    at = _minute(moment)
    key = cache_key(
        "market",
        price_snapshots(snapshots),
        freshness.price_state_of(request),
        filters.key(),
        at.isoformat(),
        lang(),
        moment.past,
        request.GET.urlencode(),
        timezone.get_current_timezone_name(),
    )

    def made() -> dict[str, str]:
        context = _context(filters, moment, at, snapshots, freshness.choices_of(request))
        html = render_to_string("dashboard/market_region.html", context, request=request)
        return {"html": html, "title": context["heading"]}

    return kept(key, made, CACHE_SECONDS, dict[str, str])


def _facts(filters: Filters, at: datetime, snapshots: dict[str, int]) -> market.MarketFacts:
    loaded = loaded_book(
        provider=PROVIDER,
        regions=filters.regions,
        types=[filters.type],
        product=filters.product,
        snapshots=snapshots,
    )
    prices: dict[str, market.Listed] = {}
    for region in filters.regions:
        price = on_demand_prices(
            provider=PROVIDER, region=region, product=filters.product, at=at, instance_types=[filters.type]
        ).get(filters.type)
        if price is not None:
            prices[region] = market.Listed(
                float(price.price), price.listed_on, price.later_prices, price.source
            )
    return market.market_facts(
        loaded.book, at=at, days=filters.days, zone=filters.zone, names=loaded.zone_names, listed=prices
    )


def _claim(
    filters: Filters, at: datetime, snapshots: dict[str, int], known: Choices
) -> dict[str, Any] | None:
    regions = known.regions()
    region = CLAIM_REGION if CLAIM_REGION in regions else filters.regions[0]
    key = cache_key("claim", price_snapshots(snapshots), region, filters.product, f"{at:%Y%m%d}", lang())

    def tested() -> dict[str, Any] | None:
        book = loaded_book(
            provider=PROVIDER, regions=[region], product=filters.product, snapshots=snapshots
        ).book
        return words.claim_view(market.claim_of(book, at=at), region)

    return kept(key, tested, DAY, dict[str, Any] | None)


def _context(
    filters: Filters, moment: freshness.Moment, at: datetime, snapshots: dict[str, int], known: Choices
) -> dict[str, Any]:
    facts = _facts(filters, at, snapshots)
    zone = ZoneInfo(timezone.get_current_timezone_name())
    return {
        "facts": facts,
        "filters": filters,
        "moment": moment,
        "heading": words.heading(facts, filters.type),
        "eyebrow": f"{filters.type}, {filters.product}, {listed(filters.regions)}",
        "lead": words.lead(facts, filters.days),
        "kpis": words.kpis(facts, filters.days, zone),
        "price_chart": words.price_chart(facts, filters.type, zone),
        "week_chart": words.week_chart(facts),
        "claim": _claim(filters, at, snapshots, known),
        "rows": sorted(facts.rows, key=SORTS[filters.sort]),
        "table_title": words.table_title(facts),
        "bars": words.bars(facts),
        "newest": words.age_words(facts, zone),
        "by_id": any(row.key != row.zone for row in facts.rows),
    }


def _csv(filters: Filters, moment: freshness.Moment, snapshots: dict[str, int]) -> HttpResponse:
    facts = _facts(filters, _minute(moment), snapshots)
    columns = [Column(c.key, c.title.format(currency=facts.currency), c.kind) for c in COLUMNS]
    rows = ({c.key: getattr(row, c.key) for c in COLUMNS} for row in facts.rows)
    response = StreamingHttpResponse(csv_lines(columns, rows), content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="market-{filters.type}.csv"'
    return response  # type: ignore[return-value]
