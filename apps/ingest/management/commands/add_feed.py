"""`add_feed NAME`: a feed of AWS Spot prices; with `--bucket` of bills, and `--storage` of storage files,
with `--offers` or `--commitments` of what is on offer or owned.
"""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import CommandError, CommandParser
from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _

from apps.ingest.models import Feed
from apps.ingest.services.bill_feeds import bill_feed_create
from apps.ingest.services.commitment_feeds import commitment_feed_create
from apps.ingest.services.live import feed_create
from apps.ingest.services.offer_feeds import offer_feed_create
from apps.ingest.services.storage_feeds import storage_feed_create
from finops.verbs import JsonCommand

MINUTES_AT_LEAST = 1
PRICES_EVERY, BILLS_EVERY, COMMITMENTS_EVERY = 15, 360, 60


def _list(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


class Command(JsonCommand):
    """The feed is due at once and then every so many minutes, as long as beat and a worker run."""

    help = "Add a feed of AWS Spot prices, of bills or of commitments on offer."

    def add_arguments(self, parser: CommandParser) -> None:
        """What to ask, how often, and as whom."""
        parser.add_argument("name")
        parser.add_argument(
            "--regions",
            default=[],
            type=_list,
            help=_("regions, separated by commas; of bills: the bucket's"),
        )
        parser.add_argument("--types", default=[], type=_list, help=_("instance types (default: all)"))
        parser.add_argument("--products", default=[], type=_list, help=_("products (default: all)"))
        parser.add_argument(
            "--every",
            type=int,
            metavar="MINUTES",
            help=_("minutes between two questions (default: 15, of bills 360, of offers 60)"),
        )
        parser.add_argument(
            "--offers",
            action="store_true",
            help=_("a feed of Reserved Instances on offer, second-hand and new"),
        )
        parser.add_argument(
            "--commitments",
            action="store_true",
            help=_("a feed of own Reserved Instances and savings plans"),
        )
        parser.add_argument(
            "--filter",
            action="append",
            default=[],
            metavar="NAME=VALUE",
            help=_("of offers: a filter of the provider's question, more than once for several"),
        )
        parser.add_argument("--bucket", default="", help=_("bucket of the exports: a feed of bills"))
        parser.add_argument(
            "--storage",
            action="store_true",
            help=_("the bucket holds inventories, access logs and reports about storage"),
        )
        parser.add_argument("--prefix", default="", help=_("prefix of the exports in the bucket"))
        parser.add_argument(
            "--cost-explorer",
            action="store_true",
            help=_("daily totals until the first export arrives; each request costs money"),
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
        every = options["every"] or self._usual(options)
        if not options["regions"] or every < MINUTES_AT_LEAST:
            raise CommandError(
                _("Name at least one region, and at least one minute between two questions."), returncode=2
            )
        if sum(bool(options[name]) for name in ("offers", "bucket", "commitments")) > 1:
            raise CommandError(
                _("A feed is of one kind: name one of --bucket, --offers and --commitments."), returncode=2
            )
        if options["storage"] and (not options["bucket"] or options["cost_explorer"]):
            raise CommandError(_("A feed of storage needs --bucket and asks no Cost Explorer."), returncode=2)
        of_bucket = self._storage if options["storage"] else self._bills
        make = of_bucket if options["bucket"] else self._offers if options["offers"] else self._prices
        make = self._commitments if options["commitments"] else make
        try:
            with transaction.atomic():
                feed = make(options, timedelta(minutes=every))
        except IntegrityError as error:
            raise CommandError(_("There is a feed of this name already."), returncode=2) from error
        except ValidationError as error:
            told = "; ".join(f"--{name}: {' '.join(m)}" for name, m in error.message_dict.items())
            raise CommandError(told, returncode=2) from error
        if options["json"]:
            document = {"id": feed.pk, "name": feed.name, "kind": feed.kind, "regions": feed.regions}
            self.stdout.write(json.dumps(document))
        else:
            self.stdout.write(
                _("Feed %(name)s added; check its rights with check_permissions.") % {"name": feed.name}
            )

    @staticmethod
    def _usual(options: dict[str, Any]) -> int:
        if options["offers"] or options["commitments"]:
            return COMMITMENTS_EVERY
        return BILLS_EVERY if options["bucket"] else PRICES_EVERY

    def _commitments(self, options: dict[str, Any], interval: timedelta) -> Feed:
        return commitment_feed_create(
            name=options["name"],
            regions=options["regions"],
            interval=interval,
            role_arn=options["role"],
            external_id=options["external_id"],
            account=options["account"],
        )

    def _prices(self, options: dict[str, Any], interval: timedelta) -> Feed:
        return feed_create(
            name=options["name"],
            regions=options["regions"],
            interval=interval,
            instance_types=options["types"],
            products=options["products"],
            role_arn=options["role"],
            external_id=options["external_id"],
            account=options["account"],
        )

    def _offers(self, options: dict[str, Any], interval: timedelta) -> Feed:
        filters: dict[str, list[str]] = {}
        for text in options["filter"]:
            name, _equals, value = text.partition("=")
            filters.setdefault(name.strip(), []).append(value.strip())
        return offer_feed_create(
            name=options["name"],
            regions=options["regions"],
            interval=interval,
            instance_types=options["types"],
            products=options["products"],
            filters=filters,
            role_arn=options["role"],
            external_id=options["external_id"],
            account=options["account"],
        )

    def _storage(self, options: dict[str, Any], interval: timedelta) -> Feed:
        if len(options["regions"]) != 1:
            raise CommandError(_("A bucket lies in one region: name that one."), returncode=2)
        return storage_feed_create(
            name=options["name"],
            bucket=options["bucket"],
            prefix=options["prefix"],
            region=options["regions"][0],
            interval=interval,
            role_arn=options["role"],
            external_id=options["external_id"],
            account=options["account"],
        )

    def _bills(self, options: dict[str, Any], interval: timedelta) -> Feed:
        if len(options["regions"]) != 1:
            raise CommandError(_("A bucket lies in one region: name that one."), returncode=2)
        return bill_feed_create(
            name=options["name"],
            bucket=options["bucket"],
            prefix=options["prefix"],
            region=options["regions"][0],
            interval=interval,
            role_arn=options["role"],
            external_id=options["external_id"],
            account=options["account"],
            cost_explorer=options["cost_explorer"],
        )
