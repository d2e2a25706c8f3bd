"""`add_feed NAME`: a live feed of AWS Spot prices."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _

from apps.ingest.services.live import feed_create
from finops.verbs import JsonCommand

MINUTES_AT_LEAST = 1


def _list(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


class Command(JsonCommand):
    """The feed is due at once and then every so many minutes, as long as beat and a worker run."""

    help = "Add a live feed of AWS Spot prices."

    def add_arguments(self, parser: CommandParser) -> None:
        """What to ask, how often, and as whom."""
        parser.add_argument("name")
        parser.add_argument("--regions", required=True, type=_list, help=_("regions, separated by commas"))
        parser.add_argument("--types", default=[], type=_list, help=_("instance types (default: all)"))
        parser.add_argument("--products", default=[], type=_list, help=_("products (default: all)"))
        parser.add_argument(
            "--every", type=int, default=15, metavar="MINUTES", help=_("minutes between two questions")
        )
        parser.add_argument(
            "--role", default="", help=_("role to take (default: the environment's credentials)")
        )
        parser.add_argument("--external-id", default="", help=_("external id that the role asks for"))
        parser.add_argument(
            "--account", default="", help=_("account number; the feed stops when it is another one")
        )
        parser.add_argument("--json", action="store_true", help=_("one JSON document on standard output"))

    def handle(self, *args: Any, **options: Any) -> None:
        """Store the feed; a name is there once."""
        if not options["regions"] or options["every"] < MINUTES_AT_LEAST:
            raise CommandError(
                _("Name at least one region, and at least one minute between two questions."), returncode=2
            )
        try:
            with transaction.atomic():
                feed = feed_create(
                    name=options["name"],
                    regions=options["regions"],
                    interval=timedelta(minutes=options["every"]),
                    instance_types=options["types"],
                    products=options["products"],
                    role_arn=options["role"],
                    external_id=options["external_id"],
                    account=options["account"],
                )
        except IntegrityError as error:
            raise CommandError(_("There is a feed of this name already."), returncode=2) from error
        if options["json"]:
            self.stdout.write(json.dumps({"id": feed.pk, "name": feed.name, "regions": feed.regions}))
        else:
            self.stdout.write(
                _("Feed %(name)s added; check its rights with check_permissions.") % {"name": feed.name}
            )
