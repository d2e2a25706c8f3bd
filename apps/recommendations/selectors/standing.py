"""Which recommendations exclude each other, and what the best of them are worth together."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal, localcontext

from django.utils import timezone

from apps.accounts.models import Organisation
from apps.recommendations.kinds import kind_for
from apps.recommendations.models import Recommendation
from apps.recommendations.selectors.inbox import HOLDING, WAITING, claiming, recommendation_list
from finops.engine.alternatives import Amount, Claim, Total, best_set, components, conflict_graph, total
from finops.frames.money import EXACT

MONTH = timedelta(hours=730)


@dataclass(frozen=True, slots=True)
class Standing:
    """What waits in the inbox of an organisation.

    `counted`: ids of the best set without conflicts; `alternatives`: for each open id those that claim the
    same; `held_by`: the accepted or done row that has an open one's hours; `mixed`: ids of groups of
    alternatives in several currencies, which cannot be compared and are in no total. `totals`: per month, by
    currency.
    """

    rows: tuple[Recommendation, ...] = ()
    counted: frozenset[int] = frozenset()
    alternatives: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    held_by: Mapping[int, int] = field(default_factory=dict)
    mixed: frozenset[int] = frozenset()
    totals: Mapping[str, Total] = field(default_factory=dict)


def claim_of(row: Recommendation) -> Claim:
    """What the row uses up; a row that claims nothing excludes nothing."""
    return Claim(frozenset(row.claims), row.claim_start, row.claim_end)


def monthly(row: Recommendation) -> Amount:
    """The saving a month with its interval and scenarios: those of the claim period, scaled."""
    with localcontext(EXACT):
        if row.saving:
            scale = row.monthly_saving / row.saving
        else:
            scale = Decimal(MONTH / (row.claim_end - row.claim_start))
        ends = (row.saving_low * scale, row.saving_high * scale)
        return Amount(
            min(*ends, row.monthly_saving),
            row.monthly_saving,
            max(*ends, row.monthly_saving),
            row.scenario_set,
            tuple(value * scale for value in row.scenarios),
        )


def standing(
    organisation: Organisation, among: Collection[int] | None = None, *, now: datetime | None = None
) -> Standing:
    """How the open rows of an organisation stand to each other; `among`: ids that the totals are limited to.

    Alternatives are looked for in all open rows whatever `among` is: a filter must not hide that two rows
    claim the same hours. The rows come without their documents.
    """
    every = recommendation_list(organisation).defer("document", "evidence", "counterfactual")
    open_ = list(every.filter(state__in=WAITING))
    first = min((row.claim_start for row in open_), default=None)
    at = now or timezone.now()
    held = every.filter(claiming(at), claim_end__gt=first) if first else ()
    rows = [*open_, *held]
    graph = conflict_graph([claim_of(row) for row in rows])
    place = {row.pk: i for i, row in enumerate(rows)}
    alternatives: dict[int, tuple[int, ...]] = {}
    held_by: dict[int, int] = {}
    for row in open_:
        near = [rows[i] for i in sorted(graph[place[row.pk]])]
        alternatives[row.pk] = tuple(one.pk for one in near if one.state in WAITING)
        former = row.follows_id if kind_for(row.kind).replaces else None
        holders = [one.pk for one in near if one.state in HOLDING and one.pk != former]
        if holders:
            held_by[row.pk] = holders[0]
    wanted = None if among is None else set(among)
    counted, mixed = _counted(open_, alternatives, held_by, wanted)
    sums: dict[str, list[Amount]] = defaultdict(list)
    for row in open_:
        if row.pk in counted:
            sums[row.currency].append(monthly(row))
    return Standing(
        rows=tuple(open_),
        counted=frozenset(counted),
        alternatives=alternatives,
        held_by=held_by,
        mixed=frozenset(mixed),
        totals={currency: total(parts) for currency, parts in sorted(sums.items())},
    )


def _counted(
    rows: Sequence[Recommendation],
    alternatives: Mapping[int, tuple[int, ...]],
    held_by: Mapping[int, int],
    wanted: set[int] | None,
) -> tuple[set[int], set[int]]:
    """The best set of those that are free and wanted, and those that cannot be compared."""
    free = {row.pk: row for row in rows if row.pk not in held_by and (wanted is None or row.pk in wanted)}
    graph = {pk: set(alternatives[pk]) & free.keys() for pk in free}
    mixed: set[int] = set()
    for group in components(graph):
        if len({free[pk].currency for pk in group}) > 1:
            mixed.update(group)
    weights = {pk: row.monthly_saving for pk, row in free.items() if pk not in mixed}
    return best_set(weights, {pk: graph[pk] for pk in weights}), mixed
