"""Django configuration."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from django.apps import AppConfig

if TYPE_CHECKING:
    from apps.accounts.models import Organisation


class WasteConfig(AppConfig):
    """Registered in finops.settings.base."""

    name = "apps.waste"

    def ready(self) -> None:
        """Make waste a kind of recommendation."""
        from django.utils.translation import gettext_lazy as _

        from apps.accounts.roles import Action
        from apps.recommendations.kinds import Kind, register
        from apps.waste.services import rows
        from apps.waste.services.realised import realised
        from apps.waste.wording import worded

        def look(organisation: Organisation, now: datetime) -> None:
            rows.waste_rows_publish(organisation=organisation, now=now)

        register(
            Kind(rows.KIND, _("Waste"), worded, realised, rows.counterfactual, Action.DECIDE_WORK, look=look)
        )
