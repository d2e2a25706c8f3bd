"""Where an organisation launches, within which limits: targets, guards, budgets, rules, the freeze switch."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from decimal import Decimal, InvalidOperation
from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils.translation import gettext as _

from apps.accounts.actors import Actor
from apps.accounts.models import Organisation, Team
from apps.accounts.services import audit_record
from apps.launches.models import Executor, LaunchBudget, LaunchGuard, LaunchRule, LaunchTarget
from apps.launches.selectors.limits import guard_document, rule_document, target_document
from apps.launches.selectors.money import machines_of
from apps.launches.selectors.values import decimal_text
from apps.launches.services.amounts import amount_fault
from apps.launches.services.executors import place_of
from apps.launches.services.grants import grant_stands
from apps.recommendations.services.stated import reason_of
from apps.workloads.models import Workload
from finops.frames.money import CurrencyError, currencies, currency_code
from finops.providers.base import PermanentError
from finops.providers.kubernetes.jobs import NAMESPACE_NAME
from finops.reasons import reason_text

_ACCOUNT = re.compile(r"[0-9]{12}")
# Of any provider, or of a simulated market.
_REGION = re.compile(r"[a-z0-9][a-z0-9-]{0,39}")


def launches_freeze(
    *, organisation: Organisation, actor: Actor, frozen: bool, reason: str, now: datetime
) -> LaunchGuard:
    """Turn the freeze switch. Frozen: nothing is launched; what runs goes on. Raises ValidationError."""
    text = reason_of(reason, needed=True)
    with transaction.atomic():
        row = guard_of(organisation, lock=True)
        before = row.frozen
        if before != frozen:
            row.frozen, row.frozen_reason = frozen, text if frozen else ""
            row.frozen_by, row.frozen_at = (actor.label, now) if frozen else ("", None)
            row.save(update_fields=["frozen", "frozen_reason", "frozen_by", "frozen_at"])
            audit_record(
                organisation=organisation, actor=actor, target=row,
                action="launches.freeze" if frozen else "launches.unfreeze",
                before={"frozen": before}, after={"frozen": frozen, "reason": text},
            )  # fmt: skip
    return row


def guard_save(
    *,
    organisation: Organisation,
    actor: Actor,
    dry_run: bool = False,
    max_instances: int | None = None,
    max_price: Decimal | None = None,
    currency: str = "",
    regions: Sequence[str] = (),
) -> LaunchGuard:
    """Set the limits of an organisation, all at once. Raises ValidationError by field."""
    if max_price is not None and (fault := amount_fault(max_price)):
        raise ValidationError({"max_price": fault})
    if any(not _REGION.fullmatch(one.strip()) for one in regions if one.strip()):
        raise ValidationError({"regions": _("Codes of regions such as us-east-1, separated by commas.")})
    given = {
        "dry_run": dry_run,
        "max_instances": max_instances,
        "max_price": max_price,
        "currency": _currency(currency) if max_price is not None else "",
        "regions": sorted({one.strip() for one in regions if one.strip()}),
    }
    with transaction.atomic():
        row = guard_of(organisation, lock=True)
        before = guard_document(row)
        for name, value in given.items():
            setattr(row, name, value)
        row.save()
        if guard_document(row) != before:
            audit_record(
                organisation=organisation, actor=actor, action="launch_guard.save", target=row,
                before=before, after=guard_document(row),
            )  # fmt: skip
    return row


def budget_save(
    *,
    organisation: Organisation,
    actor: Actor,
    team: Team | None,
    monthly: Decimal | None,
    currency: str = "",
) -> LaunchBudget | None:
    """Set what launches of a team, or of all, may cost in a month; None takes the limit away."""
    if monthly is not None and (fault := amount_fault(monthly, zero=True)):
        raise ValidationError({"monthly": fault})
    with transaction.atomic():
        rows = LaunchBudget.objects.select_for_update().filter(organisation=organisation, team=team)
        row = rows.order_by("pk").first()  # by name it would join teams, which cannot be locked
        before = None if row is None else {"monthly": decimal_text(row.monthly), "currency": row.currency}
        if monthly is None:
            if row is not None:
                audit_record(
                    organisation=organisation, actor=actor, action="launch_budget.remove", target=row,
                    before=before, after=None,
                )  # fmt: skip
                row.delete()
            return None
        row = row or LaunchBudget(organisation=organisation, team=team)
        row.monthly, row.currency = monthly, _currency(currency)
        row.save()
        audit_record(
            organisation=organisation, actor=actor, action="launch_budget.save", target=row, before=before,
            after={"monthly": decimal_text(row.monthly), "currency": row.currency,
                   "team": team.slug if team else None},
        )  # fmt: skip
    return row


def rule_save(
    *,
    organisation: Organisation,
    actor: Actor,
    limit: Decimal,
    currency: str,
    team: Team | None = None,
    workload: Workload | None = None,
) -> LaunchRule:
    """A standing yes up to a limit. Raises ValidationError by field."""
    if fault := amount_fault(limit):
        raise ValidationError({"limit": fault})
    with transaction.atomic():
        row = LaunchRule.objects.create(
            organisation=organisation, team=team, workload=workload, limit=limit,
            currency=_currency(currency), made_by=actor.label,
        )  # fmt: skip
        audit_record(
            organisation=organisation, actor=actor, action="launch_rule.create", target=row, before=None,
            after=rule_document(row),
        )  # fmt: skip
    return row


def rule_off(*, rule: LaunchRule, actor: Actor) -> LaunchRule:
    """End a rule; plans that it approved and that have not run wait for people again."""
    with transaction.atomic():
        row = LaunchRule.objects.select_for_update().get(pk=rule.pk)
        if row.active:
            row.active = False
            row.save(update_fields=["active"])
            audit_record(
                organisation=row.organisation, actor=actor, action="launch_rule.off", target=row,
                before={"active": True}, after={"active": False},
            )  # fmt: skip
    return row


def target_save(
    *, organisation: Organisation, actor: Actor, name: str, values: Mapping[str, Any]
) -> LaunchTarget:
    """Name a place to launch on, or change it. Raises ValidationError by field.

    `values`: executor, provider, account, credentials, external_id, settings, max_instances, notices, active;
    what is left out stays. The executor of a place that has plans cannot change, nor where its machines are
    while some run: there they would not show, be taken for gone and launched again.
    """
    word = " ".join(name.split())
    if not word or len(word) > 60 or "\x00" in word:
        raise ValidationError({"name": _("A name of at most 60 characters.")})
    with transaction.atomic():
        row = (
            LaunchTarget.objects.select_for_update()
            .filter(organisation=organisation, name__iexact=word)
            .first()
        )
        before = None if row is None else target_document(row)
        row = row or LaunchTarget(organisation=organisation, name=word)
        stood = _stands(row)
        kind = values.get("executor", row.executor)
        if row.pk is not None and kind != row.executor and row.plans.exists():
            raise ValidationError({"executor": _("It has plans: name another place instead.")})
        for field, value in values.items():
            setattr(row, field, value)
        _check_target(row)
        moved = [name for name, value in _stands(row).items() if value != stood[name]]
        if moved and row.pk is not None and machines_of(organisation, row.pk):
            raise ValidationError({moved[0]: _("Machines run there: end them first, or name another place.")})
        row.save()
        if target_document(row) != before:
            audit_record(
                organisation=organisation, actor=actor, action="launch_target.save", target=row,
                before=before, after=target_document(row),
            )  # fmt: skip
    return row


def guard_of(organisation: Organisation, *, lock: bool = False) -> LaunchGuard:
    """The organisation's guard, made on first use."""
    row, _made = LaunchGuard.objects.get_or_create(organisation=organisation)
    return LaunchGuard.objects.select_for_update().get(pk=row.pk) if lock else row


def _stands(row: LaunchTarget) -> dict[str, Any]:
    """Where a target's machines are found, by the field that says it."""
    inside = row.settings if isinstance(row.settings, dict) else {}
    return {
        "account": row.account,
        "credentials": row.credentials if row.executor == Executor.KUBERNETES else None,
        "settings": (inside.get("pool"), inside.get("namespace")),
    }


def _check_target(row: LaunchTarget) -> None:
    if row.executor not in Executor.values:
        raise ValidationError({"executor": " / ".join(Executor.values)})
    if not isinstance(row.settings, dict):
        raise ValidationError({"settings": _("An object.")})
    try:
        place = place_of(row)
    except PermanentError as error:
        raise ValidationError({"executor": reason_text(str(error))}) from error
    faults = place.faults(row.settings) | _price_faults(row.settings)
    if faults:
        raise ValidationError(
            {"settings": [f"{name}: {reason_text(why)}" for name, why in sorted(faults.items())]}
        )
    if row.executor == Executor.AWS and not (
        row.account.isascii() and row.account.isdigit() and len(row.account) == 12
    ):
        raise ValidationError({"account": _("An account's number has twelve digits.")})
    if row.executor == Executor.KUBERNETES and not NAMESPACE_NAME.fullmatch(row.credentials):
        raise ValidationError({"role": _("Names a cluster: lower-case letters, digits and -.")})
    if row.active and not grant_stands(row):
        raise ValidationError({"role": _not_granted(row)})
    if row.notices and not row.notices.startswith("https://sqs."):
        raise ValidationError({"notices": _("The address of a queue: https://sqs.REGION.amazonaws.com/…")})


def _not_granted(row: LaunchTarget) -> str:
    if row.executor == Executor.KUBERNETES:
        return _("The operator of this installation has not allowed this cluster: launch_allow --cluster.")
    return _(
        "Name the role to take in the account. Without one the installation's own credentials are used, "
        "which its operator has not allowed: launch_allow --own-credentials."
    )


def _price_faults(given: Mapping[str, Any]) -> dict[str, str]:
    """What is wrong with a place's own prices of an hour: budgets are held against them."""
    faults: dict[str, str] = {}
    for name in ("price", "spot_price"):
        value = given.get(name)
        if value is None:
            continue
        try:
            fault = amount_fault(Decimal(str(value)), zero=True)
        except InvalidOperation:
            fault = _("An amount, 0 or more.")
        if fault:
            faults[name] = fault
    priced = any(given.get(name) is not None for name in ("price", "spot_price"))
    if priced and str(given.get("currency") or "") not in currencies():
        faults["currency"] = _("Not a currency: write three letters, for example USD.")
    return faults


def _currency(text: str) -> str:
    try:
        return currency_code(text)
    except CurrencyError as error:
        raise ValidationError(
            {"currency": _("Not a currency: write three letters, for example USD.")}
        ) from error
