"""Waste: what is wasted, one finding with its evidence and commands, the rules and their thresholds."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, cast

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from apps.accounts.access import access
from apps.accounts.actors import Actor
from apps.accounts.middleware import SignedInRequest
from apps.accounts.roles import Action, allowed
from apps.dashboard.forms_waste import PREFIX, RuleForm
from apps.dashboard.freshness import parse_at
from apps.dashboard.presenters import waste as words
from apps.dashboard.tabs import WASTE_TABS
from apps.dashboard.views.spend import organisation_of
from apps.recommendations.selectors.inbox import recommendation_list
from apps.waste.selectors import setting_list
from apps.waste.services.advice import advise_waste
from apps.waste.services.clusters import LABEL, NAMESPACE, WORKLOAD, cluster_document
from apps.waste.services.rows import KIND, subject_of
from apps.waste.services.settings import (
    rule_document,
    rules_document,
    setting_document,
    setting_remove,
    setting_save,
)
from finops.engine.workload import WorkloadError
from finops.frames.waste import Rule, waste_rules
from finops.text.csv_cells import text_cell

CSV_KEYS = (
    "rule", "resource", "account", "region", "team", "monthly_cost", "saving_low", "saving", "saving_high",
    "currency", "effort", "risk", "reversible", "counted", "title", "text",
)  # fmt: skip
FILTERS = ("rule", "account", "region", "team", "doing")


@access(Action.VIEW)
def waste_page(request: HttpRequest) -> HttpResponse:
    """All findings, the largest saving first."""
    document = advise_waste(organisation=organisation_of(request), at=_moment(request))
    base = {"page": "waste", "tab": "waste", "tabs": WASTE_TABS}
    if document["judged"] is None and not document["findings"]:
        return render(request, "dashboard/waste_empty.html", base)
    asked = {name: request.GET.get(name, "").replace("\x00", "")[:300] for name in FILTERS}
    found = [
        one
        for one in document["findings"]
        if all(not value or (one[name] or "") == value for name, value in asked.items())
    ]
    if request.GET.get("format") == "csv":
        return _csv(found)
    context = base | {
        "heading": words.heading(document),
        "lead": words.lead(document),
        "doc": document,
        "asked": asked,
        "choices": words.choices(document),
        "rows": words.rows_of(found),
        "left_out": max(0, len(found) - words.MOST_ROWS),
        "kept": words.kept_groups(document),
        "not_judged": document["not_judged"],
        "currencies": sorted({one["currency"] for one in found}),
    }
    return render(request, "dashboard/waste.html", context)


def _csv(found: Sequence[Mapping[str, Any]]) -> HttpResponse:
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(CSV_KEYS)
    for one in found:
        writer.writerow([text_cell("" if one[key] is None else str(one[key])) for key in CSV_KEYS])
    answer = HttpResponse(out.getvalue(), content_type="text/csv; charset=utf-8")
    answer["Content-Disposition"] = 'attachment; filename="waste.csv"'
    return answer


@access(Action.VIEW)
def finding_page(request: HttpRequest) -> HttpResponse:
    """One finding: on what it rests, what to run, where it stands."""
    organisation = organisation_of(request)
    document = advise_waste(organisation=organisation, at=_moment(request))
    asked = {name: request.GET.get(name, "") for name in ("rule", "account", "region", "resource")}
    found = next(
        (one for one in document["findings"] if all(one[name] == asked[name] for name in asked)), None
    )
    if found is None:
        raise Http404
    row = recommendation_list(organisation).filter(kind=KIND, subject=subject_of(found)).first()
    others = [
        one
        for one in document["findings"]
        if one is not found
        and (one["account"], one["region"], one["resource"])
        == (found["account"], found["region"], found["resource"])
        and found["resource"]
    ]
    scale_rows = words.rows_of([found, *others])
    context = {
        "page": "waste",
        "doc": document,
        "found": found,
        "row": scale_rows[0],
        "others": scale_rows[1:],
        "facts": words.facts_of(found),
        "rule": rule_document(waste_rules()[found["rule"]], []),
        "lines_query": words.lines_address(found),
        "recommendation": row,
    }
    return render(request, "dashboard/waste_finding.html", context)


@access(Action.VIEW)
def clusters_page(request: HttpRequest) -> HttpResponse:
    """Clusters: requests against use, cost by namespace with idle and shared shown."""
    asked = request.GET.get("by", "") or NAMESPACE
    try:
        document = cluster_document(organisation=organisation_of(request), by=asked)
    except WorkloadError:
        document = cluster_document(organisation=organisation_of(request))
    choices = [(NAMESPACE, _("namespace")), (WORKLOAD, _("workload"))]
    choices += [(f"{LABEL}:{one}", f"{LABEL} {one}") for one in document["labels"]]
    context = {
        "page": "waste", "tab": "waste-clusters", "tabs": WASTE_TABS, "doc": document,
        "heading": words.clusters_heading(document), "choices": choices,
    }  # fmt: skip
    return render(request, "dashboard/waste_clusters.html", context)


@access(Action.VIEW)
def rules_page(request: HttpRequest) -> HttpResponse:
    """Every rule, what it needs and how many findings it has."""
    organisation = organisation_of(request)
    document = advise_waste(organisation=organisation)
    reasons: dict[str, list[str]] = {}
    for one in document["not_judged"]:
        reasons.setdefault(one["rule"], []).append(one["reason"])
    rows = [
        {
            **rule,
            "doing_word": words.DOING[rule["doing"]],
            "needs_word": words.NEEDS[rule["needs"]],
            "found": sum(one["rule"] == rule["rule"] for one in document["findings"]),
            "reasons": reasons.get(rule["rule"], [])[:2],
        }
        for rule in rules_document(organisation)
    ]
    context = {"page": "waste", "tab": "waste-rules", "tabs": WASTE_TABS, "rows": rows}
    return render(request, "dashboard/waste_rules.html", context)


@access(Action.VIEW)
def rule_page(request: HttpRequest, rule: str) -> HttpResponse:
    """One rule: what it asks, its thresholds, who changed them."""
    return _rule(request, _known(rule))


def _known(name: str) -> Rule:
    found = waste_rules().get(name)
    if found is None:
        raise Http404
    return found


def _rule(request: HttpRequest, rule: Rule, form: RuleForm | None = None) -> HttpResponse:
    organisation = organisation_of(request)
    settings = [setting_document(row) for row in setting_list(organisation).filter(rule=rule.id)]
    team = request.GET.get("team", "")
    said = next((one for one in settings if (one["team"] or "") == team), None)
    initial: dict[str, Any] = {"team": team}
    if said is not None:
        initial |= {
            "enabled": said["enabled"], "accounts": ", ".join(said["accounts"]),
            "regions": ", ".join(said["regions"]),
            **{PREFIX + name: value for name, value in said["thresholds"].items()},
        }  # fmt: skip
    document = rule_document(rule, settings)
    context = {
        "page": "waste",
        "tab": "waste-rules",
        "tabs": WASTE_TABS,
        "rule": document,
        "needs_word": words.NEEDS[rule.needs],
        "words": (words.EFFORT[rule.effort], words.RISK[rule.risk], words.REVERSIBLE[rule.reversible]),
        "settings": settings,
        "form": form or RuleForm(organisation=organisation, rule=rule, initial=initial),
        "may": allowed(cast(SignedInRequest, request).membership, Action.DECIDE),
    }
    return render(request, "dashboard/waste_rule.html", context, status=200 if form is None else 422)


@require_POST
@access(Action.DECIDE)
def rule_keep(request: HttpRequest, rule: str) -> HttpResponse:
    """Keep what is wanted of a rule."""
    known, organisation = _known(rule), organisation_of(request)
    form = RuleForm(request.POST, organisation=organisation, rule=known)
    if form.is_valid():
        try:
            setting_save(
                organisation=organisation, actor=_actor(request), now=datetime.now(UTC), rule=known.id,
                **form.given(),
            )  # fmt: skip
        except ValidationError as error:
            for field, texts in error.message_dict.items():
                form.add_error(field if field in form.fields else None, texts)
        else:
            messages.success(request, _("The rule is asked like this from now on."))
            return redirect("dashboard:waste-rule", rule=known.id)
    return _rule(request, known, form)


@require_POST
@access(Action.DECIDE)
def setting_drop(request: HttpRequest, setting_id: int) -> HttpResponse:
    """The table's thresholds again."""
    row = setting_list(organisation_of(request)).filter(pk=setting_id).first()
    if row is None:
        raise Http404
    rule = row.rule
    setting_remove(setting=row, actor=_actor(request))
    messages.success(request, _("The usual thresholds hold again."))
    return redirect("dashboard:waste-rule", rule=rule)


def _moment(request: HttpRequest) -> datetime | None:
    text = request.GET.get("at", "")
    return parse_at(text) if text else None


def _actor(request: HttpRequest) -> Actor:
    return Actor.of_user(cast(SignedInRequest, request).user)
