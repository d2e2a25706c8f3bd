"""Django configuration."""

from django.apps import AppConfig


class StorageConfig(AppConfig):
    """Registered in finops.settings.base."""

    name = "apps.storage"
