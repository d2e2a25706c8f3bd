"""`check_policies`: the policies that every cost check is held against; adds those of a file, removes one."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, NoReturn

from django.core.exceptions import ValidationError
from django.core.management.base import CommandParser
from django.db import transaction
from django.utils.translation import gettext as _

from apps.accounts.actors import Actor
from apps.accounts.models import Organisation, Team
from apps.accounts.selectors import team_list
from apps.costchecks.models import CheckPolicy
from apps.costchecks.selectors import check_policy_list
from apps.costchecks.services import check_policy_add, check_policy_remove
from apps.costchecks.services.policies import policy_of
from apps.costchecks.wording import policy_title
from apps.recommendations.management.verb import organisation_named
from finops.engine.checks.policies import document_of, policies_of
from finops.engine.workload import WorkloadError
from finops.frames.check_words import MAX_BYTES, read_words
from finops.frames.cost_items import CheckInputError
from finops.verbs import JsonCommand, error_document

ACTOR = Actor.system("command line")
EXIT_USAGE = 2


class Command(JsonCommand):
    """All policies without an option. A file of several is added whole or not at all."""

    help = "Show the policies that cost checks are held against, add those of a file, or remove one."

    def add_arguments(self, parser: CommandParser) -> None:
        """What to do."""
        change = parser.add_mutually_exclusive_group()
        change.add_argument(
            "--add", metavar="FILE", help=_("policies, YAML or JSON, as check_cost takes them")
        )
        change.add_argument("--remove", type=int, metavar="ID")
        parser.add_argument("--team", default="", help=_("slug: --add for this team's checks only"))
        parser.add_argument("--organisation", default="", help=_("its slug; default: the first one"))
        parser.add_argument("--json", action="store_true", help=_("one JSON document on standard output"))

    def handle(self, *args: Any, **options: Any) -> None:
        """Change, then print what holds."""
        try:
            organisation = organisation_named(options["organisation"])
            team = _team(organisation, options["team"])
            if options["add"]:
                _add(organisation, team, options["add"])
            elif options["remove"] is not None:
                check_policy_remove(policy=_find(organisation, options["remove"]), actor=ACTOR)
        except (CheckInputError, WorkloadError) as error:
            self._refuse(str(error), getattr(error, "field", None), options)
        except ValidationError as error:
            field, messages = next(iter(error.message_dict.items()))
            self._refuse(f"{field}: {messages[0]}", field, options)
        document = {"policies": [policy_document(row) for row in check_policy_list(organisation)]}
        if options["json"]:
            self.document(document)
            return
        for one in document["policies"]:
            self.stdout.write(
                f"{one['id']:>6}  {one['team'] or '-'}  {one['rule']['level']:<5} {one['title']}"
            )

    def _refuse(self, message: str, field: str | None, options: dict[str, Any]) -> NoReturn:
        if options["json"]:
            self.document(error_document(message, field))
        self.stderr.write(message)
        sys.exit(EXIT_USAGE)


def policy_document(row: CheckPolicy) -> dict[str, Any]:
    """A stored policy as REST gives it."""
    policy = policy_of(row)
    return {
        "id": row.pk,
        "team": row.team.slug if row.team else None,
        "kind": row.kind,
        "title": policy.title or policy_title(policy),
        "rule": row.rule,
        "created_at": row.created_at.isoformat().replace("+00:00", "Z"),
    }


def _team(organisation: Organisation, slug: str) -> Team | None:
    found = team_list(organisation).filter(slug=slug).first() if slug else None
    if slug and found is None:
        raise ValidationError({"team": _("There is no such team in this organisation.")})
    return found


def _add(organisation: Organisation, team: Team | None, path: str) -> None:
    try:
        with Path(path).open("rb") as handle:
            content = handle.read(MAX_BYTES + 1)
    except OSError as error:
        raise CheckInputError(error.strerror or "cannot be read", file=path) from error
    found = policies_of(read_words(content, file=path), file=path)
    with transaction.atomic():
        for policy in found:
            check_policy_add(organisation=organisation, actor=ACTOR, values=document_of(policy), team=team)


def _find(organisation: Organisation, pk: int) -> CheckPolicy:
    row = check_policy_list(organisation).filter(pk=pk).first() if 0 < pk < 2**63 else None
    if row is None:
        raise ValidationError({"remove": _("There is no policy %(id)s.") % {"id": pk}})
    return row
