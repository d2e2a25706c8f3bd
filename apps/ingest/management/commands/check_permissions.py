"""`check_permissions`: the IAM policy that the product needs, and whether AWS grants it."""

from __future__ import annotations

import json
import sys
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError, CommandParser
from django.utils import timezone
from django.utils.translation import gettext as _

from apps.ingest.models import Feed, FeedKind, FeedState
from apps.ingest.services.bucket_feeds import access_of, place_of
from apps.ingest.services.feeds import permissions_document
from finops.providers.aws.bill_bucket import BillPlace
from finops.providers.aws.bill_permissions import check_bills
from finops.providers.aws.bill_setup import HOME_REGION, read_policy
from finops.providers.aws.commitment_permissions import check_commitments, commitment_policy
from finops.providers.aws.permissions import check, policy
from finops.providers.aws.session import Access
from finops.providers.base import PermanentError
from finops.verbs import JsonCommand

EXIT_DENIED = 1


class Command(JsonCommand):
    """Asks AWS with DryRun, S3 and Organizations by reading: nothing is changed and nothing is stored."""

    help = "Print the IAM policy needed, or check that it is granted."

    def add_arguments(self, parser: CommandParser) -> None:
        """Without options the feeds say whom and where to ask."""
        parser.add_argument(
            "--print-policy", action="store_true", help=_("print the policy as JSON and stop")
        )
        parser.add_argument("--regions", default="", help=_("regions, separated by commas"))
        parser.add_argument("--role", default="", help=_("role to take first"))
        parser.add_argument("--external-id", default="", help=_("external id that the role asks for"))
        parser.add_argument("--bucket", default="", help=_("bucket of bills instead of prices"))
        parser.add_argument("--prefix", default="", help=_("prefix of the exports in the bucket"))
        parser.add_argument("--commitments", action="store_true", help=_("own commitments instead of prices"))
        parser.add_argument(
            "--pay", action="store_true", help=_("try Cost Explorer too: one request, which costs money")
        )
        parser.add_argument("--json", action="store_true", help=_("one JSON document on standard output"))

    def handle(self, *args: Any, **options: Any) -> None:
        """Exit code 1 when something needed is denied."""
        regions = [region.strip() for region in options["regions"].split(",") if region.strip()]
        if options["print_policy"]:
            self.stdout.write(json.dumps(self._policy(regions, options), indent=2))
            return
        asked = [] if options["bucket"] else self._questions(regions, options)
        owned = self._owned(asked if regions else None, options)
        asked = [] if regions and options["commitments"] else asked
        bills = self._bills(regions, options)
        if not asked and not bills and not owned:
            raise CommandError(
                _("No feed of AWS is set up: name --regions, and --role where one is taken."), returncode=2
            )
        account, findings = "", []
        for access, places in asked:
            who, found = check(access, regions=places)
            account = account or who
            findings += found
        for access, places in owned:
            who, found = check_commitments(access, regions=places)
            account = account or who
            findings += found
        paid = 0
        for access, place in bills:
            checked = check_bills(access, place, today=timezone.now().date(), pay=options["pay"])
            account = account or checked.account
            findings += checked.findings
            paid += checked.paid_requests
        denied = [finding for finding in findings if finding.needed and finding.verdict == "denied"]
        if options["json"]:
            self.stdout.write(json.dumps(permissions_document(account, findings, paid), ensure_ascii=False))
        else:
            for finding in findings:
                self.stdout.write(
                    " ".join(
                        filter(
                            None,
                            [finding.region, finding.action, finding.verdict, finding.dark, finding.reason],
                        )
                    )
                )
        if denied:
            sys.exit(EXIT_DENIED)

    def _questions(self, regions: list[str], options: dict[str, Any]) -> list[tuple[Access, list[str]]]:
        endpoint = settings.AWS_ENDPOINT_URL
        if regions:
            return [(Access(options["role"], options["external_id"], endpoint), regions)]
        feeds = Feed.objects.filter(provider="aws", kind=FeedKind.SPOT_PRICES).exclude(state=FeedState.OFF)
        return [(Access(feed.credentials, feed.external_id, endpoint), feed.regions) for feed in feeds]

    def _owned(
        self, named: list[tuple[Access, list[str]]] | None, options: dict[str, Any]
    ) -> list[tuple[Access, list[str]]]:
        """Whom to ask about own commitments: what was named, else the feeds."""
        if named is not None:
            return named if options["commitments"] else []
        endpoint = settings.AWS_ENDPOINT_URL
        feeds = Feed.objects.filter(provider="aws", kind=FeedKind.COMMITMENTS).exclude(state=FeedState.OFF)
        return [(Access(feed.credentials, feed.external_id, endpoint), feed.regions) for feed in feeds]

    def _policy(self, regions: list[str], options: dict[str, Any]) -> dict[str, Any]:
        if options["bucket"] and not options["role"]:
            return read_policy(options["bucket"], options["prefix"].strip("/"))
        if options["commitments"] and not options["role"]:
            return commitment_policy(regions=regions)
        return policy(regions=regions, take_role=options["role"])

    def _bills(self, regions: list[str], options: dict[str, Any]) -> list[tuple[Access, BillPlace]]:
        try:
            if options["bucket"]:
                access = Access(options["role"], options["external_id"], settings.AWS_ENDPOINT_URL)
                region = regions[0] if regions else HOME_REGION
                return [(access, BillPlace(options["bucket"], options["prefix"].strip("/"), region))]
        except PermanentError as error:
            raise CommandError(str(error), returncode=2) from error
        if regions:
            return []
        feeds = Feed.objects.filter(provider="aws", kind=FeedKind.BILLS).exclude(state=FeedState.OFF)
        return [(access_of(feed), place_of(feed)) for feed in feeds]
