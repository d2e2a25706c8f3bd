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
from apps.recommendations.services.bill_months import (
    CommittedUse,
    commitments_before,
    committed_use,
    month_state,
)
from apps.recommendations.services.realised import NO_BILL, claim_months

NOT_BOUGHT = noop("No commitment for these instance types has come onto the bill since acceptance.")
NO_LIST = noop("A commitment paid for an instance type whose on-demand price was not fixed at acceptance.")
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

    `commitments`: ids on the bill where they are known already; else every commitment for these types that
    the bills before `moment` do not name counts as bought for this.
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
    mine = _bought(uses, basis)
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
        would, did, reason = _sums(by_month[month], basis, row.currency)
        closed = state.closed and not reason
        found.append(RealisedMonth(month, would, did, closed, reason, evidence))
    return found


def _bought(uses: Sequence[CommittedUse], basis: Mapping[str, Any]) -> set[str]:
    """Ids of the commitments that this recommendation brought."""
    if basis["commitments"]:
        return set(basis["commitments"])
    types = basis["on_demand"].keys()
    return {use.id for use in uses if use.instance_type in types} - set(basis["known_before"])


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
