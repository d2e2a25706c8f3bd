"""Columns are parted by what they say together; expressions hang on the columns that they name."""

from __future__ import annotations

import numpy as np

from finops.providers.bills import BillKind, Given, Header, Lines
from finops.providers.bills.parting import Hanging, Parting, part


class _Kind(BillKind):
    name = title = provider = "x"
    required = {}

    def lines(self, given: Given) -> Lines:
        return Lines({})


def test_an_expression_hangs_on_all_columns_behind_it_and_on_no_quoted_word() -> None:
    given = Given(_Kind(), [Header("a"), Header("b"), Header("c")])
    given.money("b")
    given.typed["sum_of"] = "n1 + coalesce(TRY_CAST(r2 AS INT), 0)"
    hanging = Hanging(given)
    assert hanging.places("CASE WHEN r0 = 'r1 n1 ''r2''' THEN 1 END") == {0}
    assert hanging.places("n1") == {1}
    assert hanging.places("sum_of || 'x'") == {1, 2}
    assert hanging.places("r7 + 1") == frozenset()
    assert hanging.names("sum_of + n1 + r0 + r9") == ["n1", "r0", "sum_of"]


def test_what_repeats_together_is_a_group_and_what_never_repeats_is_loose() -> None:
    rows = 4000
    draw = np.random.default_rng(3)
    resource = draw.integers(0, 400, rows)
    hour = draw.integers(0, 300, rows)
    columns = {
        0: np.arange(rows),  # an id
        1: resource,
        2: resource // 7,  # its account
        3: hour,
        4: hour + 1,  # the end of the hour
        5: np.zeros(rows),  # the payer
        6: draw.integers(0, 10**9, rows),  # an amount
    }
    parting = part({p: c.astype(np.uint64) for p, c in columns.items()}, dict.fromkeys(columns, 0))
    assert parting == Parting(((1, 2, 5), (3, 4)), (0, 6))
    assert parting.group_of({1, 5}) == 0
    assert parting.group_of({3}) == 1
    assert parting.group_of({1, 3}) is None
    assert parting.group_of({0}) is None
    assert parting.group_of(()) == 0


def test_a_column_of_which_few_cells_are_filled_is_loose_when_those_differ() -> None:
    rows = 8000
    fee = np.where(np.arange(rows) < 700, np.arange(rows), 10**6)
    codes = {0: np.zeros(rows, np.uint64), 1: fee.astype(np.uint64)}
    assert part(codes, {0: 0, 1: rows - 700}).loose == (1,)
