"""Django configuration."""

from django.apps import AppConfig


class DashboardConfig(AppConfig):
    """Registered in finops.settings.base."""

    name = "apps.dashboard"

    def ready(self) -> None:
        """Have the pages computed when new prices are in."""
        from apps.ingest import finished

        if _hand_out not in finished.told:
            finished.told.append(_hand_out)


def _hand_out(run_id: int) -> None:
    # Imported late: views need translations, which need all apps ready.
    from apps.dashboard.tasks import warm_up_hand_out

    warm_up_hand_out(run_id)
