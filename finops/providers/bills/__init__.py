"""What all kinds of bills share: recognising a header, columns as SQL, checks. See `kind`."""

from finops.providers.bills.kind import (
    DATES,
    DAY_FIRST,
    MONTH_FIRST,
    BillKind,
    Check,
    Given,
    Header,
    Lines,
    Recognition,
    Severity,
    UnclearError,
    currency_checked,
    faults_sql,
    lines_sql,
    plain,
)
from finops.providers.bills.periods import billing_month, periods_checked

__all__ = [
    "DATES",
    "DAY_FIRST",
    "MONTH_FIRST",
    "BillKind",
    "Check",
    "Given",
    "Header",
    "Lines",
    "Recognition",
    "Severity",
    "UnclearError",
    "billing_month",
    "currency_checked",
    "faults_sql",
    "lines_sql",
    "periods_checked",
    "plain",
]
