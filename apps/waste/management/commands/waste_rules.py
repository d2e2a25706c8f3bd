"""`waste_rules`: the rules of waste; with a rule's name also what is wanted of it, for all or for a team."""

from __future__ import annotations

from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import CommandParser
from django.utils import timezone
from django.utils.translation import gettext as _

from apps.accounts.actors import Actor
from apps.recommendations.management.verb import Verb, names, organisation_named
from apps.waste.selectors import setting_list
from apps.waste.services.settings import rule_of, rules_document, setting_remove, setting_save
from finops.engine.workload import WorkloadError


class Command(Verb):
    """Without `--set`, `--on`, `--off` or `--reset` nothing is changed."""

    help = "Rules of waste and their settings."

    def add_arguments(self, parser: CommandParser) -> None:
        """Which rule, and what is wanted of it."""
        parser.set_defaults(provider="aws")
        parser.add_argument("rule", nargs="?", default="")
        parser.add_argument("--team", default="", help=_("slug; empty: everybody"))
        way = parser.add_mutually_exclusive_group()
        way.add_argument("--on", action="store_true", help=_("ask it"))
        way.add_argument("--off", action="store_true", help=_("do not ask it"))
        way.add_argument("--reset", action="store_true", help=_("the table's thresholds again"))
        parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", dest="thresholds")
        parser.add_argument("--accounts", type=names, default=[], help=_("only in these accounts"))
        parser.add_argument("--regions", type=names, default=[], help=_("only in these regions"))
        parser.add_argument("--json", action="store_true", help=_("one JSON document on standard output"))
        parser.add_argument("--organisation", default="", help=_("slug of the organisation"))

    def answer(self, options: dict[str, Any]) -> dict[str, Any]:
        """The rules as they are then. Raises WorkloadError by field."""
        organisation, rule = organisation_named(options["organisation"]), options["rule"]
        wanted = any(options[name] for name in ("on", "off", "reset", "thresholds", "accounts", "regions"))
        actor = Actor.system("waste_rules")
        try:
            if rule:
                rule_of(rule)
            elif wanted:
                raise WorkloadError("rule", _("Name the rule."))
            if options["reset"]:
                rows = setting_list(organisation).filter(rule=rule)
                team = options["team"]
                for row in rows.filter(team__slug=team) if team else rows.filter(team__isnull=True):
                    setting_remove(setting=row, actor=actor)
            elif wanted:
                setting_save(
                    organisation=organisation, actor=actor, now=timezone.now(), rule=rule,
                    team=options["team"], enabled=not options["off"],
                    thresholds=_pairs(options["thresholds"]), accounts=options["accounts"],
                    regions=options["regions"],
                )  # fmt: skip
        except ValidationError as error:
            field, texts = next(iter(error.message_dict.items()))
            raise WorkloadError(field, " ".join(texts)) from error
        return {"rules": [one for one in rules_document(organisation) if rule in ("", one["rule"])]}

    def show(self, document: dict[str, Any]) -> None:
        """A row a rule."""
        self.table(
            [_("rule"), _("asked"), _("needs"), _("thresholds"), _("settings")],
            [
                [
                    one["rule"], _("yes") if one["enabled"] else _("no"), one["needs"],
                    " ".join(f"{name}={value}" for name, value in one["thresholds"].items()),
                    str(len(one["settings"])),
                ]
                for one in document["rules"]
            ],
        )  # fmt: skip


def _pairs(given: list[str]) -> dict[str, str]:
    found = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not equals:
            raise WorkloadError("thresholds", _("NAME=VALUE, not %(value)s") % {"value": text[:60]})
        found[name.strip()] = value.strip()
    return found
