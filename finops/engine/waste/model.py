"""What rules of waste look at and what they answer.

    monthly cost = amortised cost of the judged days / hours from the first line in them to their end x
    730 h

A resource whose last line ends more than GRACE before the end of the bill is gone: stopping it saves
nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import cached_property
from zoneinfo import ZoneInfo

from finops.frames.waste import (
    MONTH_HOURS,
    ZERO,
    Key,
    Listed,
    Measured,
    OwnedPart,
    Rule,
    Told,
    TypeFacts,
    Use,
    waste_rules,
)

# Hours that a resource may be missing at the end of a bill before it counts as gone.
GRACE = timedelta(hours=48)
WORKDAYS = 5
# Tags that keep a resource whatever its lines say, unless a team names others.
KEEP_TAGS = "keep,retain,do-not-delete"
_NO = frozenset({"", "false", "no", "0", "none", "off"})
_TAG_PREFIXES = ("user:", "resource_tags_user_", "user_", "aws:")


@dataclass(frozen=True, slots=True)
class Setting:
    """What an organisation (`team` "") or a team says of a rule. Without accounts or regions:
    everywhere.
    """

    rule: str
    team: str = ""
    enabled: bool = True
    thresholds: Mapping[str, str] = field(default_factory=dict)
    accounts: frozenset[str] = frozenset()
    regions: frozenset[str] = frozenset()

    def covers(self, key: Key) -> bool:
        """Whether the rule is asked of a resource there."""
        return (not self.accounts or key.account in self.accounts) and (
            not self.regions or key.region in self.regions
        )


@dataclass(frozen=True, slots=True)
class Params:
    """A rule's thresholds for one resource."""

    values: Mapping[str, str]
    enabled: bool

    def number(self, name: str) -> Decimal:
        """A threshold as a number."""
        return Decimal(self.values[name])

    def words(self, name: str) -> frozenset[str]:
        """A threshold as words without letter case."""
        return frozenset(word.strip().casefold() for word in self.values[name].split(",") if word.strip())


@dataclass(frozen=True, slots=True)
class Target:
    """A type that holds what was measured; amounts of a month of the hours that the resource ran.

    `on_demand`: at the resource's own price an hour times the ratio of the list prices; `with_commitments`:
    the part of it that neither what pays for the resource now nor a spare reservation would pay; `spot`: at
    the mean Spot price, null where that is not known. `kept_share`: of its hours, paid by what pays now.
    """

    name: str
    vcpus: int
    memory_mib: int
    on_demand: Decimal
    with_commitments: Decimal
    spot: Decimal | None
    kept_share: Decimal
    spare_share: Decimal
    architecture: bool
    burst: bool
    later: bool


@dataclass(frozen=True)
class Candidate:
    """What a rule found at one resource. Amounts are of a month of 730 h, in `currency`.

    `saving` is expected; `low`, `high` are given where the rule itself knows them, else they come from
    how the days differ. `kinds`: whose days. `facts` and `codes` are what the sentence needs, `target`
    what the command does. `confidence` (0-1) lowers the lower end. `uncovered`: the cost without what a
    commitment paid. `effort`: another than the rule's; `targets`: what it could become, cheapest first.
    """

    rule: str
    key: Key
    kinds: tuple[str, ...]
    currency: str
    monthly_cost: Decimal
    saving: Decimal
    low: Decimal | None = None
    high: Decimal | None = None
    facts: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    target: Mapping[str, str] = field(default_factory=dict)
    confidence: float = 1.0
    uncovered: Decimal = ZERO
    effort: str = ""
    targets: tuple[Target, ...] = ()


@dataclass(frozen=True)
class Kept:
    """A resource that a rule's condition holds for and that saves nothing: `code` says why."""

    rule: str
    key: Key
    currency: str
    monthly_cost: Decimal
    code: str
    facts: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Unjudged:
    """A rule that could not be asked, of everything or of one resource (`key`)."""

    rule: str
    code: str
    facts: Mapping[str, str] = field(default_factory=dict)
    key: Key | None = None


Outcome = Candidate | Kept | Unjudged


@dataclass
class World:
    """Everything that the rules look at, of the judged days [start, end).

    `types`: by (region, platform), then name; `first_seen`: the first line ever of snapshots, `history`:
    since when bills are stored; `free`: (last, first) line under the free tier by (account, usage type);
    `shares`: list price of one thing by another's ("gp3/gp2", "snapshot/gp2", "iops/gp2"); `sizes`: vCPUs
    and memory of types that classes of databases are named after.
    """

    start: datetime
    end: datetime
    uses: Sequence[Use]
    told: Mapping[Key, Told] = field(default_factory=dict)
    listed: Mapping[str, Listed] = field(default_factory=dict)
    measured: Mapping[str, Mapping[str, Measured]] = field(default_factory=dict)
    types: Mapping[tuple[str, str], Mapping[str, TypeFacts]] = field(default_factory=dict)
    first_seen: Mapping[Key, datetime] = field(default_factory=dict)
    history: datetime | None = None
    free: Mapping[tuple[str, str], tuple[datetime, datetime]] = field(default_factory=dict)
    shares: Mapping[str, Decimal] = field(default_factory=dict)
    settings: Sequence[Setting] = ()
    commitments: Sequence[OwnedPart] = ()
    sizes: Mapping[str, TypeFacts] = field(default_factory=dict)

    @cached_property
    def by_kind(self) -> dict[str, list[Use]]:
        """Uses of each kind."""
        found: dict[str, list[Use]] = {}
        for use in self.uses:
            found.setdefault(use.kind, []).append(use)
        return found

    @cached_property
    def by_key(self) -> dict[Key, dict[str, Use]]:
        """Uses of each resource by kind."""
        found: dict[Key, dict[str, Use]] = {}
        for use in self.uses:
            found.setdefault(use.key, {})[use.kind] = use
        return found

    @cached_property
    def working_time(self) -> tuple[str, int, int]:
        """(time zone, first hour, hour after the last) of Monday to Friday, as the organisation says."""
        values = dict(waste_rules()["nights-and-weekends"].thresholds)
        for setting in self.settings_of("nights-and-weekends", ""):
            values.update(setting.thresholds)
        return values["timezone"], int(values["from_hour"]), int(values["to_hour"])

    @cached_property
    def nights(self) -> list[int]:
        """Hours of the judged days that begin outside of working time, in order."""
        return night_hours(self.start, self.end, *self.working_time)

    def of(self, *kinds: str) -> Iterator[Use]:
        """Uses of these kinds."""
        for kind in kinds:
            yield from self.by_kind.get(kind, ())

    def metrics(self, key: Key) -> Mapping[str, Measured]:
        """What was measured of a resource, by its name on the bill or by the last part of its ARN, where no
        other resource of the bill ends in the same.
        """
        found = self.measured.get(key.resource)
        if found is None:
            short = short_name(key.resource)
            found = self.measured.get(short, {}) if len(self._by_short[short]) == 1 else {}
        return found

    @cached_property
    def _by_short(self) -> dict[str, set[Key]]:
        """Resources by the last part of their names."""
        found: dict[str, set[Key]] = {}
        for key in self.by_key:
            found.setdefault(short_name(key.resource), set()).add(key)
        return found

    def params(self, rule: Rule, key: Key) -> Params:
        """The rule's thresholds for a resource: the table's, then the organisation's, then its team's."""
        values = {"keep_tags": KEEP_TAGS, **rule.thresholds}
        enabled = True
        team = self.told[key].team if key in self.told else ""
        for setting in self.settings_of(rule.id, team):
            values.update(setting.thresholds)
            enabled = setting.enabled and setting.covers(key)
        return Params(values, enabled)

    def settings_of(self, rule: str, team: str) -> list[Setting]:
        """The organisation's word, then the team's."""
        found = [one for one in self.settings if one.rule == rule and one.team in {"", team}]
        return sorted(found, key=lambda one: one.team != "")

    def gone(self, use: Use) -> bool:
        """Whether the resource has left the bill."""
        return use.last < self.end - GRACE

    def span_hours(self, use: Use) -> Decimal:
        """Hours that the use is spread over: to the end of the bill, of one that is gone to its last
        line.
        """
        until = use.last if self.gone(use) else max(self.end, use.last)
        seconds = (until - max(use.first, self.start)).total_seconds()
        return Decimal(max(seconds, 3600.0)) / 3600

    def monthly(self, use: Use, amount: Decimal) -> Decimal:
        """An amount of the use's days as that of a month."""
        return amount / self.span_hours(use) * MONTH_HOURS

    def seen_days(self, use: Use) -> Decimal:
        """Days since its first line in the window."""
        return self.span_hours(use) / 24

    def tag(self, key: Key, name: str) -> str:
        """The value of a tag of the newest line, whatever way the bill writes its key; "" without."""
        told = self.told.get(key)
        return "" if told is None else plain_tags(told.tags).get(name.casefold(), "")

    def keeps(self, params: Params, key: Key) -> bool:
        """Whether a tag says that the resource stays."""
        told = self.told.get(key)
        if told is None:
            return False
        tags = plain_tags(told.tags)
        return any(tags.get(name, "").casefold() not in _NO for name in params.words("keep_tags"))


def short_name(resource: str) -> str:
    """The last part of an ARN.

    >>> short_name("arn:aws:rds:us-east-1:1:db:shop"), short_name("arn:aws:ec2:us-east-1:1:snapshot/snap-1")
    ('shop', 'snap-1')
    """
    return resource.rpartition("/")[2].rpartition(":")[2]


def night_hours(start: datetime, end: datetime, zone: str, from_hour: int, to_hour: int) -> list[int]:
    """Whole hours since 1970 in [start, end) that begin outside of working time.

    >>> from datetime import datetime, UTC
    >>> len(night_hours(datetime(2026, 3, 2, tzinfo=UTC), datetime(2026, 3, 9, tzinfo=UTC), "UTC", 7, 19))
    108
    """
    local = ZoneInfo(zone)
    first = int(start.timestamp()) // 3600
    last = -(-int(end.timestamp()) // 3600)
    found = []
    for hour in range(first, last):
        at = datetime.fromtimestamp(hour * 3600, UTC).astimezone(local)
        if at.weekday() >= WORKDAYS or not from_hour <= at.hour < to_hour:
            found.append(hour)
    return found


def plain_tags(tags: Mapping[str, str]) -> dict[str, str]:
    """Tags by the plain, folded key: `user:Environment` and `resource_tags_user_environment` are one.

    >>> plain_tags({"user:Environment": "Dev"})
    {'environment': 'Dev'}
    """
    found: dict[str, str] = {}
    for name, value in tags.items():
        bare = name.casefold()
        for prefix in _TAG_PREFIXES:
            bare = bare.removeprefix(prefix)
        if value or bare not in found:
            found[bare] = value or ""
    return found


def uncovered(use: Use) -> Decimal | None:
    """Amortised cost without what a commitment paid; None where it is not known."""
    return None if use.cost is None else use.cost - use.covered_cost


def amount_text(value: Decimal, places: int = 4) -> str:
    """A number for a sentence: no exponent, no trailing zeros."""
    text = format(value.quantize(Decimal(1).scaleb(-places)), "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def settled(
    world: World, rule: Rule, uses: Iterable[Use], saving: Decimal | None, **given: object
) -> Outcome:
    """The outcome for one resource: a candidate, or kept because it is gone, covered or has a tag.

    `uses`: all that would end with it, the first names it. `saving`: of the judged days; None: all that no
    commitment covers.
    """
    all_of = list(uses)
    first = all_of[0]
    if any(use.cost is None for use in all_of):
        return Unjudged(rule.id, "no-cost", {"resource": first.key.resource}, first.key)
    cost = sum((world.monthly(use, use.cost or ZERO) for use in all_of), ZERO)
    free = sum((world.monthly(use, uncovered(use) or ZERO) for use in all_of), ZERO)
    amount = free if saving is None else world.monthly(first, saving)
    params = world.params(rule, first.key)
    facts = dict(given.pop("facts", {}) or {})  # type: ignore[call-overload]
    if world.gone(first):
        facts |= {"last": first.last.isoformat(), "cost": amount_text(first.cost or ZERO)}
        return Kept(rule.id, first.key, first.currency, cost, "gone", facts)
    if rule.doing in ("delete", "stop") and world.keeps(params, first.key):
        return Kept(rule.id, first.key, first.currency, cost, "keep-tag", facts)
    if amount <= 0:
        code = "covered" if any(use.covered_cost or use.covered for use in all_of) else "nothing"
        return Kept(rule.id, first.key, first.currency, cost, code, facts)
    notes: tuple[str, ...] = tuple(given.pop("notes", ()))  # type: ignore[arg-type]
    if any(use.covered > 0 for use in all_of):
        notes = (*notes, "partly-covered")
    return Candidate(
        rule.id, first.key, tuple(use.kind for use in all_of), first.currency, cost, amount,
        facts=facts, notes=notes, uncovered=free, **given,  # type: ignore[arg-type]
    )  # fmt: skip


def quantile(sorted_values: Sequence[Decimal], share: Decimal) -> Decimal:
    """Linear between the two nearest.

    >>> quantile([Decimal(1), Decimal(3)], Decimal("0.5"))
    Decimal('2.0')
    """
    place = share * (len(sorted_values) - 1)
    low = int(place)
    high = min(low + 1, len(sorted_values) - 1)
    return sorted_values[low] + (sorted_values[high] - sorted_values[low]) * (place - low)


def interval(candidate: Candidate, days: Sequence[Decimal]) -> tuple[Decimal, Decimal]:
    """(low, high) of the saving: what the rule says, else by how the resource's days differ.

    The 5th and 95th percentile of its whole days against their mean; the first and the last day are cut
    off and left out where there are others. Of fewer than four days nothing is known: from 0 to what they
    show.
    """
    saving = candidate.saving
    low, high = candidate.low, candidate.high
    whole = sorted(days[1:-1] if len(days) > 3 else days)
    mean = sum(whole, ZERO) / len(whole) if whole else ZERO
    if low is None:
        share = quantile(whole, Decimal("0.05")) / mean if len(whole) > 1 and mean > 0 else ZERO
        low = saving * min(share, Decimal(1)) * Decimal(repr(candidate.confidence))
    if high is None:
        share = quantile(whole, Decimal("0.95")) / mean if len(whole) > 1 and mean > 0 else Decimal(1)
        high = saving * max(share, Decimal(1))
    return min(low, saving), max(high, saving)
