"""Split cost allocation data: shares stand beside the cost that they split and are never added to it."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from apps.billing.models import Delivery
from tests.apps.ingest.bills.conftest import lines
from tests.support.bills import cur_csv, import_text

pytestmark = pytest.mark.usefixtures("lake_folder")

TYPE, COST, USAGE = "lineItem/LineItemType", "lineItem/UnblendedCost", "lineItem/UsageAmount"
RESOURCE, OPERATION = "lineItem/ResourceId", "lineItem/UsageType"
POD = "arn:aws:eks:us-east-1:111122223333:pod/c1/ns/"


def _split(pod: str, meter: str, usage: str, ratio: str, cost: str, unused: str) -> dict[str, str]:
    return {
        TYPE: "Usage", COST: "0", USAGE: usage, RESOURCE: pod, OPERATION: meter,
        "pricing/publicOnDemandCost": "0", "splitLineItem/ParentResourceId": "i-0abc",
        "splitLineItem/SplitUsage": usage, "splitLineItem/SplitUsageRatio": ratio,
        "splitLineItem/ReservedUsage": usage, "splitLineItem/ActualUsage": "0.1",
        "splitLineItem/SplitCost": cost, "splitLineItem/UnusedCost": unused,
        "splitLineItem/NetSplitCost": f"{Decimal(cost) * Decimal('0.9')}",
        "splitLineItem/NetUnusedCost": f"{Decimal(unused) * Decimal('0.9')}",
        "splitLineItem/PublicOnDemandSplitCost": f"{Decimal(cost) * 2}",
        "splitLineItem/PublicOnDemandUnusedCost": f"{Decimal(unused) * 2}",
    }  # fmt: skip


# An hour of one machine at 1.00: two pods by CPU and memory, 0.36 of it shared out as unused.
PARENT = {RESOURCE: "i-0abc", COST: "1.00", USAGE: "1", "pricing/publicOnDemandCost": "2.00"}
SHARES = [
    _split(f"{POD}a", "EKS-EC2-vCPU-Hours", "1", "0.25", "0.17", "0.10"),
    _split(f"{POD}a", "EKS-EC2-GB-Hours", "4", "0.25", "0.07", "0.05"),
    _split(f"{POD}b", "EKS-EC2-vCPU-Hours", "2", "0.5", "0.33", "0.18"),
    _split(f"{POD}b", "EKS-EC2-GB-Hours", "4", "0.25", "0.07", "0.03"),
]
OTHER = {COST: "5.00", USAGE: "3", RESOURCE: "bucket", "pricing/publicOnDemandCost": "5.00"}


def _sums(where: str = "true") -> tuple[Any, ...]:
    return lines(
        "sum(billed_cost), sum(effective_cost), sum(x_net_cost), sum(list_cost), sum(x_quantity)", where
    )[0]


def test_shares_are_kept_and_counted_nowhere(tmp_path: Path) -> None:
    import_text(tmp_path / "split.csv", cur_csv([PARENT, *SHARES, OTHER]))
    assert _sums() == (6, 6, 6, 7, 4)
    assert lines(
        "resource_id, sum(x_split_cost), sum(x_split_unused_cost), sum(x_split_net_cost), "
        "sum(x_split_net_unused_cost), sum(x_split_list_cost), sum(x_split_list_unused_cost)",
        "x_split_parent_resource_id = 'i-0abc' GROUP BY 1",
    ) == [
        (f"{POD}a", Decimal("0.24"), Decimal("0.15"), Decimal("0.216"), Decimal("0.135"), Decimal("0.48"),
         Decimal("0.30")),
        (f"{POD}b", Decimal("0.40"), Decimal("0.21"), Decimal("0.36"), Decimal("0.189"), Decimal("0.80"),
         Decimal("0.42")),
    ]  # fmt: skip
    assert lines("sum(x_split_cost + x_split_unused_cost)") == [(Decimal("1.00"),)]
    assert lines("x_split_usage, x_split_usage_ratio, x_split_reserved_usage, x_split_actual_usage",
                 "x_split_usage = 2") == [(2, Decimal("0.5"), 2, Decimal("0.1"))]  # fmt: skip
    assert lines("DISTINCT x_quantity, pricing_quantity, consumed_quantity", "x_split_cost IS NOT NULL") == [
        (None, None, None)
    ]
    delivery = Delivery.objects.get()
    assert delivery.totals["USD"]["billed"] == "6"
    [note] = [n for n in delivery.notes if n["code"] == "split"]
    assert note == {"code": "split", "currency": "USD", "rows": 4, "shared": "0.64", "unused": "0.36"}


def test_a_machine_under_a_plan_keeps_its_own_rule(tmp_path: Path) -> None:
    covered = {**PARENT, TYPE: "SavingsPlanCoveredUsage", "savingsPlan/SavingsPlanARN": "arn:sp/1",
               "savingsPlan/SavingsPlanEffectiveCost": "0.70"}  # fmt: skip
    negation = {
        TYPE: "SavingsPlanNegation",
        COST: "-1.00",
        USAGE: "1",
        "savingsPlan/SavingsPlanARN": "arn:sp/1",
    }
    import_text(tmp_path / "sp.csv", cur_csv([covered, negation, *SHARES]))
    assert _sums()[:2] == (0, Decimal("0.70"))


def test_without_resource_ids_a_share_is_known_by_its_cost(tmp_path: Path) -> None:
    hidden = [{**one, "splitLineItem/ParentResourceId": "", RESOURCE: ""} for one in SHARES]
    import_text(tmp_path / "hidden.csv", cur_csv([PARENT, *hidden, OTHER]))
    assert _sums() == (6, 6, 6, 7, 4)


def test_free_use_is_no_share(tmp_path: Path) -> None:
    free = {COST: "0", USAGE: "750", "splitLineItem/SplitCost": "", "splitLineItem/UnusedCost": "0.0"}
    import_text(tmp_path / "free.csv", cur_csv([free, *SHARES]))
    assert _sums()[4] == 750


def test_fargate_sells_what_it_lists(tmp_path: Path) -> None:
    task = {COST: "0.04", USAGE: "1", "splitLineItem/ActualUsage": "0.2", "splitLineItem/SplitCost": "0.04"}
    import_text(tmp_path / "fargate.csv", cur_csv([task]))
    assert _sums()[0] == Decimal("0.04")
    assert _sums()[4] == 1


def test_a_share_with_a_cost_of_its_own_refuses_the_delivery(tmp_path: Path) -> None:
    import_text(tmp_path / "good.csv", cur_csv([PARENT]))
    run = import_text(tmp_path / "twice.csv", cur_csv([PARENT, {**SHARES[0], COST: "0.17"}]))
    assert run.state == "refused"
    assert run.error == (
        "twice.csv, row 2, lineItem/LineItemType: no rule for a line of type Usage, cloud, commitment none, "
        "split costly"
    )
    assert Delivery.objects.count() == 1
    assert _sums()[0] == 1


def test_a_share_that_is_no_number_refuses_the_delivery(tmp_path: Path) -> None:
    run = import_text(tmp_path / "odd.csv", cur_csv([PARENT, {**SHARES[0], "splitLineItem/SplitCost": "x"}]))
    assert run.state == "refused"
    assert "row 2, splitLineItem/SplitCost: not a number" in run.error
