"""One line of a bill: every column that it holds, also those of the source."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _

from apps.accounts.access import access
from apps.accounts.roles import Action
from apps.billing.selectors.spend_line import spend_line
from apps.dashboard import format as fmt
from apps.dashboard import freshness
from apps.dashboard.spend import bill_age
from apps.dashboard.tabs import SPEND_TABS
from apps.dashboard.views.spend import organisation_of
from finops.frames.focus import BY_NAME

MAX_DIGITS = 18


@access(Action.VIEW)
def line_page(request: HttpRequest) -> HttpResponse:
    """The line that `delivery`, `file` and `row` of the address name."""
    numbers = [request.GET.get(name, "") for name in ("delivery", "row")]
    if not all(text.isdecimal() and len(text) <= MAX_DIGITS for text in numbers):
        raise Http404
    organisation = organisation_of(request)
    found = spend_line(
        organisation=organisation,
        delivery=int(numbers[0]),
        file=request.GET.get("file", ""),
        row=int(numbers[1]),
        snapshots=freshness.snapshots_of(request),
    )
    if found is None:
        raise Http404
    values = dict(found.focus)
    cost = values.get("billed_cost")
    context = {
        "page": "spend",
        "tab": "spend",
        "tabs": SPEND_TABS,
        "data_age": bill_age(organisation, datetime.now(UTC)),
        "heading": _("Row %(row)s of %(file)s is billed at [[%(cost)s]].")
        % {
            "row": fmt.number(int(numbers[1])),
            "file": request.GET["file"].rsplit("/", 1)[-1][-40:],
            "cost": fmt.money(cost, values.get("billing_currency") or "", decimals=6),
        },
        "line": found,
        "focus": [(BY_NAME[name].focus or name, _text(value)) for name, value in found.focus],
        "ours": [(name, _text(value)) for name, value in found.ours],
        "tags": sorted((found.maps.get("tags") or {}).items()),
        "categories": sorted((found.maps.get("x_cost_categories") or {}).items()),
        "source": sorted((found.maps["x_source_columns"] or {}).items()),
        "source_kept": found.maps["x_source_columns"] is not None,
    }
    return render(request, "dashboard/spend_line.html", context)


def _text(value: Any) -> str:
    """A cell as it is: every digit of an amount, a time in UTC."""
    if isinstance(value, Decimal):
        return format(value.normalize() + 0 if value else Decimal(0), "f")
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat().replace("+00:00", "Z")
    return value.isoformat() if isinstance(value, date) else str(value)
