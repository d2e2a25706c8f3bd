"""Rules as organisations and teams want them: switched off, limited to places, with thresholds of their
own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from decimal import Decimal, InvalidOperation
from typing import Any
from zoneinfo import ZoneInfo

from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _

from apps.accounts.actors import Actor
from apps.accounts.models import Organisation, Team
from apps.accounts.services import audit_record
from apps.billing.services.keyed_rows import row_remove
from apps.recommendations.services.document import Document, iso
from apps.waste.models import WasteSetting
from apps.waste.selectors import setting_list
from finops.engine.waste.model import KEEP_TAGS
from finops.frames.waste import Rule, waste_rules

# Rules look at thirty days: a threshold beyond them would never be met.
LIMITS = {"from_hour": Decimal(24), "to_hour": Decimal(24), "days": Decimal(30)}
MOST_WORDS, MOST_PLACES, MOST_TEXT = 30, 200, 300
# One answer for everybody, since the nights of the bill are told apart once.
WHOLE_ONLY = ("timezone", "from_hour", "to_hour")


def setting_save(
    *,
    organisation: Organisation,
    actor: Actor,
    now: datetime,
    rule: str,
    team: str = "",
    enabled: bool = True,
    thresholds: Mapping[str, str] | None = None,
    accounts: Sequence[str] = (),
    regions: Sequence[str] = (),
) -> WasteSetting:
    """Keep what the organisation (`team` "") or a team wants of a rule. Raises ValidationError by field."""
    known = rule_of(rule)
    owner = _team(organisation, team)
    given = checked(known, thresholds or {}, team=team)
    places = {"accounts": _places("accounts", accounts), "regions": _places("regions", regions)}
    with transaction.atomic():
        row = (
            WasteSetting.objects.select_for_update()
            .filter(organisation=organisation, rule=rule, team=owner)
            .first()
        )
        before = None if row is None else setting_document(row)
        row = row or WasteSetting(organisation=organisation, rule=rule, team=owner)
        row.enabled, row.thresholds, row.set_by, row.set_at = enabled, given, actor.label, now
        row.accounts, row.regions = places["accounts"], places["regions"]
        try:
            with transaction.atomic():
                row.save()
        except IntegrityError as error:
            raise ValidationError({"rule": _("Somebody else said something meanwhile.")}) from error
        audit_record(
            organisation=organisation, actor=actor, action="waste_setting.save", target=row, before=before,
            after=setting_document(row),
        )  # fmt: skip
    return row


def setting_remove(*, setting: WasteSetting, actor: Actor) -> bool:
    """Back to the table's thresholds; False when somebody else has done it already."""
    return row_remove("waste_setting", setting_document, setting, actor)


def rule_of(name: str) -> Rule:
    """A rule of the table. Raises ValidationError."""
    found = waste_rules().get(name)
    if found is None:
        raise ValidationError({"rule": _("There is no rule %(name)s.") % {"name": name[:60]}})
    return found


def checked(rule: Rule, given: Mapping[str, Any], *, team: str) -> dict[str, str]:
    """Thresholds that the rule has, as texts; blank ones are the table's. Raises ValidationError."""
    usual = {**rule.thresholds, "keep_tags": KEEP_TAGS}
    found: dict[str, str] = {}
    for name, value in given.items():
        text = str(value).strip()
        if name not in usual:
            raise ValidationError(
                {
                    "thresholds": _("%(rule)s has no threshold %(name)s.")
                    % {"rule": rule.id, "name": name[:60]}
                }
            )
        if text in ("", usual[name]):
            continue
        if team and name in WHOLE_ONLY:
            raise ValidationError(
                {"thresholds": _("%(name)s is set for the whole organisation only.") % {"name": name}}
            )
        found[name] = _value(name, usual[name], text)
    hours = [int(found.get(name, usual.get(name, "0"))) for name in ("from_hour", "to_hour")]
    if "to_hour" in usual and not hours[0] < hours[1]:
        raise ValidationError({"thresholds": _("to_hour comes after from_hour.")})
    return found


def _value(name: str, usual: str, text: str) -> str:
    if name == "timezone":
        try:
            ZoneInfo(text)
        except (ValueError, OSError, KeyError) as error:
            raise ValidationError(
                {"thresholds": _("%(value)s is no time zone.") % {"value": text}}
            ) from error
        return text
    if not _is_number(usual):
        words = [word.strip() for word in text.split(",") if word.strip()]
        if not words or len(words) > MOST_WORDS or len(text) > MOST_TEXT or "\x00" in text:
            raise ValidationError(
                {"thresholds": _("%(name)s: 1 to %(n)d words with commas.") % {"name": name, "n": MOST_WORDS}}
            )
        return ",".join(words)
    try:
        number = Decimal(text)
    except InvalidOperation as error:
        raise ValidationError({"thresholds": _("%(name)s is a number.") % {"name": name}}) from error
    share = name.endswith("_share") or name == "no_memory_factor"
    most = LIMITS.get(name, Decimal(1) if share else Decimal(10**9))
    if not number.is_finite() or not 0 <= number <= most:
        raise ValidationError(
            {"thresholds": _("%(name)s lies between 0 and %(most)s.") % {"name": name, "most": most}}
        )
    if name.endswith("_hour") and number != number.to_integral_value():
        raise ValidationError({"thresholds": _("%(name)s is a whole hour.") % {"name": name}})
    return format(number.normalize(), "f")


def _is_number(text: str) -> bool:
    try:
        Decimal(text)
    except InvalidOperation:
        return False
    return True


def _team(organisation: Organisation, slug: str) -> Team | None:
    if not slug:
        return None
    found = Team.objects.filter(organisation=organisation, slug=slug).first()
    if found is None:
        raise ValidationError({"team": _("There is no team %(name)s.") % {"name": slug[:60]}})
    return found


def _places(field: str, given: Sequence[str]) -> list[str]:
    names = sorted({name.strip() for name in given if name.strip()})
    if len(names) > MOST_PLACES or any(len(name) > 40 or "\x00" in name for name in names):
        raise ValidationError({field: _("At most %(n)d names of 40 characters.") % {"n": MOST_PLACES}})
    return names


def setting_document(row: WasteSetting) -> Document:
    """A setting as every way in shows it."""
    return {
        "id": row.pk,
        "rule": row.rule,
        "team": row.team.slug if row.team is not None else None,
        "enabled": row.enabled,
        "thresholds": dict(row.thresholds),
        "accounts": list(row.accounts),
        "regions": list(row.regions),
        "set_by": row.set_by,
        "set_at": iso(row.set_at),
    }


def rules_document(organisation: Organisation | None) -> list[Document]:
    """Every rule with what it needs, its thresholds and who changed them."""
    settings: dict[str, list[Document]] = {}
    for row in setting_list(organisation):
        settings.setdefault(row.rule, []).append(setting_document(row))
    return [rule_document(rule, settings.get(rule.id, [])) for rule in waste_rules().values()]


def rule_document(rule: Rule, settings: Sequence[Document]) -> Document:
    """One rule."""
    whole = next((one for one in settings if one["team"] is None), None)
    return {
        "rule": rule.id,
        "doing": rule.doing,
        "question": _(rule.question),
        "inputs": _(rule.inputs),
        "condition": _(rule.condition),
        "saving": _(rule.saving),
        "needs": rule.needs,
        "thresholds": {**rule.thresholds, "keep_tags": KEEP_TAGS},
        "effort": rule.effort,
        "risk": rule.risk,
        "reversible": rule.reversible,
        "since": rule.since.isoformat(),
        "source": rule.source,
        "enabled": whole is None or whole["enabled"],
        "settings": list(settings),
    }
