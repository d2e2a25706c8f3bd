"""Raw columns of Spot prices into the frame: the one door for files and live feeds.

A provider hands over columns named by `FIELDS`, as text or already typed; here texts become decimals and
instants, labels become series, and what is no price becomes a rejection with its record, field and reason.
Nothing is guessed: a time without an offset is rejected. A price with more decimals than the lake holds
(0.0023959999999999997 is what a program made of 0.002396) is rounded half to even at the last that it holds.
Work is done once per distinct text or label combination, which is what makes a million rows a matter of
seconds.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from decimal import ROUND_HALF_EVEN, Context, Decimal
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from finops.frames.money import currencies
from finops.frames.spot import (
    INSTANT,
    PRICE_DECIMALS,
    PRICE_DIGITS,
    PRICE_TYPE,
    SCHEMA,
    SERIES_COLUMNS,
    Rejection,
)
from finops.providers.base import SpotBatch
from finops.providers.facts import FACTS, is_zone_id, product_of, region_of_zone

LABELS = ("zone", "zone_id", "instance_type", "product", "region", "currency", "account", "unit", "tier")
FIELDS = ("at", "price", *LABELS)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# No cloud sold anything before, and no price is known so far ahead: microseconds since 1970.
_EARLIEST = int(datetime(2000, 1, 1, tzinfo=UTC).timestamp()) * 1_000_000
_LATEST = int(datetime(2100, 1, 1, tzinfo=UTC).timestamp()) * 1_000_000
_DECIMAL = re.compile(r"\+?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,3})?", re.ASCII)
# What nearly all prices look like; a shorter way to the same number.
_PLAIN = re.compile(rf"(\d{{1,{PRICE_DIGITS - PRICE_DECIMALS}}})\.(\d{{1,{PRICE_DECIMALS}}})", re.ASCII)
_INSTANT = re.compile(
    r"(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d(?::\d\d)?)(?:\.(\d{1,12}))?\s?(Z|z|UTC|[+-]\d\d(?::?\d\d)?)?", re.ASCII
)
# A region becomes a folder of the lake, and places are choices on pages and in addresses.
_PLACE = re.compile(r"[A-Za-z0-9][A-Za-z0-9 ._-]{0,79}", re.ASCII)
_HOURLY = frozenset({"", "hrs", "hr", "h", "hour", "hours", "1 hour", "instance-hour", "per hour"})
_SCALE = 10**PRICE_DECIMALS
_LIMIT = 10**PRICE_DIGITS
LONGEST_PRICE = 60
LONGEST_FOR_ARROW = 30
# 100 bytes each; the archives hold 32,000 in a million rows.
KNOWN_PRICES = 500_000


class Reject(Exception):  # noqa: N818 - not an error of the program: one record's way out
    """This record is no price: the field and the reason."""

    def __init__(self, field: str, reason: str) -> None:
        super().__init__(reason)
        self.field = field
        self.reason = reason


class KnownPrices(dict[str, int]):
    """Ten-billionths of the currency unit by text, worked out once; 0 for what is no price."""

    def __missing__(self, text: str) -> int:
        """Raises TypeError for what is no text, a JSON number for one."""
        if not isinstance(text, str):
            raise TypeError(text)
        try:
            found = parse_price(text)
        except Reject:
            return 0
        if len(self) < KNOWN_PRICES:
            self[text] = found
        return found


@dataclass
class SpotContext:
    """What holds for a whole delivery, and what was worked out already.

    `region`, `currency`, `product` and `account` fill in for a column that is not there; a region that
    contradicts a row's zone rejects the row. `zone_ids` maps the account's zone names to ids. `naive_zone` is
    the time zone of times without an offset, stated by the format or by whoever imports; None rejects them.
    """

    provider: str
    region: str | None = None
    currency: str | None = None
    product: str | None = None
    account: str = ""
    zone_ids: Mapping[str, str] = field(default_factory=dict)
    naive_zone: ZoneInfo | None = None
    known_prices: KnownPrices = field(default_factory=lambda: KnownPrices(), repr=False)
    _series: dict[tuple[str, ...], tuple[str, ...] | Reject] = field(default_factory=dict, repr=False)

    def series(self, labels: tuple[str, ...]) -> tuple[str, ...] | Reject:
        """The values of SERIES_COLUMNS for raw labels in the order of LABELS, or why not; remembered."""
        found = self._series.get(labels)
        if found is None:
            try:
                found = _resolve(self, dict(zip(LABELS, labels, strict=True)))
            except Reject as reject:
                found = reject
            self._series[labels] = found
        return found


_EXACT = Context(prec=80, rounding=ROUND_HALF_EVEN)


@dataclass(frozen=True)
class CodedLabels:
    """Labels by combination: `distinct` has the texts of each, as LABELS; `codes` the place of each row."""

    distinct: list[tuple[str, ...]]
    codes: NDArray[np.int64]


def parse_price(text: str) -> int:
    """The price in ten-billionths, rounded half to even. Raises Reject unless it is a decimal above zero.

    >>> parse_price("0.0416"), parse_price("1e-3"), parse_price("0.0023959999999999997")
    (416000000, 10000000, 23960000)
    """
    stripped = text.strip()
    plain = _PLAIN.fullmatch(stripped)
    if plain is not None:
        found = int(plain[1] + plain[2].ljust(PRICE_DECIMALS, "0"))
        if found:
            return found
    if not stripped:
        raise Reject("price", "invalid price: empty")
    if _DECIMAL.fullmatch(stripped) is None:
        raise Reject("price", f"invalid price: {_why_not_decimal(stripped)}")
    # The default context rounds to 28 digits without a word.
    scaled = (
        Decimal(stripped).scaleb(PRICE_DECIMALS, _EXACT) if len(stripped) <= LONGEST_PRICE else Decimal(-1)
    )
    if scaled == 0:
        raise Reject("price", f"invalid price: {stripped} is not above zero")
    kept = scaled.to_integral_value(context=_EXACT)
    if kept == 0:
        raise Reject("price", f"invalid price: {stripped} has more than {PRICE_DECIMALS} decimals")
    if not 0 < kept < _LIMIT:
        raise Reject("price", f"invalid price: {stripped[:60]} is too large")
    return int(kept)


def _why_not_decimal(text: str) -> str:
    shown = repr(text[:60])
    if text.lower().lstrip("+-") in {"nan", "inf", "infinity"}:
        return f"{shown} is not a finite number"
    if text.startswith("-") and _DECIMAL.fullmatch(text[1:]):
        return f"{text[:60]} is negative"
    if re.fullmatch(r"\d+,\d+", text, re.ASCII):
        return f"{shown} has a decimal comma"
    return f"{shown} is not a decimal number"


def parse_instant(text: str, naive_zone: ZoneInfo | None) -> int:
    """Microseconds since 1970 UTC of an ISO 8601 time. Raises Reject where it has no offset or no meaning."""
    stripped = text.strip()
    if not stripped:
        raise Reject("at", "missing time")
    match = _INSTANT.fullmatch(stripped)
    if match is None:
        raise Reject("at", f"not an ISO 8601 time: {stripped[:60]!r}")
    day, clock, fraction, offset = match.groups()
    fraction = (fraction or "").rstrip("0")
    if len(fraction) > 6:
        raise Reject("at", f"finer than a microsecond: {stripped[:60]}")
    try:
        moment = datetime.fromisoformat(f"{day}T{clock}{_iso_offset(offset)}")
    except ValueError as error:
        raise Reject("at", f"no such time: {stripped[:60]}") from error
    if moment.tzinfo is None:
        moment = _localise(moment, naive_zone, stripped)
    return (moment - _EPOCH) // timedelta(microseconds=1) + int((fraction or "0").ljust(6, "0"))


def _iso_offset(offset: str | None) -> str:
    if offset is None:
        return ""
    if offset in {"Z", "z", "UTC"}:
        return "+00:00"
    digits = offset[1:].replace(":", "").ljust(4, "0")
    return f"{offset[0]}{digits[:2]}:{digits[2:]}"


def _localise(moment: datetime, zone: ZoneInfo | None, shown: str) -> datetime:
    if zone is None:
        raise Reject("at", f"time without an offset: {shown[:60]} (state the time zone of the file)")
    early, late = moment.replace(tzinfo=zone), moment.replace(tzinfo=zone, fold=1)
    if early.utcoffset() != late.utcoffset():
        raise Reject("at", f"{shown[:60]} is ambiguous or does not exist in {zone.key}")
    return early.astimezone(UTC)


def _resolve(context: SpotContext, raw: dict[str, str]) -> tuple[str, ...]:
    facts = FACTS[context.provider]
    region, zone, zone_key = _place(context, raw) if facts.zoned else _regional(context, raw)
    for name, place in (("region", region), ("zone", zone), ("zone", raw["zone_id"])):
        if place and _PLACE.fullmatch(place) is None:
            raise Reject(name, f"not a name of a {name}: {place[:60]!r}")
    kind = raw["instance_type"]
    if not kind:
        raise Reject("instance_type", "missing instance type")
    if facts.type_pattern is not None and facts.type_pattern.fullmatch(kind) is None:
        raise Reject("instance_type", f"not an instance type: {kind[:60]!r}")
    if raw["tier"] and not kind.startswith(f"{raw['tier']}_"):
        kind = f"{raw['tier']}_{kind}"  # as Azure names a size in its own interface: Standard_D8_v3
    product = product_of(context.provider, raw["product"]) or context.product
    if not product:
        raise Reject("product", "missing product")
    if raw["unit"].lower() not in _HOURLY:
        raise Reject("unit", f"not a price per hour: {raw['unit'][:60]!r}")
    currency = raw["currency"].upper() or context.currency or facts.currency(region)
    if not currency:
        raise Reject("currency", "missing currency")
    if currency not in currencies():
        raise Reject("currency", f"not a currency: {currency[:60]!r}")
    account = raw["account"] or context.account
    return region, account, zone, zone_key, kind, product, currency


def _regional(context: SpotContext, raw: dict[str, str]) -> tuple[str, str, str]:
    region = raw["region"] or context.region
    if not region:
        raise Reject("region", "missing region")
    if context.region and region != context.region:
        raise Reject("region", f"{region} is not {context.region}, which was asked for")
    zone = raw["zone_id"] or raw["zone"] or region
    return region, zone, zone


def _place(context: SpotContext, raw: dict[str, str]) -> tuple[str, str, str]:
    """Region, zone as delivered, and zone key; what the zone says must fit what else names the region."""
    zone = raw["zone"] or raw["zone_id"]
    if not zone:
        raise Reject("zone", "missing zone")
    zone_id = raw["zone_id"] or (zone if is_zone_id(zone) else "")
    known = region_of_zone(zone) or (region_of_zone(zone_id) if zone_id else None)
    stated = raw["region"] or context.region
    region = known or stated
    if not region:
        raise Reject("zone", f"the region of zone {zone[:60]!r} is not known (name it with --region)")
    for other in (raw["region"], context.region):
        if other and other != region:
            raise Reject("zone", f"zone {zone[:60]} is in {region}, not in {other}")
    account = raw["account"] or context.account
    key = zone_id or context.zone_ids.get(zone) or (f"{account}:{zone}" if account else zone)
    return region, zone, key


def spot_batch(
    context: SpotContext,
    file: str,
    columns: Mapping[str, pa.Array],
    rows: NDArray[np.int64],
    names: Mapping[str, str] | None = None,
    labels: CodedLabels | None = None,
) -> SpotBatch:
    """The frame of some raw columns (keys of FIELDS, one length); `rows` are their 1-based record numbers.

    `names` gives a field's name in the source, for the reasons. `labels` may stand for the columns of LABELS,
    where the reader sees the combinations anyway. Columns may be text, dictionaries, decimals,
    doubles (by their shortest decimal text) or aware timestamps; a missing column is one of empty text.
    """
    count = len(rows)
    reasons: dict[int, Reject] = {}
    at = _instants(columns.get("at"), count, context.naive_zone, reasons)
    _reject_impossible(at, reasons)
    price = _prices(columns.get("price"), count, context, reasons)
    series = _series(labels or _coded(columns, count), context, reasons)
    names = names or {}
    rejections = [
        Rejection(
            file,
            int(rows[i]),
            names.get(reasons[i].field, reasons[i].field),
            reasons[i].reason,
            *(_whose(series, i) if reasons[i].field == "price" else ()),
        )
        for i in sorted(reasons)
    ]
    arrays: dict[str, pa.Array] = {"row": pa.array(rows, pa.int64()), **series, "at": at, "price": price}
    if reasons:
        keep = np.ones(count, dtype=bool)
        keep[list(reasons)] = False
        mask = pa.array(keep)
        arrays = {column: array.filter(mask) for column, array in arrays.items()}
    batch = pa.RecordBatch.from_arrays([arrays[column] for column in SCHEMA.names], schema=SCHEMA)
    return SpotBatch(file=file, rows=batch, rejections=rejections)


def _whose(series: Mapping[str, pa.Array], row: int) -> tuple[str, str]:
    """Region and type of a row whose price is none; empty where its labels are wrong too."""
    return series["region"][row].as_py(), series["instance_type"][row].as_py()


def _as_text(array: pa.Array | None, count: int) -> pa.Array:
    """Text of any delivered column; doubles by their shortest decimal form, the text they were made from."""
    if array is None:
        return pa.array([""] * count, pa.string())
    if pa.types.is_floating(array.type):
        return pa.array(["" if v is None else repr(v) for v in array.to_pylist()], pa.string())
    if array.type == pa.string() and not array.null_count:
        return array
    if pa.types.is_dictionary(array.type):
        array = array.cast(array.type.value_type)
    return pc.fill_null(array.cast(pa.string()), "")


def _encode(array: pa.Array) -> tuple[list[str], NDArray[np.int64]]:
    """Distinct texts and the index of each row's."""
    encoded = array.dictionary_encode()
    if isinstance(encoded, pa.ChunkedArray):
        encoded = encoded.combine_chunks()
    return encoded.dictionary.to_pylist(), encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)


def _prices(array: pa.Array | None, count: int, context: SpotContext, reasons: dict[int, Reject]) -> pa.Array:
    exact = array if isinstance(array, pa.Array) and array.type == PRICE_TYPE else _plain_decimals(array)
    if exact is not None and _all_above_zero(exact):
        return exact
    texts, codes = _encode(_as_text(array, count))
    values = np.array([context.known_prices[text] for text in texts], dtype=np.int64)
    _spread({int(i): _why_no_price(texts[i]) for i in np.flatnonzero(values == 0)}, codes, reasons)
    return price_array(values[codes])


def _plain_decimals(array: pa.Array | None) -> pa.Array | None:
    """Texts of digits and points as exact decimals; None where one is something else or does not fit."""
    if not isinstance(array, pa.Array) or array.type != pa.string() or array.null_count or not len(array):
        return None
    _, offsets, texts = array.buffers()
    ends = np.frombuffer(offsets, np.int32)[array.offset : array.offset + len(array) + 1]
    signs = np.frombuffer(texts or b"", np.uint8)[ends[0] : ends[-1]]
    # Arrow misreads some exponents and crashes on others, and takes more digits than it holds for 0.
    plain = ((signs >= ord(".")) & (signs <= ord("9")) & (signs != ord("/"))).all()
    if not plain or np.diff(ends).max() > LONGEST_FOR_ARROW:
        return None
    try:
        return array.cast(PRICE_TYPE)
    except pa.ArrowInvalid:
        return None


def price_array(values: NDArray[np.int64]) -> pa.Array:
    """Prices of the frame from ten-billionths, none below zero."""
    scaled = np.zeros((len(values), 2), dtype=np.int64)
    # decimal128 is two words; the upper one is 0 for a positive value below 2**63
    scaled[:, 0] = values
    return pa.Array.from_buffers(PRICE_TYPE, len(values), [None, pa.py_buffer(scaled)])


def _all_above_zero(prices: pa.Array) -> bool:
    return not prices.null_count and (not len(prices) or pc.min(prices).as_py() > 0)


def _why_no_price(text: str) -> Reject:
    try:
        parse_price(text)
    except Reject as reject:
        return reject
    raise ValueError(f"{text!r} is a price")


def _instants(
    array: pa.Array | None, count: int, naive_zone: ZoneInfo | None, reasons: dict[int, Reject]
) -> pa.Array:
    if array is not None and pa.types.is_timestamp(array.type) and array.type.tz is not None:
        return _typed_instants(array, reasons)
    text = _as_text(array, count)
    try:
        return text.cast(INSTANT)
    except pa.ArrowInvalid:
        pass
    # Some text is not plain ISO 8601 with an offset: each distinct one is judged by itself.
    texts, codes = _encode(text)
    values = np.zeros(len(texts), dtype=np.int64)
    bad: dict[int, Reject] = {}
    for i, given in enumerate(texts):
        try:
            values[i] = parse_instant(given, naive_zone)
        except Reject as reject:
            bad[i] = reject
    _spread(bad, codes, reasons)
    return pa.array(values[codes], pa.int64()).cast(INSTANT)


def _reject_impossible(at: pa.Array, reasons: dict[int, Reject]) -> None:
    """A placeholder such as year 1 or 9999 is a fine time, and would stretch a known range over centuries."""
    values = at.cast(pa.int64()).to_numpy(zero_copy_only=False)
    for i in np.flatnonzero((values < _EARLIEST) | (values >= _LATEST)):
        reasons.setdefault(int(i), Reject("at", "no time of a price: before 2000 or after 2099"))


def _typed_instants(array: pa.Array, reasons: dict[int, Reject]) -> pa.Array:
    for i in np.flatnonzero(pc.is_null(array).to_numpy(zero_copy_only=False)):
        reasons.setdefault(int(i), Reject("at", "missing time"))
    fine = pc.fill_null(array, pa.scalar(0, array.type))
    try:
        return fine.cast(INSTANT)
    except pa.ArrowInvalid:
        cut = fine.cast(INSTANT, safe=False)
        for i in np.flatnonzero(pc.not_equal(cut.cast(array.type), fine).to_numpy(zero_copy_only=False)):
            reasons.setdefault(int(i), Reject("at", "finer than a microsecond"))
        return cut


def _spread(bad: Mapping[int, Reject], codes: NDArray[np.int64], reasons: dict[int, Reject]) -> None:
    """Give every row of a bad text its reason, unless it has one already."""
    if not bad:
        return
    for i in np.flatnonzero(np.isin(codes, list(bad))):
        reasons.setdefault(int(i), bad[int(codes[i])])


def _coded(columns: Mapping[str, pa.Array], count: int) -> CodedLabels:
    """The combinations of labels that occur in columns."""
    present = [label for label in LABELS if label in columns]
    encoded = {label: _encode(_as_text(columns[label], count)) for label in present}
    texts = {label: found for label, (found, _) in encoded.items()}
    codes = {label: found for label, (_, found) in encoded.items()}
    first, inverse = combinations(count, [(len(texts[label]), codes[label]) for label in present])
    distinct = [
        tuple(texts[label][codes[label][row]] if label in texts else "" for label in LABELS) for row in first
    ]
    return CodedLabels(distinct, inverse)


def _series(coded: CodedLabels, context: SpotContext, reasons: dict[int, Reject]) -> dict[str, pa.Array]:
    """The label columns, worked out once per combination."""
    resolved: list[tuple[str, ...]] = []
    bad: dict[int, Reject] = {}
    for position, raw in enumerate(coded.distinct):
        labels = context.series(tuple(text.strip() for text in raw))
        if isinstance(labels, Reject):
            bad[position] = labels
            labels = ("",) * len(SERIES_COLUMNS)
        resolved.append(labels)
    _spread(bad, coded.codes, reasons)
    return {
        column: _label_array([labels[i] for labels in resolved], coded.codes)
        for i, column in enumerate(SERIES_COLUMNS)
    }


def combinations(
    count: int, columns: Sequence[tuple[int, NDArray[np.int64]]]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Which rows are the first of their combination of codes, and for each row the place of its combination.

    `columns` are (number of codes, code of each of `count` rows). Linear in the rows where combinations are
    few, for a file holds dozens of series and thousands of rows.
    """
    combined, size = np.zeros(count, dtype=np.int64), 1
    for choices, codes in columns:
        if choices <= 1:
            continue
        if size * choices > max(4 * count, 1 << 16):
            kept, combined = np.unique(combined, return_inverse=True)
            size = len(kept)
        combined, size = combined * choices + codes, size * choices
    if size > max(4 * count, 1 << 16):
        _, first, inverse = np.unique(combined, return_index=True, return_inverse=True)
        return first.astype(np.int64), inverse.astype(np.int64)
    seen = np.full(size, -1, dtype=np.int64)
    seen[combined[::-1]] = np.arange(count - 1, -1, -1)
    present = np.flatnonzero(seen >= 0)
    place = np.zeros(size, dtype=np.int64)
    place[present] = np.arange(len(present))
    return seen[present], place[combined]


def _label_array(values: list[str], inverse: NDArray[np.int64]) -> pa.DictionaryArray:
    distinct = sorted(set(values))
    if len(distinct) == 1:
        same = pa.array(np.zeros(len(inverse), dtype=np.int32))
        return pa.DictionaryArray.from_arrays(same, pa.array(distinct, pa.string()))
    place = {text: i for i, text in enumerate(distinct)}
    indices = (
        np.array([place[text] for text in values], dtype=np.int32)[inverse]
        if values
        else np.array([], np.int32)
    )
    return pa.DictionaryArray.from_arrays(pa.array(indices, pa.int32()), pa.array(distinct, pa.string()))
