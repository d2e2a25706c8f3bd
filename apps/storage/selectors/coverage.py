"""Bytes listed against bytes billed: whether advice about a bucket is possible at all."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal

from django.utils.translation import gettext as _

from apps.accounts.models import Organisation
from apps.billing.selectors.storage_lines import Place, newest_billed_day, storage_lines
from apps.storage.models import Bucket, Listing
from apps.storage.selectors.buckets import bucket_of, buckets_visible, listing_of
from apps.storage.selectors.histograms import reported_of
from finops.engine.storage.billed import Billed, BillLine, Gap, billed_of, gap_of
from finops.frames.storage import GIB, STATES, BucketCoverage
from finops.frames.storage_classes import storage_classes, tiers
from finops.lake import facts

BUCKET, REGION = "bucket", "region"
# List prices are kept for this region; those of others lie within the range that a wrong unit leaves.
_PRICED_REGION = "us-east-1"


@dataclass(frozen=True)
class _Listed:
    """What is listed of a bucket, or of all buckets of a region."""

    bytes: Mapping[tuple[str, str], int]
    states: frozenset[str]
    listed_at: datetime | None
    log: tuple[date | None, date | None]


def coverage_of(
    bucket: str, organisation: Organisation | None = None, at: datetime | None = None
) -> BucketCoverage | None:
    """What is known of a bucket and whether it is enough for advice; None for one that nobody tells of.

    Where the bill names no buckets, all of the region's listed buckets together stand against its lines.
    """
    found = bucket_of(bucket, organisation=organisation)
    listed = _listed([found] if found else [], at)
    until = _until(listed, organisation, at)
    lines: dict[Place, list[BillLine]] = {}
    if until is not None:
        snapshots = facts.current_snapshots()
        lines = storage_lines(until, organisation=organisation, snapshots=snapshots, bucket=bucket)
    own = {p: told for p, told in lines.items() if p.bucket == bucket}
    if found is None and not own:
        return None
    place, told = next(iter(own.items())) if own else _of_region(found, lines)
    scope = BUCKET if own else REGION
    if scope == REGION and found is not None and told:
        listed = _listed(_neighbours(found, organisation), at, of=listed)
    return _answer(found, bucket, place, told, listed, until, scope)


def coverages_of(
    organisation: Organisation | None = None, at: datetime | None = None
) -> list[BucketCoverage]:
    """Of every bucket that is listed or billed, by name."""
    names = set(buckets_visible(organisation=organisation).values_list("name", flat=True))
    until = at.date() if at else newest_billed_day(organisation=organisation)
    if until is not None:
        snapshots = facts.current_snapshots()
        lines = storage_lines(until, organisation=organisation, snapshots=snapshots)
        names |= {place.bucket for place in lines if place.bucket}
    found = (coverage_of(name, organisation, at) for name in sorted(names))
    return [one for one in found if one is not None]


def listed_bytes(bucket: Bucket, *, at: datetime | None) -> dict[tuple[str, str], int]:
    """Bytes by class and state: of the listing, and of the report of totals for states it does not hold."""
    return dict(_listed([bucket], at).bytes)


def _until(listed: _Listed, organisation: Organisation | None, at: datetime | None) -> date | None:
    if listed.listed_at is not None:
        return listed.listed_at.date()
    return at.date() if at else newest_billed_day(organisation=organisation)


def _listed(buckets: Iterable[Bucket], at: datetime | None, of: _Listed | None = None) -> _Listed:
    """`of`: whose listing time and log stand for all of them."""
    sums: dict[tuple[str, str], int] = defaultdict(int)
    states: set[str] | None = None
    listing: Listing | None = None
    for bucket in buckets:
        listing = listing_of(bucket, at=at)
        held = set(listing.states) if listing else set()
        if listing is not None:
            for storage_class, state, size in listing.cells.values_list("storage_class", "state", "bytes"):
                sums[storage_class, state] += size
        for part in reported_of(bucket, at=at).exclude(state__in=held):
            sums[part.storage_class, part.state] += part.bytes
            held.add(part.state)
        # A state counts as listed for several buckets when it is for each of them.
        states = held if states is None else states & held
    if of is not None:
        return _Listed(dict(sums), frozenset(states or ()), of.listed_at, of.log)
    log = (listing.log_from, listing.log_to) if listing else (None, None)
    return _Listed(dict(sums), frozenset(states or ()), listing.listed_at if listing else None, log)


def _neighbours(bucket: Bucket, organisation: Organisation | None) -> list[Bucket]:
    seen = buckets_visible(organisation=organisation).filter(provider=bucket.provider)
    return list(seen.filter(region=bucket.region, account=bucket.account))


def _of_region(
    bucket: Bucket | None, lines: Mapping[Place, list[BillLine]]
) -> tuple[Place | None, list[BillLine]]:
    """The lines without a bucket of the region and account that a bucket lies in, as far as it is known."""
    if bucket is None:
        return None, []
    fitting = {
        place: told
        for place, told in lines.items()
        if not place.bucket
        and place.provider == bucket.provider
        and place.region == bucket.region
        and (not bucket.account or place.account == bucket.account)
    }
    if not fitting:
        return None, []
    return next(iter(fitting)), [line for told in fitting.values() for line in told]


def _prices(provider: str, on: date) -> dict[tuple[str, str], Decimal]:
    found: dict[tuple[str, str], Decimal] = {}
    for name, storage_class in storage_classes(provider, _PRICED_REGION, on).items():
        found[name, ""] = storage_class.per_gib_month
        for tier in tiers(provider, _PRICED_REGION, name, on, opt_in=True):
            found[name, tier.name] = tier.per_gib_month
    return found


def _answer(
    bucket: Bucket | None,
    name: str,
    place: Place | None,
    lines: list[BillLine],
    listed: _Listed,
    until: date | None,
    scope: str,
) -> BucketCoverage:
    provider = bucket.provider if bucket else (place.provider if place else "")
    billed = Billed()
    if until is not None and lines:
        billed = billed_of(lines, provider, listed_on=until, prices=_prices(provider, until))
    total = sum(billed.gib.values(), Decimal(0))
    gap: Gap | None = None
    if total > 0 and listed.listed_at is not None:
        gap = gap_of(billed.gib, listed.bytes, states=[s for s in STATES if s in listed.states])
    code = _code(listed, billed, total, gap)
    missing = gap.missing if gap else ()
    if code == "gap" and scope == REGION and gap is not None and gap.gap_bytes > 0:
        missing = (*missing, "bucket")
    if listed.listed_at is None:
        missing = (f"bucket {name}",)
    return BucketCoverage(
        provider=provider,
        region=(bucket.region if bucket else "") or (place.region if place else ""),
        account=(bucket.account if bucket else "") or (place.account if place else ""),
        bucket=name,
        listed_at=listed.listed_at,
        log_from=listed.log[0],
        log_to=listed.log[1],
        listed=listed.bytes,
        billed_gib_months=billed.months,
        billed_gib=billed.gib,
        billed_cost=billed.cost,
        currency=billed.currency,
        billed_from=billed.start,
        billed_to=billed.end,
        gap_bytes=gap.gap_bytes if gap else None,
        gap_share=gap.share if gap else None,
        missing=missing,
        versioning=(bucket.versioning or None) if bucket else None,
        blocked=bool(code),
        reason=_sentence(code, billed, gap, missing, scope),
        reason_code=code,
        scope=scope,
        charges=billed.charges,
    )


def _code(listed: _Listed, billed: Billed, total: Decimal, gap: Gap | None) -> str:
    if billed.bad_unit:
        return "unit"
    if billed.bad_rate:
        return "rate"
    if listed.listed_at is None:
        return "no-listing"
    if total <= 0 or gap is None:
        return "no-bill"
    return gap.code


def part_name(part: str) -> str:
    """What a missing part is called in a sentence."""
    kind, _sep, name = part.partition(" ")
    if kind == "class":
        return _("the class %(name)s") % {"name": name}
    if kind == "bucket":
        return _("the bucket %(name)s") % {"name": name} if name else _("a bucket that is not listed")
    words = {"noncurrent": _("noncurrent versions"), "incomplete": _("unfinished uploads")}
    return words.get(part, part)


def _sentence(code: str, billed: Billed, gap: Gap | None, missing: Iterable[str], scope: str) -> str:
    if code == "gap" and gap is not None:
        gib = Decimal(gap.gap_bytes) / GIB
        share = f"{abs(gap.share * 100):.1f}"
        parts = [part_name(part) for part in missing]
        if gap.gap_bytes < 0:
            return _("The listing holds %(gib)s GiB more than is billed (%(share)s %%).") % {
                "gib": f"{-gib:.0f}", "share": share,
            }  # fmt: skip
        told = {"gib": f"{gib:.0f}", "share": share, "parts": _(" and ").join(parts)}
        where = (
            _("%(gib)s GiB of the region's bill (%(share)s %%) are not listed.")
            if scope == REGION
            else _("%(gib)s GiB of the bucket's bill (%(share)s %%) are not listed.")
        )
        if not parts:
            return where % told
        lacking = _("Missing from the listing: %(parts)s.") % told
        return f"{where % told} {lacking}"
    words = {
        "unit": _("A line of the bill has a unit that is not known (%(line)s).") % {"line": billed.bad_unit},
        "rate": _("A line of the bill costs per GiB-month what no class does (%(line)s): its unit is wrong.")
        % {"line": billed.bad_rate},
        "no-listing": _("Nothing lists this bucket: import an inventory of it."),
        "no-bill": _("No bill names this bucket: what is billed cannot be compared with what is listed."),
    }
    return words.get(code, "")
