"""Tag hygiene: how much of the cost carries which key, and keys that look like one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

from apps.accounts.models import Organisation
from apps.billing.selectors.kept import kept, key_of
from apps.billing.selectors.spend import SpendQuestion
from apps.billing.selectors.spend_document import evidence
from apps.billing.selectors.spend_period import Coverage, cannot_report, coverage, day_sql
from apps.billing.selectors.spend_reading import connect, report_ids, stored_keys
from apps.billing.selectors.spend_sql import Parameters, window_sql
from finops.engine.spend import ZERO, Window, months_of, next_month
from finops.engine.tag_keys import Suspects, suspects
from finops.frames.focus import BASES
from finops.lake import BILL_DAILY, facts
from finops.text.numbers import decimal_text

MOST_KEYS = 1000


@dataclass(frozen=True)
class KeyCoverage:
    """One stored key in one currency. `tagged`: cost under a value that is not blank; `blank`: cost of lines
    whose delivery could report the key and that have none; `not_reported`: cost of the other lines. The three
    add up to the whole. `values`: how many different ones.
    """

    key: str
    currency: str
    tagged: Decimal
    blank: Decimal
    not_reported: Decimal
    values: int

    @property
    def share(self) -> Decimal | None:
        """Tagged of what could be tagged; None where that is not above 0."""
        could = self.tagged + self.blank
        return self.tagged / could if could > 0 else None


@dataclass(frozen=True)
class TagReport:
    """Keys by tagged cost, largest first; suspects by currency; `whole` is all cost by currency."""

    keys: list[KeyCoverage]
    suspects: dict[str, list[Suspects]]
    whole: dict[str, Decimal]
    left_out: int
    coverage: Coverage
    snapshots: dict[str, int]

    def document(self, now: datetime) -> dict[str, Any]:
        """JSON values."""
        return {
            "keys": [
                {
                    "key": one.key,
                    "currency": one.currency,
                    "tagged": decimal_text(one.tagged),
                    "blank": decimal_text(one.blank),
                    "not_reported": decimal_text(one.not_reported),
                    "share": None if one.share is None else round(float(one.share), 6),
                    "values": one.values,
                }
                for one in self.keys
            ],
            "suspects": [
                {
                    "kind": one.kind,
                    "keys": list(one.keys),
                    "cost": decimal_text(one.cost),
                    "currency": currency,
                }
                for currency, found in self.suspects.items()
                for one in found
            ],
            "totals": {currency: decimal_text(amount) for currency, amount in self.whole.items()},
            "keys_left_out": self.left_out,
            "complete": self.coverage.complete,
            "incomplete": [gap.document() for gap in self.coverage.gaps],
            "evidence": evidence(self.snapshots, now, None),
        }


def stored_names(
    question: SpendQuestion, *, organisation: Organisation | None, snapshots: Mapping[str, int] | None = None
) -> tuple[list[str], list[str]]:
    """Tag keys and cost categories of the months that the question touches, as delivered."""
    found = dict(facts.current_snapshots() if snapshots is None else snapshots)
    reports = report_ids(organisation)
    if not reports or BILL_DAILY not in found:
        return [], []
    return stored_keys(question.window, found, reports)


def tag_report(
    question: SpendQuestion,
    *,
    organisation: Organisation | None,
    now: datetime,
    snapshots: Mapping[str, int] | None = None,
) -> TagReport:
    """The report for the question's days and basis; its dimensions and conditions are not looked at."""
    found = dict(facts.current_snapshots() if snapshots is None else snapshots)
    reports = report_ids(organisation)
    asked = [question.start, question.end, question.basis]
    raw = kept(
        key_of("tags", found, organisation and organisation.pk, reports, *asked),
        lambda: _read(question, found, reports, organisation),
    )
    keys = [
        KeyCoverage(key, currency, Decimal(tagged), Decimal(blank), Decimal(absent), values)
        for key, currency, tagged, blank, absent, values in raw["rows"]
    ]
    whole = {currency: Decimal(amount) for currency, amount in raw["whole"].items()}
    alike = {
        currency: suspects({one.key: one.tagged for one in keys if one.currency == currency})
        for currency in whole
    }
    return TagReport(
        keys=keys[:MOST_KEYS],
        suspects={currency: groups for currency, groups in alike.items() if groups},
        whole=whole,
        left_out=max(0, len(keys) - MOST_KEYS),
        coverage=coverage(question.window, organisation=organisation, now=now),
        snapshots=found,
    )


def _read(
    question: SpendQuestion,
    snapshots: dict[str, int],
    reports: list[str],
    organisation: Organisation | None,
) -> dict[str, Any]:
    if not reports or BILL_DAILY not in snapshots:
        return {"rows": [], "whole": {}}
    given = Parameters()
    months = months_of(question.window)
    day = day_sql(Window(months[0], next_month(months[-1])), organisation=organisation)
    cost = BASES[question.basis]
    columns = ["x_report", "x_month", "x_day", "x_delivery", "billing_currency", "tags", cost]
    with connect(question.window, snapshots, reports, BILL_DAILY, columns) as con:
        con.execute(
            "CREATE TEMP TABLE t AS SELECT x_delivery AS d, billing_currency AS c, tags, "  # noqa: S608
            f"sum({cost}) AS cost FROM {BILL_DAILY} WHERE {window_sql(question.window, given, day)} "
            "GROUP BY ALL",
            given.values,
        )
        by_delivery = con.execute("SELECT d, c, sum(cost) FROM t GROUP BY ALL").fetchall()
        rows = con.execute(
            "SELECT e.k.key AS k, c, sum(cost), count(DISTINCT e.k.value) FROM t, "
            "unnest(map_entries(tags)) AS e(k) WHERE e.k.value <> '' GROUP BY ALL"
        ).fetchall()
    absent = cannot_report([(row[0],) for row in rows], organisation=organisation)
    whole: dict[str, Decimal] = {}
    for _delivery, currency, amount in by_delivery:
        whole[currency] = whole.get(currency, ZERO) + (amount or ZERO)
    made = []
    for key, currency, tagged, values in rows:
        without = set(absent.get((key,), ()))
        missing = sum(
            ((amount or ZERO) for d, c, amount in by_delivery if c == currency and d in without), ZERO
        )
        tagged = tagged or ZERO
        blank = whole[currency] - missing - tagged
        made.append((key, currency, tagged, blank, missing, values))
    made.sort(key=lambda row: (row[1], -row[2], row[0]))
    return {
        "rows": [[k, c, str(t), str(b), str(m), n] for k, c, t, b, m, n in made],
        "whole": {currency: str(amount) for currency, amount in sorted(whole.items())},
    }
