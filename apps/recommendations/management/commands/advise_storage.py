"""`advise_storage`: where bytes should lie, or that they should stay, or why nothing can be said."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser
from django.utils.translation import gettext as _

from apps.recommendations.management.verb import Verb, moment, organisation_named
from apps.recommendations.services.storage_advice import advise_storage


class Command(Verb):
    """Every group (bucket, prefix, class, state) with its policy."""

    help = "Advise storage classes and lifecycle rules."

    def add_arguments(self, parser: CommandParser) -> None:
        """Which bucket."""
        # Of every provider: a bucket's name says enough.
        parser.set_defaults(provider="aws")
        parser.add_argument("--at", type=moment, help=_("decision time; nothing later is looked at"))
        parser.add_argument("--json", action="store_true", help=_("one JSON document on standard output"))
        parser.add_argument("--bucket", default="", help=_("one bucket only"))
        parser.add_argument("--organisation", default="", help=_("slug of the organisation"))

    def answer(self, options: dict[str, Any]) -> dict[str, Any]:
        """The document."""
        return advise_storage(
            organisation=organisation_named(options["organisation"]),
            bucket=options["bucket"] or None,
            at=options["at"],
        )

    def show(self, document: dict[str, Any]) -> None:
        """A row a group, then buckets without advice."""
        self.table(
            [
                _("bucket"), _("prefix"), _("class"), _("objects"), _("GiB"), _("a month"), _("verdict"),
                _("policy"), _("once"), _("saving in 12 months"), _("paid back"),
            ],
            [
                [
                    one["bucket"],
                    one["prefix"] or "—",
                    one["class"],
                    one["state_words"],
                    one["gib"],
                    one["current_monthly"],
                    one["verdict"],
                    one["policy"],
                    one["one_time"],
                    one["saving"],
                    one["break_even_month"],
                ]
                for one in document["groups"]
            ],
        )  # fmt: skip
        for one in document["buckets"]:
            if one["blocked"]:
                self.stdout.write(f"{one['bucket']}: {one['reason']}")
