"""Storage in words: the sentence, where the bytes lie, the groups, policies of one, from `advise_storage`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from apps.dashboard import format as fmt
from apps.dashboard.figures.storage import Line, policies_cash
from apps.dashboard.presenters.run import Range, Scale
from apps.dashboard.words import lang
from apps.recommendations.storage_wording import class_name

Doc = Mapping[str, Any]
VERDICTS: dict[str, tuple[str, Any]] = {
    "move": ("pass", gettext_lazy("Move")),
    "do not move": ("plain", gettext_lazy("Do not move")),
    "blocked": ("unknown", gettext_lazy("Cannot judge")),
}
REFUSED: dict[str, Any] = {
    "wait": gettext_lazy("a read waits for a restore"),
    "one zone": gettext_lazy("one zone only"),
}
GIB = 2**30
KIB, MIB = 2**10, 2**20
MOST_GROUPS = 200
CHART_LINES = 4


def size_of(value: int | Decimal | str | None) -> str:
    """Bytes in the unit that fits: `86.4 TiB`."""
    size = fmt.decimal_of(value)
    if size is None:
        return fmt.UNKNOWN
    for unit, power in (("PiB", 50), ("TiB", 40), ("GiB", 30), ("MiB", 20), ("KiB", 10)):
        if abs(size) >= 2**power:
            return f"{fmt.number(size / 2**power, 1)} {unit}"
    return f"{fmt.number(size, 0)} B"


@dataclass(frozen=True)
class Bar:
    """A part of all bytes: its name, share in percent, size, objects, cost of a month where it is known."""

    name: str
    share: float
    size: str
    objects: str
    cost: str = ""


@dataclass(frozen=True)
class GroupRow:
    """One group of the list; `address` is the query of its own page."""

    bucket: str
    prefix: str
    note: str
    storage_class: str
    size: str
    monthly: str
    policy: str
    one_time: str
    saving: str
    interval: str
    range: Range | None
    back: str
    kind: str
    word: str
    reason: str
    query: Mapping[str, str]
    best: bool


def heading(document: Doc) -> str:
    """The answer in a sentence."""
    totals = document["totals"]
    money = fmt.money(totals["saving"], totals["currency"])
    if not totals["groups"]:
        return _("No listing says what lies in your buckets.")
    if totals["move"]:
        return ngettext(
            "Moving %(n)d prefix saves [[%(money)s]] in 12 months.",
            "Moving %(n)d prefixes saves [[%(money)s]] in 12 months.",
            _prefixes(document),
        ) % {"n": _prefixes(document), "money": money}
    if totals["blocked"] == totals["groups"]:
        return _("Nothing can be judged yet: what is missing stands below.")
    return _("Everything lies where it should: no move pays.")


def _prefixes(document: Doc) -> int:
    return len({tuple(one["claims"]) for one in document["groups"] if one["verdict"] == "move"})


def lead(document: Doc) -> str:
    """What it rests on."""
    totals = document["totals"]
    text = _("Now %(monthly)s a month at list prices, one-time cost of the moves %(once)s.") % {
        "monthly": fmt.money(totals["current_monthly"], totals["currency"]),
        "once": fmt.money(totals["one_time"], totals["currency"], decimals=2),
    }
    if totals["blocked"]:
        text += " " + ngettext(
            "%(n)d of %(all)d groups cannot be judged.", "%(n)d of %(all)d groups cannot be judged.",
            totals["blocked"],
        ) % {"n": totals["blocked"], "all": totals["groups"]}  # fmt: skip
    return text


def by_class(groups: Sequence[Doc]) -> list[Bar]:
    """Where bytes and cost are, by class."""
    size: dict[str, int] = defaultdict(int)
    objects: dict[str, int] = defaultdict(int)
    cost: dict[str, Decimal | None] = defaultdict(Decimal)
    for one in groups:
        name = one["class"]
        size[name] += one["bytes"]
        objects[name] += one["objects"] or 0
        held, more = cost[name], fmt.decimal_of(one["current_monthly"])
        cost[name] = None if held is None or more is None else held + more
    whole = sum(size.values()) or 1
    order = sorted(size, key=lambda name: -size[name])
    return [
        Bar(
            class_name(name), 100 * size[name] / whole, size_of(size[name]), fmt.number(objects[name]),
            fmt.number(cost[name], 2),
        )
        for name in order
    ]  # fmt: skip


def by_band(buckets: Iterable[Doc], name: str) -> list[Bar]:
    """Bytes by band of size, age or days since the last read."""
    sums: dict[tuple[int | None, int | None], list[int]] = {}
    for bucket in buckets:
        for one in bucket.get(name) or ():
            held = sums.setdefault((one["from"], one["to"]), [0, 0])
            held[0] += one["objects"]
            held[1] += one["bytes"]
    whole = sum(size for _objects, size in sums.values()) or 1
    words = _size_words if name == "sizes" else _day_words
    return [
        Bar(words(low, high), 100 * size / whole, size_of(size), fmt.number(objects))
        for (low, high), (objects, size) in sorted(
            sums.items(), key=lambda one: (one[0][0] is None, one[0][0] or 0)
        )
    ]


def _size_words(low: int | None, high: int | None) -> str:
    if low is None:
        return _("not known")
    if high is None:
        return _("from %(size)s") % {"size": size_of(low)} if low else _("any size")
    return _("under %(size)s") % {"size": size_of(high)} if low == 0 else f"{size_of(low)}–{size_of(high)}"


def _day_words(low: int | None, high: int | None) -> str:
    if low is None:
        return _("not known")
    if high is None:
        return _("%(n)s days and more") % {"n": fmt.number(low)}
    if high - low == 1:
        return _("under 1 day") if low == 0 else ngettext("%(n)s day", "%(n)s days", low) % {"n": low}
    return _("%(low)s to %(high)s days") % {"low": fmt.number(low), "high": fmt.number(high - 1)}


def rows_of(groups: Sequence[Doc]) -> list[GroupRow]:
    """The groups, moves with the largest saving first, then what cannot be judged, then the rest."""
    order = {"move": 0, "blocked": 1, "do not move": 2}
    ranked = sorted(
        groups, key=lambda one: (order[one["verdict"]], -(fmt.decimal_of(one["saving"]) or 0), -one["bytes"])
    )
    moves = [one for one in ranked if one["verdict"] == "move"]
    scale = _scale(moves)
    return [_row(one, scale, best=one is ranked[0] and bool(moves)) for one in ranked[:MOST_GROUPS]]


def _scale(rows: Sequence[Doc]) -> Scale | None:
    ends = [float(one[name]) for one in rows for name in ("saving_low", "saving", "saving_high")]
    return Scale(min([0.0, *ends]), max([1.0, *ends])) if ends else None


def _row(one: Doc, scale: Scale | None, *, best: bool) -> GroupRow:
    kind, word = VERDICTS[one["verdict"]]
    moves = one["verdict"] == "move"
    return GroupRow(
        bucket=one["bucket"],
        prefix=one["prefix"] or "/",
        note=one["state_words"],
        storage_class=class_name(one["class"]),
        size=size_of(one["bytes"]),
        monthly=fmt.number(fmt.decimal_of(one["current_monthly"]), 2),
        policy=one["policy"] if moves else fmt.UNKNOWN,
        one_time=fmt.number(fmt.decimal_of(one["one_time"]), 2) if moves else fmt.UNKNOWN,
        saving=fmt.number(fmt.decimal_of(one["saving"]), 0) if moves else fmt.UNKNOWN,
        interval=fmt.span(one["saving_low"], one["saving_high"], lang(), words=True) if moves else "",
        range=range_of(one, scale, best=best) if moves else None,
        back=back_word(one["break_even_month"]) if moves else fmt.UNKNOWN,
        kind=kind,
        word=str(word),
        reason="" if moves else one["reason"],
        query={"bucket": one["bucket"], "prefix": one["prefix"], "state": one["state"]},
        best=best,
    )


def range_of(one: Doc, scale: Scale | None, *, best: bool) -> Range | None:
    """The saving on the list's one scale."""
    if scale is None:
        return None
    low, at, high = (float(one[name]) for name in ("saving_low", "saving", "saving_high"))
    return Range(scale.place(0), scale.place(at), scale.place(low), scale.place(high), best)


def back_word(month: int | None) -> str:
    """When a move has paid."""
    if month is None:
        return _("not within 12 months")
    return _("month %(n)s") % {"n": month} if month else _("at once")


@dataclass(frozen=True)
class PolicyRow:
    """One policy of a prefix."""

    name: str
    note: str
    one_time: str
    after: str
    saving: str
    interval: str
    range: Range | None
    worst: str
    back: str
    reading: str
    advice: str
    kind: str
    best: bool


def policy_rows(policies: Sequence[Doc], *, verdict: str) -> list[PolicyRow]:
    """Every policy, the greatest saving first."""
    scale = _scale(policies)
    return [_policy(one, scale, verdict) for one in policies]


def _policy(one: Doc, scale: Scale | None, verdict: str) -> PolicyRow:
    best = bool(one["best"]) and verdict == "move"
    stays = not one["steps"]
    if one["refused"]:
        advice, kind = _("Not allowed"), "deny"
    elif best:
        advice, kind = _("Best"), "pass"
    else:
        advice, kind = (_("Today") if stays else _("Alternative")), ""
    reading = [] if not one["retrieval_per_gib"] else [
        _("%(n)s a GiB read") % {"n": one["retrieval_per_gib"]}
        if fmt.decimal_of(one["retrieval_per_gib"]) else _("none for reads")
    ]  # fmt: skip
    if one["min_days"]:
        reading.append(_("%(n)s days at least") % {"n": one["min_days"]})
    return PolicyRow(
        name=one["policy"],
        note=_("objects from %(size)s") % {"size": size_of(one["from_bytes"])} if one["from_bytes"] else "",
        one_time=fmt.number(fmt.decimal_of(one["one_time"]), 2),
        after=fmt.number(fmt.decimal_of(one["monthly_after"]), 2),
        saving=fmt.number(fmt.decimal_of(one["saving"]), 0),
        interval="" if stays else fmt.span(one["saving_low"], one["saving_high"], lang(), words=True),
        range=None if stays else range_of(one, scale, best=best),
        worst=fmt.number(fmt.decimal_of(one["worst_point"]), 2),
        back=fmt.UNKNOWN if stays else back_word(one["break_even_month"]),
        reading="; ".join(reading) or fmt.UNKNOWN,
        advice=str(REFUSED.get(one["refused"], advice)) if one["refused"] else advice,
        kind=kind,
        best=best,
    )


def chart_of(policies: Sequence[Doc], *, verdict: str) -> dict[str, Any] | None:
    """Cash curves of the best policies that may be taken; None where there is nothing but staying."""
    free = [one for one in policies if one["steps"] and not one["refused"]]
    free.sort(key=lambda one: (not (one["best"] and verdict == "move"), -float(one["saving"])))
    shown = free[:CHART_LINES]
    rival = next((one for one in free if one["steps"][-1]["to"] == "INTELLIGENT_TIERING"), None)
    if rival is not None and rival not in shown:
        shown = [*shown[: CHART_LINES - 1], rival]
    if not shown:
        return None
    lines = [_line(one) for one in shown]
    recovered = sum(one["break_even_month"] is not None and float(one["saving"]) > 0 for one in shown)
    title = ngettext(
        "%(n)d of %(all)d policies has paid back within twelve months",
        "%(n)d of %(all)d policies have paid back within twelve months",
        recovered,
    ) % {"n": recovered, "all": len(shown)}
    figure = policies_cash(
        lines, rival=rival["policy"] if rival else "", month_word=_("12 months"), start_word=_("Move"),
        lang=lang(),
    )  # fmt: skip
    rows = [
        (
            str(month) if month else _("Move"),
            [fmt.number(line.cash[month], 2) for line in lines],
        )
        for month in range(len(lines[0].cash))
    ]
    return {
        "id": "storage-cash", "title": title, "figure": figure, "rows": rows,
        "names": [line.name for line in lines],
    }  # fmt: skip


def _line(one: Doc) -> Line:
    points = one["cash_curve"]
    return Line(
        one["policy"],
        *([float(point[name]) for point in points] for name in ("expected", "low", "high")),
    )


def prefix_heading(groups: Sequence[Doc]) -> str:
    """The answer for one prefix."""
    first = groups[0]
    whole = first["rule_for_prefix"]
    if whole is not None:
        values = {
            "policy": whole["policy"], "saving": fmt.money(whole["saving"], first["currency"]),
            "once": fmt.money(whole["one_time"], first["currency"], decimals=2),
        }  # fmt: skip
        if not fmt.decimal_of(whole["one_time"]):
            return _("%(policy)s: saves [[%(saving)s]] in 12 months.") % values
        return _("%(policy)s: saves [[%(saving)s]] in 12 months, after a move of %(once)s.") % values
    if any(one["verdict"] == "blocked" for one in groups):
        return _("Cannot judge: what is missing stands below.")
    return _("Do not move: it lies where it should.")


def prefix_lead(groups: Sequence[Doc]) -> str:
    """The interval and when it pays, or why not."""
    first = groups[0]
    whole = first["rule_for_prefix"]
    if whole is None:
        return str(first["reason"])
    parts = [
        _("90 %% interval %(span)s %(currency)s") % {
            "span": fmt.span(whole["saving_low"], whole["saving_high"], lang(), words=True),
            "currency": fmt.currency_word(first["currency"], lang()),
        },
        _("paid back: %(when)s") % {"when": back_word(whole["break_even_month"])},
    ]  # fmt: skip
    return "; ".join(parts) + "."


def prefix_kpis(groups: Sequence[Doc]) -> list[tuple[str, str, str]]:
    """(label, value, note)."""
    first = groups[0]
    currency, whole = first["currency"], first["rule_for_prefix"]
    known = [fmt.decimal_of(one["current_monthly"]) for one in groups]
    now = None if None in known else sum((one for one in known if one is not None), Decimal(0))
    size = sum(one["bytes"] for one in groups)
    counts = [one["objects"] for one in groups]
    objects = None if None in counts else sum(counts)
    found = [
        (
            _("Bill today"), fmt.money(now, currency, decimals=2),
            _("a month, list prices") if first["reads"] else _("a month, list prices, without reads"),
        ),
        (
            _("What lies there"), size_of(size),
            _("objects not listed")
            if objects is None
            else ngettext("%(n)s object", "%(n)s objects", objects) % {"n": fmt.number(objects)},
        ),
    ]  # fmt: skip
    if whole is not None:
        after, once, worst = (
            fmt.money(whole[name], currency, decimals=2)
            for name in ("monthly_after", "one_time", "worst_point")
        )
        month = whole["worst_month"]
        found += [
            (_("Bill after the move"), after, _("the last month")),
            (_("Move, once"), once, _("transitions and unused days")),
            (_("Lowest point"), worst, _("month %(n)s") % {"n": month} if month else _("on the first day")),
        ]
    return found
