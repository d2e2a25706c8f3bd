"""Writing the rules that watch offers; each change leaves a row in the audit trail."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.db.models.functions import Now
from django.utils.translation import gettext as _

from apps.accounts.actors import Actor
from apps.accounts.models import Organisation, Team, User
from apps.accounts.services import audit_record
from apps.recommendations.models import DealAlert, DealRule
from apps.recommendations.selectors.deals import rule_document
from finops.frames.offers import platform_of

FIELDS = (
    "name", "team", "min_saving_pct", "break_even_before", "max_list_pct", "regions", "instance_types",
    "platforms", "active",
)  # fmt: skip
MOST_NAMES = 50
_NAME = re.compile(r"^[a-z0-9][a-z0-9.-]{0,59}$")


def deal_rule_save(
    *, organisation: Organisation, actor: Actor, fields: Mapping[str, Any], rule: DealRule | None = None
) -> DealRule:
    """Make a rule, or replace `rule` whole. Raises ValidationError by field: nothing is kept then."""
    checked = _clean(organisation, fields)
    try:
        with transaction.atomic():
            before = None
            if rule is None:
                rule = DealRule(organisation=organisation)
            else:
                rule = DealRule.objects.select_for_update().get(pk=rule.pk)
                before = rule_document(rule)
            for name, value in checked.items():
                setattr(rule, name, value)
            rule.looked, rule.updated_at = "", Now()
            rule.save()
            rule.refresh_from_db()
            audit_record(
                organisation=organisation, actor=actor,
                action="deal_rule.create" if before is None else "deal_rule.change", target=rule,
                before=before or {}, after=rule_document(rule),
            )  # fmt: skip
            return rule
    except IntegrityError as error:
        if "deal_rule_name_once" not in str(error):
            raise
        raise ValidationError({"name": _("This name is in use. Choose another.")}) from error


def deal_rule_remove(*, rule: DealRule, actor: Actor) -> bool:
    """Forget a rule with its alerts; False when somebody else has done it already."""
    with transaction.atomic():
        found = DealRule.objects.select_for_update().filter(pk=rule.pk).first()
        if found is None:
            return False
        audit_record(
            organisation=found.organisation, actor=actor, action="deal_rule.remove", target=found,
            before={**rule_document(found), "alerts": found.alerts.count()},
        )  # fmt: skip
        found.delete()
    return True


def deal_alert_see(*, alert: DealAlert, user: User | None, now: datetime) -> bool:
    """Take note of an alert; False when somebody has already."""
    return bool(DealAlert.objects.filter(pk=alert.pk, seen_at__isnull=True).update(seen_at=now, seen_by=user))


def _clean(organisation: Organisation, given: Mapping[str, Any]) -> dict[str, Any]:
    """The fields with their defaults. Raises ValidationError by field."""
    if unknown := sorted(set(given) - set(FIELDS)):
        raise TypeError(f"no fields of a rule: {', '.join(unknown)}")
    errors: dict[str, str] = {}
    values: dict[str, Any] = {name: given.get(name) for name in FIELDS}
    values["name"] = str(values["name"] or "").strip()
    if not 1 <= len(values["name"]) <= 100:
        errors["name"] = _("1 to 100 characters.")
    _conditions(values, errors)
    _scope(values, errors)
    team = values["team"]
    if isinstance(team, str):
        values["team"] = Team.objects.filter(organisation=organisation, slug=team).first()
    if team and (values["team"] is None or values["team"].organisation_id != organisation.pk):
        errors["team"] = _("There is no such team.")
    values["team"] = values["team"] or None
    values["active"] = True if values["active"] is None else bool(values["active"])
    if errors:
        raise ValidationError(errors)
    return values


def _conditions(values: Mapping[str, Any], errors: dict[str, str]) -> None:
    for name, low, high in (("min_saving_pct", -100, 100), ("max_list_pct", 0, 1000)):
        value: Decimal | None = values[name]
        if value is not None and not (value.is_finite() and low <= value <= high):
            errors[name] = _("Out of range: %(value)s") % {"value": value}
    day = values["break_even_before"]
    if day is not None and not isinstance(day, date):
        errors["break_even_before"] = _("Not a day.")
    if all(values[name] is None for name in ("min_saving_pct", "break_even_before", "max_list_pct")):
        errors["min_saving_pct"] = _("Name a saving, a day or a share of the list price.")


def _scope(values: dict[str, Any], errors: dict[str, str]) -> None:
    for name in ("regions", "instance_types"):
        values[name] = list(dict.fromkeys(values[name] or []))
        if len(values[name]) > MOST_NAMES or not all(_NAME.match(one) for one in values[name]):
            errors[name] = _("Names as m5.large or us-east-1, at most %(n)d.") % {"n": MOST_NAMES}
    values["platforms"] = list(dict.fromkeys(platform_of(one) or one for one in values["platforms"] or []))
    if any(not platform_of(one) for one in values["platforms"]):
        errors["platforms"] = _("Not known: %(value)s") % {"value": ", ".join(values["platforms"])}
