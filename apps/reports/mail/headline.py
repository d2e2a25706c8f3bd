"""The sentences of a report: heading, what the month stands at, figures, subject, finding of the chart."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from apps.billing.models import BudgetPeriod, BudgetScope
from apps.billing.selectors.budget_standing import BudgetAnswer
from apps.billing.selectors.forecast import ForecastAnswer
from apps.recommendations.selectors.standing import Standing
from apps.reports import wording as w
from apps.reports.mail.chart import day_bars
from apps.reports.mail.letter import Chart, Figure
from apps.reports.sections import Question
from apps.reports.selectors.week import BASIS, CurrencyWeek
from finops.engine.spend import ZERO, Week, total, week_of
from finops.text import display as fmt

LONGEST_HEADING, LONGEST_SUBJECT = 94, 78
# A change below this is told as none: it would be shown as 0.0 %.
LEVEL = Decimal("0.05")


def scope_word(question: Question) -> str:
    """Whose report it is, "" for the whole organisation."""
    if question.team is not None:
        return _("team %(name)s") % {"name": w.clean(question.team.name)}
    return _("account %(name)s") % {"name": w.clean(question.account)} if question.account else ""


def edition_word(question: Question) -> str:
    """`Finance edition · team web · week 47, 19–25 Nov 2018`."""
    edition = _("Finance edition") if question.edition == "finance" else _("Engineering edition")
    return " · ".join(part for part in (edition, scope_word(question), w.week_word(question.week)) if part)


def heading(question: Question) -> str:
    """The answer with its number."""
    spend, week = question.spend, w.week_word(question.week)
    if spend.compared is None:
        return _("Nothing of %(week)s is delivered yet.") % {"week": week}
    if not spend.currencies:
        return _("Nothing is billed for %(week)s.") % {"week": week}
    if len(spend.currencies) > 1:
        sums = w.sums({one.currency: one.cost or ZERO for one in spend.currencies}, cents=True)
        return _("You spent [[%(sums)s]] in week %(n)d, not added up.") % {
            "sums": sums, "n": w.number(question.week),
        }  # fmt: skip
    one = spend.currencies[0]
    first = _spent(question, one)
    second = _explained(one)
    both = w.joined(first, second)
    return both if second and len(both) <= LONGEST_HEADING + 4 else first


def _spent(question: Question, one: CurrencyWeek) -> str:
    change = one.change
    sides = question.spend.compared
    whole = sides is not None and sides.whole
    values = {"cost": w.money(one.cost or ZERO, one.currency, cents=True)}
    if not whole and sides is not None:
        values["days"] = w.window_days(sides.after)
    if change.percent is None:
        if whole:
            return _("You spent [[%(cost)s]]; there is nothing to compare it with.") % values
        return _("%(days)s cost [[%(cost)s]]; there is nothing to compare it with.") % values
    values["by"] = w.percent(abs(change.percent))
    if abs(change.percent) < LEVEL:
        text = (
            _("You spent [[%(cost)s]], as much as the week before.")
            if whole
            else _("%(days)s cost [[%(cost)s]], as much as the same days before.")
        )
    elif change.delta > 0:
        text = (
            _("You spent [[%(cost)s]], %(by)s more than the week before.")
            if whole
            else _("%(days)s cost [[%(cost)s]], %(by)s more than the same days before.")
        )
    else:
        text = (
            _("You spent [[%(cost)s]], %(by)s less than the week before.")
            if whole
            else _("%(days)s cost [[%(cost)s]], %(by)s less than the same days before.")
        )
    return text % values


def _explained(one: CurrencyWeek) -> str:
    """Which service makes at least half of the change."""
    change = one.change
    if change.percent is None or abs(change.percent) < LEVEL or not one.drivers:
        return ""
    top = one.drivers[0]
    if top.share is None or not Decimal("0.5") <= top.share <= 1 or len(one.drivers) < 2:
        return ""
    name = next((value for value in reversed(top.key) if value), None)
    if name is None:
        return ""
    values = {"service": w.clean(name), "share": w.percent(top.share * 100, decimals=0)}
    risen = change.delta > 0
    if top.share > Decimal("0.995"):
        text = _("%(service)s is all of the rise.") if risen else _("%(service)s is all of the fall.")
    else:
        text = (
            _("%(service)s is %(share)s of the rise.")
            if risen
            else _("%(service)s is %(share)s of the fall.")
        )
    return text % values


def month_sentence(question: Question, found: ForecastAnswer, budgets: list[BudgetAnswer]) -> str:
    """What the month of the week's last day stands at, is heading for, and how that is to the budget."""
    main = question.spend.main
    one = None if main is None else found.currencies.get(main.currency)
    if one is None:
        return ""
    budget = _budget(question, budgets, one.currency)
    month = w.month(found.start)
    values = {"month": month, "spent": w.money(one.spent, one.currency)}
    if one.result.verdict == "complete":
        first = _("%(month)s cost %(spent)s") % values
        expected: Decimal | None = one.spent
    elif one.result.expected is None:
        return _("%(month)s stands at %(spent)s; too little is known to forecast it.") % values
    else:
        expected = Decimal(repr(one.result.expected))
        values["expected"] = w.money(expected, one.currency)
        first = _("%(month)s stands at %(spent)s and is heading for %(expected)s") % values
    if budget is None or expected is None:
        return _("%(sentence)s.") % {"sentence": first}
    values |= {
        "first": first,
        "off": w.money(abs(expected - budget), one.currency),
        "budget": w.money(budget, one.currency),
    }
    if expected > budget:
        return _("%(first)s: %(off)s over the budget of %(budget)s.") % values
    return _("%(first)s: %(off)s under the budget of %(budget)s.") % values


def _budget(question: Question, budgets: list[BudgetAnswer], currency: str) -> Decimal | None:
    """The amount of the one monthly budget of exactly this scope and basis."""
    scope = BudgetScope.ORGANISATION
    if question.team is not None or question.account:
        scope = BudgetScope.TEAM if question.team is not None else BudgetScope.ACCOUNT
    fits = [
        one.budget.amount
        for one in budgets
        if (one.budget.scope, one.budget.period, one.budget.basis, one.budget.currency)
        == (scope, BudgetPeriod.MONTH, BASIS, currency)
    ]
    return fits[0] if len(fits) == 1 else None


def figures(
    question: Question,
    measured: dict[str, tuple[Decimal, Decimal, int]],
    found: Standing | None,
    open_count: int,
) -> tuple[Figure, ...]:
    """This week, saved and measured, on the table."""
    return (_cost_figure(question), _saved_figure(measured), _open_figure(found, open_count))


def _cost_figure(question: Question) -> Figure:
    spend = question.spend
    label = _("This week")
    sides = spend.compared
    if sides is None or not spend.currencies:
        return Figure(
            label, fmt.UNKNOWN, _("nothing delivered yet") if sides is None else _("nothing billed")
        )
    if not sides.whole:
        label = w.window_days(sides.after)
    before_week: Week = week_of(sides.before.start)
    before = {one.currency: one.change.before for one in spend.currencies if one.change.before is not None}
    words = w.sums({c: amount for c, amount in before.items() if amount is not None}, cents=True)
    if not words:
        note = _("nothing the week before")
    elif sides.whole:
        note = _("week %(n)d: %(cost)s") % {"n": w.number(before_week), "cost": words}
    else:
        note = _("%(days)s: %(cost)s") % {"days": w.window_days(sides.before), "cost": words}
    value = w.sums({one.currency: one.cost or ZERO for one in spend.currencies}, cents=True)
    return Figure(label, value, note)


def _saved_figure(measured: dict[str, tuple[Decimal, Decimal, int]]) -> Figure:
    label = _("Saved, measured")
    months = sum(count for _p, _s, count in measured.values())
    if not months:
        return Figure(label, fmt.UNKNOWN, _("no closed bill of an accepted one yet"))
    value = w.sums({currency: saved for currency, (_p, saved, _n) in measured.items()})
    promised = w.sums({currency: promised for currency, (promised, _s, _n) in measured.items()})
    note = ngettext("%(n)s closed month; promised %(x)s", "%(n)s closed months; promised %(x)s", months) % {
        "n": months, "x": promised,
    }  # fmt: skip
    return Figure(label, value, note)


def _open_figure(found: Standing | None, count: int) -> Figure:
    label = _("On the table, a month")
    if found is None:
        return Figure(label, fmt.UNKNOWN, _("recommendations are not kept by account"))
    if not count:
        return Figure(label, fmt.UNKNOWN, _("no recommendation is open"))
    counted = len(found.counted)
    value = w.sums({currency: total.expected for currency, total in found.totals.items()}) or fmt.UNKNOWN
    return Figure(label, value, _("%(counted)d of %(open)d counted") % {"counted": counted, "open": count})


def chart(question: Question) -> Chart | None:
    """Fourteen days in the currency with the largest cost; None without two days to compare."""
    spend = question.spend
    sides, one = spend.compared, spend.main
    if sides is None or one is None:
        return None
    before = [cost for day, cost in one.days if sides.before.start <= day < sides.before.end]
    after = [cost for day, cost in one.days if day >= sides.after.start]
    a_day = {
        name: total(costs) / max(len(costs), 1) for name, costs in (("before", before), ("after", after))
    }
    values = {name: w.money(amount, one.currency) for name, amount in a_day.items()}
    level = abs(a_day["after"] - a_day["before"]) <= abs(a_day["before"]) / 50
    if one.change.before is None:
        finding = _("Cost is %(after)s a day") % values
    elif level or values["after"] == values["before"]:
        finding = _("Cost stayed at %(after)s a day") % values
    elif a_day["after"] > a_day["before"]:
        finding = _("Cost rose from %(before)s to %(after)s a day") % values
    else:
        finding = _("Cost fell from %(before)s to %(after)s a day") % values
    weeks = {"before": w.number(week_of(sides.before.start)), "after": w.number(question.week)}
    measure = _(
        "Amortised cost by day, %(unit)s; grey: week %(before)d, blue: week %(after)d. Whole days, UTC."
    ) % {"unit": w.currency_head(one.currency), **weeks}
    return Chart(finding, measure, day_bars(one.days, sides.after.start))


def subject(question: Question) -> str:
    """The number first; what explains it where it fits."""
    spend, n = question.spend, w.number(question.week)
    values: dict[str, object] = {"n": n}
    if spend.compared is None or not spend.currencies:
        text = (
            _("Week %(n)d: nothing is delivered yet")
            if spend.compared is None
            else _("Week %(n)d: nothing is billed")
        )
        return _scoped(question, text % values)
    values["cost"] = w.sums({one.currency: one.cost or ZERO for one in spend.currencies})
    if not spend.compared.whole:
        values["of"] = spend.compared.after.days
        return _scoped(question, _("Week %(n)d, %(of)d of 7 days: %(cost)s") % values)
    one = spend.currencies[0]
    percent = one.change.percent
    if len(spend.currencies) > 1 or percent is None:
        return _scoped(question, _("Week %(n)d: %(cost)s") % values)
    values["by"] = w.percent(abs(percent))
    if abs(percent) < LEVEL:
        text = _("Week %(n)d: %(cost)s, as the week before") % values
    elif percent > 0:
        text = _("Week %(n)d: %(cost)s, %(by)s more than the week before") % values
    else:
        text = _("Week %(n)d: %(cost)s, %(by)s less than the week before") % values
    told = _scoped(question, text)
    if _explained(one):
        top = one.drivers[0]
        name = w.clean(next(value for value in reversed(top.key) if value))
        longer = _("%(text)s; %(what)s %(delta)s") % {
            "text": told, "what": name, "delta": w.money(top.change.delta, one.currency, sign=True),
        }  # fmt: skip
        if len(longer) <= LONGEST_SUBJECT:
            return longer
    return told


def _scoped(question: Question, text: str) -> str:
    scope = scope_word(question)
    return f"{text} ({scope})" if scope else text


def preheader(figures: tuple[Figure, ...], open_count: int, *, final: bool) -> str:
    """The next numbers: what was saved, what is open, whether the week may still change."""
    saved = figures[1]
    parts = []
    if saved.value != fmt.UNKNOWN:
        parts.append(_("Saved and measured: %(sum)s.") % {"sum": saved.value})
    if open_count:
        parts.append(
            ngettext("%(n)d recommendation is open.", "%(n)d recommendations are open.", open_count)
            % {"n": open_count}
        )
    else:
        parts.append(_("No recommendation is open."))
    if not final:
        parts.append(_("The figures are not final."))
    return w.joined(*parts)


def source(question: Question) -> tuple[str, ...]:
    """What the figures rest on: bills, their age, rates."""
    spend = question.spend
    told = []
    if spend.days is not None:
        last = spend.days.end - timedelta(days=1)
        age = fmt.age(spend.days.delivered_at, question.now, w.lang())
        count = len(spend.days.reports)
        told.append(
            ngettext(
                "Bills of %(n)d report, delivered to %(day)s, the newest %(age)s",
                "Bills of %(n)d reports, delivered to %(day)s, the newest %(age)s",
                count,
            )
            % {"n": count, "day": w.day(last, year=True), "age": age}
        )
    else:
        told.append(_("There are no bills yet"))
    told += [
        _("1 %(base)s = %(rate)s %(quote)s of %(day)s (%(source)s)")
        % {
            "base": rate.base, "rate": format(rate.rate.normalize(), "f"), "quote": rate.quote,
            "day": rate.on.isoformat(), "source": w.clean(rate.source),
        }
        for rate in spend.rates
    ]  # fmt: skip
    return tuple(told)
