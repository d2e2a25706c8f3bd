"""The allocation rules in force, as SQL that names the rule of each line, and what a rule's cost becomes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING

from django.db.models import QuerySet

from apps.accounts.models import Organisation, Team
from apps.billing.models import AllocationRule, AllocationVersion, RuleKind, SplitMethod
from finops.engine.spend import Window, split
from finops.engine.tag_keys import exact_keys

if TYPE_CHECKING:
    from apps.billing.selectors.spend_sql import Parameters

_COLUMNS = {
    RuleKind.ACCOUNT: "sub_account_id",
    RuleKind.SERVICE: "service_name",
    RuleKind.TAG: "tags",
    RuleKind.COST_CATEGORY: "x_cost_categories",
    RuleKind.RESOURCE: "resource_id",
}
# The id of a rule that is only proposed.
UNSAVED = 0
# Of a team that a rule names; None is nobody's.
TeamId = int | None
# The SQL of what a line has under a key: of kind "tag" or "category".
Cell = Callable[[str, str], str]


@dataclass(frozen=True)
class Rule:
    """One rule, read or proposed. `shares` are (team, share) of a divided cost, share None but for fixed."""

    id: int
    name: str
    priority: int
    kind: str
    key: str = ""
    values: tuple[str, ...] = ()
    pattern: str = ""
    valid_from: date | None = None
    valid_to: date | None = None
    team: TeamId = None
    split: str = ""
    shares: tuple[tuple[int, Decimal | None], ...] = ()


@dataclass(frozen=True)
class Allocation:
    """An organisation's rules in the order in which they are tried, its teams by id, and their version."""

    rules: tuple[Rule, ...] = ()
    teams: Mapping[int, str] = field(default_factory=dict)
    slugs: Mapping[int, str] = field(default_factory=dict)
    version: int = 0

    def splits_months(self, window: Window) -> bool:
        """Whether a rule begins or ends within a month of the window: months do not know whose cost is."""
        return any(
            (
                rule.valid_from is not None
                and window.start < rule.valid_from < window.end
                and rule.valid_from.day > 1
            )
            or (
                rule.valid_to is not None
                and window.start <= rule.valid_to < window.end
                and (rule.valid_to + timedelta(days=1)).day > 1
            )
            for rule in self.rules
        )

    @property
    def tags(self) -> set[str]:
        """Stored tag keys that the rules look at."""
        return {key for rule in self.rules if rule.kind == RuleKind.TAG for key in exact_keys(rule.key)}

    @property
    def categories(self) -> set[str]:
        """Cost categories that the rules look at."""
        return {rule.key for rule in self.rules if rule.kind == RuleKind.COST_CATEGORY}

    @property
    def columns(self) -> set[str]:
        """Columns that the rules look at."""
        return {_COLUMNS[RuleKind(rule.kind)] for rule in self.rules}

    @property
    def proportional(self) -> bool:
        """Whether a rule divides by what the teams cost themselves."""
        return any(rule.split == SplitMethod.PROPORTIONAL for rule in self.rules)

    def rule(self, number: int) -> Rule:
        """The rule of an id."""
        return self._by_id[number]

    @property
    def _by_id(self) -> dict[int, Rule]:
        return {rule.id: rule for rule in self.rules}


def in_order(rules: Iterable[Rule]) -> tuple[Rule, ...]:
    """As they are tried: smallest priority, then oldest; a rule that is not saved yet comes last."""
    return tuple(sorted(rules, key=lambda rule: (rule.priority, rule.id == UNSAVED, rule.id)))


def rule_of(row: AllocationRule) -> Rule:
    """A row with its shares as a rule."""
    return Rule(
        id=row.pk,
        name=row.name,
        priority=row.priority,
        kind=row.kind,
        key=row.key,
        values=tuple(row.values),
        pattern=row.pattern,
        valid_from=row.valid_from,
        valid_to=row.valid_to,
        team=row.team_id,
        split=row.split,
        shares=tuple((share.team_id, share.share) for share in row.shares.all()),
    )


def rule_list(organisation: Organisation) -> QuerySet[AllocationRule]:
    """The organisation's rules in the order in which they are tried."""
    return (
        AllocationRule.objects.filter(organisation=organisation)
        .select_related("team")
        .prefetch_related("shares__team")
    )


def allocation_version(organisation: Organisation | None) -> int:
    """The number of the rules in force; 0 before the first change."""
    found = AllocationVersion.objects.filter(organisation=organisation).values_list("number", flat=True)
    return found.first() or 0


def allocation_of(organisation: Organisation | None) -> Allocation:
    """The rules in force with the teams that they name."""
    if organisation is None:
        return Allocation()
    version = allocation_version(organisation)
    teams = list(Team.objects.filter(organisation=organisation))
    rules = tuple(rule_of(row) for row in rule_list(organisation)) if version else ()
    return Allocation(
        rules, {team.pk: team.name for team in teams}, {team.pk: team.slug for team in teams}, version
    )


def rule_sql(allocation: Allocation, day: str, given: Parameters, cell: Cell) -> str:
    """The id of the first rule that matches a line, NULL for none.

    `day` is the expression of its day, `cell` gives that of a tag or cost category.
    """
    if not allocation.rules:
        return "CAST(NULL AS BIGINT)"
    cases = " ".join(
        f"WHEN {_matches(rule, day, given, cell)} THEN {int(rule.id)}" for rule in allocation.rules
    )
    return f"CAST(CASE {cases} END AS BIGINT)"


def _matches(rule: Rule, day: str, given: Parameters, cell: Cell) -> str:
    if rule.kind == RuleKind.RESOURCE:
        parts = [f"regexp_matches(resource_id, {given.add(rule.pattern)})"]
    elif rule.kind == RuleKind.TAG:
        value = f"coalesce({', '.join(cell('tag', key) for key in exact_keys(rule.key))})"
        parts = [_any_value(value, rule.values, given)]
    elif rule.kind == RuleKind.COST_CATEGORY:
        parts = [_any_value(cell("category", rule.key), rule.values, given)]
    else:
        parts = [_any_value(_COLUMNS[RuleKind(rule.kind)], rule.values, given)]
    if rule.valid_from is not None:
        parts.append(f"{day} >= {given.add(rule.valid_from)}")
    if rule.valid_to is not None:
        parts.append(f"{day} <= {given.add(rule.valid_to)}")
    return f"({' AND '.join(parts)})"


def _any_value(expression: str, values: Sequence[str], given: Parameters) -> str:
    if not values:
        return f"{expression} <> ''"
    return f"{expression} IN ({', '.join(given.add(value) for value in values)})"


Own = Mapping[tuple[date, str, int], Decimal]


def divided(
    allocation: Allocation,
    number: int | None,
    amount: Decimal,
    *,
    month: date | None,
    currency: str,
    own: Own,
) -> list[tuple[TeamId, Decimal]]:
    """Whose the amount of a rule is: (team, part) that sum to it exactly; the team None is unallocated.

    `own`: what each team costs itself, by (month, currency, team): the weights of proportional rules. Where
    no team of such a rule costs anything in that month the amount stays unallocated.
    """
    if number is None:
        return [(None, amount)]
    rule = allocation.rule(number)
    if not rule.split:
        return [(rule.team, amount)]
    teams = [team for team, _ in rule.shares] or sorted(allocation.teams, key=lambda t: allocation.teams[t])
    if rule.split == SplitMethod.FIXED:
        weights = [share or Decimal(0) for _, share in rule.shares]
    elif rule.split == SplitMethod.EVEN:
        weights = [Decimal(1)] * len(teams)
    else:
        assert month is not None  # noqa: S101 - statements of proportional rules are grouped by month
        weights = [own.get((month, currency, team), Decimal(0)) for team in teams]
    parts = split(amount, weights)
    if parts is None:
        return [(None, amount)]
    return [(team, part) for team, part in zip(teams, parts, strict=True) if part or amount == 0]
