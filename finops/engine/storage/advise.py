"""Where the objects of a prefix should lie: every policy's twelve months, and what follows from them.

A rule is about a prefix and cannot name a class, so that all classes of a prefix and state are decided
together. Every policy is costed with the low, the expected and the high hazard of reads; its saving against
staying has the least and the greatest of the three as its ends. Small objects that a move makes dearer are
left where they are: of the lower ends of the size bands that one is taken from which moving saves most.

The policy that saves most is advised if it may be taken, its low end is not a loss, it has paid back within
the twelve months, and objects live long enough for it (`lives`); of two that save the same the one with
fewer fees, and then the one that acts later. Else the answer is to move nothing, with the reason. Where no
log tells reads, policies are costed as if nothing was read: what does not even save then is not advised, and
of the rest nothing can be said.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from finops.engine.storage.candidates import Wishes, allowed, candidates
from finops.engine.storage.outlook import Hazard, Outlook, look_ahead, never_read
from finops.engine.storage.tiering import (
    DELETE,
    MONTHS,
    NOTHING,
    STAY,
    Course,
    Courses,
    Lot,
    Policy,
    Step,
    Use,
    courses,
    idle_starts,
    lot,
)
from finops.frames.storage import INCOMPLETE, StorageCell
from finops.frames.storage_terms import StorageTerms

Floats = NDArray[np.float64]

MOVE, DO_NOT_MOVE, BLOCKED = "move", "do not move", "blocked"
# Below this a rule is more trouble than money, over twelve months in the currency of the list.
LEAST_SAVING = 1.0
# What is less apart in money than this is the same.
NOISE = 1e-9
# Hazards of reads: low, expected, high.
ENDS, EXPECTED = 3, 1
NO_WISHES = Wishes()


@dataclass(frozen=True)
class Costed:
    """A policy against staying, over twelve months.

    `bills` by month (12), `cash` gained after month 0 .. 12 (0: the first day's fees) with `cash_low` and
    `cash_high`, `one_time` fees of moving, `after` the last month's bill, `worst` the lowest point of `cash`
    (0 where it never falls below) and its month, `break_even` the month from whose end on it is never below
    0 again: 0 where it never was, None where not within the twelve months. `refused`: "" or why it may not be
    taken. `moved` objects change class or go.
    """

    policy: Policy
    bills: Floats
    cash: Floats
    cash_low: Floats
    cash_high: Floats
    one_time: float
    after: float
    saving_low: float
    saving: float
    saving_high: float
    worst: float
    worst_month: int
    break_even: int | None
    moved: float
    refused: str = ""


@dataclass(frozen=True)
class ClassPart:
    """What a policy does to the objects of one class: the same figures for its part of the prefix."""

    storage_class: str
    objects: int
    bytes: int
    stay: Floats
    costed: Costed


@dataclass(frozen=True)
class Advised:
    """The answer for one prefix and state. `policies`: every one, the greatest expected saving first, staying
    among them. `best` is the advised one, or the best that may be taken where nothing is advised (None where
    there is none). `reason`: a code. `parts`: by class. `stay` the bills of staying by month.
    """

    verdict: str
    reason: str
    best: Costed | None
    policies: tuple[Costed, ...]
    parts: tuple[ClassPart, ...]
    stay: Floats


def advise(
    groups: Mapping[str, Sequence[StorageCell]],
    *,
    state: str,
    hazard: Hazard | None,
    terms: StorageTerms,
    wishes: Wishes = NO_WISHES,
    policies: Sequence[Policy] | None = None,
) -> Advised:
    """Advice for the cells of one prefix and state, by class. `hazard` None: no log tells reads.

    `policies`: other candidates than the usual ones. Raises StorageError where sizes or prices are not known.
    """
    desk = _Desk(groups, hazard or never_read(), terms, wishes.life_days)
    wanted = policies if policies is not None else candidates(list(groups), state, wishes, terms)
    found = [
        replace(desk.costed(policy), refused=allowed(policy, wishes, terms))
        for policy in dict.fromkeys(desk.floored(one, state) for one in wanted)
    ]
    found.sort(key=_order)
    free = [one for one in found if one.policy.steps and not one.refused]
    lasting = [one for one in free if lives(one.policy, groups, terms)]
    verdict, reason, best = _decide(lasting, free, known=hazard is not None or state == INCOMPLETE)
    taken = best.policy if best is not None and verdict == MOVE else STAY
    parts = tuple(desk.part(name, taken) for name in groups)
    return Advised(verdict, reason, best, tuple(found), parts, _bills(desk.stay[1]))


def _decide(
    lasting: Sequence[Costed], free: Sequence[Costed], *, known: bool
) -> tuple[str, str, Costed | None]:
    """Verdict, reason and the policy that it is about, from policies in order of their expected saving."""
    if not free:
        return DO_NOT_MOVE, "no policy", None
    if not known:
        # Costed as if nothing was ever read: what does not even save then never does, and what only deletes
        # asks no read.
        gone = [one for one in lasting if all(step.to == DELETE for step in one.policy.steps)]
        if gone and gone[0].saving >= LEAST_SAVING:
            return MOVE, "saves", gone[0]
        if free[0].saving < LEAST_SAVING:
            return DO_NOT_MOVE, "dearer", free[0]
        return BLOCKED, "no reads known", free[0]
    good = [
        one
        for one in lasting
        if one.saving >= LEAST_SAVING and one.saving_low >= 0 and one.break_even is not None
    ]
    if good:
        return MOVE, "saves", good[0]
    if free[0].saving < LEAST_SAVING:
        return DO_NOT_MOVE, "dearer" if free[0].saving < 0 else "too little", free[0]
    if lasting and lasting[0].saving >= LEAST_SAVING:
        late = lasting[0].break_even is None
        return DO_NOT_MOVE, "not paid back" if late else "may lose", lasting[0]
    return DO_NOT_MOVE, "life unknown", free[0]


def _order(one: Costed) -> tuple[float, float, int, int]:
    first = one.policy.steps[0].after_days if one.policy.steps else 0
    return (-round(one.saving, 6), round(one.one_time, 6), len(one.policy.steps), -first)


def lives(policy: Policy, groups: Mapping[str, Sequence[StorageCell]], terms: StorageTerms) -> bool:
    """Whether anything here has lived long enough for each move to pay: to the end of the minimum days of the
    class, or to its second tier. Ages that the listing does not tell are taken as reached.
    """
    ages = [cell.age_from for cells in groups.values() for cell in cells]
    needed = 0
    for step in policy.steps:
        if step.to in terms.classes:
            tiers = terms.tiers.get(step.to, ())
            first = tiers[1].after_idle_days if len(tiers) > 1 else 0
            needed = max(needed, step.after_days + max(terms.classes[step.to].min_days, first))
    return any(age is None or age >= needed for age in ages)


class _Desk:
    """The lots of one prefix with their outlooks, and what was costed for them already."""

    def __init__(
        self,
        groups: Mapping[str, Sequence[StorageCell]],
        hazard: Hazard,
        terms: StorageTerms,
        life: int | None,
    ) -> None:
        self.terms, self.groups, self.life = terms, groups, life
        starts = idle_starts([cell for cells in groups.values() for cell in cells])
        self.lots: dict[str, Lot] = {name: lot(name, cells, starts) for name, cells in groups.items()}
        thresholds = sorted({tier.after_idle_days for found in terms.tiers.values() for tier in found[1:]})
        share = hazard.share if hazard.share is not None else hazard.requests
        ends: list[Outlook] = []
        for index, chances in enumerate(hazard.ends()):
            same = index and np.array_equal(chances, hazard.ends()[index - 1])
            ends.append(ends[-1] if same else look_ahead(chances, starts, thresholds))
        self.uses = [Use(outlook, hazard.requests, share) for outlook in ends]
        self._known: dict[tuple[str, tuple[Step, ...], int], Courses] = {}
        self.stay = [self._all(STAY, end) for end in range(ENDS)]

    def floored(self, policy: Policy, state: str) -> Policy:
        """The policy for objects from that size on for which it saves most; all where it never saves."""
        if not policy.steps or policy.deletes or state == INCOMPLETE:
            return policy
        edges = sorted({edge for one in self.lots.values() for edge in one.edges})
        tries = [replace(policy, from_bytes=edge if edge > edges[0] else 0) for edge in edges]
        totals = [float(self._all(one, EXPECTED).total[-1]) for one in tries]
        least = min(totals)
        if least >= float(self.stay[EXPECTED].total[-1]) - NOISE:
            return policy
        return next(one for one, total in zip(tries, totals, strict=True) if total <= least + NOISE)

    def costed(self, policy: Policy) -> Costed:
        """The policy against staying."""
        return _costed(policy, [self._all(policy, end) for end in range(ENDS)], self.stay)

    def part(self, name: str, policy: Policy) -> ClassPart:
        """The part of one class."""
        ways = [[self._course(name, one, end) for end in range(ENDS)] for one in (policy, STAY)]
        cells = self.groups[name]
        return ClassPart(
            name,
            sum(cell.objects for cell in cells),
            sum(cell.bytes for cell in cells),
            _bills(ways[1][EXPECTED]),
            _costed(policy, ways[0], ways[1]),
        )

    def _all(self, policy: Policy, end: int) -> Course:
        found = NOTHING
        for name in self.lots:
            found = found.plus(self._course(name, policy, end))
        return found

    def _course(self, name: str, policy: Policy, end: int) -> Course:
        here = self.lots[name]
        moved = self._courses(name, policy.steps, end)
        if not policy.from_bytes:
            return moved.sum()
        large = here.size_from >= policy.from_bytes
        return moved.sum(large).plus(self._courses(name, (), end).sum(~large))

    def _courses(self, name: str, steps: tuple[Step, ...], end: int) -> Courses:
        key = (name, steps, end)
        if key not in self._known:
            taken = steps
            if self.life is not None:
                before = tuple(step for step in steps if step.after_days < self.life)
                taken = (*before, Step(self.life, DELETE))
            self._known[key] = courses(self.lots[name], taken, self.uses[end], self.terms)
        return self._known[key]


def _bills(one: Course) -> Floats:
    """By month; the first month holds the first day's fees."""
    bills = np.diff(one.total)
    bills[0] += one.total[0]
    return np.asarray(bills)


def _costed(policy: Policy, ways: Sequence[Course], stay: Sequence[Course]) -> Costed:
    gains = np.stack([there.total - here.total for here, there in zip(ways, stay, strict=True)])
    cash = gains[1]
    worst = int(cash.argmin())
    ends = gains[:, -1]
    return Costed(
        policy=policy,
        bills=_bills(ways[1]),
        cash=cash,
        cash_low=gains.min(axis=0),
        cash_high=gains.max(axis=0),
        one_time=float(ways[1].fees[-1]),
        after=float(ways[1].total[-1] - ways[1].total[-2]),
        saving_low=float(ends.min()),
        saving=float(ends[1]),
        saving_high=float(ends.max()),
        worst=min(float(cash[worst]), 0.0),
        worst_month=worst if cash[worst] < 0 else 0,
        break_even=_break_even(cash),
        moved=ways[1].moved,
    )


def _break_even(cash: Floats) -> int | None:
    """The month from whose end on nothing is owed."""
    below = np.flatnonzero(cash < -NOISE)
    if not len(below):
        return 0
    month = int(below[-1]) + 1
    return month if month <= MONTHS else None
