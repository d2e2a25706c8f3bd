"""The explorer's rows as CSV and as a workbook: exact values, never text that runs as a formula."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Any

import xlsxwriter
from django.http import HttpResponse, StreamingHttpResponse
from django.utils.translation import gettext as _

from apps.billing.selectors.spend import SpendAnswer
from apps.billing.selectors.spend_document import spend_document
from finops.text.csv_cells import Column, csv_lines

XLSX = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
# A workbook's numbers are binary: 15 digits. The exact text stands in a column of its own.
_NUMBERS = ("cost", "quantity")


def columns_of(answer: SpendAnswer) -> list[Column]:
    """Columns of the export: the dimensions, then the figures."""
    texts = [*answer.question.by, "period", "period_start", "period_end"]
    return [
        *(Column(name, name) for name in texts),
        Column("cost", "cost", "number"),
        Column("currency", "currency"),
        Column("quantity", "quantity", "number"),
        Column("unit", "unit"),
        Column("lines", "lines", "number"),
        Column("lines_without_cost", "lines_without_cost", "number"),
    ]


def _rows(answer: SpendAnswer) -> Iterator[dict[str, Any]]:
    yield from spend_document(answer)["rows"]


def csv_response(answer: SpendAnswer, name: str) -> StreamingHttpResponse:
    """The rows, streamed."""
    lines = csv_lines(columns_of(answer), _rows(answer))
    response = StreamingHttpResponse(lines, content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{name}.csv"'
    return response


def xlsx_response(answer: SpendAnswer, name: str) -> HttpResponse:
    """A workbook: rows with numbers to calculate with and their exact text, and a sheet on what they are."""
    buffer = io.BytesIO()
    # Text stays text: no formulas, links or numbers are made of what stands in a bill.
    options = {
        "in_memory": True, "strings_to_formulas": False, "strings_to_urls": False, "strings_to_numbers": False
    }  # fmt: skip
    with xlsxwriter.Workbook(buffer, options) as book:
        _sheet(book, answer)
        _about(book, answer)
    response = HttpResponse(buffer.getvalue(), content_type=XLSX)
    response["Content-Disposition"] = f'attachment; filename="{name}.xlsx"'
    return response


def _sheet(book: Any, answer: SpendAnswer) -> None:
    sheet = book.add_worksheet(_("Spend"))
    head = book.add_format({"bold": True, "bottom": 1})
    money = book.add_format({"num_format": "#,##0.00"})
    columns = columns_of(answer)
    titles = [*(column.title for column in columns), "cost_exact"]
    for place, title in enumerate(titles):
        sheet.write_string(0, place, title, head)
    sheet.freeze_panes(1, 0)
    for number, row in enumerate(_rows(answer), start=1):
        for place, column in enumerate(columns):
            value = row[column.key]
            if value is None:
                continue
            if column.kind == "number":
                shown = money if column.key in _NUMBERS else None
                sheet.write_number(number, place, float(Decimal(value)), shown)
            else:
                sheet.write_string(number, place, str(value))
        if row["cost"] is not None:
            sheet.write_string(number, len(columns), row["cost"])
    sheet.autofilter(0, 0, max(len(answer.rows), 1), len(titles) - 1)
    sheet.set_column(0, len(titles) - 1, 16)


def _about(book: Any, answer: SpendAnswer) -> None:
    sheet = book.add_worksheet(_("About"))
    facts: list[Sequence[str]] = [
        (_("From"), answer.question.start.isoformat()),
        (_("To, excluded"), answer.question.end.isoformat()),
        (_("Basis"), answer.question.basis),
        *((_("Filter"), f"{name}={value}") for name, value in answer.question.where),
        *(
            (_("Total %(currency)s") % {"currency": currency}, format(amount, "f"))
            for currency, amount in answer.totals.items()
        ),
        *(
            (_("Rate"), f"1 {r.base} = {format(r.rate, 'f')} {r.quote}, {r.on.isoformat()}, {r.source}")
            for r in answer.rates
        ),
        (_("Complete"), _("yes") if answer.complete else _("no")),
        *((_("Missing"), gap.sentence()) for gap in answer.coverage.gaps),
        *(
            (_("Snapshot of %(table)s") % {"table": table}, str(number))
            for table, number in sorted(answer.snapshots.items())
        ),
    ]  # fmt: skip
    for number, (name, value) in enumerate(facts):
        sheet.write_string(number, 0, name)
        sheet.write_string(number, 1, value)
    sheet.set_column(0, 0, 24)
    sheet.set_column(1, 1, 60)
