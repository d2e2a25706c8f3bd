"""Writing allocation rules; each change counts the version up and leaves a row in the audit trail."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Any

import duckdb
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.db.models import F
from django.db.models.functions import Now
from django.utils.translation import gettext as _

from apps.accounts.actors import Actor
from apps.accounts.models import Organisation, Team
from apps.accounts.services import audit_record
from apps.billing.models import AllocationRule, AllocationVersion, RuleKind, RuleShare, SplitMethod
from apps.billing.selectors.allocation import UNSAVED, Rule, rule_of
from finops.lake.duck import Limits, open_duckdb

MAX_VALUES = 500
MAX_PRIORITY = 32_000
_KEYED = (RuleKind.TAG, RuleKind.COST_CATEGORY)


@dataclass(frozen=True)
class RuleFields:
    """A rule as somebody wrote it. `shares`: (team, share of 1); share None but for fixed shares."""

    name: str
    kind: str
    priority: int = 100
    key: str = ""
    values: Sequence[str] = ()
    pattern: str = ""
    valid_from: date | None = None
    valid_to: date | None = None
    team: Team | None = None
    split: str = ""
    shares: Sequence[tuple[Team, Decimal | None]] = ()


def rule_check(*, organisation: Organisation, fields: RuleFields, rule: AllocationRule | None = None) -> Rule:
    """The rule as it would be tried. Raises ValidationError by field, with the way out."""
    problems: dict[str, str] = {}
    name = " ".join(fields.name.split())
    if not name:
        problems["name"] = _("Give the rule a name.")
    if not 0 <= fields.priority <= MAX_PRIORITY:
        problems["priority"] = _("Write a number from 0 to %(n)d.") % {"n": MAX_PRIORITY}
    if fields.kind not in RuleKind.values:
        problems["kind"] = _("Choose one of %(known)s.") % {"known": ", ".join(RuleKind.values)}
    else:
        problems |= _match_problems(fields)
    if fields.valid_from and fields.valid_to and fields.valid_to < fields.valid_from:
        problems["valid_to"] = _("The last day lies before the first one.")
    problems |= _target_problems(fields, organisation)
    if problems:
        raise ValidationError(problems)
    return Rule(
        id=rule.pk if rule is not None else UNSAVED,
        name=name,
        priority=fields.priority,
        kind=fields.kind,
        key=fields.key.strip() if fields.kind in _KEYED else "",
        values=tuple(_values(fields)) if fields.kind != RuleKind.RESOURCE else (),
        pattern=fields.pattern if fields.kind == RuleKind.RESOURCE else "",
        valid_from=fields.valid_from,
        valid_to=fields.valid_to,
        team=fields.team.pk if fields.team else None,
        split=fields.split,
        shares=tuple((team.pk, share) for team, share in fields.shares) if fields.split else (),
    )


def _values(fields: RuleFields) -> list[str]:
    return list(dict.fromkeys(text for value in fields.values if (text := value.strip())))


def _match_problems(fields: RuleFields) -> dict[str, str]:
    if fields.kind == RuleKind.RESOURCE:
        return pattern_problem(fields.pattern)
    if fields.kind in _KEYED and not fields.key.strip():
        return {"key": _("Name the tag or cost category.")}
    values = _values(fields)
    if fields.kind not in _KEYED and not values:
        return {"values": _("Name at least one.")}
    if len(values) > MAX_VALUES:
        return {"values": _("At most %(n)d values.") % {"n": MAX_VALUES}}
    return {}


def pattern_problem(pattern: str) -> dict[str, str]:
    """{} for an expression that RE2 takes (its time is linear in the text, whatever the expression)."""
    if not pattern.strip():
        return {"pattern": _("Write an expression, for example ^arn:aws:s3:::logs-.")}
    if len(pattern) > AllocationRule._meta.get_field("pattern").max_length:  # type: ignore[operator]
        return {"pattern": _("At most 500 characters.")}
    with open_duckdb(Limits(memory="64MB", threads=1)) as con:
        try:
            con.execute("SELECT regexp_matches('', $pattern)", {"pattern": pattern})
        except duckdb.Error as error:
            reason = str(error).partition(": ")[2] or str(error)
            return {"pattern": _("Not an RE2 expression: %(reason)s") % {"reason": reason}}
    return {}


def _target_problems(fields: RuleFields, organisation: Organisation) -> dict[str, str]:
    teams = [team for team, _share in fields.shares] + ([fields.team] if fields.team else [])
    if any(team.organisation_id != organisation.pk for team in teams):
        return {"team": _("There is no such team in this organisation.")}
    if fields.split not in SplitMethod.values:
        return {"split": _("Choose one of %(known)s.") % {"known": ", ".join(SplitMethod.values[1:])}}
    if bool(fields.team) == bool(fields.split):
        return {"team": _("Give the cost to one team, or say how it is divided.")}
    if len({team.pk for team, _share in fields.shares}) < len(fields.shares):
        return {"shares": _("A team is named twice.")}
    given = [share for _team, share in fields.shares]
    if fields.split == SplitMethod.FIXED:
        known = [share for share in given if share is not None]
        if not known or len(known) < len(given) or min(known) <= 0:
            return {"shares": _("Give each team a share above 0.")}
        if sum(known, Decimal(0)) != 1:
            total = format((sum(known, Decimal(0)) * 100).normalize(), "f")
            return {"shares": _("The shares add up to %(total)s %%, not to 100 %%.") % {"total": total}}
    elif any(share is not None for share in given):
        return {"shares": _("Shares belong to fixed shares only.")}
    return {}


def rule_save(
    *, organisation: Organisation, actor: Actor, fields: RuleFields, rule: AllocationRule | None = None
) -> AllocationRule:
    """Keep a rule, or replace `rule` whole. Raises ValidationError by field."""
    checked = rule_check(organisation=organisation, fields=fields, rule=rule)
    try:
        with transaction.atomic():
            return _write(organisation, actor, checked, rule)
    except IntegrityError as error:
        if "allocation_rule_name_once" not in str(error):
            raise
        raise ValidationError({"name": _("This name is in use. Choose another.")}) from error


def _write(
    organisation: Organisation, actor: Actor, checked: Rule, rule: AllocationRule | None
) -> AllocationRule:
    _count_up(organisation)
    before = None
    if rule is None:
        row = AllocationRule(organisation=organisation)
    else:
        row = AllocationRule.objects.select_for_update().get(pk=rule.pk, organisation=organisation)
        before = _facts(row)
        row.updated_at = Now()
    for name in ("name", "priority", "kind", "key", "pattern", "valid_from", "valid_to", "split"):
        setattr(row, name, getattr(checked, name))
    row.values, row.team_id = list(checked.values), checked.team
    row.clean_fields(exclude=["organisation", "team", "updated_at"])
    row.save()
    row.shares.all().delete()
    RuleShare.objects.bulk_create(
        [RuleShare(rule=row, team_id=team, share=share) for team, share in checked.shares]
    )
    row.refresh_from_db()
    audit_record(
        organisation=organisation,
        actor=actor,
        action="allocation_rule.create" if rule is None else "allocation_rule.change",
        target=row,
        before=before,
        after=_facts(row),
    )
    return row


def rule_remove(*, rule: AllocationRule, actor: Actor) -> bool:
    """Forget a rule; False when somebody else has done it already."""
    with transaction.atomic():
        _count_up(rule.organisation)
        found = AllocationRule.objects.select_for_update().filter(pk=rule.pk).first()
        if found is None:
            return False
        audit_record(
            organisation=found.organisation,
            actor=actor,
            action="allocation_rule.remove",
            target=found,
            before=_facts(found),
        )
        found.delete()
    return True


def _count_up(organisation: Organisation) -> None:
    """First in the transaction: changes of one organisation's rules come one after the other."""
    AllocationVersion.objects.get_or_create(organisation=organisation)
    AllocationVersion.objects.filter(organisation=organisation).update(number=F("number") + 1)


def _facts(row: AllocationRule) -> Mapping[str, Any]:
    rule = rule_of(row)
    shares = [[team, share and format(share.normalize(), "f")] for team, share in rule.shares]
    return {
        "name": rule.name, "priority": rule.priority, "kind": rule.kind, "key": rule.key,
        "values": list(rule.values), "pattern": rule.pattern, "valid_from": rule.valid_from,
        "valid_to": rule.valid_to, "team": rule.team, "split": rule.split,
        "shares": shares,
    }  # fmt: skip
