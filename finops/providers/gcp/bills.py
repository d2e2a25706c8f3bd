"""Google Cloud billing exports (standard and detailed usage cost) as CSV, JSON text or Parquet.

Source: Google Cloud, "Structure of the standard data export" and "... of the detailed data export", read
2026-11-30. Quirks:
- Nested columns come with dots (`invoice.month`) or underscores; labels and credits are lists of records, as
  JSON or, from pandas, as Python writes them ('…', None). Both are taken apart exactly; what is neither
  refuses (credits are money) or rejects (labels).
- A row's cost is before its credits; what is invoiced is cost plus credits. The credits of a row stay in it.
- The invoice month is the billing period, in Pacific time: use of its first hours in UTC may carry the month
  before. `partition_date` is no more than when the row was written.
- Commitment fees are rows like any other, and their credits lower the covered rows. Nothing spreads a fee, so
  the amortised cost is the invoiced one.
"""

from __future__ import annotations

from finops.providers.bills import BillKind, Given, Lines
from finops.providers.bills.charge_table import category_sql, charge_table
from finops.providers.bills.kind import DECIMAL
from finops.text.sql import quote

_QUOTED = r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\""""
_VALUE = rf"(?:{_QUOTED}|-?[0-9][0-9.eE+-]*|None|null|True|true|False|false)"
_FIELD = rf"""['"](\w+)['"]\s*:\s*({_VALUE})"""
_PAIR = rf"""['"]\w+['"]\s*:\s*{_VALUE}"""
_RECORD = rf"\{{\s*(?:{_PAIR}(?:\s*,\s*{_PAIR})*)?\s*\}}"
# A whole list of flat records: only then are the fields in it what they seem, and not text inside a text.
_LIST = rf"\s*\[\s*(?:{_RECORD}(?:\s*,\s*{_RECORD})*)?\s*\]\s*"


class GcpExport(BillKind):
    """Standard and detailed usage cost."""

    name = "gcp-export"
    title = "Google Cloud billing export"
    provider = "gcp"
    required = {
        "billing account": ("billing_account_id",),
        "service": ("service.description",),
        "sku": ("sku.id",),
        "usage start": ("usage_start_time",),
        "cost": ("cost",),
        "currency": ("currency",),
        "credits": ("credits",),
        "invoice month": ("invoice.month",),
    }
    starts = ("usage_start_time",)
    ends = ("usage_end_time",)
    typical = frozenset(
        {
            "service.id",
            "sku.description",
            "usage_end_time",
            "project.id",
            "project.name",
            "labels",
            "system_labels",
            "location.location",
            "location.region",
            "export_time",
            "currency_conversion_rate",
            "usage.amount",
            "usage.unit",
            "usage.amount_in_pricing_units",
            "usage.pricing_unit",
            "cost_type",
        }
    )

    def lines(self, given: Given) -> Lines:
        """One line a row, credits included."""
        columns = {
            **_accounts(given),
            **_periods(given),
            **_charge(given),
            **_place(given),
            **_quantities(given),
            "x_provider": "'gcp'",
            "provider_name": "'Google Cloud'",
            "tags": _labels(given),
        }
        for wanted in self.required.values():
            if wanted[0] not in {"credits", "sku.id", *self.starts}:
                given.reject_where(f"{given.text(*wanted)} IS NULL", given.header(*wanted), "blank")
        exported = ""
        if given.has("export_time"):
            exported = f"max(TRY_CAST({given.text('export_time')} AS TIMESTAMP WITH TIME ZONE))"
        return Lines(columns, delivered_at=exported, tag_keys=None if given.has("labels") else [])


KINDS = (GcpExport(),)


def _accounts(given: Given) -> dict[str, str]:
    seller = f"coalesce({given.text('seller_name')}, 'Google')"
    market = f"{seller} NOT ILIKE 'google%'"
    return {
        "billing_account_id": given.text("billing_account_id"),
        "billing_account_type": "'Billing account'",
        "sub_account_id": given.text("project.id"),
        "sub_account_name": given.text("project.name"),
        "sub_account_type": f"CASE WHEN {given.text('project.id')} IS NOT NULL THEN 'Project' END",
        "billing_currency": given.text("currency"),
        "publisher_name": seller,
        "invoice_issuer_name": "'Google'",
        "x_billing_entity": f"CASE WHEN {market} THEN 'Google Cloud Marketplace' ELSE 'Google Cloud' END",
    }


def _periods(given: Given) -> dict[str, str]:
    month = given.text("invoice.month")
    alias = "invoice_month"
    given.typed[alias] = (
        f"CASE WHEN regexp_full_match({month}, '[0-9]{{6}}(\\.0)?') "
        f"THEN TRY_STRPTIME(left({month}, 6) || '01', '%Y%m%d') END"
    )
    bad = f"{alias} IS NULL AND {month} IS NOT NULL"
    given.reject_where(bad, given.header("invoice.month"), "not a month (YYYYMM)")
    return {
        "charge_period_start": given.instant("usage_start_time"),
        "charge_period_end": given.instant("usage_end_time"),
        "billing_period_start": f"{alias} AT TIME ZONE 'UTC'",
        "billing_period_end": f"({alias} + INTERVAL 1 MONTH) AT TIME ZONE 'UTC'",
    }


def _list(given: Given, column: str) -> tuple[str, str]:
    """(the text of a list of records, the condition that it is one)."""
    text = given.text(column)
    return text, f"regexp_full_match({text}, {quote(_LIST)})"


def _fields(text: str) -> str:
    """SQL list of (name, value as written) of all records of a list, in order."""
    names = f"regexp_extract_all({text}, {quote(_FIELD)}, 1)"
    values = f"regexp_extract_all({text}, {quote(_FIELD)}, 2)"
    return f"list_zip({names}, {values})"


def _credits(given: Given) -> str:
    """The sum of the amounts, 0 for none, null for what cannot be read: that refuses the delivery."""
    text, listed = _list(given, "credits")
    amounts = f"list_transform(list_filter({_fields(text)}, lambda f: f[1] = 'amount'), lambda f: f[2])"
    exact = f"list_transform({amounts}, lambda a: TRY_CAST(a || '' AS {DECIMAL}))"
    zero = f"CAST(0 AS {DECIMAL})"
    summed = f"list_reduce(list_concat([{zero}], {exact}), lambda a, b: CAST(a + b AS {DECIMAL}))"
    count = f"len(regexp_extract_all({text}, {quote(_RECORD)}))"
    unread = f"list_contains(list_transform({exact}, lambda a: a IS NULL), true)"
    whole = f"{listed} AND len({amounts}) = {count} AND NOT {unread}"
    given.typed["credited"] = (
        f"CASE WHEN {text} IS NULL OR {text} = '[]' THEN {zero} WHEN {whole} THEN {summed} END"
    )
    said = f"'not a list of credits with amounts: ' || left({text}, 80)"
    given.refuse_where("credited IS NULL", given.header("credits"), said)
    return "credited"


def _labels(given: Given) -> str:
    """Labels as a map, keys as delivered; later values of one key win as Google's own tools have it."""
    if not given.has("labels"):
        return "CAST(NULL AS MAP(VARCHAR, VARCHAR))"
    text, listed = _list(given, "labels")
    bare = "substr(f[2], 2, len(f[2]) - 2)"
    python = f"regexp_replace({bare}, '\\\\(.)', '\\1', 'g')"
    word = (
        f"CASE WHEN f[2] IN ('None', 'null') THEN NULL WHEN starts_with(f[2], '\"') AND json_valid(f[2]) "
        f"THEN json_extract_string(f[2], '$') WHEN f[2][1] IN ('''', '\"') THEN {python} ELSE f[2] END"
    )
    read = f"list_transform({_fields(text)}, lambda f: {{'name': f[1], 'value': {word}}})"
    keys = f"list_transform(list_filter({read}, lambda f: f.name = 'key'), lambda f: f.value)"
    values = f"list_transform(list_filter({read}, lambda f: f.name = 'value'), lambda f: f.value)"
    given.typed["label_keys"] = f"CASE WHEN {listed} THEN {keys} END"
    given.typed["label_values"] = f"CASE WHEN {listed} THEN {values} END"
    once = "len(label_keys) = len(list_distinct(label_keys)) AND len(label_keys) = len(label_values)"
    bad = f"{text} IS NOT NULL AND ({once}) IS NOT TRUE"
    given.reject_where(bad, given.header("labels"), "not a list of labels, each key once")
    return f"CASE WHEN {once} AND len(label_keys) > 0 THEN map(label_keys, label_values) END"


def _charge(given: Given) -> dict[str, str]:
    table = charge_table("gcp_contributions", ("cost_type",))
    kind = given.text("cost_type")
    given.typed["charge"] = table.number_sql({"cost_type": f"coalesce(lower({kind}), '')"})
    said = f"'a charge that is not known: ' || {kind}"
    given.refuse_where("charge IS NULL", given.header("cost_type"), said)
    cost = given.money("cost")
    formulas = {
        "total": f"CAST({cost} + {_credits(given)} AS {DECIMAL})",
        "cost": cost,
        "listed": given.money("cost_at_list"),
        "quantity": given.number("usage.amount_in_pricing_units", "usage.amount"),
        "none": f"CAST(NULL AS {DECIMAL})",
    }
    columns = {
        name: table.measure_sql(measure, "charge", formulas)
        for name, measure in (
            ("billed_cost", "billed"),
            ("effective_cost", "effective"),
            ("list_cost", "list"),
            ("contracted_cost", "contracted"),
            ("x_quantity", "quantity"),
        )
    }
    sku = given.text("sku.description")
    usage = f"{table.word_sql('charge_category', 'charge')} = 'Usage'"
    spot = f"{sku} ILIKE '%preemptible%' OR {sku} ILIKE '%spot %'"
    late = f"date_trunc('month', {given.instant('usage_start_time')} AT TIME ZONE 'UTC') < invoice_month"
    return {
        **columns,
        "x_net_cost": columns["billed_cost"],
        "x_net_effective_cost": columns["effective_cost"],
        "charge_category": table.word_sql("charge_category", "charge"),
        "charge_frequency": table.word_sql("charge_frequency", "charge"),
        "charge_class": f"CASE WHEN lower({kind}) = 'adjustment' AND {late} THEN 'Correction' END",
        "pricing_category": f"CASE WHEN {usage} THEN CASE WHEN {spot} THEN 'Dynamic' ELSE 'Standard' END END",
        "charge_description": sku,
        "x_line_item_type": f"coalesce({kind}, 'regular')",
    }


def _place(given: Given) -> dict[str, str]:
    """Service, resource and region; "global" and "us" are places, and no region."""
    service = given.text("service.description")
    region = given.text("location.region")
    resource = given.text("resource.global_name")
    if given.has("resource.name"):
        resource = f"coalesce({resource}, {given.text('resource.name')})"
    return {
        "service_name": service,
        "service_category": category_sql("gcp", service),
        "region_id": region,
        "region_name": region,
        "availability_zone": given.text("location.zone"),
        "resource_id": resource,
        "resource_name": given.text("resource.name"),
        "sku_id": given.text("sku.id"),
        "sku_price_id": given.text("sku.id"),
        "sku_meter": given.text("sku.description"),
        "x_product_code": given.text("service.id"),
        "x_usage_type": given.text("sku.description"),
    }


def _quantities(given: Given) -> dict[str, str]:
    used, unit = given.number("usage.amount"), given.text("usage.unit")
    priced, pricing_unit = given.number("usage.amount_in_pricing_units"), given.text("usage.pricing_unit")
    usage = "charge_category = 'Usage'"
    return {
        "consumed_quantity": f"CASE WHEN {usage} THEN {used} END",
        "consumed_unit": f"CASE WHEN {usage} AND {used} IS NOT NULL THEN {unit} END",
        "pricing_quantity": f"CASE WHEN {usage} THEN {priced} END",
        "pricing_unit": f"CASE WHEN {usage} AND {priced} IS NOT NULL THEN {pricing_unit} END",
        "contracted_unit_price": f"CASE WHEN {usage} THEN {given.money('price.effective_price')} END",
        "x_unit": pricing_unit if given.has("usage.amount_in_pricing_units") else unit,
    }
