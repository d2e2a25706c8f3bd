"""Django configuration."""

from django.apps import AppConfig


class ReportsConfig(AppConfig):
    """Registered in finops.settings.base."""

    name = "apps.reports"

    def ready(self) -> None:
        """Make the sections of the mail and the causes of alerts known."""
        from apps.reports import causes, parts

        parts.register_all()
        causes.register_all()
