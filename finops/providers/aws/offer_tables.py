"""Commitments on offer from a CSV with a header: a person's own list of marketplace offers.

Columns: `offer`, `instance_type`, `platform`, `region` (or a zone that tells it), `fixed_price`, `hourly`,
`currency`, and what is left of the term as `hours_left`, `months_left` (730 hours each) or `ends_at`.
May be there: `zone`, `tenancy`, `class`, `payment`, `count`, `seen_at`, `kind`. Without `tenancy` it is
default, without `count` one, without `kind` second-hand: the reading says so. A class that is not told is
unknown, which is never taken for one that may be sold. An hourly charge is never guessed: a file without
the column is refused.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation

from finops.frames.offers import Offer, OfferingClass, OfferKey, OfferKind, check, platform_of
from finops.providers.aws.locations import region_code
from finops.providers.aws.offers import PROVIDER
from finops.providers.aws.reading import Reading, instant
from finops.providers.aws.reserved_offers import PAYMENTS, class_of, region_of_zone

NEEDED = frozenset({"offer", "instance_type", "platform", "fixed_price", "hourly", "currency"})
LEFT = ("hours_left", "months_left", "ends_at")
MONTH_HOURS = 730
_ASSUMED = {"tenancy": "default", "count": "1", "kind": OfferKind.SECOND_HAND.value}


def is_offers_table(header: Iterable[str]) -> bool:
    """Whether a header is that of such a table."""
    names = {_plain(name) for name in header}
    return names >= {"offer", "instance_type"} and ("fixed_price" in names or bool(names & set(LEFT)))


def _plain(name: str) -> str:
    return name.strip().lstrip("\ufeff").casefold().replace(" ", "_").replace("-", "_")


def read_offers_csv(lines: Iterable[str], *, seen_at: datetime, region: str = "") -> Reading[Offer]:
    """The offers of a table; `region` and `seen_at` hold where the row has none of its own."""
    table = csv.DictReader(iter(lines))
    table.fieldnames = [_plain(name) for name in table.fieldnames or []]
    names = set(table.fieldnames)
    if missing := sorted(NEEDED - names):
        return Reading.unreadable(f"no column {', '.join(missing)}", missing[0])
    if not names & set(LEFT):
        return Reading.unreadable(f"no column for what is left: {', '.join(LEFT)}", LEFT[0])
    reading: Reading[Offer] = Reading()
    reading.assumed.update({name: value for name, value in _ASSUMED.items() if name not in names})
    for row, record in enumerate(table, start=1):
        told = {name: (value or "").strip() for name, value in record.items() if isinstance(name, str)}
        found = _offer(told, seen_at, region)
        if isinstance(found, Offer):
            reading.rows.append((row, found))
        else:
            reading.refuse(row, *found)
    return reading


def _offer(told: Mapping[str, str], seen_at: datetime, region: str) -> Offer | tuple[str, str]:
    seen = instant(told["seen_at"]) if told.get("seen_at") else seen_at
    if seen is None:
        return "seen_at", f"no time: {told['seen_at']!r}"
    numbers: dict[str, Decimal] = {}
    for name in ("fixed_price", "hourly", "count"):
        value = _number(told.get(name) or (_ASSUMED.get(name, "") if name not in told else ""))
        if value is None:
            return name, f"no number: {told.get(name, '')!r}"
        numbers[name] = value
    if numbers["count"] != int(numbers["count"]):
        return "count", f"no whole number: {told['count']!r}"
    hours = _hours(told, seen)
    if not isinstance(hours, Decimal):
        return hours
    words = _words(told, region)
    if isinstance(words, tuple):
        return words
    offer = Offer(
        offer=told["offer"], kind=OfferKind(told.get("kind") or _ASSUMED["kind"]), key=words,
        offering_class=class_of(told.get("class", "")), payment=_payment(told, numbers),
        duration_hours=hours, fixed=numbers["fixed_price"], hourly=numbers["hourly"],
        currency=told["currency"].upper(), count=int(numbers["count"]), seen_at=seen.astimezone(UTC),
    )  # fmt: skip
    problem = "offer is empty" if not offer.offer else check(offer)
    field = {"fixed": "fixed_price", "duration": "hours_left"}
    name = problem.partition(" ")[0]
    return (field.get(name, name), problem) if problem else offer


def _words(told: Mapping[str, str], region: str) -> OfferKey | tuple[str, str]:
    """What it applies to, or (field, reason)."""
    zone = told.get("zone", "")
    code = region_code(told.get("region", "")) or region or region_of_zone(zone)
    if not code:
        return "region", f"no known region: {told.get('region', '')!r}"
    platform = platform_of(told["platform"])
    if not platform:
        return "platform", f"not known: {told['platform']!r}"
    if told.get("class") and class_of(told["class"]) is OfferingClass.UNKNOWN:
        return "class", f"not known: {told['class']!r}"
    if (kind := told.get("kind") or _ASSUMED["kind"]) not in {"second-hand", "new"}:
        return "kind", f"neither second-hand nor new: {kind!r}"
    tenancy = (told.get("tenancy") or _ASSUMED["tenancy"]).casefold()
    return OfferKey(PROVIDER, code, zone, platform, tenancy, told["instance_type"])


def _payment(told: Mapping[str, str], numbers: Mapping[str, Decimal]) -> str:
    named = PAYMENTS.get(told.get("payment", "").title()) or told.get("payment", "").casefold()
    if named in PAYMENTS.values():
        return named
    if not numbers["fixed_price"]:
        return "no-upfront"
    return "partial-upfront" if numbers["hourly"] else "all-upfront"


def _hours(told: Mapping[str, str], seen: datetime) -> Decimal | tuple[str, str]:
    for name in ("hours_left", "months_left"):
        if told.get(name):
            value = _number(told[name])
            if value is None or value <= 0:
                return name, f"no number above zero: {told[name]!r}"
            return value * (MONTH_HOURS if name == "months_left" else 1)
    ends = instant(told.get("ends_at", "")) if told.get("ends_at") else None
    if ends is None:
        return next((n for n in LEFT if n in told), LEFT[0]), "what is left of the term is not told"
    if ends <= seen:
        return "ends_at", "not after it was seen"
    return Decimal(int((ends - seen).total_seconds())) / 3600


def _number(text: str) -> Decimal | None:
    try:
        value = Decimal(text)
    except InvalidOperation:
        return None
    return value if value.is_finite() and value >= 0 else None
