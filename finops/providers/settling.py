"""How long a day of a bill may still grow by the provider's own word: `data/bill_settling_days.csv`."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

ANY = "*"


@dataclass(frozen=True, slots=True)
class Settling:
    """Whole days after a day's end, when that was written down, and where it is stated."""

    days: int
    as_of: str
    source: str


@cache
def _table() -> dict[str, Settling]:
    text = files("finops.providers").joinpath("data/bill_settling_days.csv").read_text(encoding="utf-8")
    rows = csv.DictReader(text.splitlines())
    return {row["provider"]: Settling(int(row["days"]), row["as_of"], row["source"]) for row in rows}


def settling(provider: str) -> Settling:
    """The stated default of a provider; of one that is not in the table the longest stated one."""
    table = _table()
    return table.get(provider, table[ANY])
