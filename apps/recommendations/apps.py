"""Django configuration."""

from django.apps import AppConfig


class RecommendationsConfig(AppConfig):
    """Registered in finops.settings.base."""

    name = "apps.recommendations"
