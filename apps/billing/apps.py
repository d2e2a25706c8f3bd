"""The app of bills: deliveries, what they sum to, and what people make of them."""

from __future__ import annotations

from django.apps import AppConfig


class BillingConfig(AppConfig):
    """Django's entry."""

    name = "apps.billing"
    default_auto_field = "django.db.models.BigAutoField"
