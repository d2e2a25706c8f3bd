"""Alerts about money: budgets reached, cost out of the ordinary, deals found."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from datetime import datetime, timedelta
from decimal import Decimal

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from apps.accounts.models import Organisation, Team
from apps.billing.models import AnomalyDirection, BudgetAlert
from apps.billing.selectors.anomalies import anomalies_waiting, slice_values
from apps.recommendations.selectors.deals import deal_alerts
from apps.reports import wording as w
from apps.reports.causes import Cause, Facts, Found, Told, register
from apps.reports.parts.anomalies import subject
from finops.text import display as fmt
from finops.text.numbers import decimal_text

# What was raised before is history: a new installation must not tell it all at once.
RECENT = timedelta(days=35)


def register_all() -> None:
    """Budgets, anomalies, deals."""
    register(Cause("budget", gettext_lazy("Budget reached"), _budgets, _budget_told))
    register(Cause("anomaly", gettext_lazy("Cost out of the ordinary"), _anomalies, _anomaly_told))
    register(Cause("deal", gettext_lazy("Deal found"), _deals, _deal_told))


def _budgets(organisation: Organisation, now: datetime) -> Iterable[Found]:
    rows = BudgetAlert.objects.filter(budget__organisation=organisation, raised_at__gt=now - RECENT)
    for row in rows.select_related("budget").order_by("raised_at", "pk"):
        yield Found(
            key=f"{row.budget_id}:{row.measure}:{row.percent}",
            period=row.period_start.isoformat(),
            team=row.budget.team_id,
            facts={
                "name": row.budget.name,
                "measure": row.measure,
                "percent": decimal_text(row.percent),
                "cost": decimal_text(row.cost),
                "limit": decimal_text(row.limit),
                "currency": row.currency,
                "period_start": row.period_start.isoformat(),
            },
        )


def _budget_told(facts: Facts) -> Told:
    values = {
        "name": w.clean(facts["name"]),
        "percent": fmt.percent(facts["percent"], w.lang(), decimals=0),
        "cost": fmt.money(facts["cost"], facts["currency"], decimals=2),
        "limit": fmt.money(facts["limit"], facts["currency"], decimals=2),
        "month": str(facts["period_start"])[:7],
    }
    if facts["measure"] == "forecast":
        title = _("%(name)s is heading over %(percent)s of its budget: %(cost)s") % values
        text = _("Forecast for the period from %(month)s: %(cost)s; %(percent)s of the budget are %(limit)s.")
    else:
        title = _("%(name)s has reached %(percent)s of its budget: %(cost)s") % values
        text = _("Cost of the period from %(month)s: %(cost)s; %(percent)s of the budget are %(limit)s.")
    return Told(title, text % values, w.link("budgets"))


def _anomalies(organisation: Organisation, now: datetime) -> Iterable[Found]:
    teams = dict(Team.objects.filter(organisation=organisation).values_list("slug", "pk"))
    rows = anomalies_waiting(organisation, now.date()).filter(
        direction=AnomalyDirection.RISE, first_day__gt=now.date() - RECENT
    )
    for row in rows.order_by("first_day", "pk"):
        values = dict(slice_values(row))
        days = max(len(row.days), 1)
        cause = hashlib.sha256(row.cause.encode()).hexdigest()[:16]
        yield Found(
            key=f"{row.currency}:{row.direction}:{cause}",
            period=row.first_day.isoformat(),
            team=teams.get(values.get("team", "")),
            facts={
                "slice": values,
                "amount": decimal_text(row.amount),
                "low": decimal_text(row.low),
                "high": decimal_text(row.high),
                "usual": decimal_text(row.expected / days),
                "now": decimal_text(row.actual / days),
                "currency": row.currency,
                "first_day": row.first_day.isoformat(),
                "last_day": row.last_day.isoformat(),
            },
        )


def _anomaly_told(facts: Facts) -> Told:
    currency = facts["currency"]
    values = {
        "what": subject(facts["slice"]),
        "now": fmt.money(facts["now"], currency),
        "usual": fmt.money(facts["usual"], currency),
        "amount": fmt.money(facts["amount"], currency, decimals=2, sign=True),
        "interval": fmt.span(facts["low"], facts["high"], w.lang(), decimals=2),
        "days": w.days(
            datetime.fromisoformat(facts["first_day"]).date(),
            datetime.fromisoformat(facts["last_day"]).date(),
        ),
    }
    title = _("%(what)s cost %(now)s a day instead of %(usual)s") % values
    text = _("%(days)s: %(amount)s against the usual, 90 %% interval %(interval)s.") % values
    return Told(title, text, w.link("anomalies"))


def _deals(organisation: Organisation, now: datetime) -> Iterable[Found]:
    for row in deal_alerts(organisation, unseen=True).filter(raised_at__gt=now - RECENT):
        offer, facts = row.offer, row.document
        saving = facts.get("saving")
        yield Found(
            key=f"{row.rule_id}:{row.offer_id}",
            period=row.raised_at.date().isoformat(),
            team=row.rule.team_id,
            facts={
                "rule": row.rule.name,
                "offer": offer.pk,
                "type": offer.instance_type,
                "platform": offer.platform,
                "where": offer.zone or offer.region,
                "quantity": facts.get("quantity"),
                "saving": None if saving is None else str(saving),
                "low": None if facts.get("saving_low") is None else str(facts["saving_low"]),
                "high": None if facts.get("saving_high") is None else str(facts["saving_high"]),
                "currency": offer.currency,
            },
        )


def _deal_told(facts: Facts) -> Told:
    saving = None if facts["saving"] is None else Decimal(facts["saving"])
    values = {
        "what": w.clean(f"{facts['quantity'] or ''} {facts['type']} {facts['platform']}"),
        "where": w.clean(facts["where"]),
        "saving": fmt.money(saving, facts["currency"]),
        "interval": fmt.span(facts["low"], facts["high"], w.lang()),
        "rule": w.clean(facts["rule"]),
    }
    title = _("Deal: %(what)s in %(where)s saves %(saving)s over its term") % values
    text = _("90 %% interval %(interval)s. It beats the rule %(rule)s. Buying needs an approval.") % values
    return Told(title, text, w.link("deal-offer", facts["offer"]))
