"""`collect_feed NAME`: collect one feed now, in this process."""

from __future__ import annotations

import json
import sys
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.utils.translation import gettext as _

from apps.ingest.models import Feed, FeedDelivery
from apps.ingest.reports import iso, run_report
from apps.ingest.services.collecting import feed_collect
from apps.ingest.services.live import database_now
from finops.providers.base import TransientError
from finops.verbs import JsonCommand

EXIT_FAILED = 1


class Command(JsonCommand):
    """The same as what beat and worker do, for a first try and for looking into trouble."""

    help = "Collect a feed now."

    def add_arguments(self, parser: CommandParser) -> None:
        """Which feed."""
        parser.add_argument("name")
        parser.add_argument(
            "--again", action="store_true", help=_("take up deliveries of bills that were refused")
        )
        parser.add_argument("--json", action="store_true", help=_("one JSON document on standard output"))

    def handle(self, *args: Any, **options: Any) -> None:
        """Exit code 1 when a region could not be collected; the document says why."""
        feed = Feed.objects.filter(name=options["name"]).first()
        if feed is None:
            raise CommandError(_("There is no feed of this name."), returncode=2)
        newest = feed.runs.order_by("-pk").values_list("pk", flat=True).first() or 0
        try:
            feed_collect(feed=feed, now=database_now(), again=options["again"])
        except TransientError as error:
            self.stderr.write(str(error))
        feed.refresh_from_db()
        runs = list(feed.runs.filter(pk__gt=newest).order_by("pk"))
        if options["json"]:
            document = {
                "state": feed.state,
                "error": feed.last_error or None,
                "runs": [run_report(run) for run in runs],
                "deliveries": [_delivery(row) for row in feed.deliveries.all()],
            }
            self.stdout.write(json.dumps(document, ensure_ascii=False))
        else:
            for run in runs:
                self.stdout.write(
                    f"{run.source}: {run.state}, {run.stored} stored, {run.duplicates} known {run.error}"
                )
        if feed.last_error:
            sys.exit(EXIT_FAILED)


def _delivery(row: FeedDelivery) -> dict[str, Any]:
    """A delivery of bills as the feed saw it."""
    return {
        "report": row.report,
        "billing_period": f"{row.billing_period:%Y-%m}",
        "delivered_at": iso(row.modified),
        "state": row.state,
        "error": row.error or None,
    }
