"""What an organisation calls its cloud accounts."""

from __future__ import annotations

from django.db.models import QuerySet

from apps.accounts.models import Organisation
from apps.billing.models import AccountName
from finops.text.csv_cells import Column

ACCOUNT_COLUMNS = (Column("provider", "provider"), Column("id", "id"), Column("name", "name"))


def account_names_of(organisation: Organisation | None) -> QuerySet[AccountName]:
    """The names with their accounts; None is the default organisation."""
    return AccountName.objects.filter(organisation=organisation or Organisation.default()).select_related(
        "account"
    )


def account_names(*, organisation: Organisation | None) -> dict[tuple[str, str], str]:
    """(provider, account id) -> name, read once for a page of accounts."""
    rows = account_names_of(organisation).values_list("account__provider", "account__account_id", "name")
    return {(provider, number): name for provider, number, name in rows}
