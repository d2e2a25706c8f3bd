"""A staged delivery into the lake: each (series, instant) once, and the ranges in which prices are known.

Rules, the same whatever the order of imports:
- The same series, instant and price again is a duplicate.
- Another price for the same series and instant: the higher one stays, for a promise of savings should not
rest on the lower of two claims. The lower one is rejected, or, when it is in the lake already, replaced;
both are named. It does not occur in the archives this was measured on (0 of 2.3 million rows).
- A delivery is known in a region from its request start (else its oldest row there) to its request end
(else its newest row there); a series from the later of that start and its own first row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal

import pyarrow as pa
from pyiceberg.expressions import BooleanExpression

from apps.ingest.parts import ChangesPart, SeriesTexts
from apps.ingest.staging import REJECTIONS_KEPT, Staging
from finops.frames.spot import Rejection
from finops.lake import SPOT_CHANGES, SPOT_KNOWN, TABLES, Lake
from finops.lake.filters import all_of, any_of, equals, one_of
from finops.lake.sql import quote

Range = tuple[datetime | None, datetime | None]
# Key of `request_ranges` for every region that has none of its own.
ANY_REGION = ""
# A contradiction is one of all that names a price, and the price.
CONFLICT_FIELDS = "zone, instance_type, product, currency, at, price"
_SERIES = 'series.zone, series.instance_type, series.product, series.currency, "at"'
# The month of an instant, as a timestamp without zone: three times as fast as through AT TIME ZONE.
_MONTH = "date_trunc('month', make_timestamp(epoch_us(\"at\")))"


@dataclass
class Merged:
    """What a delivery did. `known`: per region the range in which the delivery knows prices."""

    stored: int = 0
    duplicates: int = 0
    replaced: int = 0
    series: int = 0
    new_series: int = 0
    known: dict[str, tuple[datetime, datetime]] = field(default_factory=dict)
    snapshots: dict[str, int] = field(default_factory=dict)
    replacements: list[Rejection] = field(default_factory=list)


def merge(
    staging: Staging,
    *,
    lake: Lake,
    provider: str,
    run_id: int,
    snapshots: Mapping[str, int],
    request_ranges: Mapping[str, Range],
    phase: Callable[[str], None] = lambda _: None,
) -> Merged:
    """Compare with the lake at `snapshots`, then commit what is new. The caller holds the import lock.

    Raises LakeError; the lake may then hold a snapshot that no run names, which `Lake.rollback` undoes.
    """
    con = staging.con
    result = Merged(snapshots=dict(snapshots))
    regions = [r for (r,) in con.execute("SELECT DISTINCT region FROM series ORDER BY 1").fetchall()]
    if not regions:
        return result
    phase("comparing")
    _open_lake(staging, lake, provider, regions, snapshots)
    _compare(staging, result)
    result.series = _one(staging, "SELECT count(*) FROM series")
    result.known = _known_of_delivery(staging, request_ranges)
    phase("writing")
    if result.stored:
        result.new_series = _new_series(staging)
        result.snapshots[SPOT_CHANGES] = _write_changes(staging, lake, provider, run_id)
    known = _write_known(staging, lake, provider)
    if known is not None:
        result.snapshots[SPOT_KNOWN] = known
    return result


def _one(staging: Staging, sql: str) -> int:
    row = staging.con.execute(sql).fetchone()
    return int(row[0]) if row and row[0] is not None else 0


def _open_lake(
    staging: Staging, lake: Lake, provider: str, regions: list[str], snapshots: Mapping[str, int]
) -> None:
    """The lake's rows of the touched regions as views, and those of the delivery's own series as `stored`."""
    con = staging.con
    here = all_of(equals("provider", provider), one_of("region", regions))
    lake.add_views(con, snapshots, filters={SPOT_CHANGES: here, SPOT_KNOWN: here})
    months = con.execute(
        f"SELECT DISTINCT strftime(month, '%Y-%m') FROM (SELECT DISTINCT {_MONTH} AS month FROM staged)"
    ).fetchall()
    listed = ", ".join(quote(month) for (month,) in sorted(months))
    con.execute(
        f"""
        CREATE TABLE stored AS
        SELECT sid, c."at", c.price FROM (
            SELECT * FROM prices.spot_changes WHERE month IN ({listed})
        ) c JOIN series s ON c.region = s.region AND c.zone_key = s.zone_key
            AND c.instance_type = s.instance_type AND c.product = s.product AND c.currency = s.currency
        """
    )


def _compare(staging: Staging, result: Merged) -> None:
    """Make `fresh`, the rows to store, one per series and instant; settle repeats and contradictions."""
    con = staging.con
    con.execute(
        """
        CREATE TABLE grouped AS
        SELECT sid, "at", max(price) AS price, min(price) AS lowest FROM staged GROUP BY sid, "at"
        """
    )
    con.execute(
        """
        CREATE TABLE fresh AS
        SELECT g.sid, g."at", g.price, s.price AS replaced
        FROM grouped g LEFT JOIN stored s USING (sid, "at") WHERE s.price IS NULL OR s.price < g.price
        """
    )
    result.stored = _one(staging, "SELECT count(*) FROM fresh")
    con.execute(
        """
        CREATE TABLE conflicts AS
        SELECT g.sid, g."at", greatest(g.price, coalesce(s.price, g.price)) AS kept
        FROM grouped g LEFT JOIN stored s USING (sid, "at")
        WHERE g.lowest < greatest(g.price, coalesce(s.price, g.price))
        """
    )
    if _one(staging, "SELECT count(*) FROM conflicts"):
        _reject_conflicts(staging)
    result.replaced = _one(staging, "SELECT count(*) FROM fresh WHERE replaced IS NOT NULL")
    if result.replaced:
        result.replacements = _replacements(staging)
    result.duplicates = staging.staged - result.stored


def _reject_conflicts(staging: Staging) -> None:
    lost = 'FROM staged JOIN conflicts USING (sid, "at") JOIN series USING (sid) WHERE staged.price < kept'
    count = _one(staging, f"SELECT count(*) {lost}")
    rows = staging.con.execute(
        f"""
        SELECT file, "row", staged.price, kept, {_SERIES} {lost} ORDER BY file, "row" LIMIT {REJECTIONS_KEPT}
        """
    ).fetchall()
    staging.reject(
        [
            Rejection(
                staging.files[file],
                row,
                CONFLICT_FIELDS,
                f"conflict: {_plain(price)} where {_plain(kept)} is known for {_named(*series)}",
            )
            for file, row, price, kept, *series in rows
        ],
        count,
    )


def _named(zone: str, kind: str, product: str, currency: str, at: datetime) -> str:
    return f"{zone}, {kind}, {product}, {currency} at {at.astimezone(UTC).isoformat().replace('+00:00', 'Z')}"


def _plain(price: Decimal) -> str:
    """Without trailing zeros, never with an exponent."""
    return f"{price.normalize():f}"


def _replacements(staging: Staging) -> list[Rejection]:
    rows = staging.con.execute(
        f"""
        SELECT min(file), arg_min(staged."row", (file, staged."row")), fresh.price, replaced, {_SERIES}
        FROM fresh JOIN staged USING (sid, "at") JOIN series USING (sid)
        WHERE replaced IS NOT NULL AND staged.price = fresh.price GROUP BY ALL ORDER BY 1, 2
        """
    ).fetchall()
    return [
        Rejection(
            staging.files[file],
            row,
            CONFLICT_FIELDS,
            f"conflict: {_plain(price)} takes the place of {_plain(old)}, stored for {_named(*series)}",
        )
        for file, row, price, old, *series in rows
    ]


def _new_series(staging: Staging) -> int:
    return _one(
        staging,
        """
        SELECT count(*) FROM series s WHERE sid IN (SELECT sid FROM fresh) AND NOT EXISTS (
            SELECT 1 FROM (
                SELECT DISTINCT region, zone_key, instance_type, product, currency FROM prices.spot_changes
            ) c WHERE c.region = s.region AND c.zone_key = s.zone_key AND c.instance_type = s.instance_type
                AND c.product = s.product AND c.currency = s.currency
        )
        """,
    )


def _write_changes(staging: Staging, lake: Lake, provider: str, run_id: int) -> int:
    """Append the fresh rows; months in which a stored price is replaced are written anew as a whole."""
    con = staging.con
    # Sorted as numbers, and by two of them: a partition is a filter, which keeps the order.
    con.execute(
        f"""
        CREATE TABLE sorted AS
        SELECT f.sid, f."at", f.price, f.replaced, s.region_place, {_MONTH} AS month
        FROM fresh f JOIN series s USING (sid) ORDER BY s.place, f."at"
        """
    )
    series = SeriesTexts.of(con)
    parts: dict[tuple[str, ...], Callable[[], Iterator[pa.RecordBatch]]] = {}
    rewritten: dict[tuple[str, ...], str] = {}
    months = con.execute(
        """
        SELECT region, region_place, month, replaced
        FROM (SELECT region_place, month, count(replaced) AS replaced FROM sorted GROUP BY ALL)
        JOIN (SELECT DISTINCT region_place, region FROM series) USING (region_place) ORDER BY region, month
        """
    ).fetchall()
    for region, place, month, replaced in months:
        partition = provider, region, f"{month:%Y-%m}"
        if replaced:
            rewritten[partition] = _rewritten_rows(partition, place, month, run_id)
        else:
            parts[partition] = ChangesPart(con, series, provider, place, month, run_id).batches
    files: list[str] = []
    try:
        files += lake.write_batches(SPOT_CHANGES, parts)
        files += lake.write_parts(con, SPOT_CHANGES, rewritten)
        delete = _months(rewritten) if rewritten else None
        return lake.commit(SPOT_CHANGES, files, delete=delete, properties={"offpeak.run": str(run_id)})
    except BaseException:
        lake.discard_files(files)
        raise


def _rewritten_rows(partition: tuple[str, str, str], place: int, month: datetime, run_id: int) -> str:
    """The SELECT of a month that is written anew: its fresh rows, and its stored ones that stay."""
    provider, region, text = partition
    return f"""
        SELECT {quote(provider)} AS provider, s.region, {quote(text)} AS month, s.account, s.zone,
        s.zone_key, s.instance_type, s.product, f."at", f.price, s.currency, {int(run_id)} AS run_id
        FROM sorted f JOIN series s USING (sid)
        WHERE f.region_place = {place} AND f.month = TIMESTAMP {quote(str(month))}
        UNION ALL BY NAME
        SELECT * FROM prices.spot_changes c WHERE c.region = {quote(region)} AND c.month = {quote(text)}
        AND NOT EXISTS (
            SELECT 1 FROM fresh JOIN series s USING (sid) WHERE replaced IS NOT NULL AND fresh."at" = c."at"
                AND s.region = c.region AND s.zone_key = c.zone_key AND s.instance_type = c.instance_type
                AND s.product = c.product AND s.currency = c.currency
        ) ORDER BY {", ".join(f'"{column}"' for column in TABLES[SPOT_CHANGES].order_by)}
    """


def _months(partitions: Iterable[tuple[str, ...]]) -> BooleanExpression:
    names = TABLES[SPOT_CHANGES].partition_by
    return any_of(*(all_of(*map(equals, names, partition)) for partition in partitions))


def _known_of_delivery(
    staging: Staging, request_ranges: Mapping[str, Range]
) -> dict[str, tuple[datetime, datetime]]:
    """Per region the delivery's range; and the table `delivered`, a range per series where not empty."""
    con = staging.con
    bounds = con.execute(
        """
        CREATE TABLE firsts AS SELECT sid, min("at") AS first, max("at") AS last FROM staged GROUP BY sid;
        SELECT region, min(first), max(last) FROM firsts JOIN series USING (sid) GROUP BY region ORDER BY
        region
        """
    ).fetchall()
    known: dict[str, tuple[datetime, datetime]] = {}
    con.execute("CREATE TABLE bounds (region VARCHAR, start TIMESTAMPTZ, finish TIMESTAMPTZ)")
    for region, oldest, newest in bounds:
        start, finish = request_ranges.get(region, request_ranges.get(ANY_REGION, (None, None)))
        known[region] = (start or oldest, finish or newest)
        con.execute("INSERT INTO bounds VALUES (?, ?, ?)", [region, *known[region]])
    con.execute(
        """
        CREATE TABLE delivered AS
        SELECT region, zone_key, zone, instance_type, product, currency,
            greatest(start, first) AS known_from, finish AS known_to
        FROM firsts JOIN series USING (sid) JOIN bounds USING (region) WHERE greatest(start, first) < finish
        """
    )
    return known


def _write_known(staging: Staging, lake: Lake, provider: str) -> int | None:
    """Join the delivery's ranges with those in the lake; None when they say nothing new."""
    con = staging.con
    con.execute(
        f"""
        CREATE TABLE ranges AS
        WITH every AS (
            SELECT region, zone_key, zone, instance_type, product, currency, known_from, known_to
            FROM prices.spot_known
            UNION ALL SELECT * FROM delivered
        ), marked AS (
            SELECT *, known_from > max(known_to) OVER (
                PARTITION BY region, zone_key, instance_type, product, currency ORDER BY known_from, known_to
                ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
            ) AS apart FROM every
        ), numbered AS (
            SELECT *, count(*) FILTER (WHERE apart) OVER (
                PARTITION BY region, zone_key, instance_type, product, currency ORDER BY known_from, known_to
                ROWS UNBOUNDED PRECEDING
            ) AS piece, min(CASE WHEN zone <> zone_key THEN zone END) OVER (
                PARTITION BY region, zone_key, instance_type, product, currency
            ) AS zone_name FROM marked
        )
        SELECT {quote(provider)} AS provider, region, zone_key, coalesce(min(zone_name), zone_key) AS zone,
            instance_type, product, currency, min(known_from) AS known_from, max(known_to) AS known_to
        FROM numbered GROUP BY region, zone_key, instance_type, product, currency, piece
        """
    )
    changed = con.execute(
        """
        SELECT DISTINCT region FROM (
            (SELECT * FROM ranges EXCEPT SELECT * FROM prices.spot_known)
            UNION ALL (SELECT * FROM prices.spot_known EXCEPT SELECT * FROM ranges)
        ) ORDER BY 1
        """
    ).fetchall()
    if not changed:
        return None
    regions = [region for (region,) in changed]
    files = lake.write_files(con, SPOT_KNOWN, "ranges", [(provider, region) for region in regions])
    try:
        delete = all_of(equals("provider", provider), one_of("region", regions))
        return lake.commit(SPOT_KNOWN, files, delete=delete)
    except BaseException:
        lake.discard_files(files)
        raise
