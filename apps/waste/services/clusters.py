"""Requests of Kubernetes workloads against what they use, as findings, and cost by namespace."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from django.utils.translation import gettext as _

from apps.accounts.models import Organisation
from apps.recommendations.services.document import Document, decimal_text, iso
from apps.waste.commands import commands
from apps.waste.models import ClusterUse
from apps.waste.selectors import cluster_uses, settings_of
from apps.waste.wording import text_of, title_of, unjudged_text
from finops.engine.waste.clusters import Excess, GroupCost, by_group, by_namespace, excess_of
from finops.engine.workload import WorkloadError
from finops.frames.clusters import Work
from finops.frames.waste import Rule, waste_rules

RULE = "kubernetes-requests"
NAMESPACE, WORKLOAD, LABEL = "namespace", "workload", "label"
PLACES = Decimal("0.00000001")
LEAST_MONTHLY = Decimal("0.01")


@dataclass
class Outcomes:
    """Findings, and why there are none."""

    findings: list[Document] = field(default_factory=list)
    not_judged: list[Document] = field(default_factory=list)


def cluster_outcomes(organisation: Organisation | None) -> Outcomes:
    """What the stored uses of clusters tell."""
    rule = waste_rules()[RULE]
    settings = [one for one in settings_of(organisation) if one.rule == RULE and not one.team]
    values = {**rule.thresholds, **(dict(settings[-1].thresholds) if settings else {})}
    if settings and not settings[-1].enabled:
        return Outcomes(not_judged=[_not_judged("switched-off")])
    rows = [work_of(row) for row in cluster_uses(organisation)]
    if not rows:
        return Outcomes(not_judged=[_not_judged("no-cluster")])
    enough = [one for one in rows if one.hours >= Decimal(values["days"]) * 24]
    found = [excess_of(one, float(values["head_room"])) for one in enough]
    findings = [_finding(one, rule) for one in found if one is not None and one.saving >= LEAST_MONTHLY]
    short = len(rows) - len(enough)
    told = [_not_judged("short-cluster", n=str(short), days=values["days"])] if short else []
    return Outcomes(findings, told)


def work_of(row: ClusterUse) -> Work:
    """A stored use for the engine."""
    return Work(
        row.cluster, row.namespace, row.workload, row.kind, row.start, row.end, row.cpu_request, row.cpu_p99,
        row.memory_request, row.memory_p99, row.cpu_cost, row.memory_cost, row.cost, row.currency,
        row.cpu_mean, row.memory_mean, {str(name): str(value) for name, value in row.labels.items()},
    )  # fmt: skip


def _not_judged(code: str, **facts: str) -> Document:
    return {"rule": RULE, "resource": None, "reason": unjudged_text(code, facts), "reason_code": code}


def _finding(one: Excess, rule: Rule) -> Document:
    work = one.work
    resource = f"{work.cluster}/{work.namespace}/{work.workload}"
    target = {
        "cpu": _plain(one.cpu_needed, work.cpu_request, one.cpu_share),
        "memory": _plain(one.memory_needed, work.memory_request, one.memory_share) + "Gi",
    }
    found: Document = {
        "rule": rule.id,
        "doing": rule.doing,
        "provider": "kubernetes",
        "resource": resource,
        "account": work.cluster,
        "region": work.namespace,
        "currency": work.currency,
        "monthly_cost": _amount(one.monthly_cost),
        "uncovered_monthly": _amount(one.monthly_cost),
        "metered_monthly": _amount(one.monthly_cost),
        "saving_low": "0",
        "saving": _amount(one.saving),
        "saving_high": _amount(one.saving),
        "effort": rule.effort,
        "risk": rule.risk,
        "reversible": rule.reversible,
        "team": None,
        "facts": {
            "cpu_request": _text(work.cpu_request), "cpu_p99": _text(work.cpu_p99),
            "memory_request": _text(work.memory_request), "memory_p99": _text(work.memory_p99),
            "days": f"{work.hours / 24:.0f}",
        },
        "notes": ["fewer-nodes"],
        "target": target,
        "confidence": 1.0,
        "targets": [],
        "evidence": {
            "lines": [],
            "where": {"cluster": work.cluster, "namespace": work.namespace, "workload": work.workload},
            "from": iso(work.start),
            "to": iso(work.end),
            "kinds": ["requests"],
            "rule_source": rule.source,
        },
    }  # fmt: skip
    return found | {"title": title_of(found), "text": text_of(found), "commands": commands(found)}


def _plain(need: float | None, request: float | None, share: Decimal) -> str:
    """The request to set: the need where the request is above it, else as it is."""
    value = need if share > 0 else request
    return "0" if value is None else f"{value:.3f}".rstrip("0").rstrip(".")


def _text(value: float | None) -> str:
    return "" if value is None else f"{value:g}"


def _amount(value: Decimal) -> str:
    return decimal_text(value.quantize(PLACES)) or "0"


def cluster_document(*, organisation: Organisation | None, by: str = NAMESPACE) -> Document:
    """Cost by namespace, workload or a label ("label:team") with idle and shared shown, and every workload's
    requests and use. Raises WorkloadError (by).
    """
    works = [work_of(row) for row in cluster_uses(organisation)]
    rows = by_group(works, _named(by))
    labels = {name for one in works for name in one.labels}
    return {
        "by": by,
        "groups": [_group(one) | {"name": one.name or None} for one in rows],
        "namespaces": [_group(one) | {"namespace": one.name or None} for one in by_namespace(works)],
        "labels": sorted(labels),
        "totals": {
            currency: _amount(sum((one.total for one in rows if one.currency == currency), Decimal(0)))
            for currency in sorted({one.currency for one in rows})
        },
        "without_cost": sum(one.cost is None for one in works),
        "workloads": [_work(one) for one in works],
        "from": iso(min(one.start for one in works)) if works else None,
        "to": iso(max(one.end for one in works)) if works else None,
    }


def _named(by: str) -> Callable[[Work], str]:
    kind, _colon, label = by.partition(":")
    if by == NAMESPACE:
        return lambda work: work.namespace
    if by == WORKLOAD:
        return lambda work: f"{work.namespace}/{work.workload}" if work.namespace else work.workload
    if kind == LABEL and label:
        return lambda work: work.labels.get(label, "")
    raise WorkloadError("by", _("namespace, workload or label:NAME, not %(value)s") % {"value": by[:60]})


def _group(one: GroupCost) -> Document:
    return {
        "cluster": one.cluster,
        "currency": one.currency,
        "own": _amount(one.own),
        "idle": _amount(one.idle),
        "shared": _amount(one.shared),
        "total": _amount(one.total),
    }


def _work(one: Work) -> dict[str, Any]:
    return {
        "cluster": one.cluster,
        "namespace": one.namespace or None,
        "workload": one.workload,
        "kind": one.kind,
        "labels": dict(one.labels),
        "cpu_request": one.cpu_request,
        "cpu_p99": one.cpu_p99,
        "memory_request_gib": one.memory_request,
        "memory_p99_gib": one.memory_p99,
        "cost": None if one.cost is None else _amount(one.cost),
        "currency": one.currency or None,
    }
