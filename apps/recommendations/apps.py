"""Django configuration."""

from django.apps import AppConfig


class RecommendationsConfig(AppConfig):
    """Registered in finops.settings.base."""

    name = "apps.recommendations"

    def ready(self) -> None:
        """Tell the upkeep of the lake what stored advice and recommendations rest on."""
        from apps.ingest.services import upkeep
        from apps.recommendations.selectors.inbox import cited_by_recommendations
        from apps.recommendations.services.retention import advice_snapshots

        for cited in (advice_snapshots, cited_by_recommendations):
            if cited not in upkeep.cited_snapshots:
                upkeep.cited_snapshots.append(cited)
