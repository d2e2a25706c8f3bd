"""`call METHOD ADDRESS`: any endpoint of the API from the command line, with the same answer."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.utils.translation import gettext as _

from apps.accounts.models import Membership, Organisation
from apps.api.operators import NoEndpointError, call
from finops.verbs import JsonCommand

METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
EXIT_FAILED, EXIT_REFUSED = 1, 3
MOST_BYTES = 5 * 1024 * 1024


class Command(JsonCommand):
    """What pages and REST change can be changed here too: budgets, rules, rates, anomalies, feeds, views."""

    help = "Call an endpoint of the API in this process: call POST budgets --body '{…}'."

    def add_arguments(self, parser: CommandParser) -> None:
        """What to call, and as whom."""
        parser.add_argument("method", choices=METHODS, type=str.upper)
        parser.add_argument("address", help=_("the part after /api/v1/, with its query: budgets?all=true"))
        parser.add_argument("--body", default="", help=_("JSON, or - for standard input, or @FILE"))
        parser.add_argument("--organisation", default="", help=_("slug; default: the default organisation"))
        parser.add_argument(
            "--as", dest="person", default="", metavar="EMAIL", help=_("as this member, with their role")
        )
        parser.add_argument("--json", action="store_true", help=_("one JSON document on standard output"))

    def handle(self, *args: Any, **options: Any) -> None:
        """Exit code 0 for an answer, 3 for a refusal, 1 for a failure; the document is printed each time."""
        organisation = self._organisation(options["organisation"])
        try:
            found = call(
                options["method"],
                options["address"],
                organisation=organisation,
                membership=self._membership(options["person"], organisation),
                body=self._body(options["body"]),
            )
        except NoEndpointError as error:
            raise CommandError(
                _("There is no endpoint at %(address)s: the schema lists them.") % {"address": str(error)},
                returncode=2,
            ) from error
        text = json.dumps(
            found.document if found.document is not None else {},
            ensure_ascii=False,
            indent=None if options["json"] else 2,
        )
        self.stdout.write(text)
        if found.status >= 500:
            sys.exit(EXIT_FAILED)
        if found.status >= 400:
            refusal = found.document["error"]
            self.stderr.write(refusal["message"])
            for one in refusal["fields"] if len(refusal["fields"]) > 1 else ():
                self.stderr.write(f"{one['field']}: {one['message']}")
            sys.exit(EXIT_REFUSED)

    def _organisation(self, slug: str) -> Organisation:
        found = Organisation.objects.filter(slug=slug).first() if slug else Organisation.default()
        if found is None:
            raise CommandError(_("There is no organisation %(slug)s.") % {"slug": slug}, returncode=2)
        return found

    def _membership(self, email: str, organisation: Organisation) -> Membership | None:
        if not email:
            return None
        rows = Membership.objects.filter(organisation=organisation, user__email__iexact=email)
        found = rows.select_related("user", "organisation").first()
        if found is None:
            raise CommandError(_("%(email)s is no member.") % {"email": email}, returncode=2)
        return found

    def _body(self, given: str) -> Any:
        if not given:
            return None
        try:
            if given == "-":
                text = sys.stdin.read(MOST_BYTES)
            elif given.startswith("@"):
                with Path(given[1:]).open(encoding="utf-8") as file:
                    text = file.read(MOST_BYTES)
            else:
                text = given
            return json.loads(text)
        except (OSError, ValueError) as error:
            raise CommandError(
                _("The body is no JSON: %(reason)s") % {"reason": error}, returncode=2
            ) from error
