"""Where an organisation launches and what limits it, with what is spent and promised of each budget."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.db.models import QuerySet

from apps.accounts.models import Organisation
from apps.launches.models import LaunchBudget, LaunchGrant, LaunchGuard, LaunchRule, LaunchTarget, Stray
from apps.launches.selectors.asks import asks_document
from apps.launches.selectors.money import month_of, standing_of
from apps.launches.selectors.values import decimal_text, iso, iso_or_none


def limits_document(organisation: Organisation, now: datetime) -> dict[str, Any]:
    """Guard, targets, budgets of this month, rules, machines that nobody asked for, what waits for a yes."""
    guard = LaunchGuard.objects.filter(organisation=organisation).first()
    strays = Stray.objects.filter(target__organisation=organisation, ended_at__isnull=True)
    return {
        "guard": guard_document(guard or LaunchGuard(organisation=organisation)),
        "targets": [target_document(one) for one in LaunchTarget.objects.filter(organisation=organisation)],
        "budgets": [budget_document(one, now) for one in budget_list(organisation)],
        "rules": [rule_document(one) for one in rule_list(organisation)],
        "strays": [stray_document(one) for one in strays.select_related("target")],
        "grants": grants_document(organisation),
        "waits_for_people": asks_document(organisation, now),
    }


def budget_list(organisation: Organisation) -> QuerySet[LaunchBudget]:
    """Budgets of the organisation's launches, by team."""
    return LaunchBudget.objects.filter(organisation=organisation).select_related("organisation", "team")


def rule_list(organisation: Organisation) -> QuerySet[LaunchRule]:
    """The organisation's rules that approve, ended ones too, as they were made."""
    return LaunchRule.objects.filter(organisation=organisation).select_related("team")


def grants_document(organisation: Organisation) -> list[dict[str, Any]]:
    """What of the installation's own the organisation's targets may use."""
    return [
        {"kind": one.kind, "name": one.name or None, "made_by": one.made_by, "since": iso(one.created_at)}
        for one in LaunchGrant.objects.filter(organisation=organisation)
    ]


def stray_document(row: Stray) -> dict[str, Any]:
    """A machine that no live launch answers to; `price` is its hour's, null is not known."""
    return {
        "target": row.target.name,
        "machine": row.machine,
        "region": row.region or None,
        "type": row.instance_type or None,
        "tags": row.tags,
        "launched_at": iso(row.launched_at),
        "first_seen_at": iso(row.first_seen_at),
        "seen_at": iso(row.seen_at),
        "ours": row.ours,
        "price": decimal_text(row.price),
        "currency": row.currency or None,
        "ended_at": iso_or_none(row.ended_at),
        "ended_by_us": row.ended_by_us,
    }


def budget_document(row: LaunchBudget, now: datetime) -> dict[str, Any]:
    """A budget with what is spent and promised of it this month."""
    standing = standing_of(row.organisation, row.team, at=now, currency=row.currency)
    return {
        "id": row.pk,
        "team": row.team.slug if row.team else None,
        "month": f"{month_of(now)[0]:%Y-%m}",
        "monthly": decimal_text(row.monthly),
        "spent": decimal_text(standing.spent),
        "promised": decimal_text(standing.promised),
        "currency": row.currency,
    }


def guard_document(row: LaunchGuard) -> dict[str, Any]:
    """Limits as every way in shows them."""
    return {
        "frozen": row.frozen,
        "frozen_reason": row.frozen_reason or None,
        "frozen_by": row.frozen_by or None,
        "dry_run": row.dry_run,
        "max_instances": row.max_instances,
        "max_price": decimal_text(row.max_price),
        "currency": row.currency or None,
        "regions": row.regions,
    }


def rule_document(row: LaunchRule) -> dict[str, Any]:
    """A rule as every way in shows it."""
    return {
        "id": row.pk,
        "team": row.team.slug if row.team else None,
        "workload": row.workload_id,
        "limit": decimal_text(row.limit),
        "currency": row.currency,
        "active": row.active,
        "made_by": row.made_by,
    }


def target_document(row: LaunchTarget) -> dict[str, Any]:
    """A place as every way in shows it."""
    return {
        "id": row.pk,
        "name": row.name,
        "executor": row.executor,
        "provider": row.provider,
        "account": row.account or None,
        "role": row.credentials or None,
        "settings": row.settings,
        "max_instances": row.max_instances,
        "notices": row.notices or None,
        "owner": row.owner,
        "active": row.active,
    }
