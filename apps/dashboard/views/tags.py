"""Tags: how much cost carries which key, and keys that look like one."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from apps.accounts.access import access
from apps.accounts.roles import Action
from apps.billing.selectors.tags import KeyCoverage, TagReport, tag_report
from apps.dashboard import format as fmt
from apps.dashboard import freshness
from apps.dashboard.presenters.spend_words import BASIS_WORDS, window_word
from apps.dashboard.spend import bill_age, filters_of, newest_month
from apps.dashboard.tabs import SPEND_TABS
from apps.dashboard.views.spend import empty_page, organisation_of, period_choices
from apps.dashboard.words import lang


@access(Action.VIEW)
def tags_page(request: HttpRequest) -> HttpResponse:
    """Coverage by key and the suspects, for the days and basis of the address."""
    organisation = organisation_of(request)
    newest = newest_month(organisation)
    if newest is None:
        return empty_page(request, "spend-tags")
    filters = filters_of(request.GET, newest)
    report = tag_report(
        filters.question, organisation=organisation, now=datetime.now(UTC),
        snapshots=freshness.snapshots_of(request),
    )  # fmt: skip
    context = {
        "page": "spend",
        "tab": "spend-tags",
        "tabs": SPEND_TABS,
        "data_age": bill_age(organisation, datetime.now(UTC)),
        "filters": filters,
        "period": window_word(filters.window),
        "periods": period_choices(filters, newest),
        "bases": [(name, word, filters.address(basis=name)) for name, word in BASIS_WORDS.items()],
        "heading": _heading(report),
        "keys": [_row(key, filters.address(by=f"tag:{key.key}", then="", where=[])) for key in report.keys],
        "suspects": [
            {
                "keys": ", ".join(found.keys),
                "kind": _("case or accent") if found.kind == "case" else _("dash, underscore, dot or blank"),
                "cost": fmt.number(found.cost, 2),
                "currency": currency,
                "address": filters.address(by=f"tagfold:{found.keys[0]}", then="", where=[])
                if found.kind == "case"
                else "",
            }
            for currency, groups in report.suspects.items()
            for found in groups
        ],
        "left_out": report.left_out,
        "gaps": [gap.sentence() for gap in report.coverage.gaps[:4]],
        "several": len(report.whole) > 1,
    }
    return render(request, "dashboard/spend_tags.html", context)


def _heading(report: TagReport) -> str:
    groups = sum(len(found) for found in report.suspects.values())
    best = max(report.keys, key=lambda key: key.share or 0, default=None)
    if best is None:
        return _("No line of this period carries a tag.")
    values = {"key": best.key, "share": fmt.percent((best.share or 0) * 100, lang()), "n": groups}
    if not groups:
        return _("The best kept tag, %(key)s, covers [[%(share)s]] of the cost.") % values
    return (
        ngettext(
            "%(key)s covers [[%(share)s]] of the cost; %(n)d group of keys looks alike.",
            "%(key)s covers [[%(share)s]] of the cost; %(n)d groups of keys look alike.",
            groups,
        )
        % values
    )


def _row(key: KeyCoverage, address: str) -> dict[str, Any]:
    return {
        "key": key.key,
        "address": address,
        "currency": key.currency,
        "tagged": fmt.number(key.tagged, 2),
        "blank": fmt.number(key.blank, 2),
        "not_reported": fmt.number(key.not_reported, 2) if key.not_reported else "",
        "share": fmt.percent(None if key.share is None else key.share * 100, lang()),
        "width": max(0, min(100, int((key.share or 0) * 100))),
        "values": key.values,
    }
