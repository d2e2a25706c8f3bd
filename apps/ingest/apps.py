"""Django configuration."""

from django.apps import AppConfig


class IngestConfig(AppConfig):
    """Registered in finops.settings.base."""

    name = "apps.ingest"

    def ready(self) -> None:
        """Tell the price selectors where the facts are."""
        from apps.ingest import selectors
        from finops.lake import facts

        facts.register(facts.Source(selectors.lake, selectors.current_snapshots))
