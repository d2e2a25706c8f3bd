"""Deals: what to commit to, beside what else; one offer with its cash curve and what-if values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

from django.http import Http404, HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext as _

from apps.accounts.access import access
from apps.accounts.roles import Action
from apps.billing.models import SeenOffer
from apps.billing.selectors.bill_days import bill_days
from apps.dashboard import format as fmt
from apps.dashboard.deals import (
    HORIZONS,
    KINDS,
    LIMITS,
    LOOKBACKS,
    Asked,
    advice_for,
    moment_of,
    remembered,
    what_if_for,
    what_if_of,
)
from apps.dashboard.presenters import deals as words
from apps.dashboard.tabs import DEALS_TABS
from apps.dashboard.views.spend import organisation_of
from apps.dashboard.words import lang
from apps.recommendations.selectors.deals import deal_alerts, offer_history
from apps.recommendations.services.deal_offer import WhatIf, offer_detail
from finops.text.csv_cells import Column, csv_lines

NUMBERS = (
    "quantity", "hours_left", "upfront_each", "hourly_each", "upfront", "hourly", "effective_hourly",
    "below_on_demand_pct", "break_even_utilisation_pct", "saving_low", "saving", "saving_high",
    "monthly_saving", "loss_probability",
)  # fmt: skip
COLUMNS = (
    Column("advice", "advice"),
    *(
        Column(name, name)
        for name in (
            "offer", "kind", "type", "region", "zone", "platform", "offering_class", "payment", "currency",
        )
    ),
    *(Column(name, name, "number") for name in NUMBERS),
    Column("break_even_date", "break_even_date"),
    Column("reason", "reason"),
)  # fmt: skip
SLIDERS = ("price", "hours_left", "used_pct", "quantity")


@access(Action.RUN_ADVICE)
def deals_page(request: HttpRequest) -> HttpResponse:
    """The page; `format=csv` gives every offer with its figures or its reason."""
    organisation, now = organisation_of(request), datetime.now(UTC)
    if bill_days(organisation, at=now) is None:
        return render(
            request, "dashboard/deals_empty.html", {"page": "deals", "tabs": DEALS_TABS, "tab": "deals"}
        )
    asked = Asked.of(request.GET, organisation, now)
    document = advice_for(request, asked, organisation)
    if request.GET.get("format") == "csv":
        return _csv(document)
    return render(request, "dashboard/deals.html", _context(request, asked, document, now))


def _context(
    request: HttpRequest, asked: Asked, document: Mapping[str, Any], now: datetime
) -> dict[str, Any]:
    organisation = organisation_of(request)
    zone = ZoneInfo(timezone.get_current_timezone_name())
    shown = [doc for doc in _kept(document) if _wanted(doc, asked)]
    chosen = next((doc for doc in shown if words.key_of(doc) == asked.offer), shown[0] if shown else None)
    values = what_if_of(request.GET)
    other = None if chosen is None else what_if_for(request, asked, organisation, chosen, values)
    subject = chosen if other is None else {**other, "id": chosen["id"] if chosen else None}
    refused = [doc for doc in document["refused"] if doc["code"] not in _ASIDE and _wanted(doc, asked)]
    refused = [doc for doc in refused if words.key_of(doc) not in {words.key_of(one) for one in shown}]
    most, few = words.MOST_ROWS, words.MOST_REFUSED
    rows = shown if asked.every else shown[:most]
    return {
        "page": "deals",
        "tab": "deals",
        "tabs": DEALS_TABS,
        "asked": asked,
        "doc": document,
        "heading": words.heading(document, zone),
        "lead": words.lead(document),
        "rows": words.rows_of(
            document, asked.at, zone, kept=rows, chosen=words.key_of(chosen) if chosen else ""
        ),
        "left_out": len(shown) - len(rows),
        "refused": [_refused(doc) for doc in (refused if asked.every else refused[:few])],
        "refused_more": 0 if asked.every else max(0, len(refused) - few),
        "subject": subject,
        "subject_name": f"{chosen['type']} · {words.what_of(chosen)}" if chosen else "",
        "subject_key": words.key_of(chosen) if chosen else "",
        "changed": other is not None,
        "kpis": words.kpis(subject, zone, draws=document["evidence"]["scenarios"]["draws"])
        if subject
        else [],
        "chart": words.chart_of(_with_curve(request, asked, subject), zone) if subject else None,
        "versus": words.versus_of(subject) if subject else [],
        "sliders": sliders(chosen, subject, other) if chosen and subject else [],
        "limits": limits_words(other, subject) if subject else "",
        "keep": _keep(request, offer=words.key_of(chosen) if chosen else ""),
        "reset": _reset(request),
        "choices": _choices(document, asked),
        "currency": document["total"]["currency"],
        "alerts": deal_alerts(organisation, unseen=True).count(),
        "seen": SeenOffer.objects.exists(),
        "history": history_rows(asked.at, chosen["type"]) if chosen else [],
    }


def _slides(name: str) -> bool:
    return name in SLIDERS or name.removesuffix("_at").removesuffix("_was") in SLIDERS


def _keep(request: HttpRequest, **more: str) -> list[tuple[str, str]]:
    """What else stands in the address, for the form of the sliders."""
    query = {name: str(value) for name, value in request.GET.items() if not _slides(name)}
    return list({**query, **{name: value for name, value in more.items() if value}}.items())


def _reset(request: HttpRequest) -> str:
    """The address without what-if values."""
    query = request.GET.copy()
    for name in [name for name in query if _slides(name)]:
        del query[name]
    return f"{request.path}?{query.urlencode()}" if query else request.path


# Reasons that the filters themselves give.
_ASIDE = frozenset({"left aside", "beyond the horizon"})


def _kept(document: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    advised = [doc for doc in document["advice"] if doc["advised"]]
    others = [doc for doc in (*document["advice"], *document["alternatives"]) if not doc.get("advised")]
    return [
        one for group in (advised, others) for one in sorted(group, key=lambda doc: -float(doc["saving"]))
    ]


def _wanted(doc: Mapping[str, Any], asked: Asked) -> bool:
    return asked.type in ("", doc["type"]) and asked.platform in ("", doc["platform"])


def _with_curve(request: HttpRequest, asked: Asked, subject: Mapping[str, Any]) -> Mapping[str, Any]:
    """The chosen offer with its cash curve: alternatives are given without one."""
    if subject.get("cash_curve"):
        return subject
    found = what_if_for(
        request, asked, organisation_of(request), subject, WhatIf(quantity=int(subject["quantity"]))
    )
    return subject if found is None else found


def _refused(doc: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "type": doc["type"],
        "what": words.what_of(doc),
        "note": " · ".join(part for part in (doc["platform"], doc["zone"] or doc["region"]) if part),
        "left": words.left_of(doc["hours_left"]),
        "upfront": fmt.number(words.number(doc["upfront_each"]), 2),
        "reason": words.named(doc["reason"]),
        "id": doc["id"],
    }


def _choices(document: Mapping[str, Any], asked: Asked) -> dict[str, Any]:
    everything = [*_kept(document), *document["refused"]]
    types = sorted({doc["type"] for doc in everything} | ({asked.type} if asked.type else set()))
    return {
        "types": types,
        "platforms": sorted({doc["platform"] for doc in everything}),
        "kinds": [(kind, words.KINDS[kind]) for kind in KINDS],
        "horizons": [(hours, _("%(n)d y") % {"n": hours // 8760}) for hours in HORIZONS],
        "lookbacks": [(days, _("%(n)d days") % {"n": days}) for days in LOOKBACKS],
        "risks": [
            (value, _("any") if not value else _("at most %(n)s %%") % {"n": value})
            for value in LIMITS["risk"]
        ],
        "risk": "" if asked.risk is None else f"{asked.risk:g}",
    }


def sliders(
    chosen: Mapping[str, Any], subject: Mapping[str, Any], other: Mapping[str, Any] | None
) -> list[dict[str, Any]]:
    """Price, term, use and quantity: where each stands and how far it goes."""
    hours = float(subject["hours_left"])
    on_demand = float(chosen["versus"][0]["hourly"])
    whole = max(8760.0, float(chosen["hours_left"]))
    quantity = int(subject["quantity"])
    price = float(subject["upfront_each"])
    most = max(on_demand * hours, price)
    used = min(100.0, float(subject["utilisation_pct"]))
    currency = str(chosen["currency"])
    return [
        {"name": "price", "label": _("Price of one"), "value": f"{price:.2f}", "step": "0.01", "min": "0",
         "max": f"{most:.2f}", "low": fmt.money(0, currency, decimals=0),
         "high": _("%(money)s on demand") % {"money": fmt.money(on_demand * hours, currency, decimals=2)}},
        {"name": "hours_left", "label": _("Left of the term, h"), "value": f"{hours:.0f}", "step": "1",
         "min": "1", "max": f"{whole:.0f}", "low": "1", "high": f"{fmt.number(whole, 0)} h"},
        {"name": "used_pct", "label": _("Share of hours used, expected, %"), "value": f"{used:.1f}",
         "step": "0.1", "min": "0", "max": "100", "low": fmt.percent(0, lang(), decimals=0),
         "high": fmt.percent(100, lang(), decimals=0)},
        {"name": "quantity", "label": _("Quantity"), "value": str(quantity), "step": "1", "min": "1",
         "max": str(max(5, 2 * quantity)), "low": "1", "high": str(max(5, 2 * quantity))},
    ]  # fmt: skip


def limits_words(other: Mapping[str, Any] | None, subject: Mapping[str, Any]) -> str:
    """Up to which price, down to which use and from which term on it pays."""
    currency = str(subject["currency"])
    use = subject["break_even_utilisation_pct"]
    if other is None:
        return _("It pays down to a use of %(use)s.") % {"use": fmt.percent(use, lang(), decimals=0)}
    price, hours = other["pays_up_to_price"], other["pays_from_hours"]
    if price is None or other["pays_from_use_pct"] is None or hours is None:
        return _("With these values no price pays.")
    return _(
        "It pays up to %(price)s apiece, down to a use of %(use)s, or for any term over %(days)s days."
    ) % {
        "price": fmt.money(words.number(price), currency),
        "use": fmt.percent(other["pays_from_use_pct"], lang(), decimals=0),
        "days": fmt.number(hours / 24, 0),
    }


def history_rows(at: datetime, kind: str) -> list[dict[str, Any]]:
    """How long second-hand deals of a type lasted, and what they cost."""
    found = []
    for one in offer_history(at=at, instance_type=kind)["deals"]:
        lasted, path = one["lasted_hours"], one["path"]
        prices = [float(row["effective_hourly"]) for row in path]
        found.append(
            {
                "name": f"{one['type']} · {one['platform']} · {one['region']}",
                "seen": one["seen"],
                "standing": one["standing"],
                "lasted": fmt.hours(lasted["median"]) if lasted else fmt.UNKNOWN,
                "low": fmt.hourly(min(prices)) if prices else fmt.UNKNOWN,
                "high": fmt.hourly(max(prices)) if prices else fmt.UNKNOWN,
                "path": prices,
            }
        )
    return found


def _csv(document: Mapping[str, Any]) -> HttpResponse:
    def rows() -> Iterator[Mapping[str, Any]]:
        for doc in document["advice"]:
            yield {**doc, "advice": "buy" if doc["advised"] else "too uncertain"}
        known = set()
        for doc in document["alternatives"]:
            known.add(words.key_of(doc))
            yield {**doc, "advice": "alternative"}
        for doc in document["refused"]:
            if words.key_of(doc) not in known:
                yield {**dict.fromkeys(NUMBERS), "break_even_date": None, **doc, "advice": "refused"}

    response = StreamingHttpResponse(csv_lines(COLUMNS, rows()), content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = 'attachment; filename="deals.csv"'
    return response  # type: ignore[return-value]


@access(Action.RUN_ADVICE)
def offer_page(request: HttpRequest, offer_id: int) -> HttpResponse:
    """One offer: its figures, its rivals, its history, what if."""
    organisation, now = organisation_of(request), datetime.now(UTC)
    zone = ZoneInfo(timezone.get_current_timezone_name())
    at, past = moment_of(organisation, request.GET.get("at", ""), now)
    values = what_if_of(request.GET)
    given = {"offer_id": offer_id, "at": at, "price": values.price, "hours_left": values.hours_left,
             "used_pct": values.used_pct, "quantity": values.quantity}  # fmt: skip
    document = remembered(
        request, "deal-offer", organisation, given,
        lambda: offer_detail(**given, organisation=organisation),  # type: ignore[arg-type]
    )  # fmt: skip
    if not document:
        raise Http404
    judged, other = document["judged"], document["what_if"]
    subject = other or judged
    return render(
        request,
        "dashboard/deal_offer.html",
        {
            "page": "deals",
            "tab": "deals",
            "tabs": DEALS_TABS,
            "doc": document,
            "offer": document["offer"],
            "name": f"{document['offer']['type']} · {words.what_of(document['offer'])}",
            "heading": offer_heading(document, zone),
            "note": words.note_of(document["offer"], at),
            "subject": subject,
            "changed": other is not None,
            "kpis": words.kpis(subject, zone, draws=document["evidence"]["scenarios"]["draws"])
            if subject
            else [],
            "chart": words.chart_of(subject, zone) if subject else None,
            "versus": words.versus_of(subject) if subject else [],
            "sliders": sliders(judged or subject, subject, other) if subject else [],
            "limits": limits_words(other, subject) if subject else "",
            "keep": _keep(request),
            "reset": _reset(request),
            "prices": _prices(document, zone),
            "history": history_rows(at, document["offer"]["type"]),
            "currency": document["offer"]["currency"],
            "at": at,
            "past": past,
        },
    )


def offer_heading(document: Mapping[str, Any], zone: ZoneInfo) -> str:
    """What the offer is worth in a sentence."""
    offer, judged = document["offer"], document["judged"]
    if judged is None:
        return _("This %(type)s is not worth buying: %(reason)s") % {
            "type": offer["type"], "reason": document["refused"]["reason"],
        }  # fmt: skip
    return _("%(n)d of this %(type)s would save [[%(saving)s]] by %(day)s.") % {
        "n": judged["quantity"],
        "type": offer["type"],
        "saving": fmt.money(words.number(judged["saving"]), offer["currency"]),
        "day": fmt.day(datetime.fromisoformat(judged["claims"][0]["to"]), zone, lang(), year=True),
    }


def _prices(document: Mapping[str, Any], zone: ZoneInfo) -> Sequence[tuple[str, str, str]]:
    return [
        (
            fmt.number(words.number(one["upfront_each"]), 2),
            fmt.moment(datetime.fromisoformat(one["from"]), zone, lang(), year=True),
            fmt.moment(datetime.fromisoformat(one["to"]), zone, lang(), year=True)
            if one["to"]
            else _("it may still stand"),
        )
        for one in document["seen"]["prices"]
    ]
