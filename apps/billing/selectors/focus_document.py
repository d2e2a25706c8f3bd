"""The JSON document of an export."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from apps.billing.models import Delivery
from apps.billing.selectors.focus_rows import Chosen, Presence, focus_name
from apps.billing.selectors.spend_document import evidence
from finops.engine.spend import Window
from finops.frames.focus_check import Finding
from finops.text.numbers import decimal_text


def focus_document(
    *,
    rows: int,
    version: str,
    form: str,
    period: str,
    output: str,
    window: Window,
    chosen: Chosen,
    presence: Presence,
    findings: list[Finding],
    deliveries: Mapping[int, Delivery],
    snapshots: Mapping[str, int],
    now: datetime,
) -> dict[str, Any]:
    """Rows, what the sources cannot give, and what the rule table says; decimals are text."""
    return {
        "rows": rows,
        "version": version,
        "format": form,
        "output": output,
        "from": window.start.isoformat(),
        "to": window.end.isoformat(),
        "period": period,
        "columns": [focus_name(column) for column in chosen.columns],
        "columns_not_available": list(chosen.not_available),
        "columns_partly_available": [
            {"column": column, "missing_from": [_source(deliveries.get(n), n, presence) for n in missing]}
            for column, missing in chosen.partly.items()
        ],
        "conformant": not findings,
        "findings": [
            {"rule": f.rule, "column": f.column, "rows": f.rows, "example": f.example} for f in findings
        ],
        "totals": {
            currency or "": {basis: decimal_text(value) for basis, value in sums.items()}
            for currency, sums in presence.totals.items()
        },
        "sources": [_source(deliveries.get(n), n, presence) for n in presence.rows],
        "evidence": evidence(snapshots, now, None),
    }


def _source(delivery: Delivery | None, number: int, presence: Presence) -> dict[str, Any]:
    found: dict[str, Any] = {"delivery": number, "rows": presence.rows[number]}
    if delivery is not None:
        found |= {
            "kind": delivery.kind,
            "payer": delivery.report.payer,
            "report": delivery.report.name,
            "billing_period": f"{delivery.billing_period:%Y-%m}",
            "reconciled": delivery.reconciled,
            "stopgap": delivery.stopgap,
        }
    return found
