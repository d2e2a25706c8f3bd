"""`collect_metrics cloudwatch|prometheus`: metrics of what the bill names, straight from where they are."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser
from django.utils import timezone
from django.utils.translation import gettext as _

from apps.recommendations.management.verb import Verb, decimal, organisation_named
from apps.waste.services.advice import billed_resources
from apps.waste.services.loading import cloudwatch_collect, prometheus_cluster, prometheus_nodes
from finops.engine.workload import WorkloadError
from finops.providers.aws.session import Access
from finops.providers.base import ProviderError
from finops.verbs import error_document

EXIT_REFUSED = 3


class Command(Verb):
    """Instances, volumes and databases of a region from CloudWatch; nodes or a cluster from Prometheus."""

    help = "Collect metrics from CloudWatch or Prometheus."

    def add_arguments(self, parser: CommandParser) -> None:
        """Where from."""
        parser.set_defaults(provider="aws")
        parser.add_argument("source", choices=["cloudwatch", "prometheus"])
        parser.add_argument("--region", default="", help=_("region whose resources are measured"))
        parser.add_argument("--role", default="", help=_("role to take"))
        parser.add_argument("--endpoint-url", default="", help=_("another address of the service"))
        parser.add_argument("--url", default="", help=_("address of the Prometheus server"))
        parser.add_argument("--label", default="instance_id", help=_("label that holds the instance id"))
        parser.add_argument("--cluster", default="", help=_("name of a Kubernetes cluster: its workloads"))
        parser.add_argument("--core-hour", type=decimal, help=_("price of a core for an hour"))
        parser.add_argument("--gib-hour", type=decimal, help=_("price of a GiB for an hour"))
        parser.add_argument("--currency", default="", help=_("currency of these prices"))
        # In a file, since others of the machine see arguments.
        parser.add_argument("--token-file", default="", help=_("file that holds the token of Prometheus"))
        parser.add_argument("--days", type=int, default=14, help=_("14 to 30"))
        parser.add_argument("--json", action="store_true", help=_("one JSON document on standard output"))
        parser.add_argument("--organisation", default="", help=_("slug of the organisation"))

    def answer(self, options: dict[str, Any]) -> dict[str, Any]:
        """The run."""
        try:
            return {"runs": [self.collect(options).document()]}
        except ProviderError as error:
            if options["json"]:
                self.document(error_document(str(error), "source"))
            self.stderr.write(str(error))
            sys.exit(EXIT_REFUSED)

    def collect(self, options: dict[str, Any]) -> Any:
        """Ask the source. Raises WorkloadError for what is missing."""
        organisation, now = organisation_named(options["organisation"]), timezone.now()
        days = options["days"]
        if not 1 <= days <= 30:
            raise WorkloadError("days", _("Between 1 and %(most)d.") % {"most": 30})
        if options["source"] == "cloudwatch":
            if not options["region"]:
                raise WorkloadError("region", _("Name the region."))
            return cloudwatch_collect(
                organisation=organisation, region=options["region"], now=now, days=days,
                resources=billed_resources(organisation, options["region"], now),
                access=Access(options["role"], "", options["endpoint_url"]),
            )  # fmt: skip
        if not options["url"]:
            raise WorkloadError("url", _("Name the address of the Prometheus server."))
        token = _token(options["token_file"])
        given = {
            "organisation": organisation,
            "url": options["url"],
            "now": now,
            "days": days,
            "token": token,
        }
        if not options["cluster"]:
            return prometheus_nodes(**given, label=options["label"])
        prices = (options["core_hour"], options["gib_hour"])
        if any(price is not None for price in prices) and not options["currency"]:
            raise WorkloadError("currency", _("A price needs its currency."))
        return prometheus_cluster(
            **given, cluster=options["cluster"], core_hour=prices[0], gib_hour=prices[1],
            currency=options["currency"].upper(),
        )  # fmt: skip

    def show(self, document: dict[str, Any]) -> None:
        """A row."""
        self.table(
            [_("source"), _("kind"), _("read"), _("stored")],
            [[one["source"], one["kind"], one["rows_read"], one["stored"]] for one in document["runs"]],
        )


def _token(path: str) -> str:
    if not path:
        return ""
    try:
        return Path(path).read_text(encoding="utf-8").strip()
    except OSError as error:
        raise WorkloadError(
            "token_file", _("It cannot be read: %(why)s") % {"why": error.strerror}
        ) from error
