"""Django configuration."""

from django.apps import AppConfig


class ApiConfig(AppConfig):
    """Registered in finops.settings.base."""

    name = "apps.api"

    def ready(self) -> None:
        """Let workers say that they live."""
        from celery.signals import heartbeat_sent

        from apps.api.heartbeat import worker_beat

        heartbeat_sent.connect(worker_beat, dispatch_uid="offpeak-worker-heartbeat")
