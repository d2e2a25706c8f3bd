"""`deal_rules`: the rules that watch offers; adds one, replaces one, removes one."""

from __future__ import annotations

from argparse import Action, Namespace
from datetime import datetime
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import CommandParser
from django.utils.translation import gettext as _

from apps.accounts.actors import Actor
from apps.accounts.models import Organisation
from apps.recommendations.management.commands.recommendation import day
from apps.recommendations.management.inbox_verb import InboxVerb
from apps.recommendations.management.verb import decimal, names
from apps.recommendations.models import DealRule
from apps.recommendations.selectors.deals import deal_rules, rule_document
from apps.recommendations.services.deal_rules import FIELDS, deal_rule_remove, deal_rule_save

ACTOR = Actor.system("command line")


class _Given(Action):
    """Remembers that it was given, so that a condition without `--add` or `--replace` is refused."""

    def __call__(self, parser: Any, space: Namespace, values: Any, option: str | None = None) -> None:
        setattr(space, self.dest, values)
        space.rule_fields = [*(getattr(space, "rule_fields", None) or []), option]


class Command(InboxVerb):
    """All rules without an option. A rule is given whole, as by REST: what is left out is not asked for."""

    help = "Show the rules that watch offers, or add, replace or remove one."

    def add_arguments(self, parser: CommandParser) -> None:
        """What to do, and the rule."""
        super().add_arguments(parser)
        change = parser.add_mutually_exclusive_group()
        change.add_argument("--add", metavar="NAME", help=_("watch offers with a rule of this name"))
        change.add_argument("--replace", type=int, metavar="ID", help=_("give the rule anew, whole"))
        change.add_argument("--remove", type=int, metavar="ID", help=_("remove the rule with its alerts"))
        given: dict[str, Any] = {"action": _Given}
        parser.add_argument("--name", help=_("name of the replaced rule; default: as it was"), **given)
        parser.add_argument("--team", metavar="SLUG", **given)
        parser.add_argument("--min-saving-pct", type=decimal, help=_("of the on-demand cost"), **given)
        parser.add_argument("--break-even-before", type=day, metavar="DATE", **given)
        parser.add_argument("--max-list-pct", type=decimal, help=_("of the cheapest new year"), **given)
        parser.add_argument("--regions", type=names, default=[], **given)
        parser.add_argument("--instance-types", type=names, default=[], **given)
        parser.add_argument("--platforms", type=names, default=[], **given)
        parser.add_argument(
            "--inactive", dest="active", action="store_false", help=_("keep it, watch nothing")
        )

    def answer(self, organisation: Organisation, now: datetime, options: dict[str, Any]) -> dict[str, Any]:
        """`{"rules": […]}`: all of them, or the one that was added or replaced."""
        if options["add"] is not None:
            return _saved(organisation, {**options, "name": options["add"]}, None)
        if options["replace"] is not None:
            rule = _find(organisation, "replace", options["replace"])
            return _saved(organisation, {**options, "name": options["name"] or rule.name}, rule)
        if options["remove"] is not None:
            deal_rule_remove(rule=_find(organisation, "remove", options["remove"]), actor=ACTOR)
        elif told := options.get("rule_fields"):
            message = _("%(options)s belongs to --add or --replace.")
            raise ValidationError({"add": message % {"options": ", ".join(told)}})
        return {"rules": [rule_document(one) for one in deal_rules(organisation)]}

    def show(self, document: dict[str, Any]) -> None:
        """A line a rule."""
        for one in document["rules"]:
            conditions = [f"{name}={one[name]}" for name in FIELDS[2:8] if one[name]]
            state = "" if one["active"] else "  " + _("inactive")
            self.stdout.write(f"{one['id']:>6}  {one['name']}  {' '.join(conditions)}{state}")


def _find(organisation: Organisation, field: str, pk: int) -> DealRule:
    found = deal_rules(organisation).filter(pk=pk).first() if 0 < pk < 2**63 else None
    if found is None:
        known = ", ".join(str(one.pk) for one in deal_rules(organisation)) or "-"
        raise ValidationError(
            {field: _("There is no rule %(id)s. Known: %(known)s.") % {"id": pk, "known": known}}
        )
    return found


def _saved(organisation: Organisation, given: dict[str, Any], rule: DealRule | None) -> dict[str, Any]:
    fields = {name: given[name] for name in FIELDS}
    saved = deal_rule_save(organisation=organisation, actor=ACTOR, fields=fields, rule=rule)
    return {"rules": [rule_document(saved)]}
