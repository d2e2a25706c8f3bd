"""Tables of bills: every line, and the daily roll-up that pages read."""

from __future__ import annotations

from pyiceberg.types import DateType, DecimalType, IcebergType, LongType, MapType, StringType, TimestamptzType

from finops.frames.focus import DECIMAL_PRECISION, DECIMAL_SCALE, LINE_COLUMNS, Column, Kind

BILL_LINES = "billing.lines"
BILL_DAILY = "billing.daily"

_DECIMAL = f"DECIMAL({DECIMAL_PRECISION},{DECIMAL_SCALE})"
_DUCK = {
    Kind.TEXT: "VARCHAR",
    Kind.MONEY: _DECIMAL,
    Kind.NUMBER: _DECIMAL,
    Kind.INSTANT: "TIMESTAMP WITH TIME ZONE",
    Kind.MAP: "MAP(VARCHAR, VARCHAR)",
    Kind.COUNT: "BIGINT",
    Kind.DAY: "DATE",
}


def _iceberg(kind: Kind, number: int) -> IcebergType:
    if kind in {Kind.MONEY, Kind.NUMBER}:
        return DecimalType(DECIMAL_PRECISION, DECIMAL_SCALE)
    if kind is Kind.MAP:
        return MapType(
            key_id=MAP_FIELD_IDS + 2 * number,
            key_type=StringType(),
            value_id=MAP_FIELD_IDS + 2 * number + 1,
            value_type=StringType(),
            value_required=False,
        )
    return {
        Kind.TEXT: StringType(),
        Kind.INSTANT: TimestamptzType(),
        Kind.COUNT: LongType(),
        Kind.DAY: DateType(),
    }[kind]


# Columns are numbered by their place; keys and values of maps need ids of their own, out of the way.
MAP_FIELD_IDS = 500

LineColumns = tuple[tuple[str, IcebergType, str], ...]


def stored(columns: tuple[Column, ...]) -> LineColumns:
    """(name, Iceberg type, DuckDB type) of each column."""
    return tuple((c.name, _iceberg(c.kind, i), _DUCK[c.kind]) for i, c in enumerate(columns, start=1))


# What the roll-up groups by; a question about anything else reads the lines.
DAILY_DIMENSIONS: tuple[str, ...] = (
    "x_day",
    "x_provider",
    "provider_name",
    "publisher_name",
    "billing_account_id",
    "sub_account_id",
    "sub_account_name",
    "region_id",
    "service_name",
    "service_category",
    "x_instance_type",
    "charge_category",
    "charge_class",
    "pricing_category",
    "commitment_discount_id",
    "commitment_discount_type",
    "commitment_discount_status",
    "x_line_item_type",
    "x_billing_entity",
    "billing_currency",
    "x_unit",
    "tags",
    "x_cost_categories",
)
DAILY_SUMS: tuple[str, ...] = (
    "billed_cost",
    "effective_cost",
    "x_net_cost",
    "x_net_effective_cost",
    "list_cost",
    "contracted_cost",
    "x_quantity",
)
_BY_NAME = {column.name: column for column in LINE_COLUMNS}
DAILY_COLUMNS: tuple[Column, ...] = (
    _BY_NAME["x_report"],
    _BY_NAME["x_month"],
    _BY_NAME["x_delivery"],
    *(_BY_NAME[name] for name in DAILY_DIMENSIONS),
    *(_BY_NAME[name] for name in DAILY_SUMS),
    Column("x_rows", Kind.COUNT, meaning="lines behind this row"),
)
