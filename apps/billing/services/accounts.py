"""Writing account names: from a CSV, or as AWS Organizations tells them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from django.db import transaction
from django.db.models.functions import Now
from django.utils.translation import gettext as _

from apps.accounts.actors import Actor
from apps.accounts.models import Organisation
from apps.accounts.services import audit_record
from apps.billing.models import AccountName, NameSource
from apps.catalog.models import CloudAccount
from finops.text.small_tables import Mistake, TableError, read_table

AWS_ACCOUNT = re.compile(r"[0-9]{12}")
MAX_NAME = 200
_BATCH = 500


@dataclass(frozen=True)
class NamesStored:
    """Every account given is new, renamed, as it was, or kept because a file had named it."""

    new: int
    renamed: int
    same: int
    kept: int = 0


@dataclass(frozen=True)
class Named:
    """An account's name; `status` is the provider's word ("ACTIVE"), empty where not told."""

    account_id: str
    name: str
    status: str = ""


def account_names_store(
    *,
    organisation: Organisation,
    actor: Actor,
    names: Iterable[Named],
    source: str,
    provider: str = "aws",
) -> NamesStored:
    """Take over names; of two for one account the last counts. A name from a file stays when AWS
    Organizations tells another. One audit entry with what changed.
    """
    given = {named.account_id: named for named in names}
    counts = {"new": 0, "renamed": 0, "same": 0, "kept": 0}
    before: dict[str, str] = {}
    after: dict[str, str] = {}
    with transaction.atomic():
        CloudAccount.objects.bulk_create(
            [CloudAccount(provider=provider, account_id=number) for number in given],
            ignore_conflicts=True,
            batch_size=_BATCH,
        )
        accounts = CloudAccount.objects.filter(provider=provider, account_id__in=list(given)).in_bulk()
        rows = {
            row.account_id: row
            for row in AccountName.objects.select_for_update().filter(
                organisation=organisation, account__in=accounts
            )
        }
        new: list[AccountName] = []
        changed: list[AccountName] = []
        for pk, account in accounts.items():
            named, row = given[account.account_id], rows.get(pk)
            if row is None:
                new.append(_row(AccountName(organisation=organisation, account=account), named, source))
                after[account.account_id] = named.name
                counts["new"] += 1
            elif source == NameSource.ORGANIZATIONS and row.source == NameSource.CSV:
                counts["kept"] += 1
            elif (row.name, row.status, row.source) == (named.name, named.status, source):
                counts["same"] += 1
            else:
                counts["renamed" if row.name != named.name else "same"] += 1
                if row.name != named.name:
                    before[account.account_id], after[account.account_id] = row.name, named.name
                changed.append(_row(row, named, source))
        AccountName.objects.bulk_create(new, batch_size=_BATCH)
        AccountName.objects.bulk_update(
            changed, ["name", "source", "status", "updated_at"], batch_size=_BATCH
        )
        if after:
            audit_record(
                organisation=organisation,
                actor=actor,
                action="account_name.set",
                object_type="billing.accountname",
                object_id=source,
                before=before,
                after=after,
            )
    return NamesStored(**counts)


def account_names_import(
    *, organisation: Organisation, actor: Actor, content: bytes, file: str, provider: str = "aws"
) -> NamesStored:
    """Names from a CSV with the columns id and name (provider where it is not `provider`; any other is
    ignored), all or none. Raises TableError with file, row and field.
    """
    rows = read_table(
        content, file=file, required=("id", "name"), optional=("provider",), others_ignored=True
    )
    mistakes: list[Mistake] = []
    found: dict[str, dict[str, Named]] = {}
    for row in rows:
        cloud = row["provider"].lower() or provider
        number = row["id"].replace("-", "") if cloud == "aws" else row["id"]
        reason = _id_problem(cloud, number)
        if reason:
            mistakes.append(Mistake(file, row.number, "id", reason))
        if not row["name"]:
            mistakes.append(Mistake(file, row.number, "name", _("It may not be empty.")))
        elif len(row["name"]) > MAX_NAME:
            mistakes.append(
                Mistake(file, row.number, "name", _("At most %(most)s characters.") % {"most": MAX_NAME})
            )
        named = found.setdefault(cloud, {})
        if number in named and named[number].name != row["name"]:
            mistakes.append(Mistake(file, row.number, "id", _("The account is there twice with two names.")))
        named[number] = Named(number, row["name"])
    if mistakes:
        raise TableError(mistakes)
    stored = [
        account_names_store(
            organisation=organisation,
            actor=actor,
            names=names.values(),
            source=NameSource.CSV,
            provider=cloud,
        )
        for cloud, names in sorted(found.items())
    ]
    return NamesStored(
        sum(s.new for s in stored), sum(s.renamed for s in stored), sum(s.same for s in stored)
    )


def _id_problem(provider: str, number: str) -> str:
    if len(provider) > 20:
        return _("Not a provider.")
    if provider == "aws" and not AWS_ACCOUNT.fullmatch(number):
        short = number.isdigit() and len(number) < 12
        return (
            _("An AWS account has 12 digits. Leading zeros are lost when a spreadsheet saves it as a number.")
            if short
            else _("An AWS account has 12 digits.")
        )
    if not number or len(number) > 64:
        return _("Not an account.")
    return ""


def _row(row: AccountName, named: Named, source: str) -> AccountName:
    row.name, row.status, row.source = named.name[:MAX_NAME], named.status[:40], source
    row.updated_at = Now()
    return row
