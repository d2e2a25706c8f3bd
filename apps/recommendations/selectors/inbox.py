"""Reading recommendations of one organisation."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal

from django.db.models import Count, Prefetch, Q, QuerySet, Sum
from django.utils.translation import gettext as _

from apps.accounts.models import Organisation
from apps.accounts.selectors import member_list, team_list
from apps.recommendations.models import (
    RealisedSaving,
    Recommendation,
    RecommendationEvent,
    RecommendationState,
)
from finops.engine.workload import WorkloadError

# What still asks for a decision, and what claims its hours by one.
WAITING = (RecommendationState.OPEN,)
HOLDING = (RecommendationState.ACCEPTED, RecommendationState.DONE)
# Bills and feeds show within days what was carried out; from then on looks find what is left without it.
SETTLED = timedelta(days=7)
# Asks for rows without a team or an owner.
NOBODY = "none"


def claiming(now: datetime) -> Q:
    """Rows that have their hours: accepted, or carried out so lately that no look need know it yet."""
    return Q(state=RecommendationState.ACCEPTED) | Q(
        state=RecommendationState.DONE, stated_at__gt=now - SETTLED
    )


@dataclass(frozen=True, slots=True)
class InboxFilter:
    """What of the inbox is asked for; "" is all. `owner` is an e-mail address or "none", `team` a slug or
    "none".
    """

    kind: str = ""
    state: str = ""
    team: str = ""
    owner: str = ""
    effort: str = ""


def check_filter(organisation: Organisation, chosen: InboxFilter) -> None:
    """Raises WorkloadError for a team or owner that the organisation does not have."""
    for field, word, known in (
        ("team", chosen.team, [team.slug for team in team_list(organisation)]),
        ("owner", chosen.owner.lower(), [one.user.email for one in member_list(organisation)]),
    ):
        if word and word not in (*known, NOBODY):
            told = _("Not known: %(value)s. Known: %(known)s.")
            raise WorkloadError(field, told % {"value": word, "known": ", ".join([*sorted(known), NOBODY])})


def recommendation_list(
    organisation: Organisation, chosen: InboxFilter | None = None
) -> QuerySet[Recommendation]:
    """The organisation's rows, largest monthly saving first."""
    rows = Recommendation.objects.filter(organisation=organisation).select_related("owner", "team")
    if chosen is None:
        return rows
    if chosen.kind:
        rows = rows.filter(kind=chosen.kind)
    if chosen.state:
        rows = rows.filter(state=chosen.state)
    if chosen.effort:
        rows = rows.filter(effort=chosen.effort)
    if chosen.team:
        rows = rows.filter(team=None) if chosen.team == NOBODY else rows.filter(team__slug=chosen.team)
    if chosen.owner:
        rows = (
            rows.filter(owner=None)
            if chosen.owner == NOBODY
            else rows.filter(owner__email=chosen.owner.lower())
        )
    return rows


def recommendation_find(organisation: Organisation, pk: int) -> Recommendation | None:
    """One row with its history and what later bills say; None where the organisation has none of this id."""
    events = RecommendationEvent.objects.order_by("pk")
    months = RealisedSaving.objects.order_by("month")
    return (
        recommendation_list(organisation)
        .prefetch_related(Prefetch("events", events), Prefetch("realised", months))
        .filter(pk=pk)
        .first()
    )


def waiting_count(organisation: Organisation) -> int:
    """How many wait for a decision: the count beside the item of the navigation."""
    return Recommendation.objects.filter(organisation=organisation, state__in=WAITING).count()


def cited_by_recommendations() -> set[int]:
    """Snapshots of the lake in the evidence of rows that are not expired, and of what bills said later."""
    rows = Recommendation.objects.exclude(state=RecommendationState.EXPIRED)
    cited: set[int] = set()
    for found in (rows, RealisedSaving.objects.all()):
        snapshots = found.order_by().values_list("evidence__snapshots", flat=True).distinct()
        cited.update(int(snapshot) for one in snapshots if one for snapshot in one.values())
    return cited


def realised_sums(organisation: Organisation) -> dict[str, tuple[Decimal, Decimal, int]]:
    """Promised, saved and the number of months whose bill is closed, by currency."""
    rows = (
        RealisedSaving.objects.filter(recommendation__organisation=organisation, complete=True)
        .values("currency")
        .annotate(promised=Sum("promised"), saved=Sum("saving"), months=Count("pk"))
        .order_by("currency")
    )
    return {row["currency"]: (row["promised"], row["saved"], row["months"]) for row in rows}
