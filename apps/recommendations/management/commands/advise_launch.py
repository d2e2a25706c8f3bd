"""`advise_launch`: when, where and on what to run, with the proof."""

from __future__ import annotations

from argparse import BooleanOptionalAction
from collections.abc import Mapping
from typing import Any

from django.core.management.base import CommandParser
from django.utils.translation import gettext as _

from apps.recommendations.management.verb import Verb, moment, names, organisation_named
from apps.recommendations.services import advise_launch
from apps.workloads.selectors import workload_find, workload_question
from finops.engine.workload import WorkloadError

FIELDS = (
    "hours", "types", "min_vcpu", "min_memory_gib", "gpu", "gpus", "provider", "regions", "zones",
    "home_zone", "count", "product", "earliest", "slack_hours", "deadline", "interruptible", "splittable",
    "checkpoint_minutes", "restart_minutes", "data_gib", "data_region", "discount_pct", "hazard_per_hour",
    "at", "repeat", "done_by", "timezone",
)  # fmt: skip


class Command(Verb):
    """Ranked plans with costs, intervals and reasons; `now` means that no window is worth waiting for."""

    help = "Advise when, where and on what to run a workload."

    def add_arguments(self, parser: CommandParser) -> None:
        """The workload."""
        super().add_arguments(parser)
        parser.set_defaults(provider=None)
        add_workload_arguments(parser)

    def answer(self, options: dict[str, Any]) -> dict[str, Any]:
        """The document of `advise_launch`, for the arguments or for a saved workload."""
        given = {name: options[name] for name in FIELDS if options[name] is not None}
        if options["workload"] is None:
            _check_required(given)
            return advise_launch(**given)
        at = given.pop("at", None)
        if given:
            raise WorkloadError(
                next(iter(given)), _("The saved workload says this. Leave it out, or name no workload.")
            )
        organisation = organisation_named(options["organisation"])
        saved = workload_find(organisation, options["workload"])
        return advise_launch(**workload_question(saved), at=at, organisation=organisation)

    def show(self, document: dict[str, Any]) -> None:
        """The sentence, the plans, what flexibility is worth."""
        self.stdout.write(document["sentence"])
        self.stdout.write("")
        heads = [
            "#",
            _("start"),
            _("zone"),
            _("type"),
            _("market"),
            _("cost"),
            _("low"),
            _("high"),
            "%",
            _("why"),
        ]
        self.table(heads, [self._row(plan) for plan in document["plans"]])
        for one in document["excluded"]:
            place = " ".join(part for part in (one["type"], one["zone"] or one["region"]) if part)
            self.stdout.write(_("Not used: %(what)s, %(why)s") % {"what": place, "why": one["reason"]})
        if document.get("schedule"):
            self.stdout.write(document["schedule"]["sentence"])
        for turn in document.get("occurrences", ()):
            self.stdout.write(f"{turn['day']}: {turn['sentence']}")
        test = document["backtest"]
        if test["decisions"]:
            told = _(
                "Back-test: saved %(saving).1f %% on average in %(n)d decisions; %(lost).1f %% lost money"
            )
            self.stdout.write(
                told
                % {
                    "saving": test["realised_saving_pct"],
                    "n": test["decisions"],
                    "lost": test["lost_share"] * 100,
                }
            )

    @staticmethod
    def _row(plan: dict[str, Any]) -> list[Any]:
        saving = plan["saving_vs_home_pct"]
        amounts = [
            None if plan[k] is None else f"{float(plan[k]):.4f}" for k in ("cost", "cost_low", "cost_high")
        ]
        return [
            plan["rank"],
            plan["start"],
            plan["zone_name"],
            plan["type"],
            plan["market"],
            *amounts,
            None if saving is None else f"{saving:.1f}",
            plan["reason"],
        ]


def _check_required(given: Mapping[str, Any]) -> None:
    """Say what is missing; argparse cannot, as a saved workload stands for all of it."""
    for name in ("hours", "regions", "product"):
        if name not in given:
            raise WorkloadError(name, _("Give this, or name a saved workload with --workload."))


def add_workload_arguments(parser: CommandParser) -> None:
    """The fields of a workload, as in docs/commands.md; what is not given is the engine's default."""
    parser.add_argument("--workload", metavar="NAME_OR_ID", help=_("a saved workload, instead of all below"))
    parser.add_argument("--organisation", default="", help=_("its slug; default: the first one"))
    parser.add_argument("--hours", type=float, help=_("hours of work"))
    parser.add_argument("--types", type=names, help=_("instance types; the first is what runs today"))
    parser.add_argument("--min-vcpu", type=int)
    parser.add_argument("--min-memory-gib", type=float)
    parser.add_argument("--gpu", help=_("name of the GPU, for example V100"))
    parser.add_argument("--gpus", type=int)
    parser.add_argument("--regions", type=names)
    parser.add_argument("--zones", type=names, help=_("zone names or ids; default: all of the regions"))
    parser.add_argument("--home-zone", help=_("where it runs today"))
    parser.add_argument("--count", type=int)
    parser.add_argument("--product")
    parser.add_argument("--earliest", type=moment)
    parser.add_argument("--slack-hours", type=float, help=_("how long the start may wait"))
    parser.add_argument("--deadline", type=moment)
    parser.add_argument("--interruptible", action=BooleanOptionalAction)
    parser.add_argument("--splittable", action="store_true", default=None)
    parser.add_argument("--checkpoint-minutes", type=float)
    parser.add_argument("--restart-minutes", type=float)
    parser.add_argument("--data-gib", type=float)
    parser.add_argument("--data-region")
    parser.add_argument("--discount-pct", type=float, help=_("negotiated, on-demand only"))
    parser.add_argument("--repeat", help=_("daily or weekdays like mon-fri: advise a fixed schedule too"))
    parser.add_argument("--done-by", help=_("local time at which repeating work must be done, 08:00"))
    parser.add_argument("--timezone", help=_("IANA zone of --done-by, for example Europe/Berlin"))
    parser.add_argument("--hazard-per-hour", type=float, help=_("measured interruptions an hour"))
