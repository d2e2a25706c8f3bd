"""Django configuration."""

from django.apps import AppConfig


class AccountsConfig(AppConfig):
    """Registered in finops.settings.base."""

    name = "apps.accounts"
