"""`workloads [NAME_OR_ID]`: the saved workloads, or one with its next turns."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser
from django.utils import timezone
from django.utils.translation import gettext as _

from apps.ingest.selectors import current_snapshots
from apps.recommendations.management.verb import Verb, organisation_named
from apps.recommendations.services.document import evidence, iso
from apps.workloads.selectors import (
    workload_facts,
    workload_find,
    workload_list,
    workload_occurrences,
)

SIZES = ("min_vcpu", "min_memory_gib", "gpu", "gpus")


class Command(Verb):
    """Reads only; pages and REST write them."""

    help = "List the saved workloads, or show one with its next turns."

    def add_arguments(self, parser: CommandParser) -> None:
        """Which one, of which organisation."""
        super().add_arguments(parser)
        parser.add_argument("workload", nargs="?", metavar="NAME_OR_ID", help=_("default: all of them"))
        parser.add_argument("--organisation", default="", help=_("its slug; default: the first one"))

    def answer(self, options: dict[str, Any]) -> dict[str, Any]:
        """`{"workloads": […]}`, or `{"workload": {…}, "occurrences": […]}`."""
        now = options["at"] or timezone.now().replace(microsecond=0)
        organisation = organisation_named(options["organisation"])
        rests_on = {"evidence": evidence(current_snapshots(), now, later_prices=None)}
        if options["workload"] is None:
            return {"workloads": [workload_facts(one) for one in workload_list(organisation)], **rests_on}
        found = workload_find(organisation, options["workload"])
        turns = [
            {
                "day": turn.day.isoformat(),
                "earliest": iso(turn.earliest),
                "latest_start": iso(turn.latest_start),
                "due": iso(turn.due),
            }
            for turn in workload_occurrences(found, after=now)
        ]
        return {"workload": workload_facts(found), "occurrences": turns, **rests_on}

    def show(self, document: dict[str, Any]) -> None:
        """A row a workload; the turns of a single one."""
        found = document.get("workloads")
        rows = [document["workload"]] if found is None else found
        heads = ["id", _("name"), _("hours"), _("what"), _("regions"), _("repeats"), _("team")]
        self.table(heads, [_row(one) for one in rows])
        for turn in document.get("occurrences", ()):
            self.stdout.write(f"{turn['day']}: {turn['earliest']} - {turn['due']}")


def _row(one: dict[str, Any]) -> list[Any]:
    sizes = (f"{name}={one[name]}" for name in SIZES if one[name])
    what = ",".join(one["types"]) or " ".join(sizes)
    repeats = f"{one['repeat']} {one['done_by']} {one['timezone']}" if one["repeat"] else None
    return [
        one["id"],
        one["name"],
        f"{one['hours']:g}",
        f"{one['count']} x {what}",
        ",".join(one["regions"]),
        repeats,
        one["team"],
    ]
