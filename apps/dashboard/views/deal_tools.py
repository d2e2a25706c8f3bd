"""Beside the deals: what to sell, the calculator, the rules that watch."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, cast
from zoneinfo import ZoneInfo

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_POST

from apps.accounts.access import access
from apps.accounts.actors import Actor
from apps.accounts.middleware import SignedInRequest
from apps.accounts.roles import Action, allowed
from apps.accounts.selectors import team_list
from apps.dashboard import format as fmt
from apps.dashboard.deals import moment_of, number_of, remembered, slider
from apps.dashboard.forms_deals import DealRuleForm
from apps.dashboard.presenters import deals as words
from apps.dashboard.tabs import DEALS_TABS
from apps.dashboard.views.budgets import MAX_ID_DIGITS
from apps.dashboard.views.spend import organisation_of
from apps.dashboard.words import lang
from apps.recommendations.models import DealRule
from apps.recommendations.selectors.deals import deal_alerts, deal_rules
from apps.recommendations.services.commitments_sale import sell_commitments
from apps.recommendations.services.deal_claim import MONTH_HOURS, Claim, deal_claim
from apps.recommendations.services.deal_rules import deal_alert_see, deal_rule_remove, deal_rule_save
from finops.engine.workload import WorkloadError

MOST_ALERTS = 50


def _frame(tab: str) -> dict[str, Any]:
    return {"page": "deals", "tab": tab, "tabs": DEALS_TABS}


@access(Action.RUN_ADVICE)
def sales_page(request: HttpRequest) -> HttpResponse:
    """Reservations that could be sold, against keeping them."""
    organisation, now = organisation_of(request), datetime.now(UTC)
    zone = ZoneInfo(timezone.get_current_timezone_name())
    at, past = moment_of(organisation, request.GET.get("at", ""), now)
    share = number_of(request.GET.get("ask", ""))
    share = share if share is not None and 1 <= share <= 100 else Decimal(95)
    document = remembered(
        request, "sales", organisation, {"at": at, "share": share},
        lambda: sell_commitments(at=at, ask_share=share / 100, organisation=organisation),
    )  # fmt: skip
    return render(
        request,
        "dashboard/deal_sales.html",
        {
            **_frame("deal-sales"),
            "doc": document,
            "heading": sales_heading(document),
            "rows": [_sale(one, zone) for one in document["sales"]],
            "refused": [{**one, "id": one["id"].rpartition("/")[2]} for one in document["refused"]],
            "share": f"{share:g}",
            "at": at,
            "past": past,
        },
    )


def sales_heading(document: Mapping[str, Any]) -> str:
    """How many to sell and what it brings."""
    sold = [one for one in document["sales"] if one["quantity"]]
    if not document["sales"] and not document["refused"]:
        return _("No reservation is known that could be sold.")
    if not sold:
        return _("No reservation is worth selling today.")
    count = sum(one["quantity"] for one in sold)
    currency = sold[0]["currency"]
    if any(one["currency"] != currency for one in sold):
        return ngettext("Sell %(n)d reservation.", "Sell %(n)d reservations.", count) % {"n": count}
    gain = sum((Decimal(one["gain"]) for one in sold), Decimal(0))
    text = ngettext(
        "Sell %(n)d reservation: [[%(gain)s]] more than keeping it.",
        "Sell %(n)d reservations: [[%(gain)s]] more than keeping them.",
        count,
    )
    return text % {"n": count, "gain": fmt.money(gain, currency)}


def _sale(one: Mapping[str, Any], zone: ZoneInfo) -> dict[str, Any]:
    money = words.number
    return {
        "name": one["type"],
        "note": f"{one['platform']} · {one['zone'] or one['region']} · {one['id'].rpartition('/')[2]}",
        "sell": one["quantity"],
        "count": one["count"],
        "kind": "pass" if one["quantity"] else "",
        "word": _("Sell %(n)d") % {"n": one["quantity"]} if one["quantity"] else _("Keep"),
        "months": one["months_left"],
        "ceiling": fmt.number(money(one["buyer_ceiling"]), 2),
        "rival": one["cheapest_rival_name"],
        "ask": fmt.number(money(one["ask"]), 2),
        "fee": fmt.number(money(one["fee"]), 2),
        "receives": fmt.number(money(one["receives"]), 2),
        "kept": fmt.number(money(one["kept_value"]), 2),
        "gain": fmt.number(money(one["gain"]), 2),
        "interval": fmt.span(money(one["gain_low"]), money(one["gain_high"]), lang(), decimals=2, words=True),
        "currency": one["currency"],
        "reason": one["reason"],
        "conditions": [c["text"] for c in one["conditions"]],
        "schedule": [
            (
                step["months_left"],
                fmt.day(datetime.fromisoformat(step["from"]), zone, lang(), year=True),
                fmt.number(money(step["price"]), 2),
                fmt.number(money(step["receives"]), 2),
            )
            for step in one["schedule"]
        ],
    }


CLAIM_SLIDERS = ("share_pct", "months_left", "used_pct")


@access(Action.RUN_ADVICE)
def claim_page(request: HttpRequest) -> HttpResponse:
    """The calculator: a share of the list price with some months left."""
    organisation, now = organisation_of(request), datetime.now(UTC)
    at, _past = moment_of(organisation, request.GET.get("at", ""), now)
    values = {
        "share_pct": _or(slider(request.GET, "share_pct"), Decimal(30)),
        "months_left": _or(slider(request.GET, "months_left"), Decimal(8)),
        "used_pct": _or(slider(request.GET, "used_pct"), Decimal(100)),
    }
    given = {name: number_of(request.GET.get(name, "")) for name in ("list_fixed", "on_demand", "spot")}
    kind, region = request.GET.get("type", "").strip()[:60], request.GET.get("region", "").strip()[:40]
    context = {
        **_frame("deal-claim"),
        "type": kind,
        "region": region,
        "platform": request.GET.get("platform", "Linux/UNIX")[:60],
        "sliders": _claim_sliders(values),
        "given": [
            (name, label, "" if given[name] is None else f"{given[name]:f}")
            for name, label in (
                ("list_fixed", _("List price of a year, paid at once")),
                ("on_demand", _("On-demand price of an hour")),
                ("spot", _("Spot price of an hour")),
            )
        ],
        "asked": bool(kind or given["list_fixed"]),
    }
    if not context["asked"]:
        context["heading"] = _("When does 30 % of the list price with 8 months left pay?")
        return render(request, "dashboard/deal_claim.html", context)
    claim = Claim(
        instance_type=kind, region=region, platform=str(context["platform"]), share_pct=values["share_pct"],
        hours_left=values["months_left"] * MONTH_HOURS, used_pct=values["used_pct"],
        list_fixed=given["list_fixed"], on_demand=given["on_demand"], spot=given["spot"],
    )  # fmt: skip
    try:
        document = deal_claim(claim, at=at)
    except WorkloadError as error:
        context |= {"heading": _("This deal cannot be judged yet."), "error": error.message}
        return render(request, "dashboard/deal_claim.html", context, status=422)
    context |= {
        "heading": claim_heading(document),
        "doc": document,
        "currency": document["currency"],
        "readings": [_reading(deal, document["currency"]) for deal in document["deals"]],
    }
    return render(request, "dashboard/deal_claim.html", context)


def _or(value: Decimal | None, other: Decimal) -> Decimal:
    return other if value is None else value


def _claim_sliders(values: Mapping[str, Decimal]) -> list[dict[str, str]]:
    return [
        {"name": "share_pct", "label": _("Share of the list price, %"), "value": f"{values['share_pct']:f}",
         "min": "0", "max": "100", "step": "1", "low": "0", "high": "100"},
        {"name": "months_left", "label": _("Months left"), "value": f"{values['months_left']:f}",
         "min": "0.5", "max": "12", "step": "0.5", "low": "0.5", "high": "12"},
        {"name": "used_pct", "label": _("Share of hours used, %"), "value": f"{values['used_pct']:f}",
         "min": "0", "max": "100", "step": "1", "low": "0", "high": "100"},
    ]  # fmt: skip


def claim_heading(document: Mapping[str, Any]) -> str:
    """Whether it pays, under the dearer reading."""
    first = document["deals"][0]
    demand = first["against"][0]
    beaten = [one for one in first["against"][1:] if one["pays"] is False]
    price = fmt.money(words.number(first["price"]), document["currency"])
    saving = words.number(demand["saving"])
    if not demand["pays"]:
        return _("At %(price)s it loses [[%(loss)s]] against on-demand at this use.") % {
            "price": price, "loss": fmt.money(-saving if saving is not None else None, document["currency"]),
        }  # fmt: skip
    if beaten:
        return _("At %(price)s it saves [[%(saving)s]] against on-demand, but %(rival)s is cheaper.") % {
            "price": price, "saving": fmt.money(saving, document["currency"]), "rival": beaten[0]["name"],
        }  # fmt: skip
    return _("At %(price)s it saves [[%(saving)s]] against on-demand.") % {
        "price": price, "saving": fmt.money(saving, document["currency"]),
    }  # fmt: skip


def _use(one: Mapping[str, Any]) -> str:
    """From which use on a deal beats a rival; what is paid for unused hours too is beaten at any use."""
    share = one["from_use_pct"]
    if share is None:
        return fmt.UNKNOWN if one["pays"] is None else _("never")
    return _("any") if share == 0 else fmt.percent(share, lang())


def _reading(deal: Mapping[str, Any], currency: str) -> dict[str, Any]:
    titles = {
        "whole term": _("Read as a share of the whole list price"),
        "remaining term": _("Read as a share of what is left of the list price"),
    }
    return {
        "title": titles.get(deal["reading"], _("At this price")),
        "price": fmt.money(words.number(deal["price"]), currency, decimals=2),
        "hourly": fmt.money_hourly(words.number(deal["effective_hourly"]), currency),
        "rows": [
            {
                "name": one["name"],
                "hourly": fmt.hourly(words.number(one["hourly"])) if one["hourly"] else fmt.UNKNOWN,
                "saving": fmt.number(words.number(one["saving"]), 2) if one["saving"] else fmt.UNKNOWN,
                "kind": {True: "pass", False: "deny"}.get(one["pays"], "unknown"),
                "word": {True: _("Pays"), False: _("Does not pay")}.get(one["pays"], _("Not known")),
                "use": _use(one),
                "share": fmt.percent(one["up_to_list_pct"], lang()),
                "why": one["reason"] or one["detail"] or "",
            }
            for one in deal["against"]
        ],
    }  # fmt: skip


@access(Action.VIEW)
def watch_page(request: HttpRequest) -> HttpResponse:
    """Rules and what beat them; `change=ID` has that rule in the form."""
    rule = _named(request, request.GET.get("change", ""))
    return _watch(request, DealRuleForm(teams=_teams(request), initial=_initial(rule)), rule)


def _named(request: HttpRequest, text: str) -> DealRule | None:
    if not text.isdecimal() or len(text) > MAX_ID_DIGITS:
        return None
    return deal_rules(organisation_of(request)).filter(pk=int(text)).first()


def _teams(request: HttpRequest) -> list[tuple[str, str]]:
    return [(team.slug, team.name) for team in team_list(organisation_of(request))]


def _initial(rule: DealRule | None) -> dict[str, Any]:
    if rule is None:
        return {"active": True}
    found: dict[str, Any] = {name: getattr(rule, name) for name in ("name", "break_even_before", "active")}
    for name in ("min_saving_pct", "max_list_pct"):
        value: Decimal | None = getattr(rule, name)
        found[name] = None if value is None else f"{value.normalize():f}"
    for name in ("regions", "instance_types", "platforms"):
        found[name] = ", ".join(getattr(rule, name))
    return {**found, "team": rule.team.slug if rule.team else ""}


def _watch(
    request: HttpRequest, form: DealRuleForm, rule: DealRule | None, status: int = 200
) -> HttpResponse:
    organisation = organisation_of(request)
    zone = ZoneInfo(timezone.get_current_timezone_name())
    alerts, rules = deal_alerts(organisation), list(deal_rules(organisation))
    unseen = deal_alerts(organisation, unseen=True).count()
    if unseen:
        heading = ngettext(
            "[[%(n)d]] standing offer beats a rule.", "[[%(n)d]] standing offers beat a rule.", unseen
        ) % {"n": unseen}
    elif rules:
        heading = _("No new offer beats a rule.")
    else:
        heading = _("No rule watches the offers yet.")
    context = {
        **_frame("deal-watch"),
        "heading": heading,
        "alerts": [
            {
                "alert": one,
                "what": f"{one.document['type']} · {words.what_of(one.document)}",
                "raised": fmt.moment(one.raised_at, zone, lang(), year=True),
                "saving": fmt.money(words.number(one.document["saving"]), one.document["currency"]),
                "interval": fmt.span(
                    words.number(one.document["saving_low"]), words.number(one.document["saving_high"]),
                    lang(), words=True,
                ),
                "share": _("%(n)s of on-demand")
                % {"n": fmt.percent(one.document["saving_pct"], lang(), decimals=0)},
            }
            for one in alerts[:MOST_ALERTS]
        ],
        "rules": [{"rule": one, "conditions": conditions(one, zone)} for one in rules],
        "form": form,
        "rule": rule,
        "may": allowed(cast(SignedInRequest, request).membership, Action.DECIDE_COMMITMENTS),
    }  # fmt: skip
    return render(request, "dashboard/deal_watch.html", context, status=status)


def conditions(rule: DealRule, zone: ZoneInfo) -> str:
    """What a rule asks for, in words."""
    parts = []
    if rule.min_saving_pct is not None:
        parts.append(_("saves at least %(n)s") % {"n": fmt.percent(rule.min_saving_pct, lang())})
    if rule.break_even_before is not None:
        day = datetime.combine(rule.break_even_before, datetime.min.time(), UTC)
        parts.append(_("money back before %(day)s") % {"day": fmt.day(day, UTC, lang(), year=True)})
    if rule.max_list_pct is not None:
        parts.append(
            _("at most %(n)s of the list price left") % {"n": fmt.percent(rule.max_list_pct, lang())}
        )
    parts += [", ".join(names) for names in (rule.instance_types, rule.regions, rule.platforms) if names]
    return " · ".join(parts)


@require_POST
@access(Action.DECIDE_COMMITMENTS)
def rule_keep(request: HttpRequest) -> HttpResponse:
    """Make a rule, or replace the one that `rule` names."""
    text = request.POST.get("rule", "")
    rule = _named(request, text)
    if text and rule is None:
        raise Http404
    form = DealRuleForm(request.POST, teams=_teams(request))
    if not form.is_valid():
        return _watch(request, form, rule, 422)
    try:
        saved = deal_rule_save(
            organisation=organisation_of(request),
            actor=Actor.of_user(cast(SignedInRequest, request).user),
            fields={**form.cleaned_data, "team": form.cleaned_data["team"] or None},
            rule=rule,
        )
    except ValidationError as error:
        for name, found in error.error_dict.items():
            form.add_error(name if name in form.fields else None, found)
        return _watch(request, form, rule, 422)
    messages.success(request, _("The rule %(name)s is kept.") % {"name": saved.name})
    return redirect("dashboard:deal-watch")


@require_POST
@access(Action.DECIDE_COMMITMENTS)
def rule_drop(request: HttpRequest, rule_id: int) -> HttpResponse:
    """Remove a rule with its alerts."""
    rule = get_object_or_404(deal_rules(organisation_of(request)), pk=rule_id)
    deal_rule_remove(rule=rule, actor=Actor.of_user(cast(SignedInRequest, request).user))
    messages.success(request, _("The rule %(name)s is removed.") % {"name": rule.name})
    return redirect("dashboard:deal-watch")


@require_POST
@access(Action.DECIDE_COMMITMENTS)
def alert_see(request: HttpRequest, alert_id: int) -> HttpResponse:
    """Take note of an alert."""
    alert = get_object_or_404(deal_alerts(organisation_of(request)), pk=alert_id)
    deal_alert_see(alert=alert, user=cast(SignedInRequest, request).user, now=timezone.now())
    return redirect("dashboard:deal-watch")
