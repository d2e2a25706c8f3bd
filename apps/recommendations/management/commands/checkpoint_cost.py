"""`checkpoint_cost`: what checkpoints cost by class and keep time, and whether a claimed saving holds."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser
from django.utils import timezone
from django.utils.translation import gettext as _

from apps.recommendations.management.verb import Verb
from apps.recommendations.services.storage_checkpoints import CLAIMED_PCT, checkpoint_cost


class Command(Verb):
    """One checkpoint kept for some months, and the checkpoints of a run."""

    help = "Cost of checkpoints by storage class and keep time."

    def add_arguments(self, parser: CommandParser) -> None:
        """Size, keep time, reads, run."""
        super().add_arguments(parser)
        parser.add_argument("--gib", type=float, required=True, help=_("size of a checkpoint"))
        parser.add_argument("--objects", type=int, default=1, help=_("files of a checkpoint"))
        parser.add_argument("--keep-months", type=float, required=True)
        parser.add_argument("--reads-a-month", type=float, default=0.0, help=_("whole reads of a checkpoint"))
        parser.add_argument("--every-hours", type=float, default=1.0)
        parser.add_argument("--run-hours", type=float, default=240.0)
        parser.add_argument("--keep-last", type=int, default=3)
        parser.add_argument("--claimed-pct", type=float, default=CLAIMED_PCT)
        parser.add_argument("--region", default="us-east-1")

    def answer(self, options: dict[str, Any]) -> dict[str, Any]:
        """The document."""
        names = (
            "gib", "objects", "keep_months", "reads_a_month", "every_hours", "run_hours", "keep_last",
            "claimed_pct", "provider", "region",
        )  # fmt: skip
        at = options["at"] or timezone.now().replace(microsecond=0)
        return checkpoint_cost(at=at, **{name: options[name] for name in names})

    def show(self, document: dict[str, Any]) -> None:
        """The sentence, a row a class, a row a way of keeping."""
        self.stdout.write(document["sentence"])
        self.table(
            [_("class"), _("storage"), _("reads"), _("together"), _("saved %")],
            [
                [one["name"], one["storage"], one["reads"], one["total"], one["saving_pct"]]
                for one in document["classes"]
            ],
        )
        self.table(
            [_("kept"), _("class"), _("cost of the run"), _("saved %")],
            [[one["keep"], one["name"], one["cost"], one["saving_pct"]] for one in document["run"]["plans"]],
        )
