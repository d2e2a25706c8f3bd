"""The best quantities of several offers together: an exact integer optimisation with limits on cash and
on risk.

Offers of one family share its use, so their savings do not add up: in each hour the use that is taken is
min(D, R + sum over cells of min(Z, D_cell)), where D is the use of the family, D_cell that of one type
in one zone, R the units of regional offers and Z those of zonal ones on that cell. Savings are rate x
that sum - cost.

The sum is concave in the quantities, so it is the minimum of its tangents. The integer programme starts
with few of them; where its answer promises more than the quantities really bring, the tangents at that
answer are added and it is solved again. Quantities are whole and each answer is cut off exactly, so this
ends, and what it ends with is the optimum. Families are solved one by one; only where that breaks a limit are
they solved together. A limit on risk is a limit on the share of scenarios that
lose; then each scenario has its own tangents.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, OptimizeResult, milp

Floats = np.ndarray
# Promised and real value agree within this, in money: far below a cent, far above the solver's own tolerance.
AGREE = 1e-6
MAX_ROUNDS = 500


@dataclass(frozen=True)
class Candidate:
    """An offer in a family: `units` of one instance, active in the first `active` hours (an array of 0
    to 1, one value an hour), `cell`: the index of the zonal cell it is bound to, -1 for a regional one.
    Money per instance.
    """

    family: int
    units: float
    active: Floats
    cost: float
    upfront: float
    most: int
    cell: int = -1


@dataclass(frozen=True)
class Family:
    """Hours to come of a family: `use` of shape (scenarios, hours) in units; `cells` of the same shape
    each, the part of single types in single zones; `rate`: on-demand price of a unit-hour; `weight` of
    each hour, one for all scenarios or shape (scenarios, hours), for hours that stand for several.
    """

    use: Floats
    rate: float
    cells: tuple[Floats, ...] = ()
    weight: Floats | None = None


@dataclass(frozen=True, slots=True)
class Limits:
    """None: no limit. `loss_probability`: the largest share of scenarios in which all purchases together
    lose.
    """

    upfront: float | None = None
    loss_probability: float | None = None


@dataclass(frozen=True)
class Choice:
    """Quantities in the order of the candidates; savings of all of them together, one for each scenario."""

    quantities: tuple[int, ...]
    savings: Floats
    upfront: float
    rounds: int

    @property
    def saving(self) -> float:
        """The expected saving."""
        return float(self.savings.mean()) if self.savings.size else 0.0

    @property
    def loss_probability(self) -> float:
        """The share of scenarios that lose."""
        return float((self.savings < -AGREE).mean()) if self.savings.size else 0.0


class _Worth:
    """Value of the hours that quantities cover, and its slope, by family and scenario."""

    def __init__(self, families: Sequence[Family], candidates: Sequence[Candidate]) -> None:
        self.families = families
        self.candidates = candidates
        self.members = [
            [i for i, candidate in enumerate(candidates) if candidate.family == f]
            for f in range(len(families))
        ]

    def at(self, family: int, quantities: Floats) -> tuple[Floats, Floats]:
        """(value by scenario, slope by scenario and member): a tangent of the value from above."""
        one, members = self.families[family], self.members[family]
        levels = {-1: np.zeros(one.use.shape[1])}
        for i in members:
            candidate = self.candidates[i]
            level = levels.setdefault(candidate.cell, np.zeros(one.use.shape[1]))
            levels[candidate.cell] = level + candidate.units * quantities[i] * candidate.active
        zonal = np.zeros_like(one.use)
        for cell, level in levels.items():
            if cell >= 0:
                zonal = zonal + np.minimum(level, one.cells[cell])
        reached = levels[-1] + zonal
        weight = np.ones_like(one.use) if one.weight is None else np.broadcast_to(one.weight, one.use.shape)
        value = one.rate * (np.minimum(one.use, reached) * weight).sum(axis=1)
        open_hours = (reached < one.use) * weight
        slopes = np.zeros((one.use.shape[0], len(members)))
        for column, i in enumerate(members):
            candidate = self.candidates[i]
            free = open_hours
            if candidate.cell >= 0:
                free = open_hours * (levels[candidate.cell] < one.cells[candidate.cell])
            slopes[:, column] = one.rate * candidate.units * (free @ candidate.active)
        return value, slopes

    def savings(self, quantities: Floats) -> Floats:
        """All families together, less all cost, by scenario."""
        cost = sum(float(q) * c.cost for q, c in zip(quantities, self.candidates, strict=True))
        return np.sum([self.at(f, quantities)[0] for f in range(len(self.families))], axis=0) - cost


def worth(family: Family, candidates: Sequence[Candidate], quantities: Floats) -> Floats:
    """Money that the hours covered would cost on demand, by scenario, for candidates of one family."""
    return _Worth([family], candidates).at(0, quantities)[0]


def choose(
    families: Sequence[Family], candidates: Sequence[Candidate], limits: Limits | None = None
) -> Choice:
    """The quantities with the highest expected saving within the limits. ValueError: scenarios do not
    match.
    """
    limits = limits or Limits()
    draws = {family.use.shape[0] for family in families}
    if len(draws) > 1:
        raise ValueError("all families need the same scenarios")
    if not candidates or not families:
        return Choice((0,) * len(candidates), np.zeros(draws.pop() if draws else 0), 0.0, 0)
    worth, scenarios = _Worth(families, candidates), draws.pop()
    free = _choice(worth, *_one_by_one(families, candidates, scenarios))
    if _within(free, limits):
        return free
    return _choice(worth, *_Programme(worth, limits, scenarios).solve())


def _choice(worth: _Worth, quantities: Floats, rounds: int) -> Choice:
    upfront = float(sum(q * c.upfront for q, c in zip(quantities, worth.candidates, strict=True)))
    return Choice(tuple(int(q) for q in quantities), worth.savings(quantities), upfront, rounds)


def _one_by_one(
    families: Sequence[Family], candidates: Sequence[Candidate], draws: int
) -> tuple[Floats, int]:
    """The optimum without limits: families have no hour in common, so each is solved by itself."""
    quantities, rounds = np.zeros(len(candidates)), 0
    for number, family in enumerate(families):
        members = [i for i, candidate in enumerate(candidates) if candidate.family == number]
        if members:
            alone = _Worth([family], [replace(candidates[i], family=0) for i in members])
            quantities[members], needed = _Programme(alone, Limits(), draws).solve()
            rounds = max(rounds, needed)
    return quantities, rounds


def _within(choice: Choice, limits: Limits) -> bool:
    """Whether a choice made without limits keeps them: then they change nothing."""
    if limits.upfront is not None and choice.upfront > limits.upfront:
        return False
    return limits.loss_probability is None or choice.loss_probability <= limits.loss_probability


class _Programme:
    """Variables: quantities; one value for each family (or, under a limit on risk, for each family and
    scenario); under a limit on risk one switch for each scenario that may lose.
    """

    def __init__(self, worth: _Worth, limits: Limits, draws: int) -> None:
        self.worth, self.limits, self.draws = worth, limits, draws
        self.n = len(worth.candidates)
        self.risky = limits.loss_probability is not None
        self.groups = draws if self.risky else 1
        self.values = len(worth.families) * self.groups
        self.switches = draws if self.risky else 0
        self.width = self.n + self.values + self.switches
        self.rows: list[Floats] = []
        self.tops: list[float] = []
        self.promised = np.full(self.values, np.inf)

    def solve(self) -> tuple[Floats, int]:
        """(quantities, rounds)."""
        most = np.array([float(c.most) for c in self.worth.candidates])
        for share in (0.0, 0.25, 0.5, 1.0):
            self._cut(np.floor(most * share))
        seen: set[tuple[float, ...]] = set()
        for rounds in range(1, MAX_ROUNDS + 1):
            quantities = self._answer(most)
            # The tangents of an answer that comes again are there already: what it promises it brings.
            if tuple(quantities) in seen or not self._cut(quantities):
                return quantities, rounds
            seen.add(tuple(quantities))
        raise ArithmeticError(f"no agreement after {MAX_ROUNDS} rounds")

    def _cut(self, quantities: Floats) -> bool:
        """Add the tangents at `quantities` that the last answer's promises exceed; whether there were any."""
        added = False
        for family in range(len(self.worth.families)):
            value, slopes = self.worth.at(family, quantities)
            if not self.risky:
                value, slopes = value.mean(keepdims=True), slopes.mean(axis=0, keepdims=True)
            members = self.worth.members[family]
            for group in range(self.groups):
                place = family * self.groups + group
                if self.promised[place] <= value[group] + AGREE:
                    continue
                row = np.zeros(self.width)
                row[self.n + place] = 1.0
                row[members] = -slopes[group]
                self.rows.append(row)
                top = float(value[group] - slopes[group] @ quantities[members])
                self.tops.append(0.0 if abs(top) < AGREE / 1000 else top)
                added = True
        return added

    def _answer(self, most: Floats) -> Floats:
        """Quantities of the programme as it stands.

        HiGHS 1.12 (scipy 1.17) ends some feasible programmes with "Solve error": the same one is then asked
        without presolve, and in larger money.
        """
        message = ""
        for unit, presolve in ((1.0, True), (1.0, False), (1024.0, True), (1024.0, False)):
            result = self._solved(most, unit, presolve=presolve)
            if result.x is not None:
                self.promised = result.x[self.n : self.n + self.values] * unit
                return np.round(result.x[: self.n])
            message = result.message
        raise ArithmeticError(f"the solver gave no answer: {message}")

    def _solved(self, most: Floats, unit: float, *, presolve: bool) -> OptimizeResult:
        """The solver's answer with values counted in `unit`s of money."""
        target = np.zeros(self.width)
        target[: self.n] = [candidate.cost / unit for candidate in self.worth.candidates]
        target[self.n : self.n + self.values] = -1.0 / self.groups
        money = np.ones(self.width)
        money[self.n : self.n + self.values] = unit
        constraints = [
            LinearConstraint(np.array(self.rows) * money / unit, -np.inf, np.array(self.tops) / unit),
            *self._limits(most, money),
        ]
        return milp(
            target,
            constraints=constraints,
            integrality=np.r_[np.ones(self.n), np.zeros(self.values), np.ones(self.switches)],
            bounds=Bounds(
                np.zeros(self.width), np.r_[most, np.full(self.values, np.inf), np.ones(self.switches)]
            ),
            options={"mip_rel_gap": 0.0, "presolve": presolve},
        )

    def _limits(self, most: Floats, money: Floats) -> list[LinearConstraint]:
        candidates, found = self.worth.candidates, []
        if self.limits.upfront is not None:
            row = np.zeros(self.width)
            row[: self.n] = [candidate.upfront for candidate in candidates]
            found.append(LinearConstraint(row[None], -np.inf, self.limits.upfront))
        if self.limits.loss_probability is None:
            return found
        deepest = float(sum(m * c.cost for m, c in zip(most, candidates, strict=True)))
        rows = np.zeros((self.draws + 1, self.width))
        for scenario in range(self.draws):
            rows[scenario, : self.n] = [-candidate.cost for candidate in candidates]
            rows[scenario, self.n + scenario : self.n + self.values : self.draws] = 1.0
            rows[scenario, self.n + self.values + scenario] = deepest
        allowed = np.floor(self.limits.loss_probability * self.draws + 1e-9)
        rows[-1, self.n + self.values :] = -1.0
        found.append(LinearConstraint(rows * money, np.r_[np.zeros(self.draws), -allowed], np.inf))
        return found
