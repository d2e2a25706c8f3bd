"""What AWS charges to move a GiB (2**30 bytes), as dated data (`data/transfer_prices.csv`).

Quirks: only the region that the data leaves charges, whatever the other one is, except for the pair of
us-east-1 and us-east-2; between zones of one region both ends are charged, so a GiB costs twice the printed
figure ("zone" holds the sum); S3 and an instance of the same region exchange data free ("region"). First
tier, public prices, without tax. Uncertain: the table is of 2023-04 and second hand; a negotiated discount
or a newer price list is not in it.
"""

from __future__ import annotations

import csv
from datetime import UTC, date, datetime
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import NamedTuple

_TABLE = Path(__file__).parent / "data" / "transfer_prices.csv"
ANYWHERE = "*"
BETWEEN_ZONES = "zone"
WITHIN_REGION = "region"


class TransferPrice(NamedTuple):
    """Price per GiB, who says so and since when; `later_prices`: the table begins after the asked instant."""

    per_gib: Decimal
    currency: str
    valid_from: date
    source: str
    later_prices: bool


@cache
def _rows() -> dict[tuple[str, str], list[tuple[date, Decimal, str]]]:
    table: dict[tuple[str, str], list[tuple[date, Decimal, str]]] = {}
    with _TABLE.open(newline="", encoding="utf-8") as handle:
        for row in csv.DictReader(handle):
            dated = (date.fromisoformat(row["valid_from"]), Decimal(row["usd_per_gib"]), row["source"])
            table.setdefault((row["from_region"], row["to_region"]), []).append(dated)
    return {key: sorted(rows) for key, rows in table.items()}


def transfer_price(
    from_region: str, to_region: str, *, at: datetime, other_zone: bool = False
) -> TransferPrice | None:
    """The price of a pair of regions at an instant; None where the table does not know the region.

    Inside one region: free, or the price between zones with `other_zone`. Newest row at or before `at`,
    else the first later one, marked.
    """
    if from_region == to_region:
        wanted = [(ANYWHERE, BETWEEN_ZONES if other_zone else WITHIN_REGION)]
    else:
        wanted = [(from_region, to_region), (from_region, ANYWHERE)]
    rows = next((_rows()[key] for key in wanted if key in _rows()), None)
    if rows is None:
        return None
    day = at.astimezone(UTC).date()
    past = [row for row in rows if row[0] <= day]
    since, price, source = past[-1] if past else rows[0]
    return TransferPrice(price, "USD", since, source, later_prices=not past)
