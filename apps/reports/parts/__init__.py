"""The sections that come with the product; other apps may register more, or replace one."""

from apps.reports.parts import anomalies, budgets, deals, launches, moved, quality, saved
from apps.reports.sections import Section, register


def register_all() -> None:
    """Called once when Django is ready. What is not final comes last."""
    register(Section("moved", 10, moved.by_service))
    register(Section("usage", 15, moved.by_usage, editions=("engineering",)))
    register(Section("budgets", 20, budgets.block, editions=("finance",)))
    register(Section("realised", 30, saved.realised))
    register(Section("open", 40, saved.still_open))
    register(Section("deals", 50, deals.block))
    register(Section("launches", 60, launches.block))
    register(Section("anomalies", 70, anomalies.block))
    register(Section("quality", 90, quality.block))
