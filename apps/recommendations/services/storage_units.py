"""What storage advice decides about: the objects of one prefix and state, with all that is known of them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from datetime import datetime

from apps.accounts.models import Organisation
from apps.billing.selectors.storage_lines import storage_lines
from apps.ingest.selectors import current_snapshots
from apps.recommendations.models import StorageMark
from apps.storage.models import Bucket
from apps.storage.selectors import buckets_visible, coverage_of, histogram_of, reads_of
from apps.storage.selectors.prices import terms_of
from finops.engine.storage.advise import Advised, advise
from finops.engine.storage.bill import StorageError
from finops.engine.storage.candidates import Wishes
from finops.engine.storage.lifecycle import Rule, rule_of
from finops.engine.storage.outlook import Hazard, learn
from finops.frames.storage import (
    CURRENT,
    INCOMPLETE,
    NO_PREFIX,
    NONCURRENT,
    OTHER_PREFIX,
    BucketCoverage,
    ReadsHistory,
    StorageCell,
)
from finops.frames.storage_terms import StorageTerms

Marks = Mapping[tuple[str, str], StorageMark]


@dataclass(frozen=True)
class Unit:
    """One prefix and state: its cells by class, what the owner said, and the advice. `advised` is None where
    nothing could be costed; `blocked` is "" or the code of why no advice is given, `words` the reason in
    words where it comes from the bucket.
    """

    bucket: Bucket
    prefix: str
    state: str
    groups: Mapping[str, Sequence[StorageCell]]
    terms: StorageTerms | None
    hazard: Hazard | None
    wishes: Wishes
    mark: StorageMark | None
    advised: Advised | None
    blocked: str = ""
    words: str = ""

    @property
    def key(self) -> str:
        """Names it in one organisation, the same in every answer."""
        return f"storage:{self.bucket.provider}:{self.bucket.name}:{self.prefix}:{self.state}"[:300]

    @property
    def rule(self) -> Rule | None:
        """The lifecycle rule of the advice; None where nothing is advised or no such rule exists."""
        found = self.advised
        if self.blocked or found is None or found.best is None or found.verdict != "move":
            return None
        if self.bucket.provider != "aws":
            return None
        kept = self.mark.keep_versions if self.mark is not None and self.state == NONCURRENT else None
        return rule_of(self.prefix, self.state, found.best.policy, keep_versions=kept)


@dataclass(frozen=True)
class Looked:
    """A bucket with its coverage and units."""

    bucket: Bucket
    coverage: BucketCoverage | None
    reads: ReadsHistory | None
    units: tuple[Unit, ...]


def buckets_asked(organisation: Organisation | None, *, name: str = "", provider: str = "") -> list[Bucket]:
    """The buckets that are asked for, of those the organisation sees."""
    found = buckets_visible(organisation=organisation)
    if name:
        found = found.filter(name=name)
    if provider:
        found = found.filter(provider=provider)
    return list(found)


def billed_only(
    rows: Sequence[Bucket], *, organisation: Organisation | None, at: datetime, name: str = ""
) -> list[str]:
    """Names of buckets that the bill tells of and nobody listed; `name`: this one only."""
    known = {row.name for row in rows}
    lines = storage_lines(
        at.date(),
        organisation=organisation,
        snapshots=current_snapshots(),
        **({"bucket": name} if name else {}),
    )
    return sorted({place.bucket for place in lines if place.bucket} - known)


def look(bucket: Bucket, *, organisation: Organisation | None, at: datetime) -> Looked:
    """Everything about one bucket at a time."""
    coverage = coverage_of(bucket.name, organisation, at)
    if not bucket.region and coverage is not None:
        # An inventory names no region, the bill does; the row stays as it was listed.
        bucket = copy(bucket)
        bucket.region = coverage.region
    cells = [cell for cell in histogram_of(bucket.name, organisation, at) if cell.provider == bucket.provider]
    history = reads_of(bucket.name, organisation, at)
    terms = terms_of(bucket.provider, bucket.region, at.date(), organisation=organisation)
    marks = _marks(bucket, organisation)
    units = tuple(_unit(bucket, where, groups, history, terms, marks) for where, groups in _groups(cells))
    if coverage is not None and coverage.blocked:
        units = tuple(_stopped(unit, coverage) for unit in units)
    return Looked(bucket, coverage, history, units)


def _groups(
    cells: Sequence[StorageCell],
) -> Iterator[tuple[tuple[str, str, bool], dict[str, list[StorageCell]]]]:
    """((prefix, state, whether a rule would meet other prefixes), cells by class), largest first.

    Unfinished uploads are one group a bucket: what gives them up is the same everywhere.
    """
    found: dict[tuple[str, str], dict[str, list[StorageCell]]] = defaultdict(lambda: defaultdict(list))
    prefixes: dict[str, set[str]] = defaultdict(set)
    for cell in cells:
        prefix = NO_PREFIX if cell.state == INCOMPLETE else cell.prefix
        found[prefix, cell.state][cell.storage_class].append(cell)
        prefixes[cell.state].add(prefix)
    order = sorted(
        found.items(), key=lambda one: -sum(cell.bytes for cells in one[1].values() for cell in cells)
    )
    for (prefix, state), groups in order:
        shared = prefix == NO_PREFIX and len(prefixes[state]) > 1
        yield (prefix, state, shared), {name: groups[name] for name in sorted(groups)}


def _marks(bucket: Bucket, organisation: Organisation | None) -> Marks:
    rows = StorageMark.objects.filter(organisation=organisation, provider=bucket.provider, bucket=bucket.name)
    return {(row.prefix, row.state): row for row in rows}


def wishes_of(mark: StorageMark | None) -> Wishes:
    """What the owner said, as the engine takes it."""
    if mark is None:
        return Wishes()
    return Wishes(
        instant=not mark.may_wait,
        one_zone=mark.one_zone,
        delete_after=mark.delete_after,
        life_days=mark.life_days,
    )


def _unit(
    bucket: Bucket,
    where: tuple[str, str, bool],
    groups: Mapping[str, Sequence[StorageCell]],
    history: ReadsHistory | None,
    terms: StorageTerms | None,
    marks: Marks,
) -> Unit:
    prefix, state, shared = where
    # A word is about its own prefix: one about objects without a prefix says nothing of the others.
    mark = marks.get((prefix, state))
    wishes = wishes_of(mark)
    hazard = hazard_of(history, prefix, state, groups)
    advised, blocked, words = None, "", ""
    if terms is None:
        blocked = "no prices"
    else:
        try:
            advised = advise(groups, state=state, hazard=hazard, terms=terms, wishes=wishes)
        except StorageError as error:
            blocked, words = ("no sizes", "") if error.field == "size" else ("class", str(error))
    if not blocked and prefix == OTHER_PREFIX:
        blocked = "other prefixes"
    if not blocked and shared:
        blocked = "root"
    return Unit(bucket, prefix, state, groups, terms, hazard, wishes, mark, advised, blocked, words)


def hazard_of(
    history: ReadsHistory | None,
    prefix: str,
    state: str,
    groups: Mapping[str, Sequence[StorageCell]],
) -> Hazard | None:
    """What the log tells of this prefix; None where it covers none of its objects.

    Logs do not tell reads of old versions from those of current objects.
    """
    cells = [cell for found in groups.values() for cell in found]
    if history is None or state != CURRENT or any(cell.idle_from is None for cell in cells):
        return None
    objects = sum(cell.objects for cell in cells)
    mean = sum(cell.bytes for cell in cells) / objects if objects else 0.0
    mine = [cell for cell in history.cells if cell.prefix == prefix]
    return learn(mine, first=history.first_day, last=history.last_day, mean_bytes=mean)


def _stopped(unit: Unit, coverage: BucketCoverage) -> Unit:
    return Unit(
        unit.bucket, unit.prefix, unit.state, unit.groups, unit.terms, unit.hazard, unit.wishes, unit.mark,
        unit.advised, unit.blocked or coverage.reason_code or "gap", unit.words or coverage.reason,
    )  # fmt: skip
