"""What a commitment saved: the hours that it paid for at the on-demand prices fixed at acceptance, less what
the bill shows for it, amortised, unused hours included.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from django.utils.translation import gettext_noop as noop

from apps.accounts.models import Organisation
from apps.ingest.selectors import current_snapshots
from apps.recommendations.kinds import RealisedMonth
from apps.recommendations.models import Recommendation
from apps.recommendations.selectors.inbox import HOLDING
from apps.recommendations.services.bill_months import (
    CommittedUse,
    commitments_before,
    committed_use,
    month_state,
)
from apps.recommendations.services.realised import NO_BILL, claim_months

NOT_BOUGHT = noop("No commitment for these instance types has come onto the bill since acceptance.")
NO_LIST = noop("A commitment paid for an instance type whose on-demand price was not fixed at acceptance.")
SHARED = noop(
    "Several accepted recommendations could have brought this commitment; an approved purchase names its own."
)
NO_COST = noop("Lines of the commitment have no effective cost.")
OTHER_CURRENCY = noop("The bill is in another currency than the recommendation.")


def commitment_counterfactual(
    row: Recommendation,
    *,
    on_demand: Mapping[str, str],
    moment: datetime,
    commitments: Collection[str] = (),
) -> dict[str, Any]:
    """The basis that `commitment_months` reads. `on_demand`: price of an hour by instance type, as texts.

    `commitments`: ids on the bill where they are known already; else those that the row's purchases read
    back, and without any, every commitment for these types that the bills before `moment` do not name.
    """
    known = () if commitments else commitments_before(
        moment, organisation=row.organisation, snapshots=current_snapshots()
    )  # fmt: skip
    return {
        "on_demand": dict(on_demand),
        "commitments": sorted(commitments),
        "known_before": sorted(known),
    }


def commitment_months(row: Recommendation, organisation: Organisation, now: datetime) -> list[RealisedMonth]:
    """The months of an accepted row whose counterfactual was made by `commitment_counterfactual`."""
    basis = (row.counterfactual or {})["basis"]
    snapshots = current_snapshots()
    evidence = {"snapshots": {table: str(number) for table, number in sorted(snapshots.items())}}
    months = list(claim_months(row, now))
    if not months:
        return []
    uses = committed_use(
        start=months[0][1], end=months[-1][2], organisation=organisation, snapshots=snapshots
    )
    named, candidates = _bought(row, uses)
    theirs, possible = _others(row, uses)
    mine, shared = named or candidates - theirs - possible, (candidates - theirs) & possible
    by_month: dict[date, list[CommittedUse]] = defaultdict(list)
    for use in uses:
        if use.id in mine:
            by_month[use.month].append(use)
    found = []
    for month, _low, _high in months:
        state = month_state(month, organisation=organisation, now=now)
        if not state.delivered:
            found.append(RealisedMonth(month, None, None, reason=NO_BILL))
            continue
        if any(use.month == month and use.id in shared for use in uses):
            found.append(RealisedMonth(month, None, None, reason=SHARED, evidence=evidence))
            continue
        would, did, reason = _sums(by_month[month], basis, row.currency)
        closed = state.closed and not reason
        found.append(RealisedMonth(month, would, did, closed, reason, evidence))
    return found


def _bought(row: Recommendation, uses: Sequence[CommittedUse]) -> tuple[set[str], set[str]]:
    """Ids on the bill of the commitments that a row brought: those that its purchases read back or that were
    given at acceptance, and without any, all for its types that bills before acceptance did not name.
    """
    basis = (row.counterfactual or {}).get("basis") or {}
    known = {number for purchase in row.purchases.all() for number in purchase.reservations}
    known |= set(basis.get("commitments") or ())
    if known:
        return {use.id for use in uses if use.id in known or use.id.rpartition("/")[2] in known}, set()
    types = (basis.get("on_demand") or {}).keys()
    return set(), {use.id for use in uses if use.instance_type in types} - set(
        basis.get("known_before") or ()
    )


def _others(row: Recommendation, uses: Sequence[CommittedUse]) -> tuple[set[str], set[str]]:
    """Ids that other accepted recommendations of the kind brought, and those that they could have brought."""
    rows = Recommendation.objects.filter(
        organisation=row.organisation_id, kind=row.kind, state__in=HOLDING, claim_end__gt=row.claim_start
    )
    brought: set[str] = set()
    possible: set[str] = set()
    for other in rows.exclude(pk=row.pk).prefetch_related("purchases"):
        named, candidates = _bought(other, uses)
        brought |= named
        possible |= candidates
    return brought, possible


def _sums(
    uses: Sequence[CommittedUse], basis: Mapping[str, Any], currency: str
) -> tuple[Decimal | None, Decimal | None, str]:
    """Counterfactual, actual, and the reason where they are not known."""
    if not uses:
        return None, None, NOT_BOUGHT
    if any(use.currency != currency for use in uses):
        return None, None, OTHER_CURRENCY
    if any(use.without_cost for use in uses):
        return None, None, NO_COST
    would = Decimal(0)
    for use in uses:
        if not use.hours:
            continue
        price = basis["on_demand"].get(use.instance_type)
        if price is None:
            return None, None, NO_LIST
        would += use.hours * Decimal(price)
    return would, sum((use.cost for use in uses), Decimal(0)), ""
