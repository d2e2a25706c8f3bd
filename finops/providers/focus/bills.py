"""FOCUS exports (1.0 to 1.4), CSV and Parquet, of any provider.

Source: https://focus.finops.org/focus-specification/, and columns/ of 1.3 and 1.4 in the repository
FinOps-Open-Cost-and-Usage-Spec/FOCUS_Spec, read 2026-11. Quirks:
- 1.3 brought ServiceProviderName, HostProviderName, ContractApplied and Allocated… columns; 1.4 took
  ProviderName and PublisherName away. They and the provider's own (`x_…`) columns stay with the line as
  delivered, in `x_source_columns`.
- 1.3 has other datasets beside cost and usage (contract commitments, 1.4 also billing periods and invoices):
  they have no ChargeCategory and are no bill.
- Samples write an unquoted NULL for null beside blank cells. Tags is JSON text or a Parquet map, its values
  true, numbers or texts. Times come with Z, without, with UTC or an offset, and without seconds.
- A file without EffectiveCost has no amortised cost: null, not the billed one.
"""

from __future__ import annotations

from finops.frames.focus import FOCUS_COLUMNS, LINE_COLUMNS, OUR_COLUMNS, Column, Kind, focus_name
from finops.frames.focus_rules import allowed_values
from finops.providers.bills import BillKind, Given, Lines, Severity
from finops.providers.bills.kind import NULL, ZONED
from finops.text.sql import quote

# ProviderName as the clouds write it in their own exports -> our word; others keep their own in lower case.
PROVIDERS = {
    "aws": ("AWS", "Amazon Web Services", "Amazon Web Services, Inc."),
    "azure": ("Microsoft", "Microsoft Azure", "Azure"),
    "gcp": ("Google Cloud", "Google Cloud Platform", "GCP", "Google"),
    "alibaba": ("Alibaba Cloud", "Aliyun"),
    "tencent": ("Tencent Cloud", "Tencent"),
    "oci": ("Oracle", "Oracle Cloud", "Oracle Cloud Infrastructure", "OCI"),
}
# Columns of 1.3 and 1.4 by which a file is known too.
LATER_COLUMNS = (
    "AllocatedMethodDetails",
    "AllocatedMethodId",
    "AllocatedResourceId",
    "AllocatedResourceName",
    "AllocatedTags",
    "ContractApplied",
    "HostProviderName",
    "ServiceProviderName",
)
_LOCAL_MONTH = "[0-9]{4}-[0-9]{2}-01[T ]00:00(:00([.]0+)?)? ?[+-][0-9]{2}:?[0-9]{2}"
# What decides how a line counts must be a word of the specification: another one refuses the delivery.
_DECIDING = ("ChargeCategory", "ChargeClass")
# What sorts lines in figures: another word rejects its row. Other allowed values stay as delivered.
_SORTING = (
    "CapacityReservationStatus",
    "CommitmentDiscountCategory",
    "CommitmentDiscountStatus",
    "PricingCategory",
)
# Columns of ours that a file cannot give, or that have a rule of their own.
_NOT_GIVEN = {*(column.name for column in OUR_COLUMNS[:7]), "x_source_columns", "x_rounded", "x_undated"}


class Focus(BillKind):
    """Any FOCUS file; what it calls a column is what the line calls it."""

    name = "focus"
    title = "FOCUS"
    provider = ""
    required = {
        "billing account": ("BillingAccountId",),
        "currency": ("BillingCurrency",),
        "billing period": ("BillingPeriodStart",),
        "charge period": ("ChargePeriodStart",),
        "type": ("ChargeCategory",),
        "billed cost": ("BilledCost",),
    }
    starts = ("ChargePeriodStart",)
    ends = ("ChargePeriodEnd",)
    billing_ends = ("BillingPeriodEnd",)
    typical = frozenset((*(column.focus for column in FOCUS_COLUMNS), *LATER_COLUMNS))
    null_word = "NULL"

    def lines(self, given: Given) -> Lines:
        """Column by column; our own measures from the FOCUS ones that mean the same."""
        columns = {c.name: _cell(given, c) for c in FOCUS_COLUMNS if given.has(c.focus)}
        columns |= _periods(given)
        columns["provider_name"] = _first(given, "ProviderName", "ServiceProviderName")
        columns["x_provider"] = _provider(given, columns["provider_name"])
        columns |= _ours(given)
        for wanted in self.required.values():
            if wanted[0] not in {"BilledCost", *self.starts}:
                given.reject_where(f"{given.text(*wanted)} IS NULL", wanted[0], "blank")
        taken = ("x_ServiceCode", *(focus_name(column) for column in LINE_COLUMNS))
        own = given.has("x_SourceColumns")
        columns["x_source_columns"] = given.mapping("x_SourceColumns") if own else given.rest(taken)
        return Lines(columns, tag_keys=None if given.has("Tags") else [])


def _ours(given: Given) -> dict[str, str]:
    """Columns of ours: as a file of our own has them, else from the FOCUS ones that mean the same."""
    columns = {
        column.name: _cell(given, column)
        for column in LINE_COLUMNS
        if not column.focus and column.name not in _NOT_GIVEN and given.has(focus_name(column))
    }
    usage = f"{given.word(allowed_values()['ChargeCategory'], Severity.REFUSE, 'ChargeCategory')} = 'Usage'"
    otherwise = {
        "x_net_cost": given.money("BilledCost"),
        "x_net_effective_cost": given.money("EffectiveCost"),
        "x_line_item_type": given.text("ChargeCategory"),
        "x_billing_entity": _first(given, "PublisherName", "InvoiceIssuerName"),
        "x_usage_type": _first(given, "SkuMeter", "ChargeDescription"),
        "x_product_code": given.text("x_ServiceCode"),
        "x_quantity": f"CASE WHEN {usage} THEN {given.number('ConsumedQuantity')} END",
        "x_unit": given.text("ConsumedUnit"),
    }
    return {**otherwise, **columns}


def _cell(given: Given, column: Column) -> str:
    """The column's cell in its type."""
    header = focus_name(column)
    if column.focus in _DECIDING or column.focus in _SORTING:
        severity = Severity.REFUSE if column.focus in _DECIDING else Severity.REJECT
        return given.word(allowed_values()[column.focus], severity, header)
    if column.kind is Kind.MONEY:
        return given.money(header)
    if column.kind is Kind.NUMBER:
        return given.number(header)
    if column.kind is Kind.INSTANT:
        return given.instant(header)
    if column.kind is Kind.MAP:
        return given.mapping(header)
    # Exports of the clouds use some of our names for texts of their own, where '' is as good as null.
    return given.cell(header) if column.focus else given.text(header)


def _periods(given: Given) -> dict[str, str]:
    """A billing period with an offset is the month that is written: 2026-03-01T00:00+08:00 is March."""
    found = {}
    for name in ("BillingPeriodStart", "BillingPeriodEnd"):
        if given.has(name):
            text, moment = given.text(name), given.instant(name)
            local = f"regexp_full_match({text}, {quote(_LOCAL_MONTH)})"
            month = f"CAST(left({text}, 10) || ' 00:00:00+00' AS {ZONED})"
            column = next(c.name for c in FOCUS_COLUMNS if c.focus == name)
            found[column] = f"CASE WHEN {local} THEN {month} ELSE {moment} END"
    return found


def _first(given: Given, *names: str) -> str:
    """The first of these cells that is filled."""
    texts = [given.text(name) for name in names if given.has(name)]
    return f"coalesce({', '.join(texts)})" if texts else NULL


def _provider(given: Given, said: str) -> str:
    """Our word for the provider. Who hosts it is not who bills it; who issues the invoice mostly is."""
    said = _first(given, "InvoiceIssuerName") if said == NULL else said
    known = NULL
    if said != NULL:
        cases = " ".join(
            f"WHEN {said} IN ({', '.join(quote(word) for word in words)}) THEN {quote(ours)}"
            for ours, words in PROVIDERS.items()
        )
        known = f"CASE {cases} ELSE lower({said}) END"
    own = [given.text("x_Provider")] if given.has("x_Provider") else []
    return f"coalesce({', '.join([*own, known, quote('focus')])})"
