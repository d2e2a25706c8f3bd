"""Django configuration."""

from django.apps import AppConfig


class LaunchesConfig(AppConfig):
    """Registered in finops.settings.base."""

    name = "apps.launches"

    def ready(self) -> None:
        """Make the executors of own machines and their tasks known."""
        from apps.launches.own_tasks import tell_own_servers
        from apps.launches.services.own_machines import register_all

        register_all(tell_own_servers)
