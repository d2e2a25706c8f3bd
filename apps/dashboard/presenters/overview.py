"""The Overview page in words: heading, key figures, chart, drivers, split, deliveries."""

from __future__ import annotations

from calendar import month_name
from dataclasses import dataclass
from datetime import UTC, date, timedelta
from decimal import Decimal
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from apps.billing.selectors.spend_question import UNALLOCATED
from apps.dashboard import format as fmt
from apps.dashboard.figures.cumulative import Ahead, Words, cumulative
from apps.dashboard.freshness import DataAge
from apps.dashboard.overview import OLD, Overview, month_budget
from apps.dashboard.presenters.market import Kpi
from apps.dashboard.presenters.spend_words import BASIS_WORDS, instant
from apps.dashboard.words import count_word, joined, lang
from finops.engine.spend import Change, Driver, month_start

DRIVERS_SHOWN, MOVERS_SHOWN = 5, 8


def month_alone(month: date) -> str:
    """`November`; `11月`."""
    return f"{month.month}月" if fmt.is_zh(lang()) else month_name[month.month]


def short(found: Overview) -> str:
    """The month of the page without its year."""
    return month_alone(found.asked.start)


def full(found: Overview) -> str:
    """`November 2018`; `2018年11月`."""
    year, month = found.asked.start.year, short(found)
    return f"{year}年{month}" if fmt.is_zh(lang()) else f"{month} {year}"


def team_word(found: Overview) -> str:
    """The team that is asked for, "" for all of them."""
    team = found.asked.team
    return _("Unallocated") if team == UNALLOCATED else found.teams.get(team, "")


def before_words(found: Overview, days: int, start: date) -> str:
    """What the days are compared with: `the same 18 days of October`, `the 18 days before`."""
    if found.asked.against == "previous":
        return ngettext("the %(days)s day before", "the %(days)s days before", days) % {"days": days}
    values = {"days": days, "month": month_alone(start)}
    return (
        ngettext("the same %(days)s day of %(month)s", "the same %(days)s days of %(month)s", days) % values
    )


def _money(found: Overview, value: Any, **options: Any) -> str:
    return fmt.money(value, found.currency, **options)


def heading(found: Overview) -> str:
    """The answer: what the month costs, against the budget; the figure in [[ ]]."""
    result = found.found.result
    values = {"month": short(found) if found.present else full(found)}
    if result.verdict == "cannot judge":
        values["spent"] = _money(found, found.found.spent)
        return _("%(month)s has cost [[%(spent)s]] so far; too little is known to forecast it.") % values
    expected = found.found.spent if result.verdict == "complete" else Decimal(repr(result.expected))
    values["cost"] = _money(found, expected)
    budget = month_budget(found)
    if budget is not None:
        values["off"] = _money(found, abs(expected - budget))
        if result.verdict == "complete":
            text = (
                _("%(month)s cost [[%(cost)s]], %(off)s over budget.")
                if expected > budget
                else _("%(month)s cost [[%(cost)s]], %(off)s under budget.")
            )
        else:
            text = (
                _("%(month)s is heading for [[%(cost)s]], %(off)s over budget.")
                if expected > budget
                else _("%(month)s is heading for [[%(cost)s]], %(off)s under budget.")
            )
        return text % values
    change = found.change.percent if found.change is not None else None
    if result.verdict == "complete" and change is not None:
        values["by"] = fmt.percent(abs(change), lang())
        windows = found.compared.windows
        assert windows is not None  # noqa: S101 - there is a change
        values["before"] = before_words(found, windows.before.days, windows.before.start)
        text = (
            _("%(month)s cost [[%(cost)s]], %(by)s more than %(before)s.")
            if change > 0
            else _("%(month)s cost [[%(cost)s]], %(by)s less than %(before)s.")
        )
        return text % values
    if result.verdict == "complete":
        return _("%(month)s cost [[%(cost)s]].") % values
    return _("%(month)s is heading for [[%(cost)s]].") % values


def lead(found: Overview) -> str:
    """The comparison with the same days of the month before, and what explains it."""
    parts: list[str] = []
    change, windows = found.change, found.compared.windows
    if change is not None and change.percent is not None and windows is not None:
        values = {
            "by": fmt.percent(abs(change.percent), lang()),
            "before": before_words(found, windows.before.days, windows.before.start),
        }
        text = (
            _("Spend is %(by)s above %(before)s.")
            if change.delta > 0
            else _("Spend is %(by)s below %(before)s.")
        )
        parts.append(text % values)
        if found.drivers and found.drivers[0].share is not None:
            top = found.drivers[0]
            text = (
                _("%(service)s is %(share)s of the rise.")
                if change.delta > 0
                else _("%(service)s is %(share)s of the fall.")
            )
            if top.share is not None and top.share > 0:
                share = fmt.percent(min(top.share, Decimal(9)) * 100, lang(), decimals=0)
                parts.append(text % {"service": top.key[0] or _("no value"), "share": share})
    if found.found.result.verdict == "cannot judge":
        parts.append(_(found.found.result.reason))
    return joined(*parts)


def old_notice(found: Overview) -> str:
    """Said plainly when the newest bill is not of the present."""
    if found.asked.start != found.days.period[0]:
        return ""
    if found.present and found.now - found.days.delivered_at <= OLD:
        return ""
    day = fmt.day(instant(found.last_day), UTC, lang(), year=True)
    if found.present:
        return _("The newest delivery is %(age)s; its last day is %(day)s.") % {
            "age": fmt.age(found.days.delivered_at, found.now, lang()),
            "day": day,
        }
    return _("The newest bill ends on %(day)s: this is not the present month.") % {"day": day}


def data_age(found: Overview) -> DataAge:
    """For the top bar: how far the bills go and how old the newest delivery is."""
    day = fmt.day(instant(found.days.end - timedelta(days=1)), UTC, lang(), year=not found.present)
    late = found.now - found.days.delivered_at > OLD or not found.present
    if late:
        return DataAge("late", _("Bill to %(day)s") % {"day": day})
    age = fmt.age(found.days.delivered_at, found.now, lang())
    return DataAge("", _("Bill to %(day)s · %(age)s") % {"day": day, "age": age})


def kpis(found: Overview) -> list[Kpi]:
    """The five key figures."""
    result = found.found.result
    known = (found.last_day - found.asked.start).days + 1
    length = (found.asked.end - found.asked.start).days
    cells = [
        Kpi(
            _("Spent to date") if result.verdict != "complete" else _("Cost of the month"),
            _money(found, found.found.spent, decimals=2),
            _("%(known)s of %(all)s days · %(basis)s")
            % {"known": known, "all": length, "basis": str(BASIS_WORDS[found.asked.basis]).lower()},
        ),
        _change_cell(found),
        _forecast_cell(found),
        _budget_cell(found),
        _savings_cell(found),
    ]
    return cells


def _change_cell(found: Overview) -> Kpi:
    windows, change = found.compared.windows, found.change
    if change is None or windows is None:
        return Kpi(_("Against the month before"), fmt.UNKNOWN, _("no bill of those days is loaded"))
    label = (
        _("Against the days before")
        if found.asked.against == "previous"
        else _("Against %(month)s, same days") % {"month": month_alone(windows.before.start)}
    )
    delta = _money(found, change.delta, decimals=2, sign=True)
    if change.percent is None:
        return Kpi(label, delta, _("nothing was spent before"))
    return Kpi(label, fmt.percent(change.percent, lang(), sign=True), delta)


def _forecast_cell(found: Overview) -> Kpi:
    result = found.found.result
    label = _("Forecast for the month")
    if result.verdict == "complete":
        return Kpi(label, fmt.UNKNOWN, _("every day is known"))
    if result.verdict == "cannot judge":
        return Kpi(label, fmt.UNKNOWN, _(result.reason))
    span = fmt.span(result.low, result.high, lang())
    return Kpi(label, _money(found, result.expected), _("%(span)s · 90 %% interval") % {"span": span})


def _budget_cell(found: Overview) -> Kpi:
    budget = found.budget
    if budget is None or budget.standing is None:
        if not found.budgets:
            return Kpi(_("Budget"), fmt.UNKNOWN, _("no budget is in force"))
        over = sum(one.standing is not None and one.standing.state == "over" for one in found.budgets)
        risk = sum(one.standing is not None and one.standing.state == "at risk" for one in found.budgets)
        return Kpi(
            _("Budgets"),
            fmt.number(len(found.budgets)),
            _("%(over)s over · %(risk)s at risk") % {"over": over, "risk": risk},
        )
    amount = _money(found, budget.budget.amount)
    over_by = budget.standing.over
    if over_by is None:
        share = fmt.percent(budget.standing.spent_pct, lang())
        return Kpi(_("Budget"), amount, _("%(share)s spent") % {"share": share})
    share = fmt.percent(abs(over_by) / budget.budget.amount * 100, lang())
    text = _("%(share)s over %(amount)s") if over_by > 0 else _("%(share)s under %(amount)s")
    unit = _("over") if over_by > 0 else _("under")
    return Kpi(_("Budget"), _money(found, abs(over_by)), text % {"share": share, "amount": amount}, unit)


def _savings_cell(found: Overview) -> Kpi:
    label = _("Effective savings rate")
    rate = found.savings
    if rate is not None and rate.partial and rate.without:
        text = _("not told for a team: %(n)s of its lines have no list price")
        return Kpi(label, fmt.UNKNOWN, text % {"n": fmt.number(rate.without)})
    if rate is None or rate.percent is None:
        return Kpi(label, fmt.UNKNOWN, _("no line has a list price"))
    saved = _money(found, abs(rate.list_cost - rate.effective), decimals=2)
    note = (
        _("%(saved)s under list, %(share)s of lines have a list price")
        if rate.effective <= rate.list_cost
        else _("%(saved)s over list, %(share)s of lines have a list price")
    )
    lines = rate.lines + rate.without
    share = fmt.percent(Decimal(rate.lines) / lines * 100 if lines else None, lang(), decimals=0)
    return Kpi(label, fmt.percent(rate.percent, lang()), note % {"saved": saved, "share": share})


def chart(found: Overview) -> dict[str, Any]:
    """Cost adding up over the month, the forecast with its band, the month before and the budget."""
    start, end, result = found.asked.start, found.asked.end, found.found.result
    length = (end - start).days
    settled_to = min(result.settled_until, end) if result.path else min(found.days.end, end)
    spent = _sums(found.found.daily.between(start, settled_to))
    ahead = Ahead([((day.day - start).days + 1, day.total, day.low, day.high) for day in result.path])
    earlier = month_start(start - timedelta(days=1))
    days = found.found.daily.between(earlier, start)[:length]
    # A line along nothing only hides what is drawn there.
    before = _sums(days) if found.days.first <= earlier and days.any() else []
    budget = month_budget(found)
    limit = None if budget is None else float(budget)
    names = _names(found, before, limit)
    return {
        "id": "month-figure",
        "title": _chart_title(found),
        "measure": _("Cost adding up by day of month, %(currency)s, %(basis)s")
        % {
            "currency": fmt.currency_word(found.currency, lang()),
            "basis": str(BASIS_WORDS[found.asked.basis]).lower(),
        },
        "figure": cumulative(spent, ahead, before, limit, days=length, words=names, lang=lang()),
        "rows": _chart_rows(found, ahead, spent, before),
        "before": names.before,
    }


def _names(found: Overview, before: list[tuple[int, float]], limit: float | None) -> Words:
    result = found.found.result
    end = result.expected if result.verdict == "forecast" else float(found.found.spent)
    earlier = month_alone(month_start(found.asked.start - timedelta(days=1)))
    name = _("Forecast") if result.verdict == "forecast" else short(found)
    return Words(
        short(found),
        _("Forecast"),
        earlier,
        _("Budget"),
        f"{name} {_money(found, end, decimals=0)}",
        f"{earlier} {_money(found, before[-1][1], decimals=0)}" if before else earlier,
        "" if limit is None else _("Budget %(amount)s") % {"amount": _money(found, limit, decimals=0)},
    )


def _sums(values: Any) -> list[tuple[int, float]]:
    found, total = [(0, 0.0)], 0.0
    for i, value in enumerate(values):
        total += float(value)
        found.append((i + 1, total))
    return found


def _chart_title(found: Overview) -> str:
    budget = found.budget
    if budget is not None and budget.standing is not None and budget.standing.runs_out is not None:
        day = fmt.day(instant(budget.standing.runs_out), UTC, lang())
        return _("At this pace the budget is spent on %(day)s") % {"day": day}
    result = found.found.result
    if result.verdict == "forecast" and result.level is not None:
        return _("An ordinary day costs %(cost)s now") % {"cost": _money(found, result.level)}
    return _("How the month added up")


def _chart_rows(
    found: Overview, ahead: Ahead, spent: list[tuple[int, float]], before: list[tuple[int, float]]
) -> list[tuple[str, str, str, str]]:
    """The chart's table: day, sum so far or expected, interval, month before."""
    earlier = dict(before)
    rows = []
    for day, total in spent[1:]:
        rows.append((str(day), fmt.number(total, 2), "", fmt.number(earlier.get(day), 2)))
    for day, total, low, high in ahead.points:
        rows.append(
            (str(day), fmt.number(total, 2), fmt.span(low, high, lang()), fmt.number(earlier.get(day), 2))
        )
    return rows


@dataclass(frozen=True)
class Mover:
    """One driver of the change; `width` in percent of the longest bar."""

    name: str
    sub: str
    width: str
    kind: str
    delta: str
    share: str
    before: str
    after: str


def movers(
    found: Overview, parts: list[Driver[tuple[str | None, ...]]], most: int, *, service_last: bool = False
) -> list[Mover]:
    """The largest changes by amount; the rest in one row, so that the parts sum to the whole."""
    shown = [part for part in parts if part.change.delta][:most]
    longest = max((abs(part.change.delta) for part in shown), default=Decimal(0)) or Decimal(1)
    rows = []
    for part in shown:
        values = [value or _("no value") for value in part.key]
        name, sub = (values[-1], found.names.get(values[0], values[0])) if service_last else (values[0], "")
        rows.append(_mover(found, name, sub, part.change, part.share, longest))
    return rows


def rest_row(
    found: Overview, parts: list[Driver[tuple[str | None, ...]]], most: int
) -> tuple[str, str] | None:
    """What the rows that are not shown add up to: (words, amount)."""
    rest = [part for part in parts if part.change.delta][most:]
    if not rest:
        return None
    amount = sum((part.change.delta for part in rest), Decimal(0))
    words = ngettext("%(n)s other", "%(n)s others", len(rest)) % {"n": count_word(len(rest))}
    return words, fmt.number(amount, 2, sign=True)


def total_row(found: Overview) -> tuple[str, str] | None:
    """The whole change: (amount, percent)."""
    if found.change is None:
        return None
    percent = fmt.percent(found.change.percent, lang(), sign=True)
    return fmt.number(found.change.delta, 2, sign=True), percent


def _mover(
    found: Overview, name: str, sub: str, change: Change, share: Decimal | None, longest: Decimal
) -> Mover:
    return Mover(
        name,
        sub,
        f"{abs(change.delta) / longest * 100:.1f}",
        "more" if change.delta > 0 else "less",
        fmt.number(change.delta, 2, sign=True),
        fmt.percent(None if share is None else share * 100, lang(), decimals=0),
        fmt.number(change.before, 2),
        fmt.number(change.after, 2),
    )


def drivers_title(found: Overview) -> str:
    """The finding about the change."""
    change = found.change
    if change is None or not found.drivers or not change.delta:
        return _("What moved")
    name = found.drivers[0].key[0] or _("no value")
    text = _("%(service)s explains most of the rise") if change.delta > 0 else _("%(service)s fell most")
    same = found.drivers[0].change.delta * change.delta > 0
    return text % {"service": name} if same else _("What moved")
