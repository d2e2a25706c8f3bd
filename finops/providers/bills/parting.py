"""Which columns of a bill say the same on many lines, and which expressions hang on which columns.

A bill repeats itself: of a hundred columns a few differ from line to line (amount, cost, id), and the others
are those of the resource, line after line. Columns are parted into *groups* whose contents occur together,
and *loose* ones. What hangs on one group is computed once for each of its contents; the rest line by line.
The parting decides how long it takes, never what comes out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from finops.providers.bills.kind import Check, Given

# A column is loose when more of its filled cells than this differ, once there are enough to tell.
LOOSE_SHARE = 0.85
LOOSE_FROM = 500
# A column joins a group when that makes no more than this share of the rows new contents.
JOIN_SHARE = 0.02
MOST_GROUPS = 4
_TEXT = re.compile(r"'(?:[^']|'')*'")
_WORD = re.compile(r"[A-Za-z_]\w*")
_RAW = re.compile(r"r(\d+)")


def words_of(sql: str) -> frozenset[str]:
    """Names in an expression, quoted texts aside."""
    return frozenset(_WORD.findall(_TEXT.sub("''", sql)))


class Hanging:
    """What the expressions of a `Given` hang on: columns by their places, and named expressions."""

    def __init__(self, given: Given) -> None:
        self._typed = given.typed
        self._columns = len(given.headers)
        self._known: dict[str, frozenset[int]] = {}

    def names(self, sql: str) -> list[str]:
        """The columns `r0` … and named expressions that stand in it."""
        return sorted(w for w in words_of(sql) if w in self._typed or self._place(w) is not None)

    def places(self, sql: str) -> frozenset[int]:
        """Places of all columns behind an expression."""
        found: frozenset[int] = frozenset()
        for name in self.names(sql):
            place = self._place(name)
            found |= self._of_typed(name) if place is None else frozenset((place,))
        return found

    def _of_typed(self, name: str) -> frozenset[int]:
        if name not in self._known:
            self._known[name] = frozenset()
            self._known[name] = self.places(self._typed[name])
        return self._known[name]

    def _place(self, word: str) -> int | None:
        if word in self._typed:
            return None
        found = _RAW.fullmatch(word)
        return int(found[1]) if found and int(found[1]) < self._columns else None


@dataclass(frozen=True)
class Parting:
    """Groups of column places, and the loose ones."""

    groups: tuple[tuple[int, ...], ...]
    loose: tuple[int, ...]

    def group_of(self, places: Iterable[int]) -> int | None:
        """The group that holds all of these; None where none does. No places are of the first group."""
        wanted = set(places)
        for number, group in enumerate(self.groups):
            if wanted <= set(group):
                return number
        return None


def part(codes: Mapping[int, npt.NDArray[np.uint64]], blank: Mapping[int, int]) -> Parting:
    """By a sample: `codes` are numbers of each column's cells, equal for equal ones; `blank` counts nulls."""
    rows = len(next(iter(codes.values())))
    sizes = {}
    loose = []
    dense = {}
    for place, cells in codes.items():
        kinds, dense[place] = np.unique(cells, return_inverse=True)
        filled = rows - blank[place]
        if filled > LOOSE_FROM and len(kinds) > LOOSE_SHARE * filled:
            loose.append(place)
        else:
            sizes[place] = len(kinds)
    groups: list[tuple[list[int], npt.NDArray[np.intp], int]] = []
    for place in sorted(sizes, key=lambda p: (-sizes[p], p)):
        for number, (members, held, size) in enumerate(groups):
            kinds, both = np.unique(held * sizes[place] + dense[place], return_inverse=True)
            if len(kinds) - size <= JOIN_SHARE * rows:
                groups[number] = ([*members, place], both, len(kinds))
                break
        else:
            if len(groups) < MOST_GROUPS:
                groups.append(([place], dense[place], sizes[place]))
            else:
                loose.append(place)
    return Parting(tuple(tuple(sorted(members)) for members, _, _ in groups), tuple(sorted(loose)))


def bad_of(checks: Iterable[Check]) -> str:
    """SQL that is true for a row with a fault."""
    return " OR ".join(f"coalesce(({check.bad}), false)" for check in checks) or "false"
