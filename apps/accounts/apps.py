"""Django configuration."""

from django.apps import AppConfig


class AccountsConfig(AppConfig):
    """Registered in finops.settings.base."""

    name = "apps.accounts"

    def ready(self) -> None:
        """Let kept API keys go when anything that they show changes."""
        from django.db.models.signals import post_delete, post_save

        from apps.accounts.key_cache import keys_changed
        from apps.accounts.models import ApiKey, Organisation, Team

        for model in (ApiKey, Organisation, Team):
            for signal in (post_save, post_delete):
                uid = f"offpeak-kept-keys-{model.__name__}"
                signal.connect(keys_changed, sender=model, dispatch_uid=uid)
