"""What launches of a team cost and may still cost in a month of UTC."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from decimal import Decimal
from typing import NamedTuple

from django.db.models import Exists, OuterRef, Q, Sum

from apps.accounts.models import Organisation, Team
from apps.launches.models import OPEN, OVER, Attempt, Launch, LaunchBudget, PlanState


class Standing(NamedTuple):
    """`spent`: known or, where it is not known yet, promised; `promised`: of launches that are not over."""

    spent: Decimal
    promised: Decimal


class Paid(NamedTuple):
    """What is known of a launch's cost: `amount` null where no attempt is priced, or in several currencies;
    of `ran` attempts with a machine `priced` have a price.
    """

    amount: Decimal | None
    currency: str
    priced: int
    ran: int

    @property
    def whole(self) -> bool:
        """Whether nothing is missing."""
        return self.ran > 0 and self.priced == self.ran


def paid_of(ran: Iterable[tuple[Decimal | None, str]], currency: str) -> Paid:
    """The sum over the attempts that ran, (paid, currency) each; `currency` is the plan's."""
    attempts = list(ran)
    priced = [(paid, code) for paid, code in attempts if paid is not None]
    codes = {code for _paid, code in priced}
    if len(codes) != 1:
        return Paid(None, currency, len(priced), len(attempts))
    return Paid(sum((paid for paid, _code in priced), Decimal(0)), codes.pop(), len(priced), len(attempts))


def worst_case(planned: Decimal | None, raised: Decimal | None) -> Decimal | None:
    """What a launch may cost: as it was planned, or as people raised it."""
    return max((one for one in (planned, raised) if one is not None), default=None)


def month_of(at: datetime) -> tuple[datetime, datetime]:
    """[first instant of the month, of the next one), UTC."""
    start = at.astimezone(UTC).replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    year, month = divmod(start.year * 12 + start.month, 12)
    return start, start.replace(year=year, month=month + 1)


def standing_of(
    organisation: Organisation,
    team: Team | None,
    *,
    at: datetime,
    currency: str,
    before: Launch | None = None,
) -> Standing:
    """Launches that are due in the month of `at`.

    What is not over counts with the worst case of its plan, as does what is over and not priced yet; what
    never had a machine costs nothing. Plans in another currency are not in it. `before`: this launch is left
    out, and of those that have not begun only the ones that are due earlier count, so that of several that do
    not fit together the first ones run. One that a worker has but has not called for has not begun.
    """
    start, end = month_of(at)
    rows = Launch.objects.filter(
        Q(plan__state__in=[PlanState.APPROVED, PlanState.DONE]) | Q(first_started_at__isnull=False),
        organisation=organisation,
        due_at__gte=start,
        due_at__lt=end,
        plan__currency=currency,
    )
    if team is not None:
        rows = rows.filter(plan__team=team)
    if before is not None:
        earlier = Q(due_at__lt=before.due_at) | Q(due_at=before.due_at, pk__lt=before.pk)
        called = Exists(Attempt.objects.filter(launch=OuterRef("pk"), state__in=OPEN))
        held = Q(first_started_at__isnull=False) | Q(called)
        rows = rows.exclude(pk=before.pk).filter(earlier | held)
    spent = promised = Decimal(0)
    for state, paid, high, count, gang, raised, started in rows.values_list(
        "state", "paid", "plan__cost_high", "plan__count", "plan__gang", "approved_high", "first_started_at"
    ):
        share = Decimal(0) if high is None else high / (1 if gang else count)
        share = max(share, raised or Decimal(0))
        if state not in OVER:
            promised += max(share, paid or Decimal(0))
        elif started is not None:
            spent += share if paid is None else paid
    return Standing(spent, promised)


def budgets_of(organisation: Organisation, team: Team | None) -> list[LaunchBudget]:
    """The budgets that hold for a team's launches: the organisation's and its own."""
    mine = Q(team__isnull=True) if team is None else Q(team__isnull=True) | Q(team=team)
    return list(LaunchBudget.objects.filter(mine, organisation=organisation).select_related("team"))


def machines_of(organisation: Organisation, target_id: int | None = None) -> int:
    """Machines that are there or may be: of an organisation, or of one of its targets."""
    rows = Attempt.objects.filter(launch__organisation=organisation, state__in=OPEN)
    if target_id is not None:
        rows = rows.filter(launch__plan__target_id=target_id)
    return int(rows.aggregate(machines=Sum("count"))["machines"] or 0)
