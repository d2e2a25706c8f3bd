"""The kind `launch_window`: how it is worded, what is fixed at acceptance."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.utils import translation
from django.utils.translation import gettext as _

from apps.recommendations.kinds import Sentence
from apps.recommendations.wording import joined, moment, money, percent


def worded(document: Mapping[str, Any], language: str) -> Sentence:
    """The recommendation in the language asked for."""
    with translation.override(language):
        test = document["backtest"]
        where = document["zone_name"] or document["zone"]
        values = {
            "name": document["name"],
            "start": document["start"],
            "saving": percent(test["saving_pct"]),
            "low": percent(test["low"]),
            "high": percent(test["high"]),
            "n": test["decisions"],
            "where": where,
        }
        return Sentence(
            title=_("Start %(name)s at %(start)s") % values,
            text=joined(
                _("That hour saved %(saving)s on average in the back-test of %(n)d turns.") % values,
                _("90 %% interval %(low)s to %(high)s, against starting as soon as allowed.") % values,
            ),
            lines=_lines(document, where),
        )


def _lines(document: Mapping[str, Any], where: str) -> tuple[tuple[str, str], ...]:
    test = document["backtest"]
    upcoming = [moment(datetime.fromisoformat(start)) for start, _end in document["next"][:3]]
    currency = document["currency"]
    return (
        (_("Back-test"), _("%(n)d past turns, each decided on those before") % {"n": test["decisions"]}),
        (_("Turns that became dearer"), percent(test["lost_share"] * 100)),
        (_("Mean cost of a turn now"), money(float(document["cost_now"]), currency)),
        (_("Mean cost of a turn at the new start"), money(float(document["cost_after"]), currency)),
        (_("Where"), f"{document['type']}, {where}"),
        (_("Work"), _("%(hours)g h on %(count)d instances, %(turns)d turns in the period") % {
            "hours": document["hours"], "count": document["count"], "turns": document["turns"],
        }),
        (_("Next starts"), ", ".join(upcoming) or "—"),
    )  # fmt: skip
