"""`import_account_names PATH`: names of cloud accounts from a CSV."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser
from django.utils.translation import gettext as _

from apps.billing.management.table_command import TableCommand
from apps.billing.services.accounts import account_names_import
from apps.billing.services.rates import PROVIDERS


class Command(TableCommand):
    """Columns: id, name; provider where it is not the one of the option. Others are ignored."""

    help = "Import names of cloud accounts from a CSV file."

    def add_arguments(self, parser: CommandParser) -> None:
        """The provider of rows without one."""
        super().add_arguments(parser)
        parser.add_argument(
            "--provider", default="aws", choices=PROVIDERS, help=_("provider of rows without one")
        )

    def store(self, *, options: Any, **given: Any) -> Any:
        """Accounts that are new, renamed, as they were."""
        return account_names_import(**given, provider=options["provider"])
