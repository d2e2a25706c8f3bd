"""`name_accounts FEED`: names of accounts from AWS Organizations, with the role of a feed of bills."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.utils.translation import gettext as _

from apps.accounts.actors import Actor
from apps.accounts.models import Organisation
from apps.ingest.models import Feed, FeedKind
from apps.ingest.services.names import names_from_feed
from finops.providers.base import ProviderError
from finops.verbs import JsonCommand


class Command(JsonCommand):
    """What the button on page Account names does."""

    help = "Take over names of accounts from AWS Organizations."

    def add_arguments(self, parser: CommandParser) -> None:
        """Whose role asks."""
        parser.add_argument("feed", help=_("name of a feed of bills"))
        parser.add_argument("--json", action="store_true", help=_("one JSON document on standard output"))

    def handle(self, *args: Any, **options: Any) -> None:
        """Exit code 1 when AWS does not answer; the message says why."""
        feed = Feed.objects.filter(name=options["feed"], kind=FeedKind.BILLS).first()
        if feed is None:
            raise CommandError(_("There is no feed of this name."), returncode=2)
        try:
            counts = asdict(
                names_from_feed(
                    feed=feed,
                    organisation=feed.organisation or Organisation.default(),
                    actor=Actor.system("name_accounts"),
                )
            )
        except ProviderError as error:
            raise CommandError(str(error), returncode=1) from error
        if options["json"]:
            self.stdout.write(json.dumps(counts))
        else:
            self.stdout.write(", ".join(f"{name}: {value}" for name, value in counts.items()))
