"""Django configuration."""

from django.apps import AppConfig


class IngestConfig(AppConfig):
    """Registered in finops.settings.base."""

    name = "apps.ingest"

    def ready(self) -> None:
        """Tell the price selectors where the facts are, and the upkeep what findings about bills rest on."""
        from apps.billing.selectors.cited import bill_snapshots
        from apps.ingest import selectors
        from apps.ingest.services import upkeep
        from finops.lake import facts

        facts.register(facts.Source(selectors.lake, selectors.current_snapshots))
        if bill_snapshots not in upkeep.cited_snapshots:
            upkeep.cited_snapshots.append(bill_snapshots)
