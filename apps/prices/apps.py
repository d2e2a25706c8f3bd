"""Django configuration."""

from django.apps import AppConfig


class PricesConfig(AppConfig):
    """Registered in finops.settings.base."""

    name = "apps.prices"
