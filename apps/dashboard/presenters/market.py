"""The Market page in words: heading, key figures, findings, rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import tzinfo
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from apps.dashboard import format as fmt
from apps.dashboard.figures.prices import CONTEXT, Line, axis_start, price_lines, week_map, week_reach
from apps.dashboard.figures.thinning import averaged, step_hours
from apps.dashboard.market import MarketFacts, ZoneRow
from apps.dashboard.words import capital, count_word, day_names, joined, lang
from finops.engine.claim import ClaimResult

MAX_LINES = 12


@dataclass(frozen=True)
class Kpi:
    """One cell of the strip."""

    label: str
    value: str
    note: str
    unit: str = ""


def heading(facts: MarketFacts, instance_type: str) -> str:
    """The answer, at most 90 characters; the figure in [[ ]]."""
    spread, reach = facts.spread_pct, facts.hour_range_pct
    zone = fmt.percent(spread, lang())
    profile = facts.profile
    if profile is None or reach is None or profile.verdict == "too little data":
        if spread is None:
            return _("%(type)s: too little history to judge hours of the week") % {"type": instance_type}
        return _("%(type)s: hours cannot be judged yet, the zone moves it by [[%(zone)s]].") % {
            "type": instance_type,
            "zone": zone,
        }
    hour = fmt.percent(reach[1] - reach[0], lang())
    if profile.verdict == "pattern" and profile.off_peak is not None:
        saving = fmt.percent(profile.off_peak.saving * 100, lang())
        return _("%(type)s is cheaper %(when)s: [[%(saving)s]] under its weekly mean.") % {
            "type": instance_type,
            "when": off_peak_words(facts),
            "saving": saving,
        }
    if spread is None:
        return _("%(type)s has no off-peak hour: time of week moves it by [[%(hour)s]].") % {
            "type": instance_type,
            "hour": hour,
        }
    return _(
        "%(type)s has no off-peak hour: time of week moves it by %(hour)s, the zone by [[%(zone)s]]."
    ) % {
        "type": instance_type,
        "hour": hour,
        "zone": zone,
    }


def off_peak_words(facts: MarketFacts) -> str:
    """`from 22:00 to 06:00`, `from Sat 00:00 to Mon 00:00`."""
    found = facts.profile.off_peak if facts.profile else None
    if found is None:
        return ""
    first, last = found.first_slot, found.first_slot + found.slots
    if found.daily:
        return _("from %(start)s to %(end)s") % {"start": f"{first:02d}:00", "end": f"{last % 24:02d}:00"}
    days = day_names()
    return _("from %(start)s to %(end)s") % {
        "start": f"{days[first // 24 % 7]} {first % 24:02d}:00",
        "end": f"{days[last // 24 % 7]} {last % 24:02d}:00",
    }


def lead(facts: MarketFacts, days: int) -> str:
    """The comparison under the heading."""
    best, ordered = facts.cheapest, facts.by_mean()
    parts: list[str] = []
    if best is not None:
        price = fmt.money_hourly(best.now, facts.currency)
        if best.of_on_demand_pct is not None:
            parts.append(
                _("Spot costs %(price)s an hour in %(zone)s, %(share)s of on-demand.")
                % {"price": price, "zone": best.zone, "share": fmt.percent(best.of_on_demand_pct, lang())}
            )
        else:
            parts.append(_("Spot costs %(price)s an hour in %(zone)s.") % {"price": price, "zone": best.zone})
    if len(ordered) > 1:
        parts.append(
            _("Over %(days)d days %(cheap)s was cheapest on average, %(dear)s dearest.")
            % {"days": days, "cheap": ordered[0].zone, "dear": ordered[-1].zone}
        )
    return joined(*parts)


def kpis(facts: MarketFacts, days: int, zone: tzinfo) -> list[Kpi]:
    """The five key figures."""
    best, ordered, reach = facts.cheapest, facts.by_mean(), facts.hour_range_pct
    listed = facts.listed.get(best.region) if best else None
    cells = [
        Kpi(
            _("Cheapest now"),
            fmt.money_hourly(best.now, facts.currency) if best else fmt.UNKNOWN,
            _("%(zone)s · since %(time)s") % {"zone": best.zone, "time": fmt.moment(best.since, zone, lang())}
            if best
            else _("no price is known at this moment"),
            _("/ h") if best else "",
        ),
        Kpi(
            _("Against on-demand"),
            fmt.percent(best.of_on_demand_pct if best else None, lang()),
            _list_note(facts, best, zone) if listed else _("no list price for this type is loaded"),
        ),
        Kpi(
            _("Spread between zones, %(days)d d") % {"days": days},
            fmt.percent(facts.spread_pct, lang()),
            _("%(low)s to %(high)s, time-weighted means")
            % {"low": fmt.hourly(ordered[0].mean), "high": fmt.hourly(ordered[-1].mean)}
            if len(ordered) > 1
            else _("one zone only"),
        ),
        Kpi(
            _("Hour of the week"),
            fmt.percent(reach[1] - reach[0], lang()) if reach else fmt.UNKNOWN,
            _("%(low)s to %(high)s of the week's mean")
            % {"low": fmt.number(reach[0], 1, sign=True), "high": fmt.percent(reach[1], lang(), sign=True)}
            if reach
            else _("no whole week is known"),
        ),
        Kpi(_("Change points"), fmt.number(facts.changes), _change_note(facts, days)),
    ]
    return cells


def _list_note(facts: MarketFacts, best: ZoneRow | None, zone: tzinfo) -> str:
    listed = facts.listed[best.region] if best else None
    if listed is None:
        return ""
    text = _("%(price)s an hour, list of %(day)s") % {
        "price": fmt.money_hourly(listed.price, facts.currency),
        "day": fmt.day(listed.listed_on, zone, lang(), year=True),
    }
    return text + _(", a later list") if listed.later else text


def _change_note(facts: MarketFacts, days: int) -> str:
    zones = len(facts.rows)
    if not facts.changes or not zones:
        return _("none in this period")
    hours = days * 24 * zones / facts.changes
    text = ngettext(
        "%(zones)d zone · a change every %(hours)s h",
        "%(zones)d zones · a change every %(hours)s h each",
        zones,
    )
    return text % {"zones": zones, "hours": fmt.number(hours, 0 if hours >= 2 else 1)}


def dearest_finding(facts: MarketFacts) -> str:
    """The title of the price chart."""
    if not facts.weekly_dearest or facts.weeks < 2:
        return _("Spot price by zone")
    zone, count = facts.weekly_dearest[0]
    if count * 2 > facts.weeks:
        return _("%(zone)s was the dearest zone in %(count)s of %(weeks)s weeks") % {
            "zone": zone,
            "count": count_word(count),
            "weeks": count_word(facts.weeks),
        }
    return _("No zone stays the dearest: %(count)s took turns in %(weeks)s weeks") % {
        "count": count_word(len(facts.weekly_dearest)),
        "weeks": count_word(facts.weeks),
    }


def lines(facts: MarketFacts) -> list[Line]:
    """Context first, the cheapest and the dearest on average on top."""
    ordered = facts.by_mean()
    if not ordered:
        return []
    if len(ordered) > MAX_LINES:  # the dearest is what the title may speak of
        ordered = [*ordered[: MAX_LINES - 1], ordered[-1]]
    cheap, dear = ordered[0], ordered[-1] if len(ordered) > 1 else None
    drawn: list[Line] = []
    for row in ordered:
        short = row.zone.split("-", 1)[-1] if row.zone.count("-") > 1 else row.zone
        if row is cheap:
            drawn.append(Line(row.zone, short, row.steps, "@c1", 2.5, "@c1", True))
        elif row is dear:
            drawn.append(Line(row.zone, short, row.steps, "@c2", 2.25, "@d3", True))
        else:
            drawn.append(Line(row.zone, short, row.steps, *CONTEXT))
    return sorted(drawn, key=lambda line: line.width)


def price_chart(facts: MarketFacts, instance_type: str, zone: tzinfo) -> dict[str, Any]:
    """Frame of the chart of change points."""
    drawn = lines(facts)
    step = step_hours([line.steps for line in drawn])
    if step is not None:
        drawn = [replace(line, steps=averaged(line.steps, step)) for line in drawn]
    text = _("Spot price of %(type)s, %(currency)s per hour, every change; the axis starts at %(start)s")
    if step is not None:
        text = _(
            "Spot price of %(type)s, %(currency)s per hour, time-weighted in steps of %(step)s h; "
            "the axis starts at %(start)s"
        )
    measure = text % {
        "type": instance_type,
        "currency": fmt.currency_word(facts.currency, lang()),
        "step": step,
        "start": fmt.axis_value(axis_start(drawn)),
    }
    priced = len(facts.by_mean())
    return {
        "id": "price-figure",
        "title": dearest_finding(facts),
        "measure": measure,
        "left_out": _("%(shown)d of %(all)d zones are drawn: the cheapest and the dearest on average")
        % {"shown": len(drawn), "all": priced}
        if priced > len(drawn)
        else "",
        "figure": price_lines(drawn, start=facts.start, end=facts.end, zone=zone, lang=lang()),
    }


def week_chart(facts: MarketFacts) -> dict[str, Any] | None:
    """Frame of the hour-of-week map; flat means it stays blank and says so."""
    profile, reach = facts.profile, facts.hour_range_pct
    if profile is None or reach is None:
        return None
    spread = fmt.percent(reach[1] - reach[0], lang())
    relative = [h.relative for h in profile.hours]
    if facts.flat:
        title = _("Every hour of the week costs the same, within %(spread)s") % {"spread": spread}
    elif profile.verdict == "pattern":
        title = _("Cheaper %(when)s") % {"when": off_peak_words(facts)}
    elif profile.verdict == "no pattern":
        title = _("No hour is reliably cheaper: what one week shows, others do not repeat")
    else:
        title = _("Too few weeks to judge hours of the week")
    return {
        "id": "week-figure",
        "title": title,
        "flat": facts.flat,
        "low": fmt.number(reach[0], 1, sign=True),
        "high": fmt.percent(reach[1], lang(), sign=True),
        "reach": week_reach(relative),
        "figure": None if facts.flat else week_map(relative, day_names()),
        "weeks": profile.weeks,
        "series": profile.series,
        "zone": profile.zone,
        "days": [
            (
                name,
                [
                    None if h.relative is None else (h.relative - 1) * 100
                    for h in profile.hours[24 * d : 24 * d + 24]
                ],
            )
            for d, name in enumerate(day_names())
        ],
    }


def claim_view(result: ClaimResult | None, region: str) -> dict[str, Any] | None:
    """The popular claim with its verdict."""
    if result is None:
        return None
    kind, word = {
        "true here": ("pass", _("True here")),
        "false here": ("deny", _("False here")),
        "cannot judge": ("unknown", _("Cannot judge")),
    }[result.verdict]
    return {
        "kind": kind,
        "word": word,
        "region": region,
        "ratio": fmt.number(result.ratio, 3),
        "interval": fmt.span(result.low, result.high, lang(), decimals=3),
        "series": len(result.ratios),
        "weeks": result.weeks,
    }


def table_title(facts: MarketFacts) -> str:
    """Title of the zone table."""
    count = len(facts.rows)
    if count == 1:
        return _("One zone")
    return capital(_("%(count)s zones, cheapest now first") % {"count": count_word(count)})


def age_words(facts: MarketFacts, zone: tzinfo) -> str:
    """When the newest change of the page was."""
    newest = max((row.since for row in facts.rows if row.since is not None), default=None)
    if newest is None:
        return ""
    return _("Newest change %(time)s") % {"time": fmt.moment(newest, zone, lang())}


@dataclass(frozen=True)
class Bar:
    """One price as a bar from 0; `width` in percent of the longest."""

    label: str
    kind: str
    width: str
    price: float
    share: float | None


def bars(facts: MarketFacts) -> list[Bar]:
    """Spot in each zone beside the list price of each region."""
    spot = [(row.zone, row.now, row.of_on_demand_pct) for row in facts.rows if row.now is not None]
    lists = [(_("%(region)s, on-demand") % {"region": r}, p.price, 100.0) for r, p in facts.listed.items()]
    longest = max([price for _label, price, _share in [*spot, *lists]], default=0.0)
    if not longest:
        return []
    best = spot[0][0] if spot else ""
    made = [
        Bar(zone, "best" if zone == best else "", f"{price / longest * 100:.2f}", price, share)
        for zone, price, share in spot[:MAX_LINES]
    ]
    return made + [
        Bar(label, "list", f"{price / longest * 100:.2f}", price, share) for label, price, share in lists
    ]
