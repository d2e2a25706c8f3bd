"""Django configuration."""

from django.apps import AppConfig


class CatalogConfig(AppConfig):
    """Registered in finops.settings.base."""

    name = "apps.catalog"
