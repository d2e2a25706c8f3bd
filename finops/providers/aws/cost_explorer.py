"""Daily totals from Cost Explorer, until the first export of a month arrives: `ce:GetCostAndUsage`.

Quirks: every page is a paid request (the price is in `finops/providers/data/request_prices.csv`); at most two
groupings a question; the end date is excluded; days of an unfinished month are Estimated; the last page is
the one without NextPageToken; the service lives in us-east-1; the management account sees all linked
accounts, any other only itself; days before the last 13 months are not there. The totals hold every charge
type, so refunds, credits and taxes are inside the service's sum and cannot be told apart.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date, timedelta
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import boto3
from tenacity.wait import wait_base

from finops.frames.money import Money
from finops.providers.aws.client import BACK_OFF, patiently
from finops.providers.aws.session import Access, account_id, client, open_session
from finops.providers.base import PermanentError

REGION = "us-east-1"
GET_COST = "ce:GetCostAndUsage"
METRICS = ("UnblendedCost", "AmortizedCost", "NetUnblendedCost", "NetAmortizedCost")
# Columns of the file that is made of the answers; finops.providers.aws.bills_cost_explorer reads it.
COLUMNS = (
    "day", "payer_account", "linked_account", "service", "unblended_cost", "amortized_cost",
    "net_unblended_cost", "net_amortized_cost", "currency", "estimated",
)  # fmt: skip


@dataclass
class Totals:
    """Days of one period. `requests` counts what AWS charges for, also when it failed midway."""

    account: str = ""
    requests: int = 0
    estimated: bool = False
    rows: list[tuple[str, ...]] = field(default_factory=list)


def daily_totals(
    access: Access,
    totals: Totals,
    *,
    start: date,
    end: date,
    base: boto3.Session | None = None,
    back_off: wait_base = BACK_OFF,
) -> Totals:
    """Fill `totals` with the days [start, end) by service and linked account: one question, its pages.

    Raises TransientError or PermanentError (DeniedError names the permission); what was asked is counted.
    """
    session = open_session(access, region=REGION, base=base)
    totals.account = account_id(session, access, region=REGION)
    costs = client(session, access, "ce", region=REGION)
    token, seen = "", set[str]()
    while True:
        wanted: dict[str, Any] = {
            "TimePeriod": {"Start": start.isoformat(), "End": end.isoformat()},
            "Granularity": "DAILY",
            "Metrics": list(METRICS),
            "GroupBy": [
                {"Type": "DIMENSION", "Key": "SERVICE"},
                {"Type": "DIMENSION", "Key": "LINKED_ACCOUNT"},
            ],
            **({"NextPageToken": token} if token else {}),
        }
        answer = patiently(
            partial(_counted, totals, partial(costs.get_cost_and_usage, **wanted)),
            doing=f"reading daily costs ({GET_COST})",
            back_off=back_off,
        )
        totals.rows += _rows(answer, totals)
        token = answer.get("NextPageToken") or ""
        if not token:
            return totals
        if token in seen:
            raise PermanentError("AWS repeats a page token of daily costs: stopped.")
        seen.add(token)


def _counted(totals: Totals, call: Any) -> Any:
    totals.requests += 1
    return call()


def _rows(answer: Any, totals: Totals) -> Iterator[tuple[str, ...]]:
    for day in answer.get("ResultsByTime", []):
        estimated = bool(day.get("Estimated"))
        totals.estimated = totals.estimated or estimated
        for group in day.get("Groups", []):
            service, account = group["Keys"]
            metrics = group["Metrics"]
            units = {metrics[name]["Unit"] for name in METRICS if name in metrics}
            if len(units) != 1:
                raise PermanentError(
                    f"Cost Explorer gives several currencies for {service}: {sorted(units)}."
                )
            amounts = (str(metrics[name]["Amount"]) if name in metrics else "" for name in METRICS)
            yield (
                day["TimePeriod"]["Start"], totals.account, account, service, *amounts, units.pop(),
                "true" if estimated else "false",
            )  # fmt: skip


def write_totals(totals: Totals, path: Path) -> None:
    """The rows as the CSV file that the import takes."""
    with path.open("w", newline="", encoding="utf-8") as handle:
        writer = csv.writer(handle)
        writer.writerow(COLUMNS)
        writer.writerows(totals.rows)


def smallest_question(today: date) -> dict[str, Any]:
    """A question of one day and one number: for trying whether the call is allowed."""
    return {
        "TimePeriod": {
            "Start": (today - timedelta(days=2)).isoformat(),
            "End": (today - timedelta(days=1)).isoformat(),
        },
        "Granularity": "DAILY",
        "Metrics": ["UnblendedCost"],
    }


def request_price() -> tuple[Money, date]:
    """(price of one request, date of that price)."""
    text = (Path(__file__).parents[1] / "data" / "request_prices.csv").read_text(encoding="utf-8")
    for row in csv.DictReader(line for line in text.splitlines() if not line.startswith("#")):
        if (row["provider"], row["operation"]) == ("aws", GET_COST):
            return Money(Decimal(row["price"]), row["currency"]), date.fromisoformat(row["as_of"])
    raise LookupError(f"no price of {GET_COST}")
