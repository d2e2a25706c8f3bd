"""Pages that share one entry of the navigation, as tabs under their header."""

from __future__ import annotations

from typing import Any, NamedTuple

from django.utils.translation import gettext_lazy as _


class Tab(NamedTuple):
    """One tab: its address name and word."""

    page: str
    label: Any


SPEND_TABS: tuple[Tab, ...] = (
    Tab("spend", _("Explorer")),
    Tab("budgets", _("Budgets")),
    Tab("anomalies", _("Anomalies")),
    Tab("allocation", _("Allocation")),
    Tab("spend-changes", _("Changes")),
    Tab("spend-tags", _("Tags")),
)

WASTE_TABS: tuple[Tab, ...] = (
    Tab("waste", _("Findings")),
    Tab("waste-clusters", _("Kubernetes")),
    Tab("waste-metrics", _("Metrics")),
    Tab("waste-rules", _("Rules")),
)

STORAGE_TABS: tuple[Tab, ...] = (
    Tab("storage", _("Where bytes lie")),
    Tab("storage-checkpoints", _("Checkpoints")),
    Tab("storage-changes", _("Rule changes")),
    Tab("storage-prices", _("Prices")),
)

DEALS_TABS: tuple[Tab, ...] = (
    Tab("deals", _("Deals")),
    Tab("commitments", _("Commitments")),
    Tab("deal-sales", _("Selling")),
    Tab("deal-claim", _("Calculator")),
    Tab("deal-watch", _("Watch")),
    Tab("purchases", _("Purchases")),
)

REPORTS_TABS: tuple[Tab, ...] = (
    Tab("reports", _("Weekly mail")),
    Tab("alerts", _("Alerts")),
)

CHECKS_TABS: tuple[Tab, ...] = (
    Tab("checks", _("Checks")),
    Tab("check-policies", _("Policies")),
)

LAUNCHES_TABS: tuple[Tab, ...] = (
    Tab("launches", _("Launches")),
    Tab("launch-plans", _("Plans")),
    Tab("launch-limits", _("Limits")),
    Tab("pools", _("Pools and devices")),
    Tab("launch-bursts", _("Help for queues")),
    Tab("schedules", _("Schedules")),
)
