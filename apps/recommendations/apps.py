"""Django configuration."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from django.apps import AppConfig

if TYPE_CHECKING:
    from apps.accounts.models import Organisation


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
        _register_announcements()


def _register_announcements() -> None:
    """Costs that a decision brings at once wait for nobody when the bill shows them."""
    from apps.billing.announced import Source, register
    from apps.recommendations.services import announced

    register(Source(announced.PURCHASE, announced.purchase_rises, announced.purchase_worded))
    register(Source(announced.ADVICE, announced.advice_rises, announced.advice_worded))


def _register_kinds() -> None:
    """Kinds of recommendations that this app finds itself."""
    from django.utils.translation import gettext_lazy as _

    from apps.accounts.roles import Action
    from apps.recommendations.kinds import Kind, register
    from apps.recommendations.launch_window import worded
    from apps.recommendations.services import launch_places, realised_launch
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
            replaces=True,
        )
    )
    register(
        Kind(
            launch_places.KIND,
            _("Another zone"),
            launch_places.worded,
            realised_launch.realised,
            realised_launch.counterfactual,
            Action.DECIDE_WORK,
            replaces=True,
        )
    )
    _register_commitments()
    _register_storage()


def _register_storage() -> None:
    """What to move to another class."""
    from django.utils.translation import gettext_lazy as _

    from apps.accounts.roles import Action
    from apps.billing.announced import Source
    from apps.billing.announced import register as announce
    from apps.recommendations import storage_wording as words
    from apps.recommendations.kinds import Kind, register
    from apps.recommendations.services import storage_rows as rows
    from apps.recommendations.services.realised_storage import realised

    def look(organisation: Organisation, now: datetime) -> None:
        rows.storage_rows_publish(organisation=organisation, now=now)

    register(
        Kind(
            rows.KIND, _("Storage class"), words.worded, realised, rows.counterfactual, Action.DECIDE_WORK,
            look=look, announces=rows.announces,
        )
    )  # fmt: skip
    announce(Source(rows.SOURCE, None, words.announced))


def _register_commitments() -> None:
    """What to buy and to sell; one look finds both."""
    from django.utils.translation import gettext_lazy as _

    from apps.recommendations import commitment_kinds as words
    from apps.recommendations.kinds import Kind, register
    from apps.recommendations.services.announced import commitment_fee
    from apps.recommendations.services.commitments_rows import BUY, SELL, commitment_rows_publish
    from apps.recommendations.services.realised_commitments import commitment_months

    def look(organisation: Organisation, now: datetime) -> None:
        commitment_rows_publish(organisation=organisation, now=now)

    register(
        Kind(
            BUY, _("Commitment to buy"), words.worded_buy, commitment_months, words.counterfactual_buy,
            look=look, announces=commitment_fee,
        )
    )  # fmt: skip
    register(
        Kind(SELL, _("Commitment to sell"), words.worded_sell, words.realised_sell, words.counterfactual_sell)
    )
