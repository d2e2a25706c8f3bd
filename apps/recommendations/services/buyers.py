"""Which accounts may buy, and the freeze switch."""

from __future__ import annotations

from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _

from apps.accounts.actors import Actor
from apps.accounts.models import Organisation
from apps.accounts.services import audit_record
from apps.recommendations.models import BuyingAccount
from finops.providers.aws.names import ACCOUNT, role_account
from finops.providers.aws.offers import PROVIDER


def buyer_save(
    *,
    organisation: Organisation,
    actor: Actor,
    account: str,
    role: str = "",
    external_id: str = "",
    active: bool = True,
) -> BuyingAccount:
    """Name an account that may buy, or change its role or switch. Raises ValidationError by field."""
    if not ACCOUNT.fullmatch(account):
        raise ValidationError({"account": _("An account's number has twelve digits.")})
    named = role_account(role)
    if role and not named:
        raise ValidationError({"role": _("No ARN of a role: arn:aws:iam::ACCOUNT:role/NAME.")})
    if named and named != account:
        raise ValidationError({"role": _("The role is of account %(account)s.") % {"account": named}})
    given = {"credentials": role, "external_id": external_id.strip(), "active": active}
    with transaction.atomic():
        row = BuyingAccount.objects.select_for_update().filter(provider=PROVIDER, account=account).first()
        if row is not None and row.organisation_id != organisation.pk:
            raise ValidationError({"account": _("Another organisation buys with it.")})
        before = None if row is None else _said(row)
        try:
            with transaction.atomic():
                if row is None:
                    row = BuyingAccount(organisation=organisation, provider=PROVIDER, account=account)
                for name, value in given.items():
                    setattr(row, name, value)
                row.save()
        except IntegrityError as error:
            raise ValidationError({"account": _("Another organisation buys with it.")}) from error
        if before != _said(row):
            audit_record(
                organisation=organisation, actor=actor, action="buying_account.save", target=row,
                before=before, after=_said(row),
            )  # fmt: skip
    return row


def _said(row: BuyingAccount) -> dict[str, object]:
    return {"account": row.account, "role": row.credentials, "active": row.active}
