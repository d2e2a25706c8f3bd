"""Which policies are compared for a group of objects."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from finops.engine.storage.tiering import DELETE, Policy, Step
from finops.frames.storage import INCOMPLETE
from finops.frames.storage_terms import StorageTerms

# Ages at which a rule may act. Finer ones differ by less than what is known about reads.
AGES = (0, 30, 60, 90, 180, 365)
# Between two moves of one rule: what is not in the second class sooner than this pays the first one's fees
# for nothing.
BETWEEN = 30
ABORT_DAYS = 7


@dataclass(frozen=True)
class Wishes:
    """What the owner of the bytes has said. `instant`: reads may not wait for a restore. `one_zone`: bytes
    may lie in one zone only. `delete_after`: days after which the owner lets these objects go, None where
    nobody said so. `life_days`: they are deleted at that age whatever is advised, by those who write them.
    """

    instant: bool = True
    one_zone: bool = False
    delete_after: int | None = None
    life_days: int | None = None


def candidates(places: Sequence[str], state: str, wishes: Wishes, terms: StorageTerms) -> list[Policy]:
    """The policies for objects that lie in the classes `places`; staying is always the first.

    Unfinished uploads are given up, nothing else: no rule can move them.
    """
    found = [Policy()]
    if state == INCOMPLETE:
        return [*found, Policy((Step(ABORT_DAYS, DELETE),))]
    chains = [(), *_chains(places, wishes, terms)]
    if wishes.delete_after is None:
        return [*found, *(Policy(steps) for steps in chains if steps)]
    end = Step(wishes.delete_after, DELETE)
    for steps in chains:
        if steps and steps[-1].after_days >= end.after_days:
            continue
        found.append(Policy((*steps, end)))
    return [*found, *(Policy(steps) for steps in chains if steps)]


def allowed(policy: Policy, wishes: Wishes, terms: StorageTerms) -> str:
    """ "" or why the policy may not be taken: "wait" (a read would wait for a restore), "one zone"."""
    for step in policy.steps:
        if step.to == DELETE:
            continue
        if wishes.instant and not terms.classes[step.to].instant:
            return "wait"
        if not wishes.one_zone and step.to in terms.single_zone:
            return "one zone"
    return ""


def _chains(places: Sequence[str], wishes: Wishes, terms: StorageTerms) -> Iterator[tuple[Step, ...]]:
    """One move, or two, that at least one of the classes may make."""
    targets = [
        name
        for name in terms.classes
        if any((place, name) in terms.moves for place in places if place != name)
    ]
    for to in targets:
        for age in _ages(to, terms):
            yield (Step(age, to),)
    for first in targets:
        if first in terms.tiers or not terms.classes[first].instant:
            continue
        for second in targets:
            if (first, second) not in terms.moves or second in terms.tiers or second in terms.single_zone:
                continue
            if first in terms.single_zone:
                continue
            yield from _two(first, second, terms)


def _two(first: str, second: str, terms: StorageTerms) -> Iterator[tuple[Step, ...]]:
    begin = _ages(first, terms)[0]
    for age in AGES:
        if age >= begin + max(BETWEEN, terms.classes[first].min_days) and age in _ages(second, terms):
            yield (Step(begin, first), Step(age, second))


def _ages(to: str, terms: StorageTerms) -> list[int]:
    """Ages for a move into a class. The automatic class looks at reads itself: early or not at all."""
    least = terms.least_days.get(to, 0)
    ages = [age for age in AGES if age >= least]
    return [age for age in ages if age <= 30] if to in terms.tiers else ages
