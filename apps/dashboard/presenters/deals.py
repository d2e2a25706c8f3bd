"""Deals in words: the sentence, the rows, the chosen offer, from the document of `advise_commitments`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, tzinfo
from decimal import Decimal
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from apps.dashboard import format as fmt
from apps.dashboard.figures.cash import CashAt, CashWords, cash_curve
from apps.dashboard.presenters.run import Range, Scale
from apps.dashboard.words import lang

Doc = Mapping[str, Any]
KINDS: dict[str, Any] = {
    "second-hand": gettext_lazy("Second-hand"),
    "new": gettext_lazy("New"),
    "savings-plan": gettext_lazy("Savings plan"),
}
PAYMENTS: dict[str, Any] = {
    "all-upfront": gettext_lazy("all upfront"),
    "partial-upfront": gettext_lazy("partial upfront"),
    "no-upfront": gettext_lazy("no upfront"),
}
CLASSES: dict[str, Any] = {
    "standard": gettext_lazy("standard"),
    "convertible": gettext_lazy("convertible"),
    "unknown": "",
}
MOST_ROWS, MOST_REFUSED = 12, 12
_ARN = re.compile(r"arn:[^,\s]*/([0-9a-zA-Z]{8})[0-9a-zA-Z-]*")
MONTH_HOURS = 730


def number(value: Any) -> Decimal | None:
    """A decimal text as a number."""
    return fmt.decimal_of(value)


def time_of(text: str | None) -> datetime | None:
    """An instant of a document."""
    return datetime.fromisoformat(text.replace("Z", "+00:00")) if text else None


@dataclass(frozen=True)
class OfferRow:
    """One offer as the table shows it; `key` opens it, `address` its own page."""

    key: str
    id: int | None
    type: str
    what: str
    note: str
    left: str
    upfront: str
    hourly: str
    effective: str
    below: str
    use: str
    back: str
    saving: str
    interval: str
    range: Range | None
    kind: str
    advice: str
    reason: str
    best: bool


def what_of(doc: Doc) -> str:
    """`New, 1 y standard all upfront`; `Second-hand, us-east-1a`."""
    parts = [str(KINDS[doc["kind"]])]
    if doc["kind"] == "savings-plan":
        parts.append(_("compute") if "compute" in doc["offer"] else _("one family"))
    if doc["kind"] != "second-hand":
        years = round(float(doc["hours_left"]) / 8760)
        parts.append(_("%(n)d y") % {"n": years})
    terms = [str(CLASSES.get(doc["offering_class"], "")), str(PAYMENTS.get(doc["payment"], ""))]
    parts.append(" ".join(term for term in terms if term))
    return ", ".join(part for part in parts if part)


def note_of(doc: Doc, now: datetime) -> str:
    """Platform, zone, and when it was seen."""
    parts = [doc["platform"], doc["zone"] or doc["region"]]
    seen = time_of(doc["seen_at"])
    if seen is not None:
        parts.append(fmt.age(seen, now, lang()))
    return " · ".join(parts)


def key_of(doc: Doc) -> str:
    """What names an offer in the address."""
    return f"id-{doc['id']}" if doc["id"] is not None else str(doc["offer"])


def left_of(hours: Any) -> str:
    """`8.0 mo`."""
    value = number(hours)
    return fmt.UNKNOWN if value is None else _("%(n)s mo") % {"n": fmt.number(value / MONTH_HOURS, 1)}


def scale_of(rows: Sequence[Doc]) -> Scale | None:
    """One scale for all savings; the far ends of the intervals may be cut."""
    values = [float(row["saving"]) for row in rows]
    ends = [float(row[name]) for row in rows for name in ("saving_low", "saving_high")]
    if not values:
        return None
    high, low = max([1.0, *values, *ends]), min([0.0, *values, *ends])
    return Scale(low, high)


def rows_of(
    document: Doc, now: datetime, zone: tzinfo, *, kept: Sequence[Doc], chosen: str
) -> list[OfferRow]:
    """Picks first, then what saves by itself."""
    scale = scale_of(kept)
    advised = {key_of(doc): bool(doc["advised"]) for doc in document["advice"]}
    return [_row(doc, now, zone, scale, advised=advised.get(key_of(doc)), chosen=chosen) for doc in kept]


def _row(
    doc: Doc, now: datetime, zone: tzinfo, scale: Scale | None, *, advised: bool | None, chosen: str
) -> OfferRow:
    """`advised` None: not among the picks."""
    back = time_of(doc["break_even_date"])
    quantity = doc["quantity"]
    words = {None: _("Alternative"), True: _("Buy %(n)d") % {"n": quantity}, False: _("Too uncertain")}
    loss = float(doc["loss_probability"]) * 100
    reason = short(doc) if advised is None else ""
    if loss > 0:
        risk = _("%(share)s risk of a loss") % {"share": fmt.percent(loss, lang(), decimals=0)}
        reason = f"{risk}. {reason}" if reason else risk
    return OfferRow(
        key=key_of(doc),
        id=doc["id"],
        type=doc["type"],
        what=what_of(doc),
        note=note_of(doc, now),
        left=left_of(doc["hours_left"]),
        upfront=fmt.number(number(doc["upfront_each"]), 2),
        hourly=fmt.hourly(number(doc["hourly_each"])) if number(doc["hourly_each"]) else fmt.UNKNOWN,
        effective=fmt.hourly(number(doc["effective_hourly"])),
        below=fmt.percent(doc["below_on_demand_pct"], lang(), decimals=0),
        use=fmt.percent(doc["break_even_utilisation_pct"], lang(), decimals=0),
        back=back_word(back, number(doc["upfront_each"]), zone),
        saving=fmt.number(number(doc["saving"]), 0),
        interval=fmt.span(number(doc["saving_low"]), number(doc["saving_high"]), lang(), words=True),
        range=_range(doc, scale, best=bool(advised)),
        kind={None: "", True: "pass", False: "unknown"}[advised],
        advice=words[advised],
        reason=reason,
        best=key_of(doc) == chosen,
    )


def back_word(back: datetime | None, upfront: Decimal | None, zone: tzinfo) -> str:
    """When the money is back."""
    if not upfront:
        return _("at once")
    return _("never") if back is None else fmt.day(back, zone, lang(), year=True)


def short(doc: Doc) -> str:
    """Why an offer is not bought, as a table has room for it."""
    if doc["code"] == "hours taken by":
        return _("Its hours are covered better")
    return named(doc["reason"])


def named(reason: str) -> str:
    """Commitments by the first characters of their id in place of the whole name."""
    return _ARN.sub(r"\1", reason)


def _range(doc: Doc, scale: Scale | None, *, best: bool) -> Range | None:
    if scale is None:
        return None
    low, at, high = (float(doc[name]) for name in ("saving_low", "saving", "saving_high"))
    return Range(scale.place(0), scale.place(at), scale.place(low), scale.place(high), best)


def heading(document: Doc, zone: tzinfo) -> str:
    """The answer in a sentence."""
    picks, total = [doc for doc in document["advice"] if doc["advised"]], document["total"]
    if not document["use"]["known_hours"]:
        return _("No bill says what runs, so no deal can be judged.")
    if not picks and document["advice"]:
        return _("Nothing on offer is sure enough to pay for what runs today.")
    if not picks:
        return _("Nothing on offer is worth buying for what runs today.")
    money = fmt.money(number(total["upfront"]), total["currency"])
    saving = fmt.money(number(total["saving"]), total["currency"])
    if len(picks) == 1:
        one = picks[0]
        return _("Buy %(n)d %(type)s for %(money)s: expected saving [[%(saving)s]] by %(day)s.") % {
            "n": one["quantity"], "type": one["type"], "money": money, "saving": saving,
            "day": fmt.day(datetime.fromisoformat(one["claims"][0]["to"]), zone, lang(), year=True),
        }  # fmt: skip
    count = sum(pick["quantity"] for pick in picks)
    text = ngettext(
        "Buy %(n)d commitment for %(money)s: expected saving [[%(saving)s]].",
        "Buy %(n)d commitments for %(money)s: expected saving [[%(saving)s]].",
        count,
    )
    return text % {"n": count, "money": money, "saving": saving}


def lead(document: Doc) -> str:
    """The interval, the risk and what it rests on."""
    total, use = document["total"], document["use"]
    days = use["known_hours"] / 24
    basis = _("Judged on %(days)s days of bills") % {"days": fmt.number(days, 0)}
    if use["grain_hours"] > 1:
        basis += " " + _("that are by day: hours within a day are taken as equal")
    if not total["count"]:
        return f"{basis}. {total['rule']}" if total["not_advised"] else f"{basis}."
    basis += ". " + _("A drop of use that these days did not show is not in the scenarios")
    draws = document["evidence"]["scenarios"]["draws"]
    lost = round(float(total["loss_probability"]) * draws)
    interval = fmt.span(number(total["saving_low"]), number(total["saving_high"]), lang(), words=True)
    risk = (
        ngettext(
            "%(lost)d of %(draws)d demand scenarios loses money",
            "%(lost)d of %(draws)d demand scenarios lose money",
            lost,
        )
        if lost
        else _("Not one of %(draws)d demand scenarios loses money")
    )
    text = _("90 %% interval %(interval)s %(currency)s. %(risk)s. %(basis)s.") % {
        "interval": interval, "currency": fmt.currency_word(total["currency"], lang()),
        "risk": risk % {"lost": lost, "draws": draws}, "basis": basis,
    }  # fmt: skip
    return f"{text} {total['rule']}" if total["not_advised"] else text


def kpis(doc: Doc, zone: tzinfo, *, draws: int) -> list[tuple[str, str, str]]:
    """(label, value, note) of the chosen offer."""
    currency = doc["currency"]
    lost = round(float(doc["loss_probability"]) * draws)
    share = fmt.percent(float(doc["loss_probability"]) * 100, lang()) if lost else _("under %(n)s") % {
        "n": fmt.percent(100 / draws, lang())
    }  # fmt: skip
    return [
        (
            _("Pay now"),
            fmt.money(number(doc["upfront"]), currency, decimals=2),
            _("%(n)d × %(each)s") % {
                "n": doc["quantity"], "each": fmt.money(number(doc["upfront_each"]), currency, decimals=2)
            },
        ),
        (
            _("Effective price"),
            f"{fmt.money_hourly(number(doc['effective_hourly']), currency)}",
            _("an hour, %(share)s of on-demand")
            % {"share": fmt.percent(doc["break_even_utilisation_pct"], lang(), decimals=0)},
        ),
        (
            _("Break-even use"),
            fmt.percent(doc["break_even_utilisation_pct"], lang(), decimals=0),
            _("expected use %(share)s of %(hours)s h")
            % {
                "share": fmt.percent(doc["utilisation_pct"], lang(), decimals=0),
                "hours": fmt.number(doc["hours_left"], 0),
            },
        ),
        (
            _("Expected saving"),
            fmt.money(number(doc["saving"]), currency),
            f"{fmt.span(number(doc['saving_low']), number(doc['saving_high']), lang(), words=True)} · "
            + _("90 % interval"),
        ),
        (_("Chance of a loss"), share, _("%(lost)d of %(draws)d scenarios") % {"lost": lost, "draws": draws}),
    ]  # fmt: skip


def chart_of(doc: Doc, zone: tzinfo) -> dict[str, Any] | None:
    """The cash curve of an offer with its title and table; None without a curve."""
    if not doc.get("cash_curve"):
        return None
    points = [
        CashAt(
            datetime.fromisoformat(p["at"].replace("Z", "+00:00")),
            float(p["low"]), float(p["expected"]), float(p["high"]),
        )
        for p in doc["cash_curve"]
    ]  # fmt: skip
    currency, last = doc["currency"], points[-1]
    alone, added = number(doc.get("saving_alone")), number(doc["saving"])
    shared = alone is not None and added is not None and abs(alone - added) >= Decimal("0.5")
    back, worst = time_of(doc["break_even_date"]), number(doc["worst_cash"]["amount"])
    out = fmt.money(-worst if worst is not None else None, currency)
    if back is None:
        title = _("The money does not come back; %(out)s is out at most") % {"out": out}
    elif not number(doc["upfront"]):
        title = _("Nothing is paid at once: it saves from the first hour")
    else:
        title = _("The money is back on %(day)s and never more than %(out)s is out") % {
            "day": fmt.day(back, zone, lang(), year=True), "out": out,
        }  # fmt: skip
    words = CashWords(
        _("Expected"),
        _("Low %(n)s") % {"n": fmt.number(last.low, 0, sign=True)},
        _("Expected %(n)s") % {"n": fmt.number(last.expected, 0, sign=True)},
        _("High %(n)s") % {"n": fmt.number(last.high, 0, sign=True)},
    )
    return {
        "id": "cash-figure",
        "title": title,
        "note": _(
            "By itself, as if nothing else were bought: %(alone)s in the end. Beside the cheaper offers for "
            "the same hours it adds %(added)s."
        )
        % {"alone": fmt.money(alone, currency), "added": fmt.money(added, currency)}
        if shared
        else "",
        "figure": cash_curve(points, words, zone=zone, lang=lang()),
        "rows": [
            (
                fmt.day(p.at, zone, lang(), year=True),
                fmt.number(p.expected, 2),
                fmt.span(p.low, p.high, lang(), decimals=2, words=True),
            )
            for p in points
        ],
    }


def versus_of(doc: Doc) -> list[tuple[str, str, str, str]]:
    """(rival, its price of an hour, saving against it, reason or detail)."""
    return [
        (
            one["name"],
            fmt.hourly(number(one.get("hourly"))) if one.get("hourly") else fmt.UNKNOWN,
            fmt.number(number(one["saving"]), 0) if one["saving"] is not None else fmt.UNKNOWN,
            one["reason"] or one["detail"] or "",
        )
        for one in doc["versus"]
    ]
