"""A map of columns is the same whatever forms of rows are known beforehand."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

import duckdb
import pytest

from finops.providers.bills.maps import MOST_ENTRIES, MOST_FORMS, form_of, map_by_form, map_of

CELLS = ("", None, "a", "b, c", "'", '"x"', "NULL")


def _read(
    columns: Mapping[str, int], rows: Sequence[Sequence[str | None]], known: Sequence[Sequence[int]] | int
) -> tuple[list[dict[str, str]], str, list[tuple[int, ...]]]:
    """(maps of the rows, SQL, forms of the rows); `known` are forms, or of how many rows to take them."""
    with duckdb.connect(":memory:") as con:
        places = ", ".join(f"r{place} VARCHAR" for place in sorted(columns.values()))
        con.execute(f"CREATE TABLE raw (rn INTEGER, {places})")
        marks = ", ".join("?" * (len(rows[0]) + 1))
        con.executemany(f"INSERT INTO raw VALUES ({marks})", [[i, *row] for i, row in enumerate(rows)])
        forms = con.execute(f"SELECT {', '.join(form_of(columns))} FROM raw ORDER BY rn").fetchall()
        numbers = [f"n{i}" for i in range(len(form_of(columns)))]
        before = ", ".join(f"{sql} AS {n}" for sql, n in zip(form_of(columns), numbers, strict=True))
        sql = map_by_form(columns, numbers, forms[:known] if isinstance(known, int) else known)
        found = con.execute(f"SELECT {sql} FROM (SELECT *, {before} FROM raw) ORDER BY rn").fetchall()
        kinds = con.execute(f"SELECT DISTINCT typeof({sql}) FROM (SELECT *, {before} FROM raw)").fetchall()
        assert kinds == [("MAP(VARCHAR, VARCHAR)",)]
    return [row[0] for row in found], sql, forms


@pytest.mark.parametrize("known", [0, 1, 5, 60])
@pytest.mark.parametrize("width", [1, 5, 63, 130])
def test_each_row_has_its_filled_cells(width: int, known: int) -> None:
    draw = random.Random(width * 100 + known)
    # Keys of one spelling but for the case of their letters, with quotes, without anything.
    keys = ["user:team", "user:Team", "it's", '"', *(f"key{i}" for i in range(width))][-width:]
    columns = {key: 2 * place for place, key in enumerate(keys)}
    forms = [[draw.choice(CELLS) for _ in keys] for _ in range(6)]
    rows = [[c and draw.choice(CELLS[2:]) for c in draw.choice(forms)] for _ in range(60)]
    rows += [[""] * width, [None] * width, ["x"] * width]
    maps, _, _ = _read(columns, rows, known)
    assert maps == [{key: cell for key, cell in zip(keys, row, strict=True) if cell} for row in rows]


def test_keys_that_no_structure_can_have_are_taken_the_general_way() -> None:
    columns = {"Team": 0, "team": 1, "": 2}
    rows = [["a", "b", "c"], ["a", "", ""], ["", "b", None], ["", "", "c"]]
    maps, sql, forms = _read(columns, rows, 4)
    assert maps == [{"Team": "a", "team": "b", "": "c"}, {"Team": "a"}, {"team": "b"}, {"": "c"}]
    assert [f"n0 = {form[0]} " in sql for form in forms] == [False, True, True, False]
    assert sql.count("map_from_entries") == 1


def test_forms_are_bounded() -> None:
    narrow, wide = {f"k{i}": i for i in range(8)}, {f"k{i}": i for i in range(150)}
    assert map_by_form(narrow, ["n"], [(form,) for form in range(256)]).count("WHEN") == MOST_FORMS
    full = ((1 << 62) - 1, (1 << 62) - 1, (1 << 26) - 1)
    assert map_by_form(wide, ["a", "b", "c"], [full] * 9).count("WHEN") == MOST_ENTRIES // 150
    assert map_by_form(narrow, ["n"], []) == map_of(narrow)
