"""Django configuration."""

from django.apps import AppConfig


class ApiConfig(AppConfig):
    """Registered in finops.settings.base."""

    name = "apps.api"
