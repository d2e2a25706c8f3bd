"""Django configuration."""

from django.apps import AppConfig


class RecommendationsConfig(AppConfig):
    """Registered in finops.settings.base."""

    name = "apps.recommendations"

    def ready(self) -> None:
        """Tell the upkeep of the lake what stored advice rests on."""
        from apps.ingest.services import upkeep
        from apps.recommendations.services.retention import advice_snapshots

        if advice_snapshots not in upkeep.cited_snapshots:
            upkeep.cited_snapshots.append(advice_snapshots)
