"""`advise_commitments`: which commitments to buy, and why the others are not."""

from __future__ import annotations

import re
from argparse import ArgumentTypeError
from typing import Any

from django.core.management.base import CommandParser
from django.utils.translation import gettext as _

from apps.accounts.models import Organisation
from apps.recommendations.management.verb import Verb, decimal, names
from apps.recommendations.services.commitments_advice import advise_commitments

_UNITS = {"y": 8760, "m": 730, "d": 24, "h": 1, "": 1}


def horizon(text: str) -> int:
    """`1y`, `36m`, `90d` or hours."""
    found = re.fullmatch(r"(\d{1,6})([ymdh]?)", text.strip())
    if found is None:
        raise ArgumentTypeError(_("not a time like 1y, 36m, 90d or 8760: %(text)s") % {"text": text})
    return int(found[1]) * _UNITS[found[2]]


class Command(Verb):
    """Use of the look-back after all that exists, against every offer and new term."""

    help = "Advise which commitments to buy."

    def add_arguments(self, parser: CommandParser) -> None:
        """Look-back, horizon, limits, what to consider."""
        super().add_arguments(parser)
        parser.add_argument("--lookback-days", type=int, default=30)
        parser.add_argument(
            "--horizon", type=horizon, default=8760, help=_("longest term: 1y (default), 36m, 90d or hours")
        )
        parser.add_argument("--max-upfront", type=decimal, help=_("limit of all that is paid at once"))
        parser.add_argument(
            "--max-loss-probability", type=float, help=_("limit of the share of scenarios that lose")
        )
        parser.add_argument("--kinds", type=names, default=[], help="second-hand,new,savings-plan")
        parser.add_argument(
            "--payments", type=names, default=[], help="all-upfront,partial-upfront,no-upfront"
        )
        parser.add_argument("--classes", type=names, default=[], help="standard,convertible")

    def answer(self, options: dict[str, Any]) -> dict[str, Any]:
        """The document."""
        return advise_commitments(
            lookback_days=options["lookback_days"],
            horizon_hours=options["horizon"],
            max_upfront=options["max_upfront"],
            max_loss_probability=options["max_loss_probability"],
            kinds=tuple(options["kinds"]),
            payments=tuple(options["payments"]),
            classes=tuple(options["classes"]),
            at=options["at"],
            organisation=Organisation.default(),
            provider=options["provider"],
        )

    def show(self, document: dict[str, Any]) -> None:
        """A row a pick, then the refusals."""
        self.table(
            [
                _("offer"),
                _("quantity"),
                _("paid once"),
                _("saving"),
                _("a month"),
                _("loss probability"),
                _("advised"),
            ],
            [
                [
                    one["offer"],
                    one["quantity"],
                    one["upfront"],
                    one["saving"],
                    one["monthly_saving"],
                    one["loss_probability"],
                    _("yes") if one["advised"] else None,
                ]
                for one in document["advice"]
            ],
        )
        if document["advice"]:
            self.stdout.write(document["total"]["rule"])
        for one in document["refused"]:
            self.stdout.write(f"{one['offer']}: {one['reason']}")
