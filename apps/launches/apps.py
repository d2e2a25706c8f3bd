"""Django configuration."""

from django.apps import AppConfig


class LaunchesConfig(AppConfig):
    """Registered in finops.settings.base."""

    name = "apps.launches"
