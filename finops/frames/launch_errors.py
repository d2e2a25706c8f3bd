"""What a refused launch call means. Grain: one row per provider and error code (`data/launch_errors.csv`).

`*` is the row of every other code. `basis`: documented by the provider, or a policy of ours; `as_of` is the
day it was written down.
"""

from __future__ import annotations

import csv
from datetime import date
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import NamedTuple

_TABLE = Path(__file__).parent / "data" / "launch_errors.csv"
ANY = "*"


class Meaning(StrEnum):
    """Kinds of refusal: each asks for another next step."""

    CAPACITY = "capacity"  # this pool has none now; another may
    SPOT_LIMIT = "spot limit"  # the account's limit: no Spot pool helps
    ON_DEMAND_LIMIT = "on-demand limit"  # the account's limit: a person must raise it
    THROTTLED = "throttled"  # not looked at: the same again, later
    TOKEN_USED = "token used"  # noqa: S105 - something was launched with this token
    WRONG_REQUEST = "wrong request"  # the same again fails again
    OUTCOME_OPEN = "outcome open"  # may have taken effect: look before anything else
    UNKNOWN = "unknown"


class LaunchError(NamedTuple):
    """One row."""

    provider: str
    code: str
    meaning: Meaning
    as_of: date
    basis: str
    source: str


@cache
def launch_errors() -> dict[tuple[str, str], LaunchError]:
    """All rows by (provider, code). Raises ValueError where a row is there twice."""
    with _TABLE.open(newline="", encoding="utf-8") as handle:
        rows = [
            LaunchError(
                row["provider"],
                row["code"],
                Meaning(row["meaning"]),
                date.fromisoformat(row["as_of"]),
                row["basis"],
                row["source"],
            )
            for row in csv.DictReader(handle)
        ]
    found = {(row.provider, row.code): row for row in rows}
    if len(found) != len(rows):
        raise ValueError("a code is there twice")
    return found


def launch_error(provider: str, code: str) -> LaunchError:
    """The row of a code, else the provider's row for every other; KeyError for a provider without rows."""
    rows = launch_errors()
    return rows.get((provider, code)) or rows[provider, ANY]
