"""`check_cost`: what a plan costs a month, and whether policies allow it."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

from django.core.management.base import CommandParser
from django.utils import timezone
from django.utils.translation import gettext as _

from apps.accounts.models import Organisation
from apps.accounts.selectors import team_list
from apps.costchecks.comment import LIMITS, comment_markdown
from apps.costchecks.export import check_csv
from apps.costchecks.models import KINDS, CostCheck
from apps.costchecks.services import CheckConflictError, Question, cost_check_make
from apps.recommendations.management.verb import moment, organisation_named
from finops.engine.checks.policies import Policy, policies_of
from finops.engine.workload import WorkloadError
from finops.frames.check_words import MAX_BYTES, read_words
from finops.frames.cost_items import CheckInputError
from finops.frames.usage_file import Usage, parse_usage
from finops.providers.terraform.plan import MAX_BYTES as MOST_INPUT
from finops.verbs import JsonCommand, error_document

EXIT_USAGE, EXIT_REFUSED = 2, 3


class Command(JsonCommand):
    """Exit codes: 0 pass, 10 warn with --strict, 20 deny, 30 cannot judge, 2 settings, 3 input refused."""

    help = "Price a plan before and after and hold it against policies."

    def add_arguments(self, parser: CommandParser) -> None:
        """The input, the side files, where it belongs."""
        parser.add_argument("file", metavar="FILE", help=_("the plan, - for standard input"))
        parser.add_argument("--kind", choices=KINDS, default="terraform")
        parser.add_argument("--policy", metavar="FILE", help=_("policies, YAML or JSON"))
        parser.add_argument("--usage", metavar="FILE", help=_("amounts a month that a plan cannot know"))
        parser.add_argument("--strict", action="store_true", help=_("a warning is exit code 10"))
        parser.add_argument("--project", default="", help=_("what is planned, for example infra/prod"))
        parser.add_argument("--ref", default="", help=_("branch of this plan"))
        parser.add_argument("--commit", default="")
        parser.add_argument("--base-ref", default="", help=_("compare with the last check of this branch"))
        parser.add_argument("--team", default="", help=_("slug of the team whose budget counts"))
        parser.add_argument("--key", default="", help=_("a name for this check, once in the organisation"))
        parser.add_argument("--organisation", default="", help=_("its slug; default: the first one"))
        parser.add_argument("--at", type=moment, help=_("decision time; nothing later is looked at"))
        parser.add_argument("--json", action="store_true", help=_("one JSON document on standard output"))
        parser.add_argument("--format", choices=("text", "markdown", "csv"), default="text")
        parser.add_argument("--forge", choices=sorted(LIMITS), default="github")
        parser.add_argument("--link", default="", help=_("address of the report, for the comment"))

    def handle(self, *args: Any, **options: Any) -> None:
        """Check, print, exit with the verdict's code."""
        try:
            organisation = organisation_named(options["organisation"])
            policies, usage = _policies(options["policy"]), _usage(options["usage"])
            question = _question(organisation, policies, usage, options)
        except CheckInputError as error:
            self._refuse(error, EXIT_USAGE, options)
        except WorkloadError as error:
            self._refuse(CheckInputError(error.message, file="", field=error.field), EXIT_USAGE, options)
        at = options["at"] or timezone.now().replace(second=0, microsecond=0)
        try:
            content = _content(options["file"])
            check = cost_check_make(
                organisation=organisation,
                question=replace(question, content=content, file=options["file"]),
                at=at,
            )
        except CheckInputError as error:
            self._refuse(error, EXIT_REFUSED, options)
        except CheckConflictError:
            told = _("This key names a check of another input or of other policies.")
            self._refuse(CheckInputError(told, file="", field="key"), EXIT_USAGE, options)
        self._print(check, options)
        sys.exit(check.document["exit_code"])

    def _print(self, check: CostCheck, options: dict[str, Any]) -> None:
        document = {"id": check.pk, **check.document}
        if options["json"]:
            self.document(document)
        elif options["format"] == "markdown":
            self.stdout.write(comment_markdown(document, forge=options["forge"], link=options["link"]))
        elif options["format"] == "csv":
            self.stdout.write("".join(check_csv(document)), ending="")
        else:
            self._show(document)

    def _show(self, document: dict[str, Any]) -> None:
        self.stdout.write(document["sentence"])
        for policy in document["policies"]:
            self.stdout.write(f"  {policy['verdict']:<12}  {policy['title']}: {policy['reason']}")
        for part in document["unpriced"]:
            self.stdout.write(f"  {_('no price')}: {part['address']} {part['component']}: {part['reason']}")
        for one in document["alternatives"]:
            saving = one["saving"]
            told = f"{saving['expected']} ({saving['low']} – {saving['high']}) {one['currency']}"
            self.stdout.write(f"  {_('cheaper')}: {one['sentence']}: {told}")

    def _refuse(self, error: CheckInputError, code: int, options: dict[str, Any]) -> NoReturn:
        if options["json"]:
            more = {"file": error.file or None, "address": error.address or None}
            self.document(error_document(error.reason, error.field or None, **more))
        self.stderr.write(str(error))
        sys.exit(code)


def _bytes(path: str, most: int) -> bytes:
    """The file, at most a byte more than may be: what is larger is refused by its reader."""
    try:
        if path == "-":
            return sys.stdin.buffer.read(most + 1)
        with Path(path).open("rb") as handle:
            return handle.read(most + 1)
    except OSError as error:
        raise CheckInputError(error.strerror or "cannot be read", file=path) from error


def _content(path: str) -> bytes:
    return _bytes(path, MOST_INPUT)


def _policies(path: str | None) -> tuple[Policy, ...] | None:
    if path is None:
        return None
    return policies_of(read_words(_bytes(path, MAX_BYTES), file=path), file=path)


def _usage(path: str | None) -> Usage:
    return Usage() if path is None else parse_usage(_bytes(path, MAX_BYTES), file=path)


def _question(
    organisation: Organisation, policies: tuple[Policy, ...] | None, usage: Usage, options: dict[str, Any]
) -> Question:
    team = team_list(organisation).filter(slug=options["team"]).first() if options["team"] else None
    if options["team"] and team is None:
        told = _("There is no such team in this organisation.")
        raise CheckInputError(told, file="", field="team")
    for name, most in (("project", 200), ("ref", 200), ("base_ref", 200), ("key", 200), ("commit", 64)):
        if len(options[name]) > most:
            raise CheckInputError(_("At most %(n)d characters.") % {"n": most}, file="", field=name)
    return Question(
        b"", kind=options["kind"], usage=usage, policies=policies, strict=options["strict"],
        project=options["project"], ref=options["ref"], commit=options["commit"],
        base_ref=options["base_ref"], key=options["key"], team=team,
    )  # fmt: skip
