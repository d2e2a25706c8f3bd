"""Snapshots of the lake that stored findings about bills rest on."""

from __future__ import annotations

from django.apps import apps
from django.core.exceptions import FieldDoesNotExist


def bill_snapshots() -> set[int]:
    """Those in the `evidence` of anomalies, alerts and whatever else this app keeps with one."""
    cited: set[int] = set()
    for model in apps.get_app_config("billing").get_models():
        try:
            model._meta.get_field("evidence")
        except FieldDoesNotExist:
            continue
        rows = model._default_manager.order_by().values_list("evidence__snapshots", flat=True).distinct()
        cited.update(int(snapshot) for one in rows if one for snapshot in one.values())
    return cited
