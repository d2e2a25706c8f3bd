"""When and where to run: one workload, its plans, what freedom is worth, and the proof."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, cast
from zoneinfo import ZoneInfo

from django.http import HttpRequest, HttpResponse, QueryDict, StreamingHttpResponse
from django.shortcuts import render
from django.template.loader import render_to_string
from django.utils import timezone
from django.utils.safestring import mark_safe
from django.utils.translation import gettext as _

from apps.accounts.access import access
from apps.accounts.middleware import SignedInRequest
from apps.accounts.roles import Action
from apps.billing.selectors.rates import rates_of
from apps.dashboard import format as fmt
from apps.dashboard import freshness, market, saved
from apps.dashboard.advice import RefusedError, advice_document
from apps.dashboard.caching import cache_key, kept
from apps.dashboard.catalogue import Choices
from apps.dashboard.figures.prices import CONTEXT, Line, axis_start, price_lines
from apps.dashboard.forms import RunForm, SaveForm, command_of, run_defaults
from apps.dashboard.presenters import run as words
from apps.dashboard.presenters import turns
from apps.dashboard.words import lang, listed
from apps.ingest.selectors import price_snapshots
from apps.prices.selectors.books import loaded_book
from finops.text.csv_cells import Column, csv_lines

CHART_DAYS = 14
CHART_LINES = 6
CACHE_SECONDS = 3600
PLAN_COLUMNS = (
    Column("rank", "rank", "number"),
    Column("start", "start"),
    Column("region", "region"),
    Column("zone", "zone"),
    Column("type", "type"),
    Column("market", "market"),
    Column("cost", "cost", "number"),
    Column("cost_low", "cost low", "number"),
    Column("cost_high", "cost high", "number"),
    Column("compute_cost", "compute cost", "number"),
    Column("transfer_cost", "transfer cost", "number"),
    Column("rework_cost", "rework cost", "number"),
    Column("currency", "currency"),
    Column("saving_vs_home_pct", "saving against home, %", "number"),
    Column("saving_vs_zone_now_pct", "saving against cheapest zone now, %", "number"),
    Column("saving_vs_on_demand_pct", "saving against on-demand, %", "number"),
    Column("probability_cheaper", "probability cheaper", "number"),
    Column("reason", "reason"),
)
GRID_COLUMNS = (
    Column("wait_hours", "wait up to, h", "number"),
    Column("where", "where"),
    Column("saving_pct", "saving, %", "number"),
    Column("low", "low, %", "number"),
    Column("high", "high, %", "number"),
)


@access(Action.RUN_ADVICE)
def run_page(request: HttpRequest) -> HttpResponse:
    """The page; `format=csv` gives the plans, `format=grid` the flexibility grid, `workload` opens a saved
    one.
    """
    return run_answer(request)


def run_answer(request: HttpRequest, *, save_form: SaveForm | None = None) -> HttpResponse:
    """The page for the question in the address; `save_form`: the refused form of saving it, status 422."""
    snapshots = freshness.snapshots_of(request)
    moment = freshness.moment_of(request)
    if moment is None:
        return render(request, "dashboard/run_empty.html", {"page": "run"})
    known, zone = freshness.choices_of(request), ZoneInfo(timezone.get_current_timezone_name())
    asked = "hours" in request.GET
    if not asked and "workload" in request.GET:
        return saved.open_workload(request, zone)
    form = RunForm(request.GET if asked else _example(request, known), known=known, zone=zone)
    context: dict[str, Any] = {
        "page": "run",
        "form": form,
        "known": known,
        "moment": moment,
        "example": not asked,
        "zone_options": saved.zone_options(),
        **saved.context(request, form, save_form),
    }
    if not form.is_valid():
        return render(request, "dashboard/run_form.html", context, status=422 if asked else 200)
    question, at = form.question(), _minute(moment)
    try:
        document = _document(request, question, at, snapshots)
    except RefusedError as refusal:
        form.add_error(refusal.field if refusal.field in form.fields else None, refusal.message)
        return render(request, "dashboard/run_form.html", context, status=422)
    if request.GET.get("format") in ("csv", "grid"):
        return _csv(document, grid=request.GET["format"] == "grid")
    context["region"] = mark_safe(_answer(request, document, question, at, snapshots, moment, asked))  # noqa: S308
    context["fields"] = mark_safe(_fields(request, context, snapshots))  # noqa: S308
    return render(request, "dashboard/run.html", context, status=422 if save_form else 200)


def _fields(request: HttpRequest, context: dict[str, Any], snapshots: dict[str, int]) -> str:
    """The form's HTML; thirty fields cost more than the rest of the page, and hold what the address says."""
    row = context["opened"]
    key = cache_key(
        "run-fields",
        price_snapshots(snapshots),
        lang(),
        timezone.get_current_timezone_name(),
        row.pk if row else "",
        request.GET.urlencode(),
    )
    return kept(
        key,
        lambda: render_to_string("dashboard/run_fields.html", context, request=request),
        CACHE_SECONDS,
        str,
    )


def _example(request: HttpRequest, known: Choices) -> QueryDict:
    data = QueryDict(mutable=True)
    for name, value in run_defaults(known).items():
        data.setlist(name, value if isinstance(value, list) else [value])
    asked = request.GET.get("types", "")
    if asked in known.types:
        data["types"] = asked
        data.setlist("regions", known.regions(asked)[:4])
    # A saving needs something to compare with: the first zone of the first region stands for "today".
    book = loaded_book(
        provider="aws",
        regions=data.getlist("regions")[:1],
        types=[str(data["types"])],
        product=str(data["product"]),
        snapshots=freshness.snapshots_of(request),
    )
    zones = sorted(book.zone_names.get(key.zone, key.zone) for key in book.book.keys)
    if zones:
        data["home_zone"] = zones[0]
    return data


def _minute(moment: freshness.Moment) -> datetime:
    return moment.at if moment.past else moment.at.replace(second=0, microsecond=0)


def _document(
    request: HttpRequest, question: dict[str, Any], at: datetime, snapshots: dict[str, int]
) -> dict[str, Any]:
    organisation = cast(SignedInRequest, request).organisation
    key = cache_key(
        "advice",
        price_snapshots(snapshots),
        *_rests_on(request),
        sorted(question.items()),
        at.isoformat(),
        lang(),
    )
    return kept(
        key,
        lambda: advice_document(question, at=at, snapshots=snapshots, organisation=organisation),
        CACHE_SECONDS,
        dict[str, Any],
    )


def _rests_on(request: HttpRequest) -> list[Any]:
    """What an answer depends on besides Spot prices and question: reference data, whose contract holds."""
    organisation = cast(SignedInRequest, request).organisation
    rates = [*rates_of(organisation).values_list("pk", "valid_until")]
    return [freshness.price_state_of(request), organisation.pk if organisation else None, rates]


def _answer(
    request: HttpRequest,
    document: dict[str, Any],
    question: dict[str, Any],
    at: datetime,
    snapshots: dict[str, int],
    moment: freshness.Moment,
    asked: bool,
) -> str:
    """The answer's HTML: depends on data, question, language and zone, not on the reader."""
    key = cache_key(
        "run",
        price_snapshots(snapshots),
        *_rests_on(request),
        sorted(question.items()),
        at.isoformat(),
        lang(),
        timezone.get_current_timezone_name(),
        moment.past,
        asked,
        request.GET.urlencode(),
    )
    return kept(
        key,
        lambda: render_to_string(
            "dashboard/run_answer.html",
            _context(document, question, at, snapshots, moment, asked, every="all" in request.GET),
            request=request,
        ),
        CACHE_SECONDS,
        str,
    )


def _slack(question: dict[str, Any], at: datetime) -> float:
    if "slack_hours" in question:
        return float(question["slack_hours"])
    start = max(at, question.get("earliest") or at)
    left: timedelta = question["deadline"] - start
    return max(0.0, left.total_seconds() / 3600 - float(question["hours"]))


def _context(
    document: dict[str, Any],
    question: dict[str, Any],
    at: datetime,
    snapshots: dict[str, int],
    moment: freshness.Moment,
    asked: bool,
    *,
    every: bool,
) -> dict[str, Any]:
    zone = ZoneInfo(timezone.get_current_timezone_name())
    plans = words.shown_plans(document, every=every)
    rows = words.plan_rows(plans, document, zone)
    best = words.best_plan(document)
    return {
        "doc": document,
        "moment": moment,
        "asked": asked,
        "eyebrow": saved.what_runs(question),
        "heading": words.heading(document, zone=zone),
        "lead": words.lead(document),
        "strip": _strip(question, document, at, zone),
        "plans_title": words.plans_title(document),
        "currency": (best or {}).get("currency") or "USD",
        "scale": words.scale_of(plans),
        "rows": rows,
        "left_out": len(document.get("plans", ())) - len(plans),
        "show_types": len({row["type"] for row in rows}) > 1,
        "show_chance": any(row["chance"] for row in rows),
        "rework_unknown": any(row["rework_unknown"] for row in rows),
        "home": document.get("home"),
        "home_name": words.zone_word(document["home"]) if document.get("home") else "",
        "grid_title": words.grid_title(document),
        "grid_heads": words.grid_heads(document),
        "grid_rows": words.grid_rows(document),
        "chart": _chart(document, question, at, snapshots, zone),
        "evidence_rows": words.evidence_rows(document),
        "evidence_summary": words.evidence_summary(document),
        "command": command_of(question, at),
        "schedule": document.get("schedule"),
        **turns.turns_context(document, zone),
    }


def _strip(
    question: dict[str, Any], document: dict[str, Any], at: datetime, zone: ZoneInfo
) -> list[tuple[str, str]]:
    """The workload in a line; zones by the name that the plans use, whatever was typed."""
    names = {plan["zone"]: words.zone_word(plan) for plan in document.get("plans", ()) if plan.get("zone")}
    home = words.zone_word(document["home"]) if document.get("home") else question.get("home_zone")
    places = [names.get(zone_id, zone_id) for zone_id in question.get("zones") or question["regions"]]
    start = question.get("earliest") or at
    latest = question.get("deadline") or start + timedelta(
        hours=_slack(question, at) + float(question["hours"])
    )
    interrupted = _("Yes") if question.get("interruptible") else _("No")
    if question.get("interruptible") and question.get("checkpoint_minutes"):
        interrupted = _("Yes, every %(minutes)s min") % {"minutes": fmt.hours(question["checkpoint_minutes"])}
    sizes = [
        _("%(n)s vCPU") % {"n": question["min_vcpu"]} if question.get("min_vcpu") else "",
        _("%(n)s GiB") % {"n": fmt.hours(question["min_memory_gib"])}
        if question.get("min_memory_gib")
        else "",
        f"{question.get('gpus') or ''} {question.get('gpu') or _('GPU')}".strip()
        if question.get("gpu") or question.get("gpus")
        else "",
    ]
    kind = (
        listed(question["types"])
        if question.get("types")
        else _("at least %(sizes)s") % {"sizes": ", ".join(s for s in sizes if s)}
    )
    return [
        (_("Hours of work"), fmt.hours(question["hours"])),
        (_("Instance type"), kind),
        (_("Home zone"), home or _("not given")),
        (_("Allowed"), listed(places)),
        (_("Earliest start"), fmt.moment(start, zone, lang(), weekday=True, named=False)),
        (_("Done by"), fmt.moment(latest, zone, lang(), weekday=True, named=False)),
        (_("Interruptible"), interrupted),
        *([(_("Repeats"), saved.repeats(question))] if question.get("repeat") else []),
    ]


def _chart(
    document: dict[str, Any],
    question: dict[str, Any],
    at: datetime,
    snapshots: dict[str, int],
    zone: ZoneInfo,
) -> dict[str, Any] | None:
    """Fourteen days of the prices behind the first plans: the advice in indigo, home in orange."""
    best, home = words.best_plan(document), document.get("home")
    spot = [p for p in document.get("plans", ()) if p["market"] == "spot"]
    subject = best if best is not None and best["market"] == "spot" else (spot[0] if spot else None)
    if subject is None:
        return None
    kinds = {subject["type"]} | ({home["type"]} if home else set())
    loaded = loaded_book(
        provider="aws",
        regions=question["regions"],
        types=sorted(kinds),
        product=question["product"],
        snapshots=snapshots,
    )
    wanted = list(dict.fromkeys((p["type"], p["zone"]) for p in [subject, *([home] if home else []), *spot]))[
        :CHART_LINES
    ]
    facts: dict[tuple[str, str], market.ZoneRow] = {}
    for kind in kinds:
        chosen = [i for i, key in enumerate(loaded.book.keys) if key.instance_type == kind]
        made = market.market_facts(
            loaded.book.select(chosen),
            at=at,
            days=CHART_DAYS,
            names=loaded.zone_names,
            with_profile=False,  # no hour of the week is on this page
        )
        facts |= {(kind, row.key): row for row in made.rows}
    lines = []
    for kind, place in wanted:
        row = facts.get((kind, place))
        if row is None:
            continue
        name = row.zone if len(kinds) == 1 else f"{kind} {row.zone}"
        short = row.zone.split("-", 1)[-1]
        if (kind, place) == (subject["type"], subject["zone"]):
            lines.append(Line(name, short, row.steps, "@c1", 2.5, "@c1", True))
        elif home and (kind, place) == (home["type"], home["zone"]):
            lines.append(Line(name, short, row.steps, "@c2", 2.25, "@d3", True))
        else:
            lines.append(Line(name, short, row.steps, *CONTEXT))
    start = axis_start(lines)
    figure = price_lines(
        sorted(lines, key=lambda line: line.width),
        start=at - timedelta(days=CHART_DAYS),
        end=at,
        zone=zone,
        lang=lang(),
        ticks=4,
    )
    if figure is None:
        return None
    return {
        "id": "run-figure",
        "title": _chart_title(facts, subject, home),
        "measure": _("Spot price, %(currency)s per hour, last %(days)d days; the axis starts at %(start)s")
        % {
            "currency": fmt.currency_word(subject.get("currency", "USD"), lang()),
            "days": CHART_DAYS,
            "start": fmt.axis_value(start),
        },
        "figure": figure,
        "rows": [facts[key] for key in wanted if key in facts],
    }


def _chart_title(
    facts: dict[tuple[str, str], market.ZoneRow], subject: Mapping[str, Any], home: Mapping[str, Any] | None
) -> str:
    here = facts.get((subject["type"], subject["zone"]))
    there = facts.get((home["type"], home["zone"])) if home else None
    if here is None or there is None or here is there or not here.mean or not there.mean:
        return _("%(zone)s over the last two weeks") % {"zone": here.zone if here else subject["zone"]}
    dearer = (there.mean / here.mean - 1) * 100
    if dearer < 0.5:  # under half a percent nobody would see it in the picture
        return _("%(home)s and %(zone)s cost the same over two weeks") % {
            "home": there.zone,
            "zone": here.zone,
        }
    return _("%(home)s was %(share)s dearer than %(zone)s over two weeks") % {
        "home": there.zone,
        "share": fmt.percent(dearer, lang()),
        "zone": here.zone,
    }


def _csv(document: dict[str, Any], *, grid: bool) -> HttpResponse:
    columns, rows = (GRID_COLUMNS, document["flexibility"]) if grid else (PLAN_COLUMNS, document["plans"])
    response = StreamingHttpResponse(csv_lines(columns, rows), content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{"flexibility" if grid else "plans"}.csv"'
    return response  # type: ignore[return-value]
