"""What all kinds of bills share: recognising a header, columns as SQL, checks. See `kind`."""

from finops.providers.bills.kind import (
    BillKind,
    Check,
    Given,
    Header,
    Lines,
    Recognition,
    Severity,
    currency_checked,
    faults_sql,
    lines_sql,
    plain,
)

__all__ = [
    "BillKind",
    "Check",
    "Given",
    "Header",
    "Lines",
    "Recognition",
    "Severity",
    "currency_checked",
    "faults_sql",
    "lines_sql",
    "plain",
]
