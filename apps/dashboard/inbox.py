"""What the pages of recommendations show beside the rows: figures, choices of the filters, looks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, time, timedelta
from decimal import Decimal
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from apps.accounts.models import Organisation
from apps.accounts.roles import Action, who_may
from apps.accounts.selectors import member_list, team_list
from apps.billing.selectors.bill_days import bill_days
from apps.dashboard import format as fmt
from apps.dashboard.words import lang
from apps.recommendations.kinds import kind_for, kinds
from apps.recommendations.models import (
    Effort,
    InboxLook,
    RealisedSaving,
    Recommendation,
    RecommendationState,
)
from apps.recommendations.selectors.inbox import HOLDING, realised_sums, recommendation_list
from apps.recommendations.selectors.standing import Standing
from apps.recommendations.services.commitments_rows import LEAST_HOURS
from finops.engine.alternatives import Total

ALL = "all"
# Looks run every few minutes and ask again at least once a day where prices move.
LATE = timedelta(hours=26)
LOOKBACK, LEAST = timedelta(days=30), timedelta(hours=LEAST_HOURS)
State = RecommendationState


def figures(organisation: Organisation, found: Standing, now: datetime) -> list[dict[str, str]]:
    """The strip of key figures: what waits, what was accepted, what bills measured."""
    held = recommendation_list(organisation).filter(state__in=HOLDING, claim_end__gt=now)
    promised: dict[str, Decimal] = {}
    for row in held:
        promised[row.currency] = promised.get(row.currency, Decimal(0)) + row.monthly_saving
    measured = realised_sums(organisation)
    months = sum(count for _p, _s, count in measured.values())
    return [
        {
            "label": _("Open, a month"),
            "value": _sums({c: t.expected for c, t in found.totals.items()}),
            "note": _spans(found.totals),
        },
        {
            "label": _("Accepted, a month"),
            "value": _sums(promised),
            "note": ngettext(
                "%(n)s recommendation, as promised", "%(n)s recommendations, as promised", len(held)
            )
            % {"n": len(held)},
        },
        {
            "label": _("Saved, measured on the bill"),
            "value": _sums({c: saved for c, (_promised, saved, _n) in measured.items()}) if months else "—",
            "note": (
                ngettext("%(n)s closed month; promised %(x)s", "%(n)s closed months; promised %(x)s", months)
                % {"n": months, "x": _sums({c: p for c, (p, _saved, _n) in measured.items()})}
                if months
                else _("no closed bill of an accepted one yet")
            ),
        },
    ]


def _sums(amounts: dict[str, Decimal]) -> str:
    return _(" and ").join(fmt.money(x, currency) for currency, x in sorted(amounts.items())) or "—"


def _spans(totals: Any) -> str:
    found: Iterable[tuple[str, Total]] = totals.items()
    spans = [
        f"{currency} {fmt.span(one.low, one.high, lang(), decimals=0 if abs(one.expected) >= 100 else 2)}"
        for currency, one in found
    ]
    return _("%(spans)s · 90 %% interval") % {"spans": ", ".join(spans)} if spans else _("nothing waits")


def choices(organisation: Organisation, given: dict[str, str]) -> list[dict[str, Any]]:
    """The selects of the filter bar: name, label, options of (value, word, chosen)."""
    anyone = [("", _("All"))]
    return [
        _select("state", _("State"), [*State.choices, (ALL, _("All"))], given),
        _select("kind", _("Kind"), anyone + [(kind.name, str(kind.title)) for kind in kinds()], given),
        _select(
            "team",
            _("Team"),
            anyone + [(team.slug, team.name) for team in team_list(organisation)] + [("none", _("none"))],
            given,
        ),
        _select(
            "owner",
            _("Owner"),
            anyone
            + [(one.user.email, one.user.get_full_name()) for one in member_list(organisation)]
            + [("none", _("none"))],
            given,
        ),
        _select("effort", _("Effort"), anyone + list(Effort.choices), given),
    ]


def _select(
    name: str, label: str, options: Sequence[tuple[Any, Any]], given: dict[str, str]
) -> dict[str, Any]:
    chosen = [(str(value), str(word), str(value) == given[name]) for value, word in options]
    return {"name": name, "label": label, "options": chosen}


def bills_end(organisation: Organisation, now: datetime) -> datetime | None:
    """Start of the newest day with a bill, where the bills end too long ago to advise on commitments for
    today; None where they reach into the look-back, or where there are none.
    """
    days = bill_days(organisation, at=now)
    if days is None:
        return None
    end = datetime.combine(days.end, time(), UTC)
    return end - timedelta(days=1) if end < now - LOOKBACK + LEAST else None


def looks(organisation: Organisation, now: datetime) -> list[dict[str, Any]]:
    """When each kind was last looked for, what it saw, and whether that is late."""
    known = {kind.name for kind in kinds()}
    return [
        {
            "kind": str(kind_for(look.kind).title),
            "at": look.at,
            "late": now - look.at > LATE,
            "looked": look.looked,
            "found": look.found,
            "not_judged": ", ".join(str(one["name"]) for one in look.problems),
        }
        for look in InboxLook.objects.filter(organisation=organisation, kind__in=known)
    ]


def titles_of(organisation: Organisation, rows: Iterable[Recommendation], found: Standing) -> dict[int, str]:
    """Titles of everything that the rows name: alternatives and what holds their hours."""
    wanted: set[int] = set()
    for row in rows:
        wanted.update(found.alternatives.get(row.pk, ()))
        wanted.update({found.held_by[row.pk]} if row.pk in found.held_by else ())
        wanted.update({row.follows_id} if row.follows_id else ())
    return {
        row.pk: kind_for(row.kind).wording(row.document, lang()).title
        for row in recommendation_list(organisation).filter(pk__in=wanted)
    }


def closed_months(rows: Sequence[RealisedSaving]) -> dict[str, Any] | None:
    """Promised and saved over the months whose bill is closed; None without one."""
    closed = [row for row in rows if row.complete and row.saving is not None]
    if not closed:
        return None
    return {
        "months": len(closed),
        "promised": fmt.money(sum((row.promised for row in closed), Decimal(0)), closed[0].currency),
        "saved": fmt.money(sum((row.saving or Decimal(0) for row in closed), Decimal(0)), closed[0].currency),
    }


def roles_word(action: Action) -> str:
    """The roles that hold an action, for the sentence of who may decide."""
    return _(" or ").join(str(role.label).lower() for role in who_may(action))


def possible(row: Recommendation, now: datetime) -> dict[str, bool]:
    """Which decisions the state allows."""
    over = row.claim_end <= now
    waits = row.state in {State.OPEN, State.SNOOZED}
    return {
        "accept": waits and not over,
        "snooze": waits,
        "dismiss": waits,
        "done": row.state == State.ACCEPTED,
        "reopen": row.state not in {State.OPEN, State.EXPIRED} and not over and row.gone_at is None,
    }
