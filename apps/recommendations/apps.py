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
        _register_kinds()


def _register_kinds() -> None:
    """Kinds of recommendations that this app finds itself."""
    from django.utils.translation import gettext_lazy as _

    from apps.accounts.roles import Action
    from apps.recommendations.kinds import Kind, register
    from apps.recommendations.launch_window import worded
    from apps.recommendations.services import realised_launch
    from apps.recommendations.services.launch_rows import KIND, launch_rows_publish

    register(
        Kind(
            KIND,
            _("Launch window"),
            worded,
            realised_launch.realised,
            realised_launch.counterfactual,
            Action.DECIDE_WORK,
            lambda organisation, now: launch_rows_publish(organisation=organisation, now=now),
        )
    )
