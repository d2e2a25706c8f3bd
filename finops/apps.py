"""Django configuration of the project package."""

from django.apps import AppConfig


class FinopsConfig(AppConfig):
    """Loads the Celery application once Django's registry is ready."""

    name = "finops"

    def ready(self) -> None:
        """Make `shared_task` bind to the project's Celery application."""
        from finops import celery  # noqa: F401
