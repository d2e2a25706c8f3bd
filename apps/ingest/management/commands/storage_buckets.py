"""`storage_buckets`: what is listed, read and billed of each bucket, and whether listing and bill agree."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.utils import timezone
from django.utils.translation import gettext as _

from apps.accounts.models import Organisation
from apps.ingest.management.reference_command import iso_instant
from apps.storage.selectors.documents import buckets_document
from finops.verbs import JsonCommand


class Command(JsonCommand):
    """One bucket or all; a bucket that nobody tells of is not in the answer."""

    help = "Show which buckets are listed and whether the bill agrees."

    def add_arguments(self, parser: CommandParser) -> None:
        """Which bucket, when, for whom."""
        parser.add_argument("--bucket", default="", help=_("one bucket (default: all)"))
        parser.add_argument("--at", type=iso_instant, help=_("nothing later is looked at"))
        parser.add_argument("--organisation", default="", help=_("slug of the organisation"))
        parser.add_argument("--json", action="store_true", help=_("one JSON document on standard output"))

    def handle(self, *args: Any, **options: Any) -> None:
        """The document, or a sentence a bucket."""
        slug = options["organisation"]
        organisation = Organisation.objects.filter(slug=slug).first() if slug else Organisation.default()
        if organisation is None:
            raise CommandError(_("No organisation %(slug)s.") % {"slug": slug}, returncode=2)
        found = buckets_document(
            organisation=organisation, now=timezone.now(), bucket=options["bucket"], at=options["at"]
        )
        if options["json"]:
            self.document(found)
            return
        for bucket in found["buckets"]:
            self.stdout.write(f"{bucket['bucket']}: {bucket['reason'] or _('listing and bill agree')}")
