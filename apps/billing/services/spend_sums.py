"""Sums that questions about spend read: made after an import, forgotten when their lines are gone."""

from __future__ import annotations

from finops.lake import BILL_LINES, facts
from finops.lake.bill_sums_build import forget_sums, make_sums


def spend_sums_make() -> int:
    """Make the sums of the current bills that are missing; returns of how many months of reports.

    Answers are the same before and after. Raises LakeError, with what was made so far in place.
    """
    snapshots = facts.current_snapshots()
    if BILL_LINES not in snapshots:
        return 0
    lake = facts.lake()
    made = make_sums(lake, snapshots[BILL_LINES])
    if made:
        forget_sums(lake, snapshots[BILL_LINES])
    return made
