"""Maps made of columns: a cell that is filled is an entry under the key of its column.

DuckDB's functions look at each key of each map that they make: 0.6 of the 0.7 s that 150,000 maps of 55
columns take. A structure becomes a map without that, but has the same keys on every row. So rows whose filled
cells are of a *form* known beforehand take theirs as a structure of just these keys, and any other row the
general way: the answer is the same, whatever forms are known.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from finops.text.sql import quote

MAP = "MAP(VARCHAR, VARCHAR)"
# Bits of a number in which columns are counted.
_BITS = 62
# Each entry of each form takes memory for a block of rows, 0.1 MB a thread.
MOST_FORMS, MOST_ENTRIES = 64, 400


def map_of(columns: Mapping[str, int]) -> str:
    """SQL of the map (key -> place of the column `r0` …); a blank cell is no entry."""
    keys = ", ".join(quote(key) for key in columns)
    values = ", ".join(f"nullif(r{place}, '')" for place in columns.values())
    return f"map_from_entries(list_filter(list_zip([{keys}], [{values}]), lambda e: e[2] IS NOT NULL))"


def form_of(columns: Mapping[str, int]) -> list[str]:
    """SQL of the numbers that say which cells of a row are filled: a bit for each column, 62 in a number."""
    places = list(columns.values())
    return [
        " + ".join(
            f"CASE WHEN r{place} <> '' THEN {1 << bit} ELSE CAST(0 AS BIGINT) END"
            for bit, place in enumerate(places[start : start + _BITS])
        )
        for start in range(0, len(places), _BITS)
    ]


def map_by_form(columns: Mapping[str, int], numbers: Sequence[str], forms: Iterable[Sequence[int]]) -> str:
    """As `map_of`, faster in rows of these forms, the commonest first; `numbers` are names of `form_of`'s."""
    cases: list[str] = []
    entries = 0
    for form in forms:
        filled = {
            key: place
            for position, (key, place) in enumerate(columns.items())
            if form[position // _BITS] >> position % _BITS & 1
        }
        entries += len(filled)
        if len(cases) == MOST_FORMS or entries > MOST_ENTRIES:
            break
        if _is_structure(filled):
            same = " AND ".join(f"{name} = {bits}" for name, bits in zip(numbers, form, strict=True))
            cases.append(f"WHEN {same} THEN {_structure(filled)}")
    return f"CASE {' '.join(cases)} ELSE {map_of(columns)} END" if cases else map_of(columns)


def _is_structure(filled: Mapping[str, int]) -> bool:
    """Whether DuckDB takes the keys as names: it does not tell letter case apart, nor take empty ones."""
    return len({key.casefold() for key in filled}) == len(filled) and "" not in filled


def _structure(filled: Mapping[str, int]) -> str:
    if not filled:
        return f"CAST(MAP([], []) AS {MAP})"
    listed = ", ".join(f"{quote(key)}: r{place}" for key, place in filled.items())
    return f"CAST({{{listed}}} AS {MAP})"
